"""Suites as files have them: what is read, and what is refused with its line."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.base.text import plain
from sb.errors import ConfigError
from sb.evals.answer import Answer
from sb.evals.reading import load_suites
from sb.evals.suite import Suite

ONE = "cases:\n- id: a\n  input: hello\n  matchers:\n  - {kind: contains, text: x}\n"


def load(folder: Path, text: str | bytes, name: str = "s.yaml") -> Suite:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (suite,) = load_suites([path])
    return suite


def case(more: str) -> str:
    return f"{ONE}  {more}\n"


# What is written, the line of what is wrong, and a part of the message.
REFUSED = [
    ("", 0, "is empty"),
    ("# nothing\n", 0, "is empty"),
    ("- a\n", 0, "must be a mapping, not a list"),
    ("version: 2\n" + ONE, 1, "must be a whole number from 1 to 1"),
    ("version: '1'\n" + ONE, 1, "must be a whole number"),
    ("casez: []\n", 1, 'unknown key (did you mean "cases"?)'),
    ("version: 1\n", 1, "cases is missing"),
    ("cases: []\n", 1, "must not be empty"),
    ("cases: {}\n", 1, "must be a list"),
    ("cases:\n- a\n", 2, 'must be a mapping, not "a"'),
    ("cases:\n- input: x\n  matchers: [{kind: is_json}]\n", 2, "id is missing"),
    ("cases:\n- id: a\n  matchers: [{kind: is_json}]\n", 2, "input is missing"),
    ("cases:\n- id: 5\n  input: x\n  matchers: [{kind: is_json}]\n", 2, "must be a text, not 5"),
    ("cases:\n- id: ' '\n  input: x\n  matchers: [{kind: is_json}]\n", 2, "one line of visible characters"),
    (
        'cases:\n- id: "a\\nb"\n  input: x\n  matchers: [{kind: is_json}]\n',
        2,
        "one line of visible characters",
    ),
    ("cases:\n- id: a\n  input: ''\n  matchers: [{kind: is_json}]\n", 3, "must not be empty"),
    ("cases:\n- id: a\n  input: []\n  matchers: [{kind: is_json}]\n", 3, "a list of messages"),
    ("cases:\n- id: a\n  input: [{role: user}]\n  matchers: [{kind: is_json}]\n", 3, "role and content"),
    (ONE + ONE.removeprefix("cases:\n"), 6, "the id a is used twice, first on line 2"),
    (case("matcherz: []"), 6, 'unknown key (did you mean "matchers"?)'),
    (case("tags: money"), 6, "must be a list"),
    (case("repeat: 0"), 6, "must be a whole number from 1"),
    (case("repeat: true"), 6, "must be a whole number"),
    (case("repeat: 2\n  min_pass: 3"), 7, "is 3, of only 2 attempts"),
    (case("min_pass: 2"), 6, "is 2, of only 1 attempts"),
    (case("timeout_s: 0"), 6, "above 0"),
    (case("timeout_s: .inf"), 6, "must be a number"),
    (case("max_cost_cents: -1"), 6, "at least 0"),
    (case("skip: true"), 6, "must be a text, not true"),
    (case("skip: ''"), 6, "must not be empty"),
    (case("skip: a\n  xfail: b"), 2, "both skip and xfail"),
    (case("vars: 5"), 6, "a list of mappings"),
    (case("vars: []"), 6, "a list of mappings"),
    (case("vars: [1]"), 6, "must be a mapping of variables"),
    (case("vars: {'a b': 1}"), 6, "no name of a variable"),
    (case("setup: {filez: {}}"), 6, 'did you mean "files"?'),
    (case("setup: {files: {../x: y}}"), 6, "is not below the case's folder"),
    (case("setup: {files: {/etc/x: y}}"), 6, "is not below the case's folder"),
    (case("setup: {files: {x: 5}}"), 6, "must be a text"),
    (case("setup: {records: [{text: x}]}"), 6, "is no part of a memory"),
    (case("setup: {records: [{category: user}]}"), 6, "content is missing"),
    (case("setup: {approve: shell}"), 6, "must be a list"),
    ("config: {undo: 1}\n" + ONE, 1, "config.undo"),
    ("config: {database: /tmp/x.db}\n" + ONE, 1, "each attempt has a home of its own"),
    ("config: []\n" + ONE, 1, "must be a mapping"),
    ("defaults: []\n" + ONE, 1, "must be a mapping"),
    ("defaults: {id: a}\n" + ONE, 1, "unknown key"),
    ("defaults: {repeet: 1}\n" + ONE, 1, 'did you mean "repeat"?'),
    ("defaults:\n  repeat: 0\n" + ONE, 2, "must be a whole number"),
    # what cannot fail
    ("cases:\n- id: a\n  input: x\n", 2, "cannot fail: it has neither matchers nor a trajectory"),
    ("cases:\n- id: a\n  input: x\n  matchers: []\n", 2, "cannot fail"),
    (case("trajectory: {steps: []}"), 6, "it cannot fail"),
    (case("trajectory: {}"), 6, "it cannot fail"),
    (case("trajectory: {steps: [{tool: a, optional: true}]}"), 6, "it cannot fail"),
    (
        "cases:\n- id: a\n  input: x\n  matchers: [{kind: latency_ms, max: 5}]\n",
        2,
        "latency_ms alone decides nothing",
    ),
    # matchers
    ("cases:\n- id: a\n  input: x\n  matchers:\n  - kind: contians\n", 5, 'did you mean "contains"?'),
    ("cases:\n- id: a\n  input: x\n  matchers:\n  - text: x\n", 5, "must be a mapping with kind"),
    ("cases:\n- id: a\n  input: x\n  matchers:\n  - contains\n", 5, "must be a mapping with kind"),
    ("cases:\n- id: a\n  input: x\n  matchers:\n  - kind: contains\n", 5, "text is missing"),
    ("cases:\n- id: a\n  input: x\n  matchers:\n  - kind: contains\n    txt: x\n", 6, 'did you mean "text"?'),
    # YAML
    ("c\tases: []\n", 1, "c ases: unknown key"),
    ("cases: [\n", 2, "invalid YAML"),
    ("cases:\n- id: a\n\tinput: x\n", 3, "invalid YAML"),
    ("a: &x [1]\nb: *x\n", 1, "anchors (&) and aliases (*)"),
    ("a: !!python/object:os.system x\n", 1, "tags (!)"),
    ("cases: 1\ncases: 2\n", 2, 'the key "cases" is there twice'),
    ("1: x\n", 1, "a key is no text"),
    ("a: 1\n---\nb: 2\n", 2, "a second document"),
    (case("tags: [010]"), 6, "a number with leading zeros"),
    (case("timeout_s: 1e999"), 6, "too large"),
    (case("repeat: " + "9" * 5000), 6, "more than 1,000 digits"),
    ("a: " + "[" * 100 + "]" * 100 + "\n", 1, "nested deeper than 64 levels"),
    ("a: " + "[" * 50_000 + "\n", 1, "nested deeper than 64 levels"),
    ('a: "\x07"\n', 1, "invalid YAML"),
]


@pytest.mark.parametrize(("text", "line", "part"), REFUSED)
def test_what_cannot_be_meant_is_refused_with_its_line(
    text: str, line: int, part: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, text)
    path = tmp_path / "s.yaml"
    assert str(refused.value).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert part in str(refused.value)
    assert len(str(refused.value)) < 500 + len(str(path))


JSON_REFUSED = [
    ('{"id": "a", "input": "x", "matchers": [{"kind": "is_json"}]}\n{"id": 5}\n', 2, "must be a text"),
    ("{\n", 1, "is not JSON"),
    ("\n\n[]\n", 3, "must be a JSON object"),
    ('{"id": "a", "id": "b"}\n', 1, 'has the key "id" twice'),
    ('{"id": "a", "timeout_s": NaN}\n', 1, "has NaN"),
    ('{"id": "a", "timeout_s": 1e999}\n', 1, "too large"),
    ('{"id": "a", "repeat": ' + "9" * 5000 + "}\n", 1, "more than 1,000 digits"),
    ('{"a":' * 20_000 + "\n", 1, "nested"),
    ('{"version": 1, "cases": []}\n', 1, "cases: is not used here"),
    (
        '{"id": "a", "input": "\\ud83d\\ude00"}\n{"id": "b", "input": "\\ud83d"}\n',
        2,
        "half of a surrogate pair",
    ),
    ('{"version": 1}\n', 0, "must not be empty"),
    ("", 0, "must not be empty"),
    ('{"id": "a", "input": "x", "matchers": [{"kind": "contains", "txt": 1}]}\n', 1, 'did you mean "text"?'),
]


@pytest.mark.parametrize(("text", "line", "part"), JSON_REFUSED)
def test_json_lines_are_read_as_strictly(text: str, line: int, part: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, text, "s.jsonl")
    assert f"s.jsonl:{line}: " in str(refused.value) if line else "s.jsonl" in str(refused.value)
    assert part in str(refused.value)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    for data, part in ((b"a: 1\nb: \xff\n", "s.yaml:2: is not UTF-8"), (b"\x00" * 10, "invalid YAML")):
        with pytest.raises(ConfigError, match=part):
            load(tmp_path, data)
    with pytest.raises(ConfigError, match="larger than 16"):
        load(tmp_path, b"#" * (17 * 1024 * 1024))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for path, part in (
        (tmp_path / "none.yaml", "cannot be read: No such file"),
        (tmp_path / "pipe.yaml", "no regular file"),
    ):
        with pytest.raises(ConfigError, match=part):
            load_suites([path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="holds no suite"):
        load_suites([tmp_path / "empty"])


def test_a_folder_is_read_in_order_and_each_file_once(tmp_path: Path) -> None:
    for name in ("b.yml", "sub/a.yaml", "a.yaml", ".hidden.yaml", ".git/x.yaml", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(ONE, encoding="utf-8")
    (tmp_path / "c.jsonl").write_text(
        '{"id": "a", "input": "x", "matchers": [{"kind": "is_json"}]}\n', encoding="utf-8"
    )
    suites = load_suites([tmp_path, tmp_path / "a.yaml"])
    names = [str(Path(suite.name).relative_to(tmp_path)) for suite in suites]
    assert names == ["a.yaml", "b.yml", "c.jsonl", "sub/a.yaml"]


def test_a_case_has_what_is_written_and_else_the_defaults(tmp_path: Path) -> None:
    suite = load(
        tmp_path,
        case("tags: [x]\n  repeat: 3\n  min_pass: 2\n  timeout_s: 5\n  max_cost_cents: 1.5\n  xfail: bug 7"),
    )
    (entry,) = suite.cases
    assert (entry.id, entry.input, entry.tags, entry.repeat, entry.min_pass) == ("a", "hello", ("x",), 3, 2)
    assert (entry.timeout_s, entry.max_cost_cents, entry.xfail, entry.skip, entry.line) == (
        5,
        1.5,
        "bug 7",
        "",
        2,
    )
    (plain,) = load(tmp_path, ONE + "  repeat: 4\n").cases
    assert (plain.min_pass, plain.timeout_s, plain.max_cost_cents) == (4, 60, None)
    assert len(suite.digest) == 64


def test_what_cases_share_is_added_to_each(tmp_path: Path) -> None:
    text = """
