"""The report over outcomes: what trusted ones cost, by kind of work, agent, version or intent.

Runs that nobody judged cannot be trusted, so the database sums them; what they cost counts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from enum import StrEnum

from sb.base.values.frozen import frozen
from sb.kernel.agent_charter.charter import UNSTATED
from sb.kernel.business_metrics import Rate
from sb.kernel.outcomes.judgements import Judgement
from sb.kernel.outcomes.record import Outcomes
from sb.kernel.tokenomics.outcomes import OutcomeRecord
from sb.kernel.tokenomics.report import TokenomicsReport
from sb.log.event_log import EventLog


class Grouping(StrEnum):
    """The key of a report's groups."""

    WORKFLOW = "workflow"
    AGENT = "agent"
    VERSION = "version"
    INTENT = "intent"


# As `Outcome.record` has them.
_KEYS = {by: str(by) for by in Grouping} | {
    Grouping.WORKFLOW: f"coalesce(nullif(workflow, ''), nullif(intent, ''), '{UNSTATED}')",
    Grouping.INTENT: f"coalesce(nullif(intent, ''), '{UNSTATED}')",
}
_FITS = "started_at >= ? AND run_id NOT IN (SELECT value FROM json_each(?))"
_SUMS = f"""SELECT {{}}, count(*), sum(cents IS NULL), total(cents),
    sum(input_tokens + output_tokens + eval_tokens + retry_tokens), sum(input_tokens), sum(cached_tokens),
    sum(eval_tokens), sum(retry_tokens) FROM outcomes WHERE {_FITS} GROUP BY 1"""
_ORIGINS = """SELECT iif(cents IS NULL, '', sources), unpriced, count(*) FROM outcomes WHERE started_at >= ?
    GROUP BY 1, 2 ORDER BY 3 DESC"""


@frozen
class OutcomeGroup:
    """The outcomes of one kind of work, agent, version or intent.

    Args:
        name: "" where the record has none.
        success: the share of accepted ones among those that somebody judged.
    """

    name: str
    report: TokenomicsReport
    success: Rate

    @property
    def undefined(self) -> str:
        """The reason why a trusted outcome has no cost; "" where it has."""
        if self.report.unpriced:
            return f"the cost of {self.report.unpriced:,} of {self.report.outcomes:,} is not known"
        return "" if self.report.trusted else "no outcome is trusted"


@frozen
class OutcomeReport:
    """Outcomes in groups.

    Args:
        groups: the dearest first. whole: all of them together.
        sources: how many outcomes have a cost of whose figures or prices.
        unpriced: how many have none, by the reason.
    """

    groups: tuple[OutcomeGroup, ...]
    whole: OutcomeGroup
    sources: Mapping[str, int]
    unpriced: Mapping[str, int]


def report_outcomes(
    log: EventLog,
    outcomes: Outcomes,
    judgements: Mapping[str, Judgement],
    by: Grouping = Grouping.WORKFLOW,
    *,
    since: int = 0,
) -> OutcomeReport:
    """The report over all outcomes as they were last read.

    Args:
        judgements: those that stand, by run.
        since: only runs that began then or later, in microseconds since the epoch.
    """
    query = log.database.query
    reports = {
        str(name): TokenomicsReport(count, 0, *sums)
        for name, count, *sums in query(_SUMS.format(_KEYS[by]), (since, json.dumps([*judgements])))
    }
    judged = defaultdict[str, list[OutcomeRecord]](list)
    for outcome in outcomes.of(judgements):
        if outcome.started_at >= since:
            record = outcome.record(judgements[outcome.run_id])
            judged[record.workflow_id if by is Grouping.WORKFLOW else getattr(record, by)].append(record)
    for name, records in judged.items():
        reports[name] = reports.get(name, TokenomicsReport()) + TokenomicsReport.of(records)
    groups = [OutcomeGroup(name, report, _success(judged[name])) for name, report in reports.items()]
    groups.sort(key=lambda it: (-it.report.cost_cents, it.name))
    every = [record for records in judged.values() for record in records]
    whole = OutcomeGroup("all", sum((it.report for it in groups), TokenomicsReport()), _success(every))
    sources, unpriced = dict[str, int](), dict[str, int]()
    for source, why, count in query(_ORIGINS, (since,)):
        counts, key = (sources, source) if source else (unpriced, why)
        counts[key] = counts.get(key, 0) + count
    return OutcomeReport(tuple(groups), whole, sources, unpriced)


def _success(records: list[OutcomeRecord]) -> Rate:
    return Rate(sum(record.accepted is True for record in records), len(records))
