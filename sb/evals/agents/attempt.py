"""One attempt of an agent that is a Python function: it runs under the kernel of its home, and answers in lines."""

from __future__ import annotations

import inspect
import random
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sb
from sb.base.secrets.redaction import one_line
from sb.base.values.frozen import frozen
from sb.config import Config, current_config
from sb.errors import SBError
from sb.evals.agents.tools import Tools
from sb.evals.answer import AgentRun
from sb.evals.exchange.recording import call_document
from sb.evals.kernel import agent_name, approve_contracts, home_config, open_kernel
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.execution.outcome import Outcome
from sb.kernel.functions.governed import register_every_governed
from sb.kernel.run_context import RunContext
from sb.kernel.trajectory_eval.model import RecordedCall
from sb.runtime import Runtime

Function = Callable[..., Any]
Write = Callable[[Mapping[str, Any]], None]
_LIBRARIES = ("<", str(Path(sb.__file__).parent), *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))


@frozen
class AgentContext:
    """The context that an agent gets beside its input.

    Args:
        seed: for its own chance. folder: its working folder, which is also the current one.
        run: the kernel's run that its calls belong to. runtime: the kernel itself, as `open_runtime` gives it.
    """

    case_id: str
    attempt: int
    vars: Mapping[str, Any]
    seed: int
    folder: Path
    run: RunContext
    runtime: Runtime


class CallLines:
    """Writes down each call of a run as a line; see `sb.kernel.execution.capturing`.

    A request that a person answers at once is one call, and what becomes of it then is what counts.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._began = time.perf_counter()
        self._asked: dict[int, dict[str, Any]] = {}  # by thread, the call that was just asked about
        self._lock = threading.Lock()

    def began(self, ctx: RunContext, facts: dict[str, Any]) -> dict[str, Any]:
        return {}

    def refused(self, call: ToolCall, refusal: Refused) -> dict[str, Any]:
        line = self._line(call, success=False, ms=0.0)
        if refusal.rule == "requires_approval":
            self._put_asked()
            self._asked[threading.get_ident()] = line
        else:
            self._put(line)
        return {}

    def ended(self, call: ToolCall, outcome: Outcome) -> dict[str, Any]:
        self._put(self._line(call, success=outcome.code is None, ms=outcome.latency_ms))
        return {}

    def finished(self, ctx: RunContext, error: str) -> dict[str, Any]:
        for line in self._asked.values():
            self._write(line)
        self._asked.clear()
        return {}

    def _put(self, line: dict[str, Any]) -> None:
        asked = self._asked.pop(threading.get_ident(), None)
        if asked is not None and (asked["tool"], asked["args"]) == (line["tool"], line["args"]):
            line["at"] = asked["at"]
        elif asked is not None:
            self._send(asked)
        self._send(line)

    def _put_asked(self) -> None:
        asked = self._asked.pop(threading.get_ident(), None)
        if asked is not None:
            self._send(asked)

    def _send(self, line: dict[str, Any]) -> None:
        with self._lock:
            self._write(line)

    def _line(self, call: ToolCall, *, success: bool, ms: float) -> dict[str, Any]:
        args = call.args if isinstance(call.args, dict) else {}
        safety_class = call.spec.effective_class if call.known else None
        made = RecordedCall(call.tool_id, args, success, safety_class, ms, call.call_id)
        at = time.perf_counter() - self._began - ms / 1000
        return {"type": "tool_call", "at": round(max(at, 0.0), 6), **call_document(made)}


def answer_case(
    function: Function, request: Mapping[str, Any], write: Write, log: Callable[[str], object]
) -> None:
    """Run the agent on one case, and write its answer's lines. Raises nothing that it raises.

    Args:
        request: as `request_document` makes it, with `approve`.
        log: is given the traceback of an agent that fails.
    """
    random.seed(request["seed"])
    try:
        config = home_config(Path(request["home"]), Path(request["folder"]))
        with _kernel(config, request, CallLines(write)) as (runtime, ctx):
            context = AgentContext(
                request["id"],
                request["attempt"],
                request["vars"],
                request["seed"],
                Path(request["folder"]),
                ctx,
                runtime,
            )
            returned = _call(function, request["input"], Tools(runtime, ctx), context)
        write(_final(returned))
    except SBError as error:
        write({"type": "error", "message": error.message})
    except BaseException as error:  # noqa: BLE001 - agents may raise anything, SystemExit too
        log("".join(traceback.format_exception(error)))
        write({"type": "error", "message": one_line(f"{type(error).__name__}: {error}{_place(error)}", 300)})


def _place(error: BaseException) -> str:
    """Where an agent's own code failed: the innermost line that is neither ours nor an installed library's."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_LIBRARIES)
    ]
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""


def warm_up() -> None:
    """Open and close a kernel in this process's home, so that its forks find all modules loaded."""
    config = current_config(with_project=False)
    request = {"seed": 0}
    with _kernel(config, request, CallLines(lambda line: None)):
        pass


@contextmanager
def _kernel(
    config: Config, request: Mapping[str, Any], capture: CallLines
) -> Iterator[tuple[Runtime, RunContext]]:
    approve = tuple(request.get("approve", ()))
    with open_kernel(config, seed=request["seed"], approve=approve, capture=capture) as runtime:
        register_every_governed(runtime.registry)
        approve_contracts(runtime)
        ctx = runtime.context(agent_name(config))
        with runtime.executor.run(ctx):
            yield runtime, ctx


def _call(function: Function, value: Any, tools: Tools, context: AgentContext) -> Any:
    """Call the agent with what of `tools` and `ctx` it takes."""
    offered = {"tools": tools, "ctx": context}
    parameters = inspect.signature(function).parameters.values()
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        names = {parameter.name for parameter in parameters}
        offered = {name: part for name, part in offered.items() if name in names}
    returned = function(value, **offered)
    if inspect.isawaitable(returned):
        import asyncio  # and what it imports for networks, which few agents need

        return asyncio.run(_awaited(returned))
    return returned


async def _awaited(returned: Any) -> Any:
    return await returned


def _final(returned: Any) -> dict[str, Any]:
    run = AgentRun(returned) if isinstance(returned, str) else returned
    if not isinstance(run, AgentRun):
        kind = type(returned).__name__
        return {"type": "error", "message": f"it returned {kind}; an agent returns a text or an AgentRun"}
    return {"type": "final", "output": run.output, "cost_cents": run.cost_cents, "calls": list(run.calls)}