defaults:
  input: from defaults
  tags: [shared]
  repeat: 2
  matchers: [{kind: not_contains, text: sorry}]
  trajectory: {forbid: [wipe]}
  setup: {files: {a.txt: A}, approve: [x]}
cases:
- id: a
  tags: [own]
  repeat: 1
  matchers: [{kind: contains, text: done}]
  trajectory: {forbid: [drop], steps: [{tool: t}]}
  setup: {files: {b.txt: B}, approve: [y]}
- id: b
  input: own
"""
    a, b = load(tmp_path, text).cases
    assert (a.input, b.input) == ("from defaults", "own")
    assert (a.tags, b.tags) == (("shared", "own"), ("shared",))
    assert (a.repeat, b.repeat) == (1, 2)
    assert [matcher.kind for matcher in a.matchers] == ["not_contains", "contains"]
    assert a.trajectory is not None
    assert b.trajectory is not None
    assert (a.trajectory.forbid, len(a.trajectory.steps), b.trajectory.forbid) == (
        ("wipe", "drop"),
        1,
        ("wipe",),
    )
    assert (dict(a.setup.files), a.setup.approve) == ({"a.txt": "A", "b.txt": "B"}, ("x", "y"))


def test_a_table_makes_a_case_of_each_row(tmp_path: Path) -> None:
    text = """
