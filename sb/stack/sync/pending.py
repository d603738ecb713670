"""Count changes that the other database has not been told, without writing anything."""

from __future__ import annotations

from sb.memory.space import Space
from sb.stack.sync.exchange import Reach
from sb.stack.sync.feed import TELLING

_PENDING = """
WITH reached (id) AS (SELECT value FROM json_each(?)),
position AS (
    SELECT coalesce(max(record), 0) AS record, coalesce(max(change), 0) AS change, coalesce(max(edge), 0) AS edge
    FROM sync_replicas WHERE stack = ?
),
found (id) AS (
    SELECT id FROM records WHERE id > (SELECT record FROM position)
    UNION SELECT record FROM record_history WHERE id > (SELECT change FROM position)
    UNION SELECT record FROM ({1}) WHERE id > (SELECT edge FROM position)
    UNION SELECT record FROM sync_changes WHERE stack = ? AND seq > ? AND peer <> ?
)
SELECT count(*) FROM found JOIN records AS r ON r.id = found.id
WHERE r.place IN (SELECT id FROM reached)
    AND (r.kind <> 'handoff' OR r.agent IN ({0})
        OR CASE WHEN json_valid(r.fields) THEN coalesce(json_extract(r.fields, '$.recipient'), '') END IN ('', {0}))
    AND (r.state <> 'erased' OR EXISTS (SELECT 1 FROM sync_changes WHERE record = r.id))
    AND NOT EXISTS (SELECT 1 FROM sync_conflicts WHERE record = r.id AND resolution = '')
"""


def pending(space: Space, stack: str, reach: Reach, path: str | None) -> int:
    """Counts the memories that changed since they were last sent to another database.

    Args:
        path: of that database; None for the one that was given most.
    """
    peer, pushed = _peer(space, stack, path)
    places = [number for number, place in space.places.of_stack(stack).items() if reach.covers(place)]
    listed = "[" + ", ".join(map(str, places)) + "]"
    cores = tuple(reach.cores)
    sql = _PENDING.format(", ".join("?" * len(cores)) or "NULL", TELLING)
    return int(space.database.query(sql, (listed, stack, stack, pushed, peer, *cores, *cores))[0][0])


def _peer(space: Space, stack: str, path: str | None) -> tuple[str, int]:
    rows = space.database.query(
        "SELECT peer, pushed FROM sync_peers WHERE stack = ? AND path = coalesce(?, path)"
        " ORDER BY iif(? IS NULL, pushed, at) DESC LIMIT 1",
        (stack, path, path),
    )
    return (str(rows[0][0]), int(rows[0][1])) if rows else ("", 0)
