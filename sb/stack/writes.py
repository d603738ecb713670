"""Which writing operations has a stack? One for each kind of memory; none has rules of its own.

Source: the stack protocol, "Write operations", "Atomic updates" and "Batch write".
"""

from __future__ import annotations

from sb.stack.saving import Saver
from sb.types import (
    Belief,
    Drive,
    Episode,
    Epoch,
    Goal,
    Note,
    Playbook,
    RawEntry,
    Relationship,
    SelfNarrative,
    Summary,
    Value,
)


class Writes:
    """The writing half of a stack. Each method returns the id of the saved record, and may raise what `Saver.save` does.

    A record whose id is there already takes that one's place; a drive or relationship also takes the place of the one of
    its type or name, whose id it gets.
    """

    _saver: Saver

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
