"""Recovery in the console: reversals and unknown calls in the Inbox, undo records in Changes, each performed once."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from sb.screens import keys_in_order
from sb.screens.decision import DecisionScreen
from sb.screens.dialogs import ResultScreen
from sb.screens.document_view import DocumentView
from sb.screens.inbox import InboxScreen
from sb.screens.state.document import Field
from sb.screens.state.records import Records
from textual.pilot import Pilot
from textual.widgets import Input

from sb.config import current_config
from sb.kernel.contracts import MutationRef, MutationState
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.recovery_loop.escalations import EscalationState
from sb.kernel.review.log_verification import verify
from tests.conftest import CommandLine
from tests.screens import shop
from tests.screens.conftest import HOSTILE, Agents, Console
from tests.screens.shop import WINDOW_S, Bank
from tests.screens.steps import SHIPPED, done, escalate, give
from tests.screens.test_deciding import ADA, PASSPHRASE, enrol
from tests.screens.test_safety import FORBIDDEN


@pytest.fixture
def settings(tmp_path: Path) -> str:
    (tmp_path / "files").mkdir()
    return f'database: brain.db\nfiles: {{roots: ["{tmp_path / "files"}"]}}\ntools: ["tests.screens.shop:register"]\n'


@pytest.fixture(autouse=True)
def bank() -> Bank:
    shop.bank = Bank()
    return shop.bank


def in_doubt(agents: Agents, bank: Bank) -> str:
    """A refund that happened, and of which nobody heard."""
    bank.silent = True
    call_id = agents.call("pay.human", {"order": "7"}, intent="settle the complaint").call_id
    bank.silent = False
    return call_id


def escalation_state(agents: Agents, reference: str) -> EscalationState:
    return agents.runtime.recovery.escalations.get(reference).state


def state(agents: Agents, ref: MutationRef) -> MutationState:
    return agents.runtime.recovery.mutations.get(ref.mutation_id).state


async def decide(console: Console, pilot: Pilot[None], key: str, reason: str = "it has shipped") -> None:
    """Press a key that asks, give the reason, and say yes."""
    await console.press(pilot, key)
    await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
    await give(console, pilot, reason)
    await console.press(pilot, "y")


async def settle(console: Console, pilot: Pilot[None], number: int | str) -> None:
    """Choose what became of the call under the cursor, by the number of the line or by these keys."""
    if isinstance(number, str):
        await console.press(pilot, *number)
    else:
        await console.press(pilot, "o", *["down"] * number, "enter")


async def stand_on(console: Console, pilot: Pilot[None], reference: str) -> None:
    """Put the Inbox's cursor on what has this id, wherever its line is, and wait for its record."""
    console.app.find_on("inbox", reference)
    section = console.app.section
    assert isinstance(section, InboxScreen)
    await console.until(pilot, lambda: section.handler is not None and section.handler.reference == reference)


async def open_changes(console: Console, *keys: str) -> None:
    """Show what can be undone, with the cursor on the newest; then press these."""
    await console.press(Pilot(console.app), "3", *["right_square_bracket"] * 2, *keys)
    assert console.at("changes")


def detail(console: Console) -> str:
    """All of the detail pane, also what is scrolled away or folded."""
    fields = console.app.screen.query_one(DocumentView).fields
    return "\n".join(f"{field.name} {field.value or ''}" for field in fields if isinstance(field, Field))


def test_recovery_looks_as_it_did(agents: Agents, console: Console, bank: Bank) -> None:
    done(agents, "pay.dual_control", order="8")
    reversed_ = done(agents, order="6")
    agents.runtime.recovery.undo(reversed_, ADA, "not wanted")
    agents.clock.time += 600
    escalate(agents, done(agents))
    agents.clock.time += 600

    async def script(pilot: Pilot[None]) -> None:
        await console.until(pilot, lambda: "State reversal" in detail(console))
        await console.looks(pilot, "recovery")
        await console.press(pilot, "t")
        await console.until(pilot, lambda: "would succeed" in detail(console))
        await console.press(pilot, "a")
        await console.looks(pilot, "recovery-approve")
        await console.press(pilot, "escape")
        await open_changes(console)
        await console.looks(pilot, "recovery-changes")

    console(script)


