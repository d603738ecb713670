"""Review the quarantine: list, show, add, release and purge; a person decides.

Source: the memory whitepaper, "quarantine" and "incident response". A record is uncertain until somebody releases it as safe or
purges it as malicious. A purged one stays in quarantine for good, as evidence without relations; `sb memory erase` removes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from sb.base.values.frozen import frozen
from sb.base.values.references import full_one
from sb.errors import DeniedError, NotFoundError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider
from sb.log import kinds
from sb.log.event_log import EventLog, LogWrite
from sb.memory.beliefs.echoes import settle_echoes
from sb.memory.beliefs.revision import released
from sb.memory.beliefs.settling import settle_claims
from sb.memory.decay import state_of
from sb.memory.decisions import signed_decision
from sb.memory.masking import masked_text
from sb.memory.quarantine.holding import HOLD, sources_of
from sb.memory.quarantine.spreading import quarantine
from sb.memory.record_writer import RecordWriter
from sb.memory.space import Space
from sb.memory.views import View
from sb.store.records.collapses import DISMISSED, MENTION
from sb.store.records.columns import ACTIVE, ERASED, QUARANTINED, SUPERSEDED, Row
from sb.store.records.edges import DERIVED_FROM, SUPERSEDES, Edge
from sb.store.records.rows import to_row

_LAST = "\U0010ffff"  # sorts after whatever an id goes on with
QUARANTINE_ADDED = kinds.MEMORY_DECIDED["quarantine"]
QUARANTINE_RELEASED = kinds.MEMORY_DECIDED["released"]
QUARANTINE_PURGED = kinds.MEMORY_DECIDED["purged"]
CORRECTION_DISMISSED = kinds.MEMORY_DECIDED["dismissed"]
UNCERTAIN, MALICIOUS, SAFE = "uncertain", "malicious", "safe"
PURGE, RELEASE, DISMISS = "purge", "release", "dismiss"  # operations in a record's history
_VERDICTS = {PURGE: MALICIOUS, DISMISS: DISMISSED}  # of what waits no longer, and stays in quarantine
_PURGED = (
    "EXISTS (SELECT 1 FROM record_history AS h WHERE h.record = r.id AND h.operation IN ('purge', 'dismiss'))"
)
_CORE = "core:"


@frozen
class Held(View):
    """A quarantined memory.

    Args:
        verdict: uncertain, malicious once it was purged, or dismissed. reason: why it is here, such as `source web-page`.
        since: when it came here, in seconds since the epoch. version: of the memory, which a decision is about.
        details: what its kind has beyond its text.
        sources: ids of what it names as its sources. derived: ids of quarantined memories that were derived from it.
        replaces: id to text of what it corrects once it is released.
    """

    id: str
    kind: str
    content: str
    scope: str
    stack: str
    agent_id: str
    source_type: str
    verdict: str
    reason: str
    since: float
    created_at: float
    version: int
    details: dict[str, Any]
    sources: tuple[str, ...]
    derived: tuple[str, ...]
    replaces: Mapping[str, str]


@frozen
class Decided(View):
    """The result of a decision.

    Args:
        verdict: safe, malicious, dismissed or uncertain. ids: of the memories that it changed.
        relations: how many were retracted. merged: ids of released memories that were added to the record of their name.
    """

    verdict: str
    ids: tuple[str, ...]
    relations: int = 0
    merged: tuple[str, ...] = ()


class Quarantine:
    """The quarantine of one database, as operators see it.

    Args:
        log: of the same database; it records what was decided. authority: who may decide.
    """

    def __init__(self, space: Space, log: EventLog, authority: Authority) -> None:
        if log.database is not space.database:
            raise ValueError("the log belongs to another database")
        self._space = space
        self._log = log
        self._authority = authority

    def items(self, *, limit: int = 0, purged: bool = False) -> list[Held]:
        """The memories that wait for a decision, the newest first; reads all records.

        Args:
            limit: the most that are returned; 0 for all. purged: those that were purged instead.
        """
        where = f"r.state = 'quarantined' AND {'' if purged else 'NOT '}{_PURGED}"
        rows = self._space.records.select(where, (), order="r.id DESC", limit=limit or -1)
        return [self._held(row) for row in rows]

    def full_id(self, reference: str, *, purged: bool = False) -> str:
        """The id that is meant, of one that waits, by how it begins; as given if none begins so.

        Args:
            purged: those that were purged, too.

        Raises:
            UsageError: several begin so.
        """
        where = "uid >= ? AND uid < ? AND state = 'quarantined'"
        sql = f"SELECT uid FROM records AS r WHERE {where} AND ({int(purged)} OR NOT {_PURGED})"
        rows = self._space.database.query(sql, (reference, reference + _LAST))
        return full_one(reference, (uid for (uid,) in rows))

    def show(self, uid: str) -> Held:
        """A quarantined memory in full.

        Raises:
            NotFoundError: none of that id is quarantined.
        """
        return self._held(self._row(uid))

    def add(self, uids: Sequence[str], *, by: Decider, reason: str) -> Decided:
        """Quarantine memories, and all that was derived from them.

        Raises:
            NotFoundError: there is none of that id; nothing was changed then. Unauthorised: `by` may not decide.
        """
        writer = RecordWriter(self._space, by.name)
        with self._log.write() as write:
            rows = []
            for uid in dict.fromkeys(uids):
                row = self._space.records.find(uid)
                if row is None or row["state"] == ERASED:
                    raise NotFoundError(f"no memory {uid!r}", "sb memory search finds ids")
                self._record(write, QUARANTINE_ADDED, row, UNCERTAIN, by, reason)
                rows.append(row)
            return Decided(UNCERTAIN, tuple(quarantine(writer, write.execute, rows, masked_text(reason, {}))))

    def release(self, items: Sequence[Held], *, by: Decider, reason: str) -> Decided:
        """Release memories as safe; what was derived from them stays until it is released too.

        Args:
            items: as they were looked at.

        Raises:
            NotFoundError: one is not quarantined, or was purged. DeniedError: `by` wrote it. Unauthorised: `by` may not decide.
            VersionConflictError: it was changed since it was looked at. Nothing was changed then.
        """
        writer = RecordWriter(self._space, by.name)
        merged = []
        with self._log.write() as write:
            for item in items:
                row = self._uncertain(item.id)
                _refuse_writer(by, row)
                self._record(write, QUARANTINE_RELEASED, row, SAFE, by, reason)
                state, key = self._released(row)
                same = self._space.records.keyed(row["place"], row["kind"], key) if key else None
                if same is not None:
                    self._merge(writer, write, row, same)
                    state, key = SUPERSEDED, None
                    merged.append(item.id)
                self._space.records.update(
                    write.execute, row["id"], {"state": state, "key": key}, actor=by.name, operation=RELEASE,
                    reason=masked_text(reason, {}), expected_version=item.version,
                )  # fmt: skip
                writer.reindex(write.execute, row["id"])
                now = self._space.records.row(row["id"])
                if now is not None and now["state"] == ACTIVE:
                    released(writer, write.execute, now)
                    settle_echoes(writer, write.execute, [now])
                    settle_claims(writer, write.execute, [now], collapse=False)
        return Decided(SAFE, tuple(item.id for item in items), merged=tuple(merged))

    def purge(self, items: Sequence[Held], *, by: Decider, reason: str) -> Decided:
        """Purge memories as malicious: they stay as evidence, without relations, and can no longer be released.

        Raises:
            As `release`, but whoever wrote one may purge it.
        """
        retracted = 0
        with self._log.write() as write:
            for item in items:
                row = self._uncertain(item.id)
                retracted += self._space.edges.retract(write.execute, row["id"])
                self._record(write, QUARANTINE_PURGED, row, MALICIOUS, by, reason)
                self._settle(write, row, PURGE, by, reason)
        return Decided(MALICIOUS, tuple(item.id for item in items), retracted)

    def dismiss(self, items: Sequence[Held], *, by: Decider, reason: str) -> Decided:
        """Dismiss pending corrections: what they would have replaced stands, and their texts stay out of every read.

        Raises:
            As `release`, but whoever wrote one may dismiss it. NotFoundError also where it corrects nothing.
        """
        with self._log.write() as write:
            for item in items:
                row = self._uncertain(item.id)
                if not self._space.collapses.of_winner(row["id"]):
                    raise NotFoundError(
                        f"memory {item.id} corrects nothing", "sb quarantine purge, or release"
                    )
                self._record(write, CORRECTION_DISMISSED, row, DISMISSED, by, reason)
                self._settle(write, row, DISMISS, by, reason)
        return Decided(DISMISSED, tuple(item.id for item in items))

    def _settle(self, write: LogWrite, row: Row, operation: str, by: Decider, reason: str) -> None:
        """Let a record wait no longer, nor what it was to correct."""
        now = self._space.clock.now()
        for event in self._space.collapses.of_winner(row["id"]):
            self._space.collapses.settle(write.execute, event.id, DISMISSED, now, by.name)
        why = masked_text(reason, {})
        self._space.records.note(write.execute, [row["id"]], actor=by.name, operation=operation, reason=why)

    def _row(self, uid: str) -> Row:
        row = self._space.records.find(uid)
        if row is None or row["state"] != QUARANTINED:
            raise NotFoundError(f"no quarantined memory {uid!r}", "sb quarantine list")
        return row

    def _uncertain(self, uid: str) -> Row:
        row = self._row(uid)
        if (verdict := self._verdict(self._space.records.history(row["id"]))) != UNCERTAIN:
            done = "purged" if verdict == MALICIOUS else verdict
            raise NotFoundError(f"memory {uid} was {done}", "sb memory erase removes it for good")
        return row

    @staticmethod
    def _verdict(history: Sequence[Row]) -> str:
        operations = [entry["operation"] for entry in history if entry["operation"] in _VERDICTS]
        return _VERDICTS[operations[-1]] if operations else UNCERTAIN

    def _held(self, row: Row) -> Held:
        history = self._space.records.history(row["id"])
        came = next((entry for entry in reversed(history) if entry["operation"] == HOLD), None)
        place = self._space.places.numbered(row["place"])
        lineage = [edge for edge in self._space.edges.lineage(row["id"]) if edge.relation == DERIVED_FROM]
        made = self._space.records.rows([edge.source for edge in lineage if edge.target == row["id"]])
        return Held(
            id=row["uid"],
            kind=row["kind"],
            content=row["text"],
            scope=place.scope,
            stack=place.stack,
            agent_id=row["agent"],
            source_type=row["source_type"],
            verdict=self._verdict(history),
            reason=came["reason"] if came else "it came so from another database",
            since=came["at"] if came else row["created_at"],
            created_at=row["created_at"],
            version=row["version"],
            details=orjson.loads(row["fields"]),
            sources=tuple(dict.fromkeys(sources_of(row))),
            derived=tuple(sorted(item["uid"] for item in made if item["state"] == QUARANTINED)),
            replaces={
                item["uid"]: item["text"]
                for item in self._space.records.rows(
                    [event.loser for event in self._space.collapses.of_winner(row["id"])]
                )
            },
        )

    def _released(self, row: Row) -> tuple[str, str | None]:
        """The state and the key of a record that is quarantined no longer."""
        record = self._space.record(row)
        state = state_of(row["strength"]) if getattr(record, "is_active", True) else SUPERSEDED
        if (self._space.collapses.in_force(row["id"]) or (MENTION,))[0] != MENTION:
            state = SUPERSEDED  # it fell before it was quarantined
        return state, to_row(record, row)["key"]

    def _merge(self, writer: RecordWriter, write: LogWrite, row: Row, same: Row) -> None:
        """Add what a released record says to the one that has its name by now."""
        record = self._space.record(row)
        values = {**to_row(record, row), "agent": row["agent"]}
        writer.update(write.execute, values, same, record)
        edge = Edge(same["id"], SUPERSEDES, row["id"])
        self._space.edges.add(
            write.execute, edge, place=row["place"], agent=row["agent"], at=self._space.clock.now()
        )
        writer.reindex(write.execute, same["id"])

    def _record(self, write: LogWrite, kind: str, row: Row, verdict: str, by: Decider, reason: str) -> None:
        """Log a decision about a memory as it is, signed and verified."""
        write.append(*signed_decision(self._log, self._authority, row, verdict, by, reason, kind))


def _refuse_writer(by: Decider, row: Row) -> None:
    """Raise DeniedError when who releases a memory is who wrote it."""
    source = orjson.loads(row["fields"]).get("source_entity") or ""
    if by.name in (row["agent"], str(source).removeprefix(_CORE)):
        raise DeniedError(f"{by.name} wrote {row['uid']} and cannot release it", "another operator has to")
