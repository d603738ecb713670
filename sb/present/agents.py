"""Agents: the cells of their lines, today in one line, and what one may do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from sb.base.fitting import Cut, relative_age, short_count
from sb.base.fitting import count as spaced
from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.config import Config
from sb.config.rules import PolicyRule
from sb.kernel.calls.approval import Grant
from sb.kernel.policy.patterns import matches
from sb.kernel.review.activity import Tally
from sb.kernel.review.agents import AgentRequests, AgentSeen, Doing, is_at_work
from sb.kernel.review.runs import project_name
from sb.kernel.review.session_usage import with_usage
from sb.present.calls import call_object
from sb.present.kind import Cell, Column, Field, Kind
from sb.present.rules import rule_text
from sb.present.states import DANGER, SOFT
from sb.present.usage import dollars, session_cost
from sb.store.database import Database
from sb.store.records.columns import Row
from sb.store.records.places import Places
from sb.store.records.queries import RecordQueries

_NOUNS = (
    ("calls", "call"),
    ("refused", "refused"),
    ("denied", "denied"),
    ("asked", "asked"),
    ("undone", "undone"),
    ("unknown", "unknown"),
)
_TRUST_WORDS = (
    (0.75, "high"),
    (0.5, "medium"),
    (0.0, "low"),
)  # 0.5 is what somebody has of whom nothing is known
_DAY_TONES = {"refused": "danger", "denied": "danger", "asked": "warn", "undone": "info", "unknown": "danger"}


@frozen
class AgentLine:
    """One agent in one project, cell by cell.

    Args:
        at_work: its run is open, and it was seen lately.
        calls, refused: of each period of the sparkline, oldest first.
        counts: the same in words, with their tones. doing: its newest call.
        cost: of its sessions, "" where it is unknown. stopped: a stop keeps it from calling anything.
    """

    agent: str
    project: str
    run_id: str
    runs: frozenset[str]
    at_work: bool
    calls: tuple[int, ...]
    refused: tuple[int, ...]
    counts: tuple[tuple[str, str], ...]
    doing: str
    cost: str
    age: str
    waiting: int
    stopped: bool = False


def agent_line(
    seen: AgentSeen, doing: Doing, periods: Sequence[Tally], cost: float | None, now: int
) -> AgentLine:
    """An agent as lists show it.

    Args:
        periods: its calls by the hour, oldest first. now: microseconds since the epoch.
    """
    return AgentLine(
        plain(seen.agent, one_line=True),
        plain(project_name(seen.project), one_line=True),
        seen.run_id,
        seen.runs,
        is_at_work(seen, doing, now),
        tuple(tally.calls for tally in periods),
        tuple(tally.refused for tally in periods),
        counts_text(sum(periods, Tally())),
        call_object(doing.tool_id, doing.args) if doing.tool_id else "",
        "" if cost is None else dollars(cost),
        relative_age(seen.last_seen_at, now),
        seen.waiting,
    )


def _calls(line: AgentLine, now: int) -> Cell:
    calls = sum(line.calls)
    return Cell(f"{short_count(calls)} {'call' if calls == 1 else 'calls'}", "" if calls else SOFT)


def _refused(line: AgentLine, now: int) -> Cell:
    if line.stopped:
        return Cell("stopped", DANGER)
    refused = sum(line.refused)
    return Cell(f"{short_count(refused)} refused" if refused else "", DANGER)


def _tone(line: AgentLine) -> str:
    if line.stopped:
        return DANGER
    return "" if line.at_work else SOFT


AGENT = Kind[AgentLine](
    Field(
        "agent",
        lambda it, now: Cell(f"{'●' if it.at_work else '○'} {it.agent}", _tone(it)),
        Column(13, most=24),
    ),
    Field("project", lambda it, now: it.project, Column(7, tone=SOFT)),
    Field("doing", lambda it, now: Cell(it.doing, "" if it.at_work else SOFT), Column(0, 88, cut=Cut.MIDDLE)),
    Field(
        "hours",
        lambda it, now: Cell("", trend=tuple(zip(it.calls, map(bool, it.refused), strict=True))),
        Column(8, 57),
    ),
    Field("calls", _calls, Column(10, right=True)),
    Field("refused", _refused, Column(10, right=True)),
    Field("cost", lambda it, now: it.cost, Column(6, 72, SOFT, right=True)),
    Field("age", lambda it, now: it.age, Column(6, 64, SOFT, right=True)),
    faces={
        "list": "agent,project,doing,hours,calls,refused,cost,age",
        "plain": "agent,project,doing,calls,refused,cost,age",
    },
)


def counts_text(tally: Tally) -> tuple[tuple[str, str], ...]:
    """Counts of calls in words, each with its tone; zeros are left out, except of all calls."""
    words = []
    for name, noun in _NOUNS:
        count = getattr(tally, name)
        if count or name == "calls":
            words.append((f"{spaced(count)} {noun if count == 1 else name}", _DAY_TONES.get(name, "")))
    return tuple(words)


def sessions_cost(config: Config, runs: Iterable[str]) -> float | None:
    """The known cost of sessions together; None where none is known."""
    recorded = with_usage(config.home.usage, runs)
    known = [cost for run in recorded if (cost := session_cost(config, run)[1]) is not None]
    return sum(known) if known else None


def spent_text(config: Config, run_id: str) -> str:
    """The cost of the newest session, with its limit if any; "" where unknown."""
    cost = session_cost(config, run_id)[1]
    if cost is None:
        return ""
    cap = f" of {dollars(config.budget.session_cost_usd)}" if config.budget.caps_sessions else ""
    return f"{dollars(cost)}{cap}"


def may(config: Config, agent: str, grants: Iterable[Grant]) -> list[str]:
    """An agent's rights: its tools and ceiling, rules that allow, and grants."""
    settings = config.agents.get(agent)
    lines = []
    if settings is None:
        lines.append("any tool that policy and tool allowlists permit")
    else:
        tools = ", ".join(settings.tools) or "any tool"
        lines.append(f"{tools}, up to {settings.ceiling}")
        if settings.permissions:
            lines.append(f"permissions: {', '.join(settings.permissions)}")
    lines += [rule_text(rule) for rule in config.policy if rule.effect == "allow" and _is_about(rule, agent)]
    lines += [
        f"granted: {grant.tool_id}" for grant in grants if grant.agent == agent and grant.state == "active"
    ]
    return [plain(line, one_line=True) for line in lines]


