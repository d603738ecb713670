"""The tone of a state word: the same on the command line and in the console."""

from __future__ import annotations

_WORDS = {
    "ok": "on verified",
    "warn": "waiting changed reversal flaky asked fading weak warn missing partial asks",
    "danger": "expiring overdue unknown quarantine refused denied failed fail stopped broken unreadable",
    "info": "new conflict trigger undone restored reversed",
}
_TONES = {word: tone for tone, words in _WORDS.items() for word in words.split()}


def tone_of(word: str) -> str:
    """ok, warn, danger or info; "" for a word that is no news."""
    return _TONES.get(word, "")
