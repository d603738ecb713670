"""Planner by rules: finds the registered tools that the words of a goal name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from sb.agent.planning import PlanError, PlannedStep, Steps
from sb.base.secrets.redaction import one_line
from sb.kernel.contracts import ToolArgSchema, ToolSpec

_CLAUSES = re.compile(r"\s*(?:;|\n|,?\s\bthen\b)\s*")
_GIVEN = re.compile(r"""\b(\w+)=("(?:[^"\\]|\\.)*"|'[^']*'|\S+)""")
_WORD = re.compile(r"[a-z0-9]+")
_LONGEST_GOAL = 10_000
_SHOWN = 60


class GoalPlanner:
    """Makes one step of each part of a goal: "look up order 1002, then refund order=1002".

    The tool is the one whose id and name have most of their words in that part; its id may stand there as it is.
    Arguments are written `name=value` or `name value`; one missing text is the goal itself. It guesses nothing: what
    fits no tool, or two alike, is a PlanError.
    """

    document = None

    def steps(self, goal: str, tools: Sequence[ToolSpec], *, dry_run: bool = False) -> Steps:
        """The steps of a goal; see `Planner`."""
        if len(goal) > _LONGEST_GOAL:
            raise PlanError(f"the goal has {len(goal):,} characters, at most {_LONGEST_GOAL:,} are read")
        parts = [part for part in _CLAUSES.split(goal) if part.strip()]
        planned = [_step(part, tools) for part in parts]
        if not planned:
            raise PlanError("the goal is empty", "say what is to be done")
        output = None
        for position, step in enumerate(planned):
            artifact = yield PlannedStep(step.tool, step.args, f"{position + 1} {step.tool}")
            output = artifact.output
        return output


def _step(part: str, tools: Sequence[ToolSpec]) -> PlannedStep:
    spec = _tool_for(part, tools)
    return PlannedStep(spec.tool_id, _arguments(part, spec))


def _tool_for(part: str, tools: Sequence[ToolSpec]) -> ToolSpec:
    named = [spec for spec in tools if re.search(rf"(?<![\w.]){re.escape(spec.tool_id)}(?![\w.])", part)]
    if named:
        return max(named, key=lambda spec: len(spec.tool_id))
    asked = set(_stems(_GIVEN.sub(" ", part)))
    scores = {spec.tool_id: _share(spec, asked) for spec in tools}
    best = max(scores.values(), default=0.0)
    fitting = [spec for spec in tools if best and scores[spec.tool_id] == best]
    shown = one_line(part, _SHOWN)
    if not fitting:
        known = ", ".join(sorted(scores)[:8]) or "none"
        raise PlanError(f"no registered tool fits {shown!r}", f"name one by its id; registered: {known}")
    if len(fitting) > 1:
        names = " and ".join(spec.tool_id for spec in fitting[:3])
        raise PlanError(f"{names} fit {shown!r} alike", "name the one that is meant by its id")
    return fitting[0]


def _share(spec: ToolSpec, asked: set[str]) -> float:
    """The share of the words of a tool's id and name that are asked for."""
    words = set(_stems(f"{spec.tool_id} {spec.name}"))
    return len(words & asked) / len(words) if words else 0.0


def _stems(text: str) -> Iterator[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).casefold()
    for word in _WORD.findall(spaced):
        yield word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _arguments(part: str, spec: ToolSpec) -> dict[str, Any]:
    written = {name: _unquoted(value) for name, value in _GIVEN.findall(part)}
    if not spec.args_schema:
        return {name: _json_or_text(value) for name, value in written.items()}
    for schema in spec.args_schema:
        beside = re.search(rf"\b{re.escape(schema.name)}\s+(\S+)", part, re.IGNORECASE)
        if schema.name not in written and beside and schema.required:
            written[schema.name] = beside[1].strip(",.;")
    known = {schema.name: schema for schema in spec.args_schema}
    values = {name: _value(known.get(name), name, value, spec) for name, value in written.items()}
    missing = [schema for schema in spec.args_schema if schema.required and schema.name not in values]
    if len(missing) == 1 and missing[0].type == "string" and not written:
        return {missing[0].name: part.strip()}
    if missing:
        names = ", ".join(schema.name for schema in missing)
        raise PlanError(f"{spec.tool_id} needs {names}", f"write {missing[0].name}=… in the goal")
    return values


def _unquoted(value: str) -> str:
    return (
        value[1:-1] if len(value) > 1 and value[0] in "\"'" and value[0] == value[-1] else value.rstrip(",;")
    )


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _value(schema: ToolArgSchema | None, name: str, value: str, spec: ToolSpec) -> Any:
    if schema is None:
        known = ", ".join(each.name for each in spec.args_schema)
        raise PlanError(f"{spec.tool_id} has no argument {name}", f"it has: {known}")
    if schema.type == "string":
        return value
    read = _json_or_text(value)
    if isinstance(read, str) and schema.type != "any":
        raise PlanError(
            f"{name} of {spec.tool_id} must be of type {schema.type}, not {one_line(value, _SHOWN)!r}"
        )
    return read
