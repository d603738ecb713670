"""Govern plain Python functions: every call goes through the kernel."""

from __future__ import annotations

import atexit
import functools
import importlib
import inspect
import logging
import os
import sys
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args, overload
from weakref import WeakValueDictionary

from sb.errors import ContractError, ExitCode, SBError
from sb.kernel.contracts import ReversalSpec, SafetyClass, ToolErrorCode, ToolResult, ToolSpec
from sb.kernel.execution.executor import ToolExecutor, current_run
from sb.kernel.functions.signature import FunctionSignature, signature_of, spec_of
from sb.kernel.functions.values import from_json, to_json
from sb.kernel.registry.registry import IDEMPOTENCY_KEY, ToolRegistry
from sb.kernel.run_context import INTENT_UNSTATED, RunContext

P = ParamSpec("P")
R = TypeVar("R")
OnRefusal = Literal["raise", "return"]


class ToolCallFailed(SBError):
    """The kernel has no result of the call, and no exception of the function says why.

    Args:
        result: what the kernel said: `error_code`, `error_message`, `call_id`.
        outside: the call was in no run but that of its process.
    """

    kind = "tool_call_failed"

    def __init__(self, result: ToolResult, *, outside: bool = False) -> None:
        super().__init__(_sentence(result, outside))
        self.result = result

    @property
    def code(self) -> ToolErrorCode:
        return self.result.error_code or ToolErrorCode.UNEXPECTED

    @property
    def approval_id(self) -> str:
        """The request that waits for a person, or ""."""
        return str((self.result.data or {}).get("approval_id", ""))


class ToolCallRefused(ToolCallFailed):
    """The kernel refused the call: the function did not run."""

    kind = "tool_call_refused"
    exit_code = ExitCode.DENIED


_OUTSIDE = (
    "this call is outside of any run, so it counts against the one run of its process: open a run for each thread,"
    ' task or request around its calls: with runtime.run("AGENT"): …, where runtime = sb.runtime.open_runtime()'
)


def _sentence(result: ToolResult, outside: bool) -> str:
    """The exception's text for program and model: frameworks show nothing else."""
    text = f"{result.tool_id}: {result.error_message}"
    approval_id = (result.data or {}).get("approval_id")
    if approval_id:
        return f"{text}; an operator decides: sb approvals approve {approval_id} --reason WHY; then the same call runs"
    if result.error_code is ToolErrorCode.BUDGET_EXCEEDED:
        return f"{text}; {_OUTSIDE if outside else 'a new run has a budget of its own'}"
    return text


class _Invocation:
    """One call of the function by the kernel; remembers whether it ran, and what it raised.

    Args:
        beside: arguments that are not on record.
        outside: it is in no run but that of its process.
    """

    def __init__(self, function: GovernedFunction, beside: dict[str, Any], *, outside: bool = False) -> None:
        self._function = function
        self._beside = beside
        self.outside = outside
        self.began = False
        self.error: Exception | None = None
        self.__signature__ = function.signature.recorded

    def __call__(self, **recorded: Any) -> Any:
        function = self._function
        bound = function.signature.join(recorded, self._beside)
        self.began, self.error = True, None
        if function.is_async:
            return self._awaited(bound)
        try:
            return _recordable(function.fn(*bound.args, **bound.kwargs))
        except Exception as error:
            self.error = error
            raise

    async def _awaited(self, bound: inspect.BoundArguments) -> Any:
        try:
            return _recordable(await self._function.fn(*bound.args, **bound.kwargs))
        except Exception as error:
            self.error = error
            raise


def _recordable(returned: Any) -> Any:
    return (
        returned if isinstance(returned, ToolResult) else to_json(returned)
    )  # the kernel takes one apart itself


