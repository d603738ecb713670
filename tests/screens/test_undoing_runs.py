"""In the console all of a run is undone at once: what that would do is said before, and what stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from sb.screens.decision import DecisionScreen
from sb.screens.inbox import InboxScreen
from textual.pilot import Pilot
from textual.widgets import Input

from sb.kernel import RunContext
from sb.kernel.contracts import MutationState
from sb.kernel.review.log_verification import verify
from sb.kernel.review.runs import RunState, first_events, runs_at
from sb.kernel.run_context import RECOVERY_AGENT
from tests.screens import shop
from tests.screens.conftest import Agents, Console
from tests.screens.shop import Bank
from tests.screens.steps import done, give
from tests.screens.test_recovery import detail, open_changes, state


@pytest.fixture
def settings(tmp_path: Path) -> str:
    (tmp_path / "files").mkdir()
    shop.bank = Bank()
    return f'database: brain.db\nfiles: {{roots: ["{tmp_path / "files"}"]}}\ntools: ["tests.screens.shop:register"]\n'


def test_a_whole_run_is_undone_newest_first_after_a_dry_run(
    agents: Agents, console: Console, tmp_path: Path
) -> None:
    path = tmp_path / "files" / "notes.txt"
    path.write_text("before", encoding="utf-8")
    executor, ctx = agents.runtime.executor, RunContext.create("clerk", clock=agents.clock)
    for content in ("first", "second"):
        assert executor.execute(ctx, "files.write", {"path": str(path), "content": content}).success
    other = done(agents, "files.write", path=str(tmp_path / "files" / "other.txt"), content="stays")

    async def script(pilot: Pilot[None]) -> None:
        first = agents.runtime.recovery.mutations.of_run(ctx.run_id)[0]
        console.app.open_reference(first.mutation_id)
        await console.until(pilot, lambda: first.mutation_id in detail(console))
        await console.press(pilot, "U")
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        await console.shows(pilot, "Undo all of its run: 2 calls")
        assert "│ - write" in console.squeezed()
        await console.press(pilot, "pagedown")
        dialog = [line.split("│")[-2].strip() for line in console.text().split("\n") if line.count("│") >= 2]
        assert "looked at again once those above are undone" in " ".join(
            dialog
        )  # wherever the path breaks it
        assert path.read_text(encoding="utf-8") == "second"
        await give(console, pilot, "all of it was wrong")
        await console.press(pilot, "y", "enter")
        await console.shows(pilot, "Nothing decided: type 2, or press esc")
        assert path.read_text(encoding="utf-8") == "second"
        await console.press(pilot, "pageup", "pagedown", "backspace", "2", "enter")
        await console.says(pilot, f"2 calls of the run undone ({ctx.run_id})")
        await console.press(pilot, "U")
        await console.says(pilot, "was reversed before")
        agents.call("pay.find", {"key": "k"}, intent="only look")
        await console.press(pilot, "2", "right_square_bracket", "g", "u")
        await console.says(pilot, "nothing to undo")

    console(script)
    assert path.read_text(encoding="utf-8") == "before"
    assert state(agents, other) is MutationState.COMMITTED
    assert verify(agents.runtime.log).ok


def test_of_a_run_that_cannot_all_be_undone_what_stays_is_said(
    agents: Agents, console: Console, tmp_path: Path
) -> None:
    path = tmp_path / "files" / "notes.txt"
    executor, ctx = agents.runtime.executor, RunContext.create("clerk", clock=agents.clock)
    args = {"path": str(path), "content": "x"}
    assert executor.execute(ctx, "files.write", args).success
    shop.bank.silent = True
    executor.execute(ctx, "pay.human", {"order": "7"})
    shop.bank.silent = False

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "U")
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        assert "pay.human order=7: outcome unknown, left as it is" in console.text()
        path.write_text("mine", encoding="utf-8")
        await give(console, pilot, "all of it was wrong")
        await console.press(pilot, "y")
        await console.says(pilot, "was changed since")
        await console.press(pilot, "U")
        await console.says(pilot, "was changed since")
        assert isinstance(console.app.screen, InboxScreen)

    console(script)
    assert path.read_text(encoding="utf-8") == "mine"


def test_what_is_typed_while_a_dry_run_is_made_is_the_reason_of_its_dialog(
    agents: Agents, console: Console
) -> None:
    ref = done(agents)

    async def script(pilot: Pilot[None]) -> None:
        await open_changes(console)
        await console.shows(pilot, "undoable")
        for key in ("u", *"KdyNo"):
            console.app.simulate_key(key)
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        await console.until(pilot, lambda: console.app.screen.query_one("#reason", Input).value == "KdyNo")
        await console.press(pilot, "escape")
        await console.says(pilot, "Nothing decided")
        await console.press(pilot, "t")
        assert console.at("changes")

    console(script)
    assert state(agents, ref) == "committed"


def recovery_runs(agents: Agents) -> set[RunState]:
    """The states of the runs in which previews and reversals are made."""
    log = agents.runtime.log
    found = runs_at(log, first_events(log)).values()
    return {run.state for run in found if run.agent == RECOVERY_AGENT}


def test_run_of_an_undo_ends_with_it_and_not_with_the_console(
    agents: Agents, console: Console, tmp_path: Path
) -> None:
    path = tmp_path / "files" / "notes.txt"
    done(agents, "files.write", path=str(path), content="after")

    async def script(pilot: Pilot[None]) -> None:
        await open_changes(console, "u")
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        await give(console, pilot, "the wrong file")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: recovery_runs(agents) == {RunState.FINISHED})
        assert not path.exists()

    console(script)


def test_run_of_an_undo_that_is_declined_ends_then(agents: Agents, console: Console, tmp_path: Path) -> None:
    done(agents, "files.write", path=str(tmp_path / "files" / "notes.txt"), content="after")

    async def script(pilot: Pilot[None]) -> None:
        await open_changes(console, "u")
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        assert recovery_runs(agents) == {RunState.OPEN}
        await console.press(pilot, "escape")
        await console.until(pilot, lambda: recovery_runs(agents) == {RunState.FINISHED})

    console(script)
