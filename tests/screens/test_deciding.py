"""The console: what a person decides, with a reason, once, and signed where operators are enrolled."""

from __future__ import annotations

import time

from sb.screens.decision import DecisionScreen
from sb.screens.inbox import InboxScreen
from textual.pilot import Pilot
from textual.widgets import Input

from sb.config import current_config
from sb.kernel import RecoveryApprovalMode, ReversalClass, ReversalSpec, RunContext, SafetyClass
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Label
from sb.kernel.baselines.store import BaselineStatus
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.execution.executor import ToolExecutor
from tests.conftest import CommandLine
from tests.kernel.approvals.test_grants_and_watching import AskAlways
from tests.screens.conftest import Agents, Console
from tests.screens.steps import ask, dialog, give

ADA = Label("ada")
PASSPHRASE = "correct horse battery"


def name(screen: str, size: tuple[int, int]) -> str:
    """Of a snapshot."""
    return f"{screen}-{size[0]}x{size[1]}"


def enrol(agents: Agents) -> None:
    """Make ada the operator, who approves the tools that are there."""
    config = current_config()
    authority = Authority(config.operators.file, agents.runtime.log)
    ada = Enrolment(authority, KeyFolder(config.home.keys)).init("ada", PASSPHRASE)
    assert ada is not None
    agents.runtime.baselines.approve(agents.contracts(), ada)


def state(agents: Agents, approval_id: str) -> ApprovalState:
    return agents.runtime.approvals.get(approval_id).state


def test_the_inbox_and_the_contracts_look_as_they_did(agents: Agents, console: Console) -> None:
    agents.pay("bob")
    agents.pay("eve", agent="courier")
    agents.change_contract()

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, "bank.pay to=bob")
        await console.looks(pilot, "inbox-requests")
        await console.press(pilot, "a")
        await console.looks(pilot, "approve")
        await console.press(pilot, "escape", "5")
        await console.looks(pilot, "contracts")

    console(script)


def test_no_message_of_the_last_decision_lies_over_the_dialog_of_the_next(
    agents: Agents, console: Console
) -> None:
    agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        console.app.notify("Denied: bank.pay to=eve. " * 20, timeout=600)
        await console.shows(pilot, "Denied:")
        await ask(console, pilot, "d")
        assert "enter goes on" in dialog(console)
        assert "Denied:" not in dialog(console)
        console.app.notify("the database is gone", severity="error", timeout=600)
        await console.shows(pilot, "the database is gone")  # what failed is said over a dialog too
        await console.press(pilot, "escape")
        await console.shows(pilot, "Denied:")
        await ask(console, pilot, "d")
        await give(console, pilot, "a wrong bill")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: "to=eve" not in console.text())  # it was older than this outcome

    console(script, notifications=True)


def test_a_call_is_approved_with_a_reason_and_then_runs(agents: Agents, console: Console) -> None:
    approval_id = agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a")
        await give(console, pilot, "the bill is right")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, approval_id) == "approved")

    console(script)
    assert agents.call("bank.pay", {"to": "bob"}).data == "paid bob"
    assert agents.runtime.approvals.get(approval_id).reason == "the bill is right"


def test_a_reason_is_typed_into_the_dialog_and_no_key_reaches_the_screen_behind(
    agents: Agents, console: Console
) -> None:
    approval_id = agents.pay()
    typed = "nobodyelsemay,yes:nd1K"  # letters that decide, and keys of the screen behind

    async def script(pilot: Pilot[None]) -> None:
        for key in ("a", *typed):
            console.app.simulate_key(key)  # as fast as a terminal pastes it
        await console.until(pilot, lambda: typed in console.text())
        await console.press(pilot, "enter", *"jd1Kqn")
        assert isinstance(console.app.screen, DecisionScreen)
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, approval_id) == "approved")
        assert agents.runtime.approvals.get(approval_id).reason == typed
        assert isinstance(console.app.screen, InboxScreen)

    console(script)


