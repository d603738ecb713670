"""Receive a change of another database: take it, merge it, or keep it beside what is here.

Nothing that was changed here since is overwritten: that is either merged or a conflict. Only an erasure always counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from sb.memory.masking import Labels
from sb.memory.quarantine.holding import HOLD
from sb.memory.quarantine.spreading import quarantine
from sb.memory.writer import Batch, Inserter, Writer
from sb.stack.container import SYSTEM
from sb.stack.sync.arrivals import Arrivals
from sb.stack.sync.change_log import NEW, StoredChange
from sb.stack.sync.changes import (
    KEYED,
    STANDING,
    TEXT,
    TRUST,
    Change,
    Relation,
    covers,
    damaged,
    parse,
    row_of,
    together,
    united,
)
from sb.stack.sync.feed import Feed
from sb.stack.sync.merge import Comparison, compare
from sb.store.records.columns import CONTENT, ERASED, QUARANTINED, Row
from sb.store.records.edges import Edge
from sb.store.records.places import Execute
from sb.store.records.sessions import Session

ACTOR = f"{SYSTEM}sync"
_PRESENCE = ("state", "strength", "protected")
_NAMING = frozenset({TEXT, KEYED})  # the parts that a record's name comes from
_SAID = (*CONTENT, "source_type", "terms", "length")


class Outcome(Enum):
    """The outcome of a received change."""

    SAME = "it was here"
    TAKEN = "it is here now"
    MERGED = "it is here now, with what was changed here"
    CONFLICT = "it is kept beside what was changed here"
    HELD = "it was left where it is, until what was changed here is known there"
    WAITS = "its name is another record's here, which may give it up in what is still to come"


class Receiver:
    """Takes changes into one database, within transactions of whoever calls it.

    Args:
        peer: the database that they come from.
        merge: whether to merge, screen, and keep conflicts; otherwise what is no plain successor is left.
        door: the source type of what comes from strangers, whatever it says of itself: where that is quarantined,
            nothing of theirs changes what is here. "" if what they say counts.
    """

    def __init__(self, feed: Feed, peer: str, *, merge: bool, door: str = "") -> None:
        self._feed = feed
        self._space = feed.space
        self._peer = peer
        self._merge = merge
        self._keeper = Inserter(feed.space, ACTOR, door)
        self._writer = Writer(self._keeper)
        self._holds = door in feed.space.untrusted_sources
        self.arrivals = Arrivals(feed, screens=merge)
        self.quarantined = 0  # how many strangers' memories wait
        self._unrelated: list[tuple[str, Relation]] = []  # relations to what has not come yet
        self._unnamed: list[StoredChange] = []  # whose name another record has
        self._new: list[int] = []  # records without a vector yet

    @property
    def masked(self) -> Labels:
        """The labels of what was masked in what came."""
        return self.arrivals.masked

    @property
    def waiting(self) -> bool:
        """True if some of what was received is to be looked at once more, at the end."""
        return bool(self._unrelated or self._unnamed)

    def check(self, page: Iterable[StoredChange]) -> None:
        """Find out whether all of these changes can be taken.

        Raises:
            CheckFailed: one is damaged, of another stack, or says something of another record.
        """
        page = list(page)
        rows = self._rows(page)
        for change in page:
            self._check(change.change, rows.get(change.change.uid))

    def _rows(self, page: Iterable[StoredChange]) -> dict[str, Row]:
        return self._space.records.known([change.change.uid for change in page])

    def _check(self, change: Change, row: Row | None) -> None:
        if change.place.stack != self._feed.stack:
            raise damaged(f"{change.uid} belongs to another stack")
        if not change.erased:
            row_of(change)
        if row is not None and (
            row["kind"] != change.kind or self._space.places.numbered(row["place"]) != change.place
        ):
            raise damaged(f"another record has the id {change.uid} here")

    def bury(self, execute: Execute, stored: StoredChange) -> bool:
        """Note that a record is erased elsewhere; whether it has yet to be erased here."""
        row = self._space.records.find(stored.change.uid)
        if row is None:
            return False
        former = self._feed.stored(row["id"])
        if row["state"] == ERASED:
            return False
        seen = together(former.seen if former else {}, stored.change.seen)
        self._feed.put(execute, row["id"], seen, stored.document, stored.seal, peer=self._peer, erased=True)
        return True

    def receive(self, execute: Execute, page: Sequence[StoredChange]) -> list[Outcome]:
        """Take changes of different records; what was changed here has been stamped."""
        rows = self._rows(page)
        return [
            self._received(execute, self.arrivals.screened(change), rows.get(change.change.uid))
            for change in page
        ]

    def may_erase(self, stored: StoredChange) -> bool:
        """True if an erasure elsewhere counts here: a stranger's file erases nothing."""
        return not self._holds or not self.arrivals.is_strange(stored)

    def _received(self, execute: Execute, stored: StoredChange, row: Row | None) -> Outcome:
        change = stored.change
        strange = self._holds and self.arrivals.strange(change.uid)
        if change.uid in self.arrivals.refused or (strange and change.erased):
            return Outcome.HELD
        if change.erased:
            return self._erased(execute, change, row)
        if row is None:
            return self._added(execute, stored)
        if strange:
            return self._beside(execute, stored, row)
        former = self._feed.stored(row["id"])
        if row["state"] == ERASED:
            if former is not None:
                self._tell_again(execute, former)
            elif self._feed.ours:
                self._feed.tell_erased(execute, row)
            return Outcome.HELD
        if former is None or (not self._merge and self._feed.unstamped(execute, row["id"])):
            return Outcome.HELD
        outcome = self._compared(execute, stored, row, former)
        if outcome in (Outcome.HELD, Outcome.WAITS):
            return outcome
        self._relate(execute, row, change.relations)
        if outcome is not Outcome.CONFLICT:
            settle(self._feed, execute, row["id"])
            self._named(execute, change.uid, row["id"])
        return outcome

    def _beside(self, execute: Execute, stored: StoredChange, row: Row) -> Outcome:
        """A stranger's version of what is here changes nothing: it is kept beside it, if it differs."""
        former = self._feed.stored(row["id"])
        if row["state"] == ERASED or former is None:
            return Outcome.HELD
        found = compare(former.now, stored.change)
        if not found.taken and not found.clashing:
            return Outcome.SAME
        keep_conflict(self._feed, execute, row["id"], self._peer, stored)
        return Outcome.CONFLICT

    def finish(self, execute: Execute) -> None:
        """End a transaction: what it wrote is known to the other side."""
        self._space.embed(execute, self._new)
        self._new.clear()
        if self._feed.ours:  # what others changed there is theirs to tell
            self._feed.skip(execute)

    def receive_rest(self, execute: Execute) -> list[tuple[StoredChange, Outcome]]:
        """Take what waited, now that all has come: what has its name by now, and the relations whose ends are here.

        What does not get its name is a conflict with whoever has it, or is left; other relations stay where they are.
        """
        done: list[tuple[StoredChange, Outcome]] = []
        waiting, self._unnamed = self._unnamed, []
        while waiting:
            outcomes = zip(waiting, self.receive(execute, waiting), strict=True)
            done += [outcome for outcome in outcomes if outcome[1] is not Outcome.WAITS]
            still, self._unnamed = self._unnamed, []
            if len(still) == len(waiting):
                done += [(change, self._refused(execute, change)) for change in still]
                break
            waiting = still
        unrelated, self._unrelated = self._unrelated, []
        for uid, relation in unrelated:
            row = self._space.records.find(uid)
            if row is not None and row["state"] != ERASED:
                self._relate(execute, row, [relation])
        self._unrelated.clear()
        return done

    def _refused(self, execute: Execute, stored: StoredChange) -> Outcome:
        """A change whose name is another record's, which keeps it."""
        if not self._merge:
            return Outcome.HELD
        row = self._space.records.find(stored.change.uid)
        former = None if row is None else self._feed.stored(row["id"])
        local = stored.change if former is None else former.now
        other = self.holder(with_parts(local, stored.change, compare(local, stored.change).taken))
        assert other is not None
        keep_conflict(self._feed, execute, other["id"], self._peer, stored)
        return Outcome.CONFLICT

    def holder(self, version: Change) -> Row | None:
        """The other record that has the name of this one here."""
        key, place = row_of(version)["key"], self._space.places.find(version.place)
        if key is None or place is None:
            return None
        row = self._space.records.keyed(place, version.kind, key)
        return None if row is None or row["uid"] == version.uid else row

    def _named(self, execute: Execute, uid: str, record: int) -> None:
        """Close the conflicts over the name of a record that has it now."""
        execute(
            "UPDATE sync_conflicts SET resolution = 'elsewhere', resolved_at = ?"
            " WHERE uid = ? AND record <> ? AND resolution = ''",
            (self._space.clock.now(), uid, record),
        )

    def _erased(self, execute: Execute, change: Change, row: Row | None) -> Outcome:
        execute("DELETE FROM sync_conflicts WHERE uid = ?", (change.uid,))
        if row is not None:
            self._feed.learn(execute, row["id"], change.seen)
        return Outcome.SAME if row is None or row["state"] == ERASED else Outcome.HELD

    def _added(self, execute: Execute, stored: StoredChange) -> Outcome:
        change = stored.change
        row = row_of(change)
        place = self._space.places.make(execute, change.place)
        row["place"], row["session"] = place, self._session(execute, change.session)
        strange = self.arrivals.strange(change.uid)
        batch = Batch(pairs=[(row, None)], screened=[self.arrivals.look(change)], by_source=strange)
        self._writer.hold(batch)
        if row["key"] and self._space.records.keyed(place, change.kind, row["key"]):
            self._unnamed.append(stored)
            return Outcome.WAITS
        self._writer.keep(execute, batch)
        number, quarantined = row["id"], batch.held
        self._note(execute, number)
        self._new.append(number)
        if strange and quarantined:  # others are told that it waits, not that it is true
            self.quarantined += 1
            self._feed.tell(execute, number, _waiting(change))
        elif row["state"] != change.parts[STANDING]["state"]:  # it says again what was corrected here
            self._feed.tell(execute, number, _standing(change, row["state"]))
        else:
            self._feed.put(execute, number, change.seen, stored.document, stored.seal, peer=self._peer)
        own = [relation for relation in change.relations if not (strange and quarantined and relation.inward)]
        self._relate(execute, row, own)
        if row["key"]:
            self._named(execute, change.uid, number)
        return Outcome.TAKEN

    def _session(self, execute: Execute, session: Session | None) -> int | None:
        if session is None:
            return None
        known = self._space.sessions.named(session.name)
        if known is not None and (known.agent, known.stack) != (session.agent, session.stack):
            return None  # the name is another agent's here: what it wrote stands in no session
        return self._space.sessions.bring(execute, session).number

    def _compared(self, execute: Execute, stored: StoredChange, row: Row, former: StoredChange) -> Outcome:
        local, change = former.now, stored.change
        found = compare(local, change)
        if found.clashing:
            if self._merge:
                keep_conflict(self._feed, execute, row["id"], self._peer, stored)
            return Outcome.CONFLICT if self._merge else Outcome.HELD
        if not found.taken.isdisjoint(_NAMING) and self.holder(with_parts(local, change, found.taken)):
            self._unnamed.append(stored)
            return Outcome.WAITS
        theirs_alone = united(change.relations, local.relations) == change.relations
        alone = not found.ours and theirs_alone and covers(change.seen, local.seen)
        if alone:
            if found.taken:
                self.write(execute, row, change, found.taken, "sync", f"from {self._peer}")
            self._adopt(execute, stored, former)
            return Outcome.TAKEN if found.taken else Outcome.SAME
        if not found.taken:
            return self._stored(execute, former, change, news=bool(found.ours) or not theirs_alone)
        if not self._merge:
            return Outcome.HELD
        return self._merged(execute, row, local, change, found)

    def _adopt(self, execute: Execute, stored: StoredChange, former: StoredChange) -> None:
        """Tell of a record what the other side does."""
        if (stored.document, stored.seal, self._peer) != (former.document, former.seal, former.peer):
            seen = together(former.seen, stored.change.seen)
            self._feed.put(execute, former.record, seen, stored.document, stored.seal, peer=self._peer)

    def _stored(self, execute: Execute, former: StoredChange, change: Change, *, news: bool) -> Outcome:
        """Notes that the local record already says all that was received, relations apart.

        Args:
            news: whether it says more.
        """
        if news and not self._merge:
            return Outcome.HELD
        now = former.now
        relations = united(now.relations, change.relations)
        if self._merge and relations != now.relations:
            seen = together(now.seen, change.seen)
            self._feed.tell(execute, former.record, replace(now, relations=relations, seen=seen))
        else:
            self._feed.learn(execute, former.record, change.seen)
            if news:
                self._tell_again(execute, former)
        return Outcome.SAME

    def _tell_again(self, execute: Execute, former: StoredChange) -> None:
        """Sends the other side a change again."""
        if self._merge:
            change = self._feed.stored(former.record)
            if change is not None and change.document:
                self._feed.again(execute, change)

    def _merged(
        self, execute: Execute, row: Row, local: Change, change: Change, merge: Comparison
    ) -> Outcome:
        merged = with_parts(local, change, merge.taken)
        if merge.taken:
            parts = ", ".join(sorted(merge.taken))
            self.write(execute, row, merged, merge.taken, "merge", f"{parts} from {self._peer}")
        relations = united(local.relations, change.relations)
        self._feed.tell(execute, row["id"], replace(merged, relations=relations))
        return Outcome.MERGED

    def write(
        self,
        execute: Execute,
        row: Row,
        change: Change,
        taken: Iterable[str],
        operation: str,
        reason: str,
        actor: str = ACTOR,
    ) -> None:
        """Updates a record from a change; its strength only if that is among what is `taken`.

        Args:
            actor: who chose it, for its history.
        """
        taken = frozenset(taken)
        new = row_of(change)
        names = (*_SAID, *(_PRESENCE if STANDING in taken else ()))
        if row["state"] == QUARANTINED and self._waits_here(row, change.uid):
            new["state"] = QUARANTINED
        if (new if STANDING in taken else row)["state"] == QUARANTINED:
            new["key"] = None
            quarantine(self._keeper, execute, [row], reason)
        try:
            self._space.records.update(
                execute,
                row["id"],
                {name: new[name] for name in names},
                actor=actor,
                operation=operation,
                reason=reason,
            )
        except ValueError as error:
            raise damaged(f"{change.uid}: {error}") from None
        self._keeper.reindex(execute, row["id"])
        if taken - {STANDING, TRUST, KEYED}:
            self._hold_changed(execute, row, change)

    def _waits_here(self, row: Row, uid: str) -> bool:
        """True if a quarantine is this database's own, or who lifts it is a stranger."""
        former = self._feed.stored(row["id"])
        is_published = former is not None and former.now.parts[STANDING]["state"] == QUARANTINED
        return not is_published or self.arrivals.strange(uid)

    def _hold_changed(self, execute: Execute, row: Row, change: Change) -> None:
        """Quarantine a record if a change brought waiting personal data, or an attack."""
        self.arrivals.log(execute, row["id"], change)
        now, reason = self._space.records.row(row["id"]), self.arrivals.escalated(change)
        if now is not None:
            reason = reason or self._keeper.holding.attack_in_change(now, row)
        if reason and now is not None and now["state"] != QUARANTINED:
            self._keeper.change(execute, now, {"state": QUARANTINED, "key": None}, HOLD, reason)

    def _note(self, execute: Execute, number: int) -> None:
        self._space.records.note(
            execute, [number], actor=ACTOR, operation="sync", reason=f"from {self._peer}"
        )

    def _relate(self, execute: Execute, row: Row, relations: Iterable[Relation]) -> None:
        for relation in relations:
            other = self._space.records.find(relation.target)
            if other is None:
                self._unrelated.append((row["uid"], relation))
                continue
            source, target = (other, row) if relation.inward else (row, other)
            here, there = (self._space.places.numbered(end["place"]) for end in (source, target))
            if other["state"] == ERASED or other["id"] == row["id"] or here.stack != there.stack:
                continue
            place = target["place"] if there.owner else source["place"]
            edge = Edge(source["id"], relation.relation, target["id"], relation.weight)
            self._space.edges.add(execute, edge, place=place, agent=relation.agent, at=relation.at)


