"""promptfoo's assertions: what is carried over means the same, and what is not is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.errors import UsageError
from sb.evals.exchange.promptfoo import Translation, read_promptfoo
from sb.evals.exchange.promptfoo_trajectory import TrajectoryDraft
from sb.evals.exchange.promptfoo_writing import write_promptfoo
from sb.kernel.trajectory_eval.grading import grade
from sb.kernel.trajectory_eval.model import RecordedCall
from sb.kernel.trajectory_eval.reading import read_trajectory

Calls = Sequence[RecordedCall]


def holds(assertion: Mapping[str, Any], calls: Calls) -> bool:
    """Verdict of promptfoo: each assertion by itself, over all calls, as its documentation and sources have it."""
    kind, value = assertion["type"], assertion["value"]
    found = _holds(kind.removeprefix("not-").removeprefix("trajectory:"), value, calls)
    if kind == "not-trajectory:tool-used" and not isinstance(value, dict):
        return not any(_fits(call, name) for call in calls for name in _names(value))
    return not found if kind.startswith("not-") else found


def _holds(kind: str, value: Any, calls: Calls) -> bool:
    if kind == "tool-used" and not isinstance(value, dict):
        return all(any(_fits(call, name) for call in calls) for name in _names(value))
    if kind in ("tool-used", "step-count"):
        name = value.get("pattern") or value.get("name")
        count = sum(name is None or _fits(call, name) for call in calls)
        least = value.get("min", 1 if kind == "tool-used" else 0)
        return bool(least <= count <= value.get("max", count))
    if kind == "tool-sequence":
        steps = value["steps"] if isinstance(value, dict) else value
        if isinstance(value, dict) and value.get("mode") == "exact":
            return len(steps) == len(calls) and all(map(_fits, calls, steps))
        at = 0
        for call in calls:
            at += at < len(steps) and _fits(call, steps[at])
        return at == len(steps)
    name, exact = value.get("pattern") or value.get("name"), value.get("mode") == "exact"
    return any(
        _fits(call, name)
        and (call.args == value["args"] if exact else value["args"].items() <= call.args.items())
        for call in calls
    )


def _names(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value


def _fits(call: RecordedCall, name: str) -> bool:
    return fnmatchcase(call.tool, name)


TOOLS = st.sampled_from(("a", "b", "ab"))
NAMES = st.sampled_from(("a", "b", "ab", "a*", "?"))
ARGS = st.dictionaries(st.sampled_from("xy"), st.integers(0, 1), max_size=2)
CALLS = st.lists(st.builds(RecordedCall, TOOLS, ARGS), max_size=5)
COUNTS = st.fixed_dictionaries({"name": NAMES}, optional={"min": st.integers(0, 3), "max": st.integers(0, 3)})
ASSERTIONS = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(("trajectory:tool-used", "not-trajectory:tool-used")),
            "value": NAMES | st.lists(NAMES, min_size=1, max_size=3) | COUNTS,
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("trajectory:tool-sequence"),
            "value": st.lists(NAMES, min_size=1, max_size=3)
            | st.fixed_dictionaries(
                {
                    "steps": st.lists(NAMES, min_size=1, max_size=3),
                    "mode": st.sampled_from(("exact", "in_order")),
                }
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("trajectory:tool-args-match"),
            "value": st.fixed_dictionaries(
                {"name": NAMES, "args": ARGS}, optional={"mode": st.sampled_from(("exact", "partial"))}
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("trajectory:step-count"),
            "value": st.fixed_dictionaries(
                {"type": st.just("tool"), "pattern": NAMES, "max": st.integers(0, 3)}
            ),
        }
    ),
)


def drafted(assertions: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any] | None, list[str]]:
    notes: list[str] = []
    draft = TrajectoryDraft("t", notes)
    for assertion in assertions:
        draft.add("t", assertion["type"], assertion["value"])
    return draft.document(), notes


@settings(max_examples=200)
@given(st.lists(ASSERTIONS, min_size=1, max_size=3), st.lists(CALLS, min_size=1, max_size=6))
def test_trajectory_without_notes_passes_exactly_the_runs_that_promptfoo_passes(
    assertions: list[dict[str, Any]], runs: list[list[RecordedCall]]
) -> None:
    document, notes = drafted(assertions)
    trajectory = read_trajectory(document or {"steps": []}, "t")
    for calls in runs:
        passed = grade(trajectory, calls).passed
        if not notes:
            assert passed == all(holds(assertion, calls) for assertion in assertions), (document, calls)
        elif all("stricter" in note for note in notes):
            assert not passed or all(holds(assertion, calls) for assertion in assertions), (
                document,
                calls,
                notes,
            )


@pytest.mark.parametrize(
    "assertions",
    [
        [("tool-used", ["ab", "a*"])],
        [
            ("tool-args-match", {"name": "a", "args": {"x": 1}}),
            ("tool-args-match", {"name": "?", "args": {}}),
        ],
    ],
)
def test_demands_that_one_call_could_meet_together_are_noted_as_stricter(
    assertions: list[tuple[str, Any]],
) -> None:
    _, notes = drafted([{"type": f"trajectory:{kind}", "value": value} for kind, value in assertions])
    assert "stricter" in notes[0]


STEPS = st.lists(
    st.fixed_dictionaries({"tool": TOOLS}, optional={"args": ARGS, "optional": st.booleans()}),
    min_size=1,
    max_size=3,
)
TRAJECTORIES = st.fixed_dictionaries(
    {"steps": STEPS, "mode": st.sampled_from(("strict", "subsequence", "unordered"))},
    optional={"forbid": st.just(["c", "d*"])},
)


@settings(max_examples=150)
@given(TRAJECTORIES, st.lists(CALLS, min_size=1, max_size=6))
def test_written_assertions_pass_what_the_trajectory_passes(
    document: dict[str, Any], runs: list[list[RecordedCall]]
) -> None:
    suite = {"version": 1, "cases": [{"id": "one", "input": "go", "trajectory": document}]}
    translation = write_promptfoo(suite)
    assertions = [item for test in translation.document["tests"] for item in test["assert"]]
    trajectory = read_trajectory(document, "t")
    for calls in runs:
        passed, theirs = (
            grade(trajectory, calls).passed,
            all(holds(assertion, calls) for assertion in assertions),
        )
        assert theirs or not passed, (assertions, calls)
        if [note for note in translation.notes if note.startswith("one")] == []:
            assert passed == theirs, (assertions, calls)


EXAMPLE = """
description: an airline's agent
prompts: ["Passenger {{name}}: {{wish}}"]
providers: [openai:gpt-x]
defaultTest:
  vars: {name: Ada}
  assert:
  - {type: not-contains, value: password}
