"""Detect the valence, arousal and emotions of episodes, unless their author gave them.

A save waits for no model: what its words say is kept with it, and a bound model judges the newest ones in maintenance.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sb.protocols.types import Episode
from sb.stack.components.component import Component
from sb.stack.components.prompts import asked, number_within, words_within
from sb.stack.emotion_lexicon import felt
from sb.stack.storage import StackStorage

_FIELDS = ("emotional_valence", "emotional_arousal", "emotional_tags")
_JUDGED = (
    "emotions_judged_at"  # the setting of a stack: up to when a model has judged, in seconds since the epoch
)
_AT_ONCE = 20  # episodes that a model is asked about
_MOST_EMOTIONS = 5
_TASK = (
    "For each episode say how it felt to whoever went through it. Answer with"
    ' [{"number": its number, "valence": -1 to 1, "arousal": 0 to 1, "emotions": ["joy", …]}].'
)


class EmotionalTaggingComponent(Component):
    """Says of episodes how they felt."""

    name = "emotions"
    needs_inference = True

    def on_save(self, memory_type: str, memory_id: str, memory: Any) -> dict[str, Any] | None:
        if memory_type != "episode" or any(getattr(memory, field) for field in _FIELDS):
            return None
        return _by_words(memory) or None

    def _maintain(self, storage: StackStorage) -> dict[str, Any]:
        report = {"judged": 0, "inference_available": self._inference is not None}
        since = datetime.fromtimestamp(storage.setting(_JUDGED) or 0, UTC)
        waiting = [
            entry
            for entry in storage.select("episode", limit=_AT_ONCE, own=True)
            if entry.local_updated_at > since and _said_by_words(entry)
        ]
        if self._inference is None or not waiting:
            return report
        shown = [
            {"number": at, "objective": entry.objective, "outcome": entry.outcome}
            for at, entry in enumerate(waiting)
        ]
        answer = asked(self._inference, _TASK, shown)
        if answer is None:
            return report
        for item in answer:
            at, changes = item.get("number"), _judged(item)
            if type(at) is int and 0 <= at < len(waiting) and changes:
                report["judged"] += storage.amend("episode", waiting[at].id, changes, component=self.name)
        storage.save_setting(_JUDGED, storage.clock.now())
        return report


def _by_words(episode: Episode) -> dict[str, Any]:
    found = felt(f"{episode.objective}. {episode.outcome}")
    return (
        dict(zip(_FIELDS, (found.valence, found.arousal, list(found.emotions)), strict=True)) if found else {}
    )


def _said_by_words(episode: Episode) -> bool:
    """True if nobody said more of it than its words do."""
    fields = {field: getattr(episode, field) for field in _FIELDS if getattr(episode, field)}
    return fields == {field: value for field, value in _by_words(episode).items() if value}


def _judged(answer: dict[str, Any]) -> dict[str, Any]:
    valence, arousal = number_within(answer.get("valence"), -1, 1), number_within(answer.get("arousal"), 0, 1)
    if valence is None or arousal is None:
        return {}
    values = (valence, arousal, words_within(answer.get("emotions"), _MOST_EMOTIONS))
    return dict(zip(_FIELDS, values, strict=True))
