"""Time to report what trusted outcomes cost over many runs, beside one sum over them, and to read their events once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from evals.bench.timing import Comparison, compare
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.kernel.outcomes import Judgements, Outcomes, report_outcomes
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import RUN_FINISHED, RUN_STARTED
from sb.store.database import open_database

RUNS, JUDGED, PER_WRITE = 100_000, 1_000, 10_000
MOST_S = 1  # for a report
_BUDGET = {"cost_usd_cents_used": 12.5, "prompt_tokens_used": 800, "output_tokens_used": 90}


def filled(folder: Path) -> EventLog:
    """A log of runs of ten agents, each of which began and ended."""
    log = EventLog(open_database(folder / "brain.db"))
    for start in range(0, RUNS, PER_WRITE):
        with log.write() as write:
            for number in range(start, start + PER_WRITE):
                subject = Subject(f"run_{number:016x}", agent=f"agent-{number % 10}")
                write.append(RUN_STARTED, {"intent": f"work-{number % 7}"}, subject, {"release": "r1"})
                write.append(RUN_FINISHED, {}, subject, {"elapsed_ms": 1.0, "budget": _BUDGET})
    return log


def comparisons(log: EventLog) -> Iterator[Comparison]:
    judgements, outcomes = Judgements(log, Authority(None, log)), Outcomes(log)
    query = log.database.query

    def report() -> object:
        outcomes.read()
        return report_outcomes(log, outcomes, judgements.in_force())

    def floor() -> object:
        return query("SELECT agent, count(*), total(cents) FROM outcomes GROUP BY 1")

    yield compare(
        f"report of {RUNS:,} outcomes", report, "one sum over them", floor, calls=1, bar=6, rounds=5
    )
    for number in range(JUDGED):
        judgements.judge(f"run_{number * 97:016x}", Label("ada"), accepted=number % 3 > 0)
    yield compare(
        f"the same, {JUDGED:,} judged", report, "one sum over them", floor, calls=1, bar=10, rounds=5
    )


def report() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        log = filled(Path(folder))
        started = time.perf_counter()
        Outcomes(log).read()
        yield f"first reading of {2 * RUNS:,} events: {time.perf_counter() - started:.2f} s"
        for comparison in comparisons(log):
            over = "OVER" if comparison.us > MOST_S * 1e6 else "ok"
            yield f"{comparison.line()}  at most {MOST_S} s  {over}"
