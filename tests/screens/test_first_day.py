"""The console as somebody uses it on the first day: payments together, filters that are none, long lists."""

from __future__ import annotations

import pytest
from sb.screens.decision import DecisionScreen
from sb.screens.filtering import Filtering
from sb.screens.inbox import InboxScreen
from textual.pilot import Pilot
from textual.widgets import Static

from sb.kernel import SafetyClass
from tests.conftest import approve_tools
from tests.screens.conftest import Agents, Console
from tests.screens.steps import ask, give, shell

MONEY = {"risk_dimension": "money", "value_arg": "amount"}


def pay(agents: Agents, amount: int, currency: str = "eur", to: str = "acme") -> str:
    metadata = MONEY | ({"currency": currency} if currency else {})
    tool = f"shop.pay{currency}"
    if tool not in agents.contracts():
        register = agents.runtime.registry.register_fn
        register(tool, "Pay", lambda to, amount: to, SafetyClass.DESTRUCTIVE, metadata=metadata)
        approve_tools(agents.runtime)
    return str(agents.call(tool, {"to": to, "amount": amount}).data["approval_id"])


@pytest.mark.parametrize(
    ("currency", "text"), [("eur", "48 012 EUR, up to 48 000"), ("", "48 012, up to 48 000")]
)
def test_a_group_of_payments_shows_the_largest_and_their_sum(
    agents: Agents, console: Console, currency: str, text: str
) -> None:
    for amount in (48_000, 12):
        pay(agents, amount, currency)

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, f"· 2 · {text}")
        await console.press(pilot, "enter", "down")
        unit = "EUR" if currency else "(its contract declares no currency)"
        assert f"Amount 48 000 {unit}" in console.detail()

    console(script, (160, 30))


def test_a_group_without_amounts_has_no_sum(agents: Agents, console: Console) -> None:
    shell(agents, "git branch -D one")
    shell(agents, "git branch -D two")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "git · 2")
        assert "up to" not in console.text()

    console(script)


def test_what_is_wrong_with_a_filter_stands_whole_below_it_with_the_remedy_first(
    agents: Agents, console: Console
) -> None:
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "slash", *"verdict:denied", "enter")
        section = console.app.section
        assert isinstance(section, Filtering)
        wrong = section.query_one("#filter-wrong", Static)
        assert wrong.region.y == section.query_one("#filter").region.bottom
        text = str(wrong.content)
        assert text.startswith("keys: by, since, until, state, agent")
        assert text.endswith("""no key 'verdict' (did you mean "state"?)""")
        shown = " ".join(console.text().split())
        assert text in shown
        await console.press(pilot, "escape")
        assert not wrong.display

    console(script)


def test_a_contract_cannot_be_denied_and_says_what_holds_instead(agents: Agents, console: Console) -> None:
    agents.change_contract()

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, "bank.look")
        await console.press(pilot, "d")
        await console.says(pilot, "calls count as unapproved until a approves it")
        assert not isinstance(console.app.screen, DecisionScreen)

    console(script)


def test_the_first_step_goes_on_once_all_of_it_was_on_the_screen(agents: Agents, console: Console) -> None:
    for number in range(18):
        shell(agents, f"git branch -D feature-{number:02}")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "Needs you 18")
        await console.press(pilot, "M")
        await ask(console, pilot, "a")
        await give(console, pilot, "merged")
        assert "not on the screen" in console.text()
        assert "1 of 2" in console.text()
        await console.press(pilot, *["pagedown"] * 8)
        await give(console, pilot, "merged")
        assert "2 of 2" in console.text()

    console(script)


def test_enter_on_a_request_in_activity_leads_to_where_it_is_decided(
    agents: Agents, console: Console
) -> None:
    agents.pay("eve")
    approval_id = agents.pay("bob")
    agents.pay("mallory", agent="courier")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "slash", *"kind:approval.requested bob", "enter")
        await console.shows(pilot, "1 of")
        await console.settle(pilot)
        await console.press(pilot, "enter")
        await console.until(pilot, lambda: console.at("inbox"))
        await console.settle(pilot)
        section = console.app.section
        assert isinstance(section, InboxScreen)
        assert section.handler is not None
        assert section.handler.reference == approval_id

    console(script)


def test_space_stands_in_the_line_of_keys_and_groups_begin_where_others_do(
    agents: Agents, console: Console
) -> None:
    for branch in ("one", "two"):
        shell(agents, f"git branch -D {branch}")
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "Needs you 3")
        lines = console.text().split("\n")
        assert "space mark" in lines[-1]
        [group] = [line for line in lines if "git · 2" in line]
        [other] = [line for line in lines if "bank.pay to=bob" in line and "left" in line]
        assert "▸" in group
        assert group.index("destroys") == other.index("pays")

    console(script)


def test_the_second_step_says_its_key_louder_than_the_first(agents: Agents, console: Console) -> None:
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "Needs you 1")
        await ask(console, pilot, "d")
        assert "Reason" in console.text()
        keys = console.app.screen.query_one("#confirm")
        assert not keys.has_class("-decides")
        await give(console, pilot, "no bill")
        assert keys.has_class("-decides")
        assert keys.styles.text_style.bold

    console(script)


def test_effect_says_why_a_call_waits(agents: Agents, console: Console) -> None:
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "Needs you 1")
        assert "take back, so a person approves it" in " ".join(console.detail().split())
        assert "space mark" not in console.text(), "one alone is not marked"

    console(script)
