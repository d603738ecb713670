"""Runs: the cells of their lines, and where they belong."""

from __future__ import annotations

from sb.base.duration import human_duration
from sb.base.fitting import relative_age
from sb.base.sources import MICROSECONDS
from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.kernel.review.activity import Tally
from sb.kernel.review.runs import Run, RunState, project_name
from sb.present.states import State, state
from sb.present.times import moment
from sb.present.usage import dollars


@frozen
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


@frozen
class SessionLine:
    """One run as the first level of a tree, cell by cell.

    Args:
        name: the agent and its project. intent: what it was begun for, or its error.
        state: running, ended or failed. cost: "" where it is unknown.
    """

    id: str
    name: str
    intent: str
    state: State
    calls: int
    refused: int
    cost: str
    age: str


_STATE_WORDS = {RunState.OPEN: "running", RunState.FINISHED: "ended", RunState.FAILED: "failed"}


def run_state(run: Run) -> State:
    """The state of a run: going on, ended or failed."""
    return state(_STATE_WORDS[run.state])


def session_line(run: Run, tally: Tally, cost: float | None, now: int) -> SessionLine:
    """A run with what its calls came to; `now` in microseconds since the epoch."""
    return SessionLine(
        run.run_id,
        plain(" ".join(filter(None, (run.agent, project_name(run.project)))), one_line=True),
        plain(f"failed: {run.error}" if run.error else run.intent, one_line=True),
        run_state(run),
        tally.calls,
        tally.refused,
        "" if cost is None else dollars(cost),
        relative_age(run.last_at, now),
    )


def release_text(run: Run) -> str:
    """The release of a run, and what of it is not as pinned; "" where none was recorded."""
    drift = f"; not as pinned: {', '.join(run.drift)}" if run.drift else ""
    return f"{run.release[:19]}{drift}" if run.release else ""


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
