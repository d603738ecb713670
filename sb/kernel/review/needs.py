"""The calls that need a person: their arguments, and where they come from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sb.base.values.frozen import frozen
from sb.kernel.review.runs import project_name
from sb.log.event import Event
from sb.log.event_log import EventLog


@frozen
class CallOrigin:
    """Where the calls of a run come from; empty where its first event does not say.

    Args:
        project: a folder.
    """

    host: str = ""
    project: str = ""
    session: str = ""

    @property
    def project_name(self) -> str:
        """The name of the project's folder."""
        return project_name(self.project)


def call_args(log: EventLog, run_id: str, call_id: str) -> Any:
    """The arguments of a call as the log has them; None where it has none."""
    return first_args(log.events(run_id=run_id, call_id=call_id))


def first_args(events: Iterable[Event]) -> Any:
    """The first arguments that these events have."""
    payloads = (event.payload or {} for event in events)
    return next((payload["args"] for payload in payloads if "args" in payload), None)


def call_origins(log: EventLog, runs: Collection[str]) -> dict[str, CallOrigin]:
    """Host, project and session of runs, from their first events. For a screenful, not for all."""
    names: Sequence[str] = sorted(runs)
    if not names:
        return {}
    fields = ", ".join(
        f"CASE WHEN json_valid(payload) THEN coalesce(json_extract(payload, '$.{name}'), '') ELSE '' END"
        for name in ("host", "project", "session_id")
    )
    rows = log.database.query(
        f"SELECT run_id, {fields} FROM events WHERE id IN"
        f" (SELECT min(id) FROM events WHERE run_id IN ({', '.join('?' * len(names))}) GROUP BY run_id)",
        tuple(names),
    )
    return {run_id: CallOrigin(*map(str, row)) for run_id, *row in rows}
