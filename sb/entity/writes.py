"""What can a core remember? Each kind once, routed to the active stack with where it comes from.

Source: the core protocol, "Routed memory operations". The drives and relationships, which stand for one thing each, are in
`sb.entity.upserts`.
"""

from __future__ import annotations

from sb.entity.outcomes import outcome_type
from sb.entity.routing import Routing, clamped, normal_word, said, text
from sb.types import Belief, Episode, Goal, Note, RawEntry, SourceType, Value
from sb.types.vocabulary import BELIEF_TYPES, GOAL_TYPES, NOTE_TYPES

_CORE_VALUE = "core_value"
_LASTING_GOALS = frozenset({"aspiration", "commitment"})  # they say who somebody is, and are not forgotten


class RoutedWrites(Routing):
    """Writes what is new. Each method returns the id that the stack gave: `suggestion:<id>` where the stack keeps it
    as a suggestion instead.

    Args:
        source: who or what it came from; by default this core. derived_from: references `type:id`.
        source_type: a word of `sb.types.SourceType`; by default direct experience.
        context, context_tags: what it belongs to.

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
        source: str | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
        source_type: SourceType | str | None = None,
    ) -> str:
        """Something that was tried, and what came of it; whether it ended well is read from the outcome."""
        stack = self._required_stack()
        origin = self._origin(stack, source, source_type, derived_from, context, context_tags)
        return stack.save_episode(
            Episode(
                objective=objective,
                outcome=outcome,
                outcome_type=outcome_type(text("outcome", outcome)),
                lessons=lessons,
                repeat=repeat,
                avoid=avoid,
                tags=tags,
                **origin,
            )
        )

    def belief(
        self,
        statement: str,
        *,
        type: str = "fact",
        confidence: float = 0.8,
        foundational: bool = False,
        source: str | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
        source_type: SourceType | str | None = None,
    ) -> str:
        """Something held to be true.

        Args:
            confidence: from 0 to 1; what is beyond counts as the nearest. foundational: it is never forgotten.
        """
        stack = self._required_stack()
        origin = self._origin(stack, source, source_type, derived_from, context, context_tags)
        return stack.save_belief(
            Belief(
                statement=statement,
                belief_type=normal_word("belief type", type, BELIEF_TYPES),
                confidence=clamped("confidence", confidence),
                is_protected=foundational,
                **origin,
            )
        )

    def value(
        self,
        name: str,
        statement: str,
        *,
        priority: int = 50,
        type: str = _CORE_VALUE,
        foundational: bool = False,
        source: str | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
        source_type: SourceType | str | None = None,
    ) -> str:
        """Something that matters.

        Args:
            priority: from 0 to 100.
            type: a core value is never forgotten; one of another type only if it is foundational, and it has the
                type among its context tags.
        """
        stack = self._required_stack()
        core = said("the type of a value", type) == _CORE_VALUE
        tags = context_tags if core else [*(context_tags or ()), f"value_type:{type}"]
        origin = self._origin(stack, source, source_type, derived_from, context, tags)
        return stack.save_value(
            Value(
                name=name,
                statement=statement,
                priority=priority,
                is_protected=core or foundational,
                **origin,
            )
        )

    def goal(
        self,
        title: str,
        *,
        description: str | None = None,
        goal_type: str = "task",
        priority: str = "medium",
        source: str | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
        source_type: SourceType | str | None = None,
    ) -> str:
        """Something to be reached; aspirations and commitments are never forgotten."""
        stack = self._required_stack()
        kind = normal_word("goal_type", goal_type, GOAL_TYPES)
        origin = self._origin(stack, source, source_type, derived_from, context, context_tags)
        return stack.save_goal(
            Goal(
                title=title,
                description=description,
                goal_type=kind,
                priority=priority,
                is_protected=kind in _LASTING_GOALS,
                **origin,
            )
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
        source: str | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
        source_type: SourceType | str | None = None,
    ) -> str:
        """Something worth writing down, kept word for word.

        Args:
            protect: it is never forgotten.
        """
        stack = self._required_stack()
        origin = self._origin(stack, source, source_type, derived_from, context, context_tags)
        return stack.save_note(
            Note(
                content=content,
                note_type=normal_word("note type", type, NOTE_TYPES),
                speaker=speaker,
                reason=reason,
                tags=tags,
                is_protected=protect,
                **origin,
            )
        )

    def raw(self, blob: str, *, source: str | None = None) -> str:
        """Something as it came, for later."""
        stack = self._required_stack()
        return stack.save_raw(
            RawEntry(
                self._new_id(), stack.stack_id, blob, captured_at=self._now(), source=self._source(source)
            )
        )
