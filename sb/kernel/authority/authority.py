"""Who may decide?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sb.errors import DeniedError
from sb.state import EventLog


class Unauthorised(DeniedError):
    pass


class Authority:
    def __init__(self, path: Path | None, log: EventLog | None = None) -> None:
        self.path = path

    def operators(self) -> list[Any]:
        return []

    def enrolled(self) -> bool:
        return False

    def verify(self, signed: Mapping[str, Any]) -> str:
        return str(signed["statement"]["by"])
