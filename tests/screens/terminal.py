"""A program in a pseudo-terminal, and the screen that a terminal makes of its output."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte

CONTROL = r"\x1b\[[0-?]*[ -/]*[@-~]"
QUIET_S = 0.15  # without output, after which a screen is at rest


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, home: Path, columns: int, lines: int, *words: str, **environment: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self.resize(columns, lines, 0)
            basic = {"PATH": os.environ["PATH"], "SB_HOME": str(home), "TERM": "xterm-256color"}
            command = [sys.executable, "-m", "sb", *(words or ("console", "--read-only"))]
            os.execve(sys.executable, command, basic | environment)
        self.seen = ""
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)

    def resize(self, columns: int, lines: int, fd: int | None = None) -> None:
        fcntl.ioctl(
            self.fd if fd is None else fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0)
        )
        if fd is None:
            self.screen.resize(lines, columns)

    def read(self, within_s: float) -> bool:
        """Take what is written next, if anything is within this time."""
        if not select.select([self.fd], [], [], within_s)[0]:
            return False
        data = os.read(self.fd, 1 << 16)
        self.seen += data.decode("utf-8", "replace")
        self._stream.feed(data)
        return True

    def read_until(self, text: str) -> None:
        end = time.monotonic() + 120
        while text not in re.sub(CONTROL, "", self.seen):
            assert time.monotonic() < end, self.seen[-500:]
            self.read(0.5)

    def rest(self, holds: Callable[[pyte.Screen], bool]) -> None:
        """Read until this holds for the screen, and nothing more is written for a moment."""
        end = time.monotonic() + 60
        while self.read(QUIET_S) or not holds(self.screen):
            assert time.monotonic() < end, "\n".join(self.screen.display)

    def type(self, keys: str) -> None:
        self.seen = ""
        os.write(self.fd, keys.encode())

    def wait(self) -> int:
        """The exit code, once it has written everything."""
        try:
            while os.read(self.fd, 1 << 16):
                pass
        except OSError:  # what Linux says when the other side has closed
            self.seen += ""
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def bold(screen: pyte.Screen, number: int = 0) -> str:
    """The bold text of a line, such as the active tab in the first."""
    cells = (screen.buffer[number][column] for column in range(screen.columns))
    return "".join(cell.data if cell.bold else " " for cell in cells).strip()


def invisible(screen: pyte.Screen) -> list[str]:
    """The texts of each line that are painted in the colour of what is behind them.

    A terminal's own two colours differ, whatever they are.
    """
    found = []
    for number in range(screen.lines):
        cells = [screen.buffer[number][column] for column in range(screen.columns)]
        hidden = (cell.data if cell.fg == cell.bg != "default" else " " for cell in cells)
        if text := "".join(hidden).strip():
            found.append(f"line {number}: {text}")
    return found
