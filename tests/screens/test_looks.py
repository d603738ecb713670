"""The five places in the light theme, in 256 colours and without colour, and a database in trouble, cell by cell."""

from __future__ import annotations

import re
import time
from itertools import groupby
from pathlib import Path

import pytest
from rich.color import ColorSystem
from rich.style import Style
from sb.screens.actions import SECTIONS
from sb.screens.app import ConsoleApp
from sb.screens.decision import DecisionScreen
from sb.screens.inbox import InboxScreen
from sb.screens.state.records import Records
from textual._context import visible_screen_stack
from textual.pilot import Pilot

from sb.base.sources import CountingIds, SteeredClock
from sb.config import current_config
from sb.store import driver
from tests.screens.conftest import Agents, Console
from tests.sql_attacker import SqlAttacker


def painted(app: ConsoleApp) -> str:
    """Each line, and below it the styles of its cells, as a terminal of this many colours paints them."""
    visible_screen_stack.set(app._background_screens)
    system = ColorSystem.EIGHT_BIT if app.console.color_system != "truecolor" else ColorSystem.TRUECOLOR
    lines, legend = [], dict[str, str]()
    for strip in app.screen._compositor.render_strips():
        cells = [(legend_name(legend, style, system), len(text)) for text, style, _ in strip]
        runs = ((name, sum(size for _, size in run)) for name, run in groupby(cells, lambda cell: cell[0]))
        lines += [strip.text.rstrip(), "  ~ " + " ".join(f"{name}{size}" for name, size in runs)]
    return "\n".join([*lines, *(f"{name}: {look}" for look, name in legend.items())])


def legend_name(legend: dict[str, str], style: Style | None, system: ColorSystem) -> str:
    """A letter for a style."""
    assert style is not None
    colours = [colour.downgrade(system).name for colour in (style.color, style.bgcolor) if colour]
    look = " on ".join(colours) + (" bold" if style.bold else "") + (" underline" if style.underline else "")
    return legend.setdefault(look, chr(ord("a") + len(legend)))


@pytest.mark.parametrize(
    ("look", "environment", "keys"),
    [
        ("light", {"COLORTERM": "truecolor"}, ["T"]),
        ("256", {"COLORTERM": ""}, []),
        ("no-color", {"COLORTERM": "truecolor", "NO_COLOR": "1"}, []),
    ],
)
def test_the_places_and_runs_are_painted_as_they_were(
    agents: Agents,
    console: Console,
    monkeypatch: pytest.MonkeyPatch,
    look: str,
    environment: dict[str, str],
    keys: list[str],
) -> None:
    agents.work(4)
    agents.pay()
    agents.call("bank.hang", {"text": "x"}, agent="courier", intent="post a letter")
    agents.change_contract()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    async def script(pilot: Pilot[None]) -> None:
        pictures = []
        await console.press(pilot, *keys)
        for name in (*SECTIONS, "runs", "changes"):
            console.app.go(name)
            await console.settle(pilot)
            pictures.append(f"# {name}\n{painted(console.app)}")
        console.snapshot(f"look-{look}", "\n".join(pictures))

    console(script)


def test_a_database_that_a_newer_version_upgraded_is_neither_read_nor_decided_in(
    agents: Agents, console: Console, home: Path
) -> None:
    approval_id = agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "to=bob")
        await console.press(pilot, "d", *"no")
        have = agents.runtime.database.query("PRAGMA user_version")[0][0]
        SqlAttacker(home / "brain.db").run(f"PRAGMA user_version = {have + 1}")
        await console.until(pilot, lambda: "newer than this version" in console.app.trouble)
        await console.press(pilot, "enter", "y")
        await console.until(pilot, lambda: not isinstance(console.app.screen, DecisionScreen))
        await console.shows(
            pilot, "newer than this version"
        )  # a read that was under way says less until then
        text = console.text().replace(str(home), "HOME")
        console.snapshot("trouble-newer", re.sub(r"schema \d+(.*version's) \d+", r"schema 99\1 98", text))

    console(script, (200, 24))
    assert agents.runtime.approvals.get(approval_id).state == "waiting"


def test_a_database_that_another_process_writes_to_is_waited_for_in_view(
    agents: Agents,
    clock: SteeredClock,
    ids: CountingIds,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    approval_id = agents.pay()
    console = Console(Records(current_config(), patience_s=0.1, clock=clock, ids=ids))
    writer = driver.connect(home / "brain.db")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "to=bob")
        await console.press(pilot, "d", *"no", "enter")
        writer.execute("BEGIN IMMEDIATE")
        console.app.simulate_key("y")
        screen = console.app.section
        assert isinstance(screen, InboxScreen)
        await console.comes(lambda: screen._writing_since is not None)
        assert screen._writing_since is not None
        screen._writing_since -= 3  # rather than the clock, which ends the wait

        def says_how_long() -> bool:
            screen.show_status()
            return "deciding for 3s" in console.text()

        await console.comes(says_how_long)
        console.snapshot("trouble-locked")

        def gives_up() -> bool:
            clock.time += 1  # past what the wait may last, whenever it begins
            return bool(console.toasts)

        await console.comes(gives_up)
        await console.says(pilot, "is locked by another process")

    monkeypatch.setattr(clock, "sleep", time.sleep)  # it stands still while the database is held
    console(script, (120, 24))
    writer.close()
    console.records.close()
    assert agents.runtime.approvals.get(approval_id).state == "waiting"


def test_a_database_that_is_gone_is_painted_as_it_was(agents: Agents, console: Console, home: Path) -> None:
    agents.work(2)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3")
        (home / "brain.db").rename(home / "away.db")
        await console.shows(pilot, "trying again: no database at")
        console.snapshot("trouble-gone", console.text().replace(str(home), "HOME"))
        (home / "away.db").rename(home / "brain.db")

    console(script, (200, 24))
