"""The console's Evals: suites, runs, and a case's calls beside the expected ones."""

from __future__ import annotations

import pytest
from sb.screens.document_view import DocumentView
from sb.screens.evals import EvalsScreen
from sb.screens.state.document import Field
from sb.screens.state.evals import Node, Saved, document, read_saved, row_of
from textual.pilot import Pilot

from sb.evals.alignment import aligned
from sb.evals.report import report_document
from sb.evals.results import EvalRun
from sb.evals.shelf import EvalShelf
from sb.kernel.trajectory_eval.model import RecordedCall
from tests.conftest import CommandLine
from tests.screens.conftest import HOSTILE, Agents, Console
from tests.screens.contrast import unreadable
from tests.screens.eval_runs import RIGHT, WRONG, attempt, case, save
from tests.screens.overflow import overflowing
from tests.screens.test_safety import FORBIDDEN

EVALS = ("5", *["left_square_bracket"] * 2)  # the last view of Rules but one


def saved(agents: Agents, console: Console) -> None:
    """Three runs of a suite, which gets worse, and one of another."""
    home, now = console.records.config.home, agents.clock.time
    good = [case(f"case_{number}", "evals/refund.yaml", attempt(RIGHT)) for number in range(4)]
    save(home, 1, *good, at=now - 7200)
    save(home, 2, *good[:3], case("case_3", "evals/refund.yaml", attempt(WRONG)), at=now - 3600)
    flaky = case("writes a file", "evals/coding.yaml", attempt(RIGHT), attempt(WRONG))
    save(home, 3, flaky, at=now - 1800)
    bad = case("pays_once", "evals/refund.yaml", attempt(WRONG))
    save(home, 4, *good[:2], good[3], bad, at=now - 60)


def test_evals_look_as_they_did(agents: Agents, console: Console) -> None:
    saved(agents, console)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *EVALS)
        await console.looks(pilot, "evals")
        await console.press(pilot, "n")
        await console.looks(pilot, "evals-case")
        await console.press(pilot, "right_square_bracket")
        await console.looks(pilot, "evals-runs")

    console(script)


def test_plain_lines_say_how_the_newest_run_of_each_suite_ended(
    agents: Agents, console: Console, sb: CommandLine
) -> None:
    saved(agents, console)
    titles, refund, coding = sb("console", "--plain", "evals").out.splitlines()
    assert titles.split() == ["state", "suite", "passed", "cost", "age"]
    assert refund.split()[:5] == ["failed", "evals/refund.yaml", "3", "of", "4"]
    assert coding.split()[:5] == ["flaky", "evals/coding.yaml", "0", "of", "1"]


def test_empty_screen_says_how_to_begin(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *EVALS)
        await console.looks(pilot, "evals-empty")

    console(script)


def test_cases_open_below_their_suite_and_the_failing_one_comes_first(
    agents: Agents, console: Console
) -> None:
    saved(agents, console)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *EVALS, "enter")
        screen = console.app.screen
        assert isinstance(screen, EvalsScreen)
        listed = [
            (screen._node_by_key[key].suite, screen._node_by_key[key].case)
            for key in screen.rows.listing.keys
        ]
        assert listed[:3] == [
            ("evals/refund.yaml", ""),
            ("evals/refund.yaml", "pays_once"),
            ("evals/refund.yaml", "case_0"),
        ]
        await console.press(pilot, "enter")
        assert len(screen.rows.listing.keys) == 2

    console(script)


def test_next_failing_goes_through_all_suites_and_back(agents: Agents, console: Console) -> None:
    saved(agents, console)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *EVALS)
        screen = console.app.screen
        assert isinstance(screen, EvalsScreen)
        visited = []
        for key in ("n", "n", "n", "N"):
            await console.press(pilot, key)
            assert screen.node is not None
            visited.append(screen.node.case)
        assert visited == ["pays_once", "writes a file", "pays_once", "writes a file"]
        assert screen.command() == (
            "sb agent eval run evals/coding.yaml --agent python:shop:run -k 'writes a file'"
        )
        await console.press(pilot, "enter")
        assert isinstance(console.app.focused, DocumentView)

    console(script)


def test_filter_finds_cases_and_new_runs_appear(agents: Agents, console: Console) -> None:
    saved(agents, console)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *EVALS, "slash", *"flaky", "enter")
        screen = console.app.screen
        assert isinstance(screen, EvalsScreen)
        await console.until(pilot, lambda: len(screen.rows.listing.keys) == 2)
        await console.press(pilot, "escape")
        save(
            console.records.config.home,
            5,
            case("later", "evals/new.yaml", attempt(RIGHT)),
            at=agents.clock.time,
        )
        agents.clock.time += 5
        await console.until(pilot, lambda: len(screen.saved.suites) == 3)

    console(script)


def test_hostile_texts_command_no_terminal_and_fit_everywhere(agents: Agents, console: Console) -> None:
    home = console.records.config.home
    wrong = attempt((RecordedCall(HOSTILE, {HOSTILE: HOSTILE}, False),), says=HOSTILE)
    save(home, 1, case(HOSTILE, HOSTILE, wrong), at=agents.clock.time)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *EVALS, "n")
        for width in (60, 80, 100, 160):
            await console.resize(width, 30)
            assert not overflowing(console.app), width
            assert not FORBIDDEN.search(console.text()), width

    console(script)


def test_every_text_can_be_read(agents: Agents, console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")
    saved(agents, console)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *EVALS, "n")
        assert not unreadable(console.app)
        await console.press(pilot, "T")
        assert not unreadable(console.app)

    console(script, (120, 36))


def test_suite_says_what_changed_since_the_run_before(agents: Agents, console: Console) -> None:
    saved(agents, console)
    shelf = EvalShelf(console.records.config.home.evals)
    found = read_saved(shelf, Saved())
    assert read_saved(shelf, found) is found
    listed = document(found, shelf, Node("evals/refund.yaml"))
    fields = [(field.name, field.value or "") for field in listed if isinstance(field, Field)]
    assert dict(fields)["fixed"].startswith("case_3: ")
    assert dict(fields)["removed"].startswith("case_2: ")
    assert dict(fields)["new"] == "pays_once: new"
    row = row_of(found, Node("evals/refund.yaml"), frozenset(), 0)
    assert row.values[0].text == "failed"
    assert row.values[3].text == "3 of 4"
    assert [rate for rate, _ in row.values[2].trend] == [100, 75, 75]


def test_run_that_is_gone_shows_nothing(agents: Agents, console: Console) -> None:
    assert document(Saved(), EvalShelf(console.records.config.home.evals), Node("", "eval_1")) == ()


def test_steps_stand_beside_their_calls() -> None:
    result = case("pays_once", "s", attempt(WRONG))
    report = report_document(EvalRun("eval_1", 0.0, "a", (result,)))["cases"][0]
    lines = aligned(report["trajectory"], report["attempts"][0])
    found = [
        (line.word, line.expected and line.expected["tool"], line.recorded and line.recorded["args"])
        for line in lines
    ]
    assert found == [
        ("ok", "orders.read", {"order": 1002}),
        ("wrong", "payments.issue_refund", {"order": 1002, "amount": 49}),
        ("missing", "mail.send", None),
        ("extra", None, {"order": 1003, "amount": 8900}),
        ("forbidden", None, {}),
    ]
    lines = aligned(None, {"calls": [{"tool": "a"}]})
    assert [(line.word, line.expected) for line in lines] == [("also", None)]
