"""Announced calls with side effects that have not ended, and named steps that are done.

An intent is committed before the tool runs and removed with its outcome. One that stays is in doubt: its effect may
have happened. So is one whose process died before the outcome.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

from sb.base.secrets.redaction import Masking
from sb.base.sources import micros
from sb.base.values.canonical import digest, encode
from sb.errors import StoreCorrupt
from sb.kernel.calls.known_steps import KnownSteps, step_key
from sb.kernel.contracts import ToolErrorCode
from sb.kernel.reversibility.mutations import mutation_number
from sb.log.event import EVENT_COLUMNS, Event, Subject
from sb.log.event_log import EventLog, LogWrite
from sb.log.kinds import TOOL_DISPATCH
from sb.log.people_events import sound
from sb.store import driver

HOST = os.uname().nodename  # what socket.gethostname says, without its module
EXTERNAL = "external"  # the owner of a call that another program performs begins with it
STEP_TOOL = "workflow.step"  # of a workflow's plain step, where a call names its tool
LEAVES_NOTHING = ""  # an intent's reversal, where it does not matter whether the call happened
_live: set[tuple[str, int]] = set()  # (database id, intent) of the calls that this process is running


class IntentState(StrEnum):
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"
    UNREPORTED = "unreported"


class Intent(NamedTuple):
    """An announced call without an outcome; `deadline` is in microseconds since the epoch.

    Args:
        reversal: what it would have left behind, as far as its arguments say, as JSON; None if that is not known.
        reverses: the mutation that it undoes itself, or None.
        workflow: the workflow whose plain step it is, which began at `deadline`; "" for a call.
    """

    id: int
    call_id: str
    run_id: str
    agent: str
    tool_id: str
    step: str
    step_key: str
    args_digest: str
    idempotency_key: str
    state: IntentState
    owner: str
    deadline: int
    reversal: str | None
    reverses: int | None
    workflow: str = ""

    @property
    def named(self) -> dict[str, str] | None:
        """Of a workflow's plain step what names it, as arguments name a call; None of a call."""
        return {"step": step_name(self.step), "workflow": step_name(self.workflow)} if self.workflow else None


class KnownStep(Exception):
    """A named step that was announced before.

    Args:
        same_args: whether it was asked for with the same arguments.
        done: False while nobody knows its outcome.
        result: what it gave, as redacted JSON; None when that was too large to keep or was pruned.
        error: code and message, for a step whose answer could not be used.
    """

    def __init__(
        self, call_id: str, *, same_args: bool, done: bool, result: str | None = None, error: str = ""
    ) -> None:
        super().__init__(call_id)
        self.call_id = call_id
        self.same_args = same_args
        self.done = done
        self.result = result
        self.error = error


INTENT_COLUMNS = "id, call_id, run_id, agent, tool_id, step, step_key, args_digest, idempotency_key, state, owner, deadline, reversal, reverses"


class Step(NamedTuple):
    """The identity of one call, for its tool and for whoever asks for it again.

    Args:
        name: the caller's name for this step of the run, or "".
        key: digest of run, tool and name; "" without a name.
        idempotency_key: what the tool is handed; the same for the same step with the same arguments.
    """

    name: str
    key: str
    args_digest: str
    idempotency_key: str


class StepResult(NamedTuple):
    """The stored result of a named step that is done."""

    step: Step
    result: str | None
    error: str

    def digest(self) -> str:
        """Ties the kept row to the event of its outcome."""
        return step_digest(self.step.key, self.step.args_digest, self.result, self.error)


def step_digest(key: str, args_digest: str, result: str | None, error: str) -> str:
    return digest(encode([key, args_digest, result, error]))


def step_name(name: str) -> str:
    """The name of a step as it is kept and found: without secrets, and told apart from others."""
    if not name:
        return name
    masking = Masking(personal=False)
    masked = masking.text(name)
    return f"{masked}…{digest(name.encode())[:16]}" if masking.found else name


