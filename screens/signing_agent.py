"""How does a console in a browser tab sign decisions with a key that only its parent process holds?

The process that serves the tabs holds the unlocked key and listens on a socket in a folder of its own. It
signs for its own child processes and for nobody else, and the key itself never leaves it. A request is one
line: what to sign, as hex, or nothing to ask who signs. The answer is one line of JSON.
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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self

from sb.errors import DeniedError, SBError, UsageError
from sb.kernel.authority.signing import Decider

SOCKET_VARIABLE = "SB_SIGNING_SOCKET"
_MAX_LINE = 4 << 20
_TIMEOUT_S = 5.0
_RESTART = "start sb console --web again"


class SigningAgent:
    """Signs for the child processes of this one while the context lasts.

    Args:
        decider: holds the unlocked key.
        home: the folder (SB_HOME) in which a private one is made for the socket.

    Raises:
        UsageError: the path of the socket would be longer than the system allows (about 100 bytes).
    """

    def __init__(self, decider: Decider, home: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="web-", dir=home))  # open to its owner only
        self.path = self._folder / "signing"
        try:
            self._server = _Server(self.path, decider)
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


class _Server(socketserver.UnixStreamServer):
    def __init__(self, path: Path, decider: Decider) -> None:
        self.decider = decider
        super().__init__(str(path), _Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return is_our_child(request)


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    timeout = _TIMEOUT_S

    def handle(self) -> None:
        with suppress(OSError):  # the tab was closed meanwhile
            data = bytes.fromhex(self.rfile.readline(_MAX_LINE).decode("ascii"))
            self.wfile.write(json.dumps(self._answer(data)).encode() + b"\n")

    def _answer(self, data: bytes) -> dict[str, str]:
        decider = self.server.decider
        try:
            signature = decider.sign(data) if data else ""
        except SBError as error:
            return {"error": error.message}
        return {"name": decider.name, "key_id": decider.key_id, "signature": signature}


def is_our_child(connection: socket.socket) -> bool:
    """Whether the process that connected is a direct child of this one; what cannot be checked is not."""
    try:
        uid, pid = _peer(connection)
        return uid == os.getuid() and _parent(pid) == os.getpid()
    except (OSError, AttributeError, ValueError, IndexError, struct.error, subprocess.SubprocessError):
        return False


def _peer(connection: socket.socket) -> tuple[int, int]:
    """User id and process id of the other end."""
    if sys.platform == "darwin":  # LOCAL_PEERCRED and LOCAL_PEERPID of <sys/un.h>
        _, uid = struct.unpack_from("=II", connection.getsockopt(0, 1, 76))
        (pid,) = struct.unpack("=i", connection.getsockopt(0, 2, 4))
    else:
        pid, uid, _ = struct.unpack("=iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid, pid


def _parent(pid: int) -> int:
    """The process id of a process's parent."""
    if sys.platform == "darwin":
        asked = ["/bin/ps", "-o", "ppid=", "-p", str(pid)]
        return int(subprocess.run(asked, capture_output=True, check=True, timeout=_TIMEOUT_S).stdout)
    # pid (name) state parent …: a name may hold spaces and brackets
    return int(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])


@dataclass(frozen=True)
class RemoteDecider:
    """A person whose key is in the parent process."""

    name: str
    key_id: str
    path: Path

    def sign(self, data: bytes) -> str:
        """The signature over `data`.

        Raises:
            DeniedError: the parent process is gone, or refuses.
        """
        return _ask(self.path, data)["signature"]


def remote_decider(path: Path) -> Decider:
    """The person whose key the process behind a socket holds.

    Args:
        path: what SOCKET_VARIABLE names in the environment of a child of the server.

    Raises:
        DeniedError: nobody answers there, or this is not a child of the process that listens.
    """
    answer = _ask(path, b"")
    return RemoteDecider(answer["name"], answer["key_id"], path)


def _ask(path: Path, data: bytes) -> dict[str, str]:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(str(path))
            connection.sendall(data.hex().encode() + b"\n")
            with connection.makefile("rb") as lines:
                line = lines.readline(_MAX_LINE)
    except (BrokenPipeError, ConnectionResetError):
        line = b""
    except OSError:
        raise DeniedError("the terminal that unlocked the key does not answer", _RESTART) from None
    if not line:
        raise DeniedError("the terminal that unlocked the key does not sign for this process", _RESTART)
    answer: dict[str, str] = json.loads(line)
    if "error" in answer:
        raise DeniedError(f"the terminal that unlocked the key refused: {answer['error']}", _RESTART)
    return answer
