"""The Inbox: ranked by stake, alike requests in one line, decided together, and each with what came of it."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.approval import ApprovalState
from tests.screens.conftest import Agents, Console


def states(agents: Agents) -> list[str]:
    return [str(it.state) for it in ApprovalQueue(agents.runtime.log).page()]


def test_alike_requests_are_one_line_that_enter_opens(console: Console, agents: Agents) -> None:
    for name in ("bob", "eve", "joan"):
        agents.pay(name)
    agents.pay("dan", agent="scribe")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "bank.pay · 3")
        assert "Needs you 4" in console.text()
        assert "to=eve" not in console.text().split("─ Requests ")[0]
        await console.press(pilot, "enter")
        assert all(f"to={name}" in console.text() for name in ("bob", "eve", "joan"))
        await console.press(pilot, "enter")
        await console.shows(pilot, "bank.pay · 3")

    console(script)


def test_the_record_of_a_closed_group_lists_all_that_is_alike(console: Console, agents: Agents) -> None:
    for number in range(120):
        agents.pay(f"payee {number}")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "bank.pay · 120")
        await console.until(pilot, lambda: "and 20 more" in console.detail())
        assert console.detail().count("to=payee") + console.detail().count('to="payee') == 100

    console(script)


def test_a_group_is_decided_in_one_dialog_and_each_of_it_for_itself(console: Console, agents: Agents) -> None:
    ids = [agents.pay(name) for name in ("bob", "eve", "joan")]

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "bank.pay · 3")
        await console.press(pilot, "d")
        await console.shows(pilot, "Deny 3 requests")
        await console.press(pilot, *"not today", "enter")
        await console.press(pilot, *"3", "enter")
        await console.shows(pilot, "Nothing waits for you.")

    console(script)
    queue = ApprovalQueue(agents.runtime.log)
    assert {queue.get(name).state for name in ids} == {ApprovalState.DENIED}
    denials = [event for event in agents.runtime.log.events() if event.kind == "approval.denied"]
    assert sorted(event.subject.call_id for event in denials) == sorted(ids)


def test_the_line_of_what_was_decided_says_what_came_of_it(console: Console, agents: Agents) -> None:
    agents.pay("bob")
    agents.call("notes.append", {"text": "hello"})
    agents.pay("eve", agent="scribe")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "to=bob")
        first = "bob" if console.text().index("to=bob") < console.text().index("to=eve") else "eve"
        await console.press(pilot, "a", *"agreed", "enter", "y")
        await console.shows(pilot, "Inbox·1")
        line = next(line for line in console.text().splitlines() if f"to={first}" in line)
        assert "approved" in line
        assert f"to={'eve' if first == 'bob' else 'bob'}" in console.detail()  # the cursor has gone on
        await console.press(pilot, "2", "1")
        await console.until(pilot, lambda: "approved" not in console.text())

    console(script)
    assert sorted(states(agents)) == ["approved", "waiting"]


def test_what_is_decided_by_itself_takes_no_mark(console: Console, agents: Agents) -> None:
    agents.change_contract()
    agents.pay("bob")
    agents.call("bank.hang", {"text": "x"})

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "bank.hang")
        for _ in range(8):
            if "Call\n" in console.text() or "Unknown" in console.text() or "unknown" in console.detail():
                break
            await console.press(pilot, "n")
        await console.press(pilot, "space")
        await console.says(pilot, "decided by itself")
        assert "marked" not in console.text()

    console(script)


@pytest.mark.parametrize("place", ["2", "3", "4", "5"])
def test_escape_leads_back_to_the_inbox(console: Console, agents: Agents, place: str) -> None:
    agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "to=bob")
        await console.press(pilot, place)
        await console.until(pilot, lambda: not console.at("inbox"))
        await console.press(pilot, "escape")
        await console.until(pilot, lambda: console.at("inbox"))

    console(script)
