"""Invariants of all command lines: wrapping lowers no class, nothing raises, time is linear."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sb.kernel.contracts import SafetyClass
from sb.shell import ShellVerdict, classify
from sb.shell.parsing.nodes import Simple, Unparsed
from sb.shell.parsing.syntax import LONGEST, parse
from sb.shell.parsing.words import UNKNOWN, expand
from tests.rows import rows
from tests.shell.test_commands import ROWS

HOME = Path("/data/somebody")


def judge(command: str) -> ShellVerdict:
    return classify(command, cwd=HOME / "work", home=HOME, protected=[HOME / ".sb"], env={})


ONE_LINERS = st.sampled_from([row.command for row in ROWS if "\n" not in row.command and row.letter != "D"])
# Of what is no command line, such as `ls )`, a part may be one within other text: `echo "$(ls )␤)"`.
# Judged at the first use: each process of a run imports this, and few of them run it.
COMMANDS = st.deferred(lambda: st.sampled_from([row.command for row in ROWS if judge(row.command).parsed]))
WRAPPED = (
    lambda line: f"sh -c {shlex.quote(line)}",
    lambda line: f"bash -lc {shlex.quote(line)}",
    lambda line: f"env NOBODY_READS_THIS=1 sh -c {shlex.quote(line)}",
    lambda line: f"eval {shlex.quote(line)}",
    lambda line: f"({line}\n)",
    lambda line: f"{{ {line}\n}}",
    lambda line: f"ls && {line}",
    lambda line: f"{line}\nls",
    lambda line: f"ls | {line}",
    lambda line: f"if ls; then {line}\nfi",
    lambda line: f"for x in 1 2; do {line}\ndone",
    lambda line: f"f() {{ {line}\n}}; f",
    lambda line: f"echo $({line}\n)",
    lambda line: f'echo "$({line}\n)"',
    lambda line: f"cat <({line}\n)",
    lambda line: f"nohup sh -c {shlex.quote(line)} &",
    lambda line: f"find . -exec sh -c {shlex.quote(line)} \\;",
    lambda line: f"timeout 5 bash -c {shlex.quote(line)}",
    lambda line: f"bash <<< {shlex.quote(line)}",
    lambda line: f"trap {shlex.quote(line)} EXIT",
    lambda line: f"git -c alias.x={shlex.quote('!' + line)} x",
)


@given(COMMANDS, st.sampled_from(WRAPPED))
@example("rmdir src; cd src; curl x | tar x", WRAPPED[4])
def test_wrapping_a_command_never_lowers_its_class(line: str, wrapped: object) -> None:
    assert callable(wrapped)
    plain, outer = judge(line), judge(wrapped(line))
    assert outer.safety_class >= plain.safety_class, (outer, plain)
    if outer.safety_class is not SafetyClass.DESTRUCTIVE:
        assert bool(outer.refused) >= bool(plain.refused)


@given(ONE_LINERS, st.sampled_from(WRAPPED), st.sampled_from(WRAPPED))
def test_nor_does_wrapping_it_twice(line: str, inner: object, outer: object) -> None:
    assert callable(inner)
    assert callable(outer)
    assert judge(outer(inner(line))).safety_class >= judge(line).safety_class


@given(
    st.sampled_from(
        [row.command.split() for row in ROWS if row.command.replace("-", "").replace(" ", "").isalnum()]
    )
)
def test_quoting_the_words_changes_nothing(words: list[str]) -> None:
    plain = judge(" ".join(words)).safety_class
    if words[0] in ("fi", "time", "coproc", "function"):
        return
    assert judge(" ".join(f"'{word}'" for word in words)).safety_class == plain
    assert judge(" ".join(f'"{word}"' for word in words)).safety_class == plain
    assert judge(" ".join(f"\\{word}" for word in words)).safety_class == plain
    assert judge(" ".join(f"{word[:1]}\\\n{word[1:]}" for word in words)).safety_class == plain


PIECES = st.sampled_from(
    [
        "rm",
        "-rf",
        "sh",
        "-c",
        "eval",
        "sudo",
        "git",
        "find",
        "-exec",
        "{}",
        "\\;",
        "sed",
        "awk",
        "env",
        "xargs",
        "sb",
        "cd",
        "..",
        "/",
        "if",
        "then",
        "fi",
        "do",
        "done",
        "case",
        "in",
        "esac",
        "for",
        "$(",
        "${",
        "$((",
        "))",
        "<<E",
        "E",
        "<<",
        "<(",
        "[[",
        "]]",
        "#",
        "*",
        "?",
        "~",
        "=",
        "x=",
        ",",
        "{",
        "}",
        ";",
        "|",
        "&",
        "&&",
        "||",
        "<",
        ">",
        ">>",
        "`",
        "'",
        '"',
        "\\",
        "$",
        "$'",
        "!",
        "\n",
        "\t",
        "é",
        "\xa0",
        "\u202e",
        "\x00",
    ]
)


@given(st.lists(st.tuples(PIECES, st.sampled_from(["", " "])), max_size=24))
@example([("\ud800", "")])
@example([("a" * (LONGEST + 1), "")])
def test_nothing_that_is_typed_raises(pieces: list[tuple[str, str]]) -> None:
    verdict = judge("".join(piece + gap for piece, gap in pieces))
    assert isinstance(verdict.safety_class, SafetyClass)
    assert verdict.reason


@given(st.text(max_size=60))
def test_no_text_at_all_raises(text: str) -> None:
    assert judge(text).reason


LONG = [
    "a ", "ls;", "ls\n", "ls|", "$(", "(", "`", "'", '"', "{a,b}", "{a,", "{a..b}", "{{,},", "${x:-", "[[ ", "x=(", "<<A ", "<<<a ", "\\\n",
    "$'\\'", "!", "! ", "cat <<E\n", "*/", "$a", "x=$x$x;", "cd a;", "> a ", "env ", "sh -c ", "/*", "a/../", "f(){ ", "x=1; for i in $x; do x=$i; done; ",
    "cd $X; rm a; ", "pushd a; ", "cd -; ", "source x; ", "f() { cd $X; }; f; ", "GIT_TRACE=/x ", "GIT_CONFIG_PARAMETERS='a=b' ", "setarch ", "ln a b; ",
    "git clone -c a=b ", "LD_PRELOAD=a: ", "foo --in-place a ", "\ud800", "\x1b",
]  # fmt: skip


@rows("piece", LONG)
def test_the_longest_lines_are_judged_in_a_moment(piece: str) -> None:
    start = time.process_time()
    judge(piece * (LONGEST // len(piece)))
    assert time.process_time() - start < 6  # what tries everything takes minutes


@pytest.mark.parametrize(
    "script", ["sqlite3 x '{}'", "psql -c '{}'", "awk '{}'", "sed '{}'", "python -c '{}'"]
)
@pytest.mark.parametrize(
    "piece",
    ["/*", '"a\\', "print ", "s/a/b/;", "\n", ",/\\", "select 1;", "delete where a or ", ".connect( sh "],
    ids=ascii,
)
def test_so_are_long_programs_in_other_languages(script: str, piece: str) -> None:
    start = time.process_time()
    judge(script.replace("{}", piece * (100_000 // len(piece))))
    assert time.process_time() - start < 6  # what tries everything takes minutes


def test_what_is_too_long_or_too_deep_is_destructive() -> None:
    for line in (
        "echo " + "a" * 10**6,
        "echo " + "$(" * 500 + "ls" + ")" * 500,
        "( " * 100 + "ls" + " )" * 100,
    ):
        assert judge(line).safety_class is SafetyClass.DESTRUCTIVE


WORD = st.lists(
    st.sampled_from(
        ["a", "B", "1", "-", "=", "/", "'b c'", '"d e"', "\\ ", "\\'", '\\"', "$'f\\n\\x41'", '"\\$"', '"\\\\"', "''", '""', "\\\n", "é",
         "{x,y}", "{p,{q,r}}", "{z", "v}", ",", '"{m,n}"', "'$X'", "#", "@", ":", "%", "+", '"\\a"', "$'\\''", '$"g"', "\\{", "{}"]
    ),
    min_size=1,
    max_size=7,
)  # fmt: skip


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is what it is compared with")
@settings(max_examples=60)
@given(st.lists(WORD, min_size=20, max_size=20))
@example([["{x,y}", "{x,y}", "{x,y}", "{p,{q,r}}", "{p,{q,r}}"]])
@example(
    [
        ["a", "{}", ",", "v}"],
        ["{}", ",", "v}"],
        ["{z", "{}", ",", "v}"],
        ["{z", "v}", ",", "v}"],
        ["{x,y}", "{}", ",", "v}"],
    ]
)
def test_words_expand_as_in_bash(words: list[list[str]]) -> None:
    lines = ["".join(word) for word in words]
    lines = [line for line in lines if not line.replace("\\\n", "").startswith("#")]
    ours = []
    script = []
    for line in lines:
        node = parse(f"printf {line}")[0]
        assert isinstance(node, Simple)
        texts = [text for word in node.words[1:] for text in expand(word.text, {})]
        ours.append(texts or [""])  # printf prints its format once, whether or not there is anything
        script.append(f"printf '%s\\0' {line}; printf '\\1\\0'")
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    theirs = [part.split("\0")[:-1] for part in done.stdout.decode().split("\1\0")[:-1]]
    for mine, bashs in zip(ours, theirs, strict=True):
        if len(bashs) > 64:  # more than are followed
            assert any(UNKNOWN in text for text in mine)
        else:
            assert mine == bashs


PLAIN = re.compile(r"[\w ./-]+", re.ASCII)  # which is no grammar in bash, but for the words that follow
RESERVED = set(
    "case coproc do done elif else esac fi for function if in select then time until while".split()
)


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is what it is compared with")
def test_line_with_a_syntax_error_of_bash_is_not_parsed() -> None:
    """Of lines that are not parsed, and of plain words, bash need not be asked: it takes two milliseconds a line."""
    asked = 0
    for row in ROWS:
        words = row.command.split(" ")
        if "\0" in row.command or (PLAIN.fullmatch(row.command) and not RESERVED & set(words)):
            continue
        with suppress(Unparsed):
            parse(row.command)
            done = subprocess.run(["bash", "-n", "-c", row.command], capture_output=True, check=False)
            assert done.returncode == 0, (row.command, done.stderr)
            asked += 1
    assert asked > 500
