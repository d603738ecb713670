"""Requests of confined commands: the few commands that the helper runs for them, and the environment it does so in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sb.config.home import Home
from sb.errors import ExitCode
from sb.hosts.runs import Run
from sb.memory.operator_view import OPERATOR

# What a program may know of the terminal that it writes to.
_OF_A_TERMINAL = (b"TERM", b"COLUMNS", b"LINES", b"NO_COLOR")


class _Served(NamedTuple):
    """Options of a command that confined commands may use; none of them names a file or a database.

    Args:
        values: those that take a value. flags: those that take none. has_agent: `--agent` must say who asks.
    """

    values: str = ""
    flags: str = ""
    has_agent: bool = False


REFUSED_CODE = int(ExitCode.DENIED)


class Asked(NamedTuple):
    """A request of a confined command.

    Args:
        kind: "run" or "hook". data, nonce: of a hook.
    """

    kind: str
    arguments: list[str]
    data: bytes
    nonce: str
    environment: dict[bytes, bytes]
    folder: bytes


def read_request(message: bytes) -> Asked:
    """The request in a message.

    Raises:
        ValueError: it is none.
    """
    fields = json.loads(message)
    try:
        environment = {_bytes(name): _bytes(value) for name, value in fields["environment"].items()}
        arguments = [str(word) for word in fields["arguments"]]
        kind, nonce = str(fields["kind"]), str(fields["nonce"])
        return Asked(kind, arguments, _bytes(fields["data"]), nonce, environment, _bytes(fields["folder"]))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a request: {error}") from None


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


_EVERYWHERE = "--json --plain --no-color -h --help"
_SERVED: dict[tuple[str, ...], _Served] = {
    ("memory", "search"): _Served(
        "-k --project --scope --kind --category --agent-filter --since --min-trust --context --agent --session",
        "--explain --fusion --planning --benchmark",
        has_agent=True,
    ),
    ("memory", "remember"): _Served(
        "--category --confidence --project --scope --tag --source --from --agent --session",
        "--force --private",
        has_agent=True,
    ),
    ("explain",): _Served("--agent"),
    ("statusline",): _Served(),
}


def served() -> frozenset[tuple[str, ...]]:
    """The first words of the commands that the helper runs for confined commands."""
    return frozenset(_SERVED)


def refusal(arguments: Sequence[str]) -> str:
    """The reason why the helper does not run a command for a confined one, or "".

    Args:
        arguments: of `sb`.
    """
    for words, known in _SERVED.items():
        if tuple(arguments[: len(words)]) == words:
            return _fault(arguments[len(words) :], known)
    return f"in confinement, not run for agents; ask the user to run it (answered here: {', '.join(sorted(map(' '.join, _SERVED)))})"


def _fault(arguments: Sequence[str], known: _Served) -> str:
    values, flags = known.values.split(), [*known.flags.split(), *_EVERYWHERE.split()]
    agents: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            break
        if not word.startswith("-") or word == "-" or word in flags:
            continue
        name, has_value, value = word.partition("=")
        if name not in values:
            return f"in confinement, {name} is not answered"
        if not has_value:
            value = next(rest, "-")
        if value.startswith("-"):
            return f"in confinement, {name} needs a value that does not begin with a dash"
        agents += [value] if name == "--agent" else []
    if known.has_agent and (
        not agents or any(agent.strip().casefold() in ("", OPERATOR) for agent in agents)
    ):
        return "in confinement, memory is an agent's: add --agent with your own name"
    return ""


def environment_for(home: Home, theirs: Mapping[bytes, bytes], run: Run | None) -> dict[bytes, bytes]:
    """The environment in which a request is answered: the helper's own, or the one that the run began with.

    Nothing that decides comes from the confined command: it could name another database, or another home.

    Args:
        theirs: of whoever asks.
    """
    if run is None:
        own = dict(os.environb)
    else:
        own = {os.fsencode(name): os.fsencode(value) for name, value in run.environment.items()}
    own = {name: value for name, value in own.items() if run is not None or not name.startswith(b"SB_")}
    shown = {name: theirs[name] for name in _OF_A_TERMINAL if name in theirs}
    return {**own, **shown, b"SB_HOME": os.fsencode(home.folder)}
