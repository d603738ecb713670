"""Requests of HTTP clients that delete: on a server of this machine, such as the agent's own, they change its data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sb.shell.handlers import tables
from sb.shell.parsing.words import compiled, is_literal
from sb.shell.places.this_machine import is_loopback
from sb.shell.programs.options import parsed
from sb.shell.programs.rules import DESTROY, NETWORK, QUIET, Finding, highest, rule_finding

if TYPE_CHECKING:
    from sb.shell.judge import Judge
    from sb.shell.parsing.inputs import Input

_JOINED = r"-[^-X]*X=?DELETE"  # of curl, behind other letters
_DELETES = "deletes on another host"
_NAMED = r"(?:https?://)?(\[[0-9a-f:]+\]|[\w.-]+)?(?::(\d{1,5}))?(?:[/?#]\S*)?"


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
