"""The JSON Schema of suites: what the reader accepts, it accepts."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from sb.errors import ConfigError
from sb.evals.matchers.registry import KINDS
from sb.evals.reading import load_suites
from sb.evals.schema import suite_schema
from tests.evals.test_matchers import REFUSED as REFUSED_MATCHERS
from tests.evals.test_matchers import TEXTS

ROOT = Path(__file__).parents[2]
WHOLE: dict[str, Any] = {
    "version": 1,
    "config": {"red_team": {"tool_results": "quarantine"}},
    "defaults": {"tags": ["shared"], "trajectory": {"forbid": ["wipe"]}, "input": "x", "repeat": 2},
    "cases": [
        {
            "id": "whole",
            "input": [{"role": "user", "content": "hello"}],
            "tags": ["a"],
            "vars": [{"n": 1, "amount": 500}, {"n": 2, "amount": 5.5}],
            "setup": {
                "files": {"a.txt": ""},
                "records": [{"content": "x", "category": "user"}],
                "approve": ["a.*"],
            },
            "matchers": [
                {"kind": "number", "value": "{{amount}}", "tolerance": 0.5},
                {"kind": "state", "sql": "SELECT ?", "params": ["{{n}}"], "equals": 1},
                {"kind": "file", "path": "a.txt", "contains": ["x", "y"]},
                {"kind": "tool_calls", "tool": "a.*", "min": "{{ n }}", "max": 3},
                {"kind": "latency_ms", "max": 5},
            ],
            "trajectory": {
                "mode": "strict",
                "forbid": "x",
                "extras": "read_only",
                "threshold": 0.5,
                "steps": [
                    {"tool": "a", "args": {"amount": "{{amount}}"}, "args_match": "exact", "max_calls": 1},
                    {"tool_pattern": "re:b.*", "optional": True, "require_success": True},
                ],
            },
            "repeat": 3,
            "min_pass": 2,
            "timeout_s": 0.5,
            "max_cost_cents": 0,
            "xfail": "some day",
        }
    ],
}


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads(json.dumps(suite_schema()))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def accepted(document: Any, folder: Path) -> bool:
    path = folder / "s.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    try:
        load_suites([path])
    except ConfigError:
        return False
    return True


def with_matcher(matcher: dict[str, Any]) -> dict[str, Any]:
    return {"cases": [{"id": "a", "input": "x", "matchers": [matcher]}]}


def test_what_the_reader_accepts_the_schema_accepts(validator: Any, tmp_path: Path) -> None:
    documents = [WHOLE, *(with_matcher(row[0]) for row in TEXTS)]
    shipped = sorted((ROOT / "evals/suites").glob("*.y*ml"))
    documents += [yaml.safe_load(path.read_text(encoding="utf-8")) for path in shipped]
    for document in documents:
        assert accepted(document, tmp_path)
        validator.validate(document)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


# What else of a case must be there to read one of its fields: placeholders are of `vars`.
READ_WITH = {"matchers": ["vars"], "trajectory": ["vars"], "min_pass": ["repeat"]}


ENOUGH = {"kind": "number", "value": 1}  # a matcher that is no limit; each case needs one


def value_at(path: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda value, key: value[key], path, WHOLE)


def replaced(path: tuple[Any, ...], value: Any) -> Any:
    """The document with another value there, and little else: a whole one takes long to read and to validate."""
    if not path:
        return value
    document = copy.deepcopy({name: WHOLE[name] for name in ("version", path[0], "cases")})
    [case] = document["cases"]
    looked_at = path[2] if path[0] == "cases" and len(path) > 2 else ""
    for name in case.keys() - {"id", "input", "matchers", looked_at, *READ_WITH.get(looked_at, ())}:
        del case[name]
    if path[:3] == ("cases", 0, "matchers") and len(path) > 3:
        case["matchers"] = [case["matchers"][path[3]], ENOUGH]
        path = (*path[:3], 0, *path[4:])
    elif looked_at != "matchers":
        case["matchers"] = [ENOUGH]
    at: Any = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return document


def test_it_accepts_what_the_reader_does_wherever_another_value_is_put(
    validator: Any, tmp_path: Path
) -> None:
    """Whatever the reader takes in place of a value; and half of what it does not take, the schema does not either."""
    refused = noticed = 0
    for path in places(WHOLE):
        assert accepted(replaced(path, value_at(path)), tmp_path), path
        for value in (None, True, 0, 7, 0.5, -1, "", "x", "{{n}}", [], ["x"], {}, {"x": 1}, [{"n": 1}]):
            document = replaced(path, value)
            valid = validator.is_valid(document)
            if accepted(document, tmp_path):
                assert valid, (path, value)
            else:
                refused += 1
                noticed += not valid
    assert refused > 500
    assert noticed / refused > 0.7


def test_mistyped_keys_are_refused_by_both(validator: Any, tmp_path: Path) -> None:
    for path in places(WHOLE):
        free = {"vars", "config", "files", "args", "params"}
        if path and isinstance(path[-1], str) and not free & set(map(str, path[:-1])):
            document = copy.deepcopy(WHOLE)
            at: Any = document
            for key in path[:-1]:
                at = at[key]
            at[f"{path[-1]}x"] = at.pop(path[-1])
            assert not accepted(document, tmp_path), path
            assert (
                not validator.is_valid(document) or "records" in path or "content" in path or "role" in path
            ), path


def test_it_knows_every_matcher_and_says_what_it_demands(validator: Any) -> None:
    cases = suite_schema()["properties"]["cases"]["items"]["properties"]
    text = json.dumps(cases["matchers"])
    for kind in KINDS.values():
        assert json.dumps(kind.about) in text
        assert kind.about.endswith(".")
    noticed = sum(not validator.is_valid(with_matcher(document)) for document, _ in REFUSED_MATCHERS)
    assert noticed >= 8