cases:
- id: sum
  input: "{{a}} plus {{ b }} of {{what}}"
  vars:
  - {a: 1, b: 2, sum: 3, what: {x: 1}}
  - {a: 2, b: 2, sum: 4, what: "{{a}}"}
  matchers: [{kind: number, value: "{{sum}}"}]
  trajectory: {steps: [{tool: add, args: {a: "{{a}}", text: "a={{a}}", what: "{{what}}"}}]}
"""
    first, second = load(tmp_path, text).cases
    assert (first.id, second.id) == ("sum[1]", "sum[2]")
    assert first.input == '1 plus 2 of {"x": 1}'
    assert second.input == "2 plus 2 of {{a}}"
    assert first.vars == {"a": 1, "b": 2, "sum": 3, "what": {"x": 1}}
    assert first.trajectory is not None
    assert first.trajectory.steps[0].args == {"a": 1, "text": "a=1", "what": {"x": 1}}
    assert second.matchers[0].match(Answer("it is 4")).ok
    assert not second.matchers[0].match(Answer("it is 3")).ok


def test_a_number_is_a_text_where_one_is_needed(tmp_path: Path) -> None:
    text = """
cases:
- id: a
  input: "{{n}}"
  vars: {n: 5, half: 0.5, yes: true}
  setup: {files: {n.txt: "{{n}}"}}
  matchers: [{kind: contains, text: ["{{half}}"]}, {kind: state, sql: SELECT ?, params: ["{{n}}"], equals: "{{n}}"}]
  trajectory: {steps: [{tool: t, args: {n: "{{n}}", list: ["{{half}}"], yes: "{{yes}}"}, max_calls: "{{n}}"}]}
