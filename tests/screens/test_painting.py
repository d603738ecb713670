"""Painting of cells, records and differences: width, tone, badge, hits, sparkline, tree, diff."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from sb.screens.ascii_glyphs import AsciiGlyphs
from sb.screens.row_list import columns_of
from sb.screens.state.document import Change, Field, copied, layout
from sb.screens.state.listing import Row
from sb.screens.state.word_diff import changed_words
from sb.screens.toned import cell_segments
from textual.color import Color

from sb.base.fitting import Cut
from sb.present.kind import Cell, Column


def look(name: str) -> Style:
    return Style(meta={"look": name}) if name else Style()


def painted(cell: Cell, column: Column, width: int) -> list[tuple[str, str]]:
    """The texts of a cell with their looks."""
    return [
        (segment.text, (segment.style or Style()).meta.get("look", ""))
        for segment in cell_segments(cell, column, width, Style(), look)
    ]


@given(st.text(max_size=60), st.sampled_from(list(Cut)), st.integers(1, 40), st.booleans(), st.booleans())
def test_a_cell_has_exactly_the_width_of_its_column(
    text: str, cut: Cut, width: int, badge: bool, right: bool
) -> None:
    hits = ((2, 5),) if len(text) > 5 else ()
    column = Column(width, cut=cut, right=right, badges=True)
    shown = "".join(part for part, _ in painted(Cell(text, "warn", badge=badge, hits=hits), column, width))
    assert cell_len(shown) == width


def test_a_badge_fills_its_column_and_a_plain_word_begins_where_its_word_does() -> None:
    column = Column(10, badges=True)
    badge = painted(Cell("unknown", "danger", badge=True), column, 10)
    assert "".join(text for text, _ in badge) == " unknown  "
    assert {look for _, look in badge} == {"danger-badge"}
    word = painted(Cell("denied", "danger"), column, 10)
    assert "".join(text for text, _ in word) == " denied   "
    assert {look for _, look in word} == {"danger"}


def test_a_search_hit_stays_in_view_in_its_own_look_and_takes_no_escape_along() -> None:
    text = "\x1b[31mpayments are stored in table ledger, amounts in cents"
    start = text.index("ledger")
    shown = painted(Cell(text, hits=((start, start + 6),)), Column(), 20)
    assert ("ledger", "hit") in shown
    assert "\x1b" not in "".join(part for part, _ in shown)


def test_a_sparkline_has_a_cell_an_hour_and_shows_denials_in_their_tone() -> None:
    trend = (*[(0, False)] * 8, (1, False), (4, True), (8, False), (2, False))
    shown = painted(Cell("15 calls, 4 denied", trend=trend), Column(12), 12)
    assert "".join(text for text, _ in shown) == "▁▁▁▁▁▁▁▁▂▄▇▃"
    assert shown[9] == ("▄", "danger")
    assert "█" not in "".join(text for text, _ in shown), "rows would fuse"


def test_a_column_grows_once_the_widest_has_enough_and_every_cell_is_used() -> None:
    columns = (Column(10), Column(), Column(28, most=80))
    assert [room for _, room in columns_of(columns, 100)] == [10, 56, 28]
    assert [room for _, room in columns_of(columns, 130)] == [10, 72, 42]
    assert [room for _, room in columns_of(columns, 240)] == [10, 144, 80]
    early = (Column(10), Column(), Column(28, most=80, enough=40))
    assert [room for _, room in columns_of(early, 100)] == [10, 40, 44]


def test_columns_that_there_is_no_room_for_give_way_from_the_last() -> None:
    columns = (
        Column(10, title="state"),
        Column(title="object"),
        Column(28, least=100, title="why"),
        Column(8, title="age"),
    )
    assert [number for number, _ in columns_of(columns, 120)] == [0, 1, 2, 3]
    assert [number for number, _ in columns_of(columns, 99)] == [0, 1, 3]
    assert [number for number, _ in columns_of(columns, 24)] == [0, 1]
    for width in range(40, 200):
        widths = [room for _, room in columns_of(columns, width)]
        assert 2 + sum(widths) + 2 * (len(widths) - 1) == width


def test_a_row_keeps_its_texts_whatever_they_are_painted_with() -> None:
    row = Row((Cell("denied", "danger"), "rm -rf build"), depth=1, fold=False)
    assert row.texts == ("denied", "rm -rf build")


def test_the_object_is_strong_groups_are_apart_and_ids_are_folded() -> None:
    document = [
        Field("rm -rf build"),
        Field("State", "expiring", tone="danger", badge=True),
        Field("request", "apr_1", folded=True),
        Field("Before it"),
        Field("2m", "ok  ls"),
    ]
    lines = layout(document, 60, unfolded=False)
    assert (lines[0].text, lines[0].tone) == ("rm -rf build", "strong")
    assert [paint.look for paint in lines[1].paints] == ["danger-badge"]
    assert [line.text for line in lines] == [
        "rm -rf build",
        " expiring ",
        "",
        "Before it",
        "ok  ls",
        "",
        "z shows request",
    ]
    assert "apr_1" in "".join(line.text for line in layout(document, 60, unfolded=True))
    assert "apr_1" in copied(document), "a copy has all of it"


def test_hits_of_a_value_are_where_its_words_are_after_wrapping() -> None:
    text = "the payments service retries for 73 seconds, then payments are stored"
    hits = tuple((at, at + 8) for at in (4, text.rindex("payments")))
    lines = layout([Field("Text", text, hits=hits)], 44, unfolded=True)
    assert [line.text[paint.start : paint.end] for line in lines for paint in line.paints] == ["payments"] * 2


CHANGE = Change("description", "Print the address label.", "Print the address label and send a mail.")


@pytest.mark.parametrize("width", [60, 120])
def test_the_words_that_changed_are_tinted_unified_and_side_by_side(width: int) -> None:
    lines = layout([CHANGE], width, unfolded=False)
    words = [
        line.text[paint.start : paint.end] for line in lines for paint in line.paints if "word" in paint.look
    ]
    assert "".join(words).strip() == "and send a mail"
    assert {paint.look for line in lines for paint in line.paints} >= {"del-bg", "add-bg", "add-word"}


@given(st.text(max_size=80), st.text(max_size=80))
def test_two_texts_are_the_same_without_the_words_that_differ(before: str, after: str) -> None:
    removed, added = changed_words(before, after)
    if removed or added:
        assert without(before, removed) == without(after, added)


def without(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text


def test_without_utf8_every_glyph_is_one_character_of_ascii() -> None:
    text = "╭─╮│╰╯▌●○▸▾…·━▁▂▃▄▅▆▇↳"
    (segment,) = AsciiGlyphs().apply([Segment(text)], Color.parse("black"))
    assert segment.text.isascii()
    assert len(segment.text) == len(text)
