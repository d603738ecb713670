"""The console: each screen shows what is on record, by keyboard, as it is written."""

from __future__ import annotations

from typing import Any

import pytest
from sb.screens.actions import VIEWS
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.runs import RunsScreen
from sb.screens.section import Section
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.pilot import Pilot
from textual.widgets import Input

from tests.screens.conftest import SIZES, Agents, Console

EMPTY = {
    "agents": "No agents yet",
    "runs": "No runs yet",
    "calls": "No calls yet",
    "changes": "Nothing that can be undone yet",
    "grants": "No grants",
}


def name(screen: str, size: tuple[int, int]) -> str:
    return f"{screen}-{size[0]}x{size[1]}"


def test_every_screen_looks_as_it_did(agents: Agents, console: Console) -> None:
    agents.work(4)
    agents.call(
        "bank.hang", {"text": "the effect may have happened"}, agent="courier", intent="post a letter"
    )
    agents.call("shell.run", {"command": "rm -r /"}, agent="courier", intent="tidy up")

    async def script(pilot: Pilot[None]) -> None:
        await console.looks(pilot, "inbox")
        await console.visit(pilot, "runs")
        await console.press(pilot, "j")
        await console.looks(pilot, "runs")
        await console.press(pilot, "enter")
        await console.looks(pilot, "call")
        for view in VIEWS["log"]:
            await console.visit(pilot, view)
            await console.looks(pilot, view)

    console(script)


@pytest.mark.parametrize("size", SIZES)
def test_a_record_that_is_longer_than_its_place_is_read_to_its_end_by_keyboard(
    agents: Agents, console: Console, size: tuple[int, int]
) -> None:
    agents.call("bank.pay", {"to": "first " + "and so on " * 1000 + "last"})

    async def script(pilot: Pilot[None]) -> None:
        beginning = console.text()
        await console.press(pilot, "enter", "z", "G")
        assert "contract sha256:" in console.squeezed(), "what stands below the arguments"
        await console.press(pilot, "k")
        assert console.text() != beginning
        await console.press(pilot, "g")
        assert "waiting: asked just now" in console.text()
        await console.press(pilot, "j", "pagedown")
        assert "waiting: asked just now" not in console.text()

    console(script, size)


def test_a_screen_without_rows_says_what_will_appear_there(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        assert "Nothing waits for you" in console.text()
        await console.looks(pilot, "inbox-empty")
        for view, text in EMPTY.items():
            await console.visit(pilot, view)
            assert text in console.text(), view

    console(script)


def test_what_agents_do_appears_by_itself_and_the_cursor_stays_on_its_record(
    agents: Agents, console: Console
) -> None:
    agents.work(2)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "j")
        rows = console.app.screen.query_one("#log", RowList)
        before = rows.listing.current
        agents.work(30, text="fresh")
        await console.shows(pilot, "Log 55 ")
        assert rows.listing.current == before

    console(script)


def test_a_filter_shows_what_fits_and_how_much_that_is_and_escape_clears_it(
    agents: Agents, console: Console
) -> None:
    agents.work(6)
    agents.work(3, agent="courier")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "slash")
        console.app.screen.query_one(Input).value = "tool:bank.look agent:clerk"
        await console.shows(pilot, "3 of 21")
        assert console.text().count("account=DE-") >= 3
        assert "courier" not in console.text()
        await console.press(pilot, "x", "y")
        await console.shows(pilot, "0 of 21 · filter: tool:")  # nothing matches clerkx either
        console.snapshot("log-no-hit-80x24")
        await console.press(pilot, "escape")
        await console.shows(pilot, "Log 21")
        await console.press(pilot, "escape")
        assert console.at("inbox")

    console(script)


def test_a_filter_holds_in_every_view_of_activity_until_escape(agents: Agents, console: Console) -> None:
    agents.work(6)
    agents.call("bank.look", {"account": "DE-9"}, agent="courier")
    total = agents.runtime.log.head().seq

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "calls")
        await console.press(pilot, "slash", *"courier", "enter")
        for view, hits in (("changes", "0"), ("decisions", "0"), ("log", f"2 of {total}"), ("calls", "1")):
            await console.visit(pilot, view)
            await console.shows(pilot, f"{hits} · filter: courier")
            assert ("account=DE-9" in console.text()) == (view in ("log", "calls"))
            assert "clerk" not in console.text()
        await console.press(pilot, "escape")
        await console.visit(pilot, "log")
        await console.shows(pilot, f"Log {total}")
        assert "filter: " not in console.text()

    console(script)


