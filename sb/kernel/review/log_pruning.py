"""Remove payloads of old events; that they happened stays on the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sb.base.sources import iso, micros
from sb.errors import SBError, StoreLocked
from sb.kernel.authority.signing import Decider, Label, signed_statement
from sb.log import kinds
from sb.log.event import SEQ_MASK, Event
from sb.log.event_log import EventLog
from sb.store.statement_file import StatementLine

if TYPE_CHECKING:
    from sb.kernel.authority.authority import Authority

_NOBODY = Label("")
ADOPTED = "prune"  # what lines about prunes from before are found under, outside the database
# What still decides: who may decide, which contracts are approved, what is granted in advance, what is stopped.
IN_FORCE = (
    kinds.PRUNED,
    kinds.OPERATOR_CHANGED,
    kinds.BASELINE_CHANGED,
    kinds.GRANT_MADE,
    kinds.KILL_THROWN,
    kinds.KILL_LIFTED,
    kinds.INCIDENT_OPENED,
    kinds.INCIDENT_CLOSED,
    kinds.AUTONOMY_LOWERED,
    kinds.AUTONOMY_RAISED,
    kinds.AUTONOMY_FROZEN,
    kinds.AUTONOMY_UNFROZEN,
    kinds.AUTONOMY_EVALUATED,
    kinds.OUTCOME_JUDGED,
)
_PRUNABLE = "payload IS NOT NULL AND kind NOT IN ({})".format(", ".join(f"'{kind}'" for kind in IN_FORCE))

# The last old row before the first one that is not: a row that a wrong clock dated back does not make those before it
# old. One of a clock that was ahead is of no known age, and goes with an old one after it.
_LAST = """
    SELECT max(id) FROM events WHERE id BETWEEN ?1 AND ?2 AND at < ?3 AND id < coalesce(
        (SELECT min(id) FROM events WHERE id BETWEEN ?1 AND ?2 AND at BETWEEN ?3 AND ?4), ?2 + 1)
"""


def prune(
    log: EventLog,
    *,
    before: float,
    reason: str,
    by: Decider = _NOBODY,
    authority: Authority | None = None,
) -> int:
    """Remove the payloads of events older than `before` (seconds since the epoch), up to the first that is not; the
    chain itself stays.

    Args:
        by: who decides it: once operators are enrolled, verification wants it signed by one of them.
        authority: says who may; None where nobody is enrolled.

    Returns:
        How many payloads were removed; the removal is an event of the log itself.

    Raises:
        Unauthorised: this person may not decide.
        StoreLocked: they were removed, but a reader keeps the old text in the write-ahead log.
        StoreError: the database cannot be written; nothing was removed.
    """
    with log.write(power=True) as write:
        last = write.execute(_LAST, _bounds(log, before)).fetchone()[0]
        if last is None:
            return 0
        removed = write.execute(
            f"UPDATE events SET salt = NULL, payload = NULL WHERE id BETWEEN ? AND ? AND {_PRUNABLE}",
            (log.first_id, last),
        ).rowcount
        write.execute("UPDATE steps SET result = NULL WHERE outcome_id <= ?", (last,))
        write.execute("UPDATE mutations SET ref = NULL WHERE id BETWEEN ? AND ?", (log.first_id, last))
        write.execute("UPDATE assumptions SET watch = '' WHERE mutation_id <= ?", (last,))
        write.execute(
            "UPDATE outcomes SET intent = '', session = '' WHERE started_at < ?",
            (micros(before),),
        )
        if removed:
            what = {"through": last - log.first_id, "removed": removed}
            place = {"action": kinds.PRUNED, "database": log.database_id, "at": iso(log.clock.now())}
            signed = signed_statement(by, {**what, **place})
            if authority is not None:
                authority.verify(signed)
            write.append(
                kinds.PRUNED, {"reason": reason}, trusted=what | ({"signed": signed} if by.key_id else {})
            )
    _empty_write_ahead_log(log)
    return int(removed)


def adopt_prunes(log: EventLog) -> None:
    """Record outside the database the prunes of a log from before they were signed, so that they go on counting.

    After kills and incidents: of a database that the file names, it has every statement.

    Raises:
        StoreError: log or file cannot be read or written.
    """
    if log.anchor is None:
        return
    place = (log.database_id, log.place, ADOPTED)
    found = [event for event in log.events(kind=kinds.PRUNED) if "signed" not in (event.payload or {})]
    log.anchor.statements.append(
        StatementLine(*place, event.seq, event.hash, event.at, kinds.PRUNED) for event in found
    )


def adopted_prunes(log: EventLog) -> set[str]:
    """The hashes of the prunes that were adopted; raises StoreError."""
    if log.anchor is None:
        return set()
    recorded = log.anchor.statements.read(log.database_id, log.place)
    return {line.hash for line in recorded.lines if line.about == ADOPTED}


def why_not_allowed(event: Event, authority: Authority, database_id: str) -> str:
    """The reason why a prune made after an enrolment is not the decision of an operator; "" when it is."""
    payload = event.payload or {}
    signed = payload.get("signed")
    statement = signed.get("statement") if isinstance(signed, dict) else None
    if not isinstance(signed, Mapping) or not isinstance(statement, Mapping):
        return "it is unsigned, although operators are enrolled"
    claimed: tuple[Any, ...] = (kinds.PRUNED, database_id, payload.get("through"), payload.get("removed"))
    if tuple(statement.get(name) for name in ("action", "database", "through", "removed")) != claimed:
        return "what was signed is another one"
    try:
        authority.verify(signed, event)
    except SBError as error:
        return error.message
    return ""


def prunable(log: EventLog, *, before: float) -> int:
    """The number of payloads that `prune` would remove."""
    last = log.database.query(_LAST, _bounds(log, before))[0][0]
    if last is None:
        return 0
    rows = log.database.query(
        f"SELECT count(*) FROM events WHERE id > ? AND id <= ? AND {_PRUNABLE}", (log.first_id, last)
    )
    return int(rows[0][0])


def _bounds(log: EventLog, before: float) -> tuple[int, int, int, int]:
    return log.first_id, log.first_id + SEQ_MASK, micros(before), micros(log.clock.now())


def _empty_write_ahead_log(log: EventLog) -> None:
    """The removed text stands in the -wal file until that is emptied, which a reader of an old state prevents."""
    busy = log.database.query("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]  # SQLite itself waits for a while
    if not busy:
        return
    raise StoreLocked(
        "the details are removed, but another process still reads the old ones",
        "prune again when it has finished, to take them out of the -wal file too",
    )
