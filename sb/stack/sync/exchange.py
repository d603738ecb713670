"""Exchange changes of two databases: first taken here, then given there.

Only the side that synchronises merges, and only in its own database: there the other side gets nothing but plain successors
of what it has. Every transaction is in one database; what it wrote and how far it came commit together, so that whoever is
killed can go on, and whatever is done twice changes nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice

from sb.base.values.frozen import frozen
from sb.config.scope_patterns import any_matches
from sb.errors import UsageError
from sb.log.event_log import EventLog
from sb.memory.erasure import erase
from sb.protocols import SyncResult
from sb.stack.sync.change_log import AT_ONCE, StoredChange
from sb.stack.sync.changes import Change, damaged, together
from sb.stack.sync.feed import Feed
from sb.stack.sync.receive import ACTOR, Outcome, Receiver
from sb.store.records.places import Execute, Place

_ROUNDS = 3  # of taking and giving, while others write there at once


@frozen
class Reach:
    """The scopes and cores whose records may be exchanged.

    Args:
        scopes: patterns. cores: whose private memories may, and the handoffs between whom.
        view: of these scopes alone; None for all. shares: whether one of the cores may share a scope.
        rules: what that goes by, as text. withheld: ids of records that leave with none of them.
    """

    scopes: tuple[str, ...]
    cores: Collection[str]
    view: Collection[str] | None = None
    shares: Callable[[str], bool] = lambda scope: True
    rules: str = ""
    withheld: Collection[str] = frozenset()

    def covers(self, place: Place) -> bool:
        """True if what stands there may."""
        return (
            (not place.owner or place.owner in self.cores)
            and (self.view is None or place.scope in self.view)
            and any_matches(self.scopes, place.scope)
            and self.shares(place.scope)
        )

    def carries(self, change: Change) -> bool:
        """True if this may: a handoff for somebody only with the core of that one, or of who sent it."""
        recipient = change.parts.get("fields.recipient") if change.kind == "handoff" else ""
        between = not recipient or recipient in self.cores or change.agent in self.cores
        return between and self.covers(change.place)

    @property
    def digest(self) -> str:
        """A digest of the reach, which differs when the reach does."""
        text = "\0".join((*sorted(self.scopes), "", *sorted(self.cores), "", *sorted(self.view or ())))
        text += f"\0{self.rules}" if self.rules else ""
        text += "\0".join(("", "", *sorted(self.withheld))) if self.withheld else ""
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Exchange:
    """Exchanges the changes of one stack between two open databases.

    Args:
        local: of whoever synchronises. path: of the other database.
        from_anybody: also take what was sealed by nobody who counts here. door: as for `Receiver`.
    """

    def __init__(
        self, local: Feed, remote: Feed, path: str, reach: Reach, *, from_anybody: bool, door: str = ""
    ) -> None:
        self._local, self._remote, self._door = local, remote, door
        self._path, self._reach, self._from_anybody = path, reach, from_anybody
        self.result = SyncResult()
        self.found: set[str] = set()  # what came into conflict by it
        self.quarantined = 0  # strangers' memories that wait

    def greet(self) -> None:
        """Introduces both databases to each other.

        Raises:
            UsageError: one is a copy of the other.
        """
        local, remote = self._local, self._remote
        local.begin()
        remote.begin()
        if local.replica == remote.replica:
            raise UsageError(
                f"{self._path} is a copy of this database",
                "export_stack() makes one that can sync",
            )
        first, second = sorted(
            (local, remote), key=lambda feed: feed.replica
        )  # so that nobody waits in a ring
        with first.space.database.write() as execute, second.space.database.write() as other:
            writes = {first.replica: execute, second.replica: other}
            here, there = writes[local.replica], writes[remote.replica]
            mine, theirs = _peer(local, remote.replica), _peer(remote, local.replica)
            now = max(local.space.clock.now(), math.nextafter(max(mine.at, theirs.at), math.inf))
            if mine.at < theirs.at or local.head < theirs.known:
                local.rename(here, mine.pushed)
            if theirs.at < mine.at or remote.head < mine.known:
                remote.rename(there, theirs.pushed)
            _meet(here, local, remote.replica, self._path, now, self._reach.digest)
            _meet(there, remote, local.replica, local.space.database.path, now, None)

    def run(self) -> None:
        """Take and give; raises as `pull` does."""
        self._local.sign()
        for _ in range(_ROUNDS):
            self.pull()
            if not self.push():
                break
        self.part()

    def part(self) -> None:
        """Note there what was taken from it."""
        pulled = _position(self._local, self._remote.replica, "pulled")
        with self._remote.space.database.write() as execute:
            execute(
                "UPDATE sync_peers SET pushed = max(pushed, ?) WHERE (stack, peer) = (?, ?) AND reach IN ('', ?)",
                (pulled, self._local.stack, self._local.replica, self._reach.digest),
            )

    # Taking

    def pull(self, since: float | None = None) -> None:
        """Take what is new there.

        Args:
            since: look again at all that was written there by then or later, in seconds since the epoch.

        Raises:
            CheckFailed: something was edited or is damaged. DeniedError, Unauthorised: nobody who counts here sealed
                it. Nothing was taken then.
        """
        remote = self._remote
        if remote.ours or self._door:
            remote.stamp_all()
        self._local.stamp_all()
        after = _position(self._local, remote.replica, "pulled") if since is None else 0
        receiver = Receiver(self._local, remote.replica, merge=True, door=self._door)
        with remote.space.database.snapshot() as connection:
            head = connection.execute(
                "SELECT head FROM sync_replicas WHERE stack = ?", (remote.stack,)
            ).fetchone()[0]

            def incoming() -> Iterator[StoredChange]:
                found = remote.after(after, connection.execute, since=since or 0.0)
                return (item for item in found if item.document and self._reach.carries(item.change))

            gone = self._checked(incoming(), receiver)
            self.result.pulled += self._erase(self._local, receiver, gone)
            for page, reached in _pages(incoming()):
                with self._local.space.database.write() as execute:
                    self._local.stamp_rest(execute)
                    _know(execute, self._local, page)
                    for change, outcome in zip(page, receiver.receive(execute, page), strict=True):
                        self._count(outcome, change)
                    receiver.finish(execute)
                    if since is None and not receiver.waiting:
                        _reached(execute, self._local, remote.replica, pulled=reached)
        with self._local.space.database.write() as execute:
            self._local.stamp_rest(execute)
            for change, outcome in receiver.receive_rest(execute):
                self._count(outcome, change)
            receiver.finish(execute)
            if since is None:
                _reached(execute, self._local, remote.replica, pulled=head)
        self._note_masked("came", receiver)
        if receiver.arrivals.refused:
            left = f"left out, since their scope keeps no personal data: {len(receiver.arrivals.refused)}"
            self.result.notes.append(left)
        self.quarantined += receiver.quarantined
        self.result.conflicts = len(self._held())

    def _note_masked(self, what: str, receiver: Receiver) -> None:
        if receiver.masked:
            self.result.notes.append(f"masked in what {what}: {', '.join(receiver.masked)}")

    def _checked(self, incoming: Iterable[StoredChange], receiver: Receiver) -> list[StoredChange]:
        """The tombstones of a batch, once all of it was found to be sealed and sound; raises as `pull` does."""
        standings: Counter[str] = Counter()
        gone = []
        here, head = self._local.replica, self._local.head
        uids = set[str]()
        for page, _ in _pages(iter(incoming)):
            for change in page:
                standings[self._local.sealer.status(change.document, change.seal)] += 1
                if change.change.seen.get(here, 0) > head:
                    raise damaged(f"{change.change.uid} refers to changes that were never made here")
                if change.change.uid in uids:
                    raise damaged(f"there are two changes of {change.change.uid}")
                uids.add(change.change.uid)
            receiver.check(page)
            gone += [item for item in page if item.change.erased and receiver.may_erase(item)]
        notes = self._local.sealer.admit(standings, from_anybody=self._from_anybody)
        self.result.notes += [note for note in notes if note not in self.result.notes]
        return gone

    def _count(self, outcome: Outcome, stored: StoredChange) -> None:
        if outcome in (Outcome.TAKEN, Outcome.MERGED):
            self.result.pulled += 1
        elif outcome is Outcome.CONFLICT:
            self.found.add(stored.change.uid)

    def _erase(self, feed: Feed, receiver: Receiver, gone: Iterable[StoredChange]) -> int:
        """Erase for good what the other side has erased; returns how many there were."""
        uids, actors = [], set[str]()
        for page, _ in _pages(iter(gone)):
            with feed.space.database.write() as execute:
                if feed.ours:
                    feed.stamp_rest(execute)
                for change in page:
                    if receiver.bury(execute, change):
                        uids.append(change.change.uid)
                        actors.add(change.change.erased_by or ACTOR)
        if uids:
            log = EventLog(feed.space.database, clock=feed.space.clock, ids=feed.space.ids)
            erase(feed.space, log, uids, actor=", ".join(sorted(actors)), reason="")
        return len(uids)

    # Giving

    def push(self) -> bool:
        """Give what is new here; returns whether some of it has to wait until what is new there was taken."""
        local, remote = self._local, self._remote
        after, head = _position(local, remote.replica, "pushed"), local.head
        conflicts, there = self._held(), remote.replica

        def outgoing(*, erased: bool = False) -> Iterator[StoredChange]:
            for change in local.after(after, erased=erased):
                if change.seq > head:
                    return
                if (
                    change.document
                    and change.peer != there
                    and change.record not in conflicts
                    and self._reach.carries(change.change)
                    and (erased or change.change.uid not in self._reach.withheld)
                ):
                    yield change

        receiver = Receiver(remote, local.replica, merge=False)
        self.result.pushed += self._erase(remote, receiver, outgoing(erased=True))
        waits = False
        for page, reached in _pages(outgoing()):
            outcomes = self._give(receiver, page)
            self.result.pushed += outcomes.count(Outcome.TAKEN)
            waits = waits or Outcome.HELD in outcomes
            if not receiver.waiting:
                with local.space.database.write() as execute:
                    _reached(execute, local, remote.replica, pushed=reached)
        if receiver.waiting:
            with remote.space.database.write() as execute:
                if remote.ours:
                    remote.stamp_rest(execute)
                outcomes = [outcome for _, outcome in receiver.receive_rest(execute)]
                receiver.finish(execute)
            self.result.pushed += outcomes.count(Outcome.TAKEN)
            waits = waits or Outcome.HELD in outcomes
        self._note_masked("was given", receiver)
        with local.space.database.write() as execute:
            _reached(execute, local, remote.replica, pushed=head)
        return waits

    def _held(self) -> set[int]:
        """The records that somebody has to choose a version of first."""
        rows = self._local.space.database.query(
            "SELECT f.record FROM sync_conflicts AS f JOIN sync_changes AS c ON c.record = f.record"
            " WHERE c.stack = ? AND f.resolution = ''",
            (self._local.stack,),
        )
        return {record for (record,) in rows}

    def _give(self, receiver: Receiver, page: list[StoredChange]) -> list[Outcome]:
        """One transaction there. What it wrote need not be taken back here, if nothing else was written."""
        local, remote = self._local, self._remote
        pulled = _position(local, remote.replica, "pulled")
        with remote.space.database.write() as execute:
            if remote.ours:
                remote.stamp_rest(execute)
            _know(execute, remote, page)
            before = remote.head
            outcomes = receiver.receive(execute, page)
            receiver.finish(execute)
            after = remote.head
        if before == pulled and Outcome.HELD not in outcomes:  # for which it may have told something itself
            with local.space.database.write() as execute:
                _reached(execute, local, remote.replica, pulled=after)
        return outcomes


def _pages(changes: Iterator[StoredChange]) -> Iterator[tuple[list[StoredChange], int]]:
    """Changes by the transaction, with the number of the last."""
    while page := list(islice(changes, AT_ONCE)):
        yield page, page[-1].seq


@frozen
class _Peer:
    """The state that this database stores of another.

    Args:
        at: when they last met, which is the same on both sides: whoever has an earlier time is an older copy of itself.
        known: the most that the other one is known to have counted. pushed: how far it was told of what is here.
    """

    at: float
    known: int
    pushed: int


def _peer(feed: Feed, peer: str) -> _Peer:
    rows = feed.space.database.query(
        "SELECT at, known, pushed FROM sync_peers WHERE (stack, peer) = (?, ?)", (feed.stack, peer)
    )
    return _Peer(*rows[0]) if rows else _Peer(0.0, 0, 0)


def _meet(execute: Execute, feed: Feed, peer: str, path: str, at: float, reach: str | None) -> None:
    """Know a database; if another reach holds for it than before, everything is looked at again."""
    execute(
        "INSERT INTO sync_peers (stack, peer, path, at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET path = excluded.path, at = excluded.at",
        (feed.stack, peer, path, at),
    )
    if reach is not None:
        execute(
            "UPDATE sync_peers SET pulled = iif(reach = ?, pulled, 0),"
            " pushed = iif(reach = ?, pushed, 0), reach = ? WHERE (stack, peer) = (?, ?)",
            (reach, reach, reach, feed.stack, peer),
        )


def _know(execute: Execute, feed: Feed, page: Iterable[StoredChange]) -> None:
    """Remember how far databases have counted, also those that were never met, so that an older copy is known for one."""
    most: dict[str, int] = {}
    for change in page:
        most = together(most, change.change.seen)
    most.pop(feed.replica, None)
    for peer, count in most.items():
        execute(
            "INSERT INTO sync_peers (stack, peer, path, known, at) VALUES (?, ?, '', ?, 0)"
            " ON CONFLICT DO UPDATE SET known = max(known, excluded.known)",
            (feed.stack, peer, count),
        )


def _position(feed: Feed, peer: str, name: str) -> int:
    rows = feed.space.database.query(
        f"SELECT {name} FROM sync_peers WHERE (stack, peer) = (?, ?)", (feed.stack, peer)
    )
    return int(rows[0][0]) if rows else 0


def _reached(execute: Execute, feed: Feed, peer: str, **positions: int) -> None:
    sets = ", ".join(f"{name} = max({name}, ?)" for name in positions)
    execute(
        f"UPDATE sync_peers SET {sets} WHERE (stack, peer) = (?, ?)", (*positions.values(), feed.stack, peer)
    )
