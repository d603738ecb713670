"""Lines that look for a process by its port, which confinement hides."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.hosts.confinement.ports import looks_in_vain
from sb.shell import classify

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ports are listed as Linux does")
LOOKS = (
    "lsof -ti:PORT | xargs -r kill", "kill $(lsof -t -i :PORT)", "lsof -nP -iTCP:PORT -sTCP:LISTEN", "lsof -i tcp:PORT", "fuser -k PORT/tcp", "fuser -k -n tcp PORT",
    "npx kill-port PORT", "lsof -ti @127.0.0.1:PORT", "cd docs && lsof -t -iTCP@localhost:PORT",
)  # fmt: skip
OTHERS = (
    "lsof -i",
    "lsof cart.py",
    "curl localhost:PORT",
    "ss -ltn",
    "echo lsof -ti:PORT",
    "pgrep -f PORT",
    "fuser cart.py",
    "lsof -p PORT",
)


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def commands(line: str, port: int) -> tuple[tuple[str, ...], ...]:
    line = line.replace("PORT", str(port))
    return classify(line, cwd=Path("/"), home=Path("/data/nobody"), protected=[]).commands


@pytest.mark.parametrize("line", LOOKS)
def test_line_that_finds_nobody_at_a_port_in_use_is_known(line: str, port: int) -> None:
    assert looks_in_vain(commands(line, port), "Error: no process")
    assert not looks_in_vain(commands(line, port), "4711\n")
    assert not looks_in_vain(commands(line, port), f"python3 413 root 3u IPv4 36 0t0 TCP *:{port} (LISTEN)")


@pytest.mark.parametrize("line", LOOKS)
def test_port_that_nobody_has_is_found_free(line: str, port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    assert not looks_in_vain(commands(line, free), "")


@pytest.mark.parametrize("line", OTHERS)
def test_other_line_is_not(line: str, port: int) -> None:
    assert not looks_in_vain(commands(line, port), "")


# What programs list, and whether they name no process.
LISTED = (
    ("ss -ltnp | grep 80", "LISTEN 0 5 0.0.0.0:80 0.0.0.0:*", True),
    ("ss -tlnp", 'LISTEN 0 5 0.0.0.0:80 0.0.0.0:* users:(("node",pid=41,fd=3))', False),
    ("ss -ltn", "LISTEN 0 5 0.0.0.0:80 0.0.0.0:*", False),
    ("ss -ltnp | grep 81", "", False),
    ("netstat -tlnp", "tcp 0 0 0.0.0.0:80 0.0.0.0:* LISTEN -", True),
    ("netstat -tlnp", "tcp 0 0 0.0.0.0:80 0.0.0.0:* LISTEN 41/node", False),
)


@pytest.mark.parametrize(("line", "output", "in_vain"), LISTED)
def test_list_without_processes_is_known(line: str, output: str, in_vain: bool) -> None:
    assert looks_in_vain(commands(line, 0), output) == in_vain
