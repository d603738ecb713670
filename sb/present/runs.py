"""Runs: the cells of their lines, and where they belong."""

from __future__ import annotations

from dataclasses import dataclass

from sb.duration import human_duration
from sb.kernel.review.runs import Run, RunState, project_name
from sb.present.times import moment
from sb.sources import MICROSECONDS
from sb.text import shorten

LONGEST_ID, LONGEST_PATH = 60, 1_000


@dataclass(frozen=True)
class RunLine:
    """One run, cell by cell."""

    id: str
    started: str
    host: str
    project: str
    agent: str
    state: str
    events: str
    took: str
    session: str
    intent: str


def run_line(run: Run) -> RunLine:
    """A run as lists show it."""
    seconds = (run.last_at - run.started_at) / MICROSECONDS
    return RunLine(
        run.run_id,
        moment(run.started_at),
        run.host or "-",
        project_name(run.project) or "-",
        run.agent,
        str(run.state),
        f"{run.events:,}",
        "-" if run.state is RunState.OPEN else human_duration(seconds),
        run.session or "-",
        f"{run.intent} (ended with {run.error})" if run.error else run.intent,
    )


def whereabouts(run: Run) -> str:
    """A run's id, session and project, as far as they are known: what has no room in the list."""
    known = (
        ("run", run.run_id, LONGEST_ID),
        ("session", run.session, LONGEST_ID),
        ("project", run.project, LONGEST_PATH),
    )
    return "  ".join(f"{name} {shorten(value, longest)}" for name, value, longest in known if value)
