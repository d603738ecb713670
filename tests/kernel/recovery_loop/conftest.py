"""A shop with a ledger, whose refunds can be reversed, opened as every face opens it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SteeredClock
from sb.config import load_config
from sb.kernel import RunContext, SafetyClass, ToolResult
from sb.kernel.authority.signing import Label
from sb.kernel.contracts import (
    Assumption,
    BlastRadius,
    MutationRef,
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
    ToolError,
    ToolErrorCode,
)
from sb.runtime import Runtime, open_runtime

ADA, GRACE = Label("ada"), Label("grace")
WINDOW_S = 3600


@dataclass
class Shop:
    """Real tools over what is kept in this object; `trouble` makes the next reversal fail.

    Args:
        refunds: idempotency key to refund id. reversed_: refund ids.
    """

    home: Path
    files: Path
    clock: SteeredClock
    runtime: Runtime = field(init=False)
    orders: dict[int, str] = field(default_factory=lambda: {1: "open", 2: "open"})
    refunds: dict[str, str] = field(default_factory=dict)
    reversed_: list[str] = field(default_factory=list)
    trouble: Exception | None = None
    refund_trouble: Exception | None = None

    def refund(self, order: int, amount: float, idempotency_key: str) -> dict[str, Any]:
        refund_id = self.refunds.setdefault(idempotency_key, f"ref_{len(self.refunds) + 1}")
        if self.refund_trouble is not None:
            raise self.refund_trouble
        return {"refund_id": refund_id}

    def reverse(self, refund_id: str) -> dict[str, Any]:
        if self.trouble is not None:
            raise self.trouble
        if refund_id in self.reversed_:
            raise ToolError(ToolErrorCode.VALIDATION_ERROR, "it was reversed before")
        self.reversed_.append(refund_id)
        return {"reversed": refund_id}

    def find(self, key: str) -> dict[str, Any]:
        refund_id = self.refunds.get(key)
        return {"done": refund_id is not None, "result": {"refund_id": refund_id}}

    def read(self, order: int) -> dict[str, Any]:
        return {"state": self.orders[order]}

    def open(self, **settings: Any) -> Runtime:
        """A runtime of its own over the same home, as another process has one."""
        env = {"SB_HOME": str(self.home), "HOME": str(self.home.parent)}
        config = load_config(env=env, cwd=self.home, flags={})
        runtime = open_runtime(config, clock=self.clock)
        for mode in RecoveryApprovalMode:
            runtime.registry.register_fn(f"pay.{mode}", "Refund", self.refund, **_refunding(mode))
        register = runtime.registry.register_fn
        register("pay.reverse", "Reverse a refund", self.reverse, SafetyClass.NETWORK)
        register("pay.find", "Find a refund", self.find)
        register("orders.read", "Read an order", self.read)
        return runtime

    def call(self, tool_id: str = "pay.human", ctx: RunContext | None = None, **args: Any) -> ToolResult:
        ctx = ctx or RunContext.create("clerk", clock=self.clock)
        return self.runtime.executor.execute(ctx, tool_id, args or {"order": 1, "amount": 5})

    def done(self, tool_id: str = "pay.human", **args: Any) -> MutationRef:
        """A call that succeeded, by what it left behind."""
        result = self.call(tool_id, **args)
        assert result.success, result
        return self.ref(result.mutation_id)

    def ref(self, mutation_id: str) -> MutationRef:
        return self.runtime.recovery.mutations.get(mutation_id)


def _refunding(mode: RecoveryApprovalMode) -> dict[str, Any]:
    reversal = ReversalSpec(
        ReversalClass.COMPENSABLE,
        compensation_capability="pay.reverse",
        recovery_approval_mode=mode,
        reversal_window_ms=WINDOW_S * 1000,
        blast_radius=BlastRadius(max_calls_per_run=3, max_value_per_run=100),
        reversal_args={"refund_id": "result.refund_id"},
        assumptions=(
            Assumption(
                "order_not_shipped:{args.order}",
                tool_id="orders.read",
                args={"order": "args.order"},
                path="state",
                equals="=open",
            ),
        ),
        external_handle="result.refund_id",
        probe_capability="pay.find",
    )
    metadata = {"risk_dimension": "money", "value_arg": "amount"}
    return {"safety_class": SafetyClass.NETWORK, "reversal": reversal, "metadata": metadata}


def approve(runtime: Runtime) -> None:
    """Approve every contract and every way back of a runtime's tools."""
    for store in (runtime.baselines, runtime.reversals):
        store.seen.note_all(runtime.registry)
        store.approve(store.seen.fingerprints(runtime.registry), Label("tester"), "the test's own tools")


@pytest.fixture
def shop(tmp_path: Path, clock: SteeredClock) -> Iterator[Shop]:
    home, files = tmp_path / "home", tmp_path / "files"
    home.mkdir(mode=0o700)
    files.mkdir()
    (home / "config.yaml").write_text(f"files:\n  roots: [{files}]\n", encoding="utf-8")
    shop = Shop(home, files, clock)
    shop.runtime = shop.open()
    approve(shop.runtime)
    yield shop
    shop.runtime.close()
