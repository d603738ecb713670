"""Whole lines against bash: each command of a line gets the words that bash gives it, and work is bounded by steps."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.kernel.contracts import SafetyClass
from sb.shell import classify
from sb.shell.judging import LineJudge
from sb.shell.parsing.inputs import NOTHING, Input
from sb.shell.parsing.syntax import parse
from sb.shell.programs.rules import Finding

HOME = Path("/data/somebody")
ROUNDS = 40 if "SB_PROVE_ROUNDS" in os.environ else 2  # processes of bash: 10,000 lines, or 500
LINES = 250  # of one process of bash
WORDS = (
    *("a", "B1", "-x", "--long=v", "x=y", "/p/q", "..", "'a b'", '"c  d"', "e\\ f", "\\'", '\\"', "$'t\\tn\\x41'", '"\\$h"', "'$z'"),
    *("é", "{u,v}", "{p,{q,r}}", "{z", "w}", "#no", "a#b", "@:%", "\\\\", "~+x", "a\\\nb", '"q\'r"', "'s\"t'", "-", "--", "{}", "1..3"),
    *("${V}t", '"$V"', "${V}", '"${V}t"', "${V}${V}", "x${W}", "${U}", '"$W"'),
)  # fmt: skip
EMPTY = ("''", '""', '"$E"')  # words; beside an unquoted variable, bash makes words of them that we leave out
# Each runs its commands exactly once; X is a command, or a list of them.
FRAMES = (
    *("X; X", "X\nX", "X && X", "{ X; }", "( X )", "if true; then X; fi", "if false; then :; else X; fi", "! { X; }; true", "X # comment 'x", "false || X"),
    *("for i in one; do X; done", "while :; do X; break; done", "until false; do X; break; done", "case a in b) ;; a|c) X;; esac", "f() { X; }; f"),
    *("X <<E\nbody $V 'x\nE", "X <<'E'\n$(q)\nE", "X <<-E\n\tb\n\tE", "X >/dev/null", "X 2>&1 </dev/null", "X <<< 'here'", "X | cat", "Y=1; X", "{ X\n}"),
    *("[[ -n a && x == x ]] && X", "(( 1 < 2 )) && X", "X; : $( X )", ': "`X`"', "eval 'X'", "X >/dev/null 2>&1; X", "true && { X; } || false"),
)  # fmt: skip


def command(random: Random, depth: int = 2) -> str:
    """A line that runs `p` with known words, each exactly once."""
    if depth and random.random() < 0.55:
        parts = random.choice(FRAMES).split("X")
        made = [command(random, depth - 1) for _ in parts[1:]]
        # A here-document ends its line, a comment takes the rest of one, and quotes are not put into others.
        if all(not set(inner) & set("\n#'`\\") for inner in made) or parts == ["", "\n", ""]:
            return parts[0] + "".join(inner + after for inner, after in zip(made, parts[1:], strict=True))
    words = (
        "".join(random.choices(WORDS, k=random.choice((1, 1, 1, 2, 3)))) for _ in range(random.randint(0, 4))
    )
    return " ".join(["p", *(word for word in words if not word.startswith("#"))])


class Recorder(LineJudge):
    """Notes the words of each command `p`."""

    def __init__(self) -> None:
        super().__init__(HOME, HOME, [], {})
        self.seen: list[tuple[str, ...]] = []

    def command(self, argv: Sequence[str], stdin: Input = NOTHING) -> Finding:
        if argv[0] == "p":
            self.seen.append(tuple(argv[1:]))
        return super().command(argv, stdin)


SETUP = "p() { printf '%s\\0' p \"$@\" >&3; printf '\\1\\0' >&3; }\n"
VALUES = "V='two words'; E=; W='*'; U=' -rf z '; set -f\n"


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is what it is compared with")
@pytest.mark.prove
def test_commands_of_a_line_have_the_words_that_bash_gives_them() -> None:
    @settings(max_examples=ROUNDS)
    @given(st.integers(0, 2**32))
    def agree(seed: int) -> None:
        random = Random(seed)
        lines = [command(random) for _ in range(LINES)]
        for line, ours, theirs in zip(lines, map(by_us, lines), by_bash(lines), strict=True):
            assert Counter(ours) == Counter(theirs), line

    agree()


def by_us(line: str) -> list[tuple[str, ...]]:
    judge = Recorder()
    judge.script(parse(VALUES + line))
    return judge.seen


def by_bash(lines: Sequence[str]) -> list[list[tuple[str, ...]]]:
    """The words of each `p` of each line: one process for all lines, one shell for each."""
    script = SETUP + "".join(f"(\n{VALUES}{line}\n)\nprintf '\\2\\0' >&3\n" for line in lines)
    done = subprocess.run(
        ["bash", "-c", "exec 3>&1 >/dev/null 2>&1\n" + script],
        capture_output=True,
        check=False,
        env={"LC_ALL": "C.UTF-8"},
    )
    parts = done.stdout.decode().split("\2\0")[:-1]
    return [[tuple(call.split("\0")[1:-1]) for call in part.split("\1\0")[:-1]] for part in parts]


def test_work_is_bounded_by_a_count_of_steps() -> None:
    for piece in (
        "p a b;",
        "for i in 1 2 3; do p $i; done;",
        "echo $(p);",
    ):
        verdict = classify(piece * 3000, cwd=HOME, home=HOME, protected=[], env={})
        assert verdict.safety_class is SafetyClass.DESTRUCTIVE
        assert "too many" in verdict.reason
