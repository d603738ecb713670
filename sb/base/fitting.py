"""Fit texts, ages, amounts of money and counts into the cells of a terminal."""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, chain, pairwise

from sb.base.sources import MICROSECONDS
from sb.base.values.frozen import frozen

ELLIPSIS = "…"
_HEAD = 0.6  # of a text cut in the middle; the rest is its tail
_NUMBER = 5  # the part of it by which the head may grow, so that it cuts no number
_WORD = re.compile(r"\s*\S+")
_SEPARATED = re.compile(
    r"[^/.,;:=&?_-]*[/.,;:=&?_-]+|[^/.,;:=&?_-]+"
)  # where a word that is too wide is broken
_NUMBER_GOES_ON = re.compile(r"(?:[.,]?\d)+")
_JUST_NOW_S = 10
_DATED_S = 7 * 86_400
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))
_THOUSAND = 1_000
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

Span = tuple[int, int]


class Cut(StrEnum):
    """Where a text that is too wide loses characters."""

    END = "end"  # prose, memories
    MIDDLE = "middle"  # commands: 60 % head, 40 % tail
    PATH = "path"  # the left, at a slash where there is one


@frozen
class Fitted:
    """A text cut to fit, with the hits that are still in it, as character positions of the new text."""

    text: str
    hits: tuple[Span, ...] = ()


class _Measured:
    """A text's positions where it may be cut, and the cells before each."""

    def __init__(self, text: str) -> None:
        if text.isascii():
            self.ends: Sequence[int] = range(len(text) + 1)
            self.cells: Sequence[int] = self.ends
            return
        from rich.cells import split_graphemes  # 5 ms, for texts that need it

        spans, _ = split_graphemes(text)
        self.ends = [0, *(end for _, end, _ in spans)]
        self.cells = [0, *accumulate(width for _, _, width in spans)]

    @property
    def width(self) -> int:
        return self.cells[-1]

    def head(self, cells: int, start: int = 0) -> int:
        """The end of the longest piece from `start` that takes at most so many cells."""
        before = self.cells[bisect_left(self.ends, start)]
        return self.ends[bisect_right(self.cells, before + max(cells, 0)) - 1]

    def tail(self, cells: int, end: int | None = None) -> int:
        """The start of the longest piece up to `end` that takes at most so many cells."""
        after = self.width if end is None else self.cells[bisect_left(self.ends, end)]
        return self.ends[bisect_left(self.cells, after - max(cells, 0))]

    def between(self, start: int, end: int) -> int:
        """The cells from one cutting position to another."""
        return self.cells[bisect_left(self.ends, end)] - self.cells[bisect_left(self.ends, start)]


def cell_width(text: str) -> int:
    """The cells that a text of one line takes on a terminal."""
    return len(text) if text.isascii() else _Measured(text).width


def fit(text: str, cells: int, cut: Cut = Cut.END, hit: Span | None = None) -> str:
    """A text of one line in at most so many cells; what is cut away is marked by an ellipsis.

    Args:
        hit: characters that stay in view, such as what a search matched.
    """
    return fit_hits(text, cells, cut, (hit,) if hit else ()).text


def fit_hits(text: str, cells: int, cut: Cut = Cut.END, hits: Sequence[Span] = ()) -> Fitted:
    """The same, with all hits at their new positions; the first of them stays in view."""
    measured = _Measured(text)
    if measured.width <= cells:
        return Fitted(text, tuple(hits))
    if cells < 1:
        return Fitted("")
    pieces = _pieces(text, measured, cells, cut)
    if hits and not any(start <= hits[0][0] and hits[0][1] <= end for start, end in pieces):
        pieces = [_around(measured, cells, hits[0])]
    return _joined(text, pieces, hits)


