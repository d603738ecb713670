"""Tokenomics: outcomes that can be trusted, what they cost, and figures that are None where they are not known."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.errors import UsageError
from sb.kernel.tokenomics import CostBreakdown, OutcomeRecord, TokenomicsLedger

TRUSTED = OutcomeRecord(
    workflow_id="support.refund",
    cost=CostBreakdown(model_cost_cents=120, eval_tokens=40, retry_tokens=10),
    accepted=True,
    grounded=True,
    policy_compliant=True,
)


def test_the_example_of_the_specification() -> None:
    ledger = TokenomicsLedger()
    ledger.record(TRUSTED)
    report = ledger.report(workflow_id="support.refund")
    assert report.cost_per_trusted_outcome_cents == 120
    assert (report.retry_token_ratio, report.eval_overhead_ratio) == (0.2, 0.8)
    assert report.cache_hit_rate is None, "no model read anything"


@pytest.mark.parametrize("known", list(product([True, False, None], repeat=3)))
def test_only_what_is_known_to_be_accepted_grounded_and_compliant_is_trusted(
    known: tuple[bool | None, ...],
) -> None:
    accepted, grounded, compliant = known
    outcome = replace(TRUSTED, accepted=accepted, grounded=grounded, policy_compliant=compliant)
    assert outcome.trusted == (known == (True, True, True))


def test_what_produced_nothing_stays_in_the_cost() -> None:
    ledger = TokenomicsLedger()
    ledger.record(replace(TRUSTED, accepted=False))
    assert ledger.report().cost_per_trusted_outcome_cents is None
    ledger.record(TRUSTED)
    assert ledger.report().cost_per_trusted_outcome_cents == 240


def test_a_cost_that_nobody_priced_is_unknown_and_not_zero() -> None:
    ledger = TokenomicsLedger()
    ledger.record(TRUSTED)
    ledger.record(replace(TRUSTED, cost=CostBreakdown(model_cost_cents=None, input_tokens=9)))
    report = ledger.report()
    assert (report.outcomes, report.trusted, report.unpriced) == (2, 2, 1)
    assert report.cost_per_trusted_outcome_cents is None
    assert report.cost_cents == 120


def test_a_report_is_over_the_outcomes_that_have_all_that_is_asked_for() -> None:
    ledger = TokenomicsLedger()
    for place, (agent, intent, version) in enumerate(
        product(("clerk", "scribe"), ("refund", ""), ("1", "2"))
    ):
        ledger.record(replace(TRUSTED, agent=agent, intent=intent, version=version, at=float(place)))
    assert ledger.report().outcomes == 8
    assert ledger.report(agent="clerk").outcomes == 4
    assert ledger.report(agent="clerk", intent="refund").outcomes == 2
    assert ledger.report(agent="clerk", intent="refund", version="2").outcomes == 1
    assert ledger.report(since=6).outcomes == 2
    assert ledger.report(workflow_id="other").outcomes == 0
    assert ledger.report(workflow_id="other").retry_token_ratio is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_cost_cents", -1),
        ("tool_cost_cents", math.nan),
        ("review_cost_cents", math.inf),
        ("eval_tokens", -1),
        ("retry_tokens", None),
        ("input_tokens", True),
        ("output_tokens", "7"),
    ],
)
def test_a_cost_that_is_none_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"{name} is"):
        CostBreakdown(**{name: value})  # type: ignore[arg-type]


def test_more_cached_than_read_is_refused() -> None:
    with pytest.raises(UsageError, match="5 tokens were cached, of 4"):
        CostBreakdown(input_tokens=4, cached_tokens=5)


costs = st.builds(
    CostBreakdown,
    model_cost_cents=st.none() | st.integers(0, 10_000),
    input_tokens=st.integers(50, 10_000),
    output_tokens=st.integers(0, 10_000),
    cached_tokens=st.integers(0, 50),
    eval_tokens=st.integers(0, 500),
    retry_tokens=st.integers(0, 500),
)
truths = st.none() | st.booleans()
outcomes = st.builds(
    OutcomeRecord, st.just("w"), costs, accepted=truths, grounded=truths, policy_compliant=truths
)


@given(st.lists(outcomes, max_size=12))
def test_shares_lie_between_none_and_all_and_the_order_does_not_matter(records: list[OutcomeRecord]) -> None:
    forth, back = TokenomicsLedger(), TokenomicsLedger()
    for record in records:
        forth.record(record)
    for record in reversed(records):
        back.record(record)
    report = forth.report()
    assert report == back.report()
    shares = (report.retry_token_ratio, report.eval_overhead_ratio, report.cache_hit_rate)
    assert all(share is None or 0 <= share <= 1 for share in shares)
    assert (report.cost_per_trusted_outcome_cents is None) == (not report.trusted or bool(report.unpriced))
