"""How does a run read in a list?"""

from __future__ import annotations

from collections.abc import Sequence

from sb.screens.state.events import moment
from sb.screens.state.listing import Column, Row

from sb.duration import human_duration
from sb.kernel.log_search import events_at
from sb.kernel.runs import Run, RunState, run_events, runs_at
from sb.state import EventLog

RUN_COLUMNS = (
    Column("started (UTC)", 14),
    Column("agent", 14),
    Column("state", 8),
    Column("events", 7),
    Column("took", 8, wide_only=True),
    Column("run", 20, wide_only=True),
    Column("intent"),
)
_TONES = {RunState.OPEN: "ok", RunState.FAILED: "error"}


def run_row(run: Run) -> Row:
    took = "-" if run.state is RunState.OPEN else human_duration((run.last_at - run.started_at) / 1e6)
    intent = f"{run.intent} (ended with {run.error})" if run.error else run.intent
    cells = (moment(run.started_at), run.agent, str(run.state), f"{run.events:,}", took, run.run_id, intent)
    return Row(cells, _TONES.get(run.state, ""))


def run_rows(log: EventLog, firsts: Sequence[int]) -> dict[int, Row]:
    return {first: run_row(run) for first, run in runs_at(log, firsts).items()}


def timeline(log: EventLog, first: int) -> Sequence[int]:
    """The events of the run that begins with this one, newest first."""
    run = events_at(log, [first]).get(first)
    return run_events(log, run.subject.run_id) if run else ()
