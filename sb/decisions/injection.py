"""The decision on context injection: packs by section, and their token budget.

Source: the kernel reference, "Context injection bridge"; the fields are ours.
"""

from __future__ import annotations

from typing import Any

from sb.base.reading import Field, Kind, Place, choice, flag, integer, items, record, text
from sb.base.values.frozen import frozen
from sb.kernel.run_context import LocaleCode

KIND = "context_injection"
MAX_TOKENS = 1_000_000
MAX_PRIORITY = 100


@frozen
class SlotCondition:
    """The condition of a slot: every list that is not empty must match, and one of its entries is enough.

    Args:
        intents: patterns (`*`, `?`, `[...]`) for the envelope's intent, compared without regard to case.
    """

    locales: tuple[LocaleCode, ...] = ()
    intents: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@frozen
class InjectionSlot:
    """One section of the injected context.

    Args:
        packs: patterns (`*`, `?`, `[...]`) for pack ids.
        priority: 0 to 100; under the budget a higher one is filled first.
        max_tokens: limit for the sum of the section's packs.
        required: when its condition holds, at least one pack must be in it.
    """

    name: str
    packs: tuple[str, ...]
    priority: int
    max_tokens: int
    required: bool = False
    when: SlotCondition = SlotCondition()


@frozen
class ContextInjection:
    """The body of a decision of kind `context_injection`; `slots` are in the order of the prompt."""

    token_budget: int
    slots: tuple[InjectionSlot, ...]


def _text(value: Any, place: Place) -> str:
    found = text().read(value, place)
    if not found.strip():
        raise place.refuse("must not be blank")
    return found


def _body(values: dict[str, Any], place: Place) -> ContextInjection:
    slots: tuple[InjectionSlot, ...] = values["slots"]
    names = [slot.name for slot in slots]
    listed = place.below(place.value, "slots")
    for index, name in enumerate(names):
        if name in names[:index]:
            slot = listed.below(listed.value, index)
            raise slot.below(slot.value, "name").refuse(f"is {name!r}, which another slot has already")
    return ContextInjection(values["token_budget"], slots)


TEXT = Kind(_text, {"type": "string", "pattern": r"\S"}, "a text")
_TEXTS = items(TEXT)
_CONDITION_FIELDS = (
    Field("locales", items(choice(*LocaleCode))),
    Field("intents", _TEXTS, "patterns of intents"),
    Field("tags", _TEXTS),
)
_SLOT_FIELDS = (
    Field("name", TEXT, "the section of the prompt", required=True),
    Field("packs", _TEXTS, "patterns of the ids of packs", required=True),
    Field("priority", integer(0, MAX_PRIORITY), "a higher one is filled first", required=True),
    Field("max_tokens", integer(1, MAX_TOKENS), "the most of all its packs", required=True),
    Field("required", flag()),
    Field("when", record(_CONDITION_FIELDS, lambda values, place: SlotCondition(**values))),
)
_SLOTS = items(record(_SLOT_FIELDS, lambda values, place: InjectionSlot(**values)))
BODY = record(
    (
        Field("token_budget", integer(1, MAX_TOKENS), "the most of all slots", required=True),
        Field("slots", _SLOTS, "in the order of the prompt", required=True),
    ),
    _body,
)