def test_each_kind_that_waits_says_how_it_stands(agents: Agents, console: Console, bank: Bank) -> None:
    expiring = escalate(agents, done(agents))
    both = escalate(agents, done(agents, "pay.dual_control", order="8"), "customer_is_known:8")
    unknown = in_doubt(agents, bank)
    gone = done(agents, order="9")
    agents.clock.time += WINDOW_S / 2
    agents.runtime.registry.unregister("pay.reverse")
    stuck = escalate(agents, gone, "price_holds:9")

    async def script(pilot: Pilot[None]) -> None:
        for reference, expected in (
            (expiring, f"{SHIPPED} turned false"),
            (both, "2 people (dual control)"),
            (unknown, "o settles it; t asks its tool"),
            (stuck, "price_holds:9 turned false"),
        ):
            await stand_on(console, pilot, reference)
            assert expected in detail(console)
        assert "29m left" in console.squeezed()

    console(script)


def test_with_nothing_to_recover_it_says_what_will_appear_there(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "Nothing waits for you.")
        for key in "auUdot":
            await console.press(pilot, key)
        await console.says(pilot, "this call's outcome is known")
        assert isinstance(console.app.screen, InboxScreen)
        await open_changes(console)
        assert "Nothing that can be undone yet" in console.text()

    console(script)


def test_what_a_call_wrote_is_put_back_with_a_reason_after_a_dry_run(
    agents: Agents, console: Console, tmp_path: Path
) -> None:
    path = tmp_path / "files" / "notes.txt"
    path.write_text("before", encoding="utf-8")
    ref = done(agents, "files.write", path=str(path), content="after")
    assert path.read_text(encoding="utf-8") == "after"

    async def script(pilot: Pilot[None]) -> None:
        await open_changes(console, "u")
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        assert "would succeed" in console.text()
        assert path.read_text(encoding="utf-8") == "after"
        await give(console, pilot, "the wrong file")
        await console.press(pilot, "y")
        await console.says(pilot, "restored notes.txt")
        await console.until(pilot, lambda: "State reversed" in detail(console))

    console(script)
    assert path.read_text(encoding="utf-8") == "before"
    assert state(agents, ref) is MutationState.REVERSED
    payloads = [event.payload for event in agents.runtime.log.events() if event.kind == "approval.approved"]
    assert "the wrong file" in str(payloads[-1])
    assert verify(agents.runtime.log).ok


def test_what_was_changed_since_is_not_put_back_and_the_dialog_says_why(
    agents: Agents, console: Console, tmp_path: Path
) -> None:
    path = tmp_path / "files" / "notes.txt"
    ref = done(agents, "files.write", path=str(path), content="after")
    path.write_text("somebody's own work", encoding="utf-8")

    async def script(pilot: Pilot[None]) -> None:
        await open_changes(console, "u")
        await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
        assert "the dry run says no" in console.text()
        await give(console, pilot, "put it back")
        assert "2 of 2" not in console.text()
        await console.press(pilot, "y", "escape")
        await console.says(pilot, "Nothing decided")

    console(script)
    assert (path.read_text(encoding="utf-8"), state(agents, ref)) == ("somebody's own work", "committed")


def test_a_reversal_that_waits_is_approved_and_performed(
    agents: Agents, console: Console, bank: Bank
) -> None:
    ref = done(agents)
    escalation = escalate(agents, ref)

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "reversal")
        await console.press(pilot, "enter")
        shown = detail(console)
        assert all(text in shown for text in (SHIPPED, "one person", ref.mutation_id, "pay.reverse", "ref_1"))
        assert "with password" in shown, "who decides sees every argument that would be passed"
        assert "hunter2-hunter2" not in shown
        await decide(console, pilot, "a")
        await console.says(pilot, "pay.human was undone")
        await console.shows(pilot, "Needs you 0")
        await console.press(pilot, "1")
        assert "Needs you 0" in console.text()

    console(script)
    assert (bank.reversed_, escalation_state(agents, escalation)) == (["ref_1"], EscalationState.REVERSED)
    assert verify(agents.runtime.log).ok


