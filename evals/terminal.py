"""Run a command on a terminal of a given width, and return what it printed there."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

ROWS = 40


def on_terminal(command: Sequence[str], columns: int, env: Mapping[str, str], cwd: Path | None = None) -> str:
    """The output of a command on stdout and stderr; it reads nothing, and sees no environment but this."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    running = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env={"TERM": "xterm", **env}, cwd=cwd
    )
    os.close(slave)
    printed = b""
    while True:
        try:
            printed += os.read(master, 65_536)
        except OSError:  # its other end has closed
            break
    os.close(master)
    running.wait()
    return printed.decode().replace("\r\n", "\n")
