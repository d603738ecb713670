"""Canonical JSON, text made safe, durations, workers."""

from __future__ import annotations

import enum
import json
import math
import subprocess
import sys
import threading
import time
from typing import Any, NamedTuple

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from sb.base.duration import parse_duration
from sb.base.text import human_bytes, json_text, nearest, plain, revealed, shorten
from sb.base.values.canonical import MAX_DEPTH, NotCanonical, canonical_bytes, freeze
from sb.errors import ExitCode, SBError, UsageError
from sb.kernel.registry.arguments import clipped
from sb.kernel.registry.workers import DeadlineExceeded, Workers
from tests.rows import rows

LIMIT = 2**53 - 1
VISIBLE_FORMATS = "".join(
    map(chr, [*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD])
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-LIMIT, LIMIT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_canonical_bytes_are_those_of_rfc_8785(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


@given(VALUES)
def test_freezing_keeps_the_value_and_shares_nothing_with_it(value: Any) -> None:
    frozen, encoded = freeze(value)
    assert frozen == value
    assert freeze(frozen)[1] == encoded
    if isinstance(value, list | dict):
        assert frozen is not value


@rows(
    "one, other",
    [({"a": 1, "b": 2}, {"b": 2, "a": 1}), (1.0, 1), ([1, 2], (1, 2)), (1e21, 10.0**21), (-0.0, 0)],
)
def test_values_that_json_cannot_tell_apart_have_one_form(one: Any, other: Any) -> None:
    assert canonical_bytes(one) == canonical_bytes(other)


class Colour(enum.StrEnum):
    RED = "red"


class Point(NamedTuple):
    x: int


def test_subclasses_of_json_types_are_taken_as_their_base() -> None:
    assert freeze({"c": Colour.RED, "p": Point(1)})[0] == {"c": "red", "p": [1]}


@rows(
    "value", [math.nan, math.inf, 2**53, -(2**53), b"x", {1: 2}, {"x": object()}, "\ud800", {"\ud800": 1}, 1j]
)
def test_what_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        freeze(value)


def test_nesting_is_bounded() -> None:
    deep: list[Any] = []
    for _ in range(MAX_DEPTH):
        deep = [deep]
    with pytest.raises(NotCanonical, match="deeper"):
        freeze(deep)
    assert freeze(deep[0])


@rows(
    "hostile, safe",
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "0;titleafter"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "8;;http://xlink8;;"),
        ("\x1bPq#0\x1b\\after", "q#0after"),
        ("clerk\x1b]: paid 999\x07", "clerk: paid 999"),
        ("clerk\x1b[: paid 999", "clerk: paid 999"),
        ("\x1b(B\x1b[m", ""),
        ("Z\u0336" + "\u0335" * 99 + "o", "Z\u0336" + "\u0335" * 3 + "o"),
        ("\x9b31mred", "red"),
        ("a\rb\x08c\x00d", "abcd"),
        ("\u202eevil\u2066\u200b", "evil"),
        ("\x1b", ""),
        ("tab\tnew\nline", "tab\tnew\nline"),
        ("[red]markup[/]", "[red]markup[/]"),
        ("naïve 日本語 👩‍💻", "naïve 日本語 👩‍💻"),
    ],
)
def test_plain_text_cannot_command_a_terminal(hostile: str, safe: str) -> None:
    assert plain(hostile) == safe


@given(st.text())
def test_plain_text_has_no_control_characters_and_one_line_no_newlines(text: str) -> None:
    assert not any((ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160 for char in plain(text))
    assert "\n" not in plain(text, one_line=True)
    assert plain(plain(text)) == plain(text)
    json.dumps(plain(text)).encode()


@given(st.dictionaries(st.text(), st.text() | st.floats(allow_nan=False) | st.lists(st.text())))
def test_json_text_is_the_same_value_without_what_commands_a_terminal(value: dict[str, Any]) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text)


@given(st.text(st.characters(categories=["Cf", "Zs", "Zl", "Zp"], exclude_characters=" " + VISIBLE_FORMATS)))
def test_what_cannot_be_seen_is_shown_as_its_escape_to_who_has_to_judge(unseen: str) -> None:
    assert revealed(f"rm{unseen}-rf").isascii()
    assert revealed("naïve 東京 \U0001f600") == "naïve 東京 \U0001f600"


@rows("filler", "\u034f\u115f\u2800\u3164\ufe0f\uffa0\u17b4\u180b")
def test_fillers_and_selectors_are_shown_too(filler: str) -> None:
    assert revealed(f"a{filler}b") == f"a\\u{ord(filler):04x}b"


def test_small_text_helpers() -> None:
    assert (shorten("abcdef", 4), shorten("abc", 4)) == ("abc…", "abc")
    assert nearest("fiels.read", ["files.read", "http.get"]) == ' (did you mean "files.read"?)'
    assert nearest("zzz", ["files.read"]) == ""
    assert [human_bytes(n) for n in (0, 1023, 1536, 5 * 2**20, 3 * 2**40)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5.0 MiB",
        "3072.0 GiB",
    ]


@rows("text, seconds", [("30s", 30), ("15m", 900), ("2h", 7200), ("90d", 7_776_000), ("4w", 2_419_200)])
def test_durations_are_read(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@rows("text", ["", "5", "d", "-1d", "1.5h", "1 d", "1y", "9999999999d"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a duration"):
        parse_duration(text)


@given(st.text(alphabet="ab \n", max_size=12_000))
def test_a_clipped_text_is_a_prefix_that_ends_at_a_word(text: str) -> None:
    cut = clipped(text)
    if cut != text:
        prefix = cut.rpartition("… (")[0]
        assert text.startswith(prefix)
        assert len(prefix) <= 4096


def every_error(kind: type[SBError] = SBError) -> list[type[SBError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in every_error(child))]


def test_every_error_has_its_own_kind_and_a_documented_exit_code() -> None:
    kinds = [kind.kind for kind in every_error() if "kind" in vars(kind)]
    assert len(set(kinds)) == len(kinds)
    assert {kind.exit_code for kind in every_error()} <= set(ExitCode)


def test_a_worker_thread_is_reused_and_a_hanging_one_is_replaced() -> None:
    workers = Workers()
    first = workers.call(threading.get_ident, 5)
    assert workers.call(threading.get_ident, 5) == first
    release = threading.Event()
    with pytest.raises(DeadlineExceeded):
        workers.call(release.wait, 0.05)
    assert workers.call(threading.get_ident, 5) != first
    release.set()
    with pytest.raises(SystemExit):
        workers.call(lambda: exec("raise SystemExit(1)"), 5)


def test_a_hanging_tool_does_not_keep_the_process_alive() -> None:
    import subprocess
    import sys

    script = (
        "import time; from sb.kernel import *\n"
        "r = ToolRegistry(); r.register_fn('t.x', 'X', lambda: time.sleep(60), SafetyClass.LOCAL_WRITE, timeout_ms=100)\n"
        "print(ToolExecutor(r).execute(RunContext.create('a'), 't.x', {}).error_code)\n"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "TIMEOUT\n"
    assert time.monotonic() - started < 50


def test_front_door_is_five_names_that_load_nothing_before_they_are_used() -> None:
    import sb

    homes = {name: getattr(sb, name).__module__.split(".")[1] for name in sb.__all__}
    assert homes == {
        "Brain": "memory",
        "RunContext": "kernel",
        "ToolSpec": "kernel",
        "governed": "kernel",
        "open_runtime": "runtime",
    }
    loaded = "import sys, sb; print([name for name in sys.modules if name.startswith('sb.')])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'brain'"):
        sb.brain  # noqa: B018 - read for its fault
