"""Faults that a fresh operator met in the console: each place says now how things stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from sb.screens.decision import DecisionScreen
from sb.screens.log import ActivityView
from sb.screens.state.agents import read_agents
from sb.screens.state.search import Found
from textual.pilot import Pilot
from textual.widgets import Input

from sb.kernel import SafetyClass
from sb.kernel.authority.signing import Label
from tests.conftest import approve_tools
from tests.screens.conftest import Agents, Console
from tests.screens.steps import ask, dialog, give, record, shell
from tests.screens.test_saved_filters import type_filter

ADA = Label("ada")
TWICE = ("3", "right_square_bracket")


def activity(console: Console) -> ActivityView:
    section = console.app.section
    assert isinstance(section, ActivityView)
    return section


def test_no_view_is_counted_before_it_was_looked_through(agents: Agents, console: Console) -> None:
    agents.work(3)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *TWICE)
        await console.shows(pilot, "Calls 3")
        view = activity(console)
        view.search.hits = Found((), 9, False)
        view.show_title()
        assert console.app.view_counts["calls"] == 3

    console(script)


def test_a_filter_puts_the_cursor_on_the_newest_that_fits(agents: Agents, console: Console) -> None:
    agents.work(30)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *TWICE)
        await console.shows(pilot, "Calls 30")
        await console.press(pilot, "G")
        await type_filter(console, pilot, "hello")
        await console.shows(pilot, "15 · filter: hello")
        assert activity(console).rows.listing.index == 0

    console(script)


def test_what_was_decided_fits_no_filter_that_is_typed_later(agents: Agents, console: Console) -> None:
    agents.pay("bob")
    agents.pay("eve", agent="courier")

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, "bank.pay to=bob")
        await ask(console, pilot, "d")
        await give(console, pilot, "a wrong bill")
        await console.press(pilot, "y")
        await console.shows(pilot, "denied")
        await type_filter(console, pilot, "courier")
        await console.shows(pilot, "1 of 1")
        assert "bob" not in console.text()

    console(script)


def test_the_line_of_a_decision_leads_to_it_with_its_reason(agents: Agents, console: Console) -> None:
    reference = agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, "bank.pay to=bob")
        await ask(console, pilot, "d")
        await give(console, pilot, "a wrong bill")
        await console.press(pilot, "y")
        await console.shows(pilot, reference)
        await console.press(pilot, "enter")
        await console.until(pilot, lambda: console.at("decisions"))
        await console.shows(pilot, "a wrong bill")

    console(script)


def test_a_stopped_agent_is_not_at_work(agents: Agents, console: Console) -> None:
    agents.session("codex", calls=2)
    assert read_agents(console.records).working == 1
    agents.runtime.kill.throw("agent", "codex", ADA, "pays twice")
    found = read_agents(console.records)
    assert found.working == 0
    assert [(line.stopped, line.at_work) for line in found.agents] == [(True, False)]


def test_a_denied_call_says_so_in_its_record_too(agents: Agents, console: Console) -> None:
    agents.runtime.approvals.deny(agents.pay("bob"), ADA, "a wrong bill")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *TWICE)
        await console.shows(pilot, "denied")
        await console.until(pilot, lambda: "State denied" in record(console))
        assert "Why a wrong bill (ada)" in record(console)

    console(script)


def test_the_hours_of_an_agent_tell_denied_from_refused(agents: Agents, console: Console) -> None:
    agents.runtime.approvals.deny(agents.pay("bob"), ADA, "a wrong bill")
    agents.pay("eve")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "2")
        await console.shows(pilot, "calls an hour, 2 asked, 1 denied")
        assert "refused" not in console.text().partition("calls an hour")[2].partition("\n")[0]

    console(script, (120, 36))


def test_an_amount_names_the_currency_of_its_call_where_the_contract_has_none(
    agents: Agents, console: Console
) -> None:
    money = {"risk_dimension": "money", "value_arg": "amount"}
    agents.runtime.registry.register_fn(
        "shop.pay", "Pay", lambda amount, currency: "", SafetyClass.DESTRUCTIVE, metadata=money
    )
    approve_tools(agents.runtime)
    agents.call("shop.pay", {"amount": 25, "currency": "EUR"})

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "25 (the call says EUR, its contract nothing)")

    console(script)


def test_find_names_views_and_commands_below_a_group(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "colon")
        assert "Lessons in Memory" not in console.text()  # nothing was asked for yet
        await console.press(pilot, *"lesson")
        await console.shows(pilot, "Lessons in Memory")
        await console.shows(pilot, "sb memory lesson add")
        await console.press(pilot, "enter")
        await console.until(pilot, lambda: console.at("lessons"))

    console(script)


@pytest.mark.parametrize(
    ("place", "key", "label"), [("lessons", "slash", "/ (filter)"), ("log", "d", "d (deny)")]
)
def test_a_key_that_does_nothing_here_says_so(
    agents: Agents, console: Console, place: str, key: str, label: str
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, place)
        await console.press(pilot, key)
        await console.says(pilot, f"{label} does nothing here")

    console(script)


def test_what_is_typed_for_a_filter_that_is_not_there_is_no_command(agents: Agents, console: Console) -> None:
    with agents.runtime.brain("ada") as brain:
        brain.lesson_add("the script is called build", "npm run biuld")

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "lessons")
        await console.shows(pilot, "the script is called build · ")  # with the call that it is about
        for key in ("slash", "x", "K"):
            console.app.simulate_key(key)
        await console.says(pilot, "was dropped")
        assert not isinstance(console.app.screen, DecisionScreen)

    console(script)


@pytest.mark.parametrize(("size", "least"), [((120, 36), 12), ((80, 24), 7)])
def test_a_dialog_takes_the_lines_that_the_screen_has_and_forgets_what_was_read(
    agents: Agents, console: Console, size: tuple[int, int], least: int
) -> None:
    for number in range(30):
        shell(agents, f"git branch -D feature-{number:02}")

    async def script(pilot: Pilot[None]) -> None:
        await ask(console, pilot, "d")
        await console.until(pilot, lambda: dialog(console).count("feature-") >= least)
        await give(console, pilot, "merged")
        assert "not on the screen" in dialog(console)
        for _ in range(6):
            await console.press(pilot, "pagedown")
        assert "not on the screen" not in dialog(console)
        await console.press(pilot, "enter")
        assert "2 of 2" in console.text()
        await console.until(pilot, lambda: "type 30, then enter · esc goes back" in dialog(console))
        assert dialog(console).count("feature-") >= least - 3  # the second step has more of its own

    console(script, size)


def test_titles_keep_the_names_of_views_under_a_filter(agents: Agents, console: Console) -> None:
    agents.work(3)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *"3", *["right_square_bracket"] * 3)
        await console.press(pilot, "slash", *"-agent:nobody -agent:nowhere", "enter")
        title = next(line for line in console.text().split("\n") if "Decisions" in line)
        assert all(name in title for name in ("Log", "Calls", "Changes", "filter"))

    console(script)


def test_a_stop_points_at_its_choice_without_colours(agents: Agents, console: Console) -> None:
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "K")
        await console.shows(pilot, "▸ agent")
        await console.press(pilot, "down")
        await console.until(pilot, lambda: console.text().count("▸") == 1 and "▸ agent" not in console.text())

    console(script)


def test_a_snooze_says_for_how_long_before_its_reason(agents: Agents, console: Console) -> None:
    with agents.runtime.brain("ada") as brain:
        brain.trigger_create("billing schema", "read the runbook")

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "triggers")
        await console.shows(pilot, "billing schema")
        await ask(console, pilot, "w")
        assert "a week" in dialog(console)
        assert console.app.screen.query_one("#reason", Input).has_focus

    console(script)


def test_tabs_have_letters_on_a_telephone(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        line = console.text().split("\n")[0]
        assert all(
            f"{number}{name}" in line
            for number, name in zip("12345", ("In", "Ag", "Ac", "Me", "Ru"), strict=True)
        )

    console(script, (50, 40))


@pytest.mark.parametrize("settings", ["database: brain.db\nfiles: {roots: [..]}\n"])
def test_an_undo_says_first_which_files_come_back(agents: Agents, console: Console, home: Path) -> None:
    path = home.parent / "a.txt"
    path.write_text("old", encoding="utf-8")
    result = agents.call("files.write", {"path": str(path), "content": "new"})
    assert result.success, result

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "changes")
        await console.shows(pilot, "undoable")
        await ask(console, pilot, "u")
        before, _, after = dialog(console).partition("a.txt (3 B")
        assert "would restore" in before
        assert "files.restore" not in before
        assert "Runs files.restore" in after

    console(script, (120, 36))
