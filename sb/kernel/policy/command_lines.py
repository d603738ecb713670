"""Compare the command lines of a call with the `runs` patterns of a rule.

The lines are parsed here, from the arguments that run and are recorded; nothing that an agent says of them counts.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sb.config.command_patterns import CommandPattern, parse_pattern
from sb.config.rules import PolicyRule

# Arguments that are command lines, or lists of them, or of a program's words.
LINES = ("command", "cmd", "command_line", "commandline", "shell_command", "commands")
VECTORS = ("argv",)
READ_WITH_COMMANDS = (*LINES, *VECTORS, "cwd", "stdin", "tool", "input")
_NOT_PARSED = frozenset(("PowerShell", "powershell"))  # hosts' tools whose lines are in another language
_MOST_LINES = 64  # of one call; with more nothing is sure
_CALCULATED = Path("/")  # the folder where that of the call is not told


class Commands(NamedTuple):
    """The commands of one line; not `understood` where one is known only when it runs."""

    argvs: tuple[tuple[str, ...], ...]
    understood: bool


_UNKNOWN = Commands((), False)


def fits_commands(rule: PolicyRule, args: dict[str, Any], *, allows: bool) -> bool:
    """True if the command lines of a call fit the `runs` of a rule; a call without any fits none.

    Args:
        allows: whether the rule allows, and so needs every command, surely; else one that may be it is enough.
    """
    from sb.shell.programs.patterns import may_run, surely_runs  # only where a rule says `runs`

    lines = [*commands_of_call(args)]
    patterns = [_pattern(text) for text in rule.runs]
    if not lines:
        return False
    if allows:
        return all(
            line.understood
            and line.argvs
            and all(any(surely_runs(pattern, argv) for pattern in patterns) for argv in line.argvs)
            for line in lines
        )
    return any(
        not line.understood or any(may_run(pattern, argv) for argv in line.argvs for pattern in patterns)
        for line in lines
    )


def commands_of_call(args: dict[str, Any]) -> Iterator[Commands]:
    """The commands of each line among the arguments of a call.

    A host's other tools have their arguments under `input`.
    """
    inner = args.get("input")
    places = [args, inner] if isinstance(inner, dict) else [args]
    cwd = next((place["cwd"] for place in places if isinstance(place.get("cwd"), str)), "")
    for count, line in enumerate(line for place in places for line in _lines(place)):
        if line is None or count >= _MOST_LINES or args.get("tool") in _NOT_PARSED:
            yield _UNKNOWN
            return
        yield _parsed(line, cwd)


def _lines(args: dict[str, Any]) -> Iterator[str | None]:
    """The command lines among arguments; None for one that cannot be read as a line."""
    for name in LINES:
        value = args.get(name)
        if isinstance(value, str) and value.strip():
            yield value
        elif isinstance(value, list) and value:
            if all(isinstance(item, str) for item in value):
                yield from (value if name == "commands" else [shlex.join(value), " ".join(value)])
            else:
                yield None
    for name in VECTORS:
        value = args.get(name)
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            stdin = args.get("stdin")
            given = f" <<< {shlex.quote(stdin)}" if isinstance(stdin, str) and stdin else ""
            yield shlex.join(value) + given


@lru_cache(maxsize=256)
def _parsed(line: str, cwd: str) -> Commands:
    from sb.shell import classify  # as above

    folder = Path(cwd) if cwd.startswith("/") else _CALCULATED
    # Without the environment: what a variable holds there may differ from what the agent's shell has.
    verdict = classify(line, cwd=folder, home=Path.home(), protected=(), env={})
    return Commands(verdict.commands, verdict.understood)


@lru_cache(maxsize=1024)
def _pattern(text: str) -> CommandPattern:
    return parse_pattern(text)
