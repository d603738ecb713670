"""Runs as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sb.screens.state.listing import WIDE, Column, Row

from sb.config import Config
from sb.kernel.calls.mutations import MutationStore
from sb.kernel.review.runs import Run, RunState, run_events, runs_at
from sb.log.event_log import EventLog
from sb.present.runs import run_line, whereabouts
from sb.present.usage import session_cost, tokens_line

RUN_COLUMNS = (
    Column("started (UTC)", 14),
    Column("host", 11),
    Column("project", 12),
    Column("agent", 12),
    Column("state", 8),
    Column("events", 7),
    Column("took", 8, least=WIDE),
    Column("session", 12, least=WIDE),
    Column("intent"),
)
_TONES = {RunState.OPEN: "ok", RunState.FAILED: "error"}


def run_row(run: Run) -> Row:
    line = run_line(run)
    cells = (
        line.started,
        line.host,
        line.project,
        line.agent,
        line.state,
        line.events,
        line.took,
        line.session,
    )
    return Row((*cells, line.intent), _TONES.get(run.state, ""))


def run_rows(log: EventLog, firsts: Sequence[int]) -> dict[int, Row]:
    return {first: run_row(run) for first, run in runs_at(log, firsts).items()}


@dataclass(frozen=True)
class OneRun:
    """The run under the cursor.

    Args:
        events: their numbers, newest first.
    """

    whereabouts: str = ""
    events: Sequence[int] = field(default=())


def one_run(log: EventLog, first: int, config: Config) -> OneRun:
    """The run that begins with this event."""
    found = runs_at(log, [first]).get(first)
    if not found:
        return OneRun()
    used = tokens_line(*session_cost(config, found.run_id))
    return OneRun("  ".join(filter(None, (whereabouts(found), used))), run_events(log, found.run_id))


def last_change(log: EventLog, first: int) -> str:
    """The id of what a run changed last; "" for nothing.

    Args:
        first: the number of the run's first event.
    """
    run = runs_at(log, [first]).get(first)
    changes = MutationStore(log).of_run(run.run_id) if run else []
    return changes[-1].mutation_id if changes else ""
