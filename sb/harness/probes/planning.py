"""Probes of agents' runs: plan and calls apart, and nothing leaves that a critic or the gate holds back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

from sb.agent.agentic import AgenticRuntime
from sb.agent.attempt import BUDGET_EXHAUSTED
from sb.agent.model_planner import ModelPlanner
from sb.agent.prompting import ForgedContext, compile_prompt
from sb.agent.run_record import Critique, RunRecord
from sb.harness.harness import Counted, Harness
from sb.harness.probes.judgement import trusted_outcomes
from sb.kernel.contracts import CompiledContextItem
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.harness_audit import Check
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.run_context import RunBudget, RunContext
from sb.protocols import ModelCapabilities, ModelChunk, ModelMessage, ModelResponse
from sb.runtime.parts import output_gate

_GOAL = "probe.first, then probe.second"
_KEY = "AKIA" + "Q3EGRIZ4TWPDF6XM"


def planner_and_executor(h: Harness) -> Iterator[Check]:
    """HA-26."""
    tool, runtime = _agent()
    planned = runtime.run(_GOAL, h.context(metadata={"dry_run": True}))
    steps, before = [artifact.tool for artifact in planned.artifacts], tool.called
    made = runtime.run(_GOAL, h.context())
    right = steps == ["probe.first", "probe.second"] == [artifact.tool for artifact in made.artifacts]
    right &= all(artifact.ok for artifact in made.artifacts) and tool.called == before + 2
    yield Check("plan", right, f"AgenticRuntime.run: planned {steps}, then {_saw(made)}; {tool}")
    yield _dry(planned, before)
    tool, runtime = _agent()
    short = runtime.run(_GOAL, h.context(budget=RunBudget(max_tool_calls=1)))
    last = short.artifacts[-1]
    right = (last.ok, last.error, tool.called) == (False, BUDGET_EXHAUSTED, 1)
    yield Check("exhausted", right, f"AgenticRuntime.run with one call left: {_saw(short)}; {tool}")


def online_validation(h: Harness) -> Iterator[Check]:
    """HA-18."""
    yield from trusted_outcomes(h)
    with h.open() as opened:
        gate = output_gate(opened.log)
        _, runtime = _agent(f"the key is {_KEY}", gate=gate)
        record = runtime.run("probe.first", h.context())
        right = _KEY not in str(record.output) and record.output is not None
        yield Check("disclosure", right, f"AgenticRuntime.run with the output gate: {record.output!r}")

    def critic(record: RunRecord) -> Critique:
        raise RuntimeError("the critic cannot judge")

    _, runtime = _agent(critic=critic)
    record = runtime.run("probe.first", h.context())
    right = record.output is None and not record.critique.passed
    yield Check("critic", right, f"AgenticRuntime.run with a critic that raises: {_saw(record)}")
    tool, runtime = _agent()
    planned = runtime.run(_GOAL, h.context(metadata={"dry_run": True}))
    yield _dry(planned, tool.called)


def compiled_prompt() -> Iterator[Check]:
    """Of HA-02: the prompt of an agent is what was compiled, each item as it was stored."""
    content = "Refunds up to 50 EUR need no question."
    stored = CompiledContextItem("policy", "pack.limits", content, sha256(content.encode()).hexdigest(), 9)
    model = _Listener()
    _, runtime = _agent(planner=ModelPlanner(model, instructions="Be brief.", context=[stored]))
    record = runtime.run("say it", RunContext.create("agent"))
    right = record.output == "heard" and model.system == compile_prompt("Be brief.", [stored]).text
    right &= content in model.system and stored.content_hash[:16] in model.system
    try:
        ModelPlanner(model, context=[replace(stored, content=content.replace("50", "5000"))])
        forged = "accepted"
    except ForgedContext as error:
        forged = f"refused: {error.message}"
    right &= forged != "accepted"
    yield Check(
        "wired", right, f"ModelPlanner: {len(model.system)} characters sent; a changed item is {forged}"
    )


class _Listener:
    """A model that says that it heard, and keeps its system prompt."""

    model_id = "probe"
    capabilities = ModelCapabilities("probe", "probe", 0)
    system = ""

    def generate(self, messages: list[ModelMessage], *, system: str | None = None, **_: Any) -> ModelResponse:
        self.system = system or ""
        return ModelResponse("heard")

    def stream(self, messages: list[ModelMessage], **_: Any) -> Iterator[ModelChunk]:
        yield ModelChunk("heard", is_final=True)


def _dry(planned: RunRecord, called: int) -> Check:
    right = called == 0 and planned.dry_run and planned.critique.passed and len(planned.artifacts) == 2
    return Check("dry", right, f"AgenticRuntime.run as a dry run: {_saw(planned)}; {called} calls")


def _agent(answer: str = "done", **given: object) -> tuple[Counted, AgenticRuntime]:
    registry, tool = ToolRegistry(), Counted(lambda: answer)
    for name in ("first", "second"):
        registry.register_fn(f"probe.{name}", name.title(), tool)
    return tool, AgenticRuntime(executor=ToolExecutor(registry), **given)  # type: ignore[arg-type]


def _saw(record: RunRecord) -> str:
    oks = [artifact.ok for artifact in record.artifacts]
    return f"{record.state}, steps {oks}, passed {record.critique.passed}, output {record.output!r}"
