"""Coding agents connect: the Inbox shows what waits, Agents who is at work, Runs what each session did."""

from __future__ import annotations

import re

import pytest
from sb.screens.row_list import RowList
from textual.pilot import Pilot
from textual.widgets import Input

from sb.kernel.authority.signing import Label
from sb.kernel.review.runs import first_events, runs_at
from sb.log.event import Subject
from sb.log.kinds import SESSION_TURN
from sb.operator.filters import Filter
from tests.conftest import CommandLine
from tests.screens.conftest import HOSTILE, SIZES, Agents, Console
from tests.screens.test_safety import FORBIDDEN

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


def test_the_inbox_looks_as_it_did_at_all_sizes(agents: Agents, console: Console) -> None:
    joins(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.looks(pilot, "inbox-joined", [*SIZES, (60, 24), (160, 48)])

    console(script)


def test_runs_and_agents_look_as_they_did(agents: Agents, console: Console) -> None:
    joins(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "agents")
        await console.looks(pilot, "agents")
        await console.visit(pilot, "runs")
        await console.looks(pilot, "runs-joined")

    console(script)


def test_a_call_below_its_session_shows_its_age_and_no_duration(agents: Agents, console: Console) -> None:
    agents.session("codex", BLOG, calls=2)
    agents.clock.time += 150

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "runs")
        calls = [line for line in console.text().split("\n") if "notes.append" in line]
        assert len(calls) == 2
        assert all(line.split()[-1].startswith("2m") for line in calls), calls

    console(script)


def test_the_inbox_lists_what_needs_you_of_every_kind(agents: Agents, console: Console) -> None:
    agents.pay("bob")
    agents.clock.time += 3 * 3600 + 3000
    agents.pay("eve", agent="courier")
    agents.call("bank.hang", {"text": "the effect may have happened"}, agent="courier")
    agents.change_contract()
    agents.runtime.kill.throw("agent", "scribe", Label("ada"), "pays twice")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "1 stopped")  # which is read once the rows are there
        await console.looks(pilot, "inbox-busy")

    console(script)


def test_without_agents_their_place_says_how_one_is_connected(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "agents")
        assert "sb install claude-code" in console.text()

    console(script)


def test_enter_on_an_agent_leads_to_its_newest_session_even_out_of_a_filter(
    agents: Agents, console: Console
) -> None:
    run_id = agents.session("codex", BLOG, session="s-codex").run_id
    agents.work(1)

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "runs")
        await console.press(pilot, "slash")
        console.app.screen.query_one(Input).value = "agent:clerk"
        await console.shows(pilot, "Runs 1")
        await console.press(pilot, "enter")
        assert "Runs 1" in console.text()
        await console.visit(pilot, "agents")
        await console.press(pilot, "g", "enter")
        assert console.at("agents")
        console.app.find_on("runs", run_id)
        await console.shows(pilot, "Runs 2 ")
        assert cursor(console).startswith("● codex blog")

    console(script)


def test_ages_grow_without_anything_being_written(agents: Agents, console: Console) -> None:
    agents.session()

    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        assert re.search("bank.pay to=bob .*4h left", console.text())
        agents.clock.time += 600
        console.app._tick()
        await console.until(pilot, lambda: bool(re.search("bank.pay to=bob .*3h left", console.text())))
        await console.visit(pilot, "agents")
        assert re.search("claude-code shop .* 10m", console.squeezed())
        agents.clock.time += 600
        console.app._tick()
        await console.until(pilot, lambda: bool(re.search("claude-code shop .* 20m", console.squeezed())))

    console(script)


def test_agents_are_listed_by_their_last_call_or_by_name(agents: Agents, console: Console) -> None:
    for number in range(12):
        agents.session(f"host-{number:02}", f"/data/ada/p{number}", session=f"s-{number}", calls=1)
    old = agents.session("host-00", "/data/ada/p0", session="s-again", calls=0)
    agents.runtime.executor.execute(old, "bank.look", {"account": "x"})

    def names() -> list[str]:
        rows = console.app.screen.query_one("#agents", RowList).listing
        return [row.texts[0] for place in range(3) if (row := rows.row(place))]

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "agents")
        assert "Agents 12  Runs  12 at work · last seen" in console.text()
        assert names() == ["● host-00", "● host-11", "● host-10"]
        await console.press(pilot, *"sss")
        assert "12 at work · by name" in console.text()
        assert names() == ["● host-00", "● host-01", "● host-02"]

    console(script)


