"""Verify the log: no row edited, missing, out of place or cut off.

The algorithm is written out in docs/reference/event-log.md, and once more, independently, in docs/verify_log.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import field
from hashlib import sha256
from typing import Any

from sb.base.sources import iso_micros
from sb.base.values.frozen import mutable
from sb.kernel.approvals.verification import check_displayed
from sb.kernel.authority.authority import Authority
from sb.kernel.baselines.seen import check_documents
from sb.kernel.calls.intents import INTENT_COLUMNS, IntentState, as_announced, intent_of, step_digest
from sb.kernel.durable_execution.seals import Seals
from sb.kernel.incident_response.interrupted import interrupted
from sb.kernel.incident_response.statements import REFERENCES
from sb.kernel.recovery_loop.verification import RecoveryTables
from sb.kernel.review.decision_tables import DecisionTables
from sb.kernel.review.log_pruning import IN_FORCE, adopted_prunes, why_not_allowed
from sb.log.event import EVENT_COLUMNS, SEQ_MASK, Event, Subject, link_hash
from sb.log.event_log import EventLog
from sb.log.kinds import OPERATOR_CHANGED, PRUNED, TOOL_DISPATCH
from sb.store import driver
from sb.store.anchor import Anchored, AnchoredHead

MOST_PROBLEMS = 50
ROWS_A_STEP = 10_000


@mutable
class Verification:
    """The result of `verify`.

    Args:
        rows: events in the chain.
        last_seq: number of the last one.
        pruned: events whose payload was removed by pruning, and says so.
        problems: one line each, naming the row; at most MOST_PROBLEMS, then how many more.
        anchored_seq: the newest anchored row, 0 without an anchor.
        interrupted: statements of people that were never committed, one line each; nobody changed anything.
    """

    stream: str
    database_id: str
    rows: int = 0
    last_seq: int = 0
    head: str = ""
    pruned: int = 0
    anchored_seq: int = 0
    anchored_at: str = ""
    problems: list[str] = field(default_factory=list)
    further_problems: int = 0
    interrupted: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def report(self, problem: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        else:
            self.further_problems += 1

    def to_dict(self) -> dict[str, Any]:
        return {"ok": self.ok, **vars(self)}


def verify(
    log: EventLog,
    authority: Authority | None = None,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> Verification:
    """Walk the whole chain of the log's stream, and compare it with its anchors and with the tables beside it.

    Args:
        authority: says who may prune; by default nobody, once the log says that operators are enrolled.
        progress: called now and then with the rows that were checked and the rows in all.

    Raises:
        StoreError: database or anchor file cannot be read at all.
    """
    anchored = log.anchored()
    with log.database.snapshot() as connection:
        walk = _Walk(log, connection, anchored, authority or Authority(None, log))
        total = log.head_with(connection.execute).seq
        for _ in walk.rows():
            if progress and (walk.found.rows % ROWS_A_STEP == 0 or walk.found.last_seq == total):
                progress(walk.found.last_seq, total)
        walk.check_tables()
    _compare_with_anchor(anchored, walk.found)
    return walk.found


class _Walk:
    """One pass over the chain, and what it has to remember of it."""

    def __init__(
        self, log: EventLog, connection: driver.Connection, anchored: Anchored, authority: Authority
    ) -> None:
        self.found = Verification(log.stream, log.database_id, head=log.genesis)
        self._log = log
        self._authority = authority
        self._connection = connection
        self._open: dict[str, int] = {}  # announced calls without an outcome, by the row of their intent
        self._unclear: set[str] = set()  # calls of which something was pruned
        self._steps: dict[
            int, tuple[str, str]
        ] = {}  # call and digest of kept steps, by the id of their outcome
        self._doubtful: set[str] = set()  # calls of which nobody knew at some time whether they happened
        self._decisions = DecisionTables()
        self._announced: dict[int, Event] = {}  # of the calls in `_open`, by the id of their intent
        self._recovery = RecoveryTables(log)
        self._heads: dict[int, list[AnchoredHead]] = {}
        for head in anchored.heads:
            self._heads.setdefault(head.seq, []).append(head)
        self._through, self._removed = self._prunes()

    def _prunes(self) -> tuple[int, int]:
        """Up to which row payloads may be missing, and how many."""
        bounds = (self._log.first_id, self._log.first_id + SEQ_MASK)
        of_kind = "id BETWEEN ? AND ? AND kind = ?"
        enrolled = self._connection.execute(  # whether its payload is there or not
            f"SELECT min(id) FROM events WHERE {of_kind}", (*bounds, OPERATOR_CHANGED)
        ).fetchone()[0]
        rows = self._connection.execute(
            f"SELECT {EVENT_COLUMNS} FROM events WHERE {of_kind} AND payload IS NOT NULL", (*bounds, PRUNED)
        ).fetchall()
        through, removed, adopted = 0, 0, adopted_prunes(self._log)
        for event in map(self._log.event, rows):
            last, count = (event.payload or {}).get("through"), (event.payload or {}).get("removed")
            if not isinstance(last, int) or not isinstance(count, int) or last >= event.seq:
                self.found.report(f"row {event.seq} claims a pruning that cannot have been")
                continue
            late = enrolled is not None and event.seq > enrolled - self._log.first_id
            late = late and event.hash not in adopted
            why = why_not_allowed(event, self._authority, self._log.database_id) if late else ""
            if why:
                self.found.report(f"row {event.seq} claims a pruning that nobody decided: {why}")
                continue
            through, removed = max(through, last), removed + count
        return through, removed

    def rows(self) -> Iterator[None]:
        """Check one row at each step."""
        found, expected, prev = self.found, 1, self._log.genesis
        for row in self._log.rows(self._connection):
            seq, stored_prev, stored_hash = row[0] - self._log.first_id, row[9], row[10]
            if seq != expected:
                found.report(f"rows {expected} to {seq - 1} are missing")
            elif stored_prev != prev:
                found.report(f"row {seq} does not follow row {seq - 1}: one of them was replaced or moved")
            subject = Subject(*row[3:8])
            if link_hash(self._log.stream, seq, row[1], row[2], subject, row[8], stored_prev) != stored_hash:
                found.report(f"row {seq} was edited")
            for head in self._heads.get(seq, ()):  # one that was rewritten and anchored again has two
                if head.hash != stored_hash:
                    found.report(f"row {seq} is not the one anchored at {head.at}: the log was rewritten")
            self._check_payload(seq, row)
            expected, prev = seq + 1, stored_hash
            found.rows, found.last_seq, found.head = found.rows + 1, seq, prev
            yield

    def _check_payload(self, seq: int, row: tuple[Any, ...]) -> None:
        kind, call_id, salt, body = row[2], row[7], row[11], row[12]
        if body is None:
            if seq > self._through or kind in IN_FORCE:
                self.found.report(f"the payload of row {seq} is missing")
            self.found.pruned += 1
            self._unclear.add(call_id)
        elif sha256(f"{salt}{body}".encode()).hexdigest() != row[8]:
            self.found.report(f"the payload of row {seq} was edited")
        else:
            payload = _parsed(body)
            if kind.startswith(("approval.", "grant.")):
                self._decisions.follow(row, payload)
                return
            self._recovery.follow(row, payload)
            if kind == TOOL_DISPATCH:
                self._follow(seq, row, call_id, payload)

    def _follow(self, seq: int, row: tuple[Any, ...], call_id: str, payload: dict[str, Any]) -> None:
        if payload.get("phase") == "intent":
            self._open[call_id] = seq
            self._announced[row[0]] = self._log.event(row)
            if "grant_id" in payload:
                self._decisions.used(row, str(payload["grant_id"]))
        elif payload.get("phase") == "in_doubt":
            self._doubtful.add(call_id)
        elif payload.get("phase") in ("outcome", "settled"):
            if payload.get("state") == "in_doubt":
                self._doubtful.add(call_id)
            else:
                opened = self._open.pop(call_id, 0)
                self._announced.pop(self._log.first_id + opened, None)
            if "step_digest" in payload:
                self._steps[row[0]] = (call_id, str(payload["step_digest"]))

    def check_tables(self) -> None:
        """Check that the tables beside the log hold what it says, no more and no less."""
        report, execute = self.found.report, self._connection.execute
        self._recovery.check(execute, report, self._log.first_id + self._through)
        self._decisions.check(execute, report, self._unclear)
        check_displayed(self._log, execute, report, self._unclear)
        if self.found.pruned > self._removed:
            report(f"{self.found.pruned - self._removed} more payloads are missing than were pruned")
        intents = {str(call_id) for (call_id,) in execute("SELECT call_id FROM intents")}
        for call_id, seq in self._open.items():
            if call_id not in intents:
                report(f"call {call_id}, announced in row {seq}, has no outcome and is not listed as open")
        for call_id in intents - self._open.keys() - self._unclear:
            report(f"call {call_id} is listed as open, and the log does not say so")
        for row in execute(f"SELECT {INTENT_COLUMNS} FROM intents").fetchall():
            try:
                intent = intent_of(row)
            except ValueError as error:
                report(f"call {row[1]} is not listed as it was announced: {error}")
                continue
            event = self._announced.get(intent.id)
            if event is None:
                if intent.call_id not in self._unclear:
                    report(f"call {intent.call_id} is not listed under the row that announced it")
            elif not as_announced(self._log, event, intent):
                report(f"call {intent.call_id} is not listed as row {event.seq} announced it")
            elif (intent.state is IntentState.IN_DOUBT) != (intent.call_id in self._doubtful):
                report(f"call {intent.call_id} is listed as {intent.state}, and the log does not say so")
        steps = execute(
            "SELECT outcome_id, call_id, step_key, args_digest, result, error FROM steps"
        ).fetchall()
        for row_id, call_id, *step in steps:
            if call_id not in self._unclear and self._steps.get(row_id) != (call_id, step_digest(*step)):
                report(f"what is kept of the step of call {call_id} is not what it gave")
        for row_id in self._steps.keys() - {row[0] for row in steps}:
            report(f"the step that row {row_id - self._log.first_id} kept is gone")
        self._check_statements()
        Seals(self._log).check(execute, report)
        check_documents(execute, report)
        strays = execute(
            "SELECT count(*) FROM events WHERE id >> 40 NOT IN (SELECT number FROM streams) OR id & ? = 0",
            (SEQ_MASK,),
        ).fetchone()[0]
        if strays:
            report(f"{strays} rows belong to no stream")

    def _check_statements(self) -> None:
        """Check that statements about kills, incidents and tokens are on the log and outside the database."""
        if self._log.anchor is None:
            return
        recorded = self._log.anchor.statements.read(self._log.database_id, self._log.place)
        marks = ", ".join("?" * len(REFERENCES))
        rows = self._connection.execute(
            f"SELECT id, hash, kind FROM events WHERE call_id IN ({marks})"
            " AND substr(kind, 1, 7) <> 'kernel.'",
            REFERENCES,
        ).fetchall()
        prunes = self._connection.execute("SELECT hash FROM events WHERE kind = ?", (PRUNED,)).fetchall()
        on_log = {row[1] for row in rows} | {stored for (stored,) in prunes}
        outside = {line.hash for line in recorded.lines}
        unfinished = {line.hash for line in interrupted(self._log)}
        for line in recorded.lines:
            if line.hash in unfinished:
                self.found.interrupted.append(
                    f"{line.kind} of {iso_micros(line.at)[:16]}Z is in statements.jsonl alone: its process ended before it was committed"
                )
            elif line.hash not in on_log:
                self.found.report(
                    f"row {line.seq}, {line.kind}, is gone from the log; statements.jsonl has it"
                )
        for row_id, stored, kind in rows if recorded.known else ():
            if stored not in outside:
                number = row_id - self._log.first_id
                self.found.report(f"row {number}, {kind}, was put into the database by something else")


def _parsed(body: str) -> dict[str, Any]:
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def _compare_with_anchor(anchored: Anchored, found: Verification) -> None:
    if anchored.unreadable:
        found.report(f"the anchor file has {anchored.unreadable} unreadable lines")
    if anchored.replaced:
        last = max(anchored.replaced, key=lambda head: head.seq)
        found.report(
            f"the database was replaced: another one at this path had {last.seq} rows, anchored at {last.at}"
        )
    newest = anchored.newest
    if newest is None:
        return
    found.anchored_seq, found.anchored_at = newest.seq, newest.at
    if newest.seq > found.last_seq:
        found.report(
            f"the anchor is newer than the database: rows {found.last_seq + 1} to {newest.seq}, anchored at"
            f" {newest.at}, are missing (the end was cut off, or an older copy was put back)"
        )
