"""Open conflicts as a session is told of them when it starts."""

from __future__ import annotations

from collections.abc import Sequence

from sb.base.values.frozen import frozen
from sb.memory.space import Space
from sb.memory.trust.floor import numbers_where
from sb.memory.views import View
from sb.store.records.columns import ACTIVE, Row

# A version from elsewhere waits beside the one that is here; the newest are told first.
_WAITING = "SELECT id, record, peer FROM sync_conflicts WHERE resolution = '' ORDER BY at DESC, id"


@frozen
class OpenConflict(View):
    """A conflict that nobody has resolved.

    Args:
        memory: the id of the memory that is contradicted. voices: whose words contradict each other, this memory's first.
        resolve: the command that settles it.
    """

    id: str
    memory: str
    content: str
    voices: tuple[str, ...]
    resolve: str


def open_conflicts(space: Space, places: Sequence[int], most: int) -> list[tuple[Row, OpenConflict]]:
    """The open conflicts about active memories in these places, with those memories' rows, the newest first.

    Args:
        most: how many.
    """
    waiting = space.database.query(_WAITING)
    if not waiting:
        return []
    rows = {row["id"]: row for row in space.records.rows([record for _, record, _ in waiting])}
    hidden = numbers_where(space.database, rows, space.reader.left_out(places))
    found = []
    for uid, record, peer in waiting:
        row = rows.get(record)
        if row is not None and record not in hidden and row["place"] in places and row["state"] == ACTIVE:
            memory = space.memory(row)
            voices = (memory.voice, f"a copy in {peer}")
            found.append((row, OpenConflict(uid, memory.id, memory.content, voices, "sb stack conflicts")))
        if len(found) == most:
            break
    return found
