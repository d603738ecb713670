"""The harness that probes work with: a SecondBrain of its own, opened as every face opens one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from pathlib import Path
from typing import Any

from sb.base.sources import CountingIds, SteeredClock
from sb.config.home import Home
from sb.config.model import assemble
from sb.kernel.authority.signing import Label
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.contracts import SafetyClass, ToolResult
from sb.kernel.registry.registry import SHIPPED, RegisteredTool
from sb.kernel.run_context import RunContext
from sb.runtime import Runtime, open_runtime

AUDITOR = Label("auditor")


class Counted:
    """A tool's function that counts how often it is called, and keeps what it was called with."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        update_wrapper(self, answer)  # so that the kernel sees the parameters of the answer
        self._answer = answer
        self.calls: list[dict[str, Any]] = []

    @property
    def called(self) -> int:
        """The number of calls."""
        return len(self.calls)

    def __call__(self, **args: Any) -> Any:
        self.calls.append(args)
        return self._answer(**args)

    def __str__(self) -> str:
        return f"tool called {self.called}x so far"


class Harness:
    """A temporary home with the default settings, a clock that the probe moves, and ids that count.

    Args:
        folder: empty; the home is made in it, beside whatever the probe keeps there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = SteeredClock()
        self.ids = CountingIds()
        self._own = set[str]()

    def open(self, settings: Mapping[str, Any] | None = None, *, tracer_provider: Any = None) -> Runtime:
        """Open the home; a second time is what a restart does.

        Args:
            settings: key of a setting, such as ``kill.dual_control``, to its value.
            tracer_provider: as for open_runtime.
        """
        home = Home(self.folder / "home")
        config = assemble(home, settings or {}, {}, ())
        return open_runtime(config, clock=self.clock, ids=self.ids, tracer_provider=tracer_provider)

    def context(self, agent: str = "agent", **given: Any) -> RunContext:
        """The context of a new run; `given` as for RunContext.create."""
        return RunContext.create(agent, clock=self.clock, ids=self.ids, **given)

    def tool(
        self,
        runtime: Runtime,
        tool_id: str,
        answer: Callable[..., Any] = lambda: "done",
        safety_class: SafetyClass = SafetyClass.READ_ONLY,
        *,
        approved: bool = True,
        **declared: Any,
    ) -> Counted:
        """Register a tool whose calls are counted.

        Args:
            answer: what it does; its parameters are the tool's.
            approved: approve its contract and its way back as well.
            declared: as for ToolRegistry.register_fn.
        """
        counted = Counted(answer)
        self._own.add(tool_id)
        with runtime.registry.source(SHIPPED):  # or what declares no undo would ask a person first
            runtime.registry.register_fn(tool_id, tool_id, counted, safety_class, **declared)
        if approved:
            self.approve(runtime)
        return counted

    def approve(self, runtime: Runtime) -> None:
        """Approve the contract and the way back of each of the probe's own tools, as they are registered now."""
        tools = map(runtime.registry.tool, runtime.registry.list_ids())
        own = [tool for tool in tools if tool and (tool.source != SHIPPED or tool.spec.tool_id in self._own)]
        for store in (runtime.baselines, runtime.reversals):
            _approve(store, runtime, own)


def saw(result: ToolResult, tool: Counted | None = None) -> str:
    """Evidence: what an execution gave, and how often its tool was called."""
    given = "success" if result.success else str(result.error_code)
    return f"ToolExecutor.execute: {given}" + (f"; {tool}" if tool else "")


@contextmanager
def broken(part: object, name: str) -> Iterator[None]:
    """Let a method of one object raise, as a part that fails does."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("broken by the probe")

    setattr(part, name, fail)
    try:
        yield
    finally:
        delattr(part, name)


def _approve(store: ContractBaselineStore, runtime: Runtime, tools: Sequence[RegisteredTool]) -> None:
    contracts = store.seen.fingerprints_of(tools)  # the others declare no way back
    if contracts:
        with runtime.log.write() as write:
            for tool in tools:
                if tool.spec.tool_id in contracts:
                    store.seen.note(write, tool, contracts[tool.spec.tool_id])
        store.approve(contracts, AUDITOR, "the probe's own tools")
