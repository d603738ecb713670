"""Secrets of a call stay out of sight when it is undone."""

from __future__ import annotations

import json
from typing import Any

from sb.kernel import RunContext, SafetyClass
from sb.kernel.compensation.dispatcher import CompensationDispatcher
from sb.kernel.contracts import (
    Assumption,
    MutationRef,
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
    ToolArgSchema,
)
from sb.kernel.recovery_loop.settling import Settlement, Settling
from sb.kernel.reversibility.mutations import assumption_name
from sb.present.approvals import REQUEST, Request
from tests.kernel.recovery_loop.conftest import ADA, Shop, approve

CARD, PIN = "hunter2 horse", 987654321


def _card_tools(shop: Shop) -> list[tuple[str, int]]:
    """A tool whose sensitive arguments its way back, preview, reasons and external handle are made from."""
    undone: list[tuple[str, int]] = []

    def reverse(card: str, pin: int) -> None:
        undone.append((card, pin))
        raise ValueError(f"no such card {card} with {pin}")

    spec = ReversalSpec(
        ReversalClass.COMPENSABLE,
        "card.reverse",
        RecoveryApprovalMode.HUMAN,
        reversal_args={"card": "args.card", "pin": "args.pin"},
        assumptions=(
            Assumption("valid:{args.card}", "card.look", {"card": "args.card"}, "card", "args.card"),
        ),
        preview_capability="card.preview",
        external_handle="args.card",
    )
    schema = [ToolArgSchema("card", sensitive=True), ToolArgSchema("pin", "integer", sensitive=True)]
    register = shop.runtime.registry.register_fn
    register("card.pay", "Pay", lambda card, pin: {}, SafetyClass.NETWORK, args_schema=schema, reversal=spec)
    register("card.reverse", "Reverse", reverse, SafetyClass.NETWORK)
    register("card.look", "Look", lambda card: {"card": f"not {card}"})
    register("card.preview", "Preview", lambda card, pin: {"ok": True, "detail": f"{card} {pin}"})
    approve(shop.runtime)
    return undone


def test_sensitive_arguments_are_used_to_undo_and_shown_nowhere(shop: Shop) -> None:
    undone = _card_tools(shop)
    ctx = RunContext.create("clerk", clock=shop.clock)
    done = shop.runtime.executor.execute(ctx, "card.pay", {"card": CARD, "pin": PIN})
    recovery, ref = shop.runtime.recovery, shop.ref(done.mutation_id)
    decisions = shop.runtime.watch()[1]
    assert len(decisions) == 1
    outputs: list[Any] = [*decisions, recovery.plan(ref), ref, recovery.undo(ref, ADA, "wrong")]
    outputs += recovery.escalations.page(everything=True)
    shown = [json.dumps(output.to_dict()) for output in outputs]
    queue = shop.runtime.approvals
    shown += [json.dumps(REQUEST.to_dict(Request(queue.disclose(approval)))) for approval in queue.page()]
    shown += [json.dumps(event.to_dict()) for event in shop.runtime.log.events()]
    assert undone == [(CARD, PIN)]
    assert not [text for text in shown if CARD in text or str(PIN) in text]


def test_what_a_function_of_ones_own_says_of_them_is_shown_nowhere_either(shop: Shop) -> None:
    _card_tools(shop)
    ctx = RunContext.create("clerk", clock=shop.clock)
    done = shop.runtime.executor.execute(ctx, "card.pay", {"card": CARD, "pin": PIN})

    def reverse(ref: MutationRef) -> None:
        raise ValueError(f"no such card {ref.reversal_args['card']}")

    outcome = CompensationDispatcher(shop.runtime.recovery.mutations, clock=shop.clock).reverse(
        done.call_id, reverse
    )
    shown = [outcome.reason, *(json.dumps(event.to_dict()) for event in shop.runtime.log.events())]
    assert "did not work" in outcome.reason
    assert not [text for text in shown if CARD in text or str(PIN) in text]


def test_reasons_that_differ_in_what_is_masked_are_told_apart() -> None:
    names = {assumption_name(f"agreed:{who}@example.com") for who in ("ada", "grace")}
    assert len(names) == 2
    assert not [name for name in names if "ada@" in name or "grace@" in name]
    assert {assumption_name(name) for name in names} == names


def test_what_is_known_of_a_settled_step_is_kept_redacted(shop: Shop) -> None:
    shop.refund_trouble = TimeoutError("no answer")
    ctx, args = RunContext.create("clerk", clock=shop.clock), {"order": 1, "amount": 5}
    first = shop.runtime.executor.execute(ctx, "pay.human", args, step="one")
    result = {"refund_id": "ref_1", "password": "hunter2"}
    Settling(shop.runtime.recovery).settle(first.call_id, Settlement.DONE, ADA, "it happened", result)
    again = shop.runtime.executor.execute(ctx, "pay.human", args, step="one")
    assert (again.data["refund_id"], "hunter2" in json.dumps(again.data)) == ("ref_1", False)
