"""Output on a terminal: fitted, toned and wrapped there; whole and plain in a pipe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from sb.commands.tables import as_it_is, lay_out, plain_table

from evals.terminal import on_terminal
from sb.operator.demo.story import play

ESCAPES = re.compile(r"\x1b\[[0-9]*m")
LISTS = (
    *("approvals list", "recovery list --all", "undo --list --all", "kernel runs", "kernel tools"),
    *("runtime-guard tools", "config show", "doctor", "log tail", "kernel namespaces"),
)
RUN = """import sys, termios
from sb.cli import run
for line in sys.argv[1:]:
    if line.startswith("@"):
        termios.tcsetwinsize(1, (24, int(line[1:])))
        print(line, flush=True)
    else:
        run(line.split())
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(tmp_path_factory.mktemp("demo")).home


def printed_at(home: Path, columns: int, *commands: str, **variables: str) -> str:
    """Output of commands on a terminal of that width, and from a line such as @80 on of another."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "SB_HOME": str(home), **variables}
    return on_terminal([sys.executable, "-c", RUN, *commands], columns, env)


def test_no_line_on_a_terminal_is_wider_than_it(home: Path) -> None:
    widths = (140, 80, 60)
    commands = [line for columns in widths for line in (f"@{columns}", *LISTS)]
    printed = ESCAPES.sub("", printed_at(home, 80, *commands))
    _, *parts = re.split(r"^@(\d+)\r?\n", printed, flags=re.MULTILINE)
    assert [int(columns) for columns in parts[::2]] == list(widths)
    for columns, part in zip(widths, parts[1::2], strict=True):
        lines = part.split("\n")
        assert len(lines) > 100
        long_word = re.compile(rf"\S{{{columns - 10},}}")  # such as an address to copy, which stays whole
        assert [line for line in lines if cell_len(line) > columns and not long_word.search(line)] == []


def test_colour_is_left_out_on_request_and_the_words_stay(home: Path) -> None:
    printed = printed_at(
        home,
        80,
        *("recovery list --all", "@80", "--no-color recovery list --all", "recovery list --all --no-color"),
    )
    coloured, asked = printed.split("@80")
    assert "\x1b[33mwaiting\x1b[0m" in coloured
    plain = printed_at(home, 80, "recovery list --all", NO_COLOR="1")
    assert plain.split()[:8] == ESCAPES.sub("", coloured).split()[:8]
    assert asked.count("waiting") >= 2 * plain.count("waiting")
    assert "\x1b" not in plain + asked


def test_plain_on_a_terminal_is_what_a_pipe_gets(home: Path) -> None:
    piped = subprocess.run(
        [sys.executable, "-c", RUN, "kernel tools"],
        env={"PATH": os.environ["PATH"], "SB_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed_at(home, 60, "--plain kernel tools", "kernel tools --plain") == piped * 2
    assert "…" not in piped


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["waiting", "expiring", "approved"]),
        st.text("abc漢字 /-", max_size=200),
        st.text("abc ", max_size=80),
        st.integers(0, 2**64 - 1).map(lambda number: f"apr_{number:016x}"),
    ),
    min_size=1,
    max_size=6,
)


@given(ROWS, st.integers(60, 200))
def test_a_table_fits_and_its_ids_can_be_typed(rows: list[tuple[str, ...]], width: int) -> None:
    lines = lay_out(["state", "call", "agent", "request"], rows, width, as_it_is)
    assert all(cell_len(line) <= width for line in lines)
    for line, row in zip(lines[-len(rows) :], rows, strict=True):
        assert row[3].startswith(line.split("  ")[-1].strip())


def test_a_value_that_all_rows_share_stands_above_them() -> None:
    rows = [
        ("waiting", "rm -rf build", "clerk", "-"),
        ("waiting", "make", "clerk", "-"),
        ("waiting", "ls", "clerk", "-"),
    ]
    assert lay_out(["state", "call", "agent", "lifted by"], rows, 80, as_it_is) == [
        "state waiting · agent clerk",
        "call",
        "rm -rf build",
        "make",
        "ls",
    ]


def test_ids_come_last_numbers_right_and_the_subject_before_who() -> None:
    rows = [("inc_1", "open", "clerk", "disk full", "7"), ("inc_2", "closed", "ana", "mail", "12")]
    assert lay_out(["incident", "state", "agent", "title", "calls"], rows, 80, as_it_is) == [
        "state   title      agent  calls  incident",
        "open    disk full  clerk      7  inc_1",
        "closed  mail       ana       12  inc_2",
    ]


def test_where_room_is_short_the_rightmost_columns_give_way_to_the_subject() -> None:
    rows = [
        (
            "inc_ff854c34",
            "open",
            "local:root, who was there",
            "agent:ben, agent:clerk",
            "the disk is full again",
        )
    ]
    titles = ["incident", "state", "by", "stopped", "title"]
    assert lay_out(titles, rows, 70, as_it_is) == [
        "state  title                   by                         incident",
        "open   the disk is full again  local:root, who was there  inc_ff854c34",
    ]


def test_a_pipe_gets_every_column_as_it_was_given() -> None:
    rows = [("apr_0123456789abcdef", "x" * 300)]
    assert plain_table(["request", "call"], rows, as_it_is) == [
        "request               call",
        "apr_0123456789abcdef  " + "x" * 300,
    ]
