"""A suite as promptfoo's tests, with a note for whatever promptfoo cannot express."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sb.evals.exchange.promptfoo import Translation
from sb.evals.exchange.promptfoo_trajectory import PREFIX

_TEXTS = {
    "contains": "contains",
    "contains_all": "contains-all",
    "contains_any": "contains-any",
    "not_contains": "not-contains",
    "equals": "equals",
    "starts_with": "starts-with",
}
_IGNORES_CASE = {"contains", "contains-all", "contains-any", "not-contains"}
_CARRIED = {"id", "input", "matchers", "trajectory", "tags", "line"}
_CARRIED_STEP = {"tool", "tool_pattern", "args", "args_subset", "args_match", "max_calls"}


def write_promptfoo(suite: Mapping[str, Any]) -> Translation:
    """The document of a suite as a promptfoo configuration; its providers are for the reader to name.

    Args:
        suite: as its YAML file has it, and as `load_suites` accepts it.
    """
    translation = Translation({"description": "Written by sb", "prompts": ["{{input}}"], "providers": []})
    notes = translation.notes
    notes += [f"{name}: not carried over" for name in sorted(suite.keys() - {"version", "cases"})]
    notes.append("providers: name yours")
    tests = [_test(case, notes) for case in suite["cases"]]
    notes += [
        f"{test['description']}: left out: nothing that it demands can be carried over"
        for test in tests
        if not test["assert"]
    ]
    translation.document["tests"] = [test for test in tests if test["assert"]]
    return translation


def _test(case: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    where = str(case["id"])
    notes += [f"{where}: {name}: not carried over" for name in sorted(case.keys() - _CARRIED)]
    asserted = []
    for matcher in case.get("matchers") or ():
        found = _assertion(matcher)
        if found is None:
            notes.append(f"{where}: matcher {matcher.get('kind')}: not carried over")
        else:
            asserted.append(found)
    if case.get("trajectory"):
        asserted += _trajectory(where, case["trajectory"], notes)
    return {"description": where, "vars": {"input": case["input"]}, "assert": asserted}


def _assertion(matcher: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = matcher.get("kind")
    if kind in _TEXTS and matcher.keys() <= {"kind", "text", "ignore_case"}:
        theirs = _TEXTS[kind]
        if matcher.get("ignore_case"):
            if theirs not in _IGNORES_CASE:
                return None
            theirs = theirs.replace("contains", "icontains")
        value = matcher["text"]
        return {"type": theirs, "value": value} if isinstance(value, str) or "-a" in theirs else None
    if kind in ("regex", "not_regex") and matcher.keys() == {"kind", "pattern"}:
        return {"type": kind.replace("_", "-"), "value": matcher["pattern"]}
    if kind == "is_json" and matcher.keys() == {"kind"}:
        return {"type": "is-json"}
    if kind == "json_schema" and matcher.keys() == {"kind", "schema"}:
        return {"type": "is-json", "value": matcher["schema"]}
    if kind == "latency_ms" and matcher.get("gate") and matcher.keys() == {"kind", "max", "gate"}:
        return {"type": "latency", "threshold": matcher["max"]}
    if kind == "cost_cents" and matcher.keys() == {"kind", "max"}:
        return {"type": "cost", "threshold": matcher["max"] / 100}
    if kind == "tool_calls" and matcher.keys() <= {"kind", "min", "max"}:
        return {
            "type": f"{PREFIX}step-count",
            "value": {"type": "tool", **{k: v for k, v in matcher.items() if k != "kind"}},
        }
    return None


def _trajectory(where: str, trajectory: Mapping[str, Any], notes: list[str]) -> list[dict[str, Any]]:
    mode, steps = trajectory.get("mode", "subsequence"), trajectory.get("steps") or []
    asserted: list[dict[str, Any]] = []
    forbidden = [name for name in trajectory.get("forbid") or () if _expressible(name)]
    if forbidden:
        asserted.append({"type": f"not-{PREFIX}tool-used", "value": forbidden})
    notes += [
        f"{where}: forbid {name}: not carried over"
        for name in trajectory.get("forbid") or ()
        if name not in forbidden
    ]
    extras = trajectory.get("extras")
    if extras not in (None, "forbid" if mode == "strict" else "allow"):
        notes.append(f"{where}: extras {extras}: not carried over: promptfoo knows no classes of tools")
    if trajectory.get("threshold", 1.0) != 1.0:
        notes.append(f"{where}: threshold: not carried over")
    for number, step in enumerate(steps, 1):
        notes += [
            f"{where}: {name} of step {number}: not carried over"
            for name in sorted(step.keys() - _CARRIED_STEP)
        ]
    required = [step for step in steps if not step.get("optional")]
    if mode == "strict" and len(required) < len(steps):
        notes.append(f"{where}: strict with optional steps: only their order is carried over")
        mode = "subsequence"
    if required and not all(_expressible(_name(step)) for step in required):
        notes.append(f"{where}: steps with regular expressions: not carried over")
        required = [step for step in required if _expressible(_name(step))]
        mode = "subsequence" if mode == "strict" else mode
    asserted += _order(mode, required)
    for step in steps:
        asserted += _arguments(where, step, notes)
    return asserted


def _order(mode: str, required: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    names = [_name(step) for step in required]
    if not names:
        return []
    if mode != "unordered":
        value = {"mode": "exact" if mode == "strict" else "in_order", "steps": names}
        return [{"type": f"{PREFIX}tool-sequence", "value": value}]
    counts = {name: names.count(name) for name in names}
    return [
        {"type": f"{PREFIX}tool-used", "value": {"pattern": name, "min": n}} for name, n in counts.items()
    ]


def _arguments(where: str, step: Mapping[str, Any], notes: list[str]) -> list[dict[str, Any]]:
    name, args = _name(step), step.get("args", step.get("args_subset"))
    asserted: list[dict[str, Any]] = []
    if not _expressible(name):
        return []
    if args is not None and not step.get("optional"):
        mode = {"exact": "exact", "ignore": ""}.get(step.get("args_match", "subset"), "partial")
        if mode:
            value = {"pattern": name, "args": args, "mode": mode}
            asserted.append({"type": f"{PREFIX}tool-args-match", "value": value})
            notes.append(f"{where}: arguments of {name}: laxer: promptfoo takes any call of the tool for it")
    if "max_calls" in step:
        if args is None:
            value = {"pattern": name, "min": 0, "max": step["max_calls"]}
            asserted.append({"type": f"{PREFIX}tool-used", "value": value})
        else:
            notes.append(
                f"{where}: max_calls of {name}: not carried over: it is of calls with these arguments"
            )
    return asserted


def _name(step: Mapping[str, Any]) -> str:
    return str(step.get("tool") or step.get("tool_pattern"))


def _expressible(name: str) -> bool:
    """True if promptfoo's globs say the same: they know `*` and `?` alone, and ignore case."""
    return not name.startswith("re:") and not re.search(r"[\[\]]", name)
