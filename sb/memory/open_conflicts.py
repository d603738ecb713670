"""Open conflicts as a session is readable of them when it starts."""

from __future__ import annotations

from collections.abc import Sequence

from sb.base.values.frozen import frozen
from sb.memory.space import Space
from sb.memory.trust.floor import numbers_where
from sb.memory.views import Memory, View
from sb.store.records.columns import ACTIVE, Row
from sb.store.records.open_conflicts import ConflictRow, open_conflict_rows


@frozen
class OpenConflict(View):
    """A conflict that nobody has resolved.

    Args:
        memory: the id of the memory that is contradicted, of two memories the newer one. other: of the older one; "" of a copy.
        voices: whose words contradict each other, this memory's first. against: the words of the other memory, or "".
        resolve: the command that settles it.
    """

    id: str
    memory: str
    content: str
    voices: tuple[str, ...]
    resolve: str
    other: str = ""
    against: str = ""


def open_conflicts(space: Space, places: Sequence[int], most: int) -> list[tuple[Row, OpenConflict]]:
    """The open conflicts about active memories in these places, with those memories' rows, the newest first.

    Args:
        most: how many.
    """
    waiting = open_conflict_rows(space.database)
    if not waiting:
        return []
    numbers = {number for item in waiting for number in (item.record, item.other) if number is not None}
    rows = {row["id"]: row for row in space.records.rows(sorted(numbers))}
    hidden = numbers_where(space.database, rows, space.reader.left_out(places))
    readable = {
        number: row
        for number, row in rows.items()
        if number not in hidden and row["place"] in places and row["state"] == ACTIVE
    }
    found = []
    for item in waiting:
        if item.record in readable and (item.other is None or item.other in readable):
            row = readable[item.record]
            other = None if item.other is None else space.memory(readable[item.other])
            found.append((row, _conflict(item, space.memory(row), other)))
        if len(found) == most:
            break
    return found


def _conflict(item: ConflictRow, memory: Memory, other: Memory | None) -> OpenConflict:
    if other is None:
        voices = (memory.voice, f"a copy in {item.opened_by}")
        return OpenConflict(item.uid, memory.id, memory.content, voices, "sb stack conflicts")
    return OpenConflict(
        item.uid, memory.id, memory.content, (memory.voice, other.voice), f"sb memory conflicts show {item.uid}",
        other.id, other.content,
    )  # fmt: skip
