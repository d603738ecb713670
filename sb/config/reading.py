"""The reading policy of scopes: for what, by whom, with whose consent and how fresh their memories are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sb.config.document import Entry
from sb.config.kinds import Kind, Reading, boolean, listing, mapping, text
from sb.duration import parse_duration
from sb.errors import UsageError
from sb.frozen import frozen
from sb.text import nearest


@frozen
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
    return mapping("a mapping of scopes, such as customer:*, to purpose, readers, consent and max_age", _rule)


def _rule(entry: Entry, key: str, reading: Reading) -> ReadRule | None:
    found = _FIELDS_OF_RULE.parse(entry.value, key, reading)
    if found is None:
        return None
    values = dict(found)
    try:
        age = parse_duration(values.pop("max_age", "") or "0s")
    except UsageError as error:
        reading.wrong(entry, key, str(error))
        return None
    return ReadRule(**values, max_age_s=age)


def _field(entry: Entry, key: str, reading: Reading) -> Any:
    if entry.key not in _FIELDS:
        reading.wrong(entry, key, "is no part of a reading rule" + nearest(entry.key, _FIELDS))
        return None
    return _FIELDS[entry.key].parse(entry.value, key, reading)


_FIELDS_OF_RULE = mapping("a mapping", _field)
