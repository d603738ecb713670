"""Editing JSON as text: what is ours is added and taken out, and every other byte stays."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.hosts.install.documents import Malformed, find
from sb.hosts.install.entries import Layout, merged, stripped
from sb.hosts.install.host import RELAXED, STRICT, Wanted
from sb.hosts.registry import host_settings
from tests.hosts.install import documents
from tests.rows import rows

EVENTS = ("PreToolUse", "Stop", "Other")


def layout_of(host: str, wrapper: str) -> Layout:
    """Three of its events are as good as all, and sooner done."""
    whole = host_settings(host).layout(Wanted(Path(wrapper)))
    return replace(whole, entries=[whole.entries[place] for place in (0, 1, 7)])


LAYOUT = layout_of("claude-code", "/data/é x/sb-hook")
CURSOR = layout_of("cursor", "/data/sb-hook")
FORMS = {True: RELAXED, False: STRICT}


@st.composite
def cases(draw: st.DrawFn, events: tuple[str, ...] = EVENTS) -> tuple[dict[str, Any], str, bool]:
    relaxed = draw(st.booleans())
    value = draw(documents.settings(events))
    return value, draw(documents.written(value, relaxed=relaxed)), relaxed


def expected(value: dict[str, Any], layout: Layout) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(json.dumps(value))
    for key, extra in layout.extras:
        whole.setdefault(key, extra)
    for entry in layout.entries:
        whole.setdefault("hooks", {}).setdefault(entry.place[1], []).append(entry.value)
    return whole


@given(cases(), st.sampled_from([LAYOUT, CURSOR]))
@settings(max_examples=75)
def test_a_merge_adds_our_entries_last_and_changes_nothing_else(
    case: tuple[dict[str, Any], str, bool], layout: Layout
) -> None:
    value, text, relaxed = case
    form = FORMS[relaxed]
    result = merged(text, form, layout)
    assert form.load(result) == expected(value, layout)
    assert list(form.load(result))[: len(value)] == list(value)
    assert merged(result, form, layout) == result
    if not relaxed:
        assert json.loads(result) == expected(value, layout)
    remaining = iter(result)
    assert all(character in remaining for character in text), "something of the text is gone or moved"


@given(cases(), st.sampled_from([LAYOUT, CURSOR]))
@settings(max_examples=75)
def test_taking_our_entries_out_gives_the_text_back_to_the_byte(
    case: tuple[dict[str, Any], str, bool], layout: Layout
) -> None:
    _, text, relaxed = case
    form = FORMS[relaxed]
    assert stripped(merged(text, form, layout), form, layout, base=text) == text


@given(cases())
@settings(max_examples=50)
def test_what_somebody_wrote_since_stays_when_our_entries_go(case: tuple[dict[str, Any], str, bool]) -> None:
    value, text, relaxed = case
    form = FORMS[relaxed]
    since = form.insert(
        form.insert(merged(text, form, LAYOUT), ("zz",), {"k": [1]}), ("hooks", "Theirs", 0), documents.THEIRS
    )
    rest = form.load(stripped(since, form, LAYOUT, base=text))
    assert rest.pop("zz") == {"k": [1]}
    assert rest["hooks"].pop("Theirs") == [documents.THEIRS]
    assert rest == {**value, "hooks": value.get("hooks", {})}


def test_without_a_record_our_entries_go_and_leave_no_empty_place() -> None:
    text = '{\n  "a": 1\n}\n'
    assert stripped(merged(text, STRICT, LAYOUT), STRICT, LAYOUT, base=None) == text


def test_comments_keep_their_places() -> None:
    text = '{\n  // before\n  "a": 1, // beside a\n  "hooks": {\n    "Stop": [ /* none */ ], // beside Stop\n  },\n  // last\n}'
    result = merged(text, RELAXED, LAYOUT)
    lines = result.splitlines()
    assert lines[:3] == text.splitlines()[:3]
    assert lines[-2:] == [*text.splitlines()[-2:]]
    assert "// beside Stop" in result
    assert len(RELAXED.load(result)["hooks"]["Stop"]) == 1


def test_a_handler_that_a_person_put_into_our_group_stays() -> None:
    form, entry = STRICT, LAYOUT.entries[0]
    theirs = {"type": "command", "command": "theirs"}
    since = form.insert(merged("{}", form, LAYOUT), (*entry.place, 0, "hooks", 1), theirs)
    assert form.load(stripped(since, form, LAYOUT, base="{}")) == {
        "hooks": {entry.place[1]: [{"hooks": [theirs]}]}
    }


def test_a_command_that_only_mentions_the_wrapper_is_not_ours() -> None:
    theirs = {
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "echo; '/data/é x/sb-hook' claude-code"}]}]
        }
    }
    text = json.dumps(theirs)
    assert stripped(text, STRICT, LAYOUT, base=None) == text


def test_an_entry_of_ours_that_says_something_else_is_put_right_where_it_stands() -> None:
    form, entry = STRICT, LAYOUT.entries[0]
    text = merged("{}", form, LAYOUT)
    text = form.replace(text, (*entry.place, 0, "hooks", 0, "timeout"), 1)
    text = form.insert(text, (*entry.place, 1), documents.THEIRS)
    groups = find(form.load(merged(text, form, LAYOUT)), entry.place)
    assert groups == [entry.value, documents.THEIRS]


def test_indentation_and_line_ends_are_taken_from_the_file() -> None:
    result = merged('{\r\n\t"a": 1\r\n}', STRICT, CURSOR)
    assert result.replace("\r\n", "").count("\n") == 0
    assert '\r\n\t"hooks": {\r\n\t\t"preToolUse"' in result
    assert result.endswith("}")
    assert "\n" not in merged('{"a": 1}', STRICT, CURSOR)


@rows(
    "text, line, what",
    [
        ('{"a": 1\n "b": 2}', 2, "a comma"),
        ("{\n  // no\n}", 2, "comment"),
        ('{\n"a": [1,]}', 2, "a comma before the end"),
        ('{"a": 1}\n{}', 2, "something follows"),
        ('{"a": }', 1, "a value"),
        ('{"a": NaN}', 1, "a value"),
        ("{'a': 1}", 1, "double quotes"),
        ('{"a" 1}', 1, "a colon"),
        ('{"a": "x\ny"}', 1, "not valid"),
        ('{"a": 01}', 1, "a comma"),
        ('{\n\n"a": [', 3, "too early"),
        ("[" * 5000, 1, "nested"),
        ("[]", 1, "not an object"),
        ('{\n"hooks": []}', 2, "hooks is not an object"),
        ('{"hooks": {\n"Stop": {}}}', 2, "hooks.Stop is not a list"),
        ('{"hooks": {},\n"hooks": {}}', 2, "hooks is there twice"),
        ('{"hooks": {"Stop": [],\n"Stop": []}}', 2, "hooks.Stop is there twice"),
    ],
)
def test_what_cannot_be_merged_is_named_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(Malformed, match=what) as raised:
        merged(text, STRICT, LAYOUT)
    assert raised.value.line == line


def test_duplicate_keys_elsewhere_are_ignored() -> None:
    text = '{"env": 1, "env": 2}'
    assert stripped(merged(text, STRICT, LAYOUT), STRICT, LAYOUT, base=text) == text


@given(st.text('{}[]",:/*\\ \r\n\ta1-.e+truefalsn\ufeff', max_size=30))
@settings(max_examples=250)
def test_the_strict_reader_agrees_with_the_standard_one(text: str) -> None:
    try:
        theirs: Any = json.loads(text, parse_constant=pytest.fail)
    except ValueError:
        theirs = Malformed
    try:
        ours = STRICT.load(text) if text.strip() else Malformed
    except Malformed:
        ours = Malformed
    assert ours == theirs
