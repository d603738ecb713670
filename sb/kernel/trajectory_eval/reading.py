"""Read trajectories from the plain values of a file, strictly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sb.base.reading import (
    Field,
    Kind,
    Place,
    Report,
    WrongValue,
    choice,
    flag,
    integer,
    items,
    mapping,
    number,
    one_or_more,
    record,
    text,
)
from sb.errors import ConfigError
from sb.kernel.contracts import SafetyClass
from sb.kernel.trajectory_eval import names
from sb.kernel.trajectory_eval.model import ArgsMatch, Extras, Mode, RecordedCall, Trajectory, TrajectoryStep

MAX_STEPS = 1_000
T = TypeVar("T")


def _pattern() -> Kind[str]:
    """A name of tools that may be a pattern."""
    plain = text()

    def read(value: Any, place: Place) -> str:
        pattern = plain.read(value, place)
        try:
            names.compile_pattern(pattern)
        except names.BadPattern as error:
            raise place.refuse(str(error)) from None
        return pattern

    return Kind(read, {**plain.schema, "maxLength": names.LONGEST_PATTERN})


_PATTERNS = one_or_more(_pattern(), items(_pattern(), least=0))


def _step(values: dict[str, Any], place: Place) -> TrajectoryStep:
    if ("tool" in values) == ("tool_pattern" in values):
        which = "has both" if "tool" in values else "has neither"
        raise place.refuse(f"{which} tool and tool_pattern", "write one of them")
    if "args_subset" in values:
        if "args" in values:
            raise place.refuse("has both args and args_subset, which mean the same", "write one of them")
        if values.get("args_match") == ArgsMatch.EXACT:
            raise place.refuse("has args_subset, but args_match: exact", "write args")
        values["args"] = values.pop("args_subset")
    return TrajectoryStep(**values)


_STEP_FIELDS = (
    Field("tool", text(), "A tool's whole name."),
    Field("tool_pattern", _pattern(), "A glob over the whole name, or re: and a regular expression."),
    Field("args", mapping(), "What the arguments must hold."),
    Field("args_subset", mapping(), "The same as args."),
    Field("args_match", choice(*ArgsMatch), "How arguments are compared; subset by default."),
    Field("optional", flag(), "Whether the run may leave it out."),
    Field("require_success", flag(), "Whether the call must have succeeded."),
    Field("max_calls", integer(1, 1_000_000), "How many calls of the whole run may fit this step."),
)


def _trajectory(values: dict[str, Any], place: Place) -> Trajectory:
    trajectory = Trajectory(**values)
    for index, step in enumerate(trajectory.steps):
        for name in trajectory.forbid:
            if name == step.name or (step.tool and names.matches(name, step.tool)):
                steps = place.below(place.value, "steps")
                raise steps.below(steps.value, index).refuse(
                    f"{step.name} is a step, but {name} is forbidden", "leave out one of them"
                )
    return trajectory


TRAJECTORY_FIELDS = (
    Field("mode", choice(*Mode), "The order of the steps; subsequence by default."),
    Field(
        "forbid", _PATTERNS, "Tools that must not be called: names, globs, or re: and a regular expression."
    ),
    Field("steps", items(record(_STEP_FIELDS, _step), least=0, most=MAX_STEPS), "The expected calls."),
    Field("extras", choice(*Extras), "Other calls: forbid (default if strict), read_only, or allow."),
    Field("threshold", number(0, 1, above=True), "The lowest score that passes; 1 by default."),
)
TRAJECTORY: Kind[Trajectory] = record(TRAJECTORY_FIELDS, _trajectory)

_CLASS = choice(*SafetyClass)


def _known(kind: Kind[T]) -> Kind[T | None]:
    """A value, or null where nobody knows."""
    return Kind(
        lambda value, place: None if value is None else kind.read(value, place),
        {"anyOf": [kind.schema, {"type": "null"}]},
    )


_CALL_FIELDS = (
    Field("tool", text(), "A tool's whole name.", required=True),
    Field("args", mapping(), "The arguments."),
    Field("success", _known(flag()), "Whether it succeeded; null if nobody knows."),
    Field("safety_class", _known(_CLASS), "Of the tool's contract."),
    Field("ms", _known(number(0)), "Milliseconds inside the tool."),
    Field("call_id", text(empty=True)),
)
_CALL: Kind[RecordedCall] = record(_CALL_FIELDS, lambda values, place: RecordedCall(**values))


def read_trajectory(document: Mapping[str, Any], where: str) -> Trajectory:
    """The trajectory that a mapping describes.

    Args:
        where: the file's name for messages; the line is added where the mapping knows it (sb.base.located).

    Raises:
        ConfigError: something is wrong with it: the first problem, with its line.
    """
    return _read(TRAJECTORY, document, where)


def read_call(document: Mapping[str, Any], where: str) -> RecordedCall:
    """The call that a mapping of tool, args, success, safety_class, ms and call_id describes; raises ConfigError."""
    return _read(_CALL, document, where)


def _read(kind: Kind[T], document: Any, where: str) -> T:
    report = Report(where)
    try:
        return kind.read(document, Place(report))
    except WrongValue:
        report.require_none("")
    raise ConfigError(f"{where}: cannot be read")
