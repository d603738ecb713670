"""Planner by a language model: it asks for calls, is told what became of them, and answers at the end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sb.agent.planning import PlanError, PlannedStep, Question, Steps
from sb.agent.prompting import compile_prompt
from sb.agent.run_record import StepArtifact
from sb.base.secrets.redaction import one_line
from sb.base.text import json_text
from sb.kernel.contracts import CompiledContextItem, ToolSpec
from sb.protocols import ModelMessage, ModelProtocol, ToolDefinition

MOST_TURNS = 50  # questions to the model in one run
MOST_CALLS = 16  # that one answer may ask for
_LONGEST_RESULT = 20_000  # characters of a result that a model is told
_LONGEST_ERROR = 500
INSTRUCTIONS = (
    "Work towards the goal with the tools. Call a tool only where the goal needs it. A call may be refused, or wait for "
    "a person: then say so, and do not try another way around it. At the end say what was done, and what was not."
)


class ModelPlanner:
    """Asks a model for the next calls.

    Each answer of the model is a step of the journal: a resumed run hears the same answers, and asks for no call twice.
    A call that fails is told to the model, which may go another way.

    Args:
        model: any `ModelProtocol`, such as `LLMModel`. context: what its prompt has beside the instructions.
    """

    def __init__(
        self,
        model: ModelProtocol,
        *,
        instructions: str = INSTRUCTIONS,
        context: Sequence[CompiledContextItem] = (),
        temperature: float | None = None,
    ) -> None:
        self._model = model
        self._temperature = temperature
        self.prompt = compile_prompt(instructions, context)

    @property
    def document(self) -> dict[str, Any]:
        """The model and its prompt."""
        return {"model": self._model.model_id, "prompt": self.prompt.text}

    def steps(self, goal: str, tools: Sequence[ToolSpec], *, dry_run: bool = False) -> Steps:
        """The model's calls, one after the other; in a dry run those of its first answer."""
        names = _named(tools)
        messages = [ModelMessage("user", goal)]
        for turn in range(1, MOST_TURNS + 1):
            answered = yield Question(f"{turn} {self._model.model_id}", lambda: self._ask(messages, names))
            answer = answered.output
            calls = answer["calls"][:MOST_CALLS]
            if not calls:
                return answer["content"]
            messages.append(ModelMessage("assistant", answer["content"], tool_calls=calls))
            for number, call in enumerate(calls, 1):
                spec = names.get(call["name"])
                if spec is None:
                    known = ", ".join(sorted(names)[:20])
                    outcome = f"there is no tool {one_line(call['name'], 80)}; tools: {known}"
                else:
                    step = PlannedStep(
                        spec.tool_id, call["arguments"], f"{turn}.{number} {spec.tool_id}", goes_on=True
                    )
                    outcome = _told((yield step))
                messages.append(ModelMessage("tool", outcome, name=call["name"], tool_call_id=call["id"]))
            if dry_run:
                return None
        raise PlanError(f"the model asked for more after {MOST_TURNS} answers")

    def _ask(self, messages: Sequence[ModelMessage], names: Mapping[str, ToolSpec]) -> dict[str, Any]:
        """The model's answer in plain JSON, whatever it sent."""
        definitions = [
            ToolDefinition(name, spec.description or spec.name, _schema(spec)) for name, spec in names.items()
        ]
        response = self._model.generate(
            list(messages), tools=definitions, system=self.prompt.text, temperature=self._temperature
        )
        calls = list(_calls(response.tool_calls))
        usage = {
            name: count
            for name, count in (response.usage or {}).items()
            if isinstance(count, int) and not isinstance(count, bool) and count >= 0
        }
        return {"content": str(response.content or ""), "calls": calls, "usage": usage}


def _calls(asked: Any) -> Iterator[dict[str, Any]]:
    for number, call in enumerate(asked if isinstance(asked, list) else [], 1):
        if isinstance(call, Mapping) and isinstance(call.get("name"), str):
            arguments = call.get("arguments")
            yield {
                "id": str(call.get("id") or f"call_{number}"),
                "name": call["name"],
                "arguments": _finite(arguments) if isinstance(arguments, Mapping) else {},
            }


def _finite(arguments: Mapping[str, Any]) -> Any:
    """Arguments in plain JSON; NaN and infinities become texts, which no tool takes for numbers."""
    return json.loads(json.dumps(arguments, default=str), parse_constant=str)


def _told(artifact: StepArtifact) -> str:
    """The outcome of a call, for the model."""
    if not artifact.ok:
        return f"error: {one_line(artifact.error, _LONGEST_ERROR)}"
    text = artifact.output if isinstance(artifact.output, str) else json_text(artifact.output)
    cut = len(text) - _LONGEST_RESULT
    return text if cut <= 0 else f"{text[:_LONGEST_RESULT]}\n({cut:,} more characters)"


def _named(tools: Sequence[ToolSpec]) -> dict[str, ToolSpec]:
    """Tools by names as providers allow them: 64 letters, digits, _ and -; those that would be alike are numbered."""
    named: dict[str, ToolSpec] = {}
    for spec in tools:
        name = re.sub(r"[^A-Za-z0-9_-]", "__", spec.tool_id)[:64]
        number = 2
        while name in named:
            name, number = f"{name[:60]}_{number}", number + 1
        named[name] = spec
    return named


def _schema(spec: ToolSpec) -> dict[str, Any]:
    properties = {
        arg.name: {} if arg.type == "any" else {"type": arg.type, "description": arg.description}
        for arg in spec.args_schema
    }
    required = [arg.name for arg in spec.args_schema if arg.required]
    return {"type": "object", "properties": properties, "required": required}
