"""One wording for every face: ages, counts and state words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sb.present.counts import compact, grouped
from sb.present.states import STATES, fact, state
from sb.present.times import short_age, short_left
from sb.sources import MICROSECONDS

NOW = int(datetime(2025, 11, 22, 12, tzinfo=UTC).timestamp()) * MICROSECONDS


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-60, "now"),
        (4, "now"),
        (40, "40s"),
        (59 * 60, "59m"),
        (3 * 3600 + 3599, "3h"),
        (6 * 86_400, "6d"),
        (10 * 86_400, "12 Nov"),
        (400 * 86_400, "2024-10"),
    ],
)
def test_an_age_is_in_its_largest_unit_and_old_ones_are_dates(seconds: int, text: str) -> None:
    assert short_age(NOW - seconds * MICROSECONDS, NOW) == text


def test_time_left_is_empty_when_nothing_runs_out_or_it_has() -> None:
    assert short_left(NOW + (58 * 60 + 59) * MICROSECONDS, NOW) == "58m"
    assert (short_left(None, NOW), short_left(NOW, NOW)) == ("", "")


def test_large_counts_are_true_in_titles_and_never_too_high_in_tabs() -> None:
    assert (grouped(10_000), grouped(999)) == ("10 000", "999")
    counts = {999: "999", 1_000: "1k", 1_999: "1.9k", 9_999: "9.9k", 10_000: "10k", 3_400_000: "3.4M"}
    assert {count: compact(count) for count in counts} == counts


def test_badges_are_the_states_that_ask_for_action_and_fit_the_column() -> None:
    filled = {word for word, one in STATES.items() if one.badge}
    assert {"waiting", "expiring", "unknown", "new", "conflict"} <= filled
    assert not filled & {"ok", "denied", "approved", "undone"}
    assert all(len(word) <= 10 for word in STATES)


def test_an_approval_is_quiet_as_a_state_and_green_as_an_event() -> None:
    assert (state("approved").tone, fact("approved").tone) == ("soft", "ok")
    assert not fact("unknown").badge
    assert state("never heard of").tone == "soft"
