"""Another system, whose refunds can be reversed: tools that the configuration names, as an operator's own are."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from sb.kernel import SafetyClass
from sb.kernel.contracts import (
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
    ToolError,
    ToolErrorCode,
)
from sb.kernel.registry.registry import ToolRegistry

WINDOW_S = 3600


@dataclass
class Bank:
    """The payments that the other system knows.

    Args:
        refunds: idempotency key to refund id. reversed_: refund ids.
        trouble: raised by the next reversals. gate: what they wait for. silent: refunds happen, and nobody hears of it.
    """

    refunds: dict[str, str] = field(default_factory=dict)
    reversed_: list[str] = field(default_factory=list)
    trouble: Exception | None = None
    gate: threading.Event | None = None
    silent: bool = False

    def refund(self, order: str, idempotency_key: str) -> dict[str, Any]:
        refund_id = self.refunds.setdefault(idempotency_key, f"ref_{len(self.refunds) + 1}")
        if self.silent:
            raise TimeoutError("no answer")
        return {"refund_id": refund_id}

    def reverse(self, refund_id: str, password: str = "") -> dict[str, Any]:
        if self.gate is not None:
            self.gate.wait(60)
        if self.trouble is not None:
            raise self.trouble
        if refund_id in self.reversed_:
            raise ToolError(ToolErrorCode.VALIDATION_ERROR, "it was reversed before")
        self.reversed_.append(refund_id)
        return {"reversed": refund_id}

    def preview(self, refund_id: str, password: str = "") -> dict[str, Any]:
        if refund_id in self.reversed_:
            return {"ok": False, "detail": "it was reversed before"}
        return {"ok": True, "detail": f"{refund_id} can be reversed until midnight"}

    def find(self, key: str) -> dict[str, Any]:
        refund_id = self.refunds.get(key)
        return {"done": refund_id is not None, "result": {"refund_id": refund_id}}


bank = Bank()


def register(registry: ToolRegistry) -> None:
    """Add pay.human, pay.dual_control and what undoes them."""
    for mode in (RecoveryApprovalMode.HUMAN, RecoveryApprovalMode.DUAL_CONTROL):
        registry.register_fn(
            f"pay.{mode}",
            "Refund",
            bank.refund,
            SafetyClass.NETWORK,
            reversal=ReversalSpec(
                ReversalClass.COMPENSABLE,
                compensation_capability="pay.reverse",
                recovery_approval_mode=mode,
                reversal_window_ms=WINDOW_S * 1000,
                reversal_args={"refund_id": "result.refund_id", "password": "=hunter2-hunter2"},
                external_handle="result.refund_id",
                preview_capability="pay.preview",
                probe_capability="pay.find",
            ),
        )
    registry.register_fn(
        "pay.reverse",
        "Reverse a refund",
        bank.reverse,
        SafetyClass.NETWORK,
        timeout_ms=60_000,  # a test looks at the console while it runs, on a machine that may be busy
    )
    registry.register_fn(
        "pay.preview",
        "Look at a refund",
        bank.preview,
    )
    registry.register_fn("pay.find", "Find a refund", bank.find)
