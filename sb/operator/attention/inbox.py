"""Temporary."""

from __future__ import annotations

from collections.abc import Sequence

from sb.base.values.frozen import frozen
from sb.operator.attention.needs import NeedsReader
from sb.present.needs import Need

Waiting = Need


@frozen
class Group:
    label: str
    entries: tuple[Need, ...]

    @property
    def key(self) -> str:
        return self.label

    def need(self, first: Need) -> Need:
        from dataclasses import replace

        return replace(first, object=f"{self.label} · {len(self.entries)}")


@frozen
class InboxNow:
    groups: tuple[Group, ...] = ()

    @property
    def total(self) -> int:
        return sum(len(g.entries) for g in self.groups)


class InboxReader:
    def __init__(self, log):
        self.r = NeedsReader(log)

    def now(self, contracts):
        found = self.r.decisions(contracts)
        groups = {}
        for need in found.items:
            name = " ".join(need.object.split()[:2]) if need.kind == "request" else need.key
            groups.setdefault(name, []).append(need)
        return InboxNow(tuple(Group(k, tuple(v)) for k, v in groups.items()))

    def describe(self, entries: Sequence[Need]):
        return {e.key: e for e in entries}
