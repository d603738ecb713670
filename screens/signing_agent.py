"""Decisions of a console in a browser tab, by a key that only its parent process holds.

The process that serves the tabs holds the unlocked key and listens on a socket in a folder of its own. It decides for
the processes that it started itself and for nobody else, and the key never leaves it. A request is one line of JSON: a
decision of `sb.kernel.decision_desk`, or nothing to ask who decides. So is the answer.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Protocol, Self

from sb.base.values.frozen import frozen
from sb.errors import DeniedError, SBError, UsageError

SOCKET_VARIABLE = "SB_SIGNING_SOCKET"
_MAX_LINE = 4 << 20
_TIMEOUT_S = 5.0
_ANSWERED_S = 60.0  # a decision may wait for others to write
_RESTART = "start sb console --web again"


class Desk(Protocol):
    """Makes decisions; see `sb.kernel.decision_desk`."""

    @property
    def name(self) -> str: ...

    @property
    def key_id(self) -> str: ...

    def decide(self, request: Any) -> dict[str, Any]: ...


class SigningAgent:
    """Decides for the processes that it was told of, while the context lasts.

    Args:
        desk: makes the decisions, with the unlocked key.
        home: the folder (SB_HOME) in which a private one is made for the socket.

    Raises:
        UsageError: the path of the socket would be longer than the system allows (about 100 bytes).
    """

    def __init__(self, desk: Desk, home: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="web-", dir=home))  # open to its owner only
        self.path = self._folder / "signing"
        self.started = Started()
        try:
            self._server = _Server(self.path, desk, self.started)
        except OSError as error:
            shutil.rmtree(self._folder)
            raise UsageError(f"no socket at {self.path}: {error}", "set SB_HOME to a shorter path") from None
        self._thread = Thread(target=self._server.serve_forever, args=(0.1,), name="sb-signing", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        shutil.rmtree(self._folder)


class Started:
    """The processes that this one started, as long as they run.

    That a process is a child of this one does not say so: the first process of a container, or one that asked for it,
    is given every orphan for a child.
    """

    def __init__(self) -> None:
        self._since: dict[int, str] = {}  # a number is given to another process once the first one has ended

    def add(self, pid: int) -> None:
        """Know a process that was just started; one that has ended already is not known."""
        with suppress(OSError, ValueError, IndexError, subprocess.SubprocessError):
            self._since[pid] = _standing(pid)[1]

    def remove(self, pid: int) -> None:
        """Know it no longer: it has ended, or is about to."""
        self._since.pop(pid, None)

    def has(self, connection: socket.socket) -> bool:
        """True if the process that connected is one of them; what cannot be checked is not."""
        try:
            uid, pid = _peer(connection)
            known = self._since.get(pid)
            return known is not None and uid == os.getuid() and _standing(pid) == (os.getpid(), known)
        except (OSError, AttributeError, ValueError, IndexError, struct.error, subprocess.SubprocessError):
            return False


class _Server(socketserver.UnixStreamServer):
    def __init__(self, path: Path, desk: Desk, started: Started) -> None:
        self.desk = desk
        self._started = started
        super().__init__(str(path), _Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return self._started.has(request)


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    timeout = _TIMEOUT_S

    def handle(self) -> None:
        with suppress(OSError):  # the tab was closed meanwhile
            self.wfile.write(json.dumps(self._answer(self.rfile.readline(_MAX_LINE))).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any]:
        desk = self.server.desk
        try:
            request = json.loads(line)
            done = desk.decide(request) if request else {}
        except SBError as error:
            return {"error": error.message, "hint": error.hint}
        except (ValueError, RecursionError):
            return {"error": "the request cannot be read", "hint": ""}
        return {"name": desk.name, "key_id": desk.key_id, **done}


def _peer(connection: socket.socket) -> tuple[int, int]:
    """User id and process id of the other end."""
    if sys.platform == "darwin":  # LOCAL_PEERCRED and LOCAL_PEERPID of <sys/un.h>
        _, uid = struct.unpack_from("=II", connection.getsockopt(0, 1, 76))
        (pid,) = struct.unpack("=i", connection.getsockopt(0, 2, 4))
    else:
        pid, uid, _ = struct.unpack("=iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid, pid


def _standing(pid: int) -> tuple[int, str]:
    """The parent of a process, and when it was started."""
    if sys.platform == "darwin":
        asked = ["/bin/ps", "-o", "ppid=,lstart=", "-p", str(pid)]
        output = subprocess.run(asked, capture_output=True, check=True, timeout=_TIMEOUT_S, text=True).stdout
        parent, _, since = output.strip().partition(" ")
        return int(parent), since.strip()
    # pid (name) state parent … started: a name may hold spaces and brackets
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return int(fields[1]), fields[19]


@frozen
class RemoteDecider:
    """A person whose key is in the parent process, which decides for them."""

    name: str
    key_id: str
    path: Path

    def sign(self, data: bytes) -> str:
        """Nothing is signed as it comes; `decide` asks for a decision.

        Raises:
            DeniedError: always.
        """
        raise DeniedError("this cannot be decided in a browser", "use sb in the terminal")

    def decide(self, decision: str, **fields: str | Mapping[str, str]) -> dict[str, Any]:
        """Have a decision made; see `sb.kernel.decision_desk`.

        Raises:
            DeniedError: the parent process is gone, or refuses.
        """
        return _ask(self.path, {"decision": decision, **fields})


def remote_decider(path: Path) -> RemoteDecider:
    """The person whose key the process behind a socket holds.

    Args:
        path: what SOCKET_VARIABLE names in the environment of a process that the server started.

    Raises:
        DeniedError: nobody answers there, or this is no process that the listening one started.
    """
    answer = _ask(path, {})
    return RemoteDecider(answer["name"], answer["key_id"], path)


def signing_socket() -> Path | None:
    """Where the process that serves this tab listens; None outside of a tab."""
    named = os.environ.get(SOCKET_VARIABLE)
    return Path(named) if named else None


def _ask(path: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWERED_S)
            connection.connect(str(path))
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as lines:
                line = lines.readline(_MAX_LINE)
    except (BrokenPipeError, ConnectionResetError):
        line = b""
    except OSError:
        raise DeniedError("the terminal that unlocked the key does not answer", _RESTART) from None
    if not line:
        raise DeniedError("the terminal that unlocked the key does not decide for this process", _RESTART)
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise DeniedError(f"the terminal that unlocked the key refused: {answer['error']}", answer["hint"])
    return answer
