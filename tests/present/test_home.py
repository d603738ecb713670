"""Home's lines: nothing that is fine takes a row, nothing that is off is folded away."""

from __future__ import annotations

import time

import pytest

from sb.base.sources import MICROSECONDS
from sb.kernel.review.activity import Tally
from sb.kernel.review.findings import Finding, Status
from sb.present.home import enforced, midnight, today_words
from tests.rows import rows


def test_what_is_enforced_is_one_line_and_what_is_off_keeps_its_row() -> None:
    fine, off = Finding("contracts", Status.OK, "x"), Finding("undo", Status.FAIL, "undo is off")
    assert enforced([fine, Finding("policy", Status.OK, "y")]).on == "contracts, policy"
    assert enforced([fine, off]).on == "contracts"
    assert enforced([fine, off]).off == (off,)
    both = [Finding("operators", Status.OK, "ada"), Finding("operators", Status.WARN, "two are needed")]
    assert enforced(both).on == ""


def test_today_says_only_what_happened_and_never_that_an_unknown_cost_is_nothing() -> None:
    assert today_words(Tally(calls=1), None) == (("1 call", ""),)
    assert today_words(Tally(calls=308, refused=11), 6.41) == (
        ("308 calls", ""),
        ("11 refused", "danger"),
        ("$6.41", ""),
    )


@rows("cost, tone", [(6.41, ""), (16.0, "warn"), (20.0, "danger"), (31.5, "danger")])
def test_a_cost_stands_beside_the_budget_of_a_day_and_says_when_that_is_spent(cost: float, tone: str) -> None:
    assert today_words(Tally(), cost, 20.0)[-1] == (f"${cost:.2f} of $20.00", tone)
    assert today_words(Tally(), None, 20.0) == (("0 calls", ""),)


def test_a_day_begins_at_the_operators_midnight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")  # half an hour off
    time.tzset()
    try:
        noon_utc = 1_700_000_000 // 86_400 * 86_400 + 43_200
        assert midnight(noon_utc * MICROSECONDS) == (noon_utc - 43_200 - 19_800) * MICROSECONDS
    finally:
        monkeypatch.undo()
        time.tzset()