def step_of(subject: Subject, name: str, args_digest: str) -> Step:
    """The step of a call; one without a name is known by the call's own id."""
    place = f"{subject.run_id}\n{subject.tool_id}\n"
    idempotency_key = "idem_" + digest(f"{place}{name or subject.call_id}\n{args_digest}".encode())[:32]
    key = step_key(subject.run_id, subject.tool_id, name) if name else ""
    return Step(name, key, args_digest, idempotency_key)


def intent_of(row: tuple[Any, ...]) -> Intent:
    return Intent(**dict(zip(INTENT_COLUMNS.split(", "), row, strict=True)) | {"state": IntentState(row[9])})


def as_announced(log: EventLog, event: Event, intent: Intent) -> bool:
    """True if a listed call is as its event says; without the key of digests, as far as it can be told."""
    payload, about = event.payload or {}, event.subject
    reverses = mutation_number(log, str(payload.get("reverses", "")))
    reversal = log.tag(intent.reversal.encode()) if intent.reversal else ""
    key = step_key(about.run_id, about.tool_id, intent.step) if intent.step else ""
    return (
        (about.call_id, about.run_id, about.agent, about.tool_id)
        == (intent.call_id, intent.run_id, intent.agent, intent.tool_id)
        and (payload.get("idempotency_key"), payload.get("args_digest"), reverses)
        == (intent.idempotency_key, intent.args_digest, intent.reverses)
        and (not log.keyed or payload.get("reversal_digest", "") == reversal)
        and intent.step_key == key == payload.get("step_key", key if payload.get("step") else "")
        and (intent.owner, intent.deadline, intent.reversal == LEAVES_NOTHING) == _decided_by(payload, intent)
    )


def announcement(
    step: Step, owner: str, deadline: int, reversal: str | None, tag: Callable[[bytes], str]
) -> dict[str, Any]:
    """The payload of an intent's event, with which its row is compared.

    Args:
        tag: the log's keyed digest.
    """
    facts: dict[str, Any] = {"owner": owner, "deadline": deadline}
    if step.key:
        facts["step_key"] = step.key
    if reversal:
        facts["reversal_digest"] = tag(reversal.encode())
    elif reversal == LEAVES_NOTHING:
        facts["leaves_nothing"] = True
    return facts


def _decided_by(payload: dict[str, Any], intent: Intent) -> tuple[str, int, bool]:
    """Owner, deadline and whether it leaves nothing, as the event has them; of an older one, as the row has them."""
    if "deadline" not in payload:
        return intent.owner, intent.deadline, intent.reversal == LEAVES_NOTHING
    return str(payload.get("owner")), int(payload["deadline"]), bool(payload.get("leaves_nothing"))


