"""promptfoo's tests as a suite: assertions on trajectories and those on texts that have a matcher here.

promptfoo judges each assertion by itself, a suite here has one trajectory a case. Where that makes a difference, or where
something cannot be carried over at all, a note says so; nothing is dropped silently.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import yaml

from sb.base.secrets.redaction import one_line
from sb.base.values.frozen import mutable
from sb.errors import UsageError
from sb.evals.exchange.promptfoo_trajectory import PREFIX, TrajectoryDraft

LARGEST_FILE = 16 << 20  # bytes
MOST_CASES = 10_000
MOST_VALUES = 2_000_000
_SHOWN = 120
_VARIABLE = re.compile(r"{{-?\s*(\w+)\s*-?}}")
_TEXTS = {  # assertions whose value is a text, or a list of texts, and the matcher of the same meaning
    "contains": ("contains", {}),
    "icontains": ("contains", {"ignore_case": True}),
    "contains-all": ("contains_all", {}),
    "contains-any": ("contains_any", {}),
    "icontains-all": ("contains_all", {"ignore_case": True}),
    "icontains-any": ("contains_any", {"ignore_case": True}),
    "not-contains": ("not_contains", {}),
    "not-icontains": ("not_contains", {"ignore_case": True}),
    "equals": ("equals", {}),
    "starts-with": ("starts_with", {}),
}
_JUDGED = ("llm-rubric", f"{PREFIX}goal-success")


@mutable
class Translation:
    """A document in another format.

    Args:
        notes: what of the original it does not have, or says more strictly; one line each.
    """

    document: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def read_promptfoo(path: Path) -> Translation:
    """A promptfoo configuration as the document of a suite.

    Raises:
        UsageError: the file cannot be read, or has no tests.
    """
    document = _load(path)
    tests = document.get("tests")
    if not isinstance(tests, list) or not tests:
        raise UsageError(
            f"{path}: no list of tests",
            "tests of other files (file://…, CSV) have to be written into it first",
        )
    translation = Translation({"version": 1, "cases": []})
    known = {"tests", "prompts", "providers", "targets", "description", "defaultTest"}
    translation.notes += _unknown("", document, known)
    default = document.get("defaultTest")
    if isinstance(default, str):
        translation.notes.append("defaultTest: a file, not carried over")
    default = default if isinstance(default, dict) else {}
    prompts = document.get("prompts")
    prompts = prompts if isinstance(prompts, list) and prompts else [prompts or "{{input}}"]
    taken: set[str] = set()
    for number, test in enumerate(tests, 1):
        where = f"tests[{number}]"
        if not isinstance(test, dict):
            translation.notes.append(f"{where}: not carried over: {one_line(test, _SHOWN)}")
            continue
        for case in _cases(where, test, default, prompts, translation.notes):
            case["id"] = _unique(case["id"], taken)
            translation.document["cases"].append(case)
            if len(taken) > MOST_CASES:
                raise UsageError(f"{path}: more than {MOST_CASES:,} cases")
    if not translation.document["cases"]:
        raise UsageError(f"{path}: nothing of its tests can be carried over: {translation.notes[-1]}")
    return translation


def _cases(
    where: str, test: Mapping[str, Any], default: Mapping[str, Any], prompts: list[Any], notes: list[str]
) -> Iterator[dict[str, Any]]:
    """The cases of one test: one for each prompt and each combination of its variables' values."""
    notes += _unknown(where, test, {"description", "vars", "assert", "metadata"})
    variables = {**_mapping(default.get("vars")), **_mapping(test.get("vars"))}
    asserted = [*_list(default.get("assert")), *_list(test.get("assert"))]
    demands = _demands(where, asserted, notes)
    if not demands:
        notes.append(f"{where}: left out: nothing of its assertions can be carried over")
        return
    choices = [value if isinstance(value, list) else [value] for value in variables.values()]
    for prompt in prompts:
        for values in itertools.product(*choices):
            given = dict(zip(variables, values, strict=True))
            question = _question(where, prompt, given, notes)
            yield {"id": str(test.get("description") or where), "input": question, **demands}


