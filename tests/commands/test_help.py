"""The help of the whole command tree: one short line each, never cut, and an example that parses."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from sb.commands.interface import verbs
from sb.commands.topics import TOPICS
from sb.commands.usage_errors import SYNONYMS

from evals.docs import commands
from sb.cli import COMMANDS, HELP, SECTIONS, load, root_command
from sb.config.model import SETTINGS
from sb.errors import ExitCode
from tests.conftest import CommandLine
from tests.rows import rows

LONGEST = 60
EXAMPLE = "Example: "
NAMES: Any = {"help_option_names": [*HELP]}  # a command keeps those that it was first called with


def leaves() -> Iterator[tuple[str, Any]]:
    return ((words, command) for words, command in commands() if not getattr(command, "commands", None))


def groups() -> Iterator[tuple[str, Any]]:
    yield "sb", root_command()
    yield from ((words, command) for words, command in commands() if getattr(command, "commands", None))


def first_line(text: str) -> str:
    return text.split("\n\n", maxsplit=1)[0]


@rows("words, command", commands)
def test_help_is_one_short_line_per_command_and_option(words: str, command: Any) -> None:
    summary = first_line(command.help or "")
    assert summary[:1].isupper()
    assert summary.endswith(".")
    assert len(summary) <= LONGEST
    for parameter in command.params:
        text = parameter.help or ""
        assert text.endswith((".", "…")) or parameter.name == "help", f"{words}: {parameter.opts}: {text}"
        listed = parameter.metavar == "HOST"  # all their names
        assert listed or len(text) <= LONGEST, f"{words}: {parameter.opts}: {text}"


@rows("words, group", groups)
def test_no_line_of_a_group_is_cut(words: str, group: Any) -> None:
    context = typer.Context(group, info_name=words, terminal_width=80, max_content_width=80, **NAMES)
    assert "..." not in group.get_help(context).partition("\n\nOptions:")[2]


@rows("words, command", leaves)
def test_every_command_has_an_example_that_parses(words: str, command: Any) -> None:
    example = command.epilog or ""
    assert example.startswith(f"{EXAMPLE}{words}")
    arguments = shlex.split(example.removeprefix(EXAMPLE))[len(words.split()) :]
    context = command.make_context(words, arguments, **NAMES)
    assert context.command is command


@rows("arguments", lambda: [["-h"], *([*words.split()[1:], "-h"] for words, _ in commands())])
def test_h_is_help_everywhere(sb: CommandLine, arguments: list[str]) -> None:
    done = sb(*arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: sb")
    assert "-h, --help" in done.out


def test_help_lists_every_command_once_in_sections_of_80_columns(sb: CommandLine) -> None:
    lines = sb("--help").out.splitlines()
    first = lines.index("Start:")
    listed = [
        line.split()[0] for line in lines[first:] if line.startswith("  ") and not line.startswith("  `")
    ]
    assert sorted(listed) == sorted(COMMANDS)
    assert all(f"{section}:" in lines for section in SECTIONS)
    assert max(map(len, lines)) <= 80


def test_the_words_of_usage_errors_are_the_commands_that_there_are() -> None:
    inner = [(words.removeprefix("sb "), group) for words, group in groups() if words != "sb"]
    assert verbs() == {f"{words} {verb}": verb for words, group in inner for verb in group.commands}


@rows("command", sorted({c for several in SYNONYMS.values() for c in several}))
def test_a_synonym_leads_to_a_command_and_options_that_exist(command: str) -> None:
    words, found = command.split(), root_command()
    for number, word in enumerate(words):
        if word.startswith("-"):
            assert word in [name for parameter in found.params for name in parameter.opts]
        else:
            found = load(word) if number == 0 else found.commands[word]


WRONG = [
    ("approve apr_82", "sb approvals approve apr_82"),
    ("aproove apr_82", "sb approvals approve apr_82"),
    ("approvls list", "sb approvals list"),
    ("memory add 'the database is postgres'", "sb memory remember 'the database is postgres'"),
    ("memory list", "sb memory search"),
    ("memory serch x", "sb memory search x"),
    ("memory approve apr_82", "sb approvals approve apr_82"),
    ("list", "one of: sb approvals list, sb memory search, sb log tail"),
    ("diff", "one of: sb undo --diff, sb checkpoint diff, sb runtime-guard mismatches"),
    ("taill --follow", "sb log tail --follow"),
    ("checkpoint rollback last", "sb checkpoint restore last"),
    ("kernel policy chek", "sb kernel policy check"),
    ("harness adit", "sb harness audit"),
    ("statis", "sb status"),
    ("apr_820e", "sb approvals show apr_820e"),
    ("mut_9_f1e8", "sb undo show mut_9_f1e8"),
    ("xyzzy", "sb --help lists the commands"),
    ("kernel policy xyzzy", "sb kernel policy --help lists the commands"),
]


@rows("typed, hint", WRONG)
def test_a_wrong_word_finds_the_right_command(sb: CommandLine, typed: str, hint: str) -> None:
    done = sb(*shlex.split(typed))
    assert done.code == (64 if typed.startswith("harness") else 2)
    assert done.err.splitlines()[0].startswith("sb: error: no command ")
    assert done.err.splitlines()[1:] == [f"hint: {hint}"]
    error = sb(*shlex.split(typed), "--json").json["error"]
    assert error["kind"] == "usage"
    assert error["hint"].startswith(hint)


MISUSED = [
    (
        "approvals show",
        "sb approvals show: ID is missing",
        "such as: sb approvals show apr_820e --full (sb approvals show",
    ),
    (
        "memory search x --scop y",
        'sb memory search: no option --scop (did you mean "--scope"?)',
        "sb memory search --help",
    ),
    (
        "memory search x --db y",
        "sb memory search: no option --db",
        "write it before the command: sb --db FILE memory search",
    ),
    ("doctor --debug", "sb doctor: no option --debug", "write it before the command: sb --debug doctor"),
    ("log tail -n x", "--limit: must be a whole number of 0 or more, not 'x'", "sb log tail --help"),
    ("kill global --wait 99", "--wait: must be a number from 0 to 60, not '99'", "sb kill --help"),
    ("trust set a b c", "SCORE: must be a number, not 'c'", "sb trust set --help"),
    ("install claude-code --scope usr", "--scope: no 'usr' (did you mean \"user\"?)", "one of user, project"),
    ("log tail -n", "-n: needs a value", "write -n VALUE"),
    ("doctor --json=1", "--json: takes no value", "write --json alone"),
    ("doctor x y", "sb doctor: unexpected argument 'x y'", "such as: sb doctor --json (sb doctor --help)"),
    ("log tail -z", "sb log tail: no option -z", "sb log tail --help"),
]


@rows("typed, message, hint", MISUSED)
def test_a_usage_error_names_the_value_and_what_to_do(
    sb: CommandLine, typed: str, message: str, hint: str
) -> None:
    done = sb(*shlex.split(typed))
    assert (done.code, done.out) == (2, "")
    first, second = done.err.splitlines()
    assert first == f"sb: error: {message}"
    assert second.startswith(f"hint: {hint}")


def test_a_usage_error_is_json_where_json_is_asked_for(sb: CommandLine) -> None:
    done = sb("log", "tail", "-n", "x", "--json")
    assert (done.code, done.err) == (2, "")
    message = "--limit: must be a whole number of 0 or more, not 'x'"
    assert done.json == {"error": {"kind": "usage", "message": message, "hint": "sb log tail --help"}}
    assert sb("memory", "--json").json["error"] == {
        "kind": "usage",
        "message": "sb memory: no option --json",
        "hint": "write it after the command: sb memory COMMAND --json",
    }


@rows("words, command", leaves)
def test_every_command_refuses_misuse_in_one_line_and_a_hint(
    sb: CommandLine, words: str, command: Any
) -> None:
    name = words.removeprefix("sb ")
    options = [param for param in command.params if param.param_type_name == "option" and not param.is_flag]
    required = [param for param in command.params if param.required]
    misuses = [
        ["--no-such-option"],
        *([[]] if required and name != "hook" else []),
    ]  # a hook that names no host stops no agent
    misuses += [[option.opts[0]] for option in options if option.opts[0] != "--json"]  # that is stdout then
    numbers = [option for option in options if option.type.name.startswith(("int", "float"))]
    misuses += [[option.opts[0], "x"] for option in numbers]
    for misuse in misuses:
        done = sb(*name.split(), *misuse)
        assert (done.code, done.out) == (64 if name.startswith("harness") else 2, ""), misuse
        error, hint = done.err.splitlines()
        assert re.match(rf"sb: error: ({words}: |{misuse[0] if misuse else '-'}|--?[a-z-]+: )", error), error
        assert re.match(r"hint: (sb |such as: sb |write |one of )", hint), hint
        assert "Invalid value" not in error
    assert [
        option.opts for option in options if option.metavar is None and option.type.name != "choice"
    ] == []


def test_what_was_typed_cannot_command_the_terminal(sb: CommandLine) -> None:
    for arguments in (
        ["a\x1b[31mb"],
        ["memory", "a\x1b[31mb"],
        ["doctor", "--a\x1b[31mb"],
        ["doctor", "a\x1b[31mb"],
    ):
        done = sb(*arguments)
        assert done.code == 2
        assert "\x1b" not in done.err


@rows("name", TOPICS)
def test_help_explains_a_topic_within_the_width(
    sb: CommandLine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    done = sb("help", name)
    assert done.out.startswith(f"{TOPICS[name].title}\n")
    assert max(map(len, done.out.splitlines())) <= 60
    assert f"  {name} " in sb("help").out


@rows("words, command", commands)
def test_help_of_a_command_is_what_its_own_option_prints(sb: CommandLine, words: str, command: Any) -> None:
    typed = words.split()[1:]
    assert sb("help", *typed).out == sb(*typed, "--help").out


def test_help_finds_what_was_meant(sb: CommandLine) -> None:
    assert sb("help", "Exit", "codes").out == sb("help", "exit-codes").out == sb("help", "exit_code").out
    assert 'did you mean "times"?' in sb("help", "tmies").err
    assert "hint: sb help approvals approve" in sb("help", "approve").err
    assert "hint: sb help log show" in sb("help", "log", "sohw").err


def test_the_topic_of_the_environment_names_every_variable_of_a_setting() -> None:
    named = [name for name, _ in TOPICS["environment"].rows]
    assert [row.env for row in SETTINGS if row.env and row.env not in named] == []


def test_the_topic_of_exit_codes_names_every_code() -> None:
    assert [int(code) for code, _ in TOPICS["exit-codes"].rows] == [*map(int, ExitCode)]
