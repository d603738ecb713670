"""The console's Recovery section: what waits, what is in doubt and what could be undone, decided once and performed."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from sb.screens import keys_in_order
from sb.screens.decision import DecisionScreen
from sb.screens.dialogs import ResultScreen
from sb.screens.document_view import DocumentView
from sb.screens.recovery import RecoveryScreen
from sb.screens.state.document import Field
from sb.screens.state.records import Records
from textual.pilot import Pilot
from textual.widgets import Input

from sb.config import current_config
from sb.kernel.authority.signing import Label
from sb.kernel.contracts import MutationRef, MutationState
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.recovery_loop.escalations import EscalationState
from sb.kernel.review.log_verification import verify
from tests.conftest import CommandLine
from tests.screens import shop
from tests.screens.conftest import HOSTILE, Agents, Console
from tests.screens.shop import WINDOW_S, Bank
from tests.screens.test_deciding import ADA, PASSPHRASE, enrol, give
from tests.screens.test_safety import FORBIDDEN

SHIPPED = "order_not_shipped:1002"


@pytest.fixture
def settings(tmp_path: Path) -> str:
    (tmp_path / "files").mkdir()
    return f'database: brain.db\nfiles: {{roots: ["{tmp_path / "files"}"]}}\ntools: ["tests.screens.shop:register"]\n'


@pytest.fixture(autouse=True)
def bank() -> Bank:
    shop.bank = Bank()
    return shop.bank


def done(agents: Agents, tool_id: str = "pay.human", **args: object) -> MutationRef:
    """A call that succeeded, by what it left behind."""
    agents.clock.time += 1
    result = agents.call(tool_id, args or {"order": "1002"}, intent="settle the complaint")
    assert result.success, result
    return agents.runtime.recovery.mutations.get(result.mutation_id)


def escalate(agents: Agents, ref: MutationRef, cause: str = SHIPPED) -> str:
    """What it relied on does not hold any more: the id of the escalation."""
    recovery = agents.runtime.recovery
    agents.clock.time += 1
    recovery.escalate(ref, AssumptionInvalidated(cause, reason="it has shipped"), f"{cause} turned false")
    return recovery.escalations.get(ref.mutation_id).id


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


async def settle(console: Console, pilot: Pilot[None], number: int | None) -> None:
    """Choose what became of the call under the cursor; with None ask its tool."""
    if number is None:
        await console.press(pilot, "t")
    else:
        await console.press(pilot, "o", *["down"] * number, "enter")


def detail(console: Console) -> str:
    """All of the detail pane, also what is scrolled away or folded."""
    fields = console.app.screen.query_one(DocumentView).fields
    return "\n".join(f"{field.name} {field.value or ''}" for field in fields if isinstance(field, Field))


def test_recovery_looks_as_it_did(agents: Agents, console: Console, bank: Bank) -> None:
    escalate(agents, done(agents))
    agents.clock.time += 600
    escalate(agents, done(agents, "pay.dual_control", order="8"), "customer_is_known:8")
    in_doubt(agents, bank)
    gone = done(agents, order="9")
    agents.clock.time += WINDOW_S / 2
    agents.runtime.registry.unregister("pay.reverse")
    escalate(agents, gone, "price_holds:9")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await console.looks(pilot, "recovery")
        await console.press(pilot, "t")
        await console.until(pilot, lambda: "would succeed" in detail(console))
        await console.press(pilot, "a")
        await console.looks(pilot, "recovery-approve")
        await console.press(pilot, "escape", "left_square_bracket")
        await console.looks(pilot, "recovery-changes")

    console(script)


def test_with_nothing_to_recover_it_says_what_will_appear_there(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await console.looks(pilot, "recovery-empty")
        for key in "auUdot":
            await console.press(pilot, key)
        await console.says(pilot, "this call's outcome is known")
        assert isinstance(console.app.screen, RecoveryScreen)
        await console.press(pilot, "right_square_bracket")
        assert "Nothing was settled yet" in console.text()
        await console.press(pilot, "right_square_bracket")
        assert "No undo records yet" in console.text()

    console(script)


def test_what_a_call_wrote_is_put_back_with_a_reason_after_a_dry_run(
    agents: Agents, console: Console, tmp_path: Path
) -> None:
    path = tmp_path / "files" / "notes.txt"
    path.write_text("before", encoding="utf-8")
    ref = done(agents, "files.write", path=str(path), content="after")
    assert path.read_text(encoding="utf-8") == "after"

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "left_square_bracket", "u")
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
        await console.press(pilot, "4", "left_square_bracket", "u")
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
        assert "reversal" in console.text()
        await console.press(pilot, "enter")
        await console.until(pilot, lambda: console.at("recovery"))
        shown = detail(console)
        assert all(text in shown for text in (SHIPPED, "one person", ref.mutation_id, "pay.reverse", "ref_1"))
        assert "with password" in shown, "who decides sees every argument that would be passed"
        assert "hunter2-hunter2" not in shown
        await decide(console, pilot, "a")
        await console.says(pilot, "pay.human was undone")
        await console.shows(pilot, "Nothing to recover")
        await console.press(pilot, "1")
        assert "Nothing waits for you" in console.text()

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
        await console.press(pilot, "4")
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
        await other.press(pilot, "4")
        await decide(other, pilot, "a", "I was faster")
        await other.says(pilot, "pay.human was undone")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "a")
        await give(console, pilot, "it has shipped")
        await asyncio.to_thread(other, elsewhere)
        await console.press(pilot, "y")
        await console.says(pilot, "was reversed before")
        await console.shows(pilot, "Nothing to recover")

    console(script)
    records.close()
    assert bank.reversed_ == ["ref_1"]


def test_dual_control_says_that_a_second_person_has_to(agents: Agents, console: Console, bank: Bank) -> None:
    enrol(agents)
    escalation = escalate(agents, done(agents, "pay.dual_control"))

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "a")
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
        await console.press(pilot, "4")
        section = console.app.section
        assert isinstance(section, RecoveryScreen)
        section._detail = None
        await console.press(pilot, "a")
        await console.says(pilot, "loading the reversal: press the key again")
        assert not isinstance(console.app.screen, DecisionScreen)

    console(script)


def test_what_is_dismissed_stays_as_it_is_and_does_not_come_up_again(
    agents: Agents, console: Console, bank: Bank
) -> None:
    ref = done(agents)
    escalation = escalate(agents, ref)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await decide(console, pilot, "d", "the customer keeps it")
        await console.shows(pilot, "Nothing to recover")
        await console.press(pilot, "right_square_bracket")
        await console.shows(pilot, "dismissed")
        assert "the customer keeps it" in detail(console)
        await console.press(pilot, "d")
        await console.says(pilot, "nothing to dismiss here")

    console(script)
    assert escalation_state(agents, escalation) is EscalationState.DISMISSED
    assert (bank.reversed_, state(agents, ref)) == ([], "committed")


@pytest.mark.parametrize(
    ("key", "said", "left_behind", "reversed_"),
    [
        (0, "Recorded as done by", True, []),
        (1, "Recorded as not done by", False, []),
        (2, "pay.human was undone", True, ["ref_1"]),
        (None, "Recorded as done by its probe: pay.human", True, []),
    ],
)
def test_a_call_in_doubt_is_settled(
    agents: Agents,
    console: Console,
    bank: Bank,
    key: int | None,
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
        if key is not None:
            await give(console, pilot, "the bank told me")
            await console.press(pilot, "y")
        await console.says(pilot, said)
        await console.shows(pilot, "Nothing to recover")

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
        await console.press(pilot, "4")
        await decide(console, pilot, "a")
        await console.until(pilot, lambda: "it has its own line" in detail(console))
        await console.press(pilot, "g")
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
    agents.call("bank.hang", {"text": "x"})

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "t")
        await console.says(pilot, "bank.hang declares no probe")
        await settle(console, pilot, 2)
        await console.says(pilot, "bank.hang declares no reversal")
        await settle(console, pilot, 3)
        assert isinstance(console.app.screen, RecoveryScreen), "not known: it stays open"
        await settle(console, pilot, 0)
        assert isinstance(console.app.screen, ResultScreen)
        await console.press(pilot, "escape")
        assert isinstance(console.app.screen, RecoveryScreen)

    console(script)
    assert len(agents.runtime.executor.in_doubt()) == 2


def test_read_only_shows_everything_and_runs_and_decides_nothing(
    agents: Agents, console: Console, bank: Bank
) -> None:
    escalate(agents, done(agents))
    in_doubt(agents, bank)
    before = agents.runtime.log.head()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", *"auUdot", "j", *"auUdot")
        assert isinstance(console.app.screen, RecoveryScreen)
        assert "dry run   " not in console.text()
        screen = console.app.screen
        screen._look(next(iter(screen.known.values())), lambda looked: None)
        screen.action_try_out()
        await console.settle(pilot)

    console(script, read_only=True)
    assert agents.runtime.log.head() == before


def test_the_soonest_to_run_out_is_first_and_what_ran_out_says_so(agents: Agents, console: Console) -> None:
    first = escalate(agents, done(agents))
    agents.clock.time += 600
    second = escalate(agents, done(agents, order="8"), "customer_is_known:8")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        screen = console.app.screen
        assert isinstance(screen, RecoveryScreen)
        assert [item.name for item in screen.known.values()] == [first, second]
        assert "49m left" in console.squeezed()
        agents.clock.time += WINDOW_S - 600
        screen.tick()
        await console.shows(pilot, "expired")
        assert [item.name for item in screen.known.values()] == [second, first]
        await console.press(pilot, "G", "u")
        await console.shows(pilot, "the dry run says no")

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
            console.app.find_on("recovery", reference)
            await console.until(pilot, lambda shown=shown: shown in detail(console))  # type: ignore[misc]
        console.app.find_on("recovery", "esc_none")
        await console.says(pilot, "nothing to recover is called esc_none")

    console(script)


def test_a_call_of_a_run_leads_to_where_it_is_undone(agents: Agents, console: Console) -> None:
    ref = done(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", "enter", "G", "u")
        await console.until(pilot, lambda: "State undoable" in detail(console))
        assert ref.mutation_id in detail(console)

    console(script)


def test_a_reversals_request_is_decided_where_it_is_performed(agents: Agents, console: Console) -> None:
    escalate(agents, done(agents))

    async def script(pilot: Pilot[None]) -> None:
        needs, _, _ = console.text().partition("Enforcement")
        assert "· recovery" not in needs
        await console.press(pilot, "2", "a")
        await give(console, pilot, "yes")
        assert "Press `a` on the Recovery" in console.text()
        await console.press(pilot, "y")
        await console.press(pilot, "4")
        await console.until(pilot, lambda: "State approved" in detail(console))
        await console.press(pilot, "1")
        assert "reversal" not in console.text()  # which is a badge of what waits for a decision
        assert "approved pay.human order=1002" in console.squeezed()
        await console.press(pilot, "4")
        await decide(console, pilot, "a")
        await console.says(pilot, "pay.human was undone")

    console(script)


def test_plain_lines_say_what_waits_and_what_is_in_doubt(agents: Agents, sb: CommandLine, bank: Bank) -> None:
    empty = sb("console", "--plain", "recovery")
    assert (empty.code, empty.out, "nothing on screen recovery" in empty.err) == (0, "", True)
    escalation, call_id = escalate(agents, done(agents)), in_doubt(agents, bank)
    lines = sb("console", "--plain", "recovery").out.splitlines()
    assert len(lines) == 3
    assert (escalation in lines[1], "reversal" in lines[1], f"{SHIPPED} turned false" in lines[1]) == (
        True,
    ) * 3
    assert (call_id in lines[2], "unknown" in lines[2]) == (True, True)


def test_hostile_text_is_shown_and_does_nothing(
    agents: Agents, console: Console, sb: CommandLine, bank: Bank
) -> None:
    ref = done(agents, order=HOSTILE)
    agents.runtime.recovery.escalate(ref, AssumptionInvalidated(HOSTILE[:200]), HOSTILE[:5_000])
    bank.trouble = ValueError(HOSTILE[:5_000])
    painted: list[str] = []

    async def script(pilot: Pilot[None]) -> None:
        painted.append(console.text())
        for keys in (["4"], ["t"], ["enter"], ["z"], ["escape"], ["a"]):
            await console.press(pilot, *keys)
            painted.append(console.text())
        await give(console, pilot, HOSTILE[:500])
        await console.press(pilot, "y")
        await console.until(pilot, lambda: "failed" in console.text())
        for key in ("u", "escape", "left_square_bracket"):
            await console.press(pilot, key)
            painted.append(console.text())

    console(script, (120, 40))
    painted.append(sb("console", "--plain", "recovery").out)
    for text in painted:
        assert not FORBIDDEN.search(text.replace("\n", ""))


def test_dismissing_after_somebody_else_did_is_said(agents: Agents, console: Console) -> None:
    escalation = escalate(agents, done(agents))

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "d")
        await give(console, pilot, "leave it")
        agents.runtime.recovery.dismiss(escalation, Label("grace"), "I was faster")
        await console.press(pilot, "y")
        await console.says(pilot, "is dismissed already")
        assert ADA.name not in console.text()

    console(script)


def test_while_a_reversal_runs_nothing_else_is_decided_and_leaving_waits_for_it(
    agents: Agents, console: Console, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A key waits for a decision for so many looks; a reversal has a minute until its outcome is in doubt.
    monkeypatch.setattr(keys_in_order, "MOST_LOOKS", 5)
    first, second = done(agents), done(agents, order="8")
    escalate(agents, first)
    escalate(agents, second, "customer_is_known:8")
    bank.gate = threading.Event()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "a")
        await give(console, pilot, "it has shipped")
        await pilot.press("y")
        await console.comes(lambda: state(agents, first) == "reversing")
        await pilot.press("g", "a")
        assert isinstance(console.app.screen, RecoveryScreen)
        await console.comes(lambda: any("wait: the previous decision" in toast for toast in console.toasts))
        console.app.section.show_status()  # type: ignore[union-attr]
        await pilot.pause()
        assert "at work…" in console.text()
        assert "running" in console.text()
        threading.Timer(0.3, bank.gate.set).start()  # type: ignore[union-attr]

    console(script)
    assert (state(agents, first), state(agents, second)) == ("reversed", "committed")
    assert bank.reversed_ == ["ref_1"]
