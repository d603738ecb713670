"""Activity in the console: a call is undone wherever it is listed, and a filter holds in all views."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from sb.screens.filtering import Filtering
from sb.screens.row_list import RowList
from textual.pilot import Pilot
from textual.widgets import Input

from sb.base.sources import iso
from sb.kernel.authority.signing import Label
from sb.present.event_files import COLUMNS
from tests.conftest import CommandLine
from tests.screens import shop
from tests.screens.conftest import Agents, Console
from tests.screens.shop import Bank
from tests.screens.steps import SHIPPED, ask, dialog, done, escalate, give
from tests.screens.test_deciding import ADA
from tests.screens.test_recovery import decide, detail, in_doubt, open_changes, state


@pytest.fixture
def settings(tmp_path: Path) -> str:
    return 'database: brain.db\nfiles: {roots: []}\ntools: ["tests.screens.shop:register"]\n'


@pytest.fixture(autouse=True)
def bank() -> Bank:
    shop.bank = Bank()
    return shop.bank


@pytest.mark.parametrize("keys", [("3",), ("3", "right_square_bracket"), ("2", "right_square_bracket", "G")])
def test_a_call_is_undone_wherever_it_is_listed(
    agents: Agents, console: Console, bank: Bank, keys: tuple[str, ...]
) -> None:
    ref = done(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *keys)
        await console.until(pilot, lambda: "u undo" in console.text().splitlines()[-1])
        await decide(console, pilot, "u")
        await console.says(pilot, "pay.human was undone")
        await console.until(pilot, lambda: "u undo" not in console.text().splitlines()[-1])

    console(script)
    assert (bank.reversed_, state(agents, ref)) == (["ref_1"], "reversed")


def test_changes_without_a_way_back_are_shown_when_asked_for(agents: Agents, console: Console) -> None:
    ref = done(agents)
    agents.call("notes.append", {"text": "no way back from here"})

    async def script(pilot: Pilot[None]) -> None:
        await open_changes(console)
        assert ref.mutation_id in detail(console)
        assert "no way back from here" not in console.text()
        assert "h all" in console.text().splitlines()[-1]
        await console.press(pilot, "h")
        assert "no way back from here" in console.text()
        assert "no undo" in console.text()
        await console.press(pilot, "g", "u")
        await console.shows(pilot, "declares no undo")
        await console.press(pilot, "escape", "h")
        assert "no way back from here" not in console.text()

    console(script)


def test_a_filter_holds_in_all_views_of_activity(agents: Agents, console: Console) -> None:
    done(agents)
    agents.call("bank.look", {"account": "DE-1"})
    done(agents, order="8")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "slash", *"tool:pay.human", "enter")
        await console.shows(pilot, "filter: tool:pay.human")
        for view, found in (("calls", 2), ("changes", 2), ("decisions", 0)):
            await console.press(pilot, "right_square_bracket")
            assert console.at(view)
            await console.shows(pilot, f"  {found} · filter")
            assert "filter: tool:pay.human" in console.text()
            assert "bank.look" not in console.text()
        await console.press(pilot, "escape")
        assert console.at("decisions"), "it clears the filter first"
        await console.press(pilot, "left_square_bracket", "left_square_bracket")
        assert console.at("calls")
        await console.shows(pilot, "Calls 3")
        assert "bank.look" in console.text()

    console(script)


def test_a_text_that_is_no_filter_keeps_the_cursor_and_is_gone_when_it_is_left(
    agents: Agents, console: Console
) -> None:
    """Else keys would act on rows that nobody asked for, and the text would come back in another view."""
    done(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "slash", *"tool:pay", "enter", "slash")
        section = console.app.section
        assert isinstance(section, Filtering)
        box = section.query_one("#filter", Input)
        assert box.selected_text == "tool:pay"
        await console.press(pilot, *"colour:red", "enter")
        await console.shows(pilot, "no key 'colour'")
        assert box.has_focus
        await console.press(pilot, "u", "x")
        assert box.value == "colour:redux"
        await console.press(pilot, "tab")
        await console.until(pilot, lambda: (box.value, section.filter_text) == ("tool:pay", "tool:pay"))
        await console.press(pilot, "right_square_bracket")
        await console.shows(pilot, "filter: tool:pay")
        assert console.app.screen.query_one("#filter", Input).value == "tool:pay"

    console(script)


def test_enter_filters_by_what_was_typed_in_one_burst(agents: Agents, console: Console) -> None:
    done(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3")
        await pilot.press("slash", *"tool:nothing", "enter")
        section = console.app.section
        assert isinstance(section, Filtering)
        assert section.filter_text == "tool:nothing"
        assert not section.query_one("#filter", Input).has_focus

    console(script)


def test_who_decided_stands_below_its_title(agents: Agents, console: Console) -> None:
    agents.runtime.approvals.approve(agents.pay("bob"), Label("ada"), "the bill")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", *["right_square_bracket"] * 3)
        await console.shows(pilot, "approved")
        title, row = (
            next(line for line in console.text().splitlines() if word in line) for word in (" by ", "bob")
        )
        assert row[title.index(" by ") + 1 :].startswith("ada")

    console(script)


def test_what_nobody_decided_in_time_is_found_among_decisions_by_its_state(
    agents: Agents, console: Console
) -> None:
    agents.runtime.approvals.deny(agents.pay("eve"), Label("grace"), "no")
    agents.pay("the landlord")  # whose lapse is noted, since later requests come
    agents.clock.time += 86_400
    agents.runtime.approvals.approve(agents.pay("bob"), Label("ada"), "the bill")
    agents.clock.time += 86_400  # after which nothing is noted any more

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", *["right_square_bracket"] * 3)
        await console.shows(pilot, "Decisions 5")
        assert "landlord" not in console.text()
        for typed, found in (("state:expired", 2), ("-state:denied", 4), ("state:denied by:grace", 1)):
            await console.press(pilot, "slash")
            console.app.screen.query_one("#filter", Input).value = typed
            await console.shows(pilot, f"filter: {typed[:14]}")
            assert len(console.app.screen.query_one("#decisions", RowList).listing.keys) == found
            if typed == "state:expired":
                assert "to=the landlord" in console.squeezed()
            await console.press(pilot, "escape")

    console(script)


def test_plain_lines_say_what_waits_and_what_is_in_doubt(agents: Agents, sb: CommandLine, bank: Bank) -> None:
    empty = sb("console", "--plain", "inbox")
    assert (empty.code, empty.out, "nothing in view inbox" in empty.err) == (0, "", True)
    escalation, call_id = escalate(agents, done(agents)), in_doubt(agents, bank)
    lines = sb("console", "--plain", "inbox").out.splitlines()
    assert len(lines) == 3
    waiting, unknown = (next(line for line in lines if name in line) for name in (escalation, call_id))
    assert ("reversal" in waiting, f"{SHIPPED} turned false" in waiting, "unknown" in unknown) == (True,) * 3
    changes = sb("console", "--plain", "changes").out
    assert agents.runtime.recovery.mutations.newest(limit=1)[0].mutation_id in changes


def test_dismissing_after_somebody_else_did_is_said(agents: Agents, console: Console) -> None:
    escalation = escalate(agents, done(agents))

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "d")
        await give(console, pilot, "leave it")
        agents.runtime.recovery.dismiss(escalation, Label("grace"), "I was faster")
        await console.press(pilot, "y")
        await console.says(pilot, "is dismissed already")
        assert ADA.name not in console.text()

    console(script)


def stamp(agents: Agents) -> str:
    """Day and time in the name of a file that is written now."""
    return iso(agents.clock.now())[:19].replace(":", "").replace("T", "-")


@pytest.mark.parametrize("format_", ["json", "csv"])
def test_rows_that_fit_the_filter_are_written_to_a_file(
    agents: Agents, console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    monkeypatch.chdir(tmp_path)
    agents.call("notes.append", {"text": "=1+1"})
    agents.call("bank.look", {"account": "DE-1"})

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "slash", *"tool:notes.append", "enter")
        await console.shows(pilot, "filter: tool:notes.append")
        await console.press(pilot, "E")
        assert str(tmp_path)[:40] in console.text()
        await console.press(pilot, *(["down"] if format_ == "csv" else []), "enter")
        await console.says(pilot, "wrote ")

    console(script)
    [path] = tmp_path.glob("activity-*")
    assert path.stem == f"activity-{stamp(agents)}"
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text(encoding="utf-8")
    if format_ == "json":
        tools = [json.loads(line)["tool_id"] for line in text.splitlines()]
    else:
        rows = list(csv.DictReader(io.StringIO(text)))
        tools = [row["object"].split()[0] for row in rows]
        assert rows[0].keys() == set(COLUMNS)
    assert set(tools) == {"notes.append"}


def test_a_file_that_cannot_be_written_is_said(
    agents: Agents, console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    agents.work(1)

    async def script(pilot: Pilot[None]) -> None:
        (tmp_path / f"activity-{stamp(agents)}.jsonl").mkdir()
        await console.press(pilot, "3", "E", "enter")
        await console.says(pilot, "File exists")

    console(script)


def test_what_the_dry_run_says_stands_before_the_ids_in_the_dialog(agents: Agents, console: Console) -> None:
    done(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "changes")
        await console.settle(pilot)
        await ask(console, pilot, "u")
        text = dialog(console)
        assert text.index("Dry run") < text.index("Undoes") < text.index("Call")

    console(script)