def _demands(where: str, asserted: list[Any], notes: list[str]) -> dict[str, Any]:
    """Matchers and trajectory of a case; empty if there are none."""
    matchers: list[dict[str, Any]] = []
    judged: list[dict[str, Any]] = []
    draft = TrajectoryDraft(where, notes)
    for number, assertion in enumerate(asserted, 1):
        at = f"{where}.assert[{number}]"
        if not isinstance(assertion, dict) or not isinstance(assertion.get("type"), str):
            notes.append(f"{at}: not carried over: {one_line(assertion, _SHOWN)}")
            continue
        notes += _unknown(at, assertion, {"type", "value", "threshold", "metric"})
        kind = assertion["type"]
        if kind in _JUDGED:
            judged.append({"kind": "llm_judge", "rubric": _rubric(assertion.get("value"))})
        elif kind.removeprefix("not-").startswith(PREFIX):
            draft.add(at, kind, assertion.get("value"))
        elif (matcher := _matcher(kind, assertion)) is not None:
            matchers.append(matcher)
        else:
            notes.append(f"{at}: {one_line(kind, _SHOWN)}: not carried over")
    trajectory = draft.document()
    if judged and not matchers and trajectory is None:
        notes.append(f"{where}: a model's judgement cannot be all that a case demands")
        judged = []
    demands: dict[str, Any] = {"matchers": [*matchers, *judged]} if matchers or judged else {}
    if draft.matchers:
        demands["matchers"] = [*demands.get("matchers", []), *draft.matchers]
    return demands if trajectory is None else demands | {"trajectory": trajectory}


def _matcher(kind: str, assertion: Mapping[str, Any]) -> dict[str, Any] | None:
    """The matcher of the same meaning as an assertion on the answer; None if there is none."""
    value, threshold = assertion.get("value"), assertion.get("threshold")
    if kind in _TEXTS:
        texts = value if isinstance(value, list) else [value]
        ours, options = _TEXTS[kind]
        if all(isinstance(text, str) and not text.startswith("file://") for text in texts) and texts:
            return {"kind": ours, "text": value, **options}
    if kind in ("regex", "not-regex") and isinstance(value, str) and not value.startswith("file://"):
        return {"kind": kind.replace("-", "_"), "pattern": value}
    if kind == "is-json" and value is None:
        return {"kind": "is_json"}
    if kind == "is-json" and isinstance(value, dict):
        return {"kind": "json_schema", "schema": value}
    if kind == "latency" and _is_number(threshold):
        return {"kind": "latency_ms", "max": threshold, "gate": True}
    if kind == "cost" and isinstance(threshold, int | float):
        return {"kind": "cost_cents", "max": threshold * 100}  # promptfoo's are dollars
    return None


def _question(where: str, prompt: Any, given: Mapping[str, Any], notes: list[str]) -> Any:
    """The prompt with its variables filled in."""
    template = prompt.get("raw", prompt.get("content")) if isinstance(prompt, dict) else prompt
    if not isinstance(template, str) or template.startswith("file://"):
        note = f"prompts: not carried over: {one_line(prompt, _SHOWN)}"
        notes += [note] if note not in notes else []
        return "\n".join(str(value) for value in given.values()) or where
    text = _VARIABLE.sub(lambda match: str(given.get(match[1], match[0])), template)
    if "{{" in text or "{%" in text:
        notes.append(f"{where}: the prompt is a template of more than variables: {one_line(text, _SHOWN)}")
    return text


def _unknown(where: str, given: Mapping[str, Any], known: set[str]) -> list[str]:
    """A note for each key that has no counterpart."""
    return [
        f"{where}.{name}: not carried over".lstrip(".") for name in sorted(map(str, given.keys() - known))
    ]


def _rubric(value: Any) -> str:
    return str(value.get("goal", value)) if isinstance(value, dict) else str(value)


def _unique(name: str, taken: set[str]) -> str:
    base = re.sub(r"[^\w.-]+", "-", name).strip("-")[:80] or "case"
    found = next(
        candidate
        for number in itertools.count(1)
        if (candidate := base if number == 1 else f"{base}-{number}") not in taken
    )
    taken.add(found)
    return found


def _load(path: Path) -> dict[str, Any]:
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise UsageError(f"{path}: {size:,} bytes, more than {LARGEST_FILE:,}", "split it")
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not YAML: {one_line(str(error), _SHOWN)}") from None
    if not isinstance(document, dict):
        raise UsageError(f"{path}: not a promptfoo configuration", "a mapping with prompts and tests")
    if _written_out(document, {}) > MOST_VALUES:
        raise UsageError(f"{path}: its aliases stand for more than {MOST_VALUES:,} values", "divide it")
    return document


def _written_out(value: Any, known: dict[int, float]) -> float:
    """The number of values with aliases written out; infinite if one stands for itself."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        known[id(value)] = math.inf  # until it is known: whoever meets it now is within it
        inner = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_written_out(item, known) for item in inner)
    return known[id(value)]


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
