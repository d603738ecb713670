"""Trajectories as files have them: what is refused, and what is said of it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sb.base.documents import parse_yaml
from sb.base.reading import Report
from sb.errors import ConfigError
from sb.kernel.contracts import SafetyClass
from sb.kernel.trajectory_eval import ArgsMatch, Extras, Mode, RecordedCall, grade, read_call, read_trajectory
from tests.rows import rows

# What is written, the line of what is wrong with it, and a part of the message.
REFUSED = [
    ("stepz: []", 1, 'unknown key (did you mean "steps"?)'),
    ("mode: strikt\nsteps: []", 1, 'did you mean "strict"?'),
    ("steps: []\nextras: reed_only", 2, 'did you mean "read_only"?'),
    ("steps:\n- tol: a", 2, 'steps[0].tol: unknown key (did you mean "tool"?)'),
    ("steps:\n- {}", 2, "has neither tool and tool_pattern"),
    ("steps:\n- tool: a\n- {tool: a, tool_pattern: b}", 3, "has both tool and tool_pattern"),
    ("steps:\n- tool_pattern: ''", 2, "must not be empty"),
    ("steps:\n- tool_pattern: 're:'", 2, "must not be empty"),
    ("steps:\n- tool_pattern: 're:('", 2, "is no regular expression"),
    ("steps:\n- tool: ''", 2, "must not be empty"),
    ("steps:\n- tool: 5", 2, "must be a text, not 5"),
    ("steps:\n- tool: a\n  args: 5", 3, "must be a mapping, not 5"),
    ("steps:\n- tool: a\n  args:", 3, "must be a mapping, not nothing"),
    ("steps:\n- tool: a\n  args: [1]", 3, "must be a mapping, not a list"),
    ("steps:\n- tool: a\n  args: {x: .nan}", 3, "nothing equals it"),
    ("steps:\n- tool: a\n  args: {x: 1}\n  args_subset: {x: 1}", 2, "which mean the same"),
    ("steps:\n- tool: a\n  args_subset: {x: 1}\n  args_match: exact", 2, "args_match: exact"),
    ("steps:\n- tool: a\n  args_match: equal", 3, "must be subset, exact or ignore"),
    ("steps:\n- tool: a\n  optional: 'yes'", 3, "must be true or false"),
    ("steps:\n- tool: a\n  require_success: 1", 3, "must be true or false"),
    ("steps:\n- tool: a\n  max_calls: 0", 3, "must be a whole number from 1"),
    ("steps:\n- tool: a\n  max_calls: true", 3, "must be a whole number"),
    ("steps:\n- tool: a\n  max_calls: 1.5", 3, "must be a whole number"),
    ("steps: []\nthreshold: 0", 2, "above 0"),
    ("steps: []\nthreshold: 1.01", 2, "at most 1"),
    ("steps: []\nthreshold: .nan", 2, "must be a number"),
    ("steps: []\nthreshold: true", 2, "must be a number"),
    ("steps: []\nthreshold: '1'", 2, "must be a number"),
    ("steps: a", 1, "must be a list"),
    ("steps:\n- a", 2, 'must be a mapping, not "a"'),
    ("forbid: [a, '']", 1, "must not be empty"),
    ("forbid:\n- a\n- 5", 3, "must be a text"),
    ("forbid: [a]\nsteps:\n- tool: b\n- tool: a", 4, "a is a step, but a is forbidden"),
    ("forbid: ['pay.*']\nsteps:\n- tool: pay.now", 3, "pay.* is forbidden"),
    ("forbid: ['pay.*']\nsteps:\n- tool_pattern: pay.*", 3, "is forbidden"),
    ("forbid: ['re:pay.+']\nsteps:\n- {tool: payment, optional: true}", 3, "is forbidden"),
    ("[]", 0, "must be a mapping, not a list"),
    ("x", 0, 'must be a mapping, not "x"'),
]


def read(text: str) -> Any:
    return read_trajectory(parse_yaml(text.encode(), Report("t.yaml")), "t.yaml")


@rows("text, line, part", REFUSED)
def test_what_cannot_be_meant_is_refused_with_its_line(text: str, line: int, part: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(text)
    assert str(refused.value).startswith(f"t.yaml:{line}: " if line else "t.yaml: ")
    assert part in str(refused.value)


def test_several_problems_are_counted_and_named() -> None:
    with pytest.raises(ConfigError) as refused:
        read("mode: x\nsteps:\n- tol: a\n- tool: ''")
    assert "(and 2 more)" in str(refused.value)
    assert "line 3" in refused.value.hint


def test_mappings_of_no_file_are_read_too() -> None:
    trajectory = read_trajectory({"steps": ({"tool": "a", "args": {"x": math.inf}},)}, "here")
    assert grade(trajectory, [RecordedCall("a", {"x": math.inf})]).passed
    with pytest.raises(ConfigError, match=r"^here: steps\[0\].tol: unknown key"):
        read_trajectory({"steps": [{"tol": "a"}]}, "here")
    with pytest.raises(ConfigError, match="no text"):
        read_trajectory({"steps": [{"tool": "a", "args": {1: 2}}]}, "here")


def test_defaults_are_those_of_the_mode() -> None:
    trajectory = read("steps:\n- tool: a\nforbid: w")
    assert (trajectory.mode, trajectory.extras, trajectory.threshold) == (Mode.SUBSEQUENCE, None, 1)
    assert trajectory.forbid == ("w",)
    assert trajectory.steps[0].args is None
    assert trajectory.steps[0].args_match is ArgsMatch.SUBSET
    assert read("steps: []\nextras: read_only").extras is Extras.READ_ONLY


def test_a_call_is_read_with_what_is_known_of_it() -> None:
    document = {"tool": "a", "args": {"x": 1}, "success": None, "safety_class": "read_only", "ms": 1.5}
    assert read_call(document, "c") == RecordedCall("a", {"x": 1}, None, SafetyClass.READ_ONLY, 1.5)
    for wrong in (
        {},
        {"tool": "a", "success": "yes"},
        {"tool": "a", "args": []},
        {"tool": "a", "safety_class": "x"},
    ):
        with pytest.raises(ConfigError):
            read_call(wrong, "c")


# --- what no agent can do to a grade


def test_an_expression_that_takes_for_ever_fits_no_step_but_forbids() -> None:
    evil = "re:(a|aa)+"
    made = [RecordedCall("a" * 60 + "!")]
    assert not grade(read_trajectory({"steps": [{"tool_pattern": evil}]}, "t"), made).passed
    assert grade(read_trajectory({"forbid": [evil]}, "t"), made).forbidden == (0,)


def test_the_line_shows_no_secret_and_commands_no_terminal() -> None:
    trajectory = read_trajectory({"steps": [{"tool": "a", "args": {"key": "x", "password": "y"}}]}, "t")
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    line = grade(trajectory, [RecordedCall("a", {"key": token, "password": "y"})]).line
    assert token not in line
    assert "ghp_" not in line
    line = grade(trajectory, [RecordedCall("a", {"key": "x", "password": "hunter2hunter2"})]).line
    assert "hunter2" not in line
    strict = read_trajectory({"mode": "strict", "forbid": ["b"]}, "t")
    line = grade(strict, [RecordedCall("x\x1b[2J\u202e\n" + "y" * 500)]).line
    assert line.isprintable()
    assert len(line) < 200


def test_arguments_may_hold_anything() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    cyclic: dict[str, Any] = {}
    cyclic["x"] = cyclic
    trajectory = read_trajectory({"steps": [{"tool": "a", "args": {"x": 1}}]}, "t")
    for args in ({"x": deep}, cyclic, {"x": {1, 2}}, {"x": b"1"}, {"x": math.nan}, {"x": 10**5000}):
        result = grade(trajectory, [RecordedCall("a", args), RecordedCall("a", args)])
        assert result.score == 0
        assert result.line.startswith("[trajectory] score=0.00 (args: #1 a ")


def test_many_things_that_are_wrong_are_counted() -> None:
    strict = read_trajectory({"mode": "strict"}, "t")
    line = grade(strict, [RecordedCall("a")] * 1000).line
    assert line == "[trajectory] score=0.00 (extra: a, a, a, a, a and 995 more)"


@pytest.mark.parametrize(
    ("steps", "made", "part"),
    [
        ("ab", "ba", "missing: #2 b (before #1)"),
        ("abc", "bca", "missing: #1 a (after #3)"),
        ("abc", "cab", "missing: #3 c (before #1)"),
    ],
)
def test_a_call_out_of_order_is_named(steps: str, made: str, part: str) -> None:
    trajectory = read_trajectory({"steps": [{"tool": tool} for tool in steps]}, "t")
    result = grade(trajectory, [RecordedCall(tool) for tool in made])
    assert part in result.line or "after #2" in result.line


def test_axes_tell_the_wrong_tool_from_the_wrong_object() -> None:
    trajectory = read_trajectory({"steps": [{"tool": "r"}, {"tool": "p", "args": {"x": 500}}]}, "t")
    object_ = grade(trajectory, [RecordedCall("r"), RecordedCall("p", {"x": 5000})])
    tool = grade(trajectory, [RecordedCall("r"), RecordedCall("q", {"x": 500})])
    assert (object_.coverage, object_.scope) == (0.5, 0.5)
    assert (tool.coverage, tool.scope) == (0.5, 1)
    again = grade(
        trajectory,
        [RecordedCall("r"), RecordedCall("r"), RecordedCall("r", {"x": True}), RecordedCall("r", {"x": 1})],
    )
    assert again.minimality == 0.75
