"""One wording for every face: state words and their tones."""

from __future__ import annotations

from sb.present.states import STATES, fact, state


def test_badges_are_the_states_that_ask_for_action_and_fit_the_column() -> None:
    filled = {word for word, item in STATES.items() if item.badge}
    assert {"waiting", "expiring", "unknown", "new", "conflict"} <= filled
    assert not filled & {"ok", "denied", "approved", "undone"}
    assert all(len(word) <= 10 for word in STATES)


def test_an_approval_is_quiet_as_a_state_and_green_as_an_event() -> None:
    assert (state("approved").tone, fact("approved").tone) == ("soft", "ok")
    assert not fact("unknown").badge
    assert state("never heard of").tone == "soft"
