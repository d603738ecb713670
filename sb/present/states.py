"""State words: the one list of them, with the tone of each and whether it asks for action."""

from __future__ import annotations

from sb.base.values.frozen import frozen

SOFT, OK, WARN, DANGER, INFO = "soft", "ok", "warn", "danger", "info"


@frozen
class State:
    """Look of a state word.

    Args:
        tone: names a color token.
        badge: filled: somebody has to act.
    """

    word: str
    tone: str = SOFT
    badge: bool = False


_BADGES = {
    WARN: "waiting changed reversal flaky",
    DANGER: "expiring overdue unknown quarantine unreadable",
    INFO: "new conflict trigger suggested ignored proposed",
}
_PLAIN = {
    SOFT: "ok approved passed ended expired revoked used reversed dismissed settled started present",
    WARN: "asked fading weak pending edited warn missing partial asks",
    DANGER: "refused denied failed fail stopped broken invalid",
    INFO: "undone restored lifted",
    OK: "on verified active running protected current granted",
}
STATES = {
    **{word: State(word, tone, True) for tone, words in _BADGES.items() for word in words.split()},
    **{word: State(word, tone) for tone, words in _PLAIN.items() for word in words.split()},
}


def state(word: str) -> State:
    """A state word with its tone; one that is not listed is quiet."""
    return STATES.get(word) or State(word)


def tone_of(word: str) -> str:
    """The tone of a state word on the command line; "" for anything ordinary."""
    tone = state(word).tone
    return "" if tone == SOFT else tone


def fact(word: str) -> State:
    """The same for a list of what happened, where nothing asks for action."""
    return State(word, OK if word == "approved" else state(word).tone)
