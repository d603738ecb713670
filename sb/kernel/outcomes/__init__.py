"""Outcomes of runs: what people said of them, and what the record tells beside that."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.outcomes.judgements import Judgement as Judgement
    from sb.kernel.outcomes.judgements import Judgements as Judgements
    from sb.kernel.outcomes.judgements import judged_run as judged_run
    from sb.kernel.outcomes.record import Outcome as Outcome
    from sb.kernel.outcomes.record import Outcomes as Outcomes
    from sb.kernel.outcomes.record import record_grounded as record_grounded
    from sb.kernel.outcomes.reporting import OutcomeGroup as OutcomeGroup
    from sb.kernel.outcomes.reporting import OutcomeReport as OutcomeReport
    from sb.kernel.outcomes.reporting import report_outcomes as report_outcomes
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.outcomes.judgements": "Judgement Judgements judged_run",
            "sb.kernel.outcomes.record": "Outcome Outcomes record_grounded",
            "sb.kernel.outcomes.reporting": "OutcomeGroup OutcomeReport report_outcomes",
        },
    )
