"""Agents as rows, and one of them in full."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sb.screens.state.document import Field
from sb.screens.state.records import Records

from sb.base.fitting import short_count
from sb.base.sources import MICROSECONDS
from sb.base.text import counted
from sb.errors import SBError
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.incident_response.kill import KillScope
from sb.kernel.review.activity import DAY_S
from sb.kernel.review.agents import agent_requests
from sb.present.agents import AgentLine, may, never, requests_text, spent_text, trust_in, trust_text
from sb.present.overview import AtWork

MOST = 200
REQUEST_DAYS = 30
# The orders of the list: their names, and what comes first.
ORDERS: dict[str, Callable[[AgentLine], Any]] = {
    "last seen": lambda line: 0,
    "most refused": lambda line: -sum(line.refused),
    "most calls": lambda line: -sum(line.calls),
    "by name": lambda line: (line.agent, line.project),
}


def read_agents(records: Records) -> AtWork:
    """The agents and what they do."""
    with records.overview() as overview:
        return overview.at_work(MOST)


def agent_document(records: Records, line: AgentLine) -> list[Field]:
    """The document of an agent: its act, its rights, and its refusals."""
    log, config = records.log("agent"), records.config
    now = int(records.clock.now() * MICROSECONDS)
    fields = [Field(line.agent), *_stops(records, line)]
    if line.doing:
        fields.append(Field("Doing" if line.at_work else "Did last", line.doing))
    if line.waiting:
        fields.append(Field("Needs you", counted(line.waiting, "request"), tone="warn"))
    fields += [Field("Project", line.project or "none"), Field("Last seen", line.age)]
    fields += [Field("12 hours", ", ".join(text for text, _ in line.counts))]
    spent = spent_text(config, line.run_id)
    fields += [Field("Spent", f"{spent} in its newest session")] if spent else []
    trust = trust_in(log.database, line.agent)
    fields.append(Field("Trust", trust_text(trust)))
    requests = agent_requests(log, line.agent, now - REQUEST_DAYS * DAY_S * MICROSECONDS)
    fields.append(Field(f"{REQUEST_DAYS} days", requests_text(requests)))
    grants = ApprovalQueue(log).grants(active=True)
    fields += _lines("May", may(config, line.agent, grants))
    fields += _lines("Never", never(config, line.agent))
    with records.overview() as overview:
        causes = overview.refusals(line.agent, line.runs)
    fields += _lines("Refused in 24 hours", [f"{short_count(count)} by {rule}" for rule, count in causes])
    return [*fields, Field("run", line.run_id, folded=True)]


def _lines(title: str, lines: list[str]) -> list[Field]:
    return [Field(title), *(Field("", line) for line in lines)] if lines else []


def _stops(records: Records, line: AgentLine) -> list[Field]:
    """The stops that keep it from calling anything."""
    try:
        kills = records.kill_switch("agent").active()
    except SBError as error:
        return [Field("Stopped", f"every call is denied: {error.message}", tone="danger")]
    targets = {KillScope.AGENT: line.agent, KillScope.RUN: line.run_id, KillScope.GLOBAL: ""}
    return [
        Field("Stopped", kill.sentence, tone="danger")
        for kill in kills
        if targets.get(kill.scope) == kill.target
    ]
