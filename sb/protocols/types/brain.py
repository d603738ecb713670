"""The kinds of a Brain: events, facts, decisions, entities and others.

Source: the memory whitepaper, "memory typology", "prospective memory" and "handoff packets".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

from sb.base.values.frozen import mutable


@dataclass(kw_only=True)
class Remembered:
    """The fields of every memory of a Brain.

    Args:
        id: public id; "" until it is kept.
        scope, agent_id, private, stack_id: where it stands and whose it is; the Brain that keeps it says so.
        source_type: one of `sb.protocols.types.SOURCES`. source_entity: who or what it came from.
        derived_from: references to records, as ids or `kind:id`.
        confidence: from 0 to 1. strength: how present it is, from 1 down to 0.
        happened_at: when what it tells was; by default when it was kept.
        subject_ids: whom it is about. access_grants: agents that may read it, None for all that see its place.
        consent_grants: who of the subjects agreed; where it is given, nobody reads it before all have.
    """

    id: str = ""
    stack_id: str = "default"
    scope: str = "global"
    agent_id: str = ""
    private: bool = False
    source_type: str = "agent-written"
    source_entity: str | None = None
    derived_from: list[str] | None = None
    confidence: float = 0.8
    evidence_n: float = 2.0
    strength: float = 1.0
    times_accessed: int = 0
    last_accessed: datetime | None = None
    is_protected: bool = False
    tags: list[str] | None = None
    happened_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int = 1
    subject_ids: list[str] | None = None
    access_grants: list[str] | None = None
    consent_grants: list[str] | None = None


class Fields(TypedDict, total=False):
    """Fields of `Remembered` that may be given as keywords where a memory is saved; its place is not among them."""

    id: str
    source_type: str
    source_entity: str | None
    derived_from: list[str] | None
    confidence: float
    evidence_n: float
    strength: float
    is_protected: bool
    tags: list[str] | None
    happened_at: datetime | None
    subject_ids: list[str] | None
    access_grants: list[str] | None
    consent_grants: list[str] | None


class SpokenFields(Fields, total=False):
    """The same of an `Event` or a `Fact`."""

    speaker: str | None


class FactFields(SpokenFields, total=False):
    """The same of a `Fact`."""

    claim: str


class EntityFields(Fields, total=False):
    """The same of an `EntityRecord`."""

    properties: dict[str, Any]
    standing: dict[str, Any] | None


@mutable
class Event(Remembered):
    """Something that happened, for good."""

    summary: str
    event_type: str = "observation"
    speaker: str | None = None


@mutable
class Fact(Remembered):
    """Something known, of one of nine categories.

    Args:
        claim: the key of what it claims, such as `Alice · role`; by default it is read from the text.
    """

    content: str
    category: str = "project"
    speaker: str | None = None
    claim: str = ""


@mutable
class Decision(Remembered):
    """A decision and its rationale; neither changes."""

    title: str
    rationale: str


@mutable
class EntityRecord(Remembered):
    """Somebody or something, and what was observed of it.

    Args:
        standing: what else a stack keeps of the relationship with it, by the names of `sb.protocols.types.Relationship`.
    """

    name: str
    entity_type: str
    observations: list[str] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)
    standing: dict[str, Any] | None = None


@mutable
class Affect(Remembered):
    """An emotional state: valence, arousal and dominance, each from -1 to 1."""

    about: str
    valence: float = 0.0
    arousal: float = 0.0
    dominance: float = 0.0


@mutable
class Trigger(Remembered):
    """A prospective memory: an action for when its precondition comes up.

    Args:
        precondition: in one line. conditions: its parts; without them it is words.
        every_session: it stays pending when it has fired, and is shown once in each session.
    """

    precondition: str
    action: str
    status: str = "pending"
    expires_at: datetime | None = None
    conditions: dict[str, Any] | None = None
    every_session: bool = False
    snoozed_until: datetime | None = None


@mutable
class Lesson(Remembered):
    """A lesson from a failure, shown at the call that it is about.

    Args:
        cause: how that call ended. conditions: the parts of a precondition, as triggers have them.
        worked: the call that worked in its place. worked_call: its id in the log.
    """

    content: str
    cause: str | None = None
    status: str = "active"
    conditions: dict[str, Any] | None = None
    worked: str | None = None
    worked_call: str | None = None


@mutable
class Handoff(Remembered):
    """A handoff to the next session or another agent.

    Args:
        recipient: the agent it is for, or "" for whoever comes next.
        knows: ids of the records that the sender built on, with their versions: what it took for true.
        signature: over all of it, by a key that this home derives for the sender.
    """

    goal: str
    current_state: str
    open_loops: list[str] = field(default_factory=list)
    next_step: str = ""
    recipient: str = ""
    session: str | None = None
    knows: dict[str, int] = field(default_factory=dict)
    status: str = "pending"
    signature: str = ""