def never(config: Config, agent: str) -> list[str]:
    """The calls that policy denies an agent."""
    denies = (rule for rule in config.policy if rule.effect == "deny" and _is_about(rule, agent))
    return [plain(rule_text(rule), one_line=True) for rule in denies]


def _is_about(rule: PolicyRule, agent: str) -> bool:
    return not rule.agents or any(matches(pattern, agent) for pattern in rule.agents)


def trust_in(database: Database, agent: str) -> float | None:
    """The trust in an agent in general, by the newest assessment in any stack, an operator's before others; or None."""
    from sb.memory.trust.scores import OPERATORS

    records, places = RecordQueries(database), Places(database).all()
    found = (records.keyed(place, "trust_assessment", agent) for place in places)
    known = [row for row in found if row is not None and row["state"] == "active"]

    def weight(row: Row) -> tuple[bool, float]:
        return places[row["place"]].owner == OPERATORS, row["updated_at"]

    for row in sorted(known, key=weight, reverse=True):
        score = _score(row)
        if score is not None:
            return score
    return None


def trust_text(trust: float | None) -> str:
    """A trust score, from 0 to 1, in a word and as the number that was set: "high, 0.82 of 1"."""
    if trust is None:
        return "not set"
    word = next(word for least, word in _TRUST_WORDS if trust >= least)
    return f"{word}, {trust:.2f} of 1"


def _score(row: Row) -> float | None:
    """The general score of an assessment's record."""
    from sb.memory.trust.scores import GENERAL

    dimensions = json.loads(row["fields"]).get("dimensions")
    general = dimensions.get(GENERAL) if isinstance(dimensions, dict) else None
    score = general.get("score") if isinstance(general, dict) else None
    return float(score) if isinstance(score, int | float) else None


def requests_text(requests: AgentRequests) -> str:
    """One line: the outcomes of an agent's requests."""
    if not requests.asked:
        return "asked for nothing"
    parts = (("approved", requests.approved), ("denied", requests.denied), ("expired", requests.expired))
    ended = [f"{spaced(count)} {word}" for word, count in parts if count]
    return f"asked {spaced(requests.asked)} {'time' if requests.asked == 1 else 'times'}" + (
        f": {', '.join(ended)}" if ended else ""
    )
