"""Separation of duties: a requester may not decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sb.errors import DeniedError


def refuse_requester(name: str, agent: str, request: Mapping[str, Any]) -> None:
    """Raise DeniedError when who decides is who asked, for whom it was asked, or whose call it would undo."""
    recovery = request.get("recovery")
    whose = recovery.get("of_agent") if isinstance(recovery, dict) else None
    if name in (agent, request.get("user_sid"), whose):
        raise DeniedError(f"{name} asked for it and cannot decide it", "another operator has to")
