"""Conflicts between two databases: both versions are kept until somebody chooses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from sb.base.values.references import full_one
from sb.errors import NotFoundError
from sb.memory.beliefs.conflicts import SYNC, Conflict, Side
from sb.memory.masking import masked_text
from sb.memory.writer import Batch, Inserter, Writer
from sb.protocols.types import SyncConflict
from sb.stack.container import Container
from sb.stack.sync.arrivals import Arrivals
from sb.stack.sync.change_log import NEW, StoredChange
from sb.stack.sync.changes import KEYED, STANDING, Change, parse, parts_of, row_of, together, united
from sb.stack.sync.feed import Feed
from sb.stack.sync.merge import compare
from sb.stack.sync.receive import ACTOR, Receiver, with_parts
from sb.stack.views import VIEWS, to_view
from sb.store.database import Database
from sb.store.records.columns import QUARANTINED, SUPERSEDED, Row
from sb.store.records.places import Execute
from sb.store.records.rows import content, from_row, to_moment

_WITHHELD = "withheld: it is quarantined"
_REFUSED = "withheld: you may not read it"
Keep = Literal["local", "remote", "both"]
KEEPS = ("local", "remote", "both")


class Why(NamedTuple):
    """Origin of a choice in a history: who chose, and the reason."""

    actor: str
    operation: str
    reason: str


def open_conflicts(container: Container) -> list[SyncConflict]:
    """Lists the open conflicts in view, oldest first."""
    found = [_listed(container, *row) for row in _rows(container)]
    container.note_denied()
    return found


class Conflicts:
    """Resolves the conflicts of one database's copy of a stack, as far as they are in view."""

    def __init__(self, container: Container, feed: Feed) -> None:
        self._container = container
        self._feed = feed
        self._space = feed.space

    def resolve(self, conflict: str, keep: Keep, reason: str, actor: str) -> SyncConflict:
        """Resolves a conflict, here and, with the next synchronization, everywhere; its history says by whom.

        Args:
            keep: `both` keeps the other version as a memory of its own.
            actor: who chooses.

        Raises:
            NotFoundError: there is no such open conflict.
            ValueError: no reason, no such choice, or there can be only one memory of that name.
        """
        if keep not in KEEPS:
            raise ValueError(f"keep is {keep!r}, must be one of {', '.join(KEEPS)}")
        if not reason.strip():
            raise ValueError("a resolution needs a reason")
        why = Why(actor, f"keep {keep}", masked_text(reason, {}))
        with self._space.database.write() as execute:
            row = self._found(conflict)  # a stack that was never synchronised has nothing to stamp either
            self._feed.stamp_rest(execute)
            change, remote = self._feed.stored(row[1]), parse(row[3].encode())
            local = self._space.records.row(row[1])
            assert change is not None
            assert local is not None
            before = _listed(self._container, *row)
            if remote.uid == local["uid"]:
                self._choose(execute, keep, local, change, remote, why)
            else:
                self._choose_name(execute, keep, local, change, row, why)
            now = self._space.clock.now()
            execute(
                # Without its document, which nobody would find if the memory that it became was erased.
                "UPDATE sync_conflicts SET resolution = ?, reason = ?, resolved_at = ?, document = '', seal = ''"
                " WHERE id = ?",
                (keep, why.reason, now, conflict),
            )
        return dataclasses.replace(before, resolution=keep, resolved_at=to_moment(now))

    def _found(self, conflict: str) -> tuple[Any, ...]:
        rows = list(_rows(self._container))
        meant = full_one(conflict, (row[0] for row in rows))
        row = next((row for row in rows if row[0] == meant), None)
        if row is None:
            raise NotFoundError(f"no open conflict {conflict!r}", "sb stack conflicts lists them")
        return row

    def _choose(
        self, execute: Execute, keep: Keep, row: Row, stored: StoredChange, remote: Change, why: Why
    ) -> None:
        """One record with two versions."""
        local = stored.now
        parts = local.parts.keys() | remote.parts.keys()
        differing = {name for name in parts if local.parts.get(name) != remote.parts.get(name)}
        if keep == "both":
            if row["key"] is not None:
                raise ValueError(f"there can be only one {row['kind']} of that name: keep local or remote")
            self._insert(
                execute, dataclasses.replace(remote, uid=self._space.new_id(self._space.clock.now()))
            )
        chosen = dataclasses.replace(local, seen=together(local.seen, remote.seen))
        if keep == "remote":
            chosen = with_parts(local, remote, differing)
            if self._receiver("").holder(chosen) is not None:
                raise ValueError(f"another {row['kind']} has that name here: rename it, or keep local")
            self._receiver("").write(execute, row, chosen, differing, why.operation, why.reason, why.actor)
        else:
            self._note(execute, row, why)
        dots = {**chosen.dots, **dict.fromkeys(differing, NEW)}
        relations = united(local.relations, remote.relations)
        self._feed.tell(execute, row["id"], dataclasses.replace(chosen, dots=dots, relations=relations))

    def _choose_name(
        self,
        execute: Execute,
        keep: Keep,
        row: Row,
        stored: StoredChange,
        conflict: tuple[Any, ...],
        why: Why,
    ) -> None:
        """Two records of one name: one of them gives it up, and counts as superseded."""
        if keep == "both":
            raise ValueError(f"there can be only one {row['kind']} of that name: keep local or remote")
        _, _, peer, document, seal, *_ = conflict
        remote = parse(document.encode())
        if keep == "local":
            self._retire(execute, remote, why)
            self._note(execute, row, why)
            self._feed.again(execute, stored)  # so that the name is free by then
            return
        receiver = self._receiver(peer)
        holder = receiver.holder(remote)
        if holder is not None and holder["id"] == row["id"]:  # it may have got another name meanwhile
            retired = _retired(stored.now)
            receiver.write(execute, row, retired, {STANDING, KEYED}, why.operation, why.reason, why.actor)
            self._feed.tell(execute, row["id"], retired)
        else:
            self._note(execute, row, why)
        receiver.receive(
            execute, [StoredChange(0, 0, peer, 0.0, remote.seen, document.encode(), seal.encode())]
        )
        receiver.receive_rest(execute)
        receiver.finish(execute)

    def _note(self, execute: Execute, row: Row, why: Why) -> None:
        """Puts the choice into the history of a record that it does not change."""
        now, version = self._space.clock.now(), row["version"]
        self._space.records.add_history(
            execute, row["id"], now, why.actor, why.operation, why.reason, version, None
        )

    def _retire(self, execute: Execute, remote: Change, why: Why) -> None:
        """Stores a received version without its key."""
        row = self._space.records.find(remote.uid)
        former = None if row is None else self._feed.stored(row["id"])
        if row is None or former is None:
            retired = _retired(remote)
            self._feed.tell(execute, self._insert(execute, retired), retired)
            return
        found = compare(former.now, remote)
        taken = found.taken | found.clashing
        merged = with_parts(former.now, remote, taken)
        retired = _retired(
            dataclasses.replace(merged, dots={**merged.dots, **dict.fromkeys(found.clashing, NEW)})
        )
        self._receiver("").write(
            execute, row, retired, taken | {STANDING, KEYED}, why.operation, why.reason, why.actor
        )
        self._feed.tell(execute, row["id"], retired)

    def _insert(self, execute: Execute, change: Change) -> int:
        row = row_of(change)
        row["place"] = self._space.places.make(execute, change.place)
        arrivals = Arrivals(self._feed, screens=True)
        batch = Batch(pairs=[(row, None)], screened=[arrivals.look(change)], by_source=False)
        writer = Writer(Inserter(self._space, ACTOR))
        writer.hold(batch)
        writer.keep(execute, batch)
        number = int(row["id"])
        self._space.records.note(execute, [number], actor=ACTOR, operation="sync", reason="of a conflict")
        self._space.embed(execute, [number])
        return number

    def _receiver(self, peer: str) -> Receiver:
        return Receiver(self._feed, peer, merge=True)


