"""The demo's tools on the ledger, and how each is reversed.

The configuration of the demo's home names `register`, so that every process of that home has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sb.errors import ContractError, NotFoundError, UsageError
from sb.kernel.contracts import (
    Assumption,
    BlastRadius,
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
    SafetyClass,
    ToolArgSchema,
)
from sb.kernel.registry.registry import ToolRegistry
from sb.operator.demo.ledger import Ledger
from sb.tools.failures import invalid, not_found

TOOLS = (
    "orders.read",
    "payments.find_refund",
    "payments.issue_refund",
    "payments.refund_reversible",
    "payments.reverse_refund",
    "shop.mail",
)
_ORDER = ToolArgSchema("order", "integer", description="The order's number.")
_REFUND = ToolArgSchema("refund_id", description="As payments.issue_refund gave it.")
_REFUND_REVERSAL = ReversalSpec(
    reversal_class=ReversalClass.COMPENSABLE,
    compensation_capability="payments.reverse_refund",
    recovery_approval_mode=RecoveryApprovalMode.HUMAN,
    reversal_window_ms=3_600_000,
    blast_radius=BlastRadius(max_calls_per_run=1, max_value_per_run=5000),
    reversal_args={"refund_id": "result.refund_id"},
    assumptions=(
        Assumption(
            "order_not_shipped:{args.order}",
            tool_id="orders.read",
            args={"order": "args.order"},
            path="state",
            equals="=refund asked",
        ),
    ),
    external_handle="result.refund_id",
    preview_capability="payments.refund_reversible",
    probe_capability="payments.find_refund",
)


def ledger_of(home: Path) -> Path:
    """The ledger's file: beside the home, where the agent's file tools do not reach."""
    return home.parent / "ledger.db"


class ShopTools:
    """The functions behind the tools."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, order: int) -> dict[str, Any]:
        with _failures():
            found = self._ledger.order(order)
            return vars(found) | {"refunded": self._ledger.refunded(order)}

    def issue_refund(self, order: int, amount: int, idempotency_key: str) -> dict[str, Any]:
        with _failures():
            return self._ledger.refund(order, amount, idempotency_key)

    def reverse_refund(self, refund_id: str, idempotency_key: str) -> dict[str, Any]:
        with _failures():
            return self._ledger.reverse(refund_id, idempotency_key)

    def refund_reversible(self, refund_id: str) -> dict[str, Any]:
        why_not = self._ledger.reversible(refund_id)
        return {"ok": not why_not, "detail": why_not or f"would take {refund_id} back from the customer"}

    def find_refund(self, key: str) -> dict[str, Any]:
        found = self._ledger.find(key)
        return {"done": found is not None, "result": found}


@contextmanager
def _failures() -> Iterator[None]:
    """Turn the ledger's refusals into the tool's own answer."""
    try:
        yield
    except NotFoundError as error:
        raise not_found(error.message) from error
    except UsageError as error:
        raise invalid(error.message) from error


def register(registry: ToolRegistry) -> None:
    """Register the shop's tools; raises ContractError outside of a home."""
    if registry.home is None:
        raise ContractError("the demo's shop stands beside a home, and this registry has none")
    shop = ShopTools(Ledger(ledger_of(registry.home)))
    registry.register_fn(
        "orders.read",
        "Read an order",
        shop.read,
        description="Read one order of the shop, and what was refunded of it.",
        args_schema=[_ORDER],
    )
    registry.register_fn(
        "payments.issue_refund",
        "Issue a refund",
        shop.issue_refund,
        SafetyClass.NETWORK,
        description="Give a customer money back, in cents.",
        args_schema=[_ORDER, ToolArgSchema("amount", "integer", description="Cents.")],
        reversal=_REFUND_REVERSAL,
        metadata={"risk_dimension": "money", "value_arg": "amount"},
    )
    registry.register_fn(
        "payments.reverse_refund",
        "Reverse a refund",
        shop.reverse_refund,
        SafetyClass.NETWORK,
        description="Take back a refund.",
        args_schema=[_REFUND],
        reversal=ReversalSpec(ReversalClass.COMPENSABLE, probe_capability="payments.find_refund"),
    )
    registry.register_fn(
        "payments.refund_reversible",
        "Look whether a refund can be reversed",
        shop.refund_reversible,
        description="Say whether payments.reverse_refund would work now, and change nothing.",
        args_schema=[_REFUND],
    )
    registry.register_fn(  # what is sent stays sent: it declares no reversal, so a person is asked
        "shop.mail",
        "Mail a customer",
        lambda order, text: {"sent": text},
        SafetyClass.NETWORK,
        description="Send a text to the customer of an order.",
        args_schema=[_ORDER, ToolArgSchema("text")],
    )
    registry.register_fn(
        "payments.find_refund",
        "Find what a key did",
        shop.find_refund,
        description="Say whether the call with this idempotency key happened, and what it gave.",
        args_schema=[ToolArgSchema("key", description="The idempotency key of the call.")],
    )
