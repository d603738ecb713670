"""The parts of all screens: panels, the split between them, tabs, keys, and lines that fit at every width."""

from __future__ import annotations

import pytest
from sb.screens.actions import EVERYWHERE, LISTS, SECTIONS, VIEWS, actions
from sb.screens.chrome import KeyLine, TabLine
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel, Split
from sb.screens.row_list import RowList
from sb.screens.theme import DARK, LIGHT
from textual.content import Content
from textual.pilot import Pilot

from tests.screens.conftest import Agents, Console
from tests.screens.contrast import unreadable
from tests.screens.overflow import WIDE, WIDTHS, overflowing

# All but Harness, which runs the audit and has its own test.
SCREENS = [view for name in SECTIONS for view in VIEWS.get(name, [name]) if view != "harness"]


@pytest.fixture
def busy(agents: Agents) -> Agents:
    """Something on every screen, with wide letters in all that others write."""
    agents.work(40, text=WIDE)
    agents.pay(WIDE)
    agents.call("bank.hang", {"text": WIDE}, agent="\u6f22\u5b57 courier", intent=WIDE)
    agents.change_contract()
    return agents


def test_no_line_is_wider_or_narrower_than_its_place_at_any_width(busy: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        for name in SCREENS:
            console.app.go(name)
            await console.settle(pilot)
            for width in WIDTHS if name in SECTIONS else WIDTHS[::2]:
                await console.resize(width, 24 if width < 100 else 40)
                assert not overflowing(console.app), (name, width)

    console(script)


@pytest.mark.parametrize("colours", ["truecolor", "256"])
def test_every_text_of_every_screen_and_view_can_be_read_in_both_themes(
    busy: Agents, console: Console, monkeypatch: pytest.MonkeyPatch, colours: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", colours)

    async def script(pilot: Pilot[None]) -> None:
        assert console.app.console.color_system == colours
        for _ in (DARK, LIGHT):
            for name in SCREENS:
                console.app.go(name)
                await console.settle(pilot)
                assert not unreadable(console.app), (name, console.app.theme)
            await console.press(pilot, "T")

    console(script, (100, 30))


def test_panels_are_beside_each_other_from_140_columns_on_and_the_split_moves_on_all_screens(
    busy: Agents, console: Console
) -> None:
    def places() -> list[tuple[int, int]]:
        return [(panel.region.x, panel.region.width) for panel in console.app.screen.query(Panel)]

    async def script(pilot: Pilot[None]) -> None:
        assert places() == [(1, 75), (77, 62)], "11 to 9, with air around both"
        await console.press(pilot, "less_than_sign", "less_than_sign")
        assert places() == [(1, 61), (63, 76)]
        await console.press(pilot, "3")
        assert places() == [(1, 61), (63, 76)], "on another screen too"
        await console.press(pilot, *["greater_than_sign"] * 20)
        assert places() == [(1, 102), (104, 35)], "both stay in view"
        await console.resize(139, 36)
        assert places() == [(0, 139), (0, 139)], "a command is read whole in the list"
        await console.resize(80, 24)
        assert places() == [(0, 80), (0, 80)]

    console(script, (140, 36))


def test_a_panel_takes_all_the_room_and_gives_it_back(busy: Agents, console: Console) -> None:
    def widths() -> list[int]:
        return [panel.region.width for panel in console.app.screen.query(Panel) if panel.display]

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "f")
        assert widths() == [138]
        await console.press(pilot, "enter")
        assert console.app.focused is not None
        assert console.app.focused.id == "need", "what is opened comes into view"
        assert widths() == [138]
        await console.press(pilot, "tab")
        assert console.app.focused.id == "waiting"
        await console.press(pilot, "f")
        assert widths() == [75, 62]
        await console.press(pilot, "f", "escape")
        assert widths() == [75, 62]
        assert console.at("inbox")

    console(script, (140, 36))


def test_views_are_named_in_the_title_with_their_counts_and_the_foot_gives_way_to_the_title(
    agents: Agents, console: Console
) -> None:
    seen: list[str] = []

    async def script(pilot: Pilot[None]) -> None:
        panel = Panel(RowList((), id="some"), views={"open": "Open", "decided": "Decided"})
        await console.app.screen.mount(Split(panel, Panel(title="Detail"), console.app.shares), before=1)
        panel.count({"open": 10_000, "decided": 31})
        panel.foot("2 marked", "", "5 of 183")
        await console.until(pilot, lambda: True)
        seen.append(console.text())
        for view, name in {"decided": "Decided", "open": "Open"}.items():
            panel.step(-1)
            assert panel.view == view
            title = panel._border_title
            assert title is not None
            [line] = [span for span in title.spans if "underline" in str(span.style)]
            assert title.plain[line.start : line.end] == name, "the active one alone is underlined"

    console(script, (120, 40))
    assert "╭─ Open 10 000  Decided 31 ─" in seen[0]
    assert "╰─ 2 marked · 5 of 183 ─" in seen[0]
    console(script, (80, 24))
    assert "─ Open 10 000  Decided 31  2 marked · 5 of 183 ─" in seen[1]


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (120, " sb  1 Inbox·4  2 Agents  3 Activity  4 Memory  5 Rules "),
        (80, " sb  1 Inbox·4  2 Agents  3 Activity  4 Memory  5 Rules "),
        (60, "1Inbo·4 2Agen 3Acti 4Memo  5Rule "),
        (40, "1In·4 2Ag 3Ac 4Me  5Ru "),
    ],
)
def test_tabs_fold_and_keep_the_count_of_what_needs_you(
    agents: Agents, console: Console, width: int, expected: str
) -> None:
    for name in ("bob", "eve", "joan", "dan"):
        agents.pay(name)

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "·4")
        await console.press(pilot, "5")
        first = console.text().split("\n")[0]
        assert first.startswith(expected), first
        assert first.endswith("● live")
        tabs = console.app.screen.query_one(TabLine)
        tabs.show({"inbox": 10_000}, Content("read-only ● live"))
        assert "·10k" in str(tabs.content)  # before the next tick writes the counts that there are

    console(script, (width, 24))


def test_the_key_line_gives_up_its_middle_first_and_never_what_stops(console: Console) -> None:
    line = KeyLine([action for action in actions("inbox", LISTS, EVERYWHERE) if action.footer])
    for width in range(20, 130):
        text = line.fitting(width).plain
        assert text.endswith(line.fitting(20).plain.strip()), text
        assert len(text) <= max(width, len(line.fitting(20).plain))
    assert "approve" in line.fitting(60).plain
    assert "filter" not in line.fitting(50).plain


def test_a_detail_that_does_not_fit_says_which_of_its_lines_are_in_view(
    agents: Agents, console: Console
) -> None:
    agents.work(1)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "enter", "z")
        detail = console.app.screen.query_one(DocumentView)
        rule, total, height = detail.parent, len(detail.lines), detail.size.height
        assert isinstance(rule, Panel)
        assert f"lines 1-{height} of {total}" in str(rule.border_title)
        await console.press(pilot, "G")
        assert f"lines {total - height + 1}-{total} of {total}" in str(rule.border_title)
        await console.resize(120, 60)
        assert " of " not in f"{rule.border_title}{rule.border_subtitle}", "all of them"

    console(script, (80, 24))
