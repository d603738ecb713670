"""The decision on context injection: packs by section, and their token budget.

Source: the kernel reference, "Context injection bridge"; the fields are ours.
"""

from __future__ import annotations

from sb.decisions.table import Table
from sb.frozen import frozen
from sb.kernel.run_context import LocaleCode
from sb.text import nearest

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


def parse(value: object, where: str, path: str) -> ContextInjection:
    """The body from plain values; raises ConfigError naming file and key."""
    table = Table(value, where, path, required=("token_budget", "slots"))
    slots = tuple(
        _slot(item, where, table.at(f"slots[{position}]"))
        for position, item in enumerate(table.items("slots"))
    )
    names = [slot.name for slot in slots]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise table.refuse(f"slots[{position}].name", f"is {name!r}, which another slot has already")
    return ContextInjection(token_budget=table.integer("token_budget", 1, MAX_TOKENS), slots=slots)


def _slot(value: object, where: str, path: str) -> InjectionSlot:
    table = Table(
        value,
        where,
        path,
        required=("name", "packs", "priority", "max_tokens"),
        optional=("required", "when"),
    )
    return InjectionSlot(
        name=table.text("name"),
        packs=table.texts("packs"),
        priority=table.integer("priority", 0, MAX_PRIORITY),
        max_tokens=table.integer("max_tokens", 1, MAX_TOKENS),
        required=table.flag("required"),
        when=_condition(table["when"], where, table.at("when")) if "when" in table else SlotCondition(),
    )


def _condition(value: object, where: str, path: str) -> SlotCondition:
    table = Table(value, where, path, required=(), optional=("locales", "intents", "tags"))
    return SlotCondition(
        locales=_locales(table) if "locales" in table else (),
        intents=table.texts("intents") if "intents" in table else (),
        tags=table.texts("tags") if "tags" in table else (),
    )


def _locales(table: Table) -> tuple[LocaleCode, ...]:
    known = [str(code) for code in LocaleCode]
    for position, name in enumerate(table.texts("locales")):
        if name not in known:
            raise table.refuse(
                f"locales[{position}]",
                f"is {name!r}, not a known locale{nearest(name, known)}",
                "one of " + ", ".join(known),
            )
    return tuple(LocaleCode(name) for name in table.texts("locales"))
