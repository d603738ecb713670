"""Handlers of programs that need more than a row of the table."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from sb.shell import tables
from sb.shell.handlers.containers import container
from sb.shell.handlers.git import git
from sb.shell.handlers.interpreters import by_arguments, django, eval_, interpreter, shell, source
from sb.shell.handlers.scripts import awk, database, redis, sed, sqlite
from sb.shell.handlers.wrapping import alias, env, exec_, find, kill, nix, pkill, trap, wrapped, xargs
from sb.shell.parsing.words import QUESTION, STAR, compiled, display, is_literal
from sb.shell.places.moving import cd
from sb.shell.places.this_machine import is_loopback
from sb.shell.programs.facts import WRAPPERS, texts
from sb.shell.programs.options import parsed
from sb.shell.programs.rules import (
    DESTROY,
    NETWORK,
    QUIET,
    READ,
    WRITE,
    Finding,
    highest,
    operands,
    rule_finding,
)

if TYPE_CHECKING:
    from sb.shell.judge import Judge
    from sb.shell.parsing.inputs import Input

Handler: TypeAlias = "Callable[[Judge, str, list[str], Input], Finding]"

_JOINED = r"-[^-X]*X=?DELETE"  # of curl, behind other letters
_DELETES = "deletes on another host"
_NAMED = r"(?:https?://)?(\[[0-9a-f:]+\]|[\w.-]+)?(?::(\d{1,5}))?(?:[/?#]\S*)?"
NEEDS_AGENT = "needs --agent NAME; without it, it acts as an operator"
_WRITING = frozenset(("kill", "incident", "init", "migrate", "demo"))
_LOOKING = frozenset(("commands", "doctor", "explain", "help", "kernel", "scan", "sources", "statusline"))
_RUNNING = frozenset(("run", "policy", "invalidate", "watch", "export"))
# Options that name a file which `sb` writes, and commands of which an operand is one.
WRITING_OPTIONS = frozenset(
    "--junit --sarif --markdown --write-baseline --save-baseline --record --output -o".split()
)
OF_EVALS = frozenset(("--json", "--to"))  # which name a file there; elsewhere a flag, and an agent
WRITING_COMMANDS = (("memory", "export"), ("stack", "export"), ("demo",))
_HARMLESS = frozenset(("-h", "--help", "--version", "--show-completion"))
_FLAGS = frozenset(
    "--json --private --explain --fusion --benchmark --foundational --protect --raw --no-raw --forgotten".split()
)


def sb(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `sb` itself: agents may read and stop calls; operator commands are refused."""
    written = (judge.write(word, "sb writes") for word in _written(arguments))
    return highest(_sb(judge, arguments, stdin), *written)


def _written(arguments: list[str]) -> list[str]:
    """The files that a command of `sb` writes."""
    words = [arguments[at] for at in operands(arguments, "--db")]
    found = [
        word
        for command in WRITING_COMMANDS
        if tuple(words[: len(command)]) == command
        for word in words[len(command) :]
    ]
    writing = WRITING_OPTIONS | (OF_EVALS if words[:2] == ["agent", "eval"] else frozenset())
    for at, word in enumerate(arguments):
        option, equals, value = word.partition("=")
        if option in writing:
            found.append(value if equals else "".join(arguments[at + 1 : at + 2]))
        elif word[:2] == "-o" and word[2:]:
            found.append(word[2:])
    return [word for word in found if word and not (word == "-" or word.startswith("--"))]


