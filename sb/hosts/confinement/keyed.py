"""Keyed calls: those with a person's credentials; no other command of an agent starts in their project meanwhile.

Linked worktrees of one repository count as one project, since their commands write the same git folder.

git reads its configuration again and again while it runs (`git fetch a && git push`), and what is in it by then runs with
the keys; other programs read files that could become links. What runs beside the call already is asked about at its
judgement; here is what would begin later. A report does not end it: the host may have moved it to the background.

Two hooks may judge at once. So each call that goes on is noted first, and then looks for a keyed one; a keyed one looks
again, after it was noted and got its ticket, whether another call was noted since its judgement. One of both sees the other.
"""

from __future__ import annotations

import errno
import json
import time
from contextlib import suppress
from pathlib import Path

from sb.base.files import write_atomic
from sb.base.sources import Clock
from sb.hosts.confinement.own_files import make_open
from sb.hosts.confinement.processes import lives
from sb.hosts.confinement.repositories import ground_of
from sb.hosts.confinement.store import ConfineStore, name_of

# A call of unknown process whose end nobody reported holds up others no longer.
ARRIVALS = "arrivals"  # the folder with a file for each project: a byte for each call that went on
_KNOWN = 2  # words of a process: its number and its start
LONGEST_S = 600.0
_WRITTEN_S = 0.5  # by then a script that took a ticket has named its process


class KeyedCalls:
    """The keyed call of each project, with all of its worktrees, in SB_HOME/confine/keyed.

    Args:
        clock: for the age of a call.
    """

    def __init__(self, store: ConfineStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._seen = 0  # how many calls had gone on at the judgement

    def look(self, project: str) -> None:
        """Count the calls that went on in a project before another one is judged."""
        self._seen = self._arrived(project)

    def arrive(self, project: str, command: str, folder: str) -> None:
        """Count a call that goes on, whose watch is kept already, and look for a keyed one again.

        Raises:
            BlockingIOError: a keyed call runs. OSError: it cannot be written.
        """
        path = self._path(project, ARRIVALS)
        make_open(path.parent, self._store.folder)
        with open(path, "ab") as file:
            file.write(b".")  # at the end, whoever else writes: none is lost
        if self.running_beside(project, command, folder):
            raise held_up()

    def check_alone(self, project: str) -> None:
        """Look again, before a keyed call begins.

        Raises:
            BlockingIOError: another call of the project went on since the judgement.
        """
        if self._arrived(project) != self._seen + 1:
            raise held_up()

    def _arrived(self, project: str) -> int:
        try:
            return self._path(project, ARRIVALS).stat().st_size
        except OSError:
            return 0

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
            if not self._store.take_back(*call):  # it began, perhaps just now
                process = self._begun(*call)
                unknown = len(process) < _KNOWN and abs(self._clock.now() - at) < LONGEST_S
                if lives(process) or (unknown and self._store.may_run()):
                    return call[0]
        self._forget(project)
        return ""

    def _begun(self, command: str, folder: str, session: str) -> list[str]:
        """The process of a call that took its ticket; its script makes the file first, and writes that into it then."""
        until = time.monotonic() + _WRITTEN_S
        while True:
            process = self._store.process_of(command, folder, session)
            if len(process) >= _KNOWN or time.monotonic() > until:
                return process
            time.sleep(0.002)

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

    def _path(self, project: str, kind: str = "keyed") -> Path:
        return self._store.folder / kind / name_of("", ground_of(project))


def held_up() -> BlockingIOError:
    """The error for a call that met another one of its project, of which one has a person's credentials."""
    return BlockingIOError(
        errno.EAGAIN,
        "another command began at the same moment, and one of both has credentials; repeat the call",
    )
