"""The console's screen of checkpoints: what cores were composed of, and the way back to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from sb.screens.checkpoints import CheckpointsScreen
from textual.pilot import Pilot
from textual.widgets import Input

from sb.base.sources import CountingIds, SteeredClock
from sb.config import current_config
from sb.entity.composition import Present
from sb.stack.catalogue import make_stack
from tests.screens.conftest import HOSTILE, Agents, Console
from tests.screens.test_safety import FORBIDDEN


@pytest.fixture
def present(agents: Agents, clock: SteeredClock, ids: CountingIds) -> Present:
    make_stack(agents.runtime.database, "work")
    return Present(agents.runtime.database, current_config(), clock=clock, ids=ids)


@pytest.fixture
def two(present: Present, clock: SteeredClock) -> tuple[str, str]:
    """A core that had one stack, and now has two; another one has its own."""
    first = present.save("ada", "as it began", ("default",))
    clock.time += 60
    present.save("bob", "before the release")
    clock.time += 60
    return first, present.save("ada", "two stacks", ("work", "default"))


def stacks(present: Present, core_id: str = "ada") -> list[str]:
    return list(present.binding(core_id).stacks)


async def answer(console: Console, pilot: Pilot[None], reason: str) -> None:
    console.app.screen.query_one("#reason", Input).value = reason
    await console.press(pilot, "enter", "y")
    await console.until(pilot, lambda: isinstance(console.app.screen, CheckpointsScreen))


def test_the_screen_looks_as_it_did(present: Present, two: tuple[str, str], console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "left_square_bracket")
        await console.looks(pilot, "checkpoints")
        await console.press(pilot, "G", "u")
        await console.looks(pilot, "checkpoints-restore")

    console(script)


def test_without_checkpoints_it_says_how_there_will_be_one_and_shows_it_by_itself(
    present: Present, console: Console
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "left_square_bracket")
        await console.looks(pilot, "checkpoints-empty")
        present.save("ada", "the first of all")
        await console.shows(pilot, "the first of all")

    console(script)


def test_restoring_says_what_changes_takes_a_reason_and_leaves_a_way_back(
    present: Present,
    agents: Agents,
    two: tuple[str, str],
    clock: SteeredClock,
    console: Console,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOGNAME", "eve")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "left_square_bracket", "u")
        await console.says(pilot, "nothing to restore")
        console.app.open_reference(two[0])
        await console.until(pilot, lambda: "Going back changes" in console.detail())
        await console.press(pilot, "u")
        assert "active stack: work → default" in console.text()
        clock.time += 1
        await answer(console, pilot, "one is enough")
        await console.says(pilot, "restored ada as it was")
        assert stacks(present) == ["default"]
        await console.press(pilot, "g", "j", "u")
        clock.time += 1
        await answer(console, pilot, "both after all")
        await console.until(pilot, lambda: stacks(present) == ["work", "default"])

    console(script, (120, 36))
    payloads = [
        event.payload or {} for event in agents.runtime.log.events() if event.kind == "checkpoint.restored"
    ]
    assert [(payload["by"], payload["reason"]) for payload in payloads] == [
        ("local:eve", "one is enough"),
        ("local:eve", "both after all"),
    ]


def test_without_a_reason_nothing_is_restored(
    present: Present, two: tuple[str, str], console: Console
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "left_square_bracket", "G", "u", "enter", "enter", "enter", "escape")
        assert isinstance(console.app.screen, CheckpointsScreen)

    console(script)
    assert stacks(present) == ["work", "default"]


def test_what_cannot_be_restored_says_why(
    present: Present, two: tuple[str, str], console: Console, home: Path
) -> None:
    edited, cut = (home / "checkpoints" / f"{item}.json" for item in two)
    edited.write_text(edited.read_text("utf-8").replace("as it began", "as it was"), "utf-8")
    cut.write_text("{", "utf-8")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "left_square_bracket")
        await console.shows(pilot, "unreadable")
        await console.press(pilot, "u")
        await console.says(pilot, "no checkpoint under the cursor")
        await console.press(pilot, "G")
        await console.shows(pilot, "State          edited")
        assert "cannot be read" in console.text(), "since the newest cannot be read"
        await console.press(pilot, "u")
        await console.says(pilot, "its file was edited")

    console(script)


def test_read_only_restores_nothing(present: Present, two: tuple[str, str], console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "left_square_bracket", "G", "u")
        assert isinstance(console.app.screen, CheckpointsScreen)
        assert "restore  " not in console.text().splitlines()[-1]

    console(script, read_only=True)


def test_a_checkpoint_that_is_gone_is_said_to_be(
    present: Present, two: tuple[str, str], console: Console, home: Path
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "left_square_bracket", "G", "u")
        (home / "checkpoints" / f"{two[0]}.json").unlink()
        await answer(console, pilot, "one is enough")
        await console.says(pilot, "no checkpoint")
        console.app.open_reference(two[0])
        await console.says(pilot, "there is no such checkpoint")

    console(script)
    assert stacks(present) == ["work", "default"]


def test_hostile_names_are_shown_and_do_nothing(present: Present, console: Console) -> None:
    present.save(HOSTILE[:60], HOSTILE[:5_000], ("default",))
    present.save(HOSTILE[:60], "", ("work",))
    painted: list[str] = []

    async def script(pilot: Pilot[None]) -> None:
        for keys in (["6"], ["left_square_bracket"], ["G"], ["u"], ["escape"], ["enter"], ["z"], ["G"]):
            await console.press(pilot, *keys)
            painted.append(console.text())
        for text in painted:
            assert not FORBIDDEN.search(text.replace("\n", ""))
        assert console.app.is_running

    console(script, (120, 36))
