"""Matchers: which answers each accepts, and that no answer breaks one."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.reading import Place, Report, WrongValue
from sb.base.text import plain
from sb.config import Config, Home
from sb.errors import ConfigError
from sb.evals.answer import Answer
from sb.evals.matchers import state as states
from sb.evals.matchers import texts
from sb.evals.matchers.registry import KINDS, matcher
from sb.evals.suite import Match, Matcher
from sb.kernel.trajectory_eval.model import RecordedCall
from sb.memory.brain import Brain
from sb.store import driver


def build(**document: Any) -> Matcher:
    report = Report("suite.yaml")
    try:
        return matcher().read(document, Place(report))
    except WrongValue:
        report.require_none("")
        raise


def matches(output: str, **document: Any) -> bool:
    match = build(**document).match(Answer(output))
    assert (match.line == "") is match.ok
    assert "\n" not in match.line
    return match.ok


# A matcher, answers that it accepts, answers that it does not.
TEXTS: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"kind": "contains", "text": "Done"}, ["Done.", "x Done"], ["done", "", "Don e"]),
    ({"kind": "contains", "text": "Done", "ignore_case": True}, ["DONE"], ["dun"]),
    ({"kind": "contains", "text": ["a", "b"]}, ["ba"], ["a", "b"]),
    ({"kind": "contains", "text": "Straße", "ignore_case": True}, ["STRASSE"], ["Strase"]),
    ({"kind": "contains_all", "text": ["a", "b"]}, ["ab"], ["a"]),
    ({"kind": "contains_any", "text": ["a", "b"]}, ["xb", "a"], ["x"]),
    ({"kind": "not_contains", "text": "sorry"}, ["fine", "Sorry"], ["sorry!"]),
    ({"kind": "not_contains", "text": ["a", "b"], "ignore_case": True}, ["x"], ["xB", "A"]),
    ({"kind": "equals", "text": "42"}, ["42"], ["42\n", " 42", "4"]),
    ({"kind": "equals", "text": "Yes", "strip": True, "ignore_case": True}, [" yes\n"], ["yes."]),
    ({"kind": "equals", "text": ""}, [""], ["x"]),
    ({"kind": "equals", "text": "é"}, ["é"], ["e\u0301"]),
    ({"kind": "starts_with", "text": "Ok"}, ["Okay"], [" Ok", "ok"]),
    ({"kind": "ends_with", "text": "bye", "strip": True}, ["good bye\n"], ["bye bye!"]),
    ({"kind": "one_of", "text": ["yes", "no"], "strip": True}, ["yes ", "no"], ["maybe", "yes no"]),
    ({"kind": "regex", "pattern": r"order \d+"}, ["your order 17"], ["order x"]),
    ({"kind": "regex", "pattern": r"\d+", "full": True}, ["17"], ["17 "]),
    ({"kind": "regex", "pattern": "done", "ignore_case": True}, ["DONE"], ["dun"]),
    ({"kind": "not_regex", "pattern": "^I am sorry"}, ["fine"], ["I am sorry, but"]),
    ({"kind": "is_json"}, ["{}", " 1 ", "null", '"x"'], ["", "{", "NaN", "{'a': 1}", "```json\n{}\n```"]),
    (
        {
            "kind": "json_schema",
            "schema": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
        },
        ['{"a": 1}', '{"a": 1.0, "b": 2}'],
        ["{}", '{"a": "1"}', '{"a": true}', "x", "[]"],
    ),
    (
        {"kind": "json_schema", "schema": {"$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}}},
        ['"a"'],
        ["1"],
    ),
    (
        {"kind": "json_schema", "schema": {"patternProperties": {"^a+$": {"type": "integer"}}}},
        ['{"aa": 1}', '{"b": "x"}', "1"],
        ['{"aa": "x"}'],
    ),
    (
        {
            "kind": "json_schema",
            "schema": {
                "properties": {"b": {}},
                "patternProperties": {"^a+$": {}},
                "additionalProperties": False,
            },
        },
        ['{"aa": 1, "b": 2}', "{}"],
        ['{"c": 1}'],
    ),
    (
        {"kind": "json_schema", "schema": {"additionalProperties": {"type": "integer"}}},
        ['{"c": 1}'],
        ['{"c": "x"}'],
    ),
    ({"kind": "json_schema", "schema": {"pattern": "^a+$"}}, ['"aa"', "1"], ['"ab"']),
    (
        {"kind": "json_path", "path": "$.a.b", "equals": 1},
        ['{"a": {"b": 1.0}}'],
        ['{"a": {"b": true}}', "{}", "x", "1", '{"a": {"b": "1"}}'],
    ),
    (
        {"kind": "json_path", "path": "$.a[*].n", "count": 2},
        ['{"a": [{"n": 1}, {"n": 2}]}'],
        ['{"a": []}', '"x"'],
    ),
    ({"kind": "json_path", "path": "$.a[*]", "equals": 1}, ['{"a": [1]}'], ['{"a": [1, 1]}', '{"a": []}']),
    ({"kind": "json_path", "path": "$", "equals": None}, ["null"], ["0", '"null"', "[]"]),
    (
        {"kind": "json_path", "path": "$.a", "equals": [1, {"b": None}]},
        ['{"a": [1, {"b": null}]}'],
        ['{"a": [1, {}]}'],
    ),
    (
        {"kind": "number", "value": 500},
        ["500", "order 17 costs 500.00", "$500!"],
        ["5000", "none", "500 of 17"],
    ),
    ({"kind": "number", "value": 1234.5}, ["1,234.50", "1234.5"], ["1,234,5", "12,34.5"]),
    ({"kind": "number", "value": -3}, ["-3", "it is \u22123"], ["3", "5-3"]),
    ({"kind": "number", "value": 0.3, "tolerance": 0.1}, ["0.2", "0.4", ".35"], ["0.19", "0.41", "1e999"]),
    (
        {"kind": "number", "value": 7, "after": "Total:"},
        ["total: 7 of 9", "Total: $7"],
        ["7", "Total: x", "7 Total: 8"],
    ),
    ({"kind": "number", "value": 1e3}, ["1e3", "1000"], ["1e4"]),
    ({"kind": "length", "max": 3}, ["", "abc"], ["abcd"]),
    ({"kind": "length", "min": 2, "max": 3}, ["ab"], ["a", "abcd"]),
    (
        {"kind": "token_f1", "text": "the refund was issued", "threshold": 0.8},
        ["Issued was the refund."],
        ["no refund", ""],
    ),
    (
        {"kind": "similarity", "text": "The refund was issued.", "threshold": 0.6},
        ["Your refund has been issued."],
        ["Bananas are yellow and grow in the tropics.", ""],
    ),
    (
        {"kind": "no_secret"},
        ["all fine", "call ada@example.org"],
        ["key ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"],
    ),
    (
        {"kind": "no_pii"},
        ["all fine", "version 1.2.3"],
        ["write to ada@example.org", "card 4111 1111 1111 1111"],
    ),
    ({"kind": "no_pii", "allow": ["help@example.org"]}, ["help@example.org"], ["ada@example.org"]),
]


@pytest.mark.parametrize(
    ("document", "good", "bad"), TEXTS, ids=[f"{n}-{row[0]['kind']}" for n, row in enumerate(TEXTS)]
)
def test_answers_are_accepted_as_written(document: dict[str, Any], good: list[str], bad: list[str]) -> None:
    assert [answer for answer in good if not matches(answer, **document)] == []
    assert [answer for answer in bad if matches(answer, **document)] == []


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"kind": "contains", "text": ""}, "must not be empty"),
    ({"kind": "contains", "text": []}, "must not be empty"),
    ({"kind": "contains_all", "text": "a"}, "must be a list"),
    ({"kind": "contains", "text": 5}, "must be a text, not 5"),
    ({"kind": "regex", "pattern": "("}, "is no regular expression"),
    (
        {
            "kind": "json_schema",
            "schema": {"allOf": [{"patternProperties": {"a": {}}}], "unevaluatedProperties": False},
        },
        "cannot be stopped",
    ),
    ({"kind": "number", "value": "5"}, "must be a number"),
    ({"kind": "number", "value": True}, "must be a number"),
    ({"kind": "number", "value": 5, "tolerance": -1}, "at least 0"),
    ({"kind": "length"}, "cannot fail"),
    ({"kind": "length", "min": 5, "max": 4}, "is more than"),
    ({"kind": "tool_calls"}, "cannot fail"),
    ({"kind": "tool_calls", "max": 1, "tool": "re:("}, "is no regular expression"),
    ({"kind": "similarity", "text": "x"}, "threshold is missing"),
    ({"kind": "token_f1", "text": "!", "threshold": 0.5}, "has no word"),
    ({"kind": "json_schema", "schema": {"type": "objekt"}}, "is no JSON Schema"),
    ({"kind": "json_schema", "schema": {"$ref": "https://example.org/x.json"}}, "only references within"),
    ({"kind": "json_schema", "schema": {"$schema": "https://example.org/x"}}, "is not known"),
    ({"kind": "json_path", "path": "$.[", "equals": 1}, "is no JSON Path"),
    ({"kind": "json_path", "path": "$.a"}, "needs equals or count"),
    ({"kind": "state", "sql": "SELECT 1"}, "needs equals or count"),
    ({"kind": "state", "count": 1}, "needs sql or records"),
    ({"kind": "state", "records": {"state": "gone"}, "count": 1}, "must be active"),
    ({"kind": "file", "path": "../x", "exists": True}, "not below"),
    ({"kind": "file", "path": "x"}, "needs one of"),
    ({"kind": "python", "call": "json"}, "write module:function"),
    ({"kind": "python", "call": "no_such_module_here:f"}, "cannot be imported"),
    ({"kind": "python", "call": "json:dumpz"}, 'did you mean "dump"?'),
]


@pytest.mark.parametrize(("document", "part"), REFUSED)
def test_what_cannot_be_meant_is_refused(document: dict[str, Any], part: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build(**document)
    assert part in f"{refused.value} {refused.value.hint}"


def test_a_missing_library_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jsonschema", None)
    with pytest.raises(ConfigError) as refused:
        build(kind="json_schema", schema={})
    assert "needs jsonschema, which is not installed" in str(refused.value)
    assert refused.value.hint == "pip install 'secondbrain-sb[evals]'"


# --- time, cost, calls


def test_latency_is_reported_and_fails_only_if_asked() -> None:
    slow, fast = Answer(seconds=2), Answer(seconds=0.1)
    reported = build(kind="latency_ms", max=1000).match(slow)
    assert (reported.ok, reported.line) == (
        True,
        "[latency_ms] 2,000 ms, expected at most 1000 (reported only)",
    )
    gate = build(kind="latency_ms", max=1000, gate=True)
    assert (gate.match(slow).ok, gate.match(fast)) == (False, Match(True))


def test_an_agent_that_does_not_say_what_it_cost_fails() -> None:
    cost = build(kind="cost_cents", max=1.5)
    assert [cost.match(Answer(cost_cents=cents)).ok for cents in (0, 1.5, 1.6, None)] == [
        True,
        True,
        False,
        False,
    ]


def test_calls_are_counted_denied_ones_too() -> None:
    calls = (RecordedCall("a.x"), RecordedCall("a.y", {}, False), RecordedCall("b"))
    for document, right in (
        ({"max": 3}, True),
        ({"max": 2}, False),
        ({"min": 3}, True),
        ({"min": 4}, False),
        ({"tool": "a.*", "max": 2, "min": 2}, True),
        ({"tool": "a.x", "max": 0}, False),
        ({"tool": "c", "max": 0}, True),
    ):
        assert build(kind="tool_calls", **document).match(Answer(calls=calls)).ok is right


def test_secrets_and_personal_data_are_found_in_arguments() -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    calls = (RecordedCall("mail.send", {"to": ["ada@example.org"], "text": {"key": token}}),)
    for kind in ("no_secret", "no_pii"):
        match = build(kind=kind).match(Answer("fine", calls))
        assert not match.ok
        assert "in the arguments of mail.send" in match.line
        assert token not in match.line
        assert "ada@" not in match.line


# --- what a run left behind


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "sb.db"
    with Brain("ada", path=path, config=Config(Home(tmp_path))) as brain:
        brain.remember("The customer wants a refund for order 17", scope="global")
    return path


def state(database: Path | None, **document: Any) -> Match:
    return build(kind="state", **document).match(Answer(database=database))


def test_the_state_after_a_run_is_compared(database: Path) -> None:
    assert state(database, sql="SELECT count(*) FROM records WHERE kind = ?", params=["fact"], equals=1).ok
    assert state(database, sql="SELECT text FROM records WHERE kind = :k", params={"k": "fact"}, count=1).ok
    assert state(database, sql="SELECT 1, 'a' UNION SELECT 2, 'b'", equals=[[1, "a"], [2, "b"]]).ok
    assert state(database, sql="SELECT 1 UNION SELECT 2", equals=[1, 2]).ok
    assert state(database, sql="SELECT 1 WHERE 0", count=0).ok
    assert state(database, sql="SELECT 1 WHERE 0", equals=[]).ok
    assert not state(database, sql="SELECT 2", equals=1).ok
    assert state(
        database, records={"contains": ["REFUND", "order 17"], "scope": "global", "agent": "ada"}, count=1
    ).ok
    assert state(database, records={"contains": "banana"}, count=0).ok
    assert not state(database, records={"contains": "refund", "state": "forgotten"}, count=1).ok


HARMFUL = [
    "DELETE FROM records",
    "UPDATE records SET text = 'x'",
    "CREATE TABLE x (a)",
    "PRAGMA query_only = 0",
    "ATTACH DATABASE 'other.db' AS other",
    "VACUUM INTO 'copy.db'",
    "SELECT load_extension('x')",
    "SELECT 1; DELETE FROM records",
    "BEGIN IMMEDIATE",
    "SELECT * FROM pragma_journal_mode('off')",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
    "SELECT no_such_column FROM records",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT zeroblob(20000000) FROM n LIMIT 9000",
]


@pytest.mark.parametrize("sql", HARMFUL)
def test_a_query_only_reads_and_ends_in_time(
    sql: str, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "SECONDS", 0.2)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with driver.connect(database, read_only=True) as before:
        rows = before.execute("SELECT count(*) FROM records").fetchone()[0]
    started = time.monotonic()
    match = state(database, sql=sql, count=10_000)
    assert not match.ok
    assert "the query" in match.line
    assert time.monotonic() - started < 30
    with driver.connect(database, read_only=True) as after:
        assert after.execute("SELECT count(*) FROM records").fetchone()[0] == rows == 1
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_run_without_a_database_has_no_state(tmp_path: Path) -> None:
    assert state(None, sql="SELECT 1", equals=1).line == "[state] the agent's kernel has no database"
    (tmp_path / "x.db").write_bytes(b"no database at all" * 100)
    assert "cannot be run" in state(tmp_path / "x.db", sql="SELECT 1 FROM records", equals=1).line


def test_files_of_the_working_folder_are_compared(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src/a.py").write_text("print('hello')\n", encoding="utf-8")
    (tmp_path / "secret").write_text("hello", encoding="utf-8")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "loop").symlink_to(folder / "loop")
    os.mkfifo(folder / "pipe")
    (folder / "huge").write_bytes(b"hello" * 1_000_000)
    (folder / "bytes").write_bytes(b"\xff\xfehello")

    def accepted(**document: Any) -> bool:
        return build(kind="file", **document).match(Answer(folder=folder)).ok

    assert accepted(path="src/a.py", contains="hello")
    assert accepted(path="src/a.py", contains=["print", "hello"])
    assert accepted(path="src/a.py", equals="print('hello')\n")
    assert accepted(path="bytes", contains="hello")
    assert accepted(path="src/a.py", exists=True)
    assert accepted(path="src/b.py", exists=False)
    assert not accepted(path="src/b.py", exists=True)
    assert not accepted(path="src/b.py", contains="hello")
    for name in ("out", "loop", "pipe", "huge", "src"):
        assert not accepted(path=name, contains="hello"), name
    assert not build(kind="file", path="a", exists=False).match(Answer()).ok


# --- a function of the authors


def test_a_function_beside_the_suite_decides(tmp_path: Path) -> None:
    (tmp_path / "my_checks_7.py").write_text(
        "def short(answer, most=3):\n    return len(answer.output) <= most\n"
        "def why(answer):\n    return '' if answer.output else 'says nothing'\n"
        "def broken(answer):\n    raise KeyError('x\\ny')\n"
        "def odd(answer):\n    return 5\n",
        encoding="utf-8",
    )
    report = Report(str(tmp_path / "suite.yaml"))

    def match(call: str, output: str, **more: Any) -> Match:
        document = {"kind": "python", "call": f"my_checks_7:{call}", **more}
        return matcher().read(document, Place(report)).match(Answer(output))

    assert match("short", "abc").ok
    assert match("short", "abcd").line == "[python] my_checks_7:short returned False"
    assert match("short", "abcd", args={"most": 4}).ok
    assert match("why", "x").ok
    assert match("why", "").line == "[python] says nothing"
    assert "KeyError" in match("broken", "x").line
    assert "returned int" in match("odd", "x").line


# --- no answer breaks a matcher

ANY: list[dict[str, Any]] = [
    *(row[0] for row in TEXTS),
    {"kind": "tool_calls", "max": 1},
    {"kind": "cost_cents", "max": 1},
    {"kind": "llm_judge", "rubric": "It is polite."},
    {"kind": "state", "records": {}, "count": 1},
    {"kind": "file", "path": "x", "exists": True},
]


EVERY = [build(**document) for document in ANY]


def test_every_kind_is_tried() -> None:
    assert {row["kind"] for row in ANY} | {"latency_ms", "python", "llm_judge"} == set(KINDS)


@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_no_text_breaks_a_matcher(output: str) -> None:
    for item in EVERY:
        match = item.match(Answer(output, (RecordedCall("x", {"a": output}),)))
        assert plain(match.line, one_line=True) == match.line


@pytest.mark.parametrize(
    "output", ["[" * 100_000, '{"a":' * 50_000, "9" * 10_000, "a" * 300_000, "\ud800", "-" * 50_000]
)
def test_no_flood_breaks_a_matcher(output: str) -> None:
    for item in EVERY:
        match = item.match(Answer(output))
        assert len(match.line) < 1_000


def test_an_expression_that_takes_for_ever_fails_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "SECONDS", 0.1)
    evil = Answer("a" * 60 + "!")
    started = time.monotonic()
    for kind in ("regex", "not_regex"):
        match = build(kind=kind, pattern="^(a|aa)+$").match(evil)
        assert not match.ok
        assert "took longer" in match.line
    schema = build(kind="json_schema", schema={"pattern": "^(a|aa)+$"})
    assert "took longer" in schema.match(Answer(json.dumps(evil.output))).line
    for more in ({}, {"additionalProperties": False}):
        schema = build(kind="json_schema", schema={"patternProperties": {"^(a|aa)+$": {}}, **more})
        assert "took longer" in schema.match(Answer(json.dumps({evil.output: 1}))).line
    assert time.monotonic() - started < 60


def test_a_line_shows_no_secret_of_the_answer() -> None:
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    for document in ANY:
        assert token not in build(**document).match(Answer(f'{{"a": "{token}"}} {token}')).line
