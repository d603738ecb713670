"""Executors with a tool that fails as told, and one whose effect can be undone."""

from __future__ import annotations

from typing import Any

from sb.base.sources import CountingIds, SteeredClock
from sb.kernel import (
    ErrorKind,
    FailureNotice,
    RunBudget,
    RunContext,
    SafetyClass,
    ToolExecutor,
    ToolPolicy,
    ToolRegistry,
    ToolResult,
    executor_dispatcher,
    tool_failure,
)
from sb.kernel.contracts import MutationRef, ReversalClass, ReversalSpec
from sb.log.event import Event

READ, WRITE, NETWORK = SafetyClass.READ_ONLY, SafetyClass.LOCAL_WRITE, SafetyClass.NETWORK


class World:
    """An executor with one tool that fails as told, a dispatcher over it, and what people were told."""

    def __init__(self, clock: SteeredClock, ids: CountingIds) -> None:
        self.clock = clock
        self.registry = ToolRegistry()
        policy = ToolPolicy.normal(blocked_tools={"t.blocked"})
        self.executor = ToolExecutor(self.registry, policy, reversibility="observe", clock=clock, ids=ids)
        self.ctx = RunContext.create(
            agent_name="a", budget=RunBudget(max_tool_calls=100), clock=clock, ids=ids
        )
        self.told: list[FailureNotice] = []
        self.dispatcher = executor_dispatcher(self.executor, escalate=self.told.append, ids=ids)
        self.left: list[BaseException] = []
        self.runs = 0
        self.args: dict[str, Any] = {}

    def add(self, *failures: BaseException, safety_class: SafetyClass = READ, **contract: Any) -> None:
        self.left = list(failures)

        def tool(**args: Any) -> Any:
            self.runs += 1
            self.args = args
            if self.left:
                raise self.left.pop(0)
            return {"done": True}

        self.registry.register_fn("t.x", "X", tool, safety_class, max_retries=0, **contract)

    def call(self, args: dict[str, Any] | None = None, **options: Any) -> ToolResult:
        return self.executor.execute(self.ctx, "t.x", args, **options)

    def dispatch(self, result: ToolResult | BaseException, **options: Any) -> Any:
        call_id = result.call_id if isinstance(result, ToolResult) else "call_01"
        options = {"tool_id": "t.x", "call_id": call_id, "args": {}} | options
        return self.dispatcher.dispatch(self.ctx, result=result, **options)

    def escalations(self) -> list[Event]:
        return list(self.executor.event_log.events(kind="recovery.escalated"))


def failed(kind: ErrorKind, **details: Any) -> ToolResult:
    failure = tool_failure(kind, "it went wrong")
    return ToolResult.error("t.x", failure.code, str(failure), **details)


class Undoable(World):
    """A world whose tool leaves something behind that another tool undoes."""

    def __init__(self, clock: SteeredClock, ids: CountingIds) -> None:
        super().__init__(clock, ids)
        self.add(
            safety_class=NETWORK,
            reversal=ReversalSpec(
                ReversalClass.COMPENSABLE,
                "t.undo",
                reversal_window_ms=60_000,
                reversal_args={"what": "args.what"},
            ),
        )
        self.done = self.call({"what": "w1"})
        self.undone: list[dict[str, Any]] = []

    def runner(self, ref: MutationRef) -> ToolResult:
        self.undone.append(ref.reversal_args)
        return ToolResult.ok(ref.reversal_tool)
