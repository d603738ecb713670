"""Usage errors in our words: the value that is wrong, and the command that was probably meant.

Loaded once something was typed wrongly. It knows the commands of every group by name, and loads none of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from sb.commands.interface import verbs
from typer._click import exceptions as click  # typer exports no error but BadParameter

from sb.base.text import nearest, plain, shorten
from sb.errors import ExitCode, UsageError

_LINES = Path(__file__).with_name("synonyms.txt").read_text(encoding="utf-8").splitlines()
SYNONYMS = {
    word: tuple(commands.split(", "))
    for word, _, commands in (line.partition(": ") for line in _LINES if not line.startswith("#"))
}
# What shows the thing that an id names, by the id's kind.
OF_IDS = {
    "apr": "approvals show",
    "call": "log show",
    "esc": "recovery show",
    "grant": "approvals grants",
    "inc": "incident show",
    "mem": "memory show",
    "mut": "undo show",
    "run": "log show",
}
OWN_NAME = 0.8  # likeness from which a command of the group is meant before one further down
MOST = 3  # commands in one hint
LONGEST_WORD, LONGEST_REST = 60, 200  # characters of the wrong word, and of what was typed after it


def unknown_command(path: str, typed: list[str], names: Sequence[str]) -> UsageError:
    """The error for an unknown command, with the one that was probably meant.

    Args:
        path: of the group, such as "sb memory".
        typed: the word and what follows it.
        names: of the group's commands.
    """
    word, rest = typed[0], typed[1:]
    shown = plain(word, one_line=True)
    group = path.partition(" ")[2]
    message = f"no command {shorten(shown, LONGEST_WORD)!r}" + (f" in {path}" if group else "")
    kind, mark, _ = word.partition("_")
    if mark and kind in OF_IDS:
        return UsageError(message, f"sb {OF_IDS[kind]} {shown}")
    commands = meant(word, group, names)
    if not commands:
        return UsageError(message, f"{path} --help lists the commands")
    if len(commands) > 1:
        return UsageError(message, "one of: " + ", ".join(f"sb {command}" for command in commands))
    tail = plain(shlex.join(rest), one_line=True)
    return UsageError(message, f"sb {commands[0]} {tail if len(tail) <= LONGEST_REST else '…'}".rstrip())


def meant(word: str, group: str, names: Sequence[str]) -> list[str]:
    """The commands that a wrong word probably means, the likeliest first; those of the group alone if it has any."""
    word = word.lower()
    known = _known(word)
    if not group:
        close = [] if known else get_close_matches(word, names, n=1, cutoff=OWN_NAME)
        close = close or (
            [] if known else get_close_matches(word, [*names, *verbs().values(), *SYNONYMS], n=1)
        )
        near = [command for name in close for command in ([name] if name in names else _known(name))]
        return (known or near)[:MOST]
    own = [command for command in known if command.startswith(f"{group} ")]
    near = [f"{group} {name}" for name in get_close_matches(word, names, n=1)]
    return (own or near or known)[:MOST]


def _known(word: str) -> list[str]:
    """The commands that people mean by a word, else those of that name in all groups."""
    return [*SYNONYMS.get(word, ())] or [command for command, verb in verbs().items() if verb == word]


def usage_error(error: typer.TyperException) -> UsageError | None:
    """The command line's own error as ours; None for one that is not about usage."""
    if error.exit_code != ExitCode.USAGE or not isinstance(error, click.UsageError):
        return None
    context: Any = error.ctx
    path = context.command_path if context is not None else "sb"
    message, hint = _described(error, context, path)
    return UsageError(message, hint or f"{path} --help")


def _described(error: click.UsageError, context: Any, path: str) -> tuple[str, str]:
    """The error, and what to do unless the help says it."""
    if isinstance(error, click.NoSuchOption):
        return _no_option(error.option_name, context, path)
    if isinstance(error, click.BadOptionUsage):
        option = error.option_name
        if "requires" in error.message:
            return f"{option}: needs a value", f"write {option} VALUE"
        return f"{option}: takes no value", f"write {option} alone"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{path}: {_name(error.param)} is missing", _example(context, path)
    if isinstance(error, click.BadParameter) and error.param is not None:
        return _bad_value(error, error.param)
    if "extra argument" in error.message:
        extra = error.message.partition("argument(s) (")[2].removesuffix(")")
        return f"{path}: unexpected argument {plain(extra, one_line=True)!r}", _example(context, path)
    return f"{path}: {' '.join(error.format_message().split())}", ""


def _no_option(option: str, context: Any, path: str) -> tuple[str, str]:
    message = f"{path}: no option {plain(option, one_line=True)}"
    of_sb = [parameter for parameter in context.find_root().command.params if option in parameter.opts]
    if path != "sb" and of_sb:
        value = "" if of_sb[0].is_flag else f" {of_sb[0].metavar}"
        return message, f"write it before the command: sb {option}{value} {path.partition(' ')[2]}"
    if option == "--json" and getattr(context.command, "commands", None):
        return message, f"write it after the command: {path} COMMAND --json"
    known = [name for parameter in context.command.get_params(context) for name in parameter.opts]
    return message + nearest(option, known), ""


def _bad_value(error: click.BadParameter, parameter: Any) -> tuple[str, str]:
    """A value that its type refuses."""
    kind, name = parameter.type, _name(parameter)
    reason = plain(error.message, one_line=True)
    choices = getattr(kind, "choices", None)
    if choices is not None:
        known = [str(getattr(value, "value", value)) for value in choices]
        typed = reason.partition("'")[2].partition("'")[0]
        return f"{name}: no {typed!r}{nearest(typed, known)}", "one of " + ", ".join(known)
    if kind.name.startswith(("int", "float")):
        noun = "a whole number" if kind.name.startswith("int") else "a number"
        low, high = getattr(kind, "min", None), getattr(kind, "max", None)
        limits = (
            "" if low is None else f" of {low:g} or more" if high is None else f" from {low:g} to {high:g}"
        )
        typed = reason.partition(" is not ")[0].strip("'\"").removesuffix(".0")
        return f"{name}: must be {noun}{limits}, not {typed!r}", ""
    return f"{name}: {reason.removesuffix('.')}", ""


def _name(parameter: Any) -> str:
    """An option as it is typed, an argument as the help names it."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name).upper().removesuffix("...")


def _example(context: Any, path: str) -> str:
    """The command's own example, and where the rest stands."""
    example = (context.command.epilog or "").removeprefix("Example: ")
    return f"such as: {example} ({path} --help)" if example else ""
