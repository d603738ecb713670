"""The patterns of claims, compiled when a message may need them."""

from __future__ import annotations

import re
from functools import cached_property

from sb.kernel.claims.tables import CANCELS, KINDS, MAKES, SECTIONS

_BY_LINE = ("shows", "contradicts")  # whose ^ is the beginning of a line


class _Pattern:
    """The patterns of one field of a kind, as one."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, kind: ClaimKind, owner: type) -> re.Pattern[str]:
        texts = kind.row.get(self._name, ())
        flags = re.MULTILINE if self._name in _BY_LINE else re.IGNORECASE
        found = re.compile("|".join(f"(?:{text})" for text in texts) or r"(?!)", flags)
        kind.__dict__[self._name] = found
        return found


class ClaimKind:
    """One kind of claim of `tables.yaml`, which explains the fields."""

    says, unless, supports, loose = _Pattern(), _Pattern(), _Pattern(), _Pattern()
    shows, contradicts, idle = _Pattern(), _Pattern(), _Pattern()

    def __init__(self, name: str) -> None:
        row = KINDS[name]
        self.name, self.row = name, row
        self.judge, self.call = str(row["judge"]), str(row["call"])
        self.words: tuple[str, ...] = tuple(row["words"])
        self.hints: tuple[str, ...] = tuple(row.get("hints", ()))
        self.stale, self.cancelled = bool(row.get("stale")), bool(row.get("cancelled", True))


class _Pack:
    """The patterns that hold for every kind."""

    @cached_property
    def kinds(self) -> dict[str, ClaimKind]:
        return {name: ClaimKind(name) for name in KINDS}

    @cached_property
    def cancels(self) -> re.Pattern[str]:
        return re.compile("|".join(CANCELS), re.IGNORECASE)

    @cached_property
    def sections(self) -> re.Pattern[str]:
        return re.compile("|".join(SECTIONS), re.IGNORECASE)

    @cached_property
    def makes(self) -> re.Pattern[str]:
        return re.compile("|".join(MAKES))


PACK = _Pack()


def compile_all() -> None:
    """Compile every pattern now, in a process whose children will judge messages."""
    for kind in PACK.kinds.values():
        for name in ("says", "unless", "supports", "loose", "shows", "contradicts", "idle"):
            getattr(kind, name)
    for name in ("cancels", "sections", "makes"):
        getattr(PACK, name)
