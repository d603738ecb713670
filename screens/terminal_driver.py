"""The driver of a terminal's app, which ends with its terminal."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from threading import Thread
from typing import IO, Any, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

LOOK_EVERY_S = 0.5
_KEEP_TITLE, _TITLE, _FORMER_TITLE = "\x1b[22;0t", "\x1b]2;{}\x07", "\x1b[23;0t"


class _Output:
    """The terminal as a file that takes everything: Textual's writer stops at an error, and the app then waits for it."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


def window_title(needs: Mapping[str, int]) -> str:
    """The title of the terminal's window, with the count of what needs you, as a browser's tab has it."""
    count = sum(needs.values())
    return f"({count}) sb console" if count else "sb console"


class TerminalDriver(LinuxDriver):
    """Textual's driver, which on its own reads the end of its input for ever if a terminal closes without a hangup."""

    def __init__(self, app: App[Any], **how: Any) -> None:
        super().__init__(app, **how)
        self._file = cast("Any", _Output(sys.__stderr__ or sys.stderr))

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.write(_KEEP_TITLE)
        Thread(target=self._end_with_terminal, name="terminal", daemon=True).start()

    def stop_application_mode(self) -> None:
        self.write(_FORMER_TITLE)
        super().stop_application_mode()

    def _end_with_terminal(self) -> None:
        title = ""
        while not self.exit_event.wait(LOOK_EVERY_S):
            if title != (now := window_title(cast("Any", self._app).needs)):
                title = now
                self.write(_TITLE.format(title))
            try:
                termios.tcgetattr(self.fileno)
            except termios.error:
                break
        else:
            return
        self.exit_event.set()  # ends the thread that reads
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):  # what is still in a buffer is no error
            os.dup2(nowhere, fd)
        self._loop.call_soon_threadsafe(self._app.exit)
