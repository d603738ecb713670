"""Saboteurs of earned autonomy, of trusted outcomes and of business metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import pytest

from sb.kernel import business_metrics
from sb.kernel.autonomy import levels, scoring
from sb.kernel.autonomy.judging import Autonomy
from sb.kernel.autonomy.scoring import AutonomyMode
from sb.kernel.autonomy.state import AutonomyState
from sb.kernel.incident_response import statements
from sb.kernel.incident_response.statements import Statement
from sb.kernel.outcomes import judgements, record, reporting
from sb.kernel.tokenomics.outcomes import OutcomeRecord
from sb.kernel.tokenomics.report import TokenomicsReport
from sb.log import event_log
from tests.harness.saboteurs import breaks


@breaks("HA-40")
def risk_costs_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scoring, "_SHARES", tuple((name, max(share, 0)) for name, share in scoring._SHARES))


@breaks("HA-40")
def reversibility_says_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scoring, "_REVERSIBILITY", dict.fromkeys(scoring._REVERSIBILITY, 1.0))


@breaks("HA-37")
def a_failed_replay_freezes_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AutonomyState, "record_replay", lambda state, passed: None)


@breaks("HA-37")
def a_level_rises_unsigned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(levels, "_require_key", lambda by: None)
    anybody = statements.may_be_anybody
    patch.setattr(statements, "may_be_anybody", lambda kind: kind.startswith("autonomy.") or anybody(kind))
    patch.setattr(levels, "replay", partial(_trusting, levels.replay))


def _trusting(
    replay: Callable[[Iterable[Statement]], levels.Standing], given: Iterable[Statement]
) -> levels.Standing:
    return replay(it._replace(signed=True, doubt="") for it in given)


@breaks("HA-37")
def a_denial_takes_nothing_away(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(levels, "_corrected", lambda level, row: level)


@breaks("HA-37")
def no_call_is_held_to_its_level(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Autonomy, "judge", lambda autonomy, call: None)


@breaks("HA-37")
def a_signature_counts_for_every_tool(patch: pytest.MonkeyPatch) -> None:
    def mode(standing: levels.Standing, *_: str) -> AutonomyMode:
        raised = any(level.raised for level in standing.levels.values())
        return AutonomyMode.AUTO_EXECUTE if raised else levels.UNPROVEN

    patch.setattr(levels.Standing, "mode", mode)


@breaks("HA-18")
def what_is_not_known_is_trusted(patch: pytest.MonkeyPatch) -> None:
    def trusted(it: OutcomeRecord) -> bool:
        return False not in (it.accepted, it.grounded, it.policy_compliant)

    patch.setattr(OutcomeRecord, "trusted", property(trusted))


@breaks("HA-34")
def nothing_trusted_costs_nothing(patch: pytest.MonkeyPatch) -> None:
    cost = property(lambda report: report.cost_cents / max(report.trusted, 1))
    patch.setattr(TokenomicsReport, "cost_per_trusted_outcome_cents", cost)


@breaks("HA-34")
def a_share_has_no_interval(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(business_metrics, "wilson", lambda hits, total: (hits / total, hits / total))


@breaks("HA-34")
def an_agent_judges_its_own_run(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(judgements, "_is_own", lambda judge, agents: False)


@breaks("HA-34")
def what_nobody_judged_costs_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reporting, "_SUMS", reporting._SUMS.replace("total(cents)", "0.0"))


@breaks("HA-23")
def outcomes_lose_their_intent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(record, "_STARTED", record._STARTED.replace("'', intent)", "'', '')"))


@breaks("HA-23")
def a_key_that_nobody_registered_is_written(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(event_log, "require", lambda key: key)
