"""Lay out tables for a terminal: fitted to its width, ids last, a column of one value in the line above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest

from sb.base.fitting import Cut, cell_width, fit, home_as_tilde, padded, wrap
from sb.base.values.frozen import frozen
from sb.present.states import tone_of

GAP = "  "
NARROWEST = 12  # cells of a column that is cut
_ID_DIGITS = 8  # of a long id; commands take any beginning that is unambiguous
_FEW = 3  # rows from which a column of one value is moved out of them
_NONE = ("", "-")
_TONED = ("state", "status", "verdict")
_PLACES = ("state", "name", "subject", "", "id")  # from left to right


Paint = Callable[[str, str], str]


def as_it_is(text: str, tone: str) -> str:
    """A text without colour."""
    return text


@frozen
class Column:
    """Layout of a column.

    Args:
        cut: where its cells lose characters; None for cells that stay whole. wraps: lines are broken instead.
        place: state comes first, then a name and the subject of the row, which stays wide enough to read; ids last.
        least: columns of a terminal that has room for it.
    """

    title: str = ""
    cut: Cut | None = None
    wraps: bool = False
    right: bool = False
    place: str = ""
    least: int = 0

    @property
    def bends(self) -> bool:
        """True if it can be made narrower."""
        return self.wraps or self.cut is not None


_PROSE, _NUMBER, _STATE, _ID = (
    Column(cut=Cut.END),
    Column(right=True),
    Column(place="state"),
    Column(place="id"),
)
_PLANS: dict[str, Column] = {
    **dict.fromkeys(("state", "left", "severity", "date", "verdict", "done", "undo"), _STATE),
    **dict.fromkeys(("call", "command or file"), Column(cut=Cut.MIDDLE, place="subject")),
    **dict.fromkeys(("title", "message"), Column(cut=Cut.END, place="subject")),
    **dict.fromkeys(("tool", "name", "what"), Column(cut=Cut.END, place="name")),
    **dict.fromkeys(("request", "id", "grant", "run", "incident", "checkpoint", "suggestion"), _ID),
    **dict.fromkeys(("why", "reason", "agent", "host", "project", "target", "stopped", "lifted by"), _PROSE),
    **dict.fromkeys(("stacks", "description", "by", "trust"), _PROSE),
    **dict.fromkeys(("", "value", "meaning", "missing or changed"), Column(wraps=True)),
    **dict.fromkeys(("calls", "records", "memories", "forgotten", "private", "events", "in", "out"), _NUMBER),
    **dict.fromkeys(("cost", "used", "size", "sure", "evidence"), _NUMBER),
    "arguments": Column(cut=Cut.MIDDLE),
    "effect": Column(cut=Cut.END, least=100),
    "path": Column(cut=Cut.PATH, place="subject"),
    "session": Column(place="id", least=100),
    "signed": Column(least=90),
    "from": Column(cut=Cut.PATH, least=80),
    "approved by": Column(cut=Cut.END, least=90),
    "model": Column(cut=Cut.END, least=90),
    "contract": Column(place="id", least=110),
}
_LABELS = {"started (UTC)": "started"}  # shown as an age


def lay_out(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    paint: Paint,
) -> list[str]:
    """A table as lines of at most `width` cells, as far as its uncut columns leave room.

    Args:
        rows: cells of one line each, safe for a terminal.
        paint: gives a text the tone of that name; "heading" is one.
    """
    columns = [replace(_PLANS.get(title, Column()), title=_LABELS.get(title, title)) for title in titles]
    order = sorted(range(len(columns)), key=lambda number: _PLACES.index(columns[number].place))
    order = [number for number in order if columns[number].least <= width]
    order, common = _without_common(order, columns, rows)
    order, widths, table = _fitting(order, columns, rows, width)
    columns = [columns[number] for number in order]
    lines = [common] if common else []
    titles = [column.title for column in columns]
    if any(titles):
        lines.append(paint(_line(columns, titles, widths), "heading"))
    for row in table:
        lines += _row(columns, row, widths, paint)
    return lines


def plain_table(titles: Sequence[str], rows: Sequence[Sequence[str]], paint: Paint) -> list[str]:
    """A table whole, column by column as it was given."""
    columns = [Column(title) for title in titles]
    table = [list(row) for row in rows]
    widths = _natural(columns, table)
    heading = paint(_line(columns, titles, widths), "heading")
    return [heading, *(_line(columns, row, widths, paint) for row in table)]


def _without_common(
    order: list[int], columns: Sequence[Column], rows: Sequence[Sequence[str]]
) -> tuple[list[int], str]:
    """The columns without those that have one value in all rows, and these values in one line."""
    if len(rows) < _FEW:
        return order, ""
    remaining, common = [], []
    for number in order:
        column, values = columns[number], {row[number] for row in rows}
        if len(values) > 1 or column.place in ("name", "subject", "id") or column.wraps:
            remaining.append(number)
        elif not values & set(_NONE):
            common.append(f"{column.title} {values.pop()}")
    return remaining, " · ".join(common)


def _fitting(
    order: list[int], columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int
) -> tuple[list[int], list[int], list[list[str]]]:
    """The columns there is room for, their widths and their rows.

    The rightmost go first; states, name, subject and one id stay.
    """
    while True:
        table = [[row[number] for number in order] for row in rows]
        chosen = [columns[number] for number in order]
        widths = _widths(chosen, table, width)
        ids = [number for number in order if columns[number].place == "id"]
        spare = ids[1:] + [number for number in order if not columns[number].place]
        too_wide = sum(widths) + len(GAP) * (len(widths) - 1) > width
        if not spare or not (too_wide or _squeezed(chosen, table, widths, width)):
            return order, widths, table
        order = [number for number in order if number != spare[-1]]


def _squeezed(columns: Sequence[Column], table: list[list[str]], widths: list[int], width: int) -> bool:
    """True if the subject of the rows has less than a quarter of the terminal, and would take more."""
    natural = _natural(columns, table)
    return any(
        column.place == "subject" and cells < min(wanted, width // 4)
        for column, cells, wanted in zip(columns, widths, natural, strict=True)
    )


def _widths(columns: Sequence[Column], table: list[list[str]], width: int) -> list[int]:
    """The cells of each column; those that bend share what the others leave, and ids are shortened first."""
    room = width - len(GAP) * (len(columns) - 1)
    widths = _natural(columns, table)
    if sum(widths) <= room:
        return widths
    for number, column in enumerate(columns):
        if column.place == "id":
            _shorten_ids(table, number)
    widths = _natural(columns, table)
    left = room - sum(cells for cells, column in zip(widths, columns, strict=True) if not column.bends)
    bending = sorted((cells, number) for number, cells in enumerate(widths) if columns[number].bends)
    for position, (cells, number) in enumerate(bending):
        share = max(left // (len(bending) - position), NARROWEST)
        widths[number] = min(cells, share)
        left -= widths[number]
    return widths


def _natural(columns: Sequence[Column], table: list[list[str]]) -> list[int]:
    return [
        max([cell_width(column.title), *(cell_width(row[number]) for row in table)])
        for number, column in enumerate(columns)
    ]


def _shorten_ids(table: list[list[str]], number: int) -> None:
    """The beginnings of ids, if they still differ."""
    ids = [row[number] for row in table]
    short = [
        head + mark + digits[:_ID_DIGITS] for head, mark, digits in (entry.rpartition("_") for entry in ids)
    ]
    if len(set(short)) == len(set(ids)):
        for row, item in zip(table, short, strict=True):
            row[number] = item


def _row(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int], paint: Paint) -> list[str]:
    """One row; several lines where a cell wraps."""
    cells = [
        wrap(text, cells) if column.wraps else [_cut(text, cells, column.cut) if column.cut else text]
        for column, text, cells in zip(columns, row, widths, strict=True)
    ]
    return [_line(columns, parts, widths, paint) for parts in zip_longest(*cells, fillvalue="")]


def _cut(text: str, cells: int, cut: Cut) -> str:
    """A cell in its room; a path among commands loses its left."""
    is_path = cut is Cut.PATH or (cut is Cut.MIDDLE and text.startswith("/") and " " not in text)
    return fit(home_as_tilde(text), cells, Cut.PATH) if is_path else fit(text, cells, cut)


def _line(
    columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int], paint: Paint = as_it_is
) -> str:
    """One line, with the words of state columns in their tones."""
    parts = []
    for column, text, width in zip(columns, cells, widths, strict=True):
        filled = padded(text, width, right=column.right)
        tone = tone_of(text) if column.title in _TONED else ""
        parts.append(filled.replace(text, paint(text, tone), 1) if tone else filled)
    return GAP.join(parts).rstrip()
