"""Business metrics: counted by hand, apart by intent and version, with the number and the interval of each share."""

from __future__ import annotations

import math

import pytest

from sb.errors import UsageError
from sb.kernel.business_metrics import BusinessMetrics, BusinessOutcome, Rate

FOUR = [
    BusinessOutcome("refund", "1", success=True, converted=True, deflected=True, csat=5, revenue_cents=900),
    BusinessOutcome("refund", "1", success=True, converted=False, csat=4, revenue_cents=100),
    BusinessOutcome("refund", "1", success=False, deflected=False, revenue_cents=50, currency="EUR"),
    BusinessOutcome("refund", "1"),
]


def metrics_of(*outcomes: BusinessOutcome) -> BusinessMetrics:
    metrics = BusinessMetrics()
    for outcome in outcomes:
        metrics.record(outcome)
    return metrics


def test_figures_equal_a_count_by_hand_over_what_is_known() -> None:
    report = metrics_of(*FOUR).report(intent="refund")
    assert report.n == 4
    assert (report.success, report.conversion, report.deflection) == (Rate(2, 3), Rate(1, 2), Rate(1, 2))
    assert (report.csat, report.csat_n) == (4.5, 2)
    assert report.revenue_cents == {"USD": 1000, "EUR": 50}, "currencies are never added up"


def test_versions_and_intents_do_not_touch_each_other() -> None:
    metrics = metrics_of(*FOUR)
    before = metrics.report(version="1")
    metrics.record(BusinessOutcome("refund", "2", success=False))
    metrics.record(BusinessOutcome(success=True))
    assert metrics.report(version="1") == before
    assert {intent: it.n for intent, it in metrics.by_intent().items()} == {"refund": 5, "unstated": 1}
    assert metrics.by_intent(version="2")["refund"].success == Rate(0, 1)


def test_what_nobody_knows_has_no_share_and_the_widest_interval() -> None:
    report = metrics_of().report()
    assert (report.success.value, report.success.interval, report.csat) == (None, (0.0, 1.0), None)


def test_the_interval_is_wilsons() -> None:
    low, high = Rate(8, 10).interval
    assert low == pytest.approx(0.490, abs=0.001)
    assert high == pytest.approx(0.943, abs=0.001)
    assert Rate(10, 10).interval[1] == 1


def test_an_intent_that_nobody_registered_is_refused_and_none_at_all_is_not() -> None:
    metrics = BusinessMetrics(intents={"refund", "exchange"})
    with pytest.raises(UsageError, match="no intent 'refnd'"):
        metrics.record(BusinessOutcome("refnd"))
    metrics.record(BusinessOutcome())
    assert metrics.report(intent="unstated").n == 1


@pytest.mark.parametrize("value", [0.9, 5.1, math.nan])
def test_satisfaction_off_its_scale_is_refused(value: float) -> None:
    with pytest.raises(UsageError, match="from 1 to 5"):
        BusinessOutcome(csat=value)