def _sb(judge: Judge, arguments: list[str], stdin: Input) -> Finding:
    words = [arguments[at] for at in operands(arguments, "--db")]
    if len(judge.values["HOME"]) > 1:
        judge.refuse("HOME=…: makes sb use another home")
    unknown = next((word for word in arguments if not is_literal(word)), "")
    if unknown:
        judge.refuse(f"sb {display(unknown)}: the command is unknown until it runs")
        return Finding(NETWORK, f"sb {display(unknown)}: the command is unknown until it runs")
    if not words and len(arguments) == 1 and arguments[0] in _HARMLESS:
        return Finding(READ, f"sb {arguments[0]}: only prints")
    if not words:
        return _operators(judge, "status")  # what it runs without a command
    group = words[0]
    for name in (group, " ".join(words[:2])):
        of_operators = tables.OPERATOR.get(name)
        if of_operators is not None and (not of_operators or set(of_operators.split()) & set(words[1:])):
            return _operators(judge, " ".join(words[:2]) if of_operators else name)
    if group == "kill" and any(
        len(word) > 2 and "--lift".startswith(word.partition("=")[0]) for word in arguments
    ):
        return _operators(judge, "kill --lift")
    if group == "doctor" and any(len(word) > 2 and "--fix".startswith(word) for word in arguments):
        return _operators(judge, "doctor --fix")
    if group == "memory" and "import" in words[1:]:
        return _operators(judge, "memory import")  # whether others' memories are trusted is no agent's affair
    if group == "agent" and any(len(word) > 2 and "--ground".startswith(word) for word in arguments):
        return _operators(judge, "agent eval --ground")  # what is evidence of a run is no agent's affair
    if group == "agent" and "eval" in words[1:]:
        return _agent_eval(judge, arguments, stdin)
    if group in tables.OWN and len(words) > 1:
        return _own(judge, group, words[1], arguments)
    if group in _WRITING and not {"list", "show"} & set(words[1:]):
        return Finding(WRITE, f"sb {group}: changes SecondBrain's data")
    if group in ("kernel", "recovery", "log", "audit", "harness") and (
        _RUNNING & set(words[1:]) or group == "harness"
    ):
        return Finding(NETWORK, f"sb {' '.join(words[:2])}: runs tools, or writes files")
    if group in tables.OPERATOR or group in (*_LOOKING, *tables.OWN, *_WRITING):
        return Finding(READ, f"sb {group}: only reads")
    return Finding(NETWORK, f"sb {display(group)}: unknown command")


def _agent_eval(judge: Judge, arguments: list[str], stdin: Input) -> Finding:
    """Judge a run of evals by the program that it starts; functions beside a suite run too."""
    if arguments[:3] == ["agent", "eval", "diff"]:
        return Finding(READ, "sb agent eval diff: only reads")
    found = [Finding(NETWORK, "sb agent eval: runs an agent, and functions of its suite")]
    for word in arguments:
        named = word.partition("=")[2] if word.startswith("--") else word
        kind, _, line = named.partition(":")
        if kind not in ("cmd", "mcp"):
            continue
        line = line.rpartition("#")[0] or line if kind == "mcp" else line
        with suppress(ValueError):  # nor does sb run it
            words = shlex.split(line)
            words = shlex.split(words[0]) if len(words) == 1 else words  # quotes around all of it go
            found += [judge.command(words, stdin)] if words else []
    return highest(*found)


def _own(judge: Judge, group: str, verb: str, arguments: list[str]) -> Finding:
    """Judge a command on memory: an agent needs --agent, else it acts as an operator."""
    looking, *writing = (verbs.split() for verbs in tables.OWN[group])
    if verb not in looking and writing and verb not in writing[0]:
        return _operators(judge, f"{group} {verb}")
    what = f"sb {group} {verb}"
    named = [at for at, word in enumerate(arguments) if word.partition("=")[0] == "--agent"]
    if len(named) != 1 or "--" in arguments or not _names(arguments, named[0]):
        judge.refuse(f"{what}: {NEEDS_AGENT}")
        return Finding(NETWORK, f"{what}: operator command")
    if verb in looking:
        return Finding(READ, f"{what}: only reads")
    return Finding(WRITE, f"{what}: changes SecondBrain's data")


def _names(arguments: list[str], at: int) -> bool:
    """True if this `--agent` has a value and is not the value of the option before it."""
    before, rest = arguments[at - 1], arguments[at + 1 :]
    stands = before[:1] != "-" or before in _FLAGS or "=" in before
    _, equals, value = arguments[at].partition("=")
    return stands and bool(value if equals else rest and rest[0])


