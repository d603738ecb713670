"""Safer commands in place of those that destroy."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sb.shell import tables
from sb.shell.parsing.words import compiled, is_literal
from sb.shell.programs.patterns import may_run

if TYPE_CHECKING:
    from sb.config.command_patterns import CommandPattern
    from sb.shell import ShellVerdict


class Advice(NamedTuple):
    """Advice: the command to run instead.

    Args:
        runs: patterns of commands; the line has one of each.
        instead: the safer command. In the table `{OLD>NEW}` is the line's own command with a word replaced, `{>NEW}` with words
            added, `{*NEW}` other words before its operands, and `{url}` its address, so that it names nothing else.
        why: what it does, as a clause.
        example: a line that gets this advice.
    """

    runs: tuple[str, ...]
    instead: str
    why: str
    example: str


# Answers in advance, which a command that only looks does not take.
_YES = frozenset(("-auto-approve", "--auto-approve", "--yes", "-y"))
_ELSEWHERE = frozenset("ssh autossh docker podman kubectl oc chroot su nsenter".split())  # which run others
ADVICE = tuple(Advice(**row) for row in tables.ADVICE)


def advice_for(verdict: ShellVerdict) -> Advice | None:
    """The advice for a line that destroys, about what that line names; None for none."""
    fitting = [
        (row, found[0])
        for row in ADVICE
        if all(
            found := [next((argv for argv in verdict.commands if _fits(run, argv)), ()) for run in row.runs]
        )
    ]
    if not fitting:
        return None
    # Of several the one about the command that decided.
    row, argv = next(
        (item for item in fitting if verdict.reason.startswith(" ".join(item[1][:2]))), fitting[0]
    )
    instead, folder = _filled(row, argv), _goes_to(verdict.commands, argv)
    if not instead or folder is None:
        return None
    anywhere = "{" not in row.instead and not row.instead.startswith("git ")  # names nothing in a folder
    return row._replace(instead=instead if anywhere else folder + instead)


def _filled(row: Advice, argv: Sequence[str]) -> str:
    """The safer command for a command of a line, or ""."""
    form = compiled(r"(.*)\{(?:(url)|\*(.*)|(\S*)>(.*))\}").fullmatch(row.instead)
    if form is None:
        return row.instead
    before, url, prefix, old, new = form.groups()
    operands = [word for word in argv if word[:1] != "-" and word not in row.runs[0].split(" ")]
    addresses = [word for word in argv if "://" in word]
    words = [word for word in argv if word not in _YES]
    if url:
        words = addresses if len(addresses) == 1 else []
    elif prefix:
        words = [*prefix.split(), *operands] if operands else []
    elif old:
        at = words.index(old) if old in words else len(words)
        words = [*words[:at], *new.split(), *words[at + 1 :]] if at < len(words) else []
    else:
        words += new.split()
    return before + _joined(words) if words and all(map(is_literal, words)) else ""


def _joined(words: Sequence[str]) -> str:
    """Words as a command line, with homes as they are written."""
    quoted = (f"~/{shlex.quote(word[2:])}" if word[2:] and word[:2] == "~/" else word for word in words)
    return " ".join(word if word[:1] == "~" else shlex.quote(word) for word in quoted)


def _goes_to(commands: Sequence[Sequence[str]], argv: Sequence[str]) -> str | None:
    """The commands with which a line goes to its folder, as a prefix; None if a command may run in an unknown place."""
    others = [command for command in commands if command and command is not argv]
    before = commands[: next(at for at, command in enumerate(commands) if command is argv)]
    goes = [item for item in before if item and item[0] in ("cd", "pushd")]
    known = all(is_literal(word) and word != "-" for goe in goes for word in goe)
    if not known or any(other[0] in _ELSEWHERE for other in others):
        return None
    return "".join(f"{_joined(goe)} && " for goe in goes)


def _fits(text: str, argv: Sequence[str]) -> bool:
    """True if the words of a command that are known fit a pattern."""
    return is_literal(argv[0]) and may_run(_pattern(text), list(filter(is_literal, argv)))


def _pattern(text: str) -> CommandPattern:
    from sb.config.command_patterns import parse_pattern

    return parse_pattern(text)
