"""The console: the kill key asks twice, and what was killed is let go on from Home."""

from __future__ import annotations

from functools import partial

from sb.screens.decision import DecisionScreen
from sb.screens.inbox import InboxScreen
from sb.screens.killing import KillScreen
from textual.pilot import Pilot
from textual.widgets import Input

from sb.kernel.authority.signing import Label
from tests.screens.conftest import Agents, Console
from tests.screens.steps import ask, give
from tests.screens.test_deciding import PASSPHRASE, enrol

ADA = Label("ada")


def killed(agents: Agents) -> list[str]:
    return [kill.name for kill in agents.runtime.kill.active()]


async def confirm(console: Console, pilot: Pilot[None], word: str = "kill") -> None:
    """Type a word into the second step."""
    assert isinstance(console.app.screen, KillScreen)
    box = console.app.screen.query_one("#word", Input)
    assert box.has_focus
    box.value = word
    await pilot.press("enter")
    await pilot.pause()


def test_the_dialogs_look_as_they_did(agents: Agents, console: Console) -> None:
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "K")
        await console.looks(pilot, "kill")
        await give(console, pilot, "pays twice")
        await console.looks(pilot, "kill-confirm")

    console(script)


def test_the_agent_under_the_cursor_is_stopped_after_a_reason_and_a_word(
    agents: Agents, console: Console
) -> None:
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "K")
        await give(console, pilot, "pays twice")
        await confirm(console, pilot)
        await console.says(pilot, "agent clerk was killed")

    console(script)
    assert killed(agents) == ["agent:clerk"]
    assert "pays twice" in agents.call("notes.append", {"text": "x"}).error_message


def test_neither_a_missing_reason_nor_a_wrong_word_nor_escape_stops_anything(
    agents: Agents, console: Console
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "K", "n", "escape")
        assert not isinstance(console.app.screen, KillScreen)
        await console.says(pilot, "Nothing stopped")
        await console.press(pilot, "K", "backspace", "enter")
        assert "a stop needs a reason" in console.text()
        await give(console, pilot, "drill")
        await confirm(console, pilot, "yes")
        assert "Nothing stopped: type kill" in console.text()
        await console.press(pilot, "escape")
        assert "1 of 2" in console.text()
        await console.press(pilot, "escape")
        assert not isinstance(console.app.screen, KillScreen)

    console(script)
    assert killed(agents) == []


def test_what_is_typed_is_the_reason_and_enter_twice_stops_nothing(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "K", *"nydK", "enter", "enter")
        assert isinstance(console.app.screen, KillScreen)
        assert "2 of 2" in console.text()
        assert "Reason    nydK" in console.text()

    console(script)
    assert killed(agents) == []


def test_what_can_be_stopped_is_what_the_cursor_is_on(agents: Agents, console: Console) -> None:
    agents.pay()
    run_id = agents.work(1)

    async def script(pilot: Pilot[None]) -> None:
        for keys, chosen, expected in (
            (["3"], [], "agent:clerk"),  # before the kills are in the log too
            (["1"], ["up"], "global"),
            (["1"], ["down"], "tool:bank.pay"),
            (["1"], ["down"] * 3, "global"),
            (["5", "g"], [], "tool:bank.hang"),
            (["2"], [], "agent:clerk"),
            (["2", "right_square_bracket"], [], "agent:clerk"),
            (["2", "right_square_bracket"], ["down"], f"run:{run_id}"),
        ):
            await console.press(pilot, *keys, "K", *chosen)
            await give(console, pilot, "drill")
            await confirm(console, pilot)
            await console.until(pilot, lambda: bool(killed(agents)))
            assert killed(agents) == [expected], (keys, chosen)
            for kill in agents.runtime.kill.active():
                agents.runtime.kill.lift(kill.scope, kill.target, ADA, "the drill is over")

    console(script)


def test_from_a_record_that_was_opened_its_own_agent_can_be_stopped(agents: Agents, console: Console) -> None:
    agents.work(1, agent="courier")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "enter", "K")
        assert "agent courier" in console.text()
        await console.press(pilot, "escape")

    console(script)


def test_what_is_killed_is_in_the_inbox_and_let_go_on_there_with_a_reason(
    agents: Agents, console: Console
) -> None:
    agents.runtime.kill.throw("agent", "clerk", ADA, "pays twice")

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, "agent:clerk")
        await console.press(pilot, "L")
        assert "Lift this stop" in console.text()
        await give(console, pilot, "the bill was paid back")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: not killed(agents))
        await console.says(pilot, "may go on")
        await console.press(pilot, "L")
        await console.says(pilot, "nothing to lift here")

    console(script)
    assert agents.call("notes.append", {"text": "x"}).success


def test_a_kill_that_is_thrown_while_it_is_asked_about_another_is_not_lifted(
    agents: Agents, console: Console
) -> None:
    kill = agents.runtime.kill
    kill.throw("agent", "clerk", ADA, "a false alarm")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "a false alarm")
        await console.point(pilot, "agent:clerk")
        await console.press(pilot, "L")
        kill.lift("agent", "clerk", ADA, "no alarm")
        kill.throw("agent", "clerk", ADA, "it stole", wait_s=0)
        await give(console, pilot, "no alarm")
        await console.press(pilot, "y")
        await console.says(pilot, "not the kill that was shown")
        assert killed(agents) == ["agent:clerk"]

    console(script)