def _operators(judge: Judge, what: str) -> Finding:
    judge.refuse(f"sb {what}: only an operator may run this")
    return Finding(NETWORK, f"sb {what}: operator command")


_DELETES_WITH = frozenset(("-f", "-g", "--force", "--glob", "--verbose", "-v", "--preserve-root"))


def deletion(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `rimraf` and its like as `rm -rf` of the same paths; patterns in quotes are its own."""
    options = {word for word in arguments if word[:1] == "-" and word != "--"}
    found = rule_finding(name, arguments) or QUIET
    if options - _DELETES_WITH:
        return found
    paths = [word.replace("*", STAR).replace("?", QUESTION) for word in arguments if word[:1] != "-"]
    removed = judge.command(["rm", "-rf", "--", *paths], stdin)
    return (
        found if removed.rank == DESTROY else Finding(NETWORK, f"{name}: runs a program that deletes files")
    )


def crontab(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `crontab`: listing is harmless, the rest changes scheduled commands."""
    return QUIET if arguments == ["-l"] else rule_finding(name, arguments) or QUIET


_RUN_BY_SOCAT = r"(?is)(?:.*!!)?\s*(?:exec|system|shell)(?:-fd)?:([^,]*).*"


def socat(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge `socat`: an address that starts a program lets whoever is at the other one use it."""
    found = rule_finding(name, arguments) or QUIET
    for program in filter(None, map(compiled(_RUN_BY_SOCAT).fullmatch, arguments)):
        line = judge.line(program[1].strip("'\"")) if program[1] else QUIET
        found = highest(found, line, Finding(DESTROY, f"{name}: connects a program to the network"))
    return found


def requests(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge a client of HTTP by its rule; a deletion on a server of this machine is a request like others."""
    found = rule_finding(name, arguments) or QUIET
    if any(map(compiled(_JOINED).fullmatch, arguments)):
        found = highest(found, Finding(DESTROY, f"{name} DELETE: {_DELETES}"))
    if found.rank == DESTROY and found.reason.endswith(_DELETES) and stays_here(name, arguments):
        return Finding(NETWORK, f"{name}: asks a server of this machine")
    return found


def stays_here(name: str, arguments: Sequence[str]) -> bool:
    """True if all addresses of a request are of this machine, of no service that keeps data, and nothing leads elsewhere."""
    plain = tables.PLAIN_REQUESTS
    letters, valued, long = plain.get(name, plain["httpie"])
    options = parsed(arguments, valued, long)
    names = {option.rstrip("?") for option in long.split()} | {f"-{letter}" for letter in letters}
    if set(options.values) - names or not all(map(is_literal, arguments)):
        return False
    # Methods, of which a variable may have several, are no addresses; of HTTPie what follows the address is sent.
    rest = [word for word in options.rest if not compiled(r"[A-Z]{3,7}(?: [^/.:@]*)?|delete").fullmatch(word)]
    rest = rest if name in ("curl", "wget") else rest[:1]
    return bool(rest) and all(map(_is_own, rest))


def _is_own(address: str) -> bool:
    found = compiled(_NAMED, re.IGNORECASE).fullmatch(address)
    if found is None:
        return False
    host, port = found[1] or "", int(found[2] or 80)
    parts = urlsplit(address if "//" in address else f"//{address}")
    return parts.username is None and is_loopback(host) and port not in tables.PORTS_OF_SERVICES


_BY_NAME: dict[str, Handler] = {
    handler.__name__.rstrip("_"): handler
    for handler in (
        *(
            alias,
            awk,
            by_arguments,
            cd,
            container,
            crontab,
            database,
            deletion,
            django,
            env,
            eval_,
            exec_,
            find,
            git,
            interpreter,
        ),
        *(kill, nix, pkill, redis, requests, sb, sed, shell, socat, source, sqlite, trap, wrapped, xargs),
    )
}
HANDLERS: dict[str, Handler] = {
    **dict.fromkeys((key.partition(" ")[0] for key in WRAPPERS), wrapped),
    **{program: _BY_NAME[name] for program, name in texts("judged_as").items()},
}