def test_requests_are_decided_in_the_inbox_and_the_line_of_keys_says_where_that_is_possible(
    agents: Agents, console: Console
) -> None:
    approved, denied = agents.pay("bob"), agents.pay("eve", agent="courier")
    agents.runtime.kill.throw("agent", "mallory", ADA, "a drill")

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, approved)
        assert "a approve  d deny  space mark │" in console.text()
        assert "L lift" not in console.text()
        for key in ("a", *"Kqyj x2old"):
            console.app.simulate_key(key)
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        await console.press(pilot, *["enter"] * 4)
        assert (state(agents, approved), state(agents, denied)) == ("waiting", "waiting")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, approved) == "approved")
        await console.shows(pilot, "approved     bank.pay to=bob")
        await console.point(pilot, denied)
        await console.press(pilot, "d")
        await give(console, pilot, "not hers")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, denied) == "denied")
        await console.point(pilot, "agent:mallory")
        await console.until(pilot, lambda: "a approve" not in console.text())
        assert "L lift" in console.text()
        await console.press(pilot, "a")
        await console.says(pilot, "nothing to approve here")

    console(script)
    assert agents.runtime.approvals.get(approved).reason == "Kqyj x2old"


def test_the_message_of_an_approval_is_short_and_the_record_says_that_it_is_not_used_yet(
    agents: Agents, console: Console
) -> None:
    agents.pay("bob, " + "and then the next one, " * 20)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "enter", "a", "pagedown", "pagedown")
        await give(console, pilot, "fine")
        await console.press(pilot, "pagedown", "pagedown", "y")
        await console.says(pilot, "Runs when clerk repeats it. x among the decisions revokes it until then.")
        [message] = [notification.message for notification in console.app._notifications]
        assert len(message) < 240
        await console.visit(pilot, "decisions")
        await console.shows(pilot, "approved: runs once")

    console(script, (46, 40))


def test_neither_a_missing_reason_nor_enter_twice_nor_escape_decides(
    agents: Agents, console: Console
) -> None:
    approval_id = agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a", "enter")
        assert "a decision needs a reason" in console.text()
        await console.press(pilot, *"reason", "enter", "enter", "enter")
        assert isinstance(console.app.screen, DecisionScreen)
        await console.press(pilot, "escape", "escape")
        await console.says(pilot, "Nothing decided")
        await console.press(pilot, "d")
        await give(console, pilot, "no")
        console.app.clear_notifications()
        await console.press(pilot, "escape", "escape")
        await console.says(pilot, "Nothing decided")
        assert state(agents, approval_id) == "waiting"

    console(script)


def test_several_are_marked_and_decided_once_their_number_is_typed(agents: Agents, console: Console) -> None:
    ids = [agents.pay(name) for name in ("ann", "bob", "cid")]

    async def script(pilot: Pilot[None]) -> None:
        await console.mark(pilot, *ids[:2])
        await console.press(pilot, "d")
        assert "Deny 2 requests" in console.text()
        await give(console, pilot, "not this week")
        await console.press(pilot, "3", "enter")
        assert "Nothing decided: type 2, or press esc" in console.text()
        await give(console, pilot, "2", "word")
        await console.until(pilot, lambda: state(agents, ids[1]) == "denied")

    console(script)
    assert [state(agents, approval_id) for approval_id in ids] == ["denied", "denied", "waiting"]


def test_who_comes_second_is_told_who_was_first(agents: Agents, console: Console) -> None:
    approval_id = agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a")
        await give(console, pilot, "yes")
        agents.runtime.approvals.deny(approval_id, ADA, "no")
        await console.press(pilot, "y")
        await console.says(pilot, "ada denied it just now")

    console(script)


def test_an_approval_is_revoked_before_its_use_among_the_decisions(agents: Agents, console: Console) -> None:
    approval_id = agents.pay()
    agents.runtime.approvals.approve(approval_id, ADA, "yes")

    async def script(pilot: Pilot[None]) -> None:
        assert "Nothing waits for you" in console.text()
        await console.visit(pilot, "decisions")
        assert "x revoke" in console.text()
        await console.press(pilot, "x")
        await give(console, pilot, "wrong bill")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, approval_id) == "revoked")
        await console.press(pilot, "g")
        await console.shows(pilot, "wrong bill")
        assert "x revoke" not in console.text()
        await console.press(pilot, "slash", *"kind:*.revoked")
        await console.shows(pilot, "1 · filter")

    console(script)