"""
    (only,) = load(tmp_path, text).cases
    assert (only.input, only.setup.files["n.txt"]) == ("5", "5")
    assert only.matchers[0].match(Answer("about 0.5")).ok
    assert only.trajectory is not None
    (step,) = only.trajectory.steps
    assert (step.args, step.max_calls) == ({"n": 5, "list": [0.5], "yes": True}, 5)
    assert step.args is not None
    assert type(step.args["n"]) is int
    with pytest.raises(ConfigError, match="must be a text, or a list of messages, not true"):
        load(tmp_path, text.replace('input: "{{n}}"', 'input: "{{yes}}"'))


def test_a_placeholder_without_its_variable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r's.yaml:6: cases\[0\].setup.files.f: no variable nam .did you mean "name"'
    ):
        load(tmp_path, case("setup: {files: {f: '{{nam}}'}}\n  vars: {name: x}"))
    (without,) = load(tmp_path, ONE.replace("hello", "'{{x}}'")).cases
    assert without.input == "{{x}}"


def test_values_are_those_of_json(tmp_path: Path) -> None:
    text = (
        ONE
        + "  vars: {a: yes, b: 2026-11-23, c: 1:30, d: ~, e: 0x1f, f: 1e3, g: .5, h: -7, i: true, j: 1_0, k: off}\n"
    )
    (only,) = load(tmp_path, text).cases
    assert dict(only.vars) == {
        "a": "yes",
        "b": "2026-11-23",
        "c": "1:30",
        "d": None,
        "e": 31,
        "f": 1000.0,
        "g": 0.5,
        "h": -7,
        "i": True,
        "j": "1_0",
        "k": "off",
    }


def test_yaml_and_json_lines_say_the_same(tmp_path: Path) -> None:
    document = {
        "id": "a",
        "input": [{"role": "user", "content": "x"}],
        "trajectory": {"steps": [{"tool": "t"}]},
    }
    head = {"version": 1, "defaults": {"tags": ["x"]}}
    lines = f"{json.dumps(head)}\n\n{json.dumps(document)}\n"
    (only,) = load(tmp_path, lines, "s.jsonl").cases
    (other,) = load(tmp_path, json.dumps({**head, "cases": [document]})).cases
    assert (only.id, only.input, only.trajectory, only.tags) == (
        other.id,
        other.input,
        other.trajectory,
        other.tags,
    )
    assert only.line == 3


def test_all_problems_are_named_with_their_lines(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, case("repeat: 0\n  skip: 5\n  trajectory: {steps: [{tol: a}]}"))
    assert "(and 2 more)" in str(refused.value)
    assert "line 8: cases[0].trajectory.steps[0].tol: unknown key" in refused.value.hint


def test_ten_thousand_cases_are_read_in_seconds(tmp_path: Path) -> None:
    template = "- id: c{}\n  input: hello\n  matchers:\n  - {{kind: contains, text: x}}\n"
    text = "cases:\n" + "".join(template.format(number) for number in range(10_000))
    started = time.process_time()
    assert len(load(tmp_path, text).cases) == 10_000
    assert time.process_time() - started < 10
    with pytest.raises(ConfigError, match=r"\(and 20 more\)|\(and 19 more\)"):
        load(tmp_path, text.replace("kind", "kid"))


def test_settings_of_the_kernel_are_checked(tmp_path: Path) -> None:
    suite = load(tmp_path, "config:\n  red_team: {tool_results: quarantine}\n" + ONE)
    assert suite.config == {"red_team": {"tool_results": "quarantine"}}
    with pytest.raises(ConfigError, match=r"s.yaml:2: config.red_team.tool_results: "):
        load(tmp_path, "config:\n  red_team: {tool_results: maybe}\n" + ONE)


SEED = (
    case("tags: [a, 'b']\n  vars: [{n: 1}]\n  repeat: 2")
    + "- {id: b, input: [{role: user, content: x}], trajectory: {forbid: ['a*'], steps: [{tool: t, args: {x: [1]}}]}}\n"
    + "- id: c\n  input: |\n    long\n    text\n  matchers:\n  - kind: json_schema\n    schema: {type: object}\n"
)
edits = st.lists(
    st.tuples(
        st.integers(0, len(SEED)),
        st.integers(0, 6),
        st.sampled_from(
            [
                "",
                " ",
                "\n",
                "\t",
                "- ",
                ": ",
                "[",
                "]",
                "{",
                "}",
                "{{n}}",
                "&a ",
                "*a",
                "!!int ",
                "null",
                "1e9",
                "\0",
                "é",
                "\x85",
                "'",
                '"',
                "? ",
                "| ",
                "---\n",
                "#",
                "%",
                "@",
            ]
        ),
    ),
    max_size=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits, st.sampled_from([".yaml", ".jsonl"]))
def test_a_file_that_is_broken_somewhere_is_read_or_refused(
    tmp_path: Path, changes: list[tuple[int, int, str]], suffix: str
) -> None:
    text = SEED
    for place, gone, added in changes:
        text = text[:place] + added + text[place + gone :]
    problem = ""
    try:
        load(tmp_path, text, f"s{suffix}")
    except ConfigError as error:
        problem = str(error).removeprefix(str(tmp_path / f"s{suffix}"))
        assert problem != str(error)  # noqa: PT017 - either is right
    assert plain(problem, one_line=True) == problem


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60), st.sampled_from([".yaml", ".jsonl"]))
def test_bytes_of_any_kind_are_refused(tmp_path: Path, data: bytes, suffix: str) -> None:
    with pytest.raises(ConfigError):
        load(tmp_path, data, f"s{suffix}")
