"""Is the log whole: no row edited, missing, out of place or cut off, since it was written?

The algorithm is written out in docs/audit-log.md, and once more, independently, in docs/verify_log.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sb.decisions import namespace
from sb.state import SEQ_MASK, Event, EventLog, Subject, link_hash
from sb.store import driver
from sb.store.anchor import Anchored, AnchoredHead

PRUNED = "audit.pruned"
namespace.register(PRUNED, "Payloads of old events removed")
MOST_PROBLEMS = 50
ROWS_A_STEP = 10_000


@dataclass
class Verification:
    """What `verify` found.

    Args:
        rows: events in the chain.
        last_seq: number of the last one.
        pruned: events whose payload was removed by pruning, and says so.
        problems: one line each, naming the row; at most MOST_PROBLEMS, then how many more.
        anchored_seq: the newest anchored row, 0 without an anchor.
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


def verify(log: EventLog, *, progress: Callable[[int, int], object] | None = None) -> Verification:
    """Walk the whole chain of the log's stream and compare it with its anchors.

    Args:
        progress: called now and then with the rows that were checked and the rows in all.

    Raises:
        StoreError: database or anchor file cannot be read at all.
    """
    found = Verification(log.stream, log.database_id, head=log.genesis)
    anchored = log.anchored()
    if anchored.unreadable:
        found.report(f"the anchor file has {anchored.unreadable} unreadable lines")
    if anchored.replaced:
        last = max(anchored.replaced, key=lambda head: head.seq)
        found.report(
            f"the database was replaced: another one at this path had {last.seq} rows, anchored at {last.at}"
        )
    with log.database.snapshot() as connection:
        through = _pruned_through(log, connection)
        total = log.head_with(connection.execute).seq
        for _ in _walk(log, connection, through, anchored, found):
            if progress and (found.rows % ROWS_A_STEP == 0 or found.last_seq == total):
                progress(found.last_seq, total)
        _check_intents(connection, found)
    _compare_with_anchor(anchored, found)
    return found


def _pruned_through(log: EventLog, connection: driver.Connection) -> int:
    rows = connection.execute(
        "SELECT payload FROM events WHERE id BETWEEN ? AND ? AND kind = ? AND payload IS NOT NULL",
        (log.first_id, log.first_id + SEQ_MASK, PRUNED),
    )
    return max((int(json.loads(body)["through"]) for (body,) in rows), default=0)


def _walk(
    log: EventLog,
    connection: driver.Connection,
    through: int,
    anchored: Anchored,
    found: Verification,
) -> Iterator[None]:
    """Check one row at each step."""
    heads: dict[int, list[AnchoredHead]] = {}
    for head in anchored.heads:
        heads.setdefault(head.seq, []).append(head)
    expected_seq, prev = 1, log.genesis
    for row in log.rows(connection):
        seq, stored_prev, stored_hash = row[0] - log.first_id, row[9], row[10]
        if seq != expected_seq:
            found.report(f"rows {expected_seq} to {seq - 1} are missing")
        elif stored_prev != prev:
            found.report(f"row {seq} does not follow row {seq - 1}: one of them was replaced or moved")
        subject = Subject(*row[3:8])
        if link_hash(log.stream, seq, row[1], row[2], subject, row[8], stored_prev) != stored_hash:
            found.report(f"row {seq} was edited")
        _check_payload(seq, row, through, found)
        for head in heads.get(seq, ()):  # one that was rewritten and anchored again has two
            if head.hash != stored_hash:
                found.report(f"row {seq} is not the one anchored at {head.at}: the log was rewritten")
        expected_seq, prev = seq + 1, stored_hash
        found.rows, found.last_seq, found.head = found.rows + 1, seq, prev
        yield


def _check_payload(seq: int, row: tuple[Any, ...], through: int, found: Verification) -> None:
    salt, body = row[11], row[12]
    if body is None:
        if seq > through or row[2] == PRUNED:
            found.report(f"the payload of row {seq} is missing")
        found.pruned += 1
    elif sha256(f"{salt}{body}".encode()).hexdigest() != row[8]:
        found.report(f"the payload of row {seq} was edited")


def _check_intents(connection: driver.Connection, found: Verification) -> None:
    """Open calls and done steps stand beside the log: each must be what its event says."""
    for table, column in (("intents", "id"), ("steps", "outcome_id")):
        rows = connection.execute(
            f"SELECT t.call_id FROM {table} t LEFT JOIN events e ON e.id = t.{column}"
            " WHERE e.id IS NULL OR e.call_id <> t.call_id"
        )
        for (call_id,) in rows:
            found.report(f"call {call_id} stands in {table} without its event")


def _compare_with_anchor(anchored: Anchored, found: Verification) -> None:
    newest = anchored.newest
    if newest is None:
        return
    found.anchored_seq, found.anchored_at = newest.seq, newest.at
    if newest.seq > found.last_seq:
        found.report(
            f"the anchor is newer than the database: rows {found.last_seq + 1} to {newest.seq}, anchored at {newest.at},"
            " are missing (the end was cut off, or an older copy was put back)"
        )


def prune(log: EventLog, *, before: float, reason: str) -> int:
    """Remove the payloads of events older than `before` (seconds since the epoch); the chain itself stays.

    Returns:
        How many payloads were removed; the removal is an event of the log itself.

    Raises:
        StoreError: the database cannot be written; nothing was removed.
    """
    with log.write(power=True) as write:
        bounds = (log.first_id, log.first_id + SEQ_MASK)
        last = write.execute(
            "SELECT max(id) FROM events WHERE id BETWEEN ? AND ? AND at < ?", (*bounds, int(before * 1e6))
        ).fetchone()[0]
        if last is None:
            return 0
        removed = write.execute(
            "UPDATE events SET salt = NULL, payload = NULL"
            " WHERE id BETWEEN ? AND ? AND payload IS NOT NULL AND kind <> ?",
            (log.first_id, last, PRUNED),
        ).rowcount
        write.execute("UPDATE steps SET result = NULL WHERE outcome_id <= ?", (last,))
        if removed:
            write.append(
                PRUNED, {"reason": reason}, facts={"through": last - log.first_id, "removed": removed}
            )
    if removed and not log.database.in_memory:
        log.database.query(
            "PRAGMA wal_checkpoint(TRUNCATE)"
        )  # or the removed text would stay in the -wal file
    return int(removed)


def events_of(log: EventLog, reference: str) -> Iterator[Event]:
    """The events of a run or call by its id, or the one event with that number."""
    if reference.startswith("run_"):
        return log.events(run_id=reference)
    if reference.startswith("call_"):
        return log.events(call_id=reference)
    return log.events(after=int(reference) - 1, limit=1)
