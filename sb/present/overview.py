"""Agents' present and last acts, and the figures of today."""

from __future__ import annotations

from collections.abc import Collection

from sb.base.sources import MICROSECONDS
from sb.base.values.frozen import frozen
from sb.config import Config
from sb.kernel.review.activity import DAY_S, HOUR_S, Activity, Tally
from sb.kernel.review.agents import Agents
from sb.log.event_log import EventLog
from sb.present.agents import AgentLine, agent_line, sessions_cost
from sb.present.home import Words, midnight, today_words

HOURS = 12  # of the sparkline
MOST_AGENTS = 20


@frozen
class AtWork:
    """Agents at work today.

    Args:
        today: in words, each with its tone. agents: the last seen first. seen: how many there are.
        calls, refused: of all agents, by the hour, oldest first. working: how many of the listed are at work.
        spent: the part of the day's budget that is; None where no budget is set or no cost is known.
    """

    today: Words = ()
    agents: tuple[AgentLine, ...] = ()
    seen: int = 0
    calls: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    working: int = 0
    spent: float | None = None


class Overview:
    """Reads it again and again, and what was written since alone where that takes long; for one thread at a time."""

    def __init__(self, config: Config, log: EventLog) -> None:
        self._config = config
        self._log = log
        self._activity = Activity(log, DAY_S + HOUR_S)
        self._agents = Agents(log, self._activity)

    def at_work(self, most: int = MOST_AGENTS) -> AtWork:
        """Agents at work today; the first time it reads the events of a day.

        Args:
            most: agents that have lines.
        """
        now = self._now()
        self._activity.update()
        seen = self._agents.seen()
        lines = []
        for item in seen[:most]:
            periods = self._activity.periods(HOURS, HOUR_S, agent=item.agent, runs=item.runs)
            cost = sessions_cost(self._config, item.runs)
            lines.append(agent_line(item, self._agents.doing(item.run_id), periods, cost, now))
        today = self._activity.total(midnight(now))
        cost = sessions_cost(self._config, self._activity.runs(midnight(now)))  # of these sessions as a whole
        budget = self._config.budget.daily_cost_usd if self._config.budget.has_daily else None
        hours = self._activity.periods(HOURS, HOUR_S)
        return AtWork(
            today_words(today, cost, budget),
            tuple(lines),
            len(seen),
            tuple(tally.calls for tally in hours),
            tuple(tally.refused for tally in hours),
            sum(line.at_work for line in lines),
            None if cost is None or budget is None else cost / budget,
        )

    def hours(self, agent: str, runs: Collection[str]) -> tuple[Tally, ...]:
        """The calls of an agent in these runs in the last day, by the hour, oldest first."""
        return self._activity.periods(DAY_S // HOUR_S, HOUR_S, agent=agent, runs=runs)

    def refusals(self, agent: str, runs: Collection[str]) -> list[tuple[str, int]]:
        """The rules that refused an agent's calls in these runs in the last day, and how often each did."""
        return self._agents.refusals(agent, runs, self._now() - DAY_S * MICROSECONDS).most_common()

    def _now(self) -> int:
        return int(self._log.clock.now() * MICROSECONDS)
