"""Lessons from the log of one's own runs: what failed, was refused or undone, and what worked in its place.

Deterministic: no model is asked. Of a call only its line is saved, as the log has it: masked. It is masked again then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from sb.errors import DeniedError
from sb.kernel.calls.intents import IntentState
from sb.kernel.review.activity import ASKS
from sb.kernel.review.calls import CallRecord, calls_at, run_calls
from sb.log.event_log import EventLog
from sb.memory.brain import Brain
from sb.memory.lessons.lessons import ACTIVE, KIND, LEARNED, SETTLED, Lessons, wording
from sb.memory.lessons.reasons import is_denied
from sb.memory.triggers import armed
from sb.memory.triggers.precondition import Situation, bare_call, overlap
from sb.memory.triggers.situations import call_line
from sb.protocols.types import Lesson
from sb.store.records.columns import ACTIVE as IN_FORCE
from sb.store.records.columns import Row
from sb.store.records.places import Execute, Place

WINDOW = 20  # calls after a failure among which what works in its place is looked for
RELATED = 0.33  # of the tokens of a failed call and of one that worked those that both have


class Tried(NamedTuple):
    """A call that has ended; `cause` is "" if it worked. `at` is the number of its first event."""

    call_id: str
    line: str
    cause: str
    at: int


class _Known(Exception):
    """Another process has learned it meanwhile."""


def learn(brain: Brain, log: EventLog, run_id: str) -> None:
    """Learn from the newest calls of a run of this agent; what was learned before is not learned again."""
    tried = list(_tried(log, run_id, brain.agent_id))
    learner = _Learner(brain, run_id)
    try:
        for number, item in enumerate(tried):
            if item.cause:
                learner.fail(item)
            else:
                learner.work(item, oldest=tried[max(0, number - WINDOW)].at)
    except DeniedError:  # an agent that may not write here teaches nothing
        return


def _tried(log: EventLog, run_id: str, agent: str) -> Iterator[Tried]:
    """The newest ended calls of a run, oldest first."""
    firsts = run_calls(log, run_id, limit=WINDOW + 5)
    records = calls_at(log, firsts)
    for first in reversed(firsts):
        call = records[first]
        cause = _cause(log, call) if call.agent == agent and isinstance(call.args, dict) else None
        if cause is not None and (line := call_line(call.args, call.tool_id)):
            yield Tried(call.call_id, line, cause, call.first)


def _cause(log: EventLog, call: CallRecord) -> str | None:
    """Verb for a call that ended badly; "" if it worked, None if that is not known or teaches nothing."""
    state = call.payload.get("state")
    if call.payload.get("phase") == "refused":
        asked = call.payload.get("rule") == ASKS
        return "was denied" if is_denied(call) else None if asked else "was refused"
    if call.payload.get("phase") != "outcome" or state not in (IntentState.FAILED, IntentState.DONE):
        return None
    if state == IntentState.FAILED:
        return "failed"
    undone = "SELECT 1 FROM mutations WHERE call_id = ? AND state = 'reversed' LIMIT 1"
    return "was undone afterwards" if log.database.query(undone, (call.call_id,)) else ""


class _Learner:
    def __init__(self, brain: Brain, run_id: str) -> None:
        self._brain, self._run_id = brain, run_id
        self._lessons: Lessons = brain.lessons
        self._space, self._writer = brain.space, brain.writer
        self._place = Place(brain.stack, brain.scope, "")

    def fail(self, item: Tried) -> None:
        """Save a lesson of a failed call, or count the failure for the lesson that there is."""
        for _ in range(2):  # another process may be about to learn the same
            if self._space.database.query("SELECT 1 FROM lesson_failures WHERE call_id = ?", (item.call_id,)):
                return
            row = self._lesson_of(item)
            try:
                if row is None:
                    self._begin(item)
                else:
                    self._again(item, row)
            except _Known:
                continue
            return

    def _begin(self, item: Tried) -> None:
        uid = self._space.new_id(self._space.clock.now())
        lesson = Lesson(
            id=uid, content=wording(item.line, ""), cause=item.cause, conditions={"call": item.line},
            source_type=LEARNED, source_entity=item.call_id,
        )  # fmt: skip

        def note(execute: Execute) -> None:
            if execute(
                "SELECT 1 FROM lesson_failures WHERE signature = ?", (self._signature(item),)
            ).fetchone():
                raise _Known
            (number,) = execute("SELECT id FROM records WHERE uid = ?", (uid,)).fetchone()
            self._note(execute, item, number)

        self._lessons.save(lesson, self._place, also=note)

    def _again(self, item: Tried, row: Row) -> None:
        """Count a failure; a lesson that had been settled is shown again, one that somebody ended is not."""
        wanted = self._is_learned(row) and row["category"] in (ACTIVE, SETTLED)
        record = self._space.record(row)
        if wanted and (row["category"] == SETTLED or record.cause != item.cause):
            content = wording(item.line, "", record.worked or "")
            self._lessons.change(
                row, "learn", "the call failed again", lambda execute: self._note(execute, item, row["id"]),
                status=ACTIVE, cause=item.cause, content=content,
            )  # fmt: skip
            return
        with self._space.database.write() as execute:
            self._note(execute, item, row["id"], seeks=wanted and not record.worked)

    def _note(self, execute: Execute, item: Tried, record: int, *, seeks: bool = True) -> None:
        values = (item.call_id, record, self._signature(item), self._run_id, item.at, int(seeks))
        sql = "INSERT OR IGNORE INTO lesson_failures (call_id, record, signature, run_id, at, open) VALUES (?, ?, ?, ?, ?, ?)"
        if not execute(sql, values).rowcount:
            raise _Known

    def work(self, item: Tried, oldest: int) -> None:
        """Settle the lesson of a call that works now, and tell those of related calls what worked.

        Args:
            oldest: the number of the first call whose failure it may answer.
        """
        row = self._lesson_of(item)
        if row is not None and self._is_learned(row) and row["category"] == ACTIVE:
            newest = "SELECT max(at) FROM lesson_failures WHERE record = ?"
            if self._space.database.query(newest, (row["id"],))[0][0] < item.at:
                self._end(row, "the same call has worked since", status=SETTLED)
        for other in self._seeking(item.at, oldest):
            record = self._space.record(other)
            failed = str((record.conditions or {}).get("call", ""))
            if overlap(failed, item.line) >= RELATED and bare_call(failed) != bare_call(item.line):
                content = wording(failed, "", item.line)
                self._end(
                    other, "another call worked", worked=item.line, worked_call=item.call_id, content=content
                )
        self._heed(item)

    def _end(self, row: Row, reason: str, **fields: object) -> None:
        def close(execute: Execute) -> None:
            execute("UPDATE lesson_failures SET open = 0 WHERE record = ?", (row["id"],))

        self._lessons.change(row, "learn", reason, close, **fields)

    def _seeking(self, at: int, oldest: int) -> Sequence[Row]:
        """The lessons of this run for which what works is not known yet; older ones are given up."""
        with_open = "SELECT 1 FROM lesson_failures WHERE run_id = ? AND open = 1 LIMIT 1"
        if not self._space.database.query(with_open, (self._run_id,)):
            return ()
        with self._space.database.write() as execute:
            execute("UPDATE lesson_failures SET open = 0 WHERE run_id = ? AND at < ?", (self._run_id, oldest))
        sql = "SELECT DISTINCT record FROM lesson_failures WHERE run_id = ? AND open = 1 AND at < ?"
        rows = self._space.records.rows([n for (n,) in self._space.database.query(sql, (self._run_id, at))])
        return [row for row in rows if row["category"] == ACTIVE and self._is_learned(row)]

    def _heed(self, item: Tried) -> None:
        """Note that the session made the call that a lesson, which it was shown, names as the one that worked."""
        session = self._writer.begun()
        if session is None:
            return
        sql = (
            "SELECT s.record FROM trigger_showings AS s JOIN triggers AS t ON t.record = s.record"
            " WHERE s.session = ? AND s.heeded = 0 AND t.kind = 'lesson'"
        )
        rows = self._space.records.rows([n for (n,) in self._space.database.query(sql, (session.number,))])
        heeded = [
            row["id"]
            for row in rows
            if bare_call(self._space.record(row).worked or "") == bare_call(item.line)
        ]
        if heeded:
            with self._space.database.write() as execute:
                armed.heed(execute, session.number, heeded)

    def _lesson_of(self, item: Tried) -> Row | None:
        """The lesson of a call: learned from it, in whatever state, else one that somebody gave for this very call."""
        sql = "SELECT record FROM lesson_failures WHERE signature = ? ORDER BY record DESC LIMIT 1"
        found = self._space.database.query(sql, (self._signature(item),))
        if found:
            return self._space.records.row(found[0][0])
        situation, number = Situation(call=item.line, is_call=True), self._space.places.find(self._place)
        fitting = armed.fitting(self._space.database, situation, kind=KIND)
        same = [
            each.record
            for each in fitting
            if bare_call(each.spec["parts"].get("call", "")) == bare_call(item.line)
        ]
        return next((row for row in self._space.records.rows(same) if row["place"] == number), None)

    def _is_learned(self, row: Row) -> bool:
        """True for a lesson in force that was learned here; what somebody wrote is left as it is."""
        return bool(row["state"] == IN_FORCE and row["source_type"] == LEARNED)

    def _signature(self, item: Tried) -> str:
        call = bare_call(item.line)
        return sha256(f"{self._place.stack}\0{self._place.scope}\0{call}".encode()).hexdigest()[:32]
