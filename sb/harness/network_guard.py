"""Block and record network access while an offline control is probed.

An audit hook of the interpreter sees what goes round the socket module too. Such a hook stays for the life of the
process, so there is one, which does nothing outside a guarded stretch.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_EVENTS = frozenset(
    {
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.getnameinfo",
        "socket.sendmsg",
        "socket.sendto",
    }
)
_guarded: list[list[str]] = []


class NetworkTouched(Exception):
    """Something reached for the network inside a guarded stretch."""


@contextmanager
def no_network() -> Iterator[list[str]]:
    """Refuse every use of the network in this process, and yield the list of what was tried; not to be nested."""
    _install()
    touched: list[str] = []
    _guarded.append(touched)
    try:
        yield touched
    finally:
        _guarded.remove(touched)


@cache
def _install() -> None:
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _guarded or event not in _EVENTS:
        return
    if isinstance(arguments[0], socket.socket) and arguments[0].family == socket.AF_UNIX:
        return  # not the network: it leads to another process of this machine
    for touched in _guarded:
        touched.append(event)
    raise NetworkTouched(f"{event} inside the audit")
