"""A run's state in lists: what follows its end does not open it again, and a call that goes on does."""

from __future__ import annotations

import pytest

from sb.kernel import RunContext
from sb.kernel.contracts import SafetyClass
from sb.kernel.review.runs import Run, RunState, run_of
from tests.kernel.recovery_loop.conftest import ADA, Shop, approve


def run(shop: Shop, ctx: RunContext) -> Run:
    found = run_of(shop.runtime.log, ctx.run_id)
    assert found is not None
    return found


@pytest.fixture
def finished(shop: Shop) -> RunContext:
    """A run that refunded, and ended a minute later."""
    ctx = RunContext.create("clerk", clock=shop.clock)
    with shop.runtime.executor.run(ctx):
        assert run(shop, ctx).state is RunState.OPEN
        assert shop.call("pay.human", ctx).success
        shop.clock.time += 60
    return ctx


def test_approval_after_the_end_leaves_a_run_finished(shop: Shop) -> None:
    shop.runtime.registry.register_fn("pay.wipe", "Wipe", lambda: 1, SafetyClass.DESTRUCTIVE)
    approve(shop.runtime)
    ctx = RunContext.create("clerk", clock=shop.clock)
    with shop.runtime.executor.run(ctx):
        asked = shop.runtime.executor.execute(ctx, "pay.wipe", {}).data["approval_id"]
    shop.clock.time += 60
    shop.runtime.approvals.approve(asked, ADA, "fine")
    assert run(shop, ctx).state is RunState.FINISHED


def test_reversal_after_the_end_leaves_a_run_finished_and_its_duration_as_it_was(
    shop: Shop, finished: RunContext
) -> None:
    before = run(shop, finished)
    (ref,) = shop.runtime.recovery.mutations.of_run(finished.run_id)
    shop.clock.time += 600
    assert shop.runtime.recovery.undo(ref, ADA, "wrong order").state == "reversed"
    after = run(shop, finished)
    assert after.events > before.events
    assert (after.state, after.last_at) == (RunState.FINISHED, before.last_at)


def test_failed_run_stays_failed_when_it_is_reversed(shop: Shop) -> None:
    ctx = RunContext.create("clerk", clock=shop.clock)
    assert shop.call("pay.human", ctx).success
    with pytest.raises(OSError, match="paper"), shop.runtime.executor.run(ctx):
        raise OSError("out of paper")
    (ref,) = shop.runtime.recovery.mutations.of_run(ctx.run_id)
    assert shop.runtime.recovery.undo(ref, ADA, "wrong order").state == "reversed"
    assert run(shop, ctx).state is RunState.FAILED
    assert run(shop, ctx).error == "OSError"


def test_another_call_after_the_end_opens_a_run_again(shop: Shop, finished: RunContext) -> None:
    shop.clock.time += 60
    assert shop.call("pay.human", finished, order=2, amount=5).success
    assert run(shop, finished).state is RunState.OPEN
    with shop.runtime.executor.run(finished):
        pass
    assert run(shop, finished).state is RunState.FINISHED