def test_a_reversal_that_fails_is_said_and_can_be_tried_again(
    agents: Agents, console: Console, bank: Bank
) -> None:
    ref = done(agents)
    escalate(agents, ref)
    bank.trouble = ValueError("the bank is closed")

    async def script(pilot: Pilot[None]) -> None:
        await decide(console, pilot, "a")
        await console.says(pilot, "the bank is closed")
        await console.until(pilot, lambda: "State failed" in detail(console))
        bank.trouble = None
        await decide(console, pilot, "u")
        await console.says(pilot, "pay.human was undone")

    console(script)
    assert (bank.reversed_, state(agents, ref)) == (["ref_1"], "reversed")


def test_of_two_consoles_one_reverses_and_the_other_is_told(
    agents: Agents, console: Console, bank: Bank
) -> None:
    escalate(agents, done(agents))
    records = Records(current_config(), clock=agents.clock, ids=agents.ids)
    other = Console(records)

    async def elsewhere(pilot: Pilot[None]) -> None:
        await other.until(pilot, lambda: "State reversal" in detail(other))
        await decide(other, pilot, "a", "I was faster")
        await other.says(pilot, "pay.human was undone")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a")
        await give(console, pilot, "it has shipped")
        await asyncio.to_thread(other, elsewhere)
        await console.press(pilot, "y")
        await console.says(pilot, "was reversed before")
        await console.shows(pilot, "Needs you 0")

    console(script)
    records.close()
    assert bank.reversed_ == ["ref_1"]


def test_dual_control_says_that_a_second_person_has_to(agents: Agents, console: Console, bank: Bank) -> None:
    enrol(agents)
    escalation = escalate(agents, done(agents, "pay.dual_control"))

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a")
        await give(console, pilot, "it has shipped")
        assert "1 of 2: another operator has to approve too." in console.text()
        await pilot.press("y")
        await console.asks(pilot)
        console.app.screen.query_one(Input).value = PASSPHRASE
        await pilot.press("enter")
        await console.says(pilot, "ada agreed; a second person has to")
        await console.until(pilot, lambda: "2 people (dual control); ada has" in detail(console))
        await console.press(pilot, "a")
        await give(console, pilot, "again")
        await console.press(pilot, "y")
        await console.says(pilot, "ada has approved")

    console(script)
    assert (bank.reversed_, escalation_state(agents, escalation)) == ([], EscalationState.WAITING)


def test_nothing_is_asked_about_a_reversal_that_was_not_read_yet(
    agents: Agents, console: Console, bank: Bank
) -> None:
    escalate(agents, done(agents))

    async def script(pilot: Pilot[None]) -> None:
        section = console.app.section
        assert isinstance(section, InboxScreen)
        assert section.handler is not None
        section.handler.item = None
        await console.press(pilot, "a")
        await console.says(pilot, "nothing to approve here")
        assert not isinstance(console.app.screen, DecisionScreen)

    console(script)


def test_what_is_dismissed_stays_as_it_is_and_does_not_come_up_again(
    agents: Agents, console: Console, bank: Bank
) -> None:
    ref = done(agents)
    escalation = escalate(agents, ref)

    async def script(pilot: Pilot[None]) -> None:
        await decide(console, pilot, "d", "the customer keeps it")
        await console.shows(pilot, "Needs you 0")
        await console.press(pilot, "d")
        await console.says(pilot, "nothing to deny here")
        await console.press(pilot, "3", "left_square_bracket")
        assert console.at("decisions")
        await console.shows(pilot, "dismissed")
        assert "the customer keeps it" in detail(console)

    console(script)
    assert escalation_state(agents, escalation) is EscalationState.DISMISSED
    assert (bank.reversed_, state(agents, ref)) == ([], "committed")


