"""One case of a suite: its fields, and what of it is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

from sb.base.reading import (
    Field,
    Kind,
    Place,
    anything,
    describe,
    integer,
    items,
    mapping,
    number,
    record,
    text,
)
from sb.base.text import nearest, plain
from sb.evals.matchers.kinds import decides
from sb.evals.matchers.registry import matcher
from sb.evals.matchers.state import relative_path
from sb.evals.suite import Case, Setup
from sb.kernel.trajectory_eval.grading import can_fail
from sb.kernel.trajectory_eval.reading import TRAJECTORY

MAX_REPEAT = 1_000
MAX_SECONDS = 86_400
LONGEST_ID = 200  # characters


def _line(longest: int = LONGEST_ID) -> Kind[str]:
    """A text on one line."""
    kind = text()

    def read(value: Any, place: Place) -> str:
        line = kind.read(value, place)
        if not line.strip() or plain(line, one_line=True) != line:
            raise place.refuse(f"must be one line of visible characters, not {describe(line)}")
        if len(line) > longest:
            raise place.refuse(f"is longer than {longest} characters")
        return line

    return Kind(read, {**kind.schema, "maxLength": longest})


def _input() -> Kind[Any]:
    """A text, or a list of messages with role and content."""
    kind, role = text(), text()
    message = {
        "type": "object",
        "properties": {"role": role.schema, "content": {}},
        "required": ["role", "content"],
    }

    def read(value: Any, place: Place) -> Any:
        if isinstance(value, str):
            return kind.read(value, place)
        if not isinstance(value, list) or not value:
            raise place.refuse(f"must be a text, or a list of messages, not {describe(value)}")
        for index, item in enumerate(value):
            at = place.below(value, index)
            if not isinstance(item, Mapping) or "role" not in item or "content" not in item:
                raise at.refuse("must be a mapping with role and content")
            role.read(item["role"], at.below(item, "role"))
        return anything().read(value, place)

    return Kind(read, {"anyOf": [kind.schema, {"type": "array", "items": message, "minItems": 1}]})


def _files() -> Kind[Mapping[str, str]]:
    contents, path = mapping(text(empty=True)), relative_path()

    def read(value: Any, place: Place) -> Mapping[str, str]:
        files = contents.read(value, place)
        for name in files:
            path.read(name, place.below(value, name))
        return files

    return Kind(read, contents.schema)


@cache
def _record_keys() -> tuple[str, ...]:
    """The keyword arguments of `Brain.remember`."""
    from sb.protocols.types import Fact

    own = ("content", "category", "project", "scope", "private", "force")
    return tuple(dict.fromkeys((*own, *(field.name for field in dataclasses.fields(Fact)))))


def _record() -> Kind[Mapping[str, Any]]:
    kind: Kind[Mapping[str, Any]] = mapping()

    def read(value: Any, place: Place) -> Mapping[str, Any]:
        values = kind.read(value, place)
        for key in values:
            if key not in _record_keys():
                raise place.below(value, key).refuse(f"is no part of a memory{nearest(key, _record_keys())}")
        if not isinstance(values.get("content"), str) or not values["content"].strip():
            raise place.refuse("content is missing", "write what is to be remembered")
        return values

    return Kind(read, {"type": "object", "required": ["content"]})


def _charter() -> Kind[Mapping[str, Any]]:
    kind: Kind[Mapping[str, Any]] = mapping()

    def read(value: Any, place: Place) -> Mapping[str, Any]:
        charter = kind.read(value, place)
        if not charter:
            raise place.refuse("is empty", "write the keys of a charter, such as intents")
        if "agent" in charter:
            raise place.below(value, "agent").refuse("is not used here: it is the agent of the suite")
        return charter

    return Kind(read, {**kind.schema, "minProperties": 1, "not": {"required": ["agent"]}})


def _approve() -> Kind[tuple[str, ...]]:
    return items(text(), least=0)


SETUP_FIELDS = (
    Field("files", _files(), "Contents of files by their path below the working folder."),
    Field("records", items(_record(), least=0), "Memories, each the arguments of Brain.remember."),
    Field(
        "approve", _approve(), "Globs of tools for whose calls a person would agree; all others are denied."
    ),
    Field("charter", _charter(), "The agent's charter: the keys of a charter file, all but agent."),
)

CASE_FIELDS = (
    Field("id", _line(), "Its name, which no other case of the file has.", required=True),
    Field("input", _input(), "A text, or a list of messages with role and content."),
    Field("tags", items(_line(), least=0), "Words by which cases are chosen."),
    Field("vars", mapping(), "Variables for {{name}}; a list of mappings makes a case of each."),
    Field("setup", record(SETUP_FIELDS, lambda values, place: Setup(**values)), "What the case finds."),
    Field("matchers", items(matcher(), least=0), "Demands on the answer; all have to hold."),
    Field("trajectory", TRAJECTORY, "Demands on the calls."),
    Field("repeat", integer(1, MAX_REPEAT), "How often it runs; 1 by default."),
    Field("min_pass", integer(1, MAX_REPEAT), "Of these, how many have to pass; all by default."),
    Field("timeout_s", number(0, MAX_SECONDS, above=True), "Seconds for one attempt; 60 by default."),
    Field("max_cost_cents", number(0), "US cents for one attempt."),
    Field("skip", _line(500), "Why it does not run."),
    Field("xfail", _line(500), "Why it is expected to fail."),
)


def _case(values: dict[str, Any], place: Place) -> Case:
    if "input" not in values:
        raise place.refuse("input is missing", "what the agent is asked: a text, or a list of messages")
    repeat = values.get("repeat", 1)
    if values.setdefault("min_pass", repeat) > repeat:
        raise place.below(place.value, "min_pass").refuse(
            f"is {values['min_pass']}, of only {repeat} attempts"
        )
    if "skip" in values and "xfail" in values:
        raise place.refuse("has both skip and xfail", "leave out one of them")
    _refuse_toothless(values, place)
    return Case(**values, line=place.line)


def _refuse_toothless(values: dict[str, Any], place: Place) -> None:
    """A case that no answer fails says nothing when it passes."""
    trajectory, matchers = values.get("trajectory"), values.get("matchers", ())
    if trajectory is not None and not can_fail(trajectory):
        raise place.below(place.value, "trajectory").refuse(
            "demands and forbids nothing: it cannot fail",
            "add steps that are not optional, forbid, or extras",
        )
    if trajectory is None and not matchers:
        raise place.refuse("cannot fail: it has neither matchers nor a trajectory")
    if trajectory is None and not any(map(decides, matchers)):
        names = ", ".join(dict.fromkeys(item.kind for item in matchers))
        raise place.refuse(
            f"cannot fail: {names} alone decides nothing", "add another matcher or a trajectory"
        )


CASE: Kind[Case] = record(CASE_FIELDS, _case)
