"""The JSON Schema of a configuration, made of the fields that its reader knows."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import settings as examples
from jsonschema import Draft202012Validator

from sb.base.documents import parse_yaml
from sb.base.reading import Report
from sb.config import SETTINGS, render_example, settings_schema
from sb.config.model import GROUPS
from tests.config.test_narrowing import as_yaml, contents
from tests.rows import rows

SCHEMA = settings_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def problems(document: str) -> list[str]:
    value = parse_yaml(document.encode(), Report("config.yaml"))
    return [error.message for error in VALIDATOR.iter_errors(value)]


def test_schema_has_every_setting_with_its_meaning() -> None:
    for row in SETTINGS:
        place = SCHEMA["properties"][row.group] if row.group else SCHEMA
        assert place["properties"][row.name]["description"] == row.about
    assert SCHEMA["properties"].keys() == {row.name for row in SETTINGS if not row.group} | GROUPS.keys()


@given(contents)
@examples(max_examples=60)
def test_schema_accepts_what_the_reader_accepts(values: dict[str, Any]) -> None:
    assert problems(as_yaml(values)) == []


def test_schema_accepts_the_example_file_and_each_example() -> None:
    assert problems(render_example()) == []
    for row in SETTINGS:
        if row.example:
            assert problems(as_yaml({row.key: row.example})) == []


@rows("document", ["buget: {}", "budget: {max: 1}", "durability: fast", "tools: a:b", "undo: {keep_days: 0}"])
def test_schema_refuses_what_the_reader_refuses(document: str) -> None:
    assert problems(document)