def test_with_an_operator_enrolled_the_key_is_unlocked_once_and_decisions_are_signed(
    agents: Agents, console: Console
) -> None:
    enrol(agents)
    ids = [agents.pay("ann"), agents.pay("bob")]

    async def decide(pilot: Pilot[None]) -> None:
        await console.point(pilot, next(item for item in ids if state(agents, item) == "waiting"))
        await console.press(pilot, "d")
        await give(console, pilot, "no")
        await pilot.press("y")

    async def script(pilot: Pilot[None]) -> None:
        assert "unsigned" not in console.text()
        for text, expected in (("wrong words", "not the passphrase"), (PASSPHRASE, "Denied: ")):
            await decide(pilot)
            await console.asks(pilot)
            console.app.screen.query_one(Input).value = text
            await pilot.press("enter")
            await console.says(pilot, expected)
        await decide(pilot)
        await console.until(pilot, lambda: state(agents, ids[1]) == "denied")

    console(script)
    assert agents.runtime.approvals.get(ids[1]).decided_by == "ada"


def test_a_passphrase_typed_before_it_is_asked_for_goes_into_its_box_alone(
    agents: Agents, console: Console
) -> None:
    enrol(agents)
    approval_id = agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a")
        await give(console, pilot, "the bill is right")
        await pilot.press("y", *(key.replace(" ", "space") for key in PASSPHRASE))
        await console.asks(pilot)
        assert console.app.screen.query_one(Input).value == PASSPHRASE
        await pilot.press("enter")
        await console.until(pilot, lambda: state(agents, approval_id) == "approved")
        assert isinstance(console.app.screen, InboxScreen)

    console(script)


def test_escape_at_the_passphrase_decides_nothing(agents: Agents, console: Console) -> None:
    enrol(agents)
    approval_id = agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "d")
        await give(console, pilot, "no")
        await pilot.press("y")
        await console.asks(pilot)
        await pilot.press("escape")
        await console.says(pilot, "the key was not unlocked")

    console(script)
    assert state(agents, approval_id) == "waiting"


def test_read_only_shows_everything_and_decides_nothing(agents: Agents, console: Console) -> None:
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a", "d", "x", "space")
        assert "read-only" in console.text()
        assert "approve   " not in console.text()
        assert not isinstance(console.app.screen, DecisionScreen)
        assert not console.app.screen.query_one("#waiting").listing.marked  # type: ignore[attr-defined]
        console.app.screen.ask(None, [], None)  # type: ignore[attr-defined]
        await pilot.pause()
        assert not isinstance(console.app.screen, DecisionScreen)

    console(script, read_only=True)


def test_a_changed_contract_is_approved_as_it_was_shown(agents: Agents, console: Console) -> None:
    agents.change_contract()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", "a")
        assert "bank.look: changed" in console.text()
        await give(console, pilot, "reviewed")
        await console.press(pilot, "y")
        await console.shows(pilot, "1 to approve")
        await console.press(pilot, "g", "a")
        await give(console, pilot, "reviewed too")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: "to approve" not in console.text())
        await console.press(pilot, "a")
        await console.says(pilot, "nothing to approve")

    console(script, (120, 36))
    asked = agents.call("bank.look", {"account": "DE-1"})
    assert "approval_id" in asked.data, "its contract counts, and what it writes cannot be undone"


def test_what_is_left_counts_down_and_what_is_overdue_says_so(agents: Agents, console: Console) -> None:
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        assert "waiting: asked just now, lapses in 4h" in console.squeezed()
        agents.clock.time += 3600
        console.app.section.tick()  # type: ignore[union-attr]
        await console.until(pilot, lambda: "due 30m ago, lapses in 3h" in console.squeezed())
        agents.clock.time += 4 * 3600
        console.app.section.tick()  # type: ignore[union-attr]
        await console.until(pilot, lambda: "State expired" in console.squeezed())

    console(script)


