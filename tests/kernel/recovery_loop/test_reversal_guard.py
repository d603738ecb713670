"""Nothing is reversed without a token: the guard, and the reversals of the dispatcher."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import CountingIds, SteeredClock
from sb.errors import SBError, StoreCorrupt
from sb.kernel import (
    CompensationDispatcher,
    CompensationKind,
    ErrorKind,
    NoReversalToken,
    ToolErrorCode,
    ToolResult,
    executor_dispatcher,
    guard,
)
from sb.kernel.contracts import MutationRef, MutationState
from sb.kernel.recovery_loop.escalations import Escalations
from tests.kernel.recovery_loop.compensation_worlds import Undoable, failed


@pytest.fixture
def undoable(clock: SteeredClock, ids: CountingIds) -> Undoable:
    return Undoable(clock, ids)


def test_what_a_call_changed_is_reversed_with_its_token(undoable: Undoable) -> None:
    outcome = undoable.dispatcher.reverse(undoable.done.call_id, undoable.runner)
    assert (outcome.kind, outcome.performed) == (CompensationKind.REVERSED, True)
    assert undoable.undone == [{"what": "w1"}]


def test_nothing_is_reversed_without_a_token_in_its_window(undoable: Undoable) -> None:
    store, runner, done = undoable.executor.mutations, undoable.runner, undoable.done.call_id
    refused = [CompensationDispatcher().reverse(done, runner), undoable.dispatcher.reverse("call_00", runner)]
    undoable.clock.sleep(60)
    refused.append(CompensationDispatcher(store, clock=undoable.clock).reverse(done, runner))
    assert {outcome.kind for outcome in refused} == {CompensationKind.REVERSAL_REFUSED}
    assert "time in which" in refused[-1].reason
    assert undoable.undone == []


@pytest.mark.parametrize("state", [MutationState.REVERSING, MutationState.REVERSED])
def test_nothing_is_reversed_twice(undoable: Undoable, state: MutationState) -> None:
    store = undoable.executor.mutations
    with store.log.write() as write:
        number = store.number(undoable.done.mutation_id)
        assert store.move(write, number, MutationState.COMMITTED, MutationState.REVERSING)
        assert store.move(write, number, MutationState.REVERSING, state) or state == "reversing"
    outcome = undoable.dispatcher.reverse(undoable.done.call_id, undoable.runner)
    assert outcome.kind is CompensationKind.REVERSAL_REFUSED
    assert undoable.undone == []


def test_a_reversal_that_does_not_work_goes_to_a_person(undoable: Undoable) -> None:
    def refuse(ref: MutationRef) -> ToolResult:
        return ToolResult.error(
            ref.reversal_tool, ToolErrorCode.PERMISSION_DENIED, "no", {"approval_id": "ap1"}
        )

    def explode(ref: MutationRef) -> None:
        raise OSError("gone")

    for number, runner in enumerate((refuse, explode), 1):
        outcome = undoable.dispatcher.reverse(undoable.done.call_id, runner)
        assert outcome.kind is CompensationKind.ESCALATED
        assert undoable.done.mutation_id in outcome.reason
        assert len(undoable.told) == number
        assert outcome.directive.get("approval_id") == ("ap1" if runner is refuse else None)
    (listed,) = Escalations(undoable.executor.event_log).page()  # the other one waits as an approval
    assert (listed.mutation_id, listed.cause) == (undoable.done.mutation_id, "failed: unknown")


def test_a_partial_effect_is_reversed_under_the_same_guard(undoable: Undoable) -> None:
    partial = failed(ErrorKind.PARTIAL_EFFECT, call_id=undoable.done.call_id)
    outcome = undoable.dispatch(partial)
    assert (outcome.kind, outcome.performed) == (CompensationKind.REVERSAL_SCHEDULED, False)
    assert outcome.directive["mutation_id"] == undoable.done.mutation_id
    undoable.dispatcher = executor_dispatcher(undoable.executor, reverse=undoable.runner)
    assert undoable.dispatch(partial).kind is CompensationKind.REVERSED
    assert undoable.undone == [{"what": "w1"}]
    stranger = failed(ErrorKind.PARTIAL_EFFECT, call_id="call_00")
    assert undoable.dispatch(stranger).kind is CompensationKind.REVERSAL_REFUSED
    assert [event.subject.call_id for event in undoable.escalations()] == ["call_00"]


def test_the_guard_refuses_what_it_cannot_read(undoable: Undoable) -> None:
    database = undoable.executor.event_log.database
    with database.write() as execute:
        execute("UPDATE mutations SET ref = '{'")
    with pytest.raises(NoReversalToken, match="cannot be read") as caught:
        guard(undoable.executor.mutations, undoable.done.call_id, 0)
    assert isinstance(caught.value, SBError)
    assert caught.value.kind == "reversal_refused"


class Unreadable:
    """A store of a database that cannot be read."""

    def for_call(self, reference: str) -> MutationRef | None:
        raise StoreCorrupt("the disk image is malformed")


def test_the_guard_refuses_where_nothing_can_be_read() -> None:
    with pytest.raises(NoReversalToken, match="cannot be told") as caught:
        guard(Unreadable(), "call_01", 0)
    assert isinstance(caught.value.__cause__, StoreCorrupt)


class OneRef:
    """A store that knows one mutation, whatever is asked for."""

    def __init__(self, ref: MutationRef | None) -> None:
        self.ref = ref

    def for_call(self, call_id: str) -> MutationRef | None:
        return self.ref


@given(
    asked=st.sampled_from(["call_01", "call_02", "mut_1_0001", "mut_2_0002"]),
    tool=st.sampled_from(["", "t.undo"]),
    ends=st.none() | st.integers(0, 20),
    state=st.sampled_from(list(MutationState)),
    now=st.integers(0, 20),
)
def test_the_guard_lets_only_a_paired_open_and_untouched_token_pass(
    asked: str, tool: str, ends: int | None, state: MutationState, now: int
) -> None:
    undoable = Undoable(SteeredClock(), CountingIds())
    bound = undoable.executor.mutations.get(undoable.done.mutation_id)
    ref = replace(
        bound,
        mutation_id="mut_1_0001",
        call_id="call_01",
        reversal_tool=tool,
        window_ends_at=ends,
        state=state,
    )
    valid = (
        asked in ("call_01", "mut_1_0001")
        and tool != ""
        and (ends is None or now < ends)
        and state == "committed"
    )
    try:
        passed = guard(OneRef(ref), asked, now) is ref
    except NoReversalToken:
        passed = False
    assert passed == valid