@pytest.mark.parametrize(
    ("key", "said", "left_behind", "reversed_"),
    [
        (0, "Recorded as done by", True, []),
        (1, "Recorded as not done by", False, []),
        (2, "pay.human was undone", True, ["ref_1"]),
        ("t", "Recorded as done by its probe: pay.human", True, []),
        ("ot", "Recorded as done by its probe: pay.human", True, []),
        (4, "Recorded as done by its probe: pay.human", True, []),
    ],
)
def test_a_call_in_doubt_is_settled(
    agents: Agents,
    console: Console,
    bank: Bank,
    key: int | str,
    said: str,
    left_behind: bool,
    reversed_: list[str],
) -> None:
    call_id = in_doubt(agents, bank)

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "unknown")
        await console.press(pilot, "enter")
        await console.until(pilot, lambda: "State unknown" in detail(console))
        await settle(console, pilot, key)
        if key in (0, 2):
            box = console.app.screen.query_one("#result", Input)
            for given, shown in (
                ("{not json", "this is not JSON"),
                ('{"refund_id": "ref_1"}', 'It gave   {"refund'),
            ):
                box.value = given
                await console.press(pilot, "enter")
                await console.shows(pilot, shown)
        if key in range(3):
            await give(console, pilot, "the bank told me")
            await console.press(pilot, "y")
        await console.says(pilot, said)
        await console.shows(pilot, "Needs you 0")

    console(script)
    assert agents.runtime.executor.in_doubt() == []
    ref = agents.runtime.recovery.mutations.for_call(call_id)
    assert (ref is not None, bank.reversed_) == (left_behind, reversed_)
    assert verify(agents.runtime.log).ok


@pytest.mark.parametrize(("key", "after"), [(0, "reversed"), (1, "committed")])
def test_a_reversal_in_doubt_is_settled_by_the_call_that_made_it(
    agents: Agents, console: Console, bank: Bank, key: int, after: str
) -> None:
    ref = done(agents)
    escalate(agents, ref)
    bank.trouble = TimeoutError("no answer")

    async def script(pilot: Pilot[None]) -> None:
        await decide(console, pilot, "a")
        await console.until(pilot, lambda: "State unknown" in detail(console))
        await settle(console, pilot, 2)
        assert f"It was to undo {ref.mutation_id}" in detail(console)
        await console.says(pilot, "declares no reversal")
        await settle(console, pilot, key)
        await give(console, pilot, "the bank told me")
        await console.press(pilot, "y")
        await console.until(pilot, lambda: state(agents, ref) == after)

    console(script)
    assert agents.runtime.executor.in_doubt() == []


def test_a_probe_that_cannot_tell_and_escape_at_the_result_settle_nothing(
    agents: Agents, console: Console, bank: Bank
) -> None:
    in_doubt(agents, bank)
    hanging = agents.call("bank.hang", {"text": "x"}).call_id

    async def script(pilot: Pilot[None]) -> None:
        await stand_on(console, pilot, hanging)
        await console.press(pilot, "t")
        await console.says(pilot, "bank.hang declares no probe")
        await settle(console, pilot, 2)
        await console.says(pilot, "bank.hang declares no reversal")
        await settle(console, pilot, 3)
        assert isinstance(console.app.screen, InboxScreen), "not known: it stays open"
        await settle(console, pilot, 0)
        assert isinstance(console.app.screen, ResultScreen)
        await console.press(pilot, "escape")
        assert isinstance(console.app.screen, InboxScreen)

    console(script)
    assert len(agents.runtime.executor.in_doubt()) == 2


def test_read_only_shows_everything_and_runs_and_decides_nothing(
    agents: Agents, console: Console, bank: Bank
) -> None:
    escalate(agents, done(agents))
    in_doubt(agents, bank)
    before = agents.runtime.log.head()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *"auUdot", "j", *"auUdot")
        screen = console.app.screen
        assert isinstance(screen, InboxScreen)
        assert "not run yet" in detail(console) or "no outcome was reported" in detail(console)
        for name in ("undo", "undo_run", "try_out", "settle"):
            screen.do(name)  # as if a key had come through
        await open_changes(console, *"uUot")
        assert console.at("changes")
        await console.settle(pilot)
        assert "not run yet" in detail(console)

    console(script, read_only=True)
    assert agents.runtime.log.head() == before


def test_what_ran_out_says_so_and_is_not_undone_any_more(agents: Agents, console: Console) -> None:
    first = escalate(agents, done(agents))
    agents.clock.time += 600
    second = escalate(agents, done(agents, order="8"), "customer_is_known:8")

    async def script(pilot: Pilot[None]) -> None:
        await stand_on(console, pilot, first)
        assert "49m left" in console.squeezed()
        agents.clock.time += WINDOW_S - 600
        console.app.count_needs()  # as each minute does
        await console.until(pilot, lambda: "State expired" in detail(console))
        await console.press(pilot, "u")
        await console.shows(pilot, "the dry run says no")
        await console.press(pilot, "escape")
        await stand_on(console, pilot, second)
        assert "State reversal" in detail(console)

    console(script)