class GovernedFunction:
    """A function, its contract, and how its calls are made.

    Args:
        on_refusal: whether what the kernel says instead of a result is raised, or returned as text.
        wait_s: seconds to wait for a person's decision.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        spec: ToolSpec,
        signature: FunctionSignature,
        on_refusal: OnRefusal,
        wait_s: float,
    ) -> None:
        self.fn = fn
        self.spec = spec
        self.signature = signature
        self.is_async = inspect.iscoroutinefunction(fn)
        self._on_refusal = on_refusal
        self._wait_s = wait_s
        _functions[spec.tool_id] = self

    def by_id(self, **recorded: Any) -> Any:
        """The callable of the registry, for calls by tool id: `executor.execute`, recovery, `sb kernel run`."""
        return _Invocation(self, {})(**recorded)

    def register(self, registry: ToolRegistry) -> None:
        """Register it, and the governed functions of this process that its way back names.

        In an interactive session a function that was defined again replaces the one of the same qualified name;
        a contract that differs from the approved one counts as changed.

        Raises:
            ContractError: another contract has its tool id.
        """
        present = registry.tool(self.spec.tool_id)
        before = getattr(present.fn, "governed", None) if present is not None else None
        if before is self:
            return
        if isinstance(before, GovernedFunction) and self._redefines(before):
            registry.unregister(self.spec.tool_id)
        registry.register(self.spec, _with_signature(self))
        for tool_id in _named_by(self.spec.reversal):
            other = _functions.get(tool_id)
            if other is not None and tool_id not in registry:
                other.register(registry)

    def _redefines(self, before: GovernedFunction) -> bool:
        """True for the newest definition of a function of an interactive `__main__`, such as a cell that ran again."""
        fn, old = self.fn, before.fn
        return (
            fn.__module__ == old.__module__ == "__main__"
            and fn.__qualname__ == old.__qualname__
            and _functions.get(self.spec.tool_id) is self
            and (hasattr(sys, "ps1") or "ipykernel" in sys.modules)
        )

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        executor, ctx, values, invocation = self._prepared(args, kwargs)
        result = executor.execute(ctx, self.spec.tool_id, values, invocation, wait_s=self._wait_s)
        return self._answer(result, invocation)

    async def acall(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        executor, ctx, values, invocation = self._prepared(args, kwargs)
        result = await executor.aexecute(ctx, self.spec.tool_id, values, invocation, wait_s=self._wait_s)
        return self._answer(result, invocation)

    def _prepared(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ToolExecutor, RunContext, dict[str, Any], _Invocation]:
        values, beside = self.signature.split(args, kwargs)
        within = current_run()
        executor, ctx = within or _run_of_process()
        self.register(executor.registry)
        return executor, ctx, values, _Invocation(self, beside, outside=within is None)

    def _answer(self, result: ToolResult, invocation: _Invocation) -> Any:
        if result.success:
            try:
                return from_json(self.signature.returns, result.data)
            except Exception:  # noqa: BLE001 - what STRICT mode has redacted need not be of its type any more
                return result.data
        if invocation.error is not None:
            invocation.error.add_note(f"sb: {result.tool_id}, {result.call_id}: {result.error_message}")
            raise invocation.error
        kind = ToolCallFailed if invocation.began else ToolCallRefused
        failure = kind(result, outside=invocation.outside)
        if self._on_refusal == "return":
            return str(failure)
        raise failure


# By id, so that a way back that names another governed function finds it before anybody has called that one.
_functions: WeakValueDictionary[str, GovernedFunction] = WeakValueDictionary()


def _with_signature(function: GovernedFunction) -> Callable[..., Any]:
    def by_id(**recorded: Any) -> Any:
        return function.by_id(**recorded)

    by_id.__signature__ = function.signature.recorded  # type: ignore[attr-defined]
    by_id.governed = function  # type: ignore[attr-defined]
    return by_id


def _named_by(reversal: ReversalSpec | None) -> list[str]:
    if reversal is None:
        return []
    named = [reversal.compensation_capability, reversal.preview_capability, reversal.probe_capability]
    return [
        *filter(None, named),
        *(assumption.tool_id for assumption in reversal.assumptions if assumption.tool_id),
    ]


_opening = threading.Lock()
_of_process: dict[int, tuple[ToolExecutor, RunContext]] = {}  # by process id: a fork has none of its parent's


def _run_of_process() -> tuple[ToolExecutor, RunContext]:
    """The run of calls that are in no other; opens the runtime of this process's configuration at the first."""
    pid = os.getpid()
    with _opening:
        if pid not in _of_process:
            # By name: it stands above the kernel, and is needed only where a program opened none itself.
            runtime = importlib.import_module("sb.runtime").open_runtime()
            ctx = runtime.context(intent=Path(sys.argv[0]).name, metadata={INTENT_UNSTATED: True})
            atexit.register(_finish, pid, runtime, ctx)
            _of_process[pid] = (runtime.executor, ctx)
        return _of_process[pid]


