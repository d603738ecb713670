"""In the console all of a run is undone at once: what that would do is said before, and what stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from sb.screens.decision import DecisionScreen
from sb.screens.recovery import RecoveryScreen
from sb.screens.state.records import Records
from textual.pilot import Pilot
from textual.widgets import Input

from sb.config import current_config
from sb.errors import StoreError
from sb.kernel import RunContext
from sb.kernel.contracts import MutationState
from sb.kernel.review.log_verification import verify
from sb.runtime import open_runtime
from tests.screens import shop
from tests.screens.conftest import Agents, Console
from tests.screens.shop import Bank
from tests.screens.test_deciding import give
from tests.screens.test_recovery import done, state


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
        console.app.find_on("recovery", first.mutation_id)
        await console.shows(pilot, "undoable")
        await console.press(pilot, "U")
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        await console.shows(pilot, f"Undo what {ctx.run_id} did")
        dialog = [line.split("│")[-2].strip() for line in console.text().split("\n") if line.count("│") >= 2]
        assert "looked at again once those above are undone" in " ".join(
            dialog
        )  # wherever the path breaks it
        assert path.read_text(encoding="utf-8") == "second"
        await give(console, pilot, "all of it was wrong")
        await console.press(pilot, "y")
        await console.says(pilot, f"{ctx.run_id}: 2 undone")
        await console.press(pilot, "U")
        await console.says(pilot, "was reversed before")
        agents.call("pay.find", {"key": "k"}, intent="only look")
        await console.press(pilot, "5", "g", "u")
        await console.says(pilot, "this session has no undo records")

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
    doubtful = executor.execute(ctx, "pay.human", {"order": "7"}).call_id
    shop.bank.silent = False

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "U")
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        assert f"{doubtful} outcome unknown; left as it is" in console.text()
        path.write_text("mine", encoding="utf-8")
        await give(console, pilot, "all of it was wrong")
        await console.press(pilot, "y")
        await console.says(pilot, "was changed since")
        await console.press(pilot, "U")
        await console.says(pilot, "was changed since")
        assert isinstance(console.app.screen, RecoveryScreen)

    console(script)
    assert path.read_text(encoding="utf-8") == "mine"


def test_what_is_typed_while_a_dry_run_is_made_is_the_reason_of_its_dialog(
    agents: Agents, console: Console
) -> None:
    ref = done(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", *["right_square_bracket"] * 2)
        await console.shows(pilot, "undoable")
        for key in ("u", *"KdyNo"):
            console.app.simulate_key(key)
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        await console.until(pilot, lambda: console.app.screen.query_one("#reason", Input).value == "KdyNo")
        await console.press(pilot, "escape")
        await console.says(pilot, "Nothing decided")
        await console.press(pilot, "t")
        assert isinstance(console.app.screen, RecoveryScreen)

    console(script)
    assert state(agents, ref) == "committed"


def test_what_reversals_run_through_is_opened_once_and_again_for_another_database(
    agents: Agents, console: Console, home: Path
) -> None:
    records = console.records
    records.look()
    first = records.runtime()
    assert records.runtime() is first
    (home / "brain.db").rename(home / "away.db")
    with pytest.raises(StoreError):
        Records(current_config()).runtime()
    assert not (home / "brain.db").exists()
    open_runtime(agents.runtime.config).close()
    assert records.look().version
    assert records.runtime().log.database_id != first.log.database_id