def _waiting(change: Change) -> Change:
    """A version that is quarantined, and so has no name."""
    parts = {name: part for name, part in change.parts.items() if name != KEYED}
    return _standing(replace(change, parts=parts, dots={**change.dots, KEYED: NEW}), QUARANTINED)


def _standing(change: Change, state: str) -> Change:
    """A version in another state."""
    parts = {**change.parts, STANDING: {**change.parts[STANDING], "state": state}}
    return replace(change, parts=parts, dots={**change.dots, STANDING: NEW})


def with_parts(local: Change, remote: Change, taken: Iterable[str]) -> Change:
    """A version that says some parts as the other does, and has seen what both have."""
    parts: dict[str, Any] = dict(local.parts)
    dots = dict(local.dots)
    for name in taken:
        parts.pop(name, None)
        if name in remote.parts:
            parts[name] = remote.parts[name]
        dots[name] = remote.dot(name)
    return replace(local, parts=parts, dots=dots, seen=together(local.seen, remote.seen))


def keep_conflict(feed: Feed, execute: Execute, record: int, peer: str, stored: StoredChange) -> None:
    """Stores a received version beside the local record, replacing an earlier one from there."""
    execute(
        "INSERT INTO sync_conflicts (id, record, uid, peer, at, document, seal) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (record, uid, peer) WHERE resolution = ''"
        " DO UPDATE SET document = excluded.document, seal = excluded.seal",
        (
            f"con_{feed.space.ids.token(8)}",
            record,
            stored.change.uid,
            peer,
            feed.space.clock.now(),
            stored.document.decode(),
            stored.seal.decode(),
        ),
    )


def settle(feed: Feed, execute: Execute, record: int) -> None:
    """Close the conflicts of a record that are none any more, since it was settled elsewhere."""
    rows = execute(
        "SELECT id, uid, document FROM sync_conflicts WHERE record = ? AND resolution = ''", (record,)
    ).fetchall()
    change = feed.stored(record) if rows else None
    for conflict, uid, document in rows:
        assert change is not None
        if change.change.uid == uid and not compare(change.now, parse(document.encode())).clashing:
            execute(
                "UPDATE sync_conflicts SET resolution = 'elsewhere', resolved_at = ? WHERE id = ?",
                (feed.space.clock.now(), conflict),
            )
