"""Which writing operations has a stack? One for each kind of memory; none has rules of its own.

Source: the stack protocol, "Write operations", "Atomic updates", "Batch write", "Suggestion lifecycle" and "Trust layer".
"""

from __future__ import annotations

from typing import Any

from sb.stack.saving import Saver
from sb.stack.suggesting import Suggestions
from sb.stack.trusting import Trust
from sb.types import (
    Belief,
    Drive,
    Episode,
    Epoch,
    Goal,
    MemorySuggestion,
    Note,
    Playbook,
    RawEntry,
    Relationship,
    SelfNarrative,
    Summary,
    TrustAssessment,
    Value,
)


class Writes:
    """The writing half of a stack. Each method returns the id of the saved record, and may raise what `Saver.save` does.

    A record whose id is there already takes that one's place; a drive or relationship also takes the place of the one of
    its type or name, whose id it gets. A belief or value that says nothing, once the stack belongs to a core, becomes a rejected
    suggestion, and `suggestion:` with the id of that is returned.
    """

    _saver: Saver
    suggestions: Suggestions  # which can also be told who accepts or dismisses one, and why
    _trust: Trust

    def save_episode(self, episode: Episode) -> str:
        return self._saver.save("episode", [episode])[0]

    def save_belief(self, belief: Belief) -> str:
        return self._saver.save("belief", [belief])[0]

    def save_value(self, value: Value) -> str:
        return self._saver.save("value", [value])[0]

    def save_goal(self, goal: Goal) -> str:
        return self._saver.save("goal", [goal])[0]

    def save_note(self, note: Note) -> str:
        return self._saver.save("note", [note])[0]

    def save_drive(self, drive: Drive) -> str:
        return self._saver.save("drive", [drive])[0]

    def save_relationship(self, relationship: Relationship) -> str:
        return self._saver.save("relationship", [relationship])[0]

    def save_raw(self, raw: RawEntry) -> str:
        return self._saver.save("raw", [raw])[0]

    def save_playbook(self, playbook: Playbook) -> str:
        return self._saver.save("playbook", [playbook])[0]

    def save_epoch(self, epoch: Epoch) -> str:
        return self._saver.save("epoch", [epoch])[0]

    def save_summary(self, summary: Summary) -> str:
        return self._saver.save("summary", [summary])[0]

    def save_self_narrative(self, narrative: SelfNarrative) -> str:
        return self._saver.save("self_narrative", [narrative])[0]

    def save_suggestion(self, suggestion: MemorySuggestion) -> str:
        return self._saver.save("suggestion", [suggestion])[0]

    def save_episodes_batch(self, episodes: list[Episode]) -> list[str]:
        """Save all of them or, if one cannot be, none."""
        return self._saver.save("episode", episodes)

    def save_beliefs_batch(self, beliefs: list[Belief]) -> list[str]:
        """Save all of them or, if one cannot be, none."""
        return self._saver.save("belief", beliefs)

    def save_notes_batch(self, notes: list[Note]) -> list[str]:
        """Save all of them or, if one cannot be, none."""
        return self._saver.save("note", notes)

    def update_drive_atomic(self, drive: Drive, expected_version: int | None = None) -> bool:
        """Change a drive unless somebody else did; False if it is gone.

        Args:
            expected_version: the version it has to be at, by default the drive's own.

        Raises:
            VersionConflictError: it is at another version.
        """
        return self._saver.update("drive", drive, expected_version)

    def update_relationship_atomic(
        self, relationship: Relationship, expected_version: int | None = None
    ) -> bool:
        """Change a relationship unless somebody else did; see `update_drive_atomic`."""
        return self._saver.update("relationship", relationship, expected_version)

    def accept_suggestion(
        self, suggestion_id: str, modifications: dict[str, Any] | None = None
    ) -> str | None:
        """Make the memory that is suggested, and return its id; None if it is not pending, or is worded so that it cannot be kept.

        Args:
            modifications: attributes of the memory that are to be other than suggested.

        Raises:
            ValueError: no such memory can be made; the suggestion stays pending.
        """
        return self.suggestions.accept(suggestion_id, modifications)

    def dismiss_suggestion(self, suggestion_id: str, reason: str | None = None) -> bool:
        """Settle a suggestion without making the memory; False unless it was pending."""
        return self.suggestions.dismiss(suggestion_id, reason)

    def expire_suggestions(self, max_age_hours: float = 168) -> list[str]:
        """Settle the suggestions that have been pending for longer; returns their ids."""
        return self.suggestions.expire(max_age_hours)

    def save_trust_assessment(self, assessment: TrustAssessment) -> str:
        """Keep an assessment, or add its domains to the one of that entity; returns its id.

        Raises:
            ValueError: a score is not from 0 to 1.
        """
        return self._trust.save(assessment)
