"""Calls in an agent's own home: its requests are answered, its calls read afterwards."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sb.config import Config
from sb.errors import SBError
from sb.evals.kernel import answer_request, home_config
from sb.evals.recorded import recorded_answer
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.trajectory_eval.model import RecordedCall
from sb.runtime.parts import open_approvals, open_log, open_packets

_LOOK_S = 0.1  # seconds between two looks at the home


class HomeWatch:
    """The home of one attempt, while an agent's own process uses it.

    Args:
        approve: as in `Setup`.
    """

    def __init__(self, home: Path, work: Path, approve: tuple[str, ...]) -> None:
        self._home, self._work, self._approve = home, work, approve
        self._untouched = self._seen = self._state()
        self._done = threading.Event()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Inside, requests that wait for a person are decided."""
        thread = threading.Thread(target=self._answer, name="sb-eval-person", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join()

    def _answer(self) -> None:
        while not self._done.wait(_LOOK_S):
            state = self._state()
            if state != self._seen:
                self._seen = state
                self._decide()

    def _decide(self) -> None:
        try:
            config = self._config()
            log = open_log(config)
            try:
                approvals = open_approvals(config, log)
                for request in approvals.page(states=[ApprovalState.WAITING]):
                    answer_request(approvals, request.id, self._approve)
            finally:
                log.close()
        except SBError:  # the agent holds the database, or decided itself: the next look tries again
            self._seen = ()

    def calls(self) -> tuple[RecordedCall, ...]:
        """The calls that the kernel of the home has on record, run after run; none if nobody opened it.

        Raises:
            SBError: the record cannot be read.
        """
        if self._state() == self._untouched:
            return ()
        config = self._config()
        log = open_log(config)
        try:
            rows = log.database.query(
                "SELECT run_id, MIN(seq) FROM events WHERE run_id != '' GROUP BY run_id ORDER BY 2"
            )
        finally:
            log.close()
        asked = _asked_first(config)
        calls = (call for run_id, _ in rows for call in recorded_answer(run_id, config).calls)
        return tuple(call for call in calls if call.call_id not in asked)

    def _config(self) -> Config:
        return home_config(self._home, self._work)

    def _state(self) -> tuple[tuple[int, int], ...]:
        """Changes with the database."""
        found = []
        for name in ("brain.db", "brain.db-wal"):
            try:
                stat = (self._home / name).stat()
            except OSError:
                continue
            found.append((stat.st_mtime_ns, stat.st_size))
        return tuple(found)


def _asked_first(config: Config) -> set[str]:
    """Ids of the calls that were only asked about: repeated once a person had decided, they are another call."""
    shelf = open_packets(config)
    found = set()
    for begun in shelf.packets()[0]:
        waiting: dict[tuple[str, bytes], str] = {}
        for step in shelf.read(begun.run_id).steps:
            found |= {waiting.pop(step.key)} if step.key in waiting else set()
            if step.rule == "requires_approval":
                waiting[step.key] = step.call_id
    return found
