"""Coding agents join: Home says which and when, Runs says where each run belongs."""

from __future__ import annotations

import pytest
from sb.screens.row_list import RowList
from textual.pilot import Pilot
from textual.widgets import Input

from sb.kernel.review.runs import RunFilter, first_events, runs_at
from tests.conftest import CommandLine
from tests.screens.conftest import HOSTILE, Agents, Console
from tests.screens.test_safety import FORBIDDEN
from tests.screens.test_screens import SIZES, name

SHOP, BLOG = "/data/ada/shop", "/data/ada/work/blog"


def joins(agents: Agents) -> None:
    """Three programs; the first one's second session is the newest, and waits."""
    agents.session("codex", BLOG, session="s-codex", calls=1)
    agents.clock.time += 3 * 3600
    agents.session("claude-code", SHOP, session="s-first", calls=4)
    agents.clock.time += 120
    agents.work(2)
    waits = agents.session("claude-code", BLOG, session="s-second", calls=3)
    asked = agents.runtime.executor.execute(waits, "bank.pay", {"to": "eve"})
    assert asked.data["approval_id"]
    agents.clock.time += 150


@pytest.mark.parametrize("size", SIZES)
def test_home_shows_what_joined_and_runs_where_each_run_belongs(
    agents: Agents, console: Console, size: tuple[int, int]
) -> None:
    joins(agents)

    async def script(pilot: Pilot[None]) -> None:
        console.snapshot(name("home-joined", size))
        await console.press(pilot, "5")
        console.snapshot(name("runs-joined", size))

    console(script, size)


def test_home_says_how_a_coding_agent_joins_while_none_has(
    agents: Agents, console: Console, sb: CommandLine
) -> None:
    agents.work(1)

    async def script(pilot: Pilot[None]) -> None:
        assert "sb install claude-code connects a coding agent" in console.text()

    console(script)
    assert "sb install claude-code" in sb("console", "--plain").out


def test_enter_on_what_joined_leads_to_its_newest_run_even_out_of_a_filter(
    agents: Agents, console: Console
) -> None:
    agents.session("codex", BLOG, session="s-codex")
    agents.work(1)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", "slash")
        console.app.screen.query_one(Input).value = "agent:clerk"
        await console.shows(pilot, "1 runs")
        await console.press(pilot, "enter", "1", "j", "enter")
        await console.shows(pilot, "session s-codex")
        assert "2 runs, newest first" in console.text()
        runs = console.app.screen.query_one("#runs", RowList)
        assert runs.listing.index == 1

    console(script)


def test_how_long_ago_something_was_heard_of_goes_on_without_anything_being_written(
    agents: Agents, console: Console
) -> None:
    agents.session()

    async def script(pilot: Pilot[None]) -> None:
        assert "shop: last seen just now, 2 calls" in console.text()
        agents.clock.time += 125
        console.app._tick()
        await console.shows(pilot, "shop: last seen 2 min ago, 2 calls")

    console(script)


def test_what_joined_last_comes_first_and_of_many_the_first_five_are_shown(
    agents: Agents, console: Console, sb: CommandLine
) -> None:
    for number in range(20):
        agents.session(f"host-{number}", f"/data/ada/p{number}", session=f"s-{number}", calls=1)
    old = agents.session("host-0", "/data/ada/p0", session="s-again", calls=0)
    agents.runtime.executor.execute(old, "bank.look", {"account": "x"})

    async def script(pilot: Pilot[None]) -> None:
        lines = [line for line in console.text().split("\n") if " host-" in line and "p" in line]
        assert [line.split()[1] for line in lines if line.split()[0] == "ok"] == [
            "host-0",
            "host-19",
            "host-18",
            "host-17",
            "host-16",
        ]
        assert "and 15 more" in console.text()
        await console.press(pilot, "5")
        assert "21 runs" in console.text()

    console(script)
    assert "and 15 more" in sb("console", "--plain").out


