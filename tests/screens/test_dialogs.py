"""The console's dialogs by keyboard alone: the reason first, the confirmation second, nothing leaks and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sb.screens.choosing import ChoiceScreen
from sb.screens.decision import DecisionScreen, TwoSteps
from sb.screens.help import KEY_WIDTH, KeyTable
from sb.screens.inbox import InboxScreen
from sb.screens.killing import KillScreen
from sb.screens.row_list import RowList
from sb.screens.section import Section
from sb.screens.theme import DARK, LIGHT
from textual.events import Key
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Input

from sb.config import current_config
from sb.entity import Entity
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Label
from tests.screens import shop
from tests.screens.conftest import Agents, Console
from tests.screens.contrast import unreadable
from tests.screens.overflow import WIDE, beyond_dialog
from tests.screens.shop import Bank
from tests.screens.steps import done, escalate, give
from tests.screens.test_deciding import PASSPHRASE, enrol, state
from tests.screens.test_recovery import in_doubt

TYPED = "Kqyj x2old"
SHIPPED, UNKNOWN = "pay.human order=1002", "pay.human order=7"
ADA = Label("ada")


@pytest.fixture
def settings() -> str:
    shop.bank = Bank()
    return 'database: brain.db\nfiles: {roots: []}\ntools: ["tests.screens.shop:register"]\n'


async def go_to(console: Console, pilot: Pilot[None], place: str) -> None:
    """Go to a view, or to the newest thing in the Inbox whose object begins so."""
    if place == "approvals":
        await console.visit(pilot, "decisions")
        await console.press(pilot, "slash", *"kind:approval", "enter")
        await console.shows(pilot, "1 · filter")
    elif place in console.app.MODES:
        await console.visit(pilot, place)
        await console.press(pilot, "G" if place == "checkpoints" else "g")
    else:
        await console.point(pilot, place)


def ask(agents: Agents, payee: str) -> str:
    """Another request than those before; one that was approved would be a call."""
    return agents.pay(f"{payee} {agents.runtime.log.head().seq}")


def request(agents: Agents) -> str:
    ask(agents, "bob")
    return ask(agents, "eve")


def approved(agents: Agents) -> None:
    agents.runtime.approvals.approve(ask(agents, "bob"), ADA, "yes")


def memories(agents: Agents) -> None:
    for text in ("the office is in Bonn", "the cellar is in Trier"):
        agents.runtime.brain("clerk").remember(text)


def checkpoints(agents: Agents) -> None:
    clerk: Entity = agents.runtime.entity("clerk")
    clerk.checkpoint("before")
    agents.runtime.entity("clerk", stack_id="work").checkpoint("after")


# What is there, the view or the Inbox's thing that it is decided on ("": what is there), and the key.
DIALOGS: dict[str, tuple[Callable[[Agents], object], str, str]] = {
    "approve": (request, "", "a"),
    "deny": (request, "", "d"),
    "revoke": (approved, "decisions", "x"),
    "contract": (lambda agents: agents.change_contract(), "contracts", "a"),
    "reversal": (lambda agents: escalate(agents, done(agents)), "", "a"),
    "dismiss": (lambda agents: escalate(agents, done(agents)), "", "d"),
    "protect": (memories, "memory", "P"),
    "forget": (lambda agents: agents.runtime.brain("clerk").remember("the shop is shut"), "memory", "x"),
    "restore": (checkpoints, "checkpoints", "u"),
    "lift": (lambda agents: agents.runtime.kill.throw("agent", "clerk", ADA, "twice"), "agent:clerk", "L"),
    "stop": (request, "", "K"),  # after which the agent does nothing any more
}


# Where each dialog is opened, and by which keys.
LOOKED_AT: dict[str, tuple[str, ...]] = {
    "keys": ("inbox", "question_mark"),
    "find": ("inbox", "colon"),
    "lift": ("agent:courier", "L"),
    "revoke": ("approvals", "x"),
    "approve three, step 2": ("bank.pay to=eve", "M", "a", "y", "enter"),
    "deny three, step 2": ("bank.pay to=eve", "d", "n", "enter"),
    "stop": ("bank.pay to=eve", "K"),
    "contract": ("contracts", "a"),
    "reversal": (SHIPPED, "a"),
    "dismiss": (SHIPPED, "d"),
    "settle": (UNKNOWN, "o"),
    "result": (UNKNOWN, "o", "enter"),
    "forget": ("memory", "x"),
    "protect": ("memory", "P"),
    "restore": ("checkpoints", "G", "u"),
}
LOOKS = ((DARK, 120), (DARK, 200), (LIGHT, 80), (LIGHT, 60))


def test_dialogs_fit_and_can_be_read_in_both_themes(
    agents: Agents, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    agents.runtime.approvals.approve(agents.pay(f"ann {WIDE}"), ADA, WIDE)
    agents.pay(f"bob {WIDE}")
    agents.pay("eve")
    agents.change_contract()
    memories(agents)
    checkpoints(agents)
    escalate(agents, done(agents))
    in_doubt(agents, shop.bank)
    agents.runtime.kill.throw("agent", "courier", ADA, WIDE)

    async def script(pilot: Pilot[None]) -> None:
        for number, (name, keys) in enumerate(LOOKED_AT.items()):
            await go_to(console, pilot, keys[0])
            await console.press(pilot, *keys[1:])
            assert isinstance(console.app.screen, ModalScreen), name
            back = -1 if number % 2 else 1  # the last look of one dialog is the first of the next
            for theme, width in LOOKS[::back]:
                console.app.theme = theme
                await console.resize(width, 24)
                assert not beyond_dialog(console.app), (name, width)
                assert not unreadable(console.app), (name, theme)
            while isinstance(console.app.screen, ModalScreen):
                await console.press(pilot, "escape")

    console(script)


def test_a_burst_goes_into_the_reason_and_enter_decides_nothing(agents: Agents, console: Console) -> None:
    async def decide(pilot: Pilot[None], name: str) -> None:
        prepare, place, key = DIALOGS[name]
        made = prepare(agents)
        await console.settle(pilot)
        await go_to(console, pilot, place or str(made))
        section = console.app.section
        assert isinstance(section, Section)
        rows = section.query(RowList).first()
        at, head = rows.listing.current, agents.runtime.log.head()
        console.toasts.clear()
        for pressed in (key, *TYPED):
            console.app.post_message(Key("space" if pressed == " " else pressed, pressed))
        await console.until(pilot, lambda: isinstance(console.app.screen, TwoSteps))
        dialog = console.app.screen
        assert isinstance(dialog, TwoSteps)
        assert isinstance(dialog, KillScreen) == (name == "stop"), name
        assert dialog.query_one("#reason", Input).value == TYPED, name
        await console.press(pilot, *["enter"] * 4)
        assert console.app.screen is dialog, name
        assert f"Reason    {TYPED}" in console.text(), name
        assert rows.listing.current == at, name
        assert agents.runtime.log.head() == head, f"{name}: nothing was decided"
        if dialog.word:
            await give(console, pilot, dialog.word, "word")
        else:
            await console.press(pilot, "y")
        await console.until(pilot, lambda: console.app.screen is section)
        await console.until(pilot, lambda: bool(console.toasts) and not console.app.drafts)
        assert len(console.toasts) == 1, f"{name}: decided once"

    async def script(pilot: Pilot[None]) -> None:
        for name in DIALOGS:
            await decide(pilot, name)

    console(script, (100, 30))


def test_the_text_of_a_dialog_that_was_left_comes_back_with_the_same_record_and_decision_alone(
    agents: Agents, console: Console
) -> None:
    bob, eve = agents.pay("bob"), agents.pay("eve")

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, bob)
        await console.press(pilot, "a", *"not", "enter", "escape")
        assert "1 of 2" in console.text()
        await console.press(pilot, *"yet", "escape", "d")
        assert console.app.screen.query_one("#reason", Input).value == ""
        await console.press(pilot, "escape", "a")
        assert console.app.screen.query_one("#reason", Input).value == "notyet"
        await console.press(pilot, "escape")
        await console.point(pilot, eve)
        await console.press(pilot, "a")
        assert console.app.screen.query_one("#reason", Input).value == ""
        await console.press(pilot, "escape")
        await console.point(pilot, bob)
        await console.press(pilot, "a", "enter", "y")
        await console.until(pilot, lambda: not console.app.drafts.get("notyet"))
        await console.shows(pilot, "approved")
        assert "notyet" not in console.app.drafts.values()

    console(script)


def test_the_cursor_goes_on_to_the_next_that_waits(agents: Agents, console: Console) -> None:
    ids = [agents.pay(name) for name in ("ann", "bob", "cid")]

    def under_cursor() -> str:
        section = console.app.section
        assert isinstance(section, InboxScreen)
        return section.handler.reference if section.handler else ""

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, ids[0])
        await console.press(pilot, "a")
        await give(console, pilot, "fine")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, ids[0]) == "approved")
        await console.until(pilot, lambda: under_cursor() in ids[1:])
        seen = set()
        for _ in range(4):
            await console.press(pilot, "n")
            seen.add(under_cursor())
        assert seen == set(ids[1:]), "from the last that waits to the first"

    console(script)


def test_all_that_match_the_filter_are_marked_and_decided_once_their_number_is_typed(
    agents: Agents, console: Console
) -> None:
    ids = [agents.pay(f"shop {number}") for number in range(3)]
    other = agents.pay("landlord")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "slash", *"shop", "enter")
        await console.shows(pilot, "filter: shop")
        await console.press(pilot, "M", "d")
        assert "Deny 3 requests" in console.text()
        await give(console, pilot, "not this week")
        await console.press(pilot, "enter", "y", "enter")
        assert isinstance(console.app.screen, DecisionScreen), "neither enter nor y is the number"
        await give(console, pilot, "3", "word")
        await console.until(pilot, lambda: {state(agents, item) for item in ids} == {"denied"})

    console(script)
    assert state(agents, other) == "waiting"


def test_settling_an_unknown_outcome_starts_with_a_choice_and_letters_do_nothing(
    agents: Agents, console: Console
) -> None:
    in_doubt(agents, shop.bank)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "o", *"yaK")
        assert isinstance(console.app.screen, ChoiceScreen)
        assert "Not known: leave it open" in console.text()
        await console.press(pilot, "escape")
        assert isinstance(console.app.screen, Section)

    console(script)
    assert len(agents.runtime.executor.in_doubt()) == 1


def test_with_the_keys_of_several_operators_the_console_asks_who_decides(
    agents: Agents, console: Console
) -> None:
    enrol(agents)
    config = current_config()
    keys = KeyFolder(config.home.keys)
    ada = keys.read("ada").unlock(PASSPHRASE)
    Enrolment(Authority(config.operators.file, agents.runtime.log), keys).add(
        "grace", "", ada, "a second pair of eyes", passphrase=PASSPHRASE
    )
    approval_id = agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.until(pilot, lambda: isinstance(console.app.screen, ChoiceScreen))
        await console.press(pilot, "escape", "d")
        assert isinstance(console.app.screen, ChoiceScreen), "the first decision asks again"
        await console.press(pilot, "down", "enter")
        await give(console, pilot, "no")
        assert "Signed    grace" in console.text()
        await pilot.press("y")
        await console.asks(pilot)
        console.app.screen.query_one(Input).value = PASSPHRASE
        await pilot.press("enter")
        await console.until(pilot, lambda: state(agents, approval_id) == "denied")
        assert "grace ● live" in console.text()

    console(script)
    assert agents.runtime.approvals.get(approval_id).decided_by == "grace"


def test_what_a_key_does_goes_on_below_itself_and_not_below_the_keys(
    agents: Agents, console: Console
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "question_mark")
        lines = console.app.screen.query_one(KeyTable).render().plain.splitlines()
        place = next(number for number, line in enumerate(lines) if line.startswith("S "))
        assert lines[place : place + 2] == [
            "S            Show or hide the secrets in a call's",
            "             arguments.",
        ]
        assert {line[KEY_WIDTH - 1 : KEY_WIDTH] for line in lines} <= {" ", ""}, "no key touches it"

    console(script, (60, 24))
