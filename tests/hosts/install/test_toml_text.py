"""Hooks in Codex's config.toml: added with comments and order kept, or refused."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.hosts.install.documents import Malformed
from sb.hosts.install.entries import merged, stripped
from sb.hosts.install.host import Wanted
from sb.hosts.install.toml_text import TomlText
from sb.hosts.registry import host_settings
from tests.rows import rows

FORM = TomlText()
WHOLE = host_settings("codex").layout(Wanted(Path("/data/o'neil/sb-hook")))
LAYOUT = replace(WHOLE, entries=[WHOLE.entries[place] for place in (0, 5)])
THEIRS = '[[hooks.PreToolUse]]\nmatcher = "Bash" # theirs\n\n  [[hooks.PreToolUse.hooks]]\n  type = "command"\n  command = "./check"\n'
STATE = '[hooks.state."/x/config.toml:pre_tool_use:0:0"]\ntrusted_hash = "sha256:1"\n'
PARTS = (
    "# mine\nmodel = 'gpt' # yes\n\n",
    "[tui]\n# inside\nlist = [\n  1, # one\n  2,\n]\n\n",
    'text = """\n[[hooks.PreToolUse]]\n"""\n',
    "",
)


@given(
    st.sampled_from([PARTS[0], PARTS[2], PARTS[3]]),
    st.booleans(),
    st.sampled_from(PARTS[1:2] + PARTS[3:]),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_our_groups_come_last_and_go_without_a_trace(
    head: str, theirs: bool, tail: str, state: bool, newline: str
) -> None:
    text = (head + THEIRS * theirs + tail + STATE * state).replace("\n", newline)
    result = merged(text, FORM, LAYOUT)
    data, before = tomllib.loads(result), tomllib.loads(text)
    for entry in LAYOUT.entries:
        assert data["hooks"][entry.place[1]] == [
            *before.get("hooks", {}).get(entry.place[1], []),
            entry.value,
        ]
    assert merged(result, FORM, LAYOUT) == result
    remaining = iter(result.splitlines())
    assert all(line in remaining for line in text.splitlines()), "a line is gone, changed or moved"
    back = stripped(result, FORM, LAYOUT, base=text)
    assert tomllib.loads(back) == before
    assert back.split() == text.split()


def test_groups_in_inline_lists_are_joined_there() -> None:
    text = "[hooks]\nPreToolUse = [\n  { hooks = [{ type = 'command', command = 'x' }] }, # mine\n]\n"
    result = merged(text, FORM, LAYOUT)
    assert "  { hooks = [{ type = 'command', command = 'x' }] }, # mine\n" in result
    assert tomllib.loads(result)["hooks"]["PreToolUse"][1] == LAYOUT.entries[0].value
    assert stripped(result, FORM, LAYOUT, base=text).split() == text.split()


def test_what_cannot_be_edited_safely_is_refused() -> None:
    inline = "hooks = { PreToolUse = [{ hooks = [{ type = 'command', command = 'x' }] }] }\n[tui]\n"
    with pytest.raises(Malformed, match="cannot be edited safely"):
        merged(inline, FORM, LAYOUT)


@rows(
    "text, line, what",
    [
        ("a = 1\nb = \n", 2, "Invalid value"),
        ("a = 1\na = 2\n", 2, "overwrite"),
        ("hooks = 1\n", 0, "hooks is not a table"),
        ("[hooks]\nPreToolUse = 1\n", 0, "hooks.PreToolUse is not a list"),
    ],
)
def test_what_is_no_toml_or_something_else_is_named(text: str, line: int, what: str) -> None:
    with pytest.raises(Malformed, match=what) as raised:
        merged(text, FORM, LAYOUT)
    assert raised.value.line == line
