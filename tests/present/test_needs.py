"""Needs: what is red in the list of what waits."""

from __future__ import annotations

from sb.present.needs import NEED, Need
from sb.present.states import state
from tests.rows import rows

MINUTE = 60_000_000


@rows(
    "effect, word, minutes, tone, when",
    [
        ("leaks", "waiting", 240, "danger", "soft"),
        ("deletes", "overdue", 120, "danger", "soft"),
        ("pays", "overdue", 120, "warn", "soft"),
        ("publishes", "waiting", 240, "warn", "soft"),
        ("installs", "expiring", 45, "warn", "soft"),
        ("installs", "expiring", 29, "danger", "danger"),
        ("pays", "waiting", 20, "danger", "danger"),
    ],
)
def test_red_is_what_destroys_or_leaks_or_lapses_within_half_an_hour(
    effect: str, word: str, minutes: int, tone: str, when: str
) -> None:
    need = Need("request", "apr_1", state(word), "x", ends_at=minutes * MINUTE, left="2h", effect=effect)
    cells = NEED.cells(need, 0, "list")
    assert (cells[0].tone, cells[-1].tone) == (tone, when)
