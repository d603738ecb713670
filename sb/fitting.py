"""Fit text into the cells of a terminal: cut at the end, in the middle or from the left, with a search hit in view."""

from __future__ import annotations

from enum import StrEnum

from rich.cells import cell_len, split_graphemes

ELLIPSIS = "…"
HEAD = 0.6  # of the room, for a cut in the middle
LEAST_OF_BOTH = 12  # cells from which on a cut in the middle leaves two readable parts
Piece = tuple[int, int]


class Cut(StrEnum):
    """Where a text that is too long loses its characters."""

    END = "end"
    MIDDLE = "middle"
    PATH = "path"


def fit(text: str, cells: int, cut: Cut = Cut.END, hit: Piece | None = None) -> str:
    """The text in at most so many cells.

    Args:
        hit: the characters that stay in view, from the first to behind the last.
    """
    return joined_pieces(text, pieces(text, cells, cut, hit))


def joined_pieces(text: str, parts: list[Piece]) -> str:
    """The pieces of a text with an ellipsis for each part that was cut."""
    shown, place = "", 0
    for start, end in parts:
        shown += (ELLIPSIS if start > place else "") + text[start:end]
        place = end
    return shown + (ELLIPSIS if place < len(text) else "")


def pieces(text: str, cells: int, cut: Cut = Cut.END, hit: Piece | None = None) -> list[Piece]:
    """The characters that fit, as ranges; each gap costs one cell for its ellipsis."""
    if cells < 1 or not text:
        return [] if cells < 1 else [(0, 0)]
    if cell_len(text) <= cells:
        return [(0, len(text))]
    room = cells - 1
    if cut is Cut.PATH:
        parts = [(_path_start(text, room), len(text))]
    elif cut is Cut.MIDDLE and cells >= LEAST_OF_BOTH:
        head = round(HEAD * room)
        parts = [(0, _take(text, head)), (_take_back(text, len(text), room - head), len(text))]
    else:
        parts = [(0, _take(text, room))]
    if hit is None or cells < LEAST_OF_BOTH or any(start <= hit[0] and hit[1] <= end for start, end in parts):
        return parts
    return [_around(text, room, hit)]


def _around(text: str, room: int, hit: Piece) -> Piece:
    """A window with the hit, a third of its room before it."""
    start = _take_back(text, hit[0], max(room // 3, 0))
    left = room - (1 if start else 0)
    end = start + _take(text[start:], left)
    if end < len(text):
        return start, end
    return _take_back(text, len(text), room), len(text)


def _path_start(text: str, room: int) -> int:
    """Where the end of a path begins: at a folder, unless that costs half of the room."""
    start = _take_back(text, len(text), room)
    slash = text.find("/", start)
    return slash if start < slash and cell_len(text[slash:]) >= room // 2 else start


def _take(text: str, room: int) -> int:
    """How many characters from the beginning fit."""
    if text.isascii():
        return min(room, len(text))
    end = used = 0
    for _, stop, width in split_graphemes(text[: 4 * max(room, 0) + 64])[0]:
        if used + width > room:
            break
        end, used = stop, used + width
    return end


def _take_back(text: str, end: int, room: int) -> int:
    """Where the characters begin that fit before a place."""
    if text.isascii():
        return max(end - room, 0)
    first = max(end - 4 * max(room, 0) - 64, 0)
    start, used = end, 0
    for begin, _, width in reversed(split_graphemes(text[first:end])[0]):
        if used + width > room or (width == 0 and used == room):
            break
        start, used = first + begin, used + width
    return start
