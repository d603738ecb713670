"""Agents as rows, and one of them in full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sb.screens.state.document import Document, Field
from sb.screens.state.memory import read_records
from sb.screens.state.records import Records, active_stops
from sb.screens.state.runs import newest_calls

from sb.base.fitting import count, short_count
from sb.base.secrets.redaction import redact_text
from sb.base.sources import MICROSECONDS
from sb.base.text import counted, plain, shorten
from sb.base.values.frozen import frozen
from sb.config.guards import OFF
from sb.errors import SBError
from sb.evals.shelf import EvalShelf
from sb.evals.summary import OF_THE_LOG
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.approval import Approval
from sb.kernel.incident_response.kill import Kill, KillScope
from sb.kernel.reversibility.mutations import MutationStore
from sb.kernel.review.activity import DAY_S, RunTallies, Tally
from sb.kernel.review.agents import agent_requests
from sb.kernel.review.runs import Run, first_events, project_name, runs_at
from sb.kernel.review.session_usage import with_usage
from sb.log.event_log import EventLog
from sb.memory.browse import Browsed, RecordFilter, browse
from sb.present.agents import AgentLine, may, never, requests_text, spent_text, trust_in, trust_text
from sb.present.approvals import request_state, short_call
from sb.present.autonomy import level_line
from sb.present.overview import AtWork
from sb.present.runs import UsedRun
from sb.present.times import ago
from sb.present.usage import session_cost

MOST = 200
MOST_LISTED = 20  # runs, requests and memories on an agent's page
ABOUT, RUNS, REQUESTS, MEMORY = "about", "runs", "requests", "memory"
PAGE = {ABOUT: "Agent", RUNS: "Runs", REQUESTS: "Requests", MEMORY: "Memory"}
REQUEST_DAYS = 30
MOST_EVALS = 5
# The orders of the list: their names, and what comes first.
ORDERS: dict[str, Callable[[AgentLine], Any]] = {
    "last seen": lambda line: 0,
    "most refused": lambda line: -sum(line.refused),
    "most calls": lambda line: -sum(line.calls),
    "by name": lambda line: (line.agent, line.project),
}


def read_agents(records: Records) -> AtWork:
    """The agents, what they do, and which of them are stopped."""
    with records.overview() as overview:
        seen = overview.at_work(MOST)
    stops = active_stops(records)
    lines = tuple(
        replace(line, stopped=True, at_work=False) if stops is None or _stops_of(stops, line) else line
        for line in seen.agents
    )
    return replace(seen, agents=lines, working=sum(line.at_work for line in lines))


@frozen
class AgentPage:
    """One agent in full.

    Args:
        views: documents by view. counts: what views list, as far as that is counted.
        hours: its calls of the last day by the hour, oldest first. cost: of the same hours; () where none is known.
        undoable: whether its newest session changed something. stops: that keep it from calling anything.
    """

    views: Mapping[str, Document]
    counts: Mapping[str, int]
    hours: tuple[Tally, ...]
    cost: tuple[float, ...] = ()
    undoable: bool = False
    stops: tuple[Kill, ...] = ()


def agent_page(records: Records, line: AgentLine) -> AgentPage:
    """Read all about an agent; called in a worker."""
    log, now = records.log("agent"), int(records.clock.now() * MICROSECONDS)
    queue = Approvals(log, records.authority("agent"))
    requests = queue.page(agent=line.agent, limit=MOST_LISTED)
    runs, memories = _runs_of(log, line.agent), _memories_of(log, line.agent)
    with records.overview() as overview:
        hours = overview.hours(line.agent, line.runs)
        cost = _cost(records, log, line, lambda run_id: overview.hours(line.agent, {run_id}))
    counts = {RUNS: len(runs), REQUESTS: queue.count(agent=line.agent), MEMORY: len(memories)}
    run_fields = [Field(ago(run.last_at, now), _run_text(run)) for run in _newest_runs(log, runs)]
    views = {
        ABOUT: _about(records, line),
        RUNS: [_headed("Runs", counts[RUNS]), *run_fields],
        REQUESTS: [_headed("Requests", counts[REQUESTS]), *_request_fields(queue, requests, now)],
        MEMORY: [_headed("Memories that it saved", counts[MEMORY]), *_newest_memories(log, memories)],
    }
    undoable = bool(MutationStore(log).of_run(line.run_id))
    return AgentPage(views, counts, hours, cost, undoable, _stops_of(active_stops(records) or (), line))


def _cost(
    records: Records, log: EventLog, line: AgentLine, hours_of: Callable[[str], Sequence[Tally]]
) -> tuple[float, ...]:
    """The cost of each hour of the last day: that of a session, spread over its calls; () where none is known."""
    spent, tallies = list[float](), RunTallies(log)
    for run_id in with_usage(records.config.home.usage, line.runs):
        cost, calls = session_cost(records.config, run_id)[1], tallies.of(run_id).calls
        if cost and calls:
            each = [cost * tally.calls / calls for tally in hours_of(run_id)]
            spent = [sum(pair) for pair in zip(spent, each, strict=True)] if spent else each
    return tuple(spent) if any(spent) else ()


def _evals(records: Records, line: AgentLine, now: int) -> list[Field]:
    """The newest runs of evals by this agent, or of its runs in the log."""
    recorded = {f"{OF_THE_LOG}{run_id}" for run_id in line.runs}
    found = [
        run
        for run in EvalShelf(records.config.home.evals).summaries()
        if run.agent == redact_text(line.agent) or run.agent in recorded
    ]
    fields = [
        Field(
            ago(int(run.at * MICROSECONDS), now),
            f"{', '.join(run.suites)}: {run.holding}",
            tone="" if run.pass_rate == 1 else "warn",
        )
        for run in found[:MOST_EVALS]
    ]
    return [Field("Evals"), *fields] if fields else []


def _headed(title: str, total: int) -> Field:
    """The heading of a list of the newest of so many."""
    return Field(f"{title}, the newest {MOST_LISTED} of {count(total)}" if total > MOST_LISTED else title)


def _runs_of(log: EventLog, agent: str) -> Sequence[int]:
    """The first rows of all runs of an agent, the newest first."""
    return first_events(log, wanted=("e.agent = ?", (agent,)), dry_runs=False)


def _newest_runs(log: EventLog, rows: Sequence[int]) -> list[Run]:
    return [run for _, run in sorted(runs_at(log, rows[:MOST_LISTED]).items(), reverse=True)]


def _run_text(run: Run) -> str:
    return UsedRun(run).intent or project_name(run.project) or run.run_id


def _request_fields(queue: Approvals, requests: Sequence[Approval], now: int) -> list[Field]:
    disclosed = map(queue.disclose, requests)
    return [Field(request_state(it, now), short_call(it)) for it in disclosed]


def _memories_of(log: EventLog, agent: str) -> Sequence[int]:
    """The numbers of the memories that an agent saved, the newest first."""
    found = next(browse(log.database, RecordFilter(more=("r.agent = ?", (agent,))), Browsed()), Browsed())
    return found.numbers


def _newest_memories(log: EventLog, numbers: Sequence[int]) -> list[Field]:
    newest = read_records(log, list(numbers[:MOST_LISTED]))
    return [
        Field(str(record["kind"]), shorten(plain(record["text"], one_line=True), 200)) for record in newest
    ]


def _about(records: Records, line: AgentLine) -> list[Field]:
    """Its act, its rights, and its refusals."""
    log, config = records.log("agent"), records.config
    now = int(records.clock.now() * MICROSECONDS)
    fields = [Field(line.agent), *_stops(records, line)]
    if line.doing:
        just_now = line.at_work and (line.age == "now" or line.age.endswith("s"))
        fields.append(Field("Doing" if just_now else "Did last", line.doing))
    if line.waiting:
        fields.append(Field("Needs you", counted(line.waiting, "request"), tone="warn"))
    fields += [Field("Project", line.project or "none"), Field("Last seen", line.age)]
    fields += [Field("12 hours", ", ".join(text for text, _ in line.counts))]
    spent = spent_text(config, line.run_id)
    fields += [Field("Spent", f"{spent} in its newest session")] if spent else []
    trust = trust_in(log.database, line.agent)
    fields.append(Field("Trust", trust_text(trust)))
    fields += _levels(records, line.agent)
    requests = agent_requests(log, line.agent, now - REQUEST_DAYS * DAY_S * MICROSECONDS)
    fields.append(Field(f"{REQUEST_DAYS} days", requests_text(requests)))
    grants = ApprovalQueue(log).grants(active=True)
    fields += _evals(records, line, now)
    fields += _lines("May", may(config, line.agent, grants))
    fields += _lines("Never", never(config, line.agent))
    with records.overview() as overview:
        causes = overview.refusals(line.agent, line.runs)
    fields += _lines("Refused in 24 hours", [f"{short_count(times)} by {rule}" for rule, times in causes])
    fields += newest_calls(log, "Newest calls", now, agent=line.agent)
    return [*fields, Field("run", line.run_id, folded=True)]


def _lines(title: str, lines: list[str]) -> list[Field]:
    return [Field(title), *(Field("", line) for line in lines)] if lines else []


def _levels(records: Records, agent: str) -> list[Field]:
    """The levels of autonomy of an agent, where they are consulted."""
    mode = records.config.autonomy.mode
    if mode == OFF:
        return []
    try:
        now = records.proposals("agent").levels.current()
    except SBError as error:
        return [Field("Autonomy", f"reads only: {error.message}", tone="danger")]
    text = now.unreadable or level_line([it for it in now.rows() if it.agent == agent])
    return [Field("Autonomy", f"{text or 'asks before it changes something'} ({mode})")]


def _stops(records: Records, line: AgentLine) -> list[Field]:
    """The stops that keep it from calling anything."""
    try:
        kills = records.kill_switch("agent").active()
    except SBError as error:
        return [Field("Stopped", f"every call is denied: {error.message}", tone="danger")]
    return [Field("Stopped", kill.sentence, tone="danger") for kill in _stops_of(kills, line)]


def _stops_of(kills: Iterable[Kill], line: AgentLine) -> tuple[Kill, ...]:
    """Those of these stops that keep an agent from calling anything, the newest first."""
    targets = {KillScope.AGENT: line.agent, KillScope.RUN: line.run_id, KillScope.GLOBAL: ""}
    found = [kill for kill in kills if targets.get(kill.scope) == kill.target]
    return tuple(sorted(found, key=lambda kill: -kill.number))
