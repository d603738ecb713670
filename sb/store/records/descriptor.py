"""The descriptor of a record kind, from which everything else about the kind is derived.

What follows from the type hints of the dataclass (which attribute is a time, what it may hold) is read from them.
"""

from __future__ import annotations

import dataclasses
import math
import types as hint_types
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime
from functools import cached_property
from typing import Any, Union, get_args, get_origin, get_type_hints

from sb.base.values.frozen import frozen
from sb.protocols.types import Remembered
from sb.protocols.types import vocabulary as words

Range = tuple[float, float]
Types = frozenset[type]
_SHARE: Range = (0.0, 1.0)
_SIGNED: Range = (-1.0, 1.0)
_COUNT: Range = (0, 2**53)

# Attribute to column, for whatever kind has the attribute. What is in neither table stands in `fields`.
_COLUMNS = {
    "id": "uid",
    "version": "version",
    "confidence": "confidence",
    "strength": "strength",
    "is_protected": "protected",
    "source_type": "source_type",
    "speaker": "speaker",
    "tags": "tags",
}
_BRAIN_COLUMNS = {
    "agent_id": "agent",
    "evidence_n": "evidence_n",
    "happened_at": "happened_at",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
_STACK_COLUMNS = {"created_at": "happened_at", "local_updated_at": "updated_at"}
READ = {
    "times_accessed": "accessed",
    "last_accessed": "last_accessed",
}  # in record_stats: reads change no record
PLACED = frozenset({"stack_id", "scope", "private"})  # of brains' records: what the place says
_RANGES: Mapping[str, Range] = {
    "version": _COUNT,
    "times_accessed": _COUNT,
    "evidence_n": _COUNT,
    "confidence": _SHARE,
    "strength": _SHARE,
    "emotional_valence": _SIGNED,
    "emotional_arousal": _SHARE,
    "sentiment": _SIGNED,
    "intensity": _SHARE,
    "success_rate": _SHARE,
    "valence": _SIGNED,
    "arousal": _SIGNED,
    "dominance": _SIGNED,
}
_KEPT = frozenset({"id", "created_at", "version", "strength"})  # of the record that an update finds
_LABELS = {
    str: "a string",
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    datetime: "a time",
    list: "a list",
    dict: "a mapping",
}


@frozen
class Shape:
    """The types that an attribute may hold.

    Args:
        plain: types that need no further look.
        accepted: types that it may be an instance of.
        each: what the elements of a list must be.
        label: the same for people.
    """

    plain: Types
    accepted: tuple[type, ...]
    each: type | None
    label: str


@frozen
class Descriptor:
    """One kind of record.

    Args:
        type: its dataclass.
        text: the attributes that say what it is about, in the order in which they are read. The first is never empty.
        also: further attributes that it is found by.
        category: the attribute that says which of several it is.
        key: the attribute of which there is one in each place; saving it again updates the one that is there.
        normal: how keys are compared.
        united: lists that an update adds to.
        sources: the kinds that it may be derived from in a stack.
        half_life_days: after how long without use half of its strength is left; it may differ by category.
        priority: how early it is loaded into working memory, from 0 to 1; it may differ by category.
        bonus: an attribute, and what one of it adds to the priority.
        words: attribute to the words that it may be.
        columns: attribute to column, where this kind differs from all others.
        twins: attributes that only repeat others, so that they need not be kept.
        aside: it stands beside memories and is none, so that no search for memories finds it.
    """

    kind: str
    type: type[Any]
    text: tuple[str, ...]
    also: tuple[str, ...] = ()
    category: str | None = None
    key: str | None = None
    normal: Callable[[str], str] = str
    united: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    half_life_days: float = math.inf
    half_lives: Mapping[str, float] = field(default_factory=dict)
    priority: float = 0.2
    priorities: Mapping[str, float] = field(default_factory=dict)
    bonus: tuple[str, float] | None = None
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    twins: tuple[str, ...] = ()
    aside: bool = False

    @cached_property
    def of_a_brain(self) -> bool:
        return issubclass(self.type, Remembered)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        return tuple(item.name for item in dataclasses.fields(self.type))

    @cached_property
    def column_of(self) -> Mapping[str, str]:
        """Attribute to column."""
        mapped = _COLUMNS | (_BRAIN_COLUMNS if self.of_a_brain else _STACK_COLUMNS) | dict(self.columns)
        if self.category:
            mapped[self.category] = "category"
        return {name: mapped[name] for name in self.attributes if name in mapped}

    @cached_property
    def homes(self) -> tuple[tuple[str, str], ...]:
        """Attribute and column, for a quick walk."""
        return tuple(self.column_of.items())

    @cached_property
    def in_fields(self) -> tuple[str, ...]:
        """The attributes that stand in `fields`."""
        placed = PLACED if self.of_a_brain else {"stack_id"}
        elsewhere = {*self.column_of, *self.twins, *READ, *placed}
        return tuple(name for name in self.attributes if name not in elsewhere)

    @cached_property
    def texts(self) -> tuple[tuple[str, str], ...]:
        """Column that holds text as it was given, and what to call that."""
        named = [(column, name) for name, column in self.homes if str in self.shapes[name].accepted]
        return (*named, ("text", "/".join(self.text + self.also)))

    @cached_property
    def known(self) -> frozenset[str]:
        """The names allowed in `fields`: attributes, and times that their column cannot hold exactly."""
        return frozenset({*self.in_fields, *self.times_in_columns})

    @cached_property
    def reads(self) -> bool:
        """True if it says how often it was read."""
        return READ.keys() <= set(self.attributes)

    @cached_property
    def shapes(self) -> Mapping[str, Shape]:
        """Attribute to what it may hold, from its type hint."""
        hints = get_type_hints(self.type)
        return {name: _shape(hints[name]) for name in self.attributes}

    @cached_property
    def plain(self) -> tuple[tuple[str, Types], ...]:
        """Attribute and the types of it that need no further look, for a quick check."""
        return tuple((name, shape.plain) for name, shape in self.shapes.items())

    @cached_property
    def times(self) -> frozenset[str]:
        """The attributes that are times."""
        return frozenset(name for name, shape in self.shapes.items() if datetime in shape.accepted)

    @cached_property
    def times_in_columns(self) -> tuple[str, ...]:
        return tuple(name for name in self.column_of if name in self.times)

    @cached_property
    def said_by_text(self) -> bool:
        """True if the searchable text is an attribute's value as it is, so that it need not be kept twice."""
        return len(self.text + self.also) == 1 and str in self.shapes[self.text[0]].accepted

    @cached_property
    def optional(self) -> frozenset[str]:
        """The attributes that are None unless they are given."""
        return frozenset(item.name for item in dataclasses.fields(self.type) if item.default is None)

    @cached_property
    def ranges(self) -> tuple[tuple[str, float, float], ...]:
        """Attribute, and the least and the most that it may be."""
        return tuple((name, *limits) for name, limits in _RANGES.items() if name in self.attributes)

    @cached_property
    def vocabulary(self) -> Mapping[str, frozenset[str]]:
        """Attribute to the words that it may be."""
        sources = {"source_type": words.SOURCES} if "source_type" in self.attributes else {}
        return {**sources, **self.words}

    def half_life(self, category: str | None) -> float:
        """After how many days without use half of its strength is left; infinite if it never fades."""
        return self.half_lives.get(category or "", self.half_life_days)

    def priority_of(self, record: Any) -> float:
        """Returns the priority of a record in working memory, from 0 to about 1."""
        category = getattr(record, self.category) if self.category else None
        base = self.priorities.get(category or "", self.priority)
        return base + (getattr(record, self.bonus[0]) * self.bonus[1] if self.bonus else 0)

    def merged(self, former: Any, new: Any) -> Any:
        """The record that is there with what a new one of the same key says; what that leaves open stays."""
        united = {name: _united(getattr(former, name), getattr(new, name)) for name in self.united}
        silent = (name for name in self.optional if getattr(new, name) is None)
        same = {*silent, *_KEPT, self.key}  # the key as it was spelled first
        values = {name: getattr(former, name) for name in self.attributes if name in same}
        return dataclasses.replace(new, **values | united)


def _united(former: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return {**former, **new}
    return list(dict.fromkeys([*(former or ()), *(new or ())])) or new


def _shape(hint: Any) -> Shape:
    options = get_args(hint) if get_origin(hint) in (Union, hint_types.UnionType) else (hint,)
    (meant,) = (option for option in options if option is not type(None))
    base = get_origin(meant) or meant
    each = (get_origin(get_args(meant)[0]) or get_args(meant)[0]) if base is list else None
    accepted = {float: (float, int), list: (list, tuple)}.get(base, (base,))
    return Shape(
        plain=frozenset(() if base is list else accepted) | frozenset(options) & {type(None)},
        accepted=accepted + ((type(None),) if type(None) in options else ()),
        each=each,
        label=_LABELS[base] + (f" of {_LABELS[each].removeprefix('a ')}s" if each else ""),
    )
