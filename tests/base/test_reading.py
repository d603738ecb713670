"""One reader for what is written and what is plain: the same values, every fault with its line, the same schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sb.base.documents import parse_yaml
from sb.base.located import Word
from sb.base.reading import (
    Field,
    Kind,
    Place,
    Report,
    WrongValue,
    anything,
    choice,
    duration,
    flag,
    integer,
    items,
    listing,
    mapping,
    matching,
    number,
    one_or_more,
    read_fields,
    record,
    schema_of,
    text,
)
from sb.config.document import parse_document
from tests.rows import rows

FIELDS = (
    Field("name", text("a name"), "who it is", required=True),
    Field("age", integer(0, 150)),
    Field("share", number(0, 1, above=True)),
    Field("on", flag(), default=True),
    Field("mode", choice("fast", "safe")),
    Field("id", matching("a number such as A-1", r"[A-Z]-\d")),
    Field("tags", listing(text("a tag"), "has no tag")),
    Field("steps", items(record([Field("do", text(), required=True)], lambda values, place: values["do"]))),
    Field("globs", one_or_more(text("a pattern"))),
    Field("limits", mapping(integer(0, 9), named=lambda key: "" if key.islower() else "is no limit")),
)
RIGHT = """\
name: Ada
age: 36
share: 0.5
mode: safe
id: A-1
tags: [x, y]
steps: [{do: this}, {do: that}]
globs: '*'
limits: {calls: 3}
"""


def faults(text: str, *, as_written: bool) -> list[str]:
    report = Report("f.yaml")
    value = parse_document(text.encode(), report) if as_written else parse_yaml(text.encode(), report)
    with pytest.raises(WrongValue):
        read_fields(value, FIELDS, Place(report, line=1))
    return [str(problem).removeprefix("f.yaml:") for problem in report.in_order()]


@pytest.mark.parametrize("parse", [parse_document, parse_yaml])
def test_what_is_written_and_what_is_plain_give_the_same_values(parse: Any) -> None:
    report = Report("f.yaml")
    values = read_fields(parse(RIGHT.encode(), report), FIELDS, Place(report))
    assert values == {
        "name": "Ada",
        "age": 36,
        "share": 0.5,
        "on": True,
        "mode": "safe",
        "id": "A-1",
        "tags": ("x", "y"),
        "steps": ("this", "that"),
        "globs": ("*",),
        "limits": {"calls": 3},
    }
    assert all(type(value) is not Word for value in (*values.values(), *values["tags"], *values["steps"]))


@rows(
    "document, fault",
    [
        ("name: [a]", "1: name: must be a name, not a list"),
        ("name:", "1: name: must be a name, not nothing"),
        ("name: ''", "1: name: must not be empty"),
        ("name: a\nage: -1", "2: age: must be a whole number from 0 to 150, not -1"),
        ("name: a\nage: '1'", '2: age: must be a whole number from 0 to 150, not "1"'),
        ("name: a\nshare: 0", "2: share: must be a number above 0 and at most 1, not 0"),
        ("name: a\nmode: saef", "2: mode: must be fast or safe, not"),
        ("name: a\nid: a-1", "2: id: must be a number such as A-1, not"),
        ("name: a\ntags:\n- x\n- y\n- x", "5: tags: "),
        ("name: a\ntags: []", "2: tags: has no tag"),
        ("name: a\ntags: x", "2: tags: must be a list, not"),
        ("name: a\nsteps:\n- do: x\n- {}", "4: steps[1]: do is missing"),
        ("name: a\nsteps:\n- do: x\n  don: y", '4: steps[0].don: unknown key (did you mean "do"?)'),
        ("name: a\nlimits:\n  A: 1", "3: limits.A: is no limit"),
        ("naem: a", '1: naem: unknown key (did you mean "name"?)'),
        ("age: 1", "1: name is missing"),
    ],
)
def test_fault_has_its_line_and_its_key_in_both_documents(document: str, fault: str) -> None:
    for as_written in (True, False):
        (found,) = faults(document, as_written=as_written)
        assert found.startswith(fault)


def test_all_faults_are_collected_in_the_order_of_their_lines() -> None:
    found = faults("name: a\nsteps: [{}, {}]\nage: x\nlimits: {a: 10, b: 11}\nzzz: 1", as_written=True)
    assert [line.partition(" must")[0] for line in found] == [
        *("2: steps[0]: do is missing", "2: steps[1]: do is missing", "3: age:"),
        *("4: limits.a:", "4: limits.b:", "5: zzz: unknown key"),
    ]


def test_a_word_means_what_its_kind_makes_of_it() -> None:
    def read(kind: Kind[Any], word: Word) -> Any:
        report = Report("f.yaml")
        try:
            return kind.read(word, Place(report))
        except WrongValue:
            return report.problems[0].message

    assert read(text(), Word("010")) == "010"
    assert read(integer(0, 99), Word("010")) == "must be a whole number from 0 to 99, not 010"
    assert read(flag(), Word("yes")) == "must be true or false, not yes"
    assert read(flag(), Word("true", bare=False)) == 'must be true or false, not "true" in quotes'
    assert read(duration(), Word("1h")) == 3600
    assert "must be" in read(integer(0, 10**9), Word("9" * 5000))


VALUES: tuple[Any, ...] = (
    *("", "a", "A-1", "fast", True, False, None, 0, -1, 1, 10, 0.5, 1.5, 200),
    *([], ["a"], ["a", "a"], [1], [{"do": "x"}], [{}], {}, {"a": 1}, {"a": 10}, {"do": "x"}, {"do": 1}),
)


@rows("field", FIELDS)
def test_schema_accepts_what_the_reader_accepts(field: Field) -> None:
    schema = Draft202012Validator(field.kind.schema)
    read = []
    for value in VALUES:
        try:
            read.append((value, field.kind.read(value, Place(Report("f.yaml")))))
        except WrongValue:
            continue
        assert schema.is_valid(value), value
    assert read


def test_schema_says_what_is_required_and_refuses_unknown_keys() -> None:
    schema: Mapping[str, Any] = schema_of(FIELDS)
    assert (schema["required"], schema["additionalProperties"]) == (["name"], False)
    assert schema["properties"]["name"]["description"] == "who it is"
    validator = Draft202012Validator(schema)
    assert validator.is_valid(parse_yaml(RIGHT.encode(), Report("f.yaml")))
    assert not validator.is_valid({"name": "a", "nmae": "b"})


def test_not_a_number_is_no_json() -> None:
    report = Report("f.yaml")
    with pytest.raises(WrongValue):
        anything().read({"a": [float("nan")]}, Place(report))
    assert str(report.problems[0]) == "f.yaml: a[0]: is not a number: nothing equals it"
