"""The patterns of claims, compiled when a message may need them."""

from __future__ import annotations

import re
from functools import cached_property

from sb.kernel.claims.table import CANCELS, KINDS, MAKES, SECTIONS

_NEVER = r"(?!)"


class ClaimKind:
    """One kind of claim of the pack `claims.yaml`, which explains the fields."""

    def __init__(self, name: str) -> None:
        row = KINDS[name]
        self.name, self._row = name, row
        self.judge, self.call = str(row["judge"]), str(row["call"])
        self.words: tuple[str, ...] = tuple(row["words"])
        self.stale, self.cancelled = bool(row.get("stale")), bool(row.get("cancelled", True))

    def _pattern(self, field: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{text})" for text in self._row.get(field, ())) or _NEVER, flags)

    @cached_property
    def says(self) -> re.Pattern[str]:
        return self._pattern("says")

    @cached_property
    def unless(self) -> re.Pattern[str]:
        return self._pattern("unless")

    @cached_property
    def supports(self) -> re.Pattern[str]:
        return self._pattern("supports")

    @cached_property
    def loose(self) -> re.Pattern[str]:
        return self._pattern("loose")

    @cached_property
    def shows(self) -> re.Pattern[str]:
        return self._pattern("shows", re.MULTILINE)

    @cached_property
    def contradicts(self) -> re.Pattern[str]:
        return self._pattern("contradicts", re.MULTILINE)

    @cached_property
    def idle(self) -> re.Pattern[str]:
        return self._pattern("idle")


class _Pack:
    """The patterns that hold for every kind."""

    @cached_property
    def kinds(self) -> tuple[ClaimKind, ...]:
        return tuple(ClaimKind(name) for name in KINDS)

    @cached_property
    def runs(self) -> tuple[ClaimKind, ...]:
        """Kinds whose calls look at code, and make no file that anybody claims."""
        return tuple(kind for kind in self.kinds if kind.judge == "run")

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
