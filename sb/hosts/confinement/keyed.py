"""Keyed calls: git with a person's keys; no other command of an agent starts in their project meanwhile.

git reads its configuration again and again while it runs (`git fetch a && git push`), and what is in it by then runs with
the keys. What runs beside the call already is asked about at its judgement; here is what would begin later.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from sb.base.files import write_atomic
from sb.base.sources import Clock
from sb.hosts.confinement.store import ConfineStore, name_of

LONGEST_S = 600.0  # a call that hangs, or whose end nobody reported, holds up others no longer


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
        path = self._path(project)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        call = [command, folder, self._store.session]
        body = {"at": self._clock.now(), "call": call}
        write_atomic(path, json.dumps(body).encode(errors="surrogateescape"), durable=False)

    def end(self, project: str, command: str, folder: str) -> None:
        """Forget a call that has ended, or that nobody will run."""
        if self._noted(project)[0] == [command, folder, self._store.session]:
            self._forget(project)

    def running_beside(self, project: str, command: str, folder: str) -> str:
        """The keyed call that runs in a project beside another one; "" for none.

        One that was let go and has not started loses its keys, so that the other one can go on.
        """
        call, at = self._noted(project)
        if not call or call == [command, folder, self._store.session]:
            return ""
        started = not self._store.take_back(*call)
        if started and self._store.is_alive() and abs(self._clock.now() - at) < LONGEST_S:
            return call[0]
        self._forget(project)
        return ""

    def _noted(self, project: str) -> tuple[list[str], float]:
        """The call with its folder and session, and when it began; [] without one."""
        try:
            body = json.loads(self._path(project).read_bytes())
            command, folder, session = map(str, body["call"])
            return [command, folder, session], float(body["at"])
        except (OSError, ValueError, KeyError, TypeError):
            return [], 0.0

    def _forget(self, project: str) -> None:
        with suppress(OSError):
            self._path(project).unlink(missing_ok=True)

    def _path(self, project: str) -> Path:
        return self._store.folder / "keyed" / name_of("", project)