def test_any_id_finds_its_line(agents: Agents, console: Console, bank: Bank) -> None:
    ref = done(agents)
    escalation = escalate(agents, ref)
    call_id = in_doubt(agents, bank)
    other = done(agents, order="8")

    async def script(pilot: Pilot[None]) -> None:
        for reference, shown in (
            (call_id, call_id),
            (escalation, escalation),
            (other.mutation_id, other.mutation_id),
            (ref.call_id, escalation),
        ):
            console.app.open_reference(reference)
            await console.until(pilot, lambda shown=shown: shown in detail(console))  # type: ignore[misc]
            await console.press(pilot, "escape")
        console.app.open_reference("esc_none")
        await console.says(pilot, "that does not wait any more")

    console(script)


def test_a_reversals_request_is_part_of_its_line_and_its_approval_stands_in_decisions(
    agents: Agents, console: Console
) -> None:
    escalate(agents, done(agents))

    async def script(pilot: Pilot[None]) -> None:
        section = console.app.section
        assert isinstance(section, InboxScreen)
        assert len(section.lines.keys) == 1, "its request is no second line"
        await decide(console, pilot, "a", "the customer sent it back")
        await console.says(pilot, "pay.human was undone")
        await console.press(pilot, "3", "left_square_bracket")
        assert "approved" in console.text()
        assert "the customer sent it back" in detail(console)

    console(script)


def test_hostile_text_is_shown_and_does_nothing(
    agents: Agents, console: Console, sb: CommandLine, bank: Bank
) -> None:
    ref = done(agents, order=HOSTILE)
    agents.runtime.recovery.escalate(ref, AssumptionInvalidated(HOSTILE[:200]), HOSTILE[:5_000])
    bank.trouble = ValueError(HOSTILE[:5_000])
    painted: list[str] = []

    async def script(pilot: Pilot[None]) -> None:
        painted.append(console.text())
        for keys in (["t"], ["enter"], ["z"], ["escape"], ["a"]):
            await console.press(pilot, *keys)
            painted.append(console.text())
        await give(console, pilot, HOSTILE[:500])
        await console.press(pilot, "y")
        await console.until(pilot, lambda: "failed" in console.text())
        for keys in (
            ["u"],
            ["escape"],
            ["3"],
            ["right_square_bracket"],
            ["right_square_bracket"],
            ["3", "left_square_bracket"],
        ):
            await console.press(pilot, *keys)
            painted.append(console.text())

    console(script, (120, 40))
    painted.append(sb("console", "--plain", "inbox").out)
    for text in painted:
        assert not FORBIDDEN.search(text.replace("\n", ""))


def test_while_a_reversal_runs_nothing_else_is_decided_and_leaving_waits_for_it(
    agents: Agents, console: Console, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A key waits for a decision for so many looks; a reversal has a minute until its outcome is in doubt.
    monkeypatch.setattr(keys_in_order, "MOST_LOOKS", 5)
    monkeypatch.setattr(keys_in_order, "BURST_S", 0)  # the keys of this test come faster than anybody types
    first, second = done(agents), done(agents, order="8")
    escalation = escalate(agents, first)
    escalate(agents, second, "customer_is_known:8")
    bank.gate = threading.Event()

    async def script(pilot: Pilot[None]) -> None:
        await stand_on(console, pilot, escalation)
        await console.press(pilot, "a")
        await give(console, pilot, "it has shipped")
        await pilot.press("y")
        await console.comes(lambda: state(agents, first) == "reversing")
        await pilot.press("g", "a")
        assert isinstance(console.app.screen, InboxScreen)
        await console.comes(lambda: any("wait: the previous decision" in toast for toast in console.toasts))
        console.app.section.show_status()  # type: ignore[union-attr]
        await pilot.pause()
        assert "at work…" in console.text()
        console.app.go("changes")
        await console.comes(lambda: console.at("changes") and "running" in console.text())
        console.toasts.clear()
        for key in ("G", "u"):
            await pilot.press(key)
        await console.comes(lambda: any("wait: the previous decision" in toast for toast in console.toasts))
        threading.Timer(0.3, bank.gate.set).start()  # type: ignore[union-attr]

    console(script)
    assert (state(agents, first), state(agents, second)) == ("reversed", "committed")
    assert bank.reversed_ == ["ref_1"]