@lru_cache(maxsize=1_024)
def fit_keeping(text: str, cells: int, words: tuple[str, ...]) -> str:
    """A command of one line in at most so many cells, cut so that these of its words stay in view.

    A path may lose its folders. Where there is no room for all, the first words stay.
    """
    cut = fit(text, cells, Cut.MIDDLE)
    spans = [(at, at + len(word)) for word in words if word and (at := text.find(word)) >= 0]
    hidden = [(start, end) for start, end in spans if text[start:end] not in cut]
    if not hidden or cells < 1:
        return cut
    if not text.isascii():
        return fit(text, cells, Cut.MIDDLE, hidden[0])
    shown = _Shown(text, cells)
    shown.add(range(len(text.partition(" ")[0])))
    names = [(max(text.rfind("/", start, end - 1) + 1, start), end) for start, end in spans]
    for name in names:
        shown.add(range(*name))
    folders = chain.from_iterable(range(end - 1, start - 1, -1) for start, end in spans)
    for place in chain(folders, range(len(text))):
        shown.add((place,))
    return str(shown)


class _Shown:
    """The characters of an ASCII text that are shown in so many cells; each gap between them takes one."""

    def __init__(self, text: str, cells: int) -> None:
        self._text = text
        self._cells = cells
        self._places = {-1, len(text)}
        self._cost = 1

    def add(self, places: Sequence[int]) -> None:
        """Show these characters too, if there is room for all of them."""
        places = [place for place in places if place not in self._places]
        cost = self._cost
        for place in places:
            cost += 2 - ((place - 1) in self._places) - ((place + 1) in self._places)
            self._places.add(place)
        if cost <= self._cells:
            self._cost = cost
        else:
            self._places.difference_update(places)

    def __str__(self) -> str:
        ordered = sorted(self._places)
        pieces = pairwise(ordered)
        return "".join(
            (ELLIPSIS if after - before > 1 else "") + self._text[after : after + 1]
            for before, after in pieces
        )


def padded(text: str, cells: int, *, right: bool = False) -> str:
    """A text filled with spaces up to so many cells, on its right end or, for numbers, on its left."""
    spaces = " " * (cells - cell_width(text))
    return spaces + text if right else text + spaces


def wrap(text: str, cells: int, hanging: str = "", *, breaks: bool = True) -> list[str]:
    """A text of one line as lines of at most so many cells, broken between words.

    Args:
        hanging: what every line but the first begins with.
        breaks: whether a word that is wider than a line is broken too, after a separator such as a slash if it has one.
    """
    if cell_width(text) <= cells:
        return [text]
    lines, room, full = [""], cells, max(cells - len(hanging), 1)
    for word in _WORD.findall(text):
        whole = cell_width(word.lstrip()) <= full
        for piece in _parts_of(word, full) if breaks and not whole and cell_width(word) > room else [word]:
            if cell_width(piece) > room:
                if lines[-1].strip():
                    lines.append(hanging)
                else:
                    lines[-1] = hanging if len(lines) > 1 else ""
                room, piece = cells - len(lines[-1]), piece.lstrip()
            lines[-1], room = lines[-1] + piece, room - cell_width(piece)
    return lines


def _parts_of(word: str, cells: int) -> Iterator[str]:
    """Pieces of a word, each of at most so many cells."""
    for part in _SEPARATED.findall(word):
        measured, start = _Measured(part), 0
        while start < len(part):
            end = max(measured.head(max(cells, 1), start), measured.ends[bisect_right(measured.ends, start)])
            yield part[start:end]
            start = end


