"""Keyed calls: git with a person's keys; no other command of an agent starts in their project meanwhile.

git reads its configuration again and again while it runs (`git fetch a && git push`), and what is in it by then runs with
the keys. What runs beside the call already is asked about at its judgement; here is what would begin later. A report
does not end it: the host may have moved it to the background.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from sb.base.files import write_atomic
from sb.base.sources import Clock
from sb.hosts.confinement.processes import lives
from sb.hosts.confinement.store import ConfineStore, name_of

# A call of unknown process whose end nobody reported holds up others no longer.
_KNOWN = 2  # words of a process: its number and its start
LONGEST_S = 600.0


class KeyedCalls:
    """The keyed call of each project, in SB_HOME/confine/keyed.

    Args:
        clock: for the age of a call.
    """

    def __init__(self, store: ConfineStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def begin(self, project: str, command: str, folder: str) -> None:
        """Note a call that is about to run with keys.

        Raises:
            OSError: it cannot be written.
        """
        self._note(project, [command, folder, self._store.session], self._clock.now(), [])

    def end(self, project: str, command: str, folder: str) -> None:
        """Forget a call that nobody will run, or that was reported; one that goes on in the background, when it ends."""
        call, at, process = self._noted(project)
        if call != [command, folder, self._store.session]:
            return
        process = process or self._store.process_of(command, folder)
        if lives(process):
            self._note(project, call, at, process)
        else:
            self._forget(project)

    def running_beside(self, project: str, command: str, folder: str) -> str:
        """The keyed call that runs in a project beside another one; "" for none.

        One that was let go and has not started loses its keys, so that the other one can go on.
        """
        call, at, reported = self._noted(project)
        if not call:
            return ""
        process = reported or self._store.process_of(*call)
        if lives(process):
            return call[0]
        if len(process) < _KNOWN:
            if call == [command, folder, self._store.session]:
                return ""
            started = not self._store.take_back(*call)
            if started and self._store.is_alive() and abs(self._clock.now() - at) < LONGEST_S:
                return call[0]
        self._forget(project)
        return ""

    def _note(self, project: str, call: list[str], at: float, process: list[str]) -> None:
        path = self._path(project)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        body = {"at": at, "call": call, "process": process}
        write_atomic(path, json.dumps(body).encode(errors="surrogateescape"), durable=False)

    def _noted(self, project: str) -> tuple[list[str], float, list[str]]:
        """The call with its folder and session, when it began, and its process if it was reported; [] without one."""
        try:
            body = json.loads(self._path(project).read_bytes())
            command, folder, session = map(str, body["call"])
            return [command, folder, session], float(body["at"]), list(map(str, body.get("process", ())))
        except (OSError, ValueError, KeyError, TypeError):
            return [], 0.0, []

    def _forget(self, project: str) -> None:
        with suppress(OSError):
            self._path(project).unlink(missing_ok=True)

    def _path(self, project: str) -> Path:
        return self._store.folder / "keyed" / name_of("", project)