def test_an_agent_shows_what_it_may_do_and_why_it_was_denied(agents: Agents, console: Console) -> None:
    agents.call("shell.run", {"command": "rm -r /"}, agent="courier")
    agents.runtime.kill.throw("agent", "courier", Label("ada"), "a drill")

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "agents")
        shown = console.detail()
        for text in ("courier", "Stopped agent courier was killed by ada: a drill", "May"):
            assert text in shown, shown

    console(script)


def test_plain_runs_name_each_run_and_where_it_belongs(agents: Agents, sb: CommandLine) -> None:
    ctx = agents.session("codex", SHOP, session="s-codex")
    titles, row = sb("console", "--plain", "runs").out.splitlines()
    assert titles.split()[:3] == ["run", "session", "calls"]
    assert row.split()[0] == ctx.run_id
    for cell in (" codex ", " shop", " s-codex"):
        assert cell in row


FILTERS = {
    "host:codex": {"s-codex"},
    "host:CLAUDE*": {"s-first", "s-second"},
    "host:claude-code project:blog": {"s-second"},
    "-host:codex -agent:clerk -session:s-second": {"s-first"},
    "tool:no.such": set[str](),
    "since:1970-01-01 blog": {"s-codex", "s-second"},
    "until:1970-01-01": set[str](),
    "project:/data/ada/shop": {"s-first"},
    "session:s-f*": {"s-first"},
    "host:claude": set[str](),
    "blog": {"s-codex", "s-second"},
    "books": {""},
    "agent:clerk": {""},
    "host:*-*": {"s-first", "s-second"},
    "host:%": set[str](),
    "normal": set[str](),
}


def test_the_filter_of_runs_looks_at_host_project_and_session(agents: Agents, console: Console) -> None:
    joins(agents)
    log = agents.runtime.log
    counts: dict[str, int] = {}
    for words, fitting in FILTERS.items():
        wanted = Filter.parse(words).runs(0)
        found = first_events(log, wanted=wanted)
        assert {run.session for run in runs_at(log, found).values()} == fitting, words
        assert list(first_events(log, after=1, wanted=wanted)) == [first for first in found if first > 1]
        counts[words] = len(found)

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "runs")
        for words, count in counts.items():
            await console.press(pilot, "slash")
            console.app.screen.query_one(Input).value = words
            await console.shows(pilot, f"Runs {count}  filter: {words}")
            await console.press(pilot, "escape")
            assert "Runs 4 ─" in console.text(), words

    console(script)


def test_a_session_that_fits_the_filter_appears_while_it_is_on(agents: Agents, console: Console) -> None:
    agents.session("codex", BLOG)

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "runs")
        await console.press(pilot, "slash")
        console.app.screen.query_one(Input).value = "project:shop"
        await console.shows(pilot, "Nothing matches")
        agents.session("codex", BLOG, session="s-2")
        agents.session("codex", SHOP, session="s-3")
        await console.shows(pilot, "Runs 1")
        agents.session("codex", SHOP, session="s-4")
        await console.shows(pilot, "Runs 2")

    console(script)


def test_a_session_folds_and_its_calls_stand_below_its_turns(agents: Agents, console: Console) -> None:
    ctx = agents.session(calls=1)
    execute = agents.runtime.executor.execute
    for account in ("first", "second"):
        agents.runtime.log.append(SESSION_TURN, {}, Subject(ctx.run_id, agent="claude-code"))
        execute(ctx, "bank.look", {"account": account})

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "runs")
        lines = [line.strip("▌ ") for line in console.text().split("\n")[3:8]]
        assert [line.split()[:3] for line in lines] == [
            ["▾", "●", "claude-code"],
            ["▾", "turn", "2"],
            ["ok", "bank.look", "account=second"],
            ["▸", "turn", "1"],
            ["▸", "before", "the"],
        ]
        await console.press(pilot, "j", "enter")
        assert "account=second" not in console.text()
        await console.press(pilot, "k", "enter")
        assert "turn 1" not in console.text()

    console(script)


