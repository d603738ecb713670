"""Door to `sb.log.event_log`, under the name that the specification gives."""

from __future__ import annotations

from sb.log.event import Event
from sb.log.event_log import EventLog

__all__ = ["Event", "EventLog"]
