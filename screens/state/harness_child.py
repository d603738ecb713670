"""Run the audit beside the console, and end it when nobody waits any more.

In a process of its own: it takes seconds of CPU, and its socket guard holds for the whole process.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from sb.screens.signing_agent import SOCKET_VARIABLE

from sb.base.secrets.redaction import one_line
from sb.errors import CheckFailed

# -P: or -m would import a folder named sb of wherever the console was started
COMMAND = (sys.executable, "-P", "-m", "sb", "harness", "audit", "--json", "--progress")
STEP = re.compile(r"(\d+)/(\d+) (.+)")  # how it names the control that begins
GRADED = (0, 1, 2)  # exit codes of an audit that came to its end
LOOK_EVERY_S = 0.05
GRACE_S = 1.0  # to remove its temporary home in
LONGEST_S = 120.0


def audit_document(given_up: Callable[[], bool], progress: Callable[[str], None] = lambda step: None) -> str:
    """Run the audit, and return the document that it printed; called in a worker.

    Args:
        given_up: whether nobody waits for it any more; the audit is ended then.
        progress: called in another thread, with the number and title of each control as it begins.

    Raises:
        CheckFailed: it could not be started, did not end, or ended with something else than grades.
    """
    environment = {name: value for name, value in os.environ.items() if name != SOCKET_VARIABLE}
    notes = _Notes(progress)
    try:
        process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=notes.pipe,
            env=environment,
            start_new_session=True,  # so that what it started ends with it
        )
    except OSError as error:
        raise CheckFailed(f"the audit could not be started: {error.strerror}") from error
    finally:
        notes.start()
    with process:
        try:
            out = _read(process, given_up)
        finally:
            _end(process)
    if process.returncode not in GRADED or not out.strip():
        last = f": {one_line(text, 300)}" if (text := notes.last()) else ""
        raise CheckFailed(f"the audit gave no grades and {_ending(process.returncode)}{last}")
    return out.decode("utf-8", "replace")


class _Notes:
    """Reads what the audit writes on stderr: the controls that begin, and what went wrong.

    Args:
        progress: called with the number and title of each control.
    """

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._reading, self.pipe = os.pipe()
        self._progress = progress
        self._last = ""
        self._reader = Thread(target=self._read, name="audit", daemon=True)

    def start(self) -> None:
        """Read from now on; whoever was started has its end of the pipe."""
        os.close(self.pipe)
        self._reader.start()

    def last(self) -> str:
        """The last line that names no control, once all is read."""
        self._reader.join(GRACE_S)
        return self._last

    def _read(self) -> None:
        with open(self._reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                step = STEP.fullmatch(line.strip())
                if step is not None:
                    self._progress(f"{step[1]} of {step[2]}: {step[3]}")
                elif line.strip():
                    self._last = line.strip()


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by signal {-code} ({signal.strsignal(-code)})"
    return f"ended with {code}"


def _read(process: subprocess.Popen[bytes], given_up: Callable[[], bool]) -> bytes:
    for _ in range(int(LONGEST_S / LOOK_EVERY_S)):
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=LOOK_EVERY_S)[0]
        if given_up():
            raise CheckFailed("the audit was stopped")
    raise CheckFailed(f"the audit did not finish within {LONGEST_S:.0f} s")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it and all that it started."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=GRACE_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
