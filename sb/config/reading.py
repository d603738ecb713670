"""The reading policy of scopes: for what, by whom, with whose consent and how fresh their memories are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sb.config.document import SHOWN, Node, Table, describe
from sb.config.kinds import Kind, Reading, boolean, listing, text
from sb.duration import parse_duration
from sb.errors import UsageError
from sb.text import nearest, shorten


@dataclass(frozen=True)
class ReadRule:
    """Who reads the memories of a scope.

    Args:
        purpose: for what; it is in the log of each read. readers: patterns of the agents that read for it.
        consent: whether everybody whom a memory is about has to have agreed. max_age_s: seconds after which a memory that
            was neither written nor changed is stale; 0 for never.
    """

    purpose: str = ""
    readers: tuple[str, ...] = ("*",)
    consent: bool = False
    max_age_s: int = 0


ReadRules = Mapping[str, ReadRule]
_FIELDS: Mapping[str, Kind[Any]] = {
    "purpose": text("what the memories are read for, such as support"),
    "readers": listing(text("a pattern of agents' names, such as support-*")),
    "consent": boolean(),
    "max_age": text("a duration such as 90d"),
}


def read_rules_kind() -> Kind[ReadRules]:
    """Scopes or patterns of scopes, each with a rule."""
    label = "a mapping of scopes, such as customer:*, to purpose, readers, consent and max_age"

    def parse(node: Node, key: str, reading: Reading) -> ReadRules | None:
        if not isinstance(node, Table):
            reading.wrong(node, key, f"must be {label}, not {describe(node)}")
            return None
        found = {}
        for entry in node.entries:
            inner = f"{key}.{shorten(entry.key, SHOWN)}"
            if isinstance(entry.value, Table):
                found[entry.key] = _rule(entry.value, inner, reading)
            else:
                reading.wrong(entry, inner, f"must be a mapping, not {describe(entry.value)}")
        return MappingProxyType(found)

    return Kind(label, parse)


def _rule(table: Table, key: str, reading: Reading) -> ReadRule:
    values: dict[str, Any] = {}
    for entry in table.entries:
        inner = f"{key}.{shorten(entry.key, SHOWN)}"
        if entry.key not in _FIELDS:
            reading.wrong(entry, inner, "is no part of a reading rule" + nearest(entry.key, _FIELDS))
        elif (value := _FIELDS[entry.key].parse(entry.value, inner, reading)) is not None:
            values[entry.key] = value
    age = values.pop("max_age", "")
    if age:
        try:
            values["max_age_s"] = parse_duration(age)
        except UsageError as error:
            reading.wrong(table, key, str(error))
    return ReadRule(**values)