def _rows(container: Container) -> Iterator[tuple[Any, ...]]:
    """The open conflicts whose record is in view: of this stack, and nobody's own who is not attached."""
    places = container.places()
    marks = ", ".join("?" * len(places)) or "NULL"
    rows = container.space.database.query(
        "SELECT c.id, c.record, c.peer, c.document, c.seal, c.resolution, c.resolved_at FROM sync_conflicts AS c"
        f" JOIN records AS r ON r.id = c.record WHERE r.place IN ({marks}) AND c.resolution = ''"
        " ORDER BY c.at, c.id",
        places,
    )
    return (tuple(row) for row in rows)


def _listed(
    container: Container,
    conflict: str,
    record: int,
    peer: str,
    document: str,
    _seal: str,
    resolution: str,
    at: float | None,
) -> SyncConflict:
    space, masks = container.space, container.masks
    row = space.records.row(record)
    assert row is not None
    remote = parse(document.encode())
    parts = parts_of(row)
    place = space.places.numbered(row["place"])
    other = row_of(remote)
    here, there = masks.copy(space.record(row)), masks.copy(from_row(other, place))
    quarantined = QUARANTINED in (row["state"], other["state"])  # one of them is nobody's to read
    withheld = _WITHHELD if quarantined else _REFUSED if not space.reader.allows(row) else ""
    return SyncConflict(
        id=conflict,
        table=row["kind"],
        record_id=row["uid"],
        local_version={} if withheld else _version(row["kind"], here),
        cloud_version={} if withheld else _version(row["kind"], there),
        resolution=resolution,
        resolved_at=to_moment(at),
        local_summary=withheld or content(here),
        cloud_summary=withheld or content(there),
        source=peer,
        differing=sorted(
            name for name in parts.keys() | remote.parts.keys() if parts.get(name) != remote.parts.get(name)
        ),
    )


def _version(kind: str, record: Any) -> dict[str, Any]:
    """A record as the stack shows it; as it is, if only a Brain has its kind."""
    return dataclasses.asdict(to_view(record) if kind in VIEWS else record)


def _retired(change: Change) -> Change:
    """A version that gives its name up."""
    parts = {name: value for name, value in change.parts.items() if name != KEYED}
    parts[STANDING] = {**parts[STANDING], "state": SUPERSEDED}
    return dataclasses.replace(change, parts=parts, dots={**change.dots, STANDING: NEW, KEYED: NEW})


def conflicting_stacks(database: Database) -> list[str]:
    """The stacks with open conflicts between copies."""
    return [
        name
        for (name,) in database.query(
            "SELECT DISTINCT p.stack FROM sync_conflicts AS c JOIN records AS r ON r.id = c.record"
            " JOIN places AS p ON p.id = r.place WHERE c.resolution = '' ORDER BY p.stack"
        )
    ]


def as_conflict(found: SyncConflict) -> Conflict:
    """A conflict between copies, in the form of the one list of conflicts."""
    sides = tuple(
        Side(name, text or "erased", str(version.get("agent_id") or ""), source, 0.0)
        for name, text, version, source in (
            ("local", found.local_summary, found.local_version, "this copy"),
            ("remote", found.cloud_summary, found.cloud_version, found.source or "the other copy"),
        )
    )
    what = ", ".join(name.removeprefix("fields.") for name in found.differing)
    return Conflict(found.id, SYNC, "open", what, 0.0, sides, found.source or "")