def test_stopping_asks_for_no_passphrase_and_lifting_does(agents: Agents, console: Console) -> None:
    enrol(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "K", "up")
        await give(console, pilot, "drill")
        await confirm(console, pilot)
        await console.until(pilot, lambda: killed(agents) == ["global"])
        await console.shows(pilot, "every agent: drill")
        await console.point(pilot, "drill")
        await console.press(pilot, "L")
        await give(console, pilot, "over")
        await pilot.press("y")
        await console.asks(pilot)
        console.app.screen.query_one(Input).value = PASSPHRASE
        await pilot.press("enter")
        await console.until(pilot, lambda: not killed(agents))

    console(script)


def test_a_kill_that_cannot_be_recorded_is_said(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "K")
        await give(console, pilot, "drill")
        console.records.config.database.chmod(0o400)
        with agents.runtime.database.write() as execute:
            execute("DROP TABLE intents")
            execute("ALTER TABLE events RENAME TO gone")
        console.app.screen.query_one("#word", Input).value = "kill"
        await pilot.press("enter")
        await console.until(
            pilot,
            lambda: any(notification.title == "NOT stopped" for notification in console.app._notifications),
        )

    console(script)


def test_read_only_neither_stops_nor_lifts(agents: Agents, console: Console) -> None:
    agents.runtime.kill.throw("agent", "clerk", ADA, "pays twice")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "agent clerk: pays twice")
        assert "K stop" not in console.text()
        await console.press(pilot, "g", "K", "L")
        assert not isinstance(console.app.screen, KillScreen | DecisionScreen)
        assert all(action.id not in ("kill", "lift") for action in console.app.available())
        console.app.action_kill()
        await pilot.pause()
        assert not isinstance(console.app.screen, KillScreen)

    console(script, read_only=True)
    assert killed(agents) == ["agent:clerk"]


def test_hostile_names_are_shown_and_do_nothing(agents: Agents, console: Console) -> None:
    hostile = "[@click=app.quit]x[/]\x1b]0;owned\x07"
    agents.work(1, agent=hostile)

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "runs")
        await console.press(pilot, "K")
        assert "\\u001b" in console.text()
        assert "[@click=app.quit]x[/]" in console.text()
        await give(console, pilot, "odd")
        await confirm(console, pilot)
        await console.until(pilot, lambda: bool(killed(agents)))
        await console.press(pilot, "1")
        await console.shows(pilot, "stopped")

    console(script)
    assert not agents.call("notes.append", {"text": "x"}, agent=hostile).success


def test_after_a_stop_is_lifted_the_cursor_goes_to_the_next_one_and_from_the_last_nowhere(
    agents: Agents, console: Console
) -> None:
    agents.pay()
    for agent in ("clerk", "scribe"):
        agents.clock.time += 1
        agents.runtime.kill.throw("agent", agent, ADA, "drill")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "agent clerk: drill")
        for lifted, left in (("agent:scribe", ["agent:clerk"]), ("agent:clerk", [])):
            await console.point(pilot, lifted)
            await ask(console, pilot, "L")
            await give(console, pilot, "over")
            await console.press(pilot, "y")
            await console.until(pilot, partial(_is_left, agents, left))
            await console.settle(pilot)
            section = console.app.section
            assert isinstance(section, InboxScreen)
            assert "bank.pay" not in console.detail()
            if left:
                assert section.handler is not None
                assert section.handler.reference == left[0]
            else:
                assert "agent:clerk may go on, says" in console.detail()
                assert "Stop" not in console.text()
                assert section.handler is None
                await console.press(pilot, "a")
                assert not isinstance(console.app.screen, DecisionScreen)

    console(script)


def _is_left(agents: Agents, names: list[str]) -> bool:
    return killed(agents) == names


def test_that_an_agent_is_stopped_is_said_on_the_first_line_in_the_counts_and_in_agents(
    agents: Agents, console: Console
) -> None:
    agents.pay()
    agents.work(1, agent="scribe")

    async def script(pilot: Pilot[None]) -> None:
        await console.settle(pilot)
        assert "stopped" not in console.text()
        agents.runtime.kill.throw("agent", "scribe", ADA, "writes to the wrong people")
        await console.shows(pilot, "Needs you 2")
        await console.shows(pilot, "Inbox·2")
        assert "1 stopped" in console.text().split("\n")[0]
        await console.press(pilot, "slash", *"bank", "enter")
        await console.shows(pilot, "Needs you 1")
        assert "hides 1" in console.text()
        await console.press(pilot, "2")
        await console.shows(pilot, "1 stopped · last seen")
        rows = console.squeezed().split("\n")
        assert any("scribe" in row and "stopped" in row for row in rows)
        assert not any("clerk" in row and "stopped" in row for row in rows)
        assert "1 stopped" in rows[0]
        agents.runtime.kill.throw("global", "", ADA, "drill")
        await console.until(pilot, lambda: "all stopped" in console.text().split("\n")[0])

    console(script)


def test_a_stopped_agent_is_let_go_on_where_agents_are_listed(agents: Agents, console: Console) -> None:
    agents.work(1, agent="scribe")
    agents.clock.time += 60
    agents.work(1)
    for reason in ("drill", "drill again"):
        agents.clock.time += 1
        agents.runtime.kill.throw("agent", "scribe", ADA, reason)

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "agents")
        await console.settle(pilot)
        assert "L lift" not in console.text()
        await console.press(pilot, "L")
        await console.says(pilot, "this agent is not stopped")
        await console.press(pilot, "down")
        await console.shows(pilot, "L lift")
        await ask(console, pilot, "L")
        assert "agent:scribe" in console.text()
        await give(console, pilot, "over")
        await console.press(pilot, "y")
        await console.until(pilot, partial(_is_left, agents, []))
        await console.until(pilot, lambda: "stopped" not in console.text().split("\n")[0])

    console(script)
