"""Names and addresses of this machine, however they are spelled.

What goes to it stays here; what is started by a server of it (sshd) runs as a program of the person.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from sb.shell.parsing.words import compiled
from sb.shell.places.addresses import address_of

_LOOPBACK = r"(?:[\w-]+\.)*localhost|localhost\d?(?:\.localdomain\d?)?|ip6-(?:localhost|loopback)|host\.docker\.internal"
_BY_NAME = r"(?:127(?:[.-]\d+){3}|0[.-]0[.-]0[.-]0)\.(?:nip|sslip|xip)\.io"
_ROUTES, _SIX = "/proc/net/fib_trace", "/proc/net/if_inet6"
_NAMES = "/etc/hosts"
_MOST = 1 << 20  # characters of such a file


def is_loopback(host: str) -> bool:
    """True if a host is this machine by its loopback address or a usual name of it."""
    host = _bare(host)
    if compiled(_LOOPBACK).fullmatch(host) or compiled(_BY_NAME).search(host):
        return True
    address = address_of(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


def is_this_machine(host: str) -> bool:
    """True if a host is this machine: also by its own names and addresses, and what begins like `localhost`."""
    bare = _bare(host)
    if not bare or is_loopback(bare) or bare.startswith("localhost") or bare in _own_names():
        return True
    address = address_of(bare)
    return address is not None and str(address) in _own_addresses()


def _bare(host: str) -> str:
    return host.strip("[]").partition("%")[0].lower().rstrip(".")


def _own_names() -> Iterator[str]:
    own, addresses = os.uname().nodename.lower(), {*_own_addresses()}
    yield from (own, own.partition(".")[0], f"{own.partition('.')[0]}.local")
    for line in _text(_NAMES).splitlines():
        place, *names = line.partition("#")[0].lower().split() or [""]
        if place and (is_loopback(place) or place in addresses):
            yield from names


def _own_addresses() -> Iterator[str]:
    """The addresses of this machine's interfaces, as the kernel lists them; none elsewhere than on Linux."""
    before = ""
    for line in _text(_ROUTES).splitlines():
        if "/32 host LOCAL" in line:
            yield before
        before = line.rpartition(" ")[2]
    for line in _text(_SIX).splitlines():
        address = address_of(":".join(line[at : at + 4] for at in range(0, 32, 4)))
        if address is not None:
            yield str(address)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST)
    except OSError:
        return ""
