"""Reading the events of one stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sb.log.event import EVENT_COLUMNS, SEQ_MASK, Event, Subject, payload_of
from sb.store import driver
from sb.store.database import Database

_PAGE = 500  # rows read at once: short reads hold nobody up, and a reader may take its time between them
MOST_LOOKED_AT = 20_000  # rows: 40 ms where their pages are not in memory
OF_PEOPLE = "substr(kind, 1, 7) <> 'kernel.'"  # as the index of people's events has it


class EventReader:
    """Reads the stored events of one stream of a database; `EventLog` adds writing.

    Args:
        first_id: the row id before that of the stream's first event.
    """

    database: Database
    stream: str
    first_id: int

    def rows(self, connection: driver.Connection) -> Iterator[tuple[Any, ...]]:
        """Every stored row of the stream as it is, with salt and payload text at the end."""
        bounds = (self.first_id, self.first_id + SEQ_MASK)
        yield from connection.execute(
            f"SELECT {EVENT_COLUMNS} FROM events WHERE id > ? AND id <= ? ORDER BY id", bounds
        )

    def event(self, row: tuple[Any, ...]) -> Event:
        return Event(
            stream=self.stream,
            seq=row[0] - self.first_id,
            at=row[1],
            kind=row[2],
            subject=Subject(*row[3:8]),
            payload_digest=row[8],
            prev=row[9],
            hash=row[10],
            payload=payload_of(row[12]),
        )

    def events(
        self,
        *,
        after: int = 0,
        limit: int = 0,
        newest_first: bool = False,
        run_id: str = "",
        call_id: str = "",
        agent: str = "",
        tool_id: str = "",
        kind: str = "",
        since: int = 0,
    ) -> Iterator[Event]:
        """Events in order.

        Args:
            after: only those with a higher seq.
            limit: at most so many; 0 for all.
            since: only those at or after this time, in microseconds since the epoch.
            run_id, call_id, agent, tool_id, kind: only those about it; "" for any.
        """
        wanted = {"run_id": run_id, "call_id": call_id, "agent": agent, "tool_id": tool_id, "kind": kind}
        filters = {column: value for column, value in wanted.items() if value}
        where = "".join(f" AND {column} = ?" for column in filters) + (" AND at >= ?" if since else "")
        # With `LIMIT ?` it would be prepared anew for each value, with the plus it is not.
        sql = (
            f"SELECT {EVENT_COLUMNS} FROM events WHERE id > ? AND id < ?{where}"
            f" ORDER BY id {'DESC' if newest_first else 'ASC'} LIMIT +?"
        )
        low, high = self.first_id + after, self.first_id + SEQ_MASK + 1
        left = limit or SEQ_MASK
        while left > 0:
            parameters = (low, high, *filters.values(), *((since,) if since else ()), min(left, _PAGE))
            rows = self.database.query(sql, parameters)
            for row in rows:
                yield self.event(row)
            if len(rows) < _PAGE:
                return
            left -= len(rows)
            low, high = (low, rows[-1][0]) if newest_first else (rows[-1][0], high)

    def reached(self, reference: str, at: int, *, people: bool = False) -> bool:
        """True if a row after the first one about `reference` is of this time or later, whatever the clock says by now.

        Args:
            reference: what people decided about, such as the id of an approval.
            at: in microseconds since the epoch.
            people: look only at the rows of people's requests and decisions, of which there are few; else also at the
                newest MOST_LOOKED_AT of all.
        """
        last = self.first_id + SEQ_MASK
        bounds = (
            f"SELECT (SELECT min(id) FROM events WHERE call_id = ? AND {OF_PEOPLE}),"
            " (SELECT max(id) FROM events WHERE id <= ?)"
        )
        after, newest = self.database.query(bounds, (reference, last))[0]
        if after is None:
            return False
        if people or newest - after > MOST_LOOKED_AT:  # else the newest rows are all that there are
            sql = "SELECT 1 FROM events INDEXED BY events_of_people WHERE {} AND id > ? AND id <= ? AND at >= ? LIMIT 1"
            if self.database.query(sql.format(OF_PEOPLE), (after, last, at)):
                return True
        if people:
            return False
        sql = "SELECT 1 FROM events WHERE id > ? AND id <= ? AND at >= ? LIMIT 1"
        return bool(self.database.query(sql, (max(after, newest - MOST_LOOKED_AT), last, at)))

    def about(self, reference: str) -> Iterator[Event]:
        """The events of a run or call by its id, or the one event with that number."""
        if reference.startswith("run_"):
            return self.events(run_id=reference)
        if reference.startswith("call_"):
            return self.events(call_id=reference)
        return self.events(after=int(reference) - 1, limit=1)