def test_a_reference_leads_to_the_request_and_the_filter_finds_it(agents: Agents, console: Console) -> None:
    agents.pay("ann")
    bob = agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        console.app.open_reference(bob)
        await console.until(pilot, lambda: console.detail().lstrip().startswith("bank.pay to=bob"))
        await console.press(pilot, "slash")
        console.app.screen.query_one("#filter", Input).value = "ann"
        await console.shows(pilot, "1 of 1 · filter: ann")
        assert "bob" not in console.text()

    console(script)


def test_a_grant_is_listed_and_revoked(agents: Agents, console: Console) -> None:
    executor = ToolExecutor(agents.runtime.registry, AskAlways(), agents.runtime.log, clock=agents.clock)
    result = executor.execute(RunContext.create("clerk"), "notes.append", {"text": "bob"})
    grant = agents.runtime.approvals.grant(
        str(result.data["approval_id"]), ADA, "yes", lasting_s=3600, args={"text": "b*"}
    )

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "grants")
        assert "notes.append  text=b*" in console.text()
        await console.press(pilot, "x")
        await give(console, pilot, "no more")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: "State revoked" in console.detail())
        await console.press(pilot, "enter", "z")
        assert grant.id in console.detail()
        await console.visit(pilot, "decisions")
        await console.shows(pilot, "notes.append")

    console(script)


def test_ways_back_are_a_view_of_contracts_and_are_approved_there(agents: Agents, console: Console) -> None:
    reversal = ReversalSpec(ReversalClass.COMPENSABLE, "bank.pay", RecoveryApprovalMode.AUTO)
    agents.runtime.registry.register_fn(
        "bank.lend", "Lend", lambda: 1, SafetyClass.NETWORK, reversal=reversal
    )
    store = agents.runtime.reversals
    store.seen.note_all(agents.runtime.registry)
    number = len(store.entries())

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "reversals")
        await console.shows(pilot, f"Undo {number}")
        await console.shows(pilot, "1 to approve")
        assert "bank.lend" in console.text()
        await console.press(pilot, "a")
        await give(console, pilot, "it is our own")
        assert "run without asking anybody" in console.text()
        await console.press(pilot, "y")
        await console.until(pilot, lambda: "to approve" not in console.text())
        await console.press(pilot, "left_square_bracket")
        await console.shows(pilot, "bank.look")

    console(script, (120, 36))
    assert store.entry("bank.lend").status is BaselineStatus.APPROVED


def test_a_request_is_in_full_again_when_one_comes_back_to_it(agents: Agents, console: Console) -> None:
    ids = [agents.pay(f"bob{number}") for number in range(60)]

    async def script(pilot: Pilot[None]) -> None:
        await console.point(pilot, ids[0])
        first = console.detail()
        await console.point(pilot, ids[-1])
        assert console.detail() != first
        await console.point(pilot, ids[0])
        assert console.detail() == first

    console(script)


def test_an_approval_whose_signature_counts_no_longer_is_not_shown_as_approved(
    agents: Agents, console: Console, sb: CommandLine
) -> None:
    agents.clock.time = time.time()  # the command line has no other clock
    agents.runtime.approvals.approve(agents.pay("bob"), ADA, "yes")
    assert "approved" in sb("approvals", "list").out

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "decisions")
        assert "approved: runs once" in console.squeezed()
        enrol(agents)  # from now on decisions have to be signed
        await console.press(pilot, "slash", *"kind:approval")
        await console.shows(pilot, "Does not count")
        assert "invalid: it was approved, and does not run" in console.detail()
        assert "runs once" not in console.text()

    console(script, (120, 36))
    assert "invalid" in sb("approvals", "list").out
    assert not agents.call("bank.pay", {"to": "bob"}, intent="pay the bills").success