def _pieces(text: str, measured: _Measured, cells: int, cut: Cut) -> list[Span]:
    """The pieces of a text that is too wide, without regard to hits."""
    room = cells - 1
    if cut is Cut.MIDDLE:
        head = _after_number(text, measured, measured.head(round(room * _HEAD)), room // _NUMBER)
        return [(0, head), (measured.tail(room - measured.between(0, head)), len(text))]
    if cut is Cut.PATH:
        start = measured.tail(room)
        slash = text.find("/", start, len(text) - 1)
        return [(slash if slash >= 0 else start, len(text))]
    return [(0, measured.head(room))]


def _after_number(text: str, measured: _Measured, head: int, spare: int) -> int:
    """The end of the number that would be cut at `head`, if that takes few cells: 49… is not 4900."""
    rest = _NUMBER_GOES_ON.match(text, head) if text[:head][-1:].isdigit() else None
    end = rest.end() if rest else head
    return end if end in measured.ends and measured.between(head, end) <= spare else head


def _around(measured: _Measured, cells: int, hit: Span) -> Span:
    """The piece that has the hit a third from its left; of a hit that is wider, its beginning."""
    end_of_text = measured.ends[-1]
    first = measured.ends[bisect_right(measured.ends, min(hit[0], end_of_text)) - 1]
    last = measured.ends[min(bisect_left(measured.ends, hit[1]), len(measured.ends) - 1)]
    spare = max(cells - 2 - measured.between(first, last), 0)
    start = measured.tail(spare // 3, first)
    room = cells - (start > 0)
    if measured.between(start, end_of_text) <= room:
        return (measured.tail(cells - 1), end_of_text)
    return (start, measured.head(room - 1, start))


def _joined(text: str, pieces: Sequence[Span], hits: Sequence[Span]) -> Fitted:
    """The pieces with ellipses where something is missing, and the hits moved along."""
    built, at = "", 0
    moved: list[Span] = []
    for start, end in pieces:
        built += ELLIPSIS if start > at else ""
        moved += _shifted(hits, start, end, len(built) - start)
        built, at = built + text[start:end], end
    return Fitted(built + (ELLIPSIS if at < len(text) else ""), tuple(moved))


def _shifted(hits: Sequence[Span], start: int, end: int, by: int) -> Iterator[Span]:
    for first, last in hits:
        if max(first, start) < min(last, end):
            yield max(first, start) + by, min(last, end) + by


def home_as_tilde(path: str, home: str = "") -> str:
    """A path with `~` for the home folder.

    Args:
        home: the home folder, if not that of the user.
    """
    home = (home or os.path.expanduser("~")).rstrip("/")
    if home and (path == home or path.startswith(f"{home}/")):
        return "~" + path[len(home) :]
    return path


def short_span(seconds: float) -> str:
    """A span of time in its largest unit: 40s, 9m, 3h, 6d."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(int(seconds), 0)}s"


def relative_age(at: int, now: int) -> str:
    """An age: now, 40s, 9m, 3h, 6d, then its day (12 Nov), of another year its month (Nov 2025).

    Args:
        at, now: microseconds since the epoch.
    """
    seconds = (now - at) / MICROSECONDS
    if seconds < _JUST_NOW_S:
        return "now"
    if seconds < _DATED_S:
        return short_span(seconds)
    then = datetime.fromtimestamp(at // MICROSECONDS, UTC)
    month = _MONTHS[then.month - 1]
    if then.year == datetime.fromtimestamp(now // MICROSECONDS, UTC).year:
        return f"{then.day} {month}"
    return f"{month} {then.year}"


def count(number: int) -> str:
    """A number with its thousands set apart: 12 408."""
    return f"{number:,}".replace(",", " ")


def short_count(number: int) -> str:
    """A number in a few characters, never rounded up: 950, 12k, 3.4M."""
    for size, letter in ((_THOUSAND**3, "G"), (_THOUSAND**2, "M"), (_THOUSAND, "k")):
        if number >= 10 * size:
            return f"{number // size}{letter}"
        if number >= size:
            return f"{number * 10 // size / 10:.1f}".removesuffix(".0") + letter
    return str(number)


def money(usd: float) -> str:
    """An amount of US dollars: $1.84, $12,408.00, <$0.01."""
    if 0 < usd < 0.005:
        return "<$0.01"
    return f"{'-' if usd <= -0.005 else ''}${abs(usd):,.2f}"
