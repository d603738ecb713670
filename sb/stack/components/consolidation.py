"""Turn recurring lessons of episodes into beliefs; a bound model finds those worded otherwise."""

from __future__ import annotations

import hashlib
from typing import Any

from sb.protocols.types import Episode
from sb.stack.components.component import Component
from sb.stack.components.prompts import asked
from sb.stack.promotion import Pattern
from sb.stack.storage import StackStorage

_SHOWN = 60  # episodes that a model is shown
_MOST = 5  # themes that are taken from one answer
_SHORTEST, _LONGEST = 10, 300  # characters of a theme
_SEEN = "consolidation_seen"  # the setting of a stack: a digest of what a model was asked about last
_TASK = (
    "Each memory is an episode with the lessons drawn from it. Find what at least two of them teach in common."
    ' Answer with [{"statement": "one plain sentence", "episodes": [numbers of the episodes that teach it]}],'
    " or [] if they have nothing in common."
)


class ConsolidationComponent(Component):
    """Makes beliefs of common lessons; see `SQLiteStack.promote`."""

    name = "consolidation"
    needs_inference = True

    def _maintain(self, storage: StackStorage) -> dict[str, Any]:
        report = storage.promoter.promote()
        themes = self._themes(storage)
        made = storage.promoter.keep(themes)
        return report | {
            "inference_available": self._inference is not None,
            "synthesized_themes": [pattern.statement for pattern in themes],
            "beliefs_created": report["beliefs_created"] + len(made),
            "belief_ids": [*report["belief_ids"], *made],
        }

    def _themes(self, storage: StackStorage) -> list[Pattern]:
        """Asks the model for themes of the newest lessons, unless these were asked about before."""
        episodes = storage.promoter.episodes()[:_SHOWN]
        if self._inference is None or len(episodes) < 2:
            return []
        shown = [{"number": at, "lessons": episode.lessons} for at, episode in enumerate(episodes)]
        seen = hashlib.blake2b(repr(shown).encode("utf-8", "replace"), digest_size=12).hexdigest()
        if storage.setting(_SEEN) == seen:
            return []
        themes: list[Pattern] = []
        for some in (group for group in storage.by_visibility(episodes) if len(group) > 1):
            shown = [{"number": at, "lessons": item.lessons} for at, item in enumerate(some)]
            answer = asked(self._inference, _TASK, shown)
            if answer is None:
                return []
            themes += [found for item in answer if (found := _theme(item, some))][:_MOST]
        storage.save_setting(_SEEN, seen)
        return themes


def _theme(answer: dict[str, Any], episodes: list[Episode]) -> Pattern | None:
    """Returns a model's theme, if it is a sentence and names at least two existing episodes."""
    statement, numbers = answer.get("statement"), answer.get("episodes")
    if not isinstance(statement, str) or not isinstance(numbers, list):
        return None
    text = " ".join(statement.split())
    named = dict.fromkeys(number for number in numbers if type(number) is int and 0 <= number < len(episodes))
    if len(named) < 2 or not _SHORTEST <= len(text) <= _LONGEST:
        return None
    return Pattern(text, tuple(episodes[number].id for number in named))
