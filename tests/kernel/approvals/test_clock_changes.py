"""Expiry across changes of the clock: expired stays expired, and nothing lasts longer because the clock was ahead."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.kernel import RunContext, SafetyClass, ToolExecutor, ToolRegistry, ToolResult
from sb.kernel.approvals.decisions import AlreadyDecided
from sb.kernel.calls.approval import OPEN, ApprovalState
from sb.kernel.review.log_pruning import prunable, prune
from sb.log.event_log import EventLog
from sb.log.kinds import GRANT_MADE, MEMORY_PUT
from sb.runtime import open_runtime
from tests.conftest import CommandLine, approve_tools
from tests.kernel.approvals.test_approvals import ADA, Bank, bank
from tests.kernel.approvals.test_grants_and_watching import AskAlways

__all__ = ["bank"]
HOUR = 3600.0


def later_and_back(bank: Bank) -> None:
    """Five hours pass, something is recorded, and the clock is set back to where it was."""
    before = bank.clock.time
    bank.clock.time += 5 * HOUR
    bank.log.append(MEMORY_PUT, {"key": "k"})
    bank.clock.time = before + 60
    bank.log.append(MEMORY_PUT, {"key": "k"})


def test_an_approval_that_was_over_is_not_used_after_the_clock_was_set_back(bank: Bank) -> None:
    approval_id = bank.ask()
    bank.approvals.approve(approval_id, ADA, "fine")
    later_and_back(bank)
    assert "is expired" in bank.call(approval_id=approval_id).error_message
    assert bank.ask() != approval_id
    assert bank.paid == []


def test_a_request_that_was_over_is_not_decided_after_the_clock_was_set_back(bank: Bank) -> None:
    approval_id = bank.ask()
    later_and_back(bank)
    with pytest.raises(AlreadyDecided, match="expired"):
        bank.approvals.approve(approval_id, ADA, "fine")
    assert bank.ask() != approval_id


def test_a_request_of_a_clock_that_was_ahead_does_not_wait_for_years(bank: Bank) -> None:
    right = bank.clock.time
    bank.clock.time += 365 * 24 * HOUR
    approval_id = bank.ask()
    bank.approvals.approve(approval_id, ADA, "fine")
    bank.clock.time = right
    assert bank.approvals.get(approval_id).state is ApprovalState.EXPIRED
    assert bank.approvals.page(states=OPEN) == []
    assert bank.approvals.numbers(states=OPEN) == []
    assert bank.approvals.waiting_by_run() == {}
    second = bank.ask()
    assert second != approval_id
    bank.approvals.approve(second, ADA, "fine")
    assert bank.call().data == "paid bob"


def test_a_clock_that_is_corrected_by_a_minute_costs_nobody_a_request(bank: Bank) -> None:
    approval_id = bank.ask()
    bank.clock.time -= 60
    bank.approvals.approve(approval_id, ADA, "fine")
    assert bank.call().data == "paid bob"


def test_a_list_says_of_a_request_whose_time_the_log_has_seen_pass_that_it_is_expired(bank: Bank) -> None:
    bank.ask()
    before = bank.clock.time
    bank.clock.time += 5 * HOUR
    bank.log.append(MEMORY_PUT, {"key": "k"})
    bank.clock.time = before
    assert bank.approvals.numbers(states=OPEN) == []
    assert [approval.state for approval in bank.approvals.page()] == [ApprovalState.EXPIRED]


def test_a_request_of_a_process_whose_clock_was_ahead_is_decided_by_no_command(
    home: Path, sb: CommandLine
) -> None:
    home.mkdir(mode=0o700)
    clock = SteeredClock()
    clock.time = time.time() + 365 * 24 * HOUR
    with open_runtime(clock=clock) as runtime:
        runtime.registry.register_fn("bank.pay", "Pay", lambda to: "paid", SafetyClass.DESTRUCTIVE)
        approve_tools(runtime)
        asked = runtime.executor.execute(RunContext.create("clerk"), "bank.pay", {"to": "bob"})
        approval_id = str(asked.data["approval_id"])
    assert "no pending requests" in sb("approvals", "list").err
    refused = sb("approvals", "approve", approval_id, "--reason", "fine")
    assert refused.code != 0
    assert "is expired" in refused.err


class Notes:
    """Calls of a tool that is approved in advance for an hour."""

    def __init__(self, clock: SteeredClock) -> None:
        self.clock, self.log, registry = clock, EventLog(clock=clock), ToolRegistry()
        registry.register_fn("notes.append", "Append", lambda text: text, SafetyClass.LOCAL_WRITE)
        self.executor = ToolExecutor(registry, AskAlways(), self.log, clock=clock)
        asked = str(self.call().data["approval_id"])
        self.executor.approvals.grant(asked, ADA, "fine", lasting_s=3600, args={"text": "*"})

    def call(self) -> ToolResult:
        return self.executor.execute(RunContext.create("clerk"), "notes.append", {"text": "hello"})


def test_a_grant_that_was_over_allows_nothing_after_the_clock_was_set_back(clock: SteeredClock) -> None:
    notes, before = Notes(clock), clock.time
    assert notes.call().success  # by the request itself
    assert notes.call().success
    clock.time += 2 * HOUR
    assert not notes.call().success
    clock.time = before
    assert not notes.call().success


def test_a_grant_of_a_clock_that_was_ahead_allows_nothing_once_it_is_right(clock: SteeredClock) -> None:
    clock.time += 365 * 24 * HOUR
    notes = Notes(clock)
    assert notes.call().success
    clock.time -= 365 * 24 * HOUR
    assert GRANT_MADE in [event.kind for event in notes.log.events()]
    assert not notes.call().success


def test_one_row_of_a_clock_that_was_behind_does_not_make_the_whole_log_old(clock: SteeredClock) -> None:
    log = EventLog(clock=clock)
    log.append(MEMORY_PUT, {"key": "old"})
    clock.time += 100 * 24 * HOUR
    log.append(MEMORY_PUT, {"key": "evidence"})
    right, clock.time = clock.time, 0.0
    log.append(MEMORY_PUT, {"key": "back-dated"})
    clock.time = right
    before = clock.time - 90 * 24 * HOUR
    assert prunable(log, before=before) == 1
    assert prune(log, before=before, reason="retention") == 1
    assert [event.payload and event.payload.get("key") for event in log.events()][:3] == [
        None,
        "evidence",
        "back-dated",
    ]
