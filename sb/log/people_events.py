"""The events about one thing that people decided, checked against what was written.

A row of another table can be edited and put right again; an event cannot without breaking its own hash, and the
chain over it. So what counts is read from here.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from sb.errors import StoreCorrupt
from sb.log.event import EVENT_COLUMNS, Event, link_of
from sb.log.event_log import EventLog

ABOUT = f"""SELECT {EVENT_COLUMNS} FROM events
    WHERE call_id = ? AND substr(kind, 1, 7) <> 'kernel.' ORDER BY id"""


def people_events(log: EventLog, reference: str) -> list[Event]:
    """The committed events that people's decisions about `reference` left, oldest first.

    Args:
        reference: the id of an approval, grant or operator, or another name that they were recorded under.

    Raises:
        StoreCorrupt: one of them is not what was written.
    """
    return [sound(log, row) for row in log.database.query(ABOUT, (reference,))]


def sound(log: EventLog, row: tuple[Any, ...]) -> Event:
    """The event of this row of ABOUT; raises StoreCorrupt when it is not what was written."""
    event = log.event(row)
    salt, body = row[11], row[12]
    if body is None:
        raise StoreCorrupt(f"row {event.seq} of the log was pruned, so what it decided no longer counts")
    written = sha256((salt + body).encode()).hexdigest() == event.payload_digest
    if not (written and event.hash == link_of(event)):
        raise StoreCorrupt(f"row {event.seq} of the log was changed after it was written", "sb log verify")
    return event