class Intents:
    """The intents of one log's database; writing happens inside the log's transactions."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._known = KnownSteps(log)
        self._owner = f"{HOST}:{os.getpid()}"

    def owner(self, performed_by: str = "") -> str:
        """The owner of a call: this process, or the host that makes it."""
        return f"{EXTERNAL}:{performed_by}" if performed_by else self._owner

    def open(
        self,
        write: LogWrite,
        event_id: int,
        subject: Subject,
        step: Step,
        owner: str,
        deadline: int,
        *,
        reversal: str | None = None,
        reverses: int | None = None,
    ) -> None:
        """Record that a call is about to run.

        Args:
            owner: see `owner`.
            deadline: microseconds since the epoch after which it cannot be running any more.
            reversal, reverses: see Intent.
        """
        write.execute(
            f"INSERT INTO intents ({INTENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'started', ?, ?, ?, ?)",
            (
                event_id,
                subject.call_id,
                subject.run_id,
                subject.agent,
                subject.tool_id,
                step.name,
                step.key,
                step.args_digest,
                step.idempotency_key,
                owner,
                deadline,
                reversal,
                reverses,
            ),
        )
        if owner.startswith(f"{EXTERNAL}:"):
            return
        known = (self._log.database_id, event_id)
        _live.add(known)
        write.undo.append(lambda: _live.discard(known))

    def refuse_known_step(self, execute: Callable[..., driver.Cursor], run_id: str, step: Step) -> None:
        """Raise KnownStep if this step is done, or was announced and has not ended.

        Args:
            execute: of the transaction or snapshot in which that holds.

        Raises:
            StoreCorrupt: the tables say of it what the log does not.
        """
        query = "SELECT call_id, args_digest, result, error, outcome_id FROM steps WHERE step_key = ?"
        done = execute(query, (step.key,)).fetchone()
        query = "SELECT call_id, args_digest, id FROM intents WHERE step_key = ?"
        announced = None if done else execute(query, (step.key,)).fetchone()
        logged = None if self._log.alone else self._known.find(execute, run_id, step.key)
        if logged is None:
            row = done or announced
            if row and not self._log.alone and not self._was_pruned(execute, row[-1]):
                raise StoreCorrupt(f"step {step.name!r} is not what the log says of it", "sb log verify")
        elif logged.done:
            pruned = done and done[2] is None and self._was_pruned(execute, done[4])
            if done and not pruned and logged.step_digest != step_digest(step.key, *done[1:4]):
                raise StoreCorrupt(f"what is kept of step {step.name!r} is not what it gave", "sb log verify")
            done = done or (logged.call_id, logged.args_digest, None, "")
        else:
            done, announced = None, (logged.call_id, logged.args_digest)
        if done:
            same = done[1] == step.args_digest
            raise KnownStep(done[0], same_args=same, done=True, result=done[2], error=done[3])
        if announced:
            raise KnownStep(announced[0], same_args=announced[1] == step.args_digest, done=False)

    @staticmethod
    def _was_pruned(execute: Callable[..., driver.Cursor], event_id: int) -> bool:
        row = execute("SELECT payload FROM events WHERE id = ?", (event_id,)).fetchone()
        return row is not None and row[0] is None

    def close(self, write: LogWrite, intent_id: int, state: IntentState) -> None:
        """Record that the call has ended, or that nobody knows whether it has."""
        _live.discard((self._log.database_id, intent_id))
        if state is IntentState.IN_DOUBT:
            write.execute("UPDATE intents SET state = 'in_doubt' WHERE id = ?", (intent_id,))
        else:
            write.execute("DELETE FROM intents WHERE id = ?", (intent_id,))

    def record_step(self, write: LogWrite, step_result: StepResult, outcome_id: int, call_id: str) -> None:
        """Record what a named step gave."""
        row = (
            step_result.step.key,
            step_result.step.args_digest,
            outcome_id,
            call_id,
            step_result.result,
            step_result.error,
        )
        write.execute("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)", row)

    def announced(self, intent: Intent) -> Event | None:
        """The event that announced a call; None once that was pruned.

        Raises:
            StoreCorrupt: the call was changed in the database since.
        """
        rows = self._log.database.query(f"SELECT {EVENT_COLUMNS} FROM events WHERE id = ?", (intent.id,))
        if rows and rows[0][12] is None:
            return None
        event = sound(self._log, rows[0]) if rows else None
        doubted = intent.state is not IntentState.IN_DOUBT or self._doubted(intent)
        if event is None or not doubted or not as_announced(self._log, event, intent):
            raise StoreCorrupt(
                f"{intent.call_id} was changed in the database after it was announced", "sb log verify"
            )
        return event

    def _doubted(self, intent: Intent) -> bool:
        """True if the log says that nobody knows how the call ended."""
        events = self._log.events(run_id=intent.run_id, call_id=intent.call_id, kind=TOOL_DISPATCH)
        payloads = [event.payload or {"phase": "in_doubt"} for event in events]
        return any("in_doubt" in (payload.get("phase"), payload.get("state")) for payload in payloads)

    def announcement_payload(self, intent: Intent) -> dict[str, Any]:
        """The payload of the event that announced a call; {} once it was pruned."""
        rows = self._log.database.query(f"SELECT {EVENT_COLUMNS} FROM events WHERE id = ?", (intent.id,))
        return (self._log.event(rows[0]).payload or {}) if rows else {}

    def announced_in(self, run_id: str) -> list[Intent]:
        """The calls of a run that another program performs and that have not ended, oldest first."""
        rows = self._log.database.query(
            f"SELECT {INTENT_COLUMNS} FROM intents WHERE run_id = ? AND state = 'started' ORDER BY id",
            (run_id,),
        )
        found = [intent_of(row) for row in rows]
        return [intent for intent in found if intent.owner.startswith(f"{EXTERNAL}:")]

    def in_doubt(self) -> list[Intent]:
        """Calls with unknown outcome, oldest first, including those of dead processes."""
        return [intent for intent in self._all() if not self._is_running(intent)]

    def running(self) -> list[Intent]:
        """Calls that were announced and that a living process has not ended, oldest first."""
        return [intent for intent in self._all() if self._is_running(intent)]

    def _all(self, where: str = "") -> list[Intent]:
        query = self._log.database.query
        intents = [
            intent_of(row) for row in query(f"SELECT {INTENT_COLUMNS} FROM intents {where} ORDER BY id")
        ]
        if not intents:
            return []
        announced = f"SELECT {EVENT_COLUMNS} FROM events WHERE id IN (SELECT value FROM json_each(?))"
        events = {row[0]: row for row in query(announced, (json.dumps([intent.id for intent in intents]),))}
        return [self._as_written(intent, events.get(intent.id)) for intent in intents]

    def _as_written(self, intent: Intent, row: tuple[Any, ...] | None) -> Intent:
        """With who runs it until when as its event says: the row alone could make a running call look dead."""
        if row and row[12] is None:
            return intent
        try:
            payload = sound(self._log, row).payload or {} if row else {}
        except StoreCorrupt:
            payload = {}
        if not payload:
            return intent._replace(reversal=None)
        owner, deadline, leaves_nothing = _decided_by(payload, intent)
        reversal = None if intent.reversal == LEAVES_NOTHING and not leaves_nothing else intent.reversal
        return intent._replace(owner=owner, deadline=deadline, reversal=reversal)

    def _is_running(self, intent: Intent) -> bool:
        now = micros(self._log.clock.now())
        return intent.state is IntentState.STARTED and not self._orphaned(intent, now)

    @staticmethod
    def still_started(execute: Callable[..., driver.Cursor], intent_id: int) -> bool:
        """True if nothing is known yet of how a call ended."""
        row = execute("SELECT state FROM intents WHERE id = ?", (intent_id,)).fetchone()
        return bool(row and row[0] == IntentState.STARTED)

    def settle_orphans(self) -> int:
        """Move the started calls of dead processes to in doubt, each with an event; returns how many.

        Those of tools that leave nothing behind have failed.
        """
        started = self._all("WHERE state = 'started'")  # calls in doubt may be many, and wait for a person
        return sum(self._settle(intent) for intent in started if not self._is_running(intent))

    def _orphaned(self, intent: Intent, now: int) -> bool:
        """True if nobody can be running it any more: its process is gone, or gave it up, or its deadline is over."""
        if now > intent.deadline:
            return True
        host, _, pid = intent.owner.rpartition(":")
        if host != HOST or intent.owner.startswith(f"{EXTERNAL}:"):
            return False
        if pid == str(os.getpid()):
            return (self._log.database_id, intent.id) not in _live
        return not process_lives(pid)

    def _settle(self, intent: Intent) -> bool:
        subject = Subject(intent.run_id, "", intent.agent, intent.tool_id, intent.call_id)
        with self._log.write() as write:
            if not self.still_started(write.execute, intent.id):
                return False  # its outcome came after all, or another process was faster
            why = "the process that ran it ended without an outcome"
            if intent.reversal == LEAVES_NOTHING:
                state = IntentState.FAILED
                facts = {"phase": "outcome", "state": state, "code": ToolErrorCode.UNEXPECTED}
                write.append(TOOL_DISPATCH, {"error": why}, subject, facts)
            else:
                state = IntentState.IN_DOUBT
                write.append(TOOL_DISPATCH, {}, subject, {"phase": "in_doubt", "cause": why})
            self.close(write, intent.id, state)
            return state is IntentState.IN_DOUBT


def process_lives(pid: str) -> bool:
    """True if a process of this number lives on this host."""
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True  # it lives, under another user
    return True
