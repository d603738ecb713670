"""Collapse events: which memory replaced which, what fell with it, and what was reverted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from sb.store.database import Database
from sb.store.records.places import Execute

PENDING, STANDING, REVERTED, DISMISSED = "pending", "standing", "reverted", "dismissed"
LOSER, DERIVED, ECHO, MENTION = "loser", "derived", "echo", "mention"
_IN_FORCE = "c.status = 'standing' AND NOT i.restored"


class CollapseEvent(NamedTuple):
    """One collapse event, records by their numbers; the view has their ids."""

    id: int
    uid: str
    at: float
    agent: str
    session: int | None
    status: str
    loser: int
    winner: int
    brought: int
    reason: str
    held: str
    ranking: str
    provenance: str
    reverts: int | None
    settled_at: float | None
    settled_by: str | None


_EVENT = f"SELECT {', '.join('c.' + name for name in CollapseEvent._fields)} FROM belief_collapse_events AS c"


class CollapseItem(NamedTuple):
    """A record in a collapse.

    Args:
        role: the loser; derived from what fell alone; an echo of its words; or a mention, which stands.
        former: the state that it had. restored: true if it was brought back since.
    """

    record: int
    role: str
    former: str
    digest: bytes | None = None
    restored: int = 0


class CollapseStore:
    """The collapse events of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, execute: Execute, values: dict[str, Any]) -> int:
        """Add an event, by column; returns its number."""
        values = values | {name: orjson.dumps(values[name]).decode() for name in ("ranking", "provenance")}
        marks = ", ".join("?" * len(values))
        execute(
            f"INSERT INTO belief_collapse_events ({', '.join(values)}) VALUES ({marks})",
            tuple(values.values()),
        )
        return int(execute("SELECT last_insert_rowid()").fetchone()[0])

    def add_items(self, execute: Execute, collapse: int, items: Iterable[CollapseItem]) -> None:
        for item in items:
            execute(
                "INSERT INTO belief_collapse_items (collapse, record, role, former, digest, restored)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (collapse, *item),
            )

    def settle(self, execute: Execute, collapse: int, status: str, at: float, by: str) -> None:
        """Give an event another status."""
        execute(
            "UPDATE belief_collapse_events SET status = ?, settled_at = ?, settled_by = ? WHERE id = ?",
            (status, at, by, collapse),
        )

    def restore(self, execute: Execute, record: int) -> str:
        """Note that a record was brought back from every event; returns the state that it had."""
        former = "SELECT former FROM belief_collapse_items WHERE record = ? AND role <> 'mention' ORDER BY collapse DESC"
        state = execute(former, (record,)).fetchone()[0]
        execute(
            "UPDATE belief_collapse_items SET restored = 1 WHERE record = ? AND role <> 'mention'", (record,)
        )
        return str(state)

    def find(self, uid: str) -> CollapseEvent | None:
        """The event of an id, or of how it begins if only one does."""
        rows = self._database.query(
            f"{_EVENT} WHERE c.uid >= ? AND c.uid < ? ORDER BY c.uid LIMIT 2", (uid, uid + "\U0010ffff")
        )
        exact = [row for row in rows if row[1] == uid]
        return CollapseEvent(*(exact or rows)[0]) if exact or len(rows) == 1 else None

    def listed(self, places: Sequence[int], limit: int, status: str = "") -> list[CollapseEvent]:
        """The events whose loser and winner stand in these places, the newest first; -1 for all.

        Args:
            status: of these events; "" for any.
        """
        marks = ", ".join("?" * len(places)) or "NULL"
        rows = self._database.query(
            f"{_EVENT} JOIN records AS l ON l.id = c.loser JOIN records AS w ON w.id = c.winner"
            f" WHERE l.place IN ({marks}) AND w.place IN ({marks}) AND ? IN ('', c.status)"
            " ORDER BY c.id DESC LIMIT +?",
            (*places, *places, status, limit),
        )
        return [CollapseEvent(*row) for row in rows]

    def of_winner(self, winner: int, status: str = PENDING) -> list[CollapseEvent]:
        """The events of a winner, by default those that wait for its release."""
        rows = self._database.query(f"{_EVENT} WHERE c.winner = ? AND c.status = ?", (winner, status))
        return [CollapseEvent(*row) for row in rows]

    def uid(self, number: int | None) -> str:
        """The id of an event; "" for none."""
        rows = self._database.query("SELECT uid FROM belief_collapse_events WHERE id = ?", (number,))
        return str(rows[0][0]) if rows else ""

    def items(self, collapse: int) -> list[CollapseItem]:
        """The records of an event, in the order of their numbers."""
        sql = (
            "SELECT record, role, former, digest, restored FROM belief_collapse_items"
            " WHERE collapse = ? ORDER BY record"
        )
        return [CollapseItem(*row) for row in self._database.query(sql, (collapse,))]

    def in_force(self, record: int) -> tuple[str, str, str] | None:
        """The role of a record in the newest event in force, with the ids of the winner and the event."""
        rows = self._database.query(
            "SELECT i.role, w.uid, c.uid FROM belief_collapse_items AS i"
            " JOIN belief_collapse_events AS c ON c.id = i.collapse JOIN records AS w ON w.id = c.winner"
            f" WHERE i.record = ? AND {_IN_FORCE} ORDER BY i.role = 'mention', c.id DESC LIMIT 1",
            (record,),
        )
        return None if not rows else (rows[0][0], rows[0][1], rows[0][2])

    def echoed(self, digest: bytes) -> list[tuple[int, int, float, str]]:
        """The events that stand in which a text of this digest fell, the newest first.

        Returns:
            number, place of the winner, time, and id of the winner of each.
        """
        return [
            (int(number), int(place), float(at), winner)
            for number, place, at, winner in self._database.query(
                "SELECT c.id, w.place, c.at, w.uid FROM belief_collapse_items AS i"
                " JOIN belief_collapse_events AS c ON c.id = i.collapse JOIN records AS w ON w.id = c.winner"
                f" WHERE i.digest = ? AND {_IN_FORCE} ORDER BY c.id DESC",
                (digest,),
            )
        ]

    @property
    def any(self) -> bool:
        """True if anything was ever corrected, or waits for it."""
        return bool(self._database.query("SELECT 1 FROM belief_collapse_events LIMIT 1"))

    def reasons(self) -> list[tuple[int, str]]:
        """The number and the reason of every event that has one."""
        rows = self._database.query("SELECT id, reason FROM belief_collapse_events WHERE reason <> ''")
        return [(number, reason) for number, reason in rows]


def forget_words(execute: Execute, listed: str) -> None:
    """Remove what collapse events say of erased records; what waited for them does so no longer.

    Args:
        listed: their numbers, in JSON.
    """
    these = "(SELECT value FROM json_each(?))"
    execute(f"UPDATE belief_collapse_items SET digest = NULL WHERE record IN {these}", (listed,))
    execute(
        "UPDATE belief_collapse_events SET reason = '', held = '',"
        " status = CASE status WHEN 'pending' THEN 'dismissed' ELSE status END"
        f" WHERE loser IN {these} OR winner IN {these}",
        (listed, listed),
    )


def blank_reason(execute: Execute, collapse: int) -> None:
    """Remove a reason, since it says what was erased."""
    execute("UPDATE belief_collapse_events SET reason = '' WHERE id = ?", (collapse,))
