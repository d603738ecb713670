"""Ports whose process a confined command looks for in vain: under bubblewrap it sees processes, not what they have open."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

ADVICE = (
    "In confinement, no command sees which process of an earlier call has a port: `lsof -i`, `fuser` and `ss -p` do not "
    "find it. Find it by its command line (`pgrep -f PATTERN`), or note its number when it starts (`echo $! > server.pid`)."
)
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS = "0A"
# By program: how an argument names a port.
_PORTS = {
    "lsof": re.compile(r"-\w*i\S*:(\d+)|(?:tcp|udp)?(?:@\S*)?:(\d+)"),
    "fuser": re.compile(r"(\d+)(?:/tcp)?"),
    "kill-port": re.compile(r"(\d+)"),
}
_WITH_PROCESSES = re.compile(r"-\w*p\w*|--processes|--program")
_FOUND = re.compile(r"pid=\d|\bLISTEN +\d+/|\(LISTEN\)|^\d+$", re.MULTILINE)


def looks_in_vain(commands: Sequence[Sequence[str]], output: str) -> bool:
    """True for a line that asked for the processes of ports in which programs listen, and was told of none."""
    listed = [argv for argv in commands if argv[0] in ("ss", "netstat")]
    lists = any(_WITH_PROCESSES.fullmatch(word) for argv in listed for word in argv[1:])
    named = set(_named(commands))
    if not (lists or named) or _FOUND.search(output):
        return False
    return (lists and "LISTEN" in output) or not named.isdisjoint(_listening())


def _named(commands: Iterable[Sequence[str]]) -> Iterator[int]:
    for argv in commands:
        pattern = _PORTS.get(argv[0])
        for word in argv[1:] if pattern else ():
            found = pattern.fullmatch(word) if pattern else None
            yield from (int(port) for port in (found.groups() if found else ()) if port)


def _listening() -> set[int]:
    """The ports of this machine in which programs listen."""
    ports = set()
    for table in filter(os.path.exists, _TABLES):
        with open(table, encoding="ascii") as file:
            rows = (line.split() for line in file)
            ports |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3:4] == [_LISTENS]}
    return ports
