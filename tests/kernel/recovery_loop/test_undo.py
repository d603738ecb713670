"""Undo of file tools: bytes, mode and existence come back, or it is refused with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.errors import DeniedError, UsageError
from sb.kernel import RunContext, SafetyClass, ToolErrorCode
from sb.kernel.authority.signing import Label
from sb.kernel.compensation.reversal_guard import NoReversalToken
from sb.kernel.contracts import MutationState
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.review.log_verification import verify
from tests.kernel.recovery_loop.conftest import ADA, GRACE, WINDOW_S, Shop


def write(shop: Shop, name: str, content: str, ctx: RunContext | None = None) -> str:
    result = shop.call("files.write", ctx, path=name, content=content)
    assert result.success, result
    return result.mutation_id


def undo(shop: Shop, mutation_id: str) -> str:
    return shop.runtime.recovery.undo(shop.ref(mutation_id), ADA, "it was wrong").state


def test_an_overwritten_file_gets_its_bytes_and_its_mode_back(shop: Shop) -> None:
    path = shop.files / "f"
    path.write_bytes(b"\x00old\xff")
    path.chmod(0o640)
    made = write(shop, "f", "new")
    assert undo(shop, made) == "reversed"
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"\x00old\xff", 0o640)
    assert shop.ref(made).state is MutationState.REVERSED
    with pytest.raises(NoReversalToken, match="before"):
        undo(shop, made)
    assert verify(shop.runtime.log).ok


def test_a_new_file_is_removed_and_a_deleted_one_comes_back(shop: Shop) -> None:
    made = write(shop, "new", "x")
    (shop.files / "gone").write_text("back", encoding="utf-8")
    (shop.files / "gone").chmod(0o600)
    deleted = shop.call("files.delete", path="gone").mutation_id
    assert undo(shop, deleted) == "reversed"
    assert undo(shop, made) == "reversed"
    assert [path.name for path in shop.files.iterdir()] == ["gone"]
    assert (shop.files / "gone").stat().st_mode & 0o777 == 0o600


def replaced_by_a_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def _as_it_lies(path: Path) -> tuple[int, ...] | None:
    """The attributes that show a change of a file; not when it was last read."""
    if not os.path.lexists(path):
        return None
    stat = path.lstat()
    return stat.st_mode, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: path.write_text("mine", encoding="utf-8"), "was changed since"),
        (lambda path: path.unlink(), "was deleted since"),
        (replaced_by_a_link, "symbolic link"),
        (lambda path: path.chmod(0o444), "its mode was changed"),
        (lambda path: (path.unlink(), path.mkdir()), "is a folder"),
    ],
)
def test_what_somebody_changed_since_is_left_as_it_is(
    shop: Shop, change: Callable[[Path], object], reason: str
) -> None:
    path = shop.files / "f"
    path.write_text("old", encoding="utf-8")
    made = write(shop, "f", "new")
    change(path)
    found = _as_it_lies(path)
    plan = shop.runtime.recovery.plan(shop.ref(made))
    assert (plan.ok, plan.checked) == (False, True)
    assert reason in plan.detail
    undone = shop.runtime.recovery.undo(shop.ref(made), ADA, "it was wrong")
    assert (undone.state, reason in undone.detail) == ("failed", True)
    assert _as_it_lies(path) == found
    assert shop.ref(made).state is MutationState.COMMITTED


def test_a_file_that_is_back_already_counts_as_undone(shop: Shop) -> None:
    path = shop.files / "f"
    path.write_text("old", encoding="utf-8")
    made = write(shop, "f", "new")
    path.write_text("old", encoding="utf-8")
    assert "is already restored" in shop.runtime.recovery.plan(shop.ref(made)).detail
    assert undo(shop, made) == "reversed"


def test_a_whole_run_is_undone_newest_first(shop: Shop) -> None:
    (shop.files / "a").write_text("0", encoding="utf-8")
    ctx = RunContext.create("clerk", clock=shop.clock)
    for content in ("1", "2", "3"):
        write(shop, "a", content, ctx)
    write(shop, "b", "new", ctx)
    recovery = shop.runtime.recovery
    refs = recovery.mutations.of_run(ctx.run_id)
    assert all(plan.ok for plan in recovery.plan_all(refs))
    done = list(recovery.undo_all(refs, ADA, "all wrong"))
    assert [undone.state for undone in done] == ["reversed"] * 4
    assert (shop.files / "a").read_text(encoding="utf-8") == "0"
    assert not (shop.files / "b").exists()
    assert list(recovery.undo_all(recovery.mutations.of_run(ctx.run_id), ADA, "again")) == []


def test_run_is_undone_but_for_what_somebody_changed_since_and_what_lies_under_that(shop: Shop) -> None:
    ctx = RunContext.create("clerk", clock=shop.clock)
    under = write(shop, "b", "1", ctx)
    first, second = write(shop, "a", "1", ctx), write(shop, "b", "2", ctx)
    write(shop, "c", "3", ctx)
    (shop.files / "b").write_text("mine", encoding="utf-8")
    recovery = shop.runtime.recovery
    done = list(recovery.undo_all(recovery.mutations.of_run(ctx.run_id), ADA, "all wrong"))
    assert [undone.state for undone in done] == ["reversed", "failed", "reversed"]
    assert shop.ref(under).state is shop.ref(second).state is MutationState.COMMITTED
    assert shop.ref(first).state is MutationState.REVERSED
    assert [(path.name, path.read_text("utf-8")) for path in shop.files.iterdir()] == [("b", "mine")]


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.one_of(st.none(), st.binary(max_size=20))), min_size=1, max_size=8
    )
)
def test_undoing_a_run_restores_every_file_exactly(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bytes | None]]
) -> None:
    import base64

    from sb.base.sources import SteeredClock
    from tests.kernel.recovery_loop.conftest import approve

    place = tmp_path_factory.mktemp("run")
    (place / "home").mkdir(mode=0o700)
    (place / "files").mkdir()
    (place / "home" / "config.yaml").write_text(f"files:\n  roots: [{place / 'files'}]\n", encoding="utf-8")
    shop = Shop(place / "home", place / "files", SteeredClock())
    with shop.open() as shop.runtime:
        approve(shop.runtime)
        (shop.files / "a").write_bytes(b"first")
        (shop.files / "a").chmod(0o604)
        ctx = RunContext.create("clerk", clock=shop.clock)
        for name, content in steps:
            if content is None:
                shop.call("files.delete", ctx, path=name)
            else:
                text = base64.b64encode(content).decode()
                shop.call("files.write", ctx, path=name, content=text, encoding="base64")
        recovery = shop.runtime.recovery
        refs = recovery.mutations.of_run(ctx.run_id)
        assert all(undone.state == "reversed" for undone in recovery.undo_all(refs, ADA, "all wrong"))
        assert [(path.name, path.read_bytes()) for path in shop.files.iterdir()] == [("a", b"first")]
        assert (shop.files / "a").stat().st_mode & 0o777 == 0o604


def test_what_is_too_large_to_keep_asks_first_and_has_no_way_back(shop: Shop) -> None:
    big = shop.files / "big"
    with open(big, "wb") as file:
        file.truncate(6 << 20)
    refused = shop.call("files.write", path="big", content="x")
    assert (refused.error_code, "keep = false" in refused.error_message) == (
        ToolErrorCode.PERMISSION_DENIED,
        True,
    )
    asked = shop.call("files.write", path="big", content="x", keep=False)
    assert [reason["rule"] for reason in asked.data["reasons"]] == ["irreversible"]
    assert big.stat().st_size == 6 << 20
    shop.runtime.approvals.approve(asked.data["approval_id"], ADA, "it is a cache")
    done = shop.call("files.write", path="big", content="x", keep=False)
    assert (done.success, big.read_text(encoding="utf-8")) == (True, "x")
    assert "cannot be undone with these arguments" in shop.ref(done.mutation_id).no_way_back
    with pytest.raises(NoReversalToken, match="has no undo"):
        undo(shop, done.mutation_id)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into any folder")
def test_a_folder_that_was_made_read_only_is_an_answer_not_a_crash(shop: Shop) -> None:
    made = write(shop, "f", "new")
    shop.files.chmod(0o555)
    try:
        assert undo(shop, made) == "failed"
    finally:
        shop.files.chmod(0o755)
    assert undo(shop, made) == "reversed"


def test_nothing_is_undone_after_its_window(shop: Shop) -> None:
    ref = shop.done()
    shop.clock.time += WINDOW_S
    with pytest.raises(NoReversalToken, match="over"):
        shop.runtime.recovery.undo(ref, ADA, "late")
    assert shop.reversed_ == []


def test_a_window_that_closes_between_asking_and_agreeing_counts(shop: Shop) -> None:
    ref = shop.done("pay.dual_control")
    shop.clock.time += WINDOW_S - 1
    recovery = shop.runtime.recovery
    ctx = recovery.context("ask")
    asked = recovery._open_request(ctx, ref, "undo", "it was wrong")
    shop.clock.time += 1
    with pytest.raises(NoReversalToken, match="over"):
        recovery.approve(asked.data["approval_id"], ADA, "late")
    assert recovery.escalations.get(ref.mutation_id).state == "expired"


def test_a_reversal_tool_that_fails_can_be_tried_again(shop: Shop) -> None:
    ref = shop.done()
    shop.trouble = ValueError("the bank is closed")
    undone = shop.runtime.recovery.undo(ref, ADA, "wrong")
    assert (undone.state, undone.detail) == ("failed", "ValueError: the bank is closed")
    assert shop.runtime.recovery.escalations.get(ref.mutation_id).state == "failed"
    shop.trouble = None
    assert shop.runtime.recovery.undo(shop.ref(ref.mutation_id), ADA, "wrong").state == "reversed"
    assert shop.reversed_ == ["ref_1"]


def test_a_reversal_that_ends_in_a_timeout_is_in_doubt_and_never_repeated(shop: Shop) -> None:
    ref = shop.done()
    shop.trouble = TimeoutError("no answer")
    assert shop.runtime.recovery.undo(ref, ADA, "wrong").state == "in doubt"
    shop.trouble = None
    with pytest.raises(NoReversalToken, match="begun"):
        shop.runtime.recovery.undo(shop.ref(ref.mutation_id), ADA, "wrong")
    assert "sb recovery list shows it" in shop.runtime.recovery.plan(shop.ref(ref.mutation_id)).detail
    assert shop.reversed_ == []
    assert [intent.tool_id for intent in shop.runtime.executor.in_doubt()] == ["pay.reverse"]


def test_a_reversal_whose_tool_is_gone_or_changed_is_refused(shop: Shop) -> None:
    ref = shop.done()
    registry = shop.runtime.registry
    spec = registry.get("pay.reverse")
    assert spec is not None
    spec.description = "Reverse a refund, and tell everybody."
    undone = shop.runtime.recovery.undo(ref, ADA, "wrong")
    assert (undone.state, "changed after it was registered" in undone.detail) == ("failed", True)
    registry.unregister("pay.reverse")
    with pytest.raises(NoReversalToken, match="not registered here"):
        shop.runtime.recovery.undo(ref, ADA, "wrong")
    assert shop.reversed_ == []


def test_the_contract_of_the_reversal_that_was_agreed_to_is_the_one_that_runs(shop: Shop) -> None:
    ref = shop.done("pay.dual_control")
    recovery = shop.runtime.recovery
    asked = recovery._open_request(recovery.context("ask"), ref, "undo", "it was wrong")
    spec = shop.runtime.registry.get("pay.reverse")
    assert spec is not None
    spec.description = "Something else."
    result = recovery.executor.execute_recovery(
        recovery.context("run"),
        "pay.reverse",
        ref.reversal_args,
        recovery._reversal(ref, "undo", [{"rule": "recovery", "reason": "r"}]),
        asked.data["approval_id"],
    )
    assert (result.success, shop.reversed_) == (False, [])


def test_arguments_that_were_changed_in_the_database_are_not_run(shop: Shop) -> None:
    ref = shop.done()
    with shop.runtime.database.write() as execute:
        execute("UPDATE mutations SET ref = replace(ref, 'ref_1', 'ref_9')")
    undone = shop.runtime.recovery.undo(shop.ref(ref.mutation_id), ADA, "wrong")
    assert (undone.state, "changed in the database" in undone.detail) == ("failed", True)
    assert shop.reversed_ == []


def test_dual_control_needs_two_enrolled_people(shop: Shop) -> None:
    ref = shop.done("pay.dual_control")
    with pytest.raises(DeniedError, match="two enrolled operators"):
        shop.runtime.recovery.undo(ref, ADA, "wrong")
    with pytest.raises(DeniedError, match="two enrolled operators"):
        shop.runtime.recovery.approve(ref.mutation_id, GRACE, "wrong")
    assert shop.reversed_ == []


def test_nobody_agrees_to_undo_their_own_call(shop: Shop) -> None:
    ref = shop.done()
    with pytest.raises(DeniedError, match="cannot decide"):
        shop.runtime.recovery.undo(ref, Label("clerk"), "I changed my mind")
    assert shop.reversed_ == []


def test_an_undo_needs_a_reason(shop: Shop) -> None:
    ref = shop.done()
    with pytest.raises(UsageError, match="reason"):
        shop.runtime.recovery.undo(ref, ADA, " ")
    assert shop.reversed_ == []


def test_agents_cannot_call_what_undoes(shop: Shop) -> None:
    made = shop.ref(write(shop, "f", "x"))
    refused = shop.call("files.restore", **made.reversal_args)
    assert (refused.error_code, (shop.files / "f").exists()) == (ToolErrorCode.PERMISSION_DENIED, True)


def test_what_a_killed_agent_did_can_still_be_undone(shop: Shop) -> None:
    from sb.kernel.incident_response import KillScope

    ref = shop.done()
    kill = shop.runtime.executor.kill
    kill.throw(KillScope.GLOBAL, "", ADA, "something is wrong", wait_s=0)
    assert "something is wrong" in shop.call().error_message
    assert shop.runtime.watch()[0].unclear == []
    assert shop.runtime.recovery.plan(ref).ok
    kill.throw(KillScope.AGENT, "recovery", ADA, "recovery too", wait_s=0)
    looked = shop.runtime.recovery.plan(ref)
    assert (looked.ok, looked.detail) == (False, "agent recovery was killed by ada: recovery too")
    stopped = shop.runtime.recovery.undo(ref, ADA, "wrong")
    assert (stopped.state, "recovery too" in stopped.detail) == ("failed", True)
    kill.lift(KillScope.AGENT, "recovery", ADA, "it may go on")
    assert shop.runtime.recovery.undo(shop.ref(ref.mutation_id), ADA, "wrong").state == "reversed"
    assert not shop.call().success


def test_a_reversal_tool_that_hangs_is_in_doubt_after_its_deadline(shop: Shop) -> None:
    import threading

    ref, hangs = shop.done(), threading.Event()
    registry = shop.runtime.registry
    registry.unregister("pay.reverse")
    registry.register_fn(
        "pay.reverse",
        "Reverse a refund",
        lambda refund_id: hangs.wait(60),
        SafetyClass.NETWORK,
        timeout_ms=100,
    )
    undone = shop.runtime.recovery.undo(ref, ADA, "wrong")
    hangs.set()
    assert (undone.state, "no answer within timeout_ms = 100" in undone.detail) == ("in doubt", True)
    assert shop.ref(ref.mutation_id).state is MutationState.REVERSING


def test_a_way_back_that_was_declared_anew_since_never_fires_by_itself(shop: Shop) -> None:
    ref = shop.done("pay.auto")
    spec = shop.runtime.registry.get("pay.auto")
    assert spec is not None
    assert spec.reversal is not None
    spec.reversal = replace(spec.reversal, reversal_window_ms=1)
    decision = shop.runtime.invalidate(AssumptionInvalidated("order_not_shipped:1"))[0]
    assert (decision.action, decision.mode, shop.reversed_) == ("escalated", "human", [])
    assert shop.runtime.recovery.approve(ref.mutation_id, ADA, "it shipped").state == "reversed"
