"""A call that a person has to agree to: asked for once, bound to what was shown, used once, never after its time."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import CountingIds, SteeredClock
from sb.config import groups
from sb.errors import DeniedError, NotFoundError, UsageError
from sb.kernel import RunContext, SafetyClass, ToolErrorCode, ToolExecutor, ToolRegistry, ToolResult
from sb.kernel.approvals.decisions import AlreadyDecided, Approvals
from sb.kernel.authority.signing import Label
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.calls.call import ToolCall
from sb.kernel.contracts import ToolArgSchema
from sb.log.event_log import EventLog
from sb.log.kinds import APPROVAL_EXPIRED, APPROVAL_REQUESTED, APPROVAL_USED
from sb.store.anchor import Anchor
from sb.store.database import open_database

ADA = Label("ada")
GRACE = Label("grace")


class Bank:
    """An executor over a real file, with a tool that needs a person and counts how often it ran."""

    def __init__(self, path: Path, clock: SteeredClock, **settings: Any) -> None:
        self.path = path
        self.clock = clock
        self.paid: list[Any] = []
        self.registry = ToolRegistry()
        self.spec = self.registry.register_fn(
            "bank.pay",
            "Pay",
            self.pay,
            SafetyClass.DESTRUCTIVE,
            description="Move money.",
            args_schema=[ToolArgSchema("to"), ToolArgSchema("pin", required=False, sensitive=True)],
        )
        anchor = None if path == Path(":memory:") else Anchor(path.with_name("anchors.jsonl"))
        self.log = EventLog(open_database(path, clock=clock), anchor=anchor, clock=clock)
        self.executor = ToolExecutor(
            self.registry, event_log=self.log, clock=clock, approvals=groups.Approvals(**settings)
        )
        self.approvals = self.executor.approvals
        self.ctx = RunContext.create("clerk", intent="pay the bills")

    def pay(self, to: str, pin: str = "") -> str:
        self.paid.append(to)
        return f"paid {to}"

    def call(self, to: str = "bob", **options: Any) -> ToolResult:
        return self.executor.execute(self.ctx, "bank.pay", {"to": to}, **options)

    def ask(self, to: str = "bob", **options: Any) -> str:
        result = self.call(to, **options)
        assert result.error_code is ToolErrorCode.PERMISSION_DENIED
        return str(result.data["approval_id"])

    def kinds(self) -> list[str]:
        return [event.kind for event in self.log.events()]


@pytest.fixture
def bank(tmp_path: Path, clock: SteeredClock) -> Bank:
    return Bank(tmp_path / "brain.db", clock)


def test_a_call_that_needs_a_person_is_queued_and_the_same_call_runs_once_it_is_approved(bank: Bank) -> None:
    refused = bank.call()
    assert refused.data.keys() == {"approval_id", "reasons", "expires_at"}
    assert refused.data["reasons"][0]["rule"] == "destructive"
    approval = bank.approvals.approve(refused.data["approval_id"], ADA, "the bill is right")
    assert (approval.state, approval.decided_by) == (ApprovalState.APPROVED, "ada")
    assert bank.call().data == "paid bob"
    assert bank.approvals.get(approval.id).state is ApprovalState.USED


def test_an_approval_may_be_named_and_is_used_once(bank: Bank) -> None:
    approval_id = bank.ask()
    bank.approvals.approve(approval_id, ADA, "fine")
    assert bank.call(approval_id=approval_id).success
    again = bank.call(approval_id=approval_id)
    assert again.error_code is ToolErrorCode.PERMISSION_DENIED
    assert "is used; approved by ada" in again.error_message
    assert bank.ask() != approval_id, "the next call of the kind is a new request"
    assert bank.paid == ["bob"]


@pytest.mark.parametrize("goes_on", [False, True])
def test_an_older_copy_that_is_put_back_brings_no_approval_back(bank: Bank, goes_on: bool) -> None:
    """Nor when it has grown again, past the rows that it lost."""
    bank.approvals.approve(bank.ask(), ADA, "fine")
    bank.log.close()
    copy = bank.path.read_bytes()
    later = Bank(bank.path, bank.clock)
    assert later.executor.execute(bank.ctx, "bank.pay", {"to": "bob"}).success
    later.log.close()
    bank.path.write_bytes(copy)
    again = Bank(bank.path, bank.clock)
    for number in range(20 if goes_on else 0):
        again.ask(f"eve-{number}")
    again.log.close()
    last = Bank(bank.path, bank.clock)
    refused = last.executor.execute(bank.ctx, "bank.pay", {"to": "bob"})
    assert "may have been used: the database is older than its anchor" in refused.error_message
    assert last.paid == []
    last.approvals.approve(last.ask("ann"), ADA, "asked after that")
    assert last.call("ann").success is goes_on


def test_what_a_person_is_shown_names_everything_and_no_secret(bank: Bank) -> None:
    bank.executor.execute(bank.ctx, "bank.pay", {"to": "eve"})
    result = bank.executor.execute(bank.ctx, "bank.pay", {"to": "bob", "pin": "tr0ub4dor"})
    approval = bank.approvals.get(result.data["approval_id"])
    request = approval.request
    assert request["args"]["to"] == "bob"
    assert request["reasons"] == result.data["reasons"]
    assert request["intent"] == "pay the bills"
    assert request["tool_contract_status"] == "unchanged"
    assert request["earlier"] == {"waiting": 1}
    assert "bank.pay(to=eve)" in request["history"][0]
    assert (approval.agent, approval.run_id, approval.safety_class) == (
        "clerk",
        bank.ctx.run_id,
        "destructive",
    )
    assert b"tr0ub4dor" not in bank.path.read_bytes() + bank.path.with_name("brain.db-wal").read_bytes()


def test_without_a_home_only_the_process_that_asked_can_show_what_was_masked(bank: Bank) -> None:
    asked = bank.executor.execute(bank.ctx, "bank.pay", {"to": "bob", "pin": "tr0ub4dor"}).data["approval_id"]
    other = Bank(bank.path, bank.clock)
    with pytest.raises(DeniedError, match="cannot be shown in full"):
        other.approvals.approve(asked, ADA, "fine")
    bank.approvals.approve(asked, ADA, "fine")
    assert other.executor.execute(bank.ctx, "bank.pay", {"to": "bob", "pin": "tr0ub4dor"}).success


def test_a_person_is_shown_all_of_a_long_argument_and_what_is_too_long_is_marked(bank: Bank) -> None:
    long = "echo" + " " * 10_000 + "; and then the rest"
    asked = bank.executor.execute(bank.ctx, "bank.pay", {"to": long})
    assert bank.approvals.get(asked.data["approval_id"]).request["args"]["to"] == long
    asked = bank.executor.execute(bank.ctx, "bank.pay", {"to": "x" * 100_000})
    assert (
        bank.approvals.get(asked.data["approval_id"]).request["args"]["to"].endswith("… (100,000 characters)")
    )


def test_asking_again_is_the_same_request(bank: Bank) -> None:
    assert bank.ask() == bank.ask()
    assert bank.kinds().count(APPROVAL_REQUESTED) == 1
    assert bank.ask("eve") != bank.ask()


def test_waiting_and_denied_calls_use_no_budget(bank: Bank) -> None:
    approval_id = bank.ask()
    bank.approvals.deny(approval_id, ADA, "no such bill")
    bank.call()
    assert bank.ctx.budget.tool_calls_used == 0
    assert bank.ctx.budget.reserve_call() == ""
    bank.ctx.budget.release_call()


def test_a_denied_call_stays_denied_with_the_reason_until_the_request_would_have_expired(bank: Bank) -> None:
    bank.approvals.deny(bank.ask(), ADA, "no such bill")
    refused = bank.call()
    assert "denied by ada: no such bill" in refused.error_message
    bank.clock.sleep(4 * 3600)
    assert bank.ask()


def test_an_undecided_request_expires_to_deny_and_that_is_on_the_log(bank: Bank) -> None:
    approval_id = bank.ask()
    bank.clock.sleep(4 * 3600)
    assert bank.approvals.get(approval_id).state is ApprovalState.EXPIRED
    with pytest.raises(AlreadyDecided, match="expired"):
        bank.approvals.approve(approval_id, ADA, "late")
    assert "is expired" in bank.call(approval_id=approval_id).error_message
    assert bank.ask() != approval_id
    assert APPROVAL_EXPIRED in bank.kinds()


def test_an_approval_that_was_not_used_in_time_is_worth_nothing(bank: Bank) -> None:
    approval_id = bank.ask()
    bank.approvals.approve(approval_id, ADA, "fine")
    bank.clock.sleep(4 * 3600)
    assert bank.ask() != approval_id
    assert bank.paid == []


def test_a_revoked_approval_cannot_be_used(bank: Bank) -> None:
    approval_id = bank.ask()
    bank.approvals.approve(approval_id, ADA, "fine")
    bank.approvals.revoke(approval_id, GRACE, "wrong account")
    assert "revoked by grace: wrong account" in bank.call(approval_id=approval_id).error_message
    assert bank.ask() != approval_id
    with pytest.raises(AlreadyDecided):
        bank.approvals.revoke(approval_id, GRACE, "again")


@pytest.mark.parametrize("decide", ["approve", "deny", "revoke"])
def test_a_decision_is_taken_once(bank: Bank, decide: str) -> None:
    approval_id = bank.ask()
    if decide == "revoke":
        bank.approvals.approve(approval_id, ADA, "first")
    getattr(bank.approvals, decide)(approval_id, ADA, "first")
    with pytest.raises(AlreadyDecided, match="by ada: first"):
        bank.approvals.deny(approval_id, GRACE, "second")


def test_a_decision_needs_a_reason_and_a_request(bank: Bank) -> None:
    approval_id = bank.ask()
    for reason in ("", "  ", "\x1b[2J", "x" * 1001):
        with pytest.raises(UsageError, match="reason"):
            bank.approvals.approve(approval_id, ADA, reason)
    with pytest.raises(NotFoundError, match="no approval"):
        bank.approvals.approve("apr_nothing", ADA, "fine")
    assert bank.approvals.get(approval_id).state is ApprovalState.WAITING


def test_who_asked_cannot_decide(bank: Bank) -> None:
    approval_id = bank.ask()
    with pytest.raises(DeniedError, match="asked for it"):
        bank.approvals.approve(approval_id, Label("clerk"), "I need it")
    bank.ctx.user_sid = "ada"
    theirs = bank.ask("eve")
    with pytest.raises(DeniedError, match="asked for it"):
        bank.approvals.approve(theirs, ADA, "it is mine")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"to": "eve"}, "other arguments"),
        ({"agent": "intruder"}, "another agent"),
        ({"tool": "bank.audit"}, "another tool"),
        ({"description": "Move all money."}, "another contract"),
    ],
)
def test_an_approval_is_bound_to_what_was_asked(bank: Bank, change: dict[str, str], word: str) -> None:
    approval_id = bank.ask()
    bank.approvals.approve(approval_id, ADA, "fine")
    bank.registry.register_fn("bank.audit", "Audit", bank.pay, SafetyClass.DESTRUCTIVE)
    if "description" in change:
        bank.spec.description = change["description"]
    ctx = RunContext.create(change.get("agent", "clerk"))
    args = {"to": change.get("to", "bob")}
    result = bank.executor.execute(ctx, change.get("tool", "bank.pay"), args, approval_id=approval_id)
    assert result.error_code is ToolErrorCode.PERMISSION_DENIED
    assert f"is for {word}" in result.error_message
    assert bank.paid == []
    refusal = list(bank.log.events())[-1].payload or {}
    assert refusal["rule"] == "approval_refused"


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE approvals SET state = 'approved', decided_by = 'ada'",
        "UPDATE approvals SET state = 'approved', expires_at = expires_at + 86400000000",
        "UPDATE approvals SET state = 'approved', needed = 1, agent = 'clerk'",
    ],
)
def test_an_approval_that_nobody_signed_for_is_worth_nothing(bank: Bank, edit: str) -> None:
    approval_id = bank.ask()
    with bank.log.database.write() as execute:
        execute(edit)
    assert bank.approvals.disclose(bank.approvals.get(approval_id)).problem
    result = bank.call(approval_id=approval_id)
    assert result.error_code is ToolErrorCode.PERMISSION_DENIED
    assert "cannot be used" in result.error_message or "0 of 1 people" in result.error_message
    assert bank.paid == []


def test_a_used_approval_that_was_put_back_in_the_database_stays_used(bank: Bank) -> None:
    approval_id = bank.ask()
    bank.approvals.approve(approval_id, ADA, "fine")
    assert bank.call().success
    with bank.log.database.write() as execute:
        execute("DROP TRIGGER approvals_move_forward")
        execute("UPDATE approvals SET state = 'approved'")
    refused = bank.call(approval_id=approval_id)
    assert "it was used already" in refused.error_message
    assert bank.paid == ["bob"]


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE approvals SET args_digest = (SELECT args_digest FROM approvals WHERE state = 'waiting')",
        "UPDATE approvals SET expires_at = expires_at + 1",
        "UPDATE events SET payload = replace(payload, 'ada', 'eve') WHERE kind = 'approval.approved'",
        "UPDATE events SET at = at + 1 WHERE kind = 'approval.approved'",
        "DELETE FROM events WHERE kind = 'approval.requested'",
        "UPDATE events SET kind = 'approval.approved' WHERE kind = 'approval.requested'",
        "UPDATE events SET payload = NULL, salt = NULL WHERE kind = 'approval.approved'",
    ],
)
def test_an_approval_that_was_edited_is_refused(bank: Bank, edit: str) -> None:
    approval_id = bank.ask()
    bank.approvals.approve(approval_id, ADA, "fine")
    bank.ask("eve")
    with bank.log.database.write() as execute:
        execute("PRAGMA defer_foreign_keys = ON")
        for trigger in ("events_are_final", "events_are_kept"):
            execute(f"DROP TRIGGER {trigger}")
        execute("DELETE FROM approvals WHERE state = 'none'")
        if edit.startswith("DELETE"):
            execute("UPDATE approvals SET event_id = (SELECT max(id) FROM events)")
        execute(edit)
    for to in ("bob", "eve"):
        assert bank.call(to, approval_id=approval_id).error_code is ToolErrorCode.PERMISSION_DENIED
    assert bank.paid == []


def test_a_call_that_waits_runs_as_soon_as_it_is_approved(tmp_path: Path) -> None:
    from sb.base.sources import SYSTEM_CLOCK

    bank = Bank(tmp_path / "brain.db", SYSTEM_CLOCK)  # type: ignore[arg-type]
    results: list[ToolResult] = []
    thread = threading.Thread(target=lambda: results.append(bank.call(wait_s=300)))
    thread.start()
    while not (waiting := bank.approvals.page(states=[ApprovalState.WAITING])):
        pass
    assert waiting[0].overdue(bank.approvals.now()) is False
    bank.approvals.approve(waiting[0].id, ADA, "fine")
    thread.join(100)
    assert results[0].data == "paid bob"
    assert results[0].latency_ms < 100_000


def test_waiting_ends_when_its_time_is_over_or_the_answer_is_no(bank: Bank) -> None:
    waited = bank.call(wait_s=5)
    assert waited.data["approval_id"]
    assert sum(bank.clock.slept) == pytest.approx(5)
    bank.approvals.deny(waited.data["approval_id"], ADA, "no")
    assert "denied by ada: no" in bank.call(wait_s=5).error_message
    assert bank.approvals.get(waited.data["approval_id"]).waiter == ""


@pytest.mark.parametrize(("agrees", "paid"), [(True, ["bob"]), (False, [])])
def test_a_person_who_answers_at_once_needs_no_waiting(
    tmp_path: Path, clock: SteeredClock, agrees: bool, paid: list[str]
) -> None:
    bank = Bank(tmp_path / "brain.db", clock)

    def decide(approvals: Approvals, approval_id: str, call: ToolCall) -> bool:
        (approvals.approve if agrees else approvals.deny)(approval_id, Label("ada"), "as agreed")
        return True

    bank.executor = ToolExecutor(bank.registry, event_log=bank.log, clock=clock, person=decide)
    result = bank.call()
    assert (result.success, bank.paid, clock.slept) == (agrees, paid, [])
    assert [approval.state for approval in bank.approvals.page()] == [
        ApprovalState.USED if agrees else ApprovalState.DENIED
    ]


def test_a_person_who_does_not_answer_leaves_the_request_open(tmp_path: Path, clock: SteeredClock) -> None:
    bank = Bank(tmp_path / "brain.db", clock)
    bank.executor = ToolExecutor(bank.registry, event_log=bank.log, clock=clock, person=lambda *asked: False)
    assert bank.ask()
    assert bank.paid == []


def test_a_coroutine_can_wait_too(bank: Bank) -> None:
    approval_id = bank.ask()
    bank.approvals.approve(approval_id, ADA, "fine")
    result = asyncio.run(bank.executor.aexecute(bank.ctx, "bank.pay", {"to": "bob"}, approval_id=approval_id))
    assert result.data == "paid bob"


def test_a_named_step_that_is_done_needs_no_second_approval(bank: Bank) -> None:
    bank.approvals.approve(bank.ask(step="rent"), ADA, "fine")
    first = bank.call(step="rent")
    again = bank.call(step="rent")
    assert first.success
    assert again.data == "paid bob"
    assert bank.paid == ["bob"]
    assert bank.approvals.count() == 1


def test_dual_control_without_enrolled_operators_cannot_be_satisfied(
    tmp_path: Path, clock: SteeredClock
) -> None:
    bank = Bank(tmp_path / "brain.db", clock, dual_control=("bank.*",))
    approval_id = bank.ask()
    assert bank.approvals.get(approval_id).needed == 2
    with pytest.raises(DeniedError, match="two enrolled operators"):
        bank.approvals.approve(approval_id, ADA, "fine")


def test_a_request_is_overdue_when_it_is_late_or_nobody_waits_for_it_any_more(bank: Bank) -> None:
    approval_id = bank.ask()
    assert not bank.approvals.get(approval_id).overdue(bank.approvals.now())
    with bank.log.database.write() as execute:
        execute("UPDATE approvals SET waiter = ?", (f"{__import__('socket').gethostname()}:999999999",))
    assert bank.approvals.get(approval_id).overdue(bank.approvals.now())
    with bank.log.database.write() as execute:
        execute("UPDATE approvals SET waiter = ''")
    bank.clock.sleep(31 * 60)
    assert bank.approvals.get(approval_id).overdue(bank.approvals.now())


def test_the_queue_is_paged_and_searched(bank: Bank) -> None:
    ids = [bank.ask(f"payee{number}") for number in range(5)]
    bank.approvals.deny(ids[0], ADA, "unknown payee")
    assert [item.id for item in bank.approvals.page(limit=2)] == ids[:2:-1]
    assert [item.id for item in bank.approvals.page(before=bank.approvals.get(ids[2]).number)] == ids[1::-1]
    assert [item.id for item in bank.approvals.page(states=[ApprovalState.DENIED])] == ids[:1]
    assert [item.id for item in bank.approvals.page(words="UNKNOWN clerk")] == ids[:1]
    assert list(bank.approvals.page(words="enforcement")) == [], "what no operator reads of a request"
    assert bank.approvals.count(states=[ApprovalState.WAITING]) == 4


@given(
    st.lists(
        st.sampled_from(["call", "approve", "deny", "revoke", "wait", "use by id", "other args"]), max_size=12
    )
)
def test_whatever_happens_no_payment_runs_without_an_approval_of_its_own(steps: list[str]) -> None:
    clock = SteeredClock()
    bank = Bank(Path(":memory:"), clock)
    bank.ctx.budget.max_tool_calls = 1000
    approved = used = 0
    last = ""
    for step in steps:
        before = len(bank.paid)
        if step == "call":
            result = bank.call()
            last = last if result.success or not result.data else result.data["approval_id"]
        elif step == "use by id" and last:
            bank.call(approval_id=last)
        elif step == "other args" and last:
            bank.call("mallory", approval_id=last)
        elif step == "wait":
            clock.sleep(3 * 3600)
        elif step in ("approve", "deny", "revoke") and last:
            try:
                getattr(bank.approvals, step)(last, ADA, "because")
                approved += step == "approve"
            except AlreadyDecided:
                pass
        used += len(bank.paid) - before
    assert used <= approved
    assert "mallory" not in bank.paid
    assert bank.kinds().count(APPROVAL_USED) == used


def test_ids_of_requests_come_from_the_injected_source(tmp_path: Path, clock: SteeredClock) -> None:
    ids = CountingIds()
    log = EventLog(open_database(tmp_path / "b.db", clock=clock, ids=ids), clock=clock, ids=ids)
    registry = ToolRegistry()
    registry.register_fn("a.b", "B", lambda: None, SafetyClass.DESTRUCTIVE)
    result = ToolExecutor(registry, event_log=log, clock=clock, ids=ids).execute(
        RunContext.create("x"), "a.b", {}
    )
    assert result.data["approval_id"].startswith("apr_00000000")
