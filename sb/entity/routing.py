"""Route writes to the active stack, with the provenance of each new memory.

Source: the core protocol, "Operation routing".
"""

from __future__ import annotations

import math
import uuid
from datetime import UTC, datetime
from typing import Any, TypedDict

from sb.base.sources import Clock, Ids
from sb.errors import NoActiveStackError
from sb.protocols import StackProtocol
from sb.protocols.types import SourceType
from sb.protocols.types.vocabulary import SOURCES
from sb.store.records.descriptors import DESCRIPTORS

CORE = "core:"  # before the id of the core that something came from
SYSTEMS = ("sb:", "kernle:")  # before what the system wrote itself, which needs no other source
_MIGRATED = tuple(f"{system}pre-v0.9" for system in SYSTEMS)  # what has no sources since it had none then
PLUGIN = "plugin:"  # before the name of the plugin


class Origin(TypedDict, total=False):
    """The provenance that a caller may give for a memory.

    Args:
        source: who or what it came from; by default this core. derived_from: references `type:id`.
        context, context_tags: what it belongs to.
        source_type: a word of `sb.protocols.types.SourceType`, or of a Brain, such as `tool-output`; by default direct experience.
    """

    source: str | None
    derived_from: list[str] | None
    context: str | None
    context_tags: list[str] | None
    source_type: SourceType | str | None


class Routing:
    """The stacks of a core, one of them active, and the provenance of its writes."""

    def __init__(self, core_id: str, clock: Clock, ids: Ids) -> None:
        self._core_id = core_id
        self._clock = clock
        self._ids = ids
        self._stacks: dict[str, StackProtocol] = {}
        self._active_id: str | None = None

    @property
    def core_id(self) -> str:
        return self._core_id

    @property
    def active_stack(self) -> StackProtocol | None:
        """The stack that routed operations go to."""
        return None if self._active_id is None else self._stacks[self._active_id]

    def _required_stack(self) -> StackProtocol:
        stack = self.active_stack
        if stack is None:
            attached = ", ".join(self._stacks)
            hint = f"set_active_stack: {attached}" if attached else "attach_stack attaches one"
            raise NoActiveStackError(f"core {self._core_id} has no active stack", hint)
        return stack

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def _new_id(self) -> str:
        return str(uuid.UUID(self._ids.token(16), version=4))

    def _save(self, kind: str, origin: Origin, **content: Any) -> str:
        """Saves a new memory in the active stack; returns the id that the stack gave."""
        stack = self._required_stack()
        own = {"source_entity": self._source(None), "source_type": SourceType.DIRECT_EXPERIENCE.value}
        record = DESCRIPTORS[kind].type(
            id=self._new_id(),
            stack_id=stack.stack_id,
            created_at=self._now(),
            **(own | self._given(**origin) | content),
        )
        saved: str = getattr(stack, f"save_{kind}")(record)
        return saved

    def _given(
        self,
        source: str | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
        source_type: SourceType | str | None = None,
    ) -> dict[str, Any]:
        """The attributes of a memory that its caller gave a provenance for."""
        given = {
            "source_entity": None if source is None else self._source(source),
            "source_type": None if source_type is None else normal_source_type(source_type),
            "derived_from": checked_sources(derived_from),
            "context": context,
            "context_tags": context_tags,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _source(self, source: str | None) -> str:
        if source is None:
            return CORE + self._core_id
        if text("source", source).startswith(SYSTEMS):
            raise ValueError(f"source is {source!r}: reserved for SecondBrain")
        return source


def checked_sources(references: list[str] | None) -> list[str] | None:
    """Returns the references as given.

    Raises:
        ValueError: it claims to be from before there was provenance.
    """
    for reference in references or ():
        if text("derived_from", reference).startswith(_MIGRATED):
            raise ValueError(f"derived_from is {reference!r}: reserved for migrated memories")
    return references


def normal_source_type(given: SourceType | str) -> str:
    """Returns the word that is stored.

    Raises:
        ValueError: it is none of `sb.protocols.types.SourceType` or of a Brain's.
    """
    return normal_word("source_type", given, SOURCES)


def normal_word(name: str, given: str, words: frozenset[str]) -> str:
    """A word of a vocabulary, in lower case.

    Raises:
        ValueError: it is none of these.
    """
    word = given.strip().lower() if isinstance(given, str) else ""
    if word not in words:
        raise ValueError(f"{name} is {given!r}, must be one of {', '.join(sorted(words))}")
    return str(word)


def clamped(name: str, given: float) -> float:
    """A share from 0 to 1; what is beyond counts as the nearest of the two.

    Raises:
        ValueError: it is no number.
    """
    return float(min(max(number(name, given), 0.0), 1.0))


def number(name: str, given: float) -> float:
    """A number as given.

    Raises:
        ValueError: it is none.
    """
    if isinstance(given, bool) or not isinstance(given, int | float) or not -math.inf <= given <= math.inf:
        raise ValueError(f"{name} is {given!r}, must be a number from 0 to 1")
    return given


def text(name: str, given: str) -> str:
    """A text as given.

    Raises:
        ValueError: it is none, or has half of a surrogate pair, which nothing can keep.
    """
    is_text = isinstance(given, str)
    if not is_text:
        raise ValueError(f"{name} is {given!r}, must be a string")
    given.encode()
    return given


def non_blank(name: str, given: str) -> str:
    """Returns a non-blank string as given.

    Raises:
        ValueError: it is none, or empty.
    """
    if not text(name, given).strip():
        raise ValueError(f"{name} must not be empty")
    return given
