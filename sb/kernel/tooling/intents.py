"""Which calls with side effects were announced and have not ended, and which named steps are done?

An intent is committed before the tool runs and removed with its outcome. One that stays is in doubt: its effect may
have happened. So is one whose process died before the outcome.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sb.canonical import digest
from sb.decisions.namespace import TOOL_DISPATCH
from sb.state import EventLog, LogWrite, Subject
from sb.store import driver

_HOST = socket.gethostname()


class IntentState(StrEnum):
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"


@dataclass(frozen=True)
class Intent:
    """An announced call without an outcome; `deadline` is in microseconds since the epoch."""

    id: int
    call_id: str
    run_id: str
    agent: str
    tool_id: str
    step: str
    idempotency_key: str
    state: IntentState
    owner: str
    deadline: int


class KnownStep(Exception):
    """A named step that was announced before.

    Args:
        done: False while nobody knows its outcome.
        result: what it gave, as redacted JSON; None when that was too large to keep or was pruned.
    """

    def __init__(self, call_id: str, done: bool, result: str | None = None) -> None:
        super().__init__(call_id)
        self.call_id = call_id
        self.done = done
        self.result = result

    def recorded_result(self) -> Any:
        return None if self.result is None else json.loads(self.result)


_COLUMNS = "id, call_id, run_id, agent, tool_id, step, idempotency_key, state, owner, deadline"


def idempotency_key(run_id: str, tool_id: str, step: str, args_digest: str) -> str:
    """The kernel's key for one step of a run: the same step with the same arguments has the same key."""
    return "idem_" + digest(f"{run_id}\n{tool_id}\n{step}\n{args_digest}".encode())[:32]


def _intent(row: tuple[Any, ...]) -> Intent:
    return Intent(**dict(zip(_COLUMNS.split(", "), row, strict=True)) | {"state": IntentState(row[7])})


class Intents:
    """The intents of one log's database; writing happens inside the log's transactions."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._owner = f"{_HOST}:{os.getpid()}"

    def open(
        self, write: LogWrite, event_id: int, subject: Subject, step: str, key: str, deadline: int
    ) -> None:
        """Record that a call is about to run.

        Args:
            deadline: microseconds since the epoch after which it cannot be running any more.
        """
        write.execute(
            f"INSERT INTO intents ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, 'started', ?, ?)",
            (
                event_id,
                subject.call_id,
                subject.run_id,
                subject.agent,
                subject.tool_id,
                step,
                key,
                self._owner,
                deadline,
            ),
        )

    def refuse_known_step(self, write: LogWrite, key: str) -> None:
        """Raise KnownStep if this step is done, or was announced and has not ended."""
        done = write.execute("SELECT call_id, result FROM steps WHERE idempotency_key = ?", (key,)).fetchone()
        if done:
            raise KnownStep(done[0], True, done[1])
        query = "SELECT call_id FROM intents WHERE idempotency_key = ? AND step <> ''"
        announced = write.execute(query, (key,)).fetchone()
        if announced:
            raise KnownStep(announced[0], False)

    def close(self, write: LogWrite, intent_id: int, state: IntentState) -> None:
        """Record that the call has ended, or that nobody knows whether it has."""
        if state is IntentState.IN_DOUBT:
            write.execute("UPDATE intents SET state = 'in_doubt' WHERE id = ?", (intent_id,))
        else:
            write.execute("DELETE FROM intents WHERE id = ?", (intent_id,))

    def keep_step(self, write: LogWrite, key: str, outcome_id: int, call_id: str, result: str | None) -> None:
        """Record what a named step gave."""
        write.execute("INSERT INTO steps VALUES (?, ?, ?, ?)", (key, outcome_id, call_id, result))

    def in_doubt(self) -> list[Intent]:
        """Calls of which nobody knows whether they happened, oldest first; those of dead processes included."""
        rows = self._log.database.query(f"SELECT {_COLUMNS} FROM intents ORDER BY id")
        now = int(self._log.clock.now() * 1e6)
        intents = [_intent(row) for row in rows]
        return [
            intent for intent in intents if intent.state is IntentState.IN_DOUBT or _orphaned(intent, now)
        ]

    def settle_orphans(self) -> int:
        """Move the started calls of dead processes to in doubt, each with an event; returns how many."""
        orphans = [intent for intent in self.in_doubt() if intent.state is IntentState.STARTED]
        return sum(self._settle(intent) for intent in orphans)

    def _settle(self, intent: Intent) -> bool:
        subject = Subject(intent.run_id, "", intent.agent, intent.tool_id, intent.call_id)
        with self._log.write() as write:
            if not _still_started(write.execute, intent.id):
                return False  # its outcome came after all, or another process was faster
            facts = {"phase": "in_doubt", "cause": "the process that ran it ended without an outcome"}
            write.append(TOOL_DISPATCH, {}, subject, facts)
            self.close(write, intent.id, IntentState.IN_DOUBT)
            return True


def _still_started(execute: Callable[..., driver.Cursor], intent_id: int) -> bool:
    row = execute("SELECT state FROM intents WHERE id = ?", (intent_id,)).fetchone()
    return bool(row and row[0] == IntentState.STARTED)


def _orphaned(intent: Intent, now: int) -> bool:
    """Whether nobody can be running it any more: its process on this host is gone, or its deadline is over."""
    if now > intent.deadline:
        return True
    host, _, pid = intent.owner.rpartition(":")
    if host != _HOST or int(pid) == os.getpid():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False  # it lives, under another user
    return False
