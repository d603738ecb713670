"""The driver of a terminal's app, which ends with its terminal."""

from __future__ import annotations

import os
import sys
import termios
from contextlib import suppress
from threading import Thread
from typing import IO, Any, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

LOOK_EVERY_S = 0.5


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


class TerminalDriver(LinuxDriver):
    """Textual's driver, which on its own reads the end of its input for ever if a terminal closes without a hangup."""

    def __init__(self, app: App[Any], **how: Any) -> None:
        super().__init__(app, **how)
        self._file = cast("Any", _Output(sys.__stderr__ or sys.stderr))

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        Thread(target=self._end_with_terminal, name="terminal", daemon=True).start()

    def _end_with_terminal(self) -> None:
        while not self.exit_event.wait(LOOK_EVERY_S):
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
