"""Door to `sb.log.event_log`, under the name that the specification gives."""

from __future__ import annotations

from sb.log.event_log import Event, EventLog

__all__ = ["Event", "EventLog"]
