"""Keys typed in one burst, as a terminal delivers them after a pause: each means what it means when typed slowly."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest
from sb.screens import keys_in_order
from sb.screens.decision import DecisionScreen
from sb.screens.handled import Handled
from sb.screens.keys_in_order import STUCK_S
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from sb.kernel.authority.signing import Label
from sb.store import driver
from tests.screens import shop
from tests.screens.conftest import Agents, Console
from tests.screens.shop import Bank
from tests.screens.steps import done
from tests.screens.test_deciding import state
from tests.screens.test_recovery import in_doubt


@pytest.fixture
def settings() -> str:
    shop.bank = Bank()
    return 'database: brain.db\nfiles: {roots: []}\ntools: ["tests.screens.shop:register"]\n'


def burst(console: Console, *keys: str) -> None:
    for key in keys:
        console.app.simulate_key(key)


def box(console: Console) -> str:
    return console.app.screen.query(Input).first().value


def _has_typed(console: Console, text: str) -> bool:
    return box(console) == text


def test_what_is_typed_behind_a_slash_is_the_filter_and_no_command(agents: Agents, console: Console) -> None:
    approval_id = agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        for tab in "134":
            for keys, text in (
                ([*"dxK"], "dxK"),
                (["b", "o", "backspace", "b"], "bb"),
                (["b", "backspace", "c", "left", "x"], "xc"),
                ([*"bob", "enter"], "bob"),
            ):
                await console.press(pilot, tab)
                burst(console, "slash", *keys)
                await console.until(pilot, partial(_has_typed, console, text))
                assert len(console.app.screen_stack) == 1  # no dialog
                await console.press(pilot, "escape", "escape")

    console(script)
    assert state(agents, approval_id) == "waiting"


def test_enter_and_a_letter_open_the_record_and_act_there(agents: Agents, console: Console) -> None:
    agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        burst(console, "enter", "d", "n", "o")
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        assert box(console) == "no"

    console(script)


def test_a_key_that_was_typed_before_the_second_step_decides_nothing(
    agents: Agents, console: Console
) -> None:
    approval_id = agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "Needs you 1")
        await console.press(pilot, "a")
        burst(console, *"why", "enter", "y", "y")
        await console.shows(pilot, "2 of 2")
        assert state(agents, approval_id) == "waiting"
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, approval_id) == "approved")

    console(script)


def test_a_paste_keeps_its_place_among_the_keys_and_ends_on_a_list(agents: Agents, console: Console) -> None:
    agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        console.app.post_message(events.Paste("d"))  # a list takes no text
        burst(console, "slash", "a")
        console.app.post_message(events.Paste("\x1b[31mbc"))
        burst(console, "d")
        await console.until(pilot, lambda: box(console) == "abcd")

    console(script)


def test_a_key_that_never_comes_back_holds_up_no_other(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        console.app._handed_at = console.records.clock.monotonic()
        agents.clock.time += STUCK_S
        await console.press(pilot, "3")
        await console.until(pilot, lambda: console.at("log"))

    console(script)


def test_what_follows_a_dialog_goes_into_the_next_one(agents: Agents, console: Console) -> None:
    in_doubt(agents, shop.bank)

    async def script(pilot: Pilot[None]) -> None:
        burst(console, "o", "enter", "7", "enter", *"dKx")
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        assert box(console) == "dKx"

    console(script)
    assert len(agents.runtime.executor.in_doubt()) == 1


def test_a_key_typed_after_a_decision_is_about_the_next_request(
    agents: Agents, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        keys_in_order, "MOST_LOOKS", 3_000
    )  # a busy machine takes more than a second to decide
    first, second = agents.pay("bob"), agents.pay("eve", agent="courier")

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, first)
        await console.press(pilot, "a", *"why", "enter")
        writer = driver.connect(console.records.config.database)
        writer.execute("BEGIN IMMEDIATE")
        burst(console, "y", "d", *"not", "enter")
        await asyncio.sleep(0.1)  # in which another process writes
        writer.execute("ROLLBACK")
        writer.close()
        await console.shows(pilot, "2 of 2")
        assert "eve" in console.text()
        assert not console.app.decides(), "a dialog takes keys as they come"
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, second) == "denied")

    console(script)
    assert state(agents, first) == "approved"
    assert agents.runtime.approvals.get(second).reason == "not"


@pytest.mark.parametrize("place", "15")
def test_what_is_typed_with_a_key_that_opens_nothing_is_no_command(
    agents: Agents, console: Console, place: str
) -> None:
    """In the Inbox nothing can be approved, and the others know no `a` at all."""

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, place)
        burst(console, "a", *"quite fine, K :", "enter", *"3")
        await console.says(pilot, keys_in_order.DROPPED)
        assert [place == "1", len(console.app.screen_stack)] == [console.at("inbox"), 1]
        assert sum(keys_in_order.DROPPED in toast for toast in console.toasts) == 1
        await console.press(pilot, "3")
        assert console.at("log")

    console(script)


def test_keys_typed_slowly_after_one_that_opens_nothing_are_commands(
    agents: Agents, console: Console
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a", "3")
        assert console.at("log")
        burst(console, "j", "j", "4")
        await console.until(pilot, lambda: console.at("memory"))

    console(script)


def test_a_burst_whose_request_is_gone_when_its_dialog_would_open_is_no_command(
    agents: Agents, console: Console
) -> None:
    approval_id = agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        console.app.paused = True
        await console.until(pilot, lambda: "bob" in console.text())
        agents.runtime.approvals.deny(approval_id, Label("eve"), "no")
        burst(console, "a", *"3 is right")
        await console.says(pilot, "nothing to approve here")
        await console.until(pilot, lambda: not console.app._typed)
        assert console.at("inbox")

    console(script)


def slow(console: Console) -> threading.Event:
    """Let records be read once the event that is returned is set, as on a busy machine."""
    gate, section = threading.Event(), console.app.section
    assert isinstance(section, Handled)
    handler = section.handler
    assert handler is not None
    load = handler.load

    def late(reference: str) -> object:
        gate.wait(60)
        return load(reference)

    vars(handler)["load"] = late
    return gate


def test_enter_typed_ahead_goes_on_to_the_second_step_and_what_follows_is_dropped(
    agents: Agents, console: Console
) -> None:
    approval_id = agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "Needs you 1")
        gate = slow(console)
        burst(console, "d", *"who is that", "enter", "y")
        await asyncio.sleep(0.3)  # in which all of it reaches the console, and nothing is read
        gate.set()
        await console.shows(pilot, "2 of 2")
        assert "who is that" in console.text()
        assert "who is thaty" not in console.text()
        await console.settle(pilot)
        assert state(agents, approval_id) == "waiting"
        await console.press(pilot, "escape")
        assert box(console) == "who is that"

    console(script)


def test_what_is_typed_while_it_is_read_that_nothing_is_to_be_approved_is_told_as_dropped(
    agents: Agents, console: Console
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "contracts")
        await console.until(pilot, lambda: "bank." in console.text())
        gate = slow(console)
        burst(console, "a", *"quite fine", "enter")
        await asyncio.sleep(0.3)  # in which all of it reaches the console, and nothing is read
        gate.set()
        await console.says(pilot, "nothing to approve")
        await console.settle(pilot)
        assert sum(keys_in_order.DROPPED in toast for toast in console.toasts) == 1

    console(script)


@pytest.mark.parametrize("key", ["u", "t"])
def test_a_key_typed_with_the_one_that_moved_the_cursor_waits_for_its_record(
    agents: Agents, console: Console, key: str
) -> None:
    done(agents, order="1001")
    done(agents, order="1002")

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "changes")
        await console.settle(pilot)
        gate = slow(console)
        burst(console, "down", key, *"x3")
        await asyncio.sleep(0.3)  # in which all of it reaches the console, and nothing is read
        gate.set()
        await console.until(pilot, lambda: "can be reversed" in console.text())
        assert console.at("changes")
        assert not any("no undo record" in toast for toast in console.toasts)

    console(script)