def _finish(pid: int, runtime: Any, ctx: RunContext) -> None:
    """Put the run's end on record, where the process that began it ends."""
    if os.getpid() != pid:
        return
    try:
        with runtime, runtime.executor.run(ctx):
            pass
    except SBError as error:  # such as a home that was removed meanwhile
        logging.getLogger(__name__).warning("cannot record the end of run %s: %s", ctx.run_id, error.message)


@overload
def governed(fn: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def governed(
    *,
    safety_class: SafetyClass = ...,
    tool_id: str = ...,
    sensitive: Collection[str] = ...,
    injected: Collection[str] = ...,
    reversal: ReversalSpec | None = ...,
    on_refusal: OnRefusal = ...,
    wait_s: float = ...,
    **contract: Any,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def governed(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    safety_class: SafetyClass = SafetyClass.READ_ONLY,
    tool_id: str = "",
    sensitive: Collection[str] = (),
    injected: Collection[str] = (),
    reversal: ReversalSpec | None = None,
    on_refusal: OnRefusal = "raise",
    wait_s: float = 0.0,
    **contract: Any,
) -> Any:
    """Let every call of a function go through the kernel; it keeps its name, signature, docstring and annotations.

    A call belongs to the innermost `Runtime.run` or `ToolExecutor.run` around it, and is made by that executor.
    Outside of one it belongs to one run of this process, in the runtime of its configuration.

    Args:
        safety_class: the most that the function may do. Without it the function is taken for one that only reads.
        tool_id: its name in the kernel; by default module and name.
        sensitive: parameters whose values are never shown.
        injected: parameters that do not come from the model, such as a framework's context: they are passed on and
            are neither judged nor on record. `self` and `cls` are.
        reversal: how what it does is undone.
        on_refusal: "raise", or "return" what the exception would say as text, for frameworks that hand a model what
            a tool returns and end the run where it raises.
        wait_s: seconds to wait for a person's decision, where one is needed.
        contract: other fields of ToolSpec, such as `timeout_ms`, `requires_permission` or `idempotent`.

    Returns:
        The function, which returns what it returned before, or raises what it raised before, ToolCallRefused where
        it was not run, or ToolCallFailed where it ran and the kernel has no result: it took too long, or what it
        returned is not of its type.

    Raises:
        ContractError: the function cannot have a contract; the message says what stands in the way.
    """
    if fn is None:
        return functools.partial(
            governed,
            safety_class=safety_class,
            tool_id=tool_id,
            sensitive=sensitive,
            injected=injected,
            reversal=reversal,
            on_refusal=on_refusal,
            wait_s=wait_s,
            **contract,
        )
    if on_refusal not in get_args(OnRefusal):
        raise ContractError(f"on_refusal is {on_refusal!r}, must be 'raise' or 'return'")
    if not inspect.isfunction(fn) or inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise ContractError(
            f"{fn!r} cannot be governed: only functions and coroutine functions can",
            "put @governed below @staticmethod, @classmethod and a framework's own decorator",
        )
    signature = signature_of(fn, injected)
    contract |= {"reversal": reversal} | ({"tool_id": tool_id} if tool_id else {})
    spec = spec_of(fn, signature, safety_class, sensitive, **contract)
    return _wrapped(GovernedFunction(fn, spec, signature, on_refusal, wait_s))


def register_governed(registry: ToolRegistry, *functions: Callable[..., Any]) -> None:
    """Register governed functions by their tool ids, so that they are known before their first call.

    Raises:
        ContractError: one is not governed, or another contract has its tool id.
    """
    for fn in functions:
        function = getattr(fn, "governed", None)
        if not isinstance(function, GovernedFunction):
            raise ContractError(f"{fn!r} is not governed", "decorate it with @governed")
        function.register(registry)


def register_every_governed(registry: ToolRegistry) -> None:
    """Register the governed functions that this process has loaded, so that their contracts can be approved.

    Raises:
        ContractError: another contract has the tool id of one.
    """
    for function in list(_functions.values()):
        function.register(registry)


def _wrapped(function: GovernedFunction) -> Callable[..., Any]:
    fn = function.fn
    wrapper: Any
    if function.is_async:

        @functools.wraps(fn)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await function.acall(args, kwargs)
    else:

        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function.call(args, kwargs)

    wrapper.__signature__ = function.signature.shown
    hints = inspect.get_annotations(fn)
    wrapper.__annotations__ = {name: hints[name] for name in hints if name != IDEMPOTENCY_KEY}
    wrapper.governed = function
    return cast("Callable[..., Any]", wrapper)
