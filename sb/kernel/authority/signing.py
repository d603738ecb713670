"""Who decides, and what do they sign?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sb.canonical import canonical_bytes


class Decider(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def key_id(self) -> str: ...
    def sign(self, data: bytes) -> str: ...


class Label:
    key_id = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def sign(self, data: bytes) -> str:
        return ""


def signed_statement(by: Decider, facts: Mapping[str, Any]) -> dict[str, Any]:
    statement = {**facts, "by": by.name, "key": by.key_id}
    return {"statement": statement, "signature": by.sign(canonical_bytes(statement))}
