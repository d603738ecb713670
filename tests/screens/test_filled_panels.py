"""Right panels of Rules and Agents: filled with the record's newest calls, or left out where nothing is listed."""

from __future__ import annotations

from sb.screens.panel import Panel
from textual.pilot import Pilot

from sb.kernel.authority.signing import Label
from sb.kernel.execution.executor import ToolExecutor
from tests.kernel.approvals.test_grants_and_watching import AskAlways
from tests.screens.conftest import Agents, Console


def displayed(console: Console) -> list[bool]:
    """For each panel whether it is on the screen."""
    return [panel.display for panel in console.app.screen.query(Panel)]


def test_a_contract_lists_the_newest_calls_of_its_tool_alone(agents: Agents, console: Console) -> None:
    agents.work(3, text="first")
    agents.work(1, agent="scribe", text="last")

    async def script(pilot: Pilot[None]) -> None:
        console.app.find_on("contracts", "notes.append")
        await console.until(pilot, lambda: "Newest calls" in console.detail())
        calls = console.detail().partition("Newest calls")[2]
        assert "ok · text=last 0 · scribe" in calls
        assert calls.index("last 0") < calls.index("first 2") < calls.index("first 0")
        assert "bank.look" not in calls

    console(script, (120, 36))


def test_an_agents_page_lists_its_newest_calls_alone(agents: Agents, console: Console) -> None:
    agents.work(2)
    agents.work(1, agent="scribe", text="mine")

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "agents")
        await console.until(pilot, lambda: "Newest calls" in console.detail())
        assert "ok · notes.append text=mine 0" in console.detail()
        assert "bank.look" not in console.detail()

    console(script, (120, 36))


def test_where_nothing_is_listed_the_list_has_all_the_room(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        for view in ("grants", "policy", "servers"):
            await console.visit(pilot, view)
            await console.until(pilot, lambda: displayed(console) == [True, False])
        await console.press(pilot, "tab", "f", "f", "enter")
        await console.visit(pilot, "contracts")
        assert displayed(console) == [True, True]
        await console.visit(pilot, "grants")
        executor = ToolExecutor(agents.runtime.registry, AskAlways(), agents.runtime.log, clock=agents.clock)
        asked = executor.execute(agents.context("clerk"), "notes.append", {"text": "bob"})
        agents.runtime.approvals.grant(
            str(asked.data["approval_id"]), Label("ada"), "yes", lasting_s=3600, args={"text": "b*"}
        )
        await console.until(pilot, lambda: displayed(console) == [True, True])

    console(script, (120, 36))


def test_an_agents_page_says_how_much_it_does_not_list(agents: Agents, console: Console) -> None:
    for number in range(23):
        agents.pay(f"bob {number}")

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "agents")
        await console.until(pilot, lambda: "Requests 23" in console.text())
        await console.press(pilot, "enter", "right_square_bracket", "right_square_bracket")
        await console.shows(pilot, "Requests, the newest 20 of 23")
        assert console.detail().count("bank.pay") == 20

    console(script, (120, 36))


def test_agents_are_all_listed_beside_the_chart_that_a_larger_terminal_has_room_for(
    agents: Agents, console: Console
) -> None:
    agents.work(2)
    agents.work(1, agent="scribe")

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "agents")
        await console.shows(pilot, "scribe")
        await console.visit(pilot, "inbox")
        await console.resize(120, 36)
        await console.visit(pilot, "agents")
        await console.shows(pilot, "calls an hour")
        await console.until(
            pilot,
            lambda: all(
                f"○ {name}" in console.text() or f"● {name}" in console.text() for name in ("clerk", "scribe")
            ),
        )

    console(script, (80, 24))
