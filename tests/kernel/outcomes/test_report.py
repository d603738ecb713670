"""The report: what trusted outcomes cost, with what came to nothing, and an honest None."""

from __future__ import annotations

import pytest

from sb.kernel.outcomes import Judgements, OutcomeGroup, Outcomes, record_grounded, report_outcomes
from sb.kernel.outcomes.reporting import Grouping, OutcomeReport
from sb.kernel.tokenomics import CostBreakdown, OutcomeRecord, TokenomicsLedger, TokenomicsReport
from tests.kernel.incident_response.conftest import ADA, Plant
from tests.kernel.outcomes.conftest import made

SPENT = {
    "prompt_tokens": 80,
    "output_tokens": 10,
    "cached_tokens": 60,
    "retry_tokens": 10,
    "cost_usd_cents": 30,
}


def reported(plant: Plant, by: Grouping = Grouping.WORKFLOW, since: int = 0) -> OutcomeReport:
    outcomes = Outcomes(plant.log)
    outcomes.read()
    judged = Judgements(plant.log, plant.authority).in_force()
    return report_outcomes(plant.log, outcomes, judged, by, since=since)


def named(report: OutcomeReport) -> dict[str, OutcomeGroup]:
    return {group.name: group for group in report.groups}


def test_unjudged_and_rejected_runs_count_in_the_cost_of_trusted_ones(
    plant: Plant, judgements: Judgements
) -> None:
    good, bad, _ = (made(plant, intent="support.refund", spent=SPENT) for _ in range(3))
    record_grounded(plant.log, good, grounded=True, source="claims")
    judgements.judge(good, ADA, accepted=True)
    judgements.judge(bad, ADA, accepted=False)
    group = named(reported(plant))["support.refund"]
    assert (group.report.outcomes, group.report.trusted, group.report.cost_cents) == (3, 1, 90)
    assert group.report.cost_per_trusted_outcome_cents == 90
    assert (group.success.hits, group.success.n, group.undefined) == (1, 2, "")
    assert group.success.interval == pytest.approx((0.0945, 0.9055), abs=1e-3)
    assert group.report.retry_token_ratio == 0.1
    assert group.report.cache_hit_rate == 0.75


def test_no_trusted_outcome_or_an_unknown_cost_gives_none_and_why(
    plant: Plant, judgements: Judgements
) -> None:
    run = made(plant, intent="a", spent=SPENT)
    judgements.judge(run, ADA, accepted=True)
    report = reported(plant)
    assert report.whole.report.cost_per_trusted_outcome_cents is None
    assert report.whole.undefined == "no outcome is trusted"
    record_grounded(plant.log, run, grounded=True, source="claims")
    assert reported(plant).whole.report.cost_per_trusted_outcome_cents == 30
    made(plant, intent="a")
    report = reported(plant)
    assert report.whole.report.cost_per_trusted_outcome_cents is None
    assert report.whole.undefined == "the cost of 1 of 2 is not known"
    assert (report.sources, report.unpriced) == ({"reported": 1}, {"no cost was reported": 1})


def test_outcomes_are_grouped_and_what_a_person_calls_them_wins(plant: Plant, judgements: Judgements) -> None:
    first, _ = made(plant, "clerk", intent="a", spent=SPENT), made(plant, "courier", intent="b", spent=SPENT)
    made(plant, "clerk")
    judgements.judge(first, ADA, accepted=True, workflow="support.refund", intent="refund")
    sizes = {by: {it.name: it.report.outcomes for it in reported(plant, by).groups} for by in Grouping}
    assert sizes[Grouping.WORKFLOW] == {"support.refund": 1, "b": 1, "unstated": 1}
    assert sizes[Grouping.INTENT] == {"refund": 1, "b": 1, "unstated": 1}
    assert sizes[Grouping.AGENT] == {"clerk": 2, "courier": 1}
    assert sizes[Grouping.VERSION] == {"": 3}
    judgements.judge(first, ADA, accepted=False)
    assert {"support.refund", "b"} <= set(named(reported(plant)))


def test_only_runs_that_began_since_then_are_reported(plant: Plant, judgements: Judgements) -> None:
    judgements.judge(made(plant, intent="old", spent=SPENT), ADA, accepted=True)
    plant.clock.sleep(100)
    made(plant, intent="new", spent=SPENT)
    report = reported(plant, since=int((plant.clock.now() - 50) * 1e6))
    assert [group.name for group in report.groups] == ["new"]
    assert (report.whole.report.outcomes, report.whole.success.n, report.sources) == (1, 0, {"reported": 1})


def test_report_agrees_with_the_ledger(plant: Plant, judgements: Judgements) -> None:
    ledger, outcomes = TokenomicsLedger(), Outcomes(plant.log)
    runs = [made(plant, intent=f"w{number % 3}", spent=SPENT if number % 4 else None) for number in range(12)]
    for number, run in enumerate(runs):
        if number % 2:
            record_grounded(plant.log, run, grounded=number % 3 == 0, source="claims")
            judgements.judge(run, ADA, accepted=number % 5 != 0)
    in_force = judgements.in_force()
    outcomes.read()
    for outcome in outcomes.of(runs):
        ledger.record(outcome.record(in_force.get(outcome.run_id)))
    report = reported(plant)
    for name, group in named(report).items():
        assert group.report == ledger.report(workflow_id=name)
    assert report.whole.report == ledger.report()
    assert report.whole.report.trusted == 2


def test_another_currency_is_unknown_and_named() -> None:
    ledger = TokenomicsLedger()
    ledger.record(OutcomeRecord("a", CostBreakdown(120, currency="EUR"), True, True, True))
    ledger.record(OutcomeRecord("a", CostBreakdown(80), True, True, True))
    report = ledger.report()
    assert (report.unpriced, report.cost_cents, report.currencies) == (1, 80, frozenset({"EUR"}))
    assert report.cost_per_trusted_outcome_cents is None
    assert (report + TokenomicsReport()).currencies == {"EUR"}


def test_durable_workflow_names_the_work(plant: Plant) -> None:
    run = made(plant, intent="refund order 7", spent=SPENT)
    with plant.log.database.write() as execute:
        execute(
            "INSERT INTO workflows (id, name, run_id, started_at, owner, lease_until, args)"
            " VALUES ('wf_1', 'refund', ?, 1, '', 0, '{}')",
            (run,),
        )
    assert [group.name for group in reported(plant).groups] == ["refund"]
