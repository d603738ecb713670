"""Places that decide how calls are judged: agents may read and run them, and do not change them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from sb.shell.places.sensitive import folded

Match = Callable[[Sequence[str], Sequence[str]], bool]  # the path's components, and as many of a place's


class Place(NamedTuple):
    """A file, or a folder with everything in it.

    Args:
        path: absolute; where links lead elsewhere, that is another place.
        asks: a change waits for a person; without, it is refused.
        whole: a folder that contains it is neither moved, removed nor closed either.
        free: names of folders in it whose contents are not meant.
    """

    path: str
    asks: bool = False
    whole: bool = True
    free: tuple[str, ...] = ()


def _equal(parts: Sequence[str], own: Sequence[str]) -> bool:
    return all(part == name for part, name in zip(parts, own, strict=False))


class Guarded:
    """The guarded places of one installation.

    Args:
        places: gives them; called once, when a call that changes something is judged.
    """

    def __init__(self, places: Callable[[], Iterable[Place]] = tuple) -> None:
        self._load = places
        self._table: list[tuple[tuple[str, ...], Place]] | None = None

    @property
    def places(self) -> list[Place]:
        """Every place; those whose change is refused come first."""
        return [place for _, place in self._rows()]

    def of(self, parts: Sequence[str], match: Match = _equal) -> Place | None:
        """The place that contains a path, given as folded components."""
        for own, place in self._rows():
            if len(parts) >= len(own) and match(parts, own) and not set(place.free) & set(parts[len(own) :]):
                return place
        return None

    def inside(self, parts: Sequence[str], match: Match = _equal, *, absent: bool = False) -> Place | None:
        """A place in a folder that moves or disappears with that folder.

        Args:
            absent: take also one that does not go with it, but that something put into the folder would land on.
        """
        for own, place in self._rows():
            if (place.whole or absent) and len(parts) < len(own) and match(parts, own[: len(parts)]):
                return place
        return None

    def changed(self, paths: Iterable[str]) -> Place | None:
        """The place that writes to these absolute paths would change."""
        found = [place for path in paths if (place := self.of(folded(path)))]
        return min(found, key=lambda place: place.asks, default=None)

    def _rows(self) -> list[tuple[tuple[str, ...], Place]]:
        if self._table is None:
            rows = {_row(place) for place in self._load()}
            self._table = sorted(rows, key=lambda row: (row[1].asks, row[0]))
        return self._table


@lru_cache(maxsize=256)
def _row(place: Place) -> tuple[tuple[str, ...], Place]:
    return folded(place.path), place


def with_links_followed(places: Iterable[Place]) -> list[Place]:
    """Each place under its own path and under its real path."""
    forms = ((place, form(place.path)) for place in places for form in (os.path.normpath, os.path.realpath))
    return list(dict.fromkeys(place._replace(path=path) for place, path in forms))


def refusal(path: str) -> str:
    """The reason why a change of a guarded place is refused."""
    return f"{path}: decides how calls are judged; agents must not change it"