def test_n_goes_to_the_older_call_of_unknown_outcome_and_back(agents: Agents, console: Console) -> None:
    agents.work(2)
    agents.call("bank.hang", {"text": "posted"}, agent="courier")
    agents.work(2)
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "G", "N")
        await console.until(pilot, lambda: "unknown" in console.detail())
        before = console.app.screen.query_one("#log", RowList).listing.current
        await console.press(pilot, "N")
        await console.says(pilot, "no other call was refused")
        await console.press(pilot, "g", "n")
        assert console.app.screen.query_one("#log", RowList).listing.current == before

    console(script)


def test_verification_says_when_the_log_was_whole_and_names_what_is_not(
    agents: Agents, console: Console
) -> None:
    agents.work(4)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "v")
        assert "verified just now" in console.text()
        await console.says(pilot, "Log verified: 11 rows")
        with agents.runtime.database.write() as execute:
            execute("DROP TRIGGER events_are_final")
            execute("UPDATE events SET agent = 'nobody' WHERE seq = 3")
        await console.press(pilot, "v")
        await console.shows(pilot, "row 3 was edited")
        await console.press(pilot, "escape")
        assert "verification failed" in console.text()

    console(script)


def test_pause_keeps_the_picture_and_says_so(agents: Agents, console: Console) -> None:
    agents.work(1)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "p")
        assert "paused" in console.text()
        agents.work(1, text="unseen")
        await pilot.pause(0.1)
        assert "unseen" not in console.text()
        await console.press(pilot, "p")
        await console.shows(pilot, "unseen")

    console(script)


def test_help_shows_every_action_of_the_screen_and_closes(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "question_mark")
        for action in console.app.available()[:9]:
            assert action.help[:40] in console.text()
        await console.press(pilot, "escape")
        assert "esc closes" not in console.text()

    console(script)


def test_the_palette_does_what_is_typed_and_opens_records(agents: Agents, console: Console) -> None:
    agents.work(2)
    call_id = next(
        event.subject.call_id
        for event in agents.runtime.log.events()
        if event.subject.call_id.startswith("call_")
    )

    async def script(pilot: Pilot[None]) -> None:
        for typed, expected in (("go to activity", "Log 8"), (call_id, "Arguments, redacted")):
            await pilot.press("colon")
            console.app.screen.query_one(Input).value = typed
            await console.shows(pilot, typed.split()[-1])
            await pilot.press("enter")
            await console.shows(pilot, expected)

    console(script)


def test_a_record_named_in_the_palette_that_is_no_record_searches_the_log(
    agents: Agents, console: Console
) -> None:
    agents.work(2)

    async def script(pilot: Pilot[None]) -> None:
        console.app.find_on("log", "bank.look")
        await console.shows(pilot, "2 of 8 · filter: bank.look")

    console(script)


def test_a_record_that_is_not_there_is_said_in_one_line(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        console.app.open_reference("call_0123456789abcdef")
        await console.shows(pilot, "nothing in the log for call_0123456789abcdef")

    console(script)


def test_long_values_are_folded_until_asked_for(agents: Agents, console: Console) -> None:
    agents.work(1, text="long " * 600 + "END")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "j", "enter")
        view = console.app.screen.query_one(DocumentView)

        def ends() -> int:
            return sum("END" in line.text for line in view.lines)

        assert any("… z shows all 3 005 characters" in line.text for line in view.lines)
        assert ends() == 1, "of the object, which is cut in the middle"
        await console.press(pilot, "z")
        assert ends() > 1
        await console.press(pilot, "z")
        assert ends() == 1

    console(script)


@pytest.mark.parametrize("key", ["1", "2", "3", "4", "5"])
def test_a_tick_while_the_console_ends_misses_no_widget_that_is_gone(
    agents: Agents, console: Console, key: str
) -> None:
    agents.work(2)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, key)
        section = console.app.section
        assert section is not None
        console.app.exit()
        await section.query(Panel).first().remove()
        console.app._tick()

    console(script)


def test_a_first_visit_reads_once_and_matches_no_widget_with_the_rules_again_and_again(
    agents: Agents, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    styled: list[DOMNode] = []
    reads: list[Section] = []
    apply, refresh = Stylesheet.apply, RunsScreen.refresh_records

    def count_styled(sheet: Stylesheet, node: DOMNode, **more: Any) -> None:
        styled.append(node)
        apply(sheet, node, **more)

    def count_reads(screen: RunsScreen) -> None:
        reads.append(screen)
        refresh(screen)

    monkeypatch.setattr(Stylesheet, "apply", count_styled)
    monkeypatch.setattr(RunsScreen, "refresh_records", count_reads)

    async def script(pilot: Pilot[None]) -> None:
        styled.clear()
        await console.press(pilot, "2", "right_square_bracket")
        assert reads == [console.app.screen]
        widgets = console.app.screen.walk_children()
        assert all(1 <= styled.count(widget) <= 3 for widget in widgets), (
            "again when it or what it holds has the focus"
        )
        assert sum(widget in widgets for widget in styled) < 2 * len(widgets)

    console(script)
