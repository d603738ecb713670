"""The help of the whole command tree: one short line each, never cut, and an example that parses."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from evals.docs import commands
from sb.cli import root_command

LONGEST = 60
EXAMPLE = "Example: "


def leaves() -> Iterator[tuple[str, Any]]:
    return ((words, command) for words, command in commands() if not getattr(command, "commands", None))


def groups() -> Iterator[tuple[str, Any]]:
    yield "sb", root_command()
    yield from ((words, command) for words, command in commands() if getattr(command, "commands", None))


def first_line(text: str) -> str:
    return text.split("\n\n", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("words", "command"), [*commands()], ids=lambda value: value if isinstance(value, str) else ""
)
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


@pytest.mark.parametrize(
    ("words", "group"), [*groups()], ids=lambda value: value if isinstance(value, str) else ""
)
def test_no_line_of_a_group_is_cut(words: str, group: Any) -> None:
    context = typer.Context(group, info_name=words, terminal_width=80, max_content_width=80)
    assert "..." not in group.get_help(context).partition("Commands:")[2]


@pytest.mark.parametrize(
    ("words", "command"), [*leaves()], ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_command_has_an_example_that_parses(words: str, command: Any) -> None:
    example = command.epilog or ""
    assert example.startswith(f"{EXAMPLE}{words}")
    arguments = shlex.split(example.removeprefix(EXAMPLE))[len(words.split()) :]
    context = command.make_context(words, arguments)
    assert context.command is command
