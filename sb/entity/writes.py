"""Write each kind of memory to the active stack, with its provenance.

Source: the core protocol, "Routed memory operations". The drives and relationships, which stand for one thing each, are in
`sb.entity.upserts`.
"""

from __future__ import annotations

from typing import Unpack

from sb.entity.outcomes import outcome_type
from sb.entity.routing import Origin, Routing, clamped, non_blank, normal_word, text
from sb.protocols.types import RawEntry
from sb.protocols.types.vocabulary import BELIEF_TYPES, GOAL_TYPES, NOTE_TYPES

_CORE_VALUE = "core_value"
_LASTING_GOALS = frozenset({"aspiration", "commitment"})  # they say who somebody is, and are not forgotten


class RoutedWrites(Routing):
    """Writes what is new. Each method returns the id that the stack gave: `suggestion:<id>` where the stack keeps it
    as a suggestion instead.

    Args:
        origin: the provenance, as keywords: see `Origin`.

    Raises:
        NoActiveStackError: no stack is active. ValueError: a word or number is none that it can be.
        ProvenanceError, MaintenanceModeError: the stack does not take it. Nothing was written then.
    """

    def episode(
        self,
        objective: str,
        outcome: str,
        *,
        lessons: list[str] | None = None,
        repeat: list[str] | None = None,
        avoid: list[str] | None = None,
        tags: list[str] | None = None,
        **origin: Unpack[Origin],
    ) -> str:
        """Save an episode; whether it succeeded is read from the outcome."""
        return self._save(
            "episode",
            origin,
            objective=objective,
            outcome=outcome,
            outcome_type=outcome_type(text("outcome", outcome)),
            lessons=lessons,
            repeat=repeat,
            avoid=avoid,
            tags=tags,
        )

    def belief(
        self,
        statement: str,
        *,
        type: str = "fact",
        confidence: float = 0.8,
        foundational: bool = False,
        **origin: Unpack[Origin],
    ) -> str:
        """Save a belief.

        Args:
            confidence: from 0 to 1; what is beyond counts as the nearest. foundational: it is never forgotten.
        """
        self._required_stack()
        return self._save(
            "belief",
            origin,
            statement=statement,
            belief_type=normal_word("belief type", type, BELIEF_TYPES),
            confidence=clamped("confidence", confidence),
            is_protected=foundational,
        )

    def value(
        self,
        name: str,
        statement: str,
        *,
        priority: int = 50,
        type: str = _CORE_VALUE,
        foundational: bool = False,
        **origin: Unpack[Origin],
    ) -> str:
        """Save a value.

        Args:
            priority: from 0 to 100.
            type: a core value is never forgotten; one of another type only if it is foundational, and it has the
                type among its context tags.
        """
        self._required_stack()
        core = non_blank("the type of a value", type) == _CORE_VALUE
        if not core:
            origin["context_tags"] = [*(origin.get("context_tags") or ()), f"value_type:{type}"]
        return self._save(
            "value",
            origin,
            name=name,
            statement=statement,
            priority=priority,
            is_protected=core or foundational,
        )

    def goal(
        self,
        title: str,
        *,
        description: str | None = None,
        goal_type: str = "task",
        priority: str = "medium",
        **origin: Unpack[Origin],
    ) -> str:
        """Save a goal; aspirations and commitments are never forgotten."""
        self._required_stack()
        kind = normal_word("goal_type", goal_type, GOAL_TYPES)
        return self._save(
            "goal",
            origin,
            title=title,
            description=description,
            goal_type=kind,
            priority=priority,
            is_protected=kind in _LASTING_GOALS,
        )

    def note(
        self,
        content: str,
        *,
        type: str = "note",
        speaker: str | None = None,
        reason: str | None = None,
        tags: list[str] | None = None,
        protect: bool = False,
        **origin: Unpack[Origin],
    ) -> str:
        """Save a note, word for word.

        Args:
            protect: it is never forgotten.
        """
        self._required_stack()
        return self._save(
            "note",
            origin,
            content=content,
            note_type=normal_word("note type", type, NOTE_TYPES),
            speaker=speaker,
            reason=reason,
            tags=tags,
            is_protected=protect,
        )

    def raw(self, blob: str, *, source: str | None = None) -> str:
        """Save raw input, to be processed later."""
        stack = self._required_stack()
        return stack.save_raw(
            RawEntry(
                self._new_id(), stack.stack_id, blob, captured_at=self._now(), source=self._source(source)
            )
        )