def test_plain_runs_name_each_run_and_where_it_belongs(agents: Agents, sb: CommandLine) -> None:
    ctx = agents.session("codex", SHOP, session="s-codex")
    titles, row = sb("console", "--plain", "runs").out.splitlines()
    assert titles.split()[:4] == ["run", "started", "(UTC)", "host"]
    assert row.split()[0] == ctx.run_id
    for cell in (" codex ", " shop ", " s-codex"):
        assert cell in row


@pytest.mark.parametrize(
    ("words", "fitting"),
    [
        ("host:codex", {"s-codex"}),
        ("host:CLAUDE", {"s-first", "s-second"}),
        ("host:claude project:blog", {"s-second"}),
        ("project:/data/ada/shop", {"s-first"}),
        ("session:s-f", {"s-first"}),
        ("blog", {"s-codex", "s-second"}),
        ("books", {""}),
        ("agent:clerk", {""}),
        ("host:-", {"s-first", "s-second"}),
        ("host:%", set()),
        ("normal", set()),
    ],
)
def test_the_filter_of_runs_looks_at_host_project_and_session(
    agents: Agents, console: Console, words: str, fitting: set[str]
) -> None:
    joins(agents)
    log = agents.runtime.log
    wanted = RunFilter.parse(words)
    found = first_events(log, wanted=wanted)
    assert {run.session for run in runs_at(log, found).values()} == fitting
    assert list(first_events(log, after=1, wanted=wanted)) == [first for first in found if first > 1]

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", "slash")
        console.app.screen.query_one(Input).value = words
        await console.shows(pilot, f"{len(found)} runs, newest first · filter: ")
        await console.press(pilot, "escape")
        assert "4 runs, newest first ─" in console.text()

    console(script)


def test_a_run_that_fits_the_filter_appears_while_it_is_on(agents: Agents, console: Console) -> None:
    agents.session("codex", BLOG)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", "slash")
        console.app.screen.query_one(Input).value = "project:shop"
        await console.shows(pilot, "No runs match")
        agents.session("codex", BLOG, session="s-2")
        agents.session("codex", SHOP, session="s-3")
        await console.shows(pilot, "1 runs")
        await console.shows(pilot, "session s-3")
        agents.session("codex", SHOP, session="s-4")
        await console.shows(pilot, "2 runs")

    console(script)


def test_a_calls_record_says_in_which_host_project_and_session_it_was_made(
    agents: Agents, console: Console
) -> None:
    agents.session("codex", BLOG, session="s-codex")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", "enter", "enter")
        for field, value in (("host", "codex"), ("project", BLOG), ("session", "s-codex")):
            assert f" {field:<20}{value}" in console.text()

    console(script)


def test_kill_on_what_joined_offers_its_run_and_its_agent(agents: Agents, console: Console) -> None:
    ctx = agents.session()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "j", "K")
        assert "agent claude-code" in console.text()
        assert f"run {ctx.run_id}" in console.text()

    console(script)


@pytest.mark.parametrize("hostile", [*HOSTILE, "/home/" + "a/" * 2_048, "/", "\\", "C:\\work\\shop", "~"])
def test_a_hostile_host_project_or_session_is_shown_and_does_nothing(
    agents: Agents, console: Console, sb: CommandLine, hostile: str
) -> None:
    agents.session(hostile[:5_000], hostile, session=hostile)
    agents.session("codex", "/data/ada/" + hostile, session="s-codex")
    painted: list[str] = []

    async def script(pilot: Pilot[None]) -> None:
        for keys in (
            ["1"],
            ["j"],
            ["enter"],
            ["j"],
            ["k"],
            ["enter", "enter"],
            ["escape", "escape", "slash"],
        ):
            await console.press(pilot, *keys)
            painted.append(console.text())
        console.app.screen.query_one(Input).value = "host:codex session:s-codex"
        await console.shows(pilot, "1 runs")
        painted.append(console.text())

    console(script)
    for screen in ("home", "runs"):
        shown = sb("console", "--plain", screen)
        assert shown.code == 0
        painted.append(shown.out + shown.err)
    for text in painted:
        assert not FORBIDDEN.search(text.replace("\n", ""))
