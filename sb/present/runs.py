"""Runs: the cells of their lines, and where they belong."""

from __future__ import annotations

from dataclasses import field

from sb.base.fitting import count as spaced
from sb.base.fitting import short_count
from sb.base.text import counted
from sb.base.values.frozen import frozen
from sb.kernel.review.activity import Tally
from sb.kernel.review.runs import Run, RunState, project_name, stated_intent
from sb.kernel.review.usage import Tokens
from sb.present.kind import Cell, Column, Field, Kind
from sb.present.states import DANGER, SOFT, State, state
from sb.present.times import ago, moment
from sb.present.usage import dollars


@frozen
class UsedRun:
    """A run with what it used and what its calls came to; None for what is unknown."""

    run: Run
    tokens: Tokens | None = None
    cost: float | None = None
    tally: Tally = field(default_factory=Tally)

    @property
    def intent(self) -> str:
        """The stated intent, or its error; "" where a host only names its session."""
        run = self.run
        return f"failed: {run.error}" if run.error else stated_intent(run.intent, run.host)


_STATE_WORDS = {RunState.OPEN: "running", RunState.FINISHED: "ended", RunState.FAILED: "failed"}


def run_state(run: Run) -> State:
    """The state of a run: going on, ended or failed."""
    return state(_STATE_WORDS[run.state])


def _session(about: UsedRun, now: int) -> Cell:
    """The agent and project of a run, with a mark while it goes on, and what it was begun for."""
    word, run = run_state(about.run).word, about.run
    name = " ".join(filter(None, (run.agent, project_name(run.project))))
    text = "  ".join(filter(None, (f"{'●' if word == 'running' else '○'} {name}", about.intent)))
    return Cell(text, DANGER if word == "failed" else "")


def number(count: int, tone: str = "") -> Cell:
    """A count in a list, which leaves out zeros."""
    return Cell(spaced(count), tone) if count else Cell("")


def release_text(run: Run) -> str:
    """The release of a run, and what of it is not as pinned; "" where none was recorded."""
    drift = f"; not as pinned: {', '.join(run.drift)}" if run.drift else ""
    return f"{run.release[:19]}{drift}" if run.release else ""


def claims_text(run: Run) -> str:
    """The number of claims that a run's calls do not support; "" for none."""
    return counted(len(run.disputed_claims), "disputed claim") if run.disputed_claims else ""


RUN = Kind[UsedRun](
    Field("started (UTC)", lambda it, now: Cell(moment(it.run.started_at), at=it.run.started_at)),
    Field("host", lambda it, now: it.run.host or "-"),
    Field("where", lambda it, now: it.run.host, title="host"),
    Field("project", lambda it, now: project_name(it.run.project) or "-"),
    Field("state", lambda it, now: "; ".join(filter(None, (it.run.state, claims_text(it.run))))),
    Field("events", lambda it, now: f"{it.run.events:,}"),
    Field("in", lambda it, now: short_count(it.tokens.prompt) if it.tokens else "-"),
    Field("out", lambda it, now: short_count(it.tokens.output) if it.tokens else "-"),
    Field("cost", lambda it, now: dollars(it.cost) if it.tokens else "-"),
    Field("run", lambda it, now: it.run.run_id),
    Field("session", _session, Column(title="Session, turn, call")),
    Field("calls", lambda it, now: number(it.tally.calls), Column(5, right=True, title="calls")),
    Field(
        "refused",
        lambda it, now: number(it.tally.refused, DANGER),
        Column(7, 44, right=True, title="refused"),
    ),
    Field(
        "spent",
        lambda it, now: "" if it.cost is None else dollars(it.cost),
        Column(6, 50, SOFT, right=True, title="cost"),
        title="cost",
    ),
    Field("age", lambda it, now: ago(it.run.last_at, now), Column(6, tone=SOFT, right=True, title="age")),
    Field("its session", lambda it, now: it.run.session),
    faces={
        "table": "started (UTC),host,project,state,events,in,out,cost,run",
        "list": "session,calls,refused,spent,age",
        "plain": "run,session,calls,refused,spent,age,where,its session",
    },
    json={
        "run_id agent intent state error host project session release": "string",
        "first started_at last_at events": "integer",
        "drift": ["string"],
        "disputed_claims": ["string"],
        "tokens": "any",
        "cost_usd": "number|null",
    },
    computed={
        "tokens": lambda it, now: vars(it.tokens) if it.tokens else None,
        "cost_usd": lambda it, now: it.cost,
    },
    stored=lambda it: it.run,
)