tests:
- description: moves a seat
  vars: {wish: [move me to 14C, move me to 14D]}
  assert:
  - {type: icontains, value: 14c}
  - {type: cost, threshold: 0.02}
  - {type: 'trajectory:tool-used', value: [lookup_reservation, update_seat]}
  - type: trajectory:tool-args-match
    value: {name: update_seat, args: {seat: 14C}, mode: partial}
  - {type: 'not-trajectory:tool-used', value: 'cancel_*'}
  - {type: 'trajectory:step-count', value: {type: tool, max: 4}}
- vars: {wish: what is my allowance}
  options: {transform: output.text}
  assert:
  - {type: javascript, value: 'output.length > 3'}
  - {type: 'trajectory:step-count', value: {type: span, max: 4}}
  - {type: 'trajectory:goal-success', value: says the allowance}
  - {type: 'not-trajectory:tool-sequence', value: [a, b]}
- vars: {wish: nothing}
  assert: [{type: python, value: 'len(output)'}]
"""


def example(tmp_path: Path, text: str = EXAMPLE) -> Translation:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(text, encoding="utf-8")
    return read_promptfoo(path)


def test_configuration_becomes_a_suite_with_a_case_for_each_value_of_its_variables(tmp_path: Path) -> None:
    first, second, third, fourth = example(tmp_path).document["cases"]
    assert [first["id"], second["id"]] == ["moves-a-seat", "moves-a-seat-2"]
    assert first["input"] == "Passenger Ada: move me to 14C"
    assert first["matchers"] == [
        {"kind": "not_contains", "text": "password"},
        {"kind": "contains", "text": "14c", "ignore_case": True},
        {"kind": "cost_cents", "max": 2.0},
        {"kind": "tool_calls", "max": 4},
    ]
    assert first["trajectory"] == {
        "mode": "unordered",
        "forbid": ["cancel_*"],
        "steps": [{"tool": "update_seat", "args": {"seat": "14C"}}, {"tool": "lookup_reservation"}],
    }
    assert third["matchers"][1:] == [{"kind": "llm_judge", "rubric": "says the allowance"}]
    assert fourth["matchers"] == [{"kind": "not_contains", "text": "password"}]


def test_whatever_is_not_carried_over_is_named(tmp_path: Path) -> None:
    notes = "\n".join(example(tmp_path).notes)
    for named in (
        "tests[2].options",
        "tests[2].assert[2]: javascript",
        "tests[2].assert[3]: trajectory:step-count: not carried over: only calls of tools",
        "tests[2].assert[5]: not-trajectory:tool-sequence",
        "tests[3].assert[2]: python",
    ):
        assert named in notes


def test_test_of_which_nothing_is_carried_over_is_left_out_and_named(tmp_path: Path) -> None:
    text = "tests:\n- {assert: [{type: python, value: 'x'}]}\n- {vars: {input: hi}, assert: [{type: equals, value: x}]}\n"
    translation = example(tmp_path, text)
    assert [case["input"] for case in translation.document["cases"]] == ["hi"]
    assert "tests[1]: left out: nothing of its assertions can be carried over" in translation.notes


_DOUBLED = "".join(f"a{number}: &t{number} [*t{number - 1}, *t{number - 1}]\n" for number in range(1, 31))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tests: file://tests.csv", "no list of tests"),
        ("- a", "not a promptfoo configuration"),
        ("a: [", "not YAML"),
        ("tests: [{assert: [{type: python}]}]", "nothing of its tests can be carried over"),
        (f"tests: &t0 [{{}}, {{}}]\n{_DOUBLED}a: *t30\n", "its aliases stand for more than"),
        ("tests:\n- vars: &v {a: *v}\n", "its aliases stand for more than"),
    ],
)
def test_file_that_is_no_configuration_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        example(tmp_path, text)


def test_written_configuration_is_read_again_as_it_was(tmp_path: Path) -> None:
    steps = [{"tool": "orders.read"}, {"tool": "payments.issue_refund"}]
    case: dict[str, Any] = {
        "id": "refund",
        "input": "refund {order}",
        "matchers": [{"kind": "contains", "text": "issued"}, {"kind": "no_secret"}],
        "trajectory": {"mode": "subsequence", "extras": "read_only", "forbid": ["admin.*"], "steps": steps},
    }
    translation = write_promptfoo({"version": 1, "config": {}, "cases": [case]})
    assert [note.partition(":")[0] for note in translation.notes] == [
        "config",
        "providers",
        "refund",
        "refund",
    ]
    again = example(tmp_path, yaml.safe_dump(translation.document)).document["cases"][0]
    assert again["trajectory"] == {"mode": "subsequence", "forbid": ["admin.*"], "steps": steps}
    assert again["matchers"] == case["matchers"][:1]
    assert again["input"] == case["input"]
