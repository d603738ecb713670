"""Run the audit beside the console, and end it when nobody waits any more.

In a process of its own: it takes seconds of CPU, and its socket guard holds for the whole process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

from sb.screens.signing_agent import SOCKET_VARIABLE

from sb.errors import CheckFailed
from sb.redaction import one_line

# -P: or -m would import a folder named sb of wherever the console was started
COMMAND = (sys.executable, "-P", "-m", "sb", "harness", "audit", "--json")
GRADED = (0, 1, 2)  # exit codes of an audit that came to its end
LOOK_EVERY_S = 0.05
GRACE_S = 1.0  # to remove its temporary home in
LONGEST_S = 120.0


def audit_document(given_up: Callable[[], bool]) -> str:
    """Run the audit, and return the document that it printed; called in a worker.

    Args:
        given_up: whether nobody waits for it any more; the audit is ended then.

    Raises:
        CheckFailed: it could not be started, did not end, or ended with something else than grades.
    """
    environment = {name: value for name, value in os.environ.items() if name != SOCKET_VARIABLE}
    try:
        process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # so that what it started ends with it
        )
    except OSError as error:
        raise CheckFailed(f"the audit could not be started: {error.strerror}") from error
    with process:
        try:
            out, err = _read(process, given_up)
        finally:
            _end(process)
    if process.returncode not in GRADED or not out.strip():
        said = err.decode("utf-8", "replace").strip().rpartition("\n")[2]
        last = f": {one_line(said, 300)}" if said else ""
        raise CheckFailed(f"the audit gave no grades and {_ending(process.returncode)}{last}")
    return out.decode("utf-8", "replace")


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by signal {-code} ({signal.strsignal(-code)})"
    return f"ended with {code}"


def _read(process: subprocess.Popen[bytes], given_up: Callable[[], bool]) -> tuple[bytes, bytes]:
    for _ in range(int(LONGEST_S / LOOK_EVERY_S)):
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=LOOK_EVERY_S)
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