def test_n_goes_to_the_calls_that_were_refused_or_are_unknown_and_opens_their_session(
    agents: Agents, console: Console
) -> None:
    for text in "xy":
        agents.call("bank.hang", {"text": text}, agent="courier")
    agents.work(4)

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "runs")
        await console.press(pilot, "n")
        assert cursor(console).startswith("unknown  bank.hang")
        assert "Unknown: " in console.detail()
        await console.visit(pilot, "calls")
        assert "Calls 6" in console.text()
        for key, text in zip("nnNN", "yxyx", strict=True):  # to the newest it goes on with the oldest
            await console.press(pilot, key)
            assert cursor(console).startswith(f"unknown  bank.hang text={text}"), key

    console(script)


def test_a_call_shows_what_the_agent_did_next(agents: Agents, console: Console) -> None:
    agents.work(3)

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "runs")
        await console.press(pilot, "G")
        assert "What the agent did next ok bank.look account=DE-1" in " ".join(console.detail().split())
        assert "run_0" not in console.detail(), "ids are folded"
        await console.press(pilot, "tab", "z")
        assert "run_0" in console.detail()

    console(script)


def test_a_calls_record_says_in_which_host_project_and_session_it_was_made(
    agents: Agents, console: Console
) -> None:
    agents.session("codex", BLOG, session="s-codex")

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "runs")
        await console.press(pilot, "j", "enter", "z")
        for field, value in (("host", "codex"), ("project", BLOG), ("session", "s-codex")):
            assert re.search(rf"\n *{field} {value}", console.detail())

    console(script)


def test_stop_on_an_agent_offers_its_run_and_its_agent(agents: Agents, console: Console) -> None:
    ctx = agents.session()

    async def script(pilot: Pilot[None]) -> None:
        for view in ("agents", "runs"):
            await console.visit(pilot, view)
            await console.press(pilot, "K")
            assert "agent claude-code" in console.text()
            assert f"run {ctx.run_id}" in console.text()
            await console.press(pilot, "escape")

    console(script)


def cursor(console: Console) -> str:
    """The line under the cursor of the first list."""
    listing = console.app.screen.query(RowList).first().listing
    row = listing.row(listing.index) if len(listing.keys) else None
    return "  ".join(row.texts) if row else ""


ODD_PATHS = ("/home/" + "a/" * 2_048, "/", "\\", "C:\\work\\shop", "~")


@pytest.mark.parametrize("texts", [(HOSTILE,), ODD_PATHS], ids=["what acts", "paths"])
def test_a_hostile_host_project_or_session_is_shown_and_does_nothing(
    agents: Agents, console: Console, sb: CommandLine, texts: tuple[str, ...]
) -> None:
    for hostile in texts:
        agents.session(hostile[:5_000], hostile, session=hostile)
        agents.session("codex", "/data/ada/" + hostile, session="s-codex")
    painted: list[str] = []

    async def script(pilot: Pilot[None]) -> None:
        for keys in (
            ["2", "j"],
            ["enter"],
            ["j"],
            ["enter"],
            ["escape", "3"],
            ["2", "right_square_bracket", "slash"],
        ):
            await console.press(pilot, *keys)
            painted.append(console.text())
        console.app.screen.query_one(Input).value = "host:codex session:s-codex"
        await console.shows(pilot, f"Runs {len(texts)}")
        painted.append(console.text())

    console(script)
    for screen in ("inbox", "runs", "agents"):
        shown = sb("console", "--plain", screen)
        assert shown.code == 0
        painted.append(shown.out + shown.err)
    for text in painted:
        assert not FORBIDDEN.search(text.replace("\n", ""))
