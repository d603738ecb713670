"""References in a plan, `{{look.customer}}`: to its variables and to what earlier steps gave."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sb.agent.planning import PlanError
from sb.base.text import json_text, nearest

REFERENCE = re.compile(r"\{\{ *([^{}]*?) *\}\}")
NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
PATH = re.compile(rf"{NAME}(?:\.{NAME}|\.\d+)*")
_MOST_TEXT = 100_000  # characters that one text may grow to


class Unknown(Exception):
    """A value that is known only when the plan runs, as a dry run meets it."""


def names_in(value: Any) -> Iterator[str]:
    """The references in a value as they stand there, in keys too."""
    if isinstance(value, str):
        yield from REFERENCE.findall(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from names_in(key)
            yield from names_in(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from names_in(item)


def head_of(reference: str) -> str:
    """The variable or step that a reference begins with; "" for one that is none."""
    return reference.partition(".")[0] if PATH.fullmatch(reference) else ""


def filled(value: Any, known: Mapping[str, Any]) -> Any:
    """A value with its references replaced: one that stands alone keeps its type, in a text it becomes text.

    Raises:
        PlanError: a reference leads nowhere, or a text grows too long.
        Unknown: it leads to what is not known yet.
    """
    if isinstance(value, str):
        whole = REFERENCE.fullmatch(value)
        if whole:
            return find(whole[1], known)
        text = REFERENCE.sub(lambda found: _as_text(find(found[1], known)), value)
        if len(text) > _MOST_TEXT:
            raise PlanError(f"a text of the plan grows to {len(text):,} characters, at most {_MOST_TEXT:,}")
        return text
    if isinstance(value, Mapping):
        return {filled(key, known): filled(item, known) for key, item in value.items()}
    return [filled(item, known) for item in value] if isinstance(value, list | tuple) else value


class NotYet:
    """A value that a step will give, in a dry run."""


SKIPPED = object()  # what a step gave whose condition did not hold: whatever is asked of it is null


def find(reference: str, known: Mapping[str, Any]) -> Any:
    """The value that a reference leads to; raises as `filled`."""
    value: Any = known
    walked = ""
    for part in reference.split("."):
        if isinstance(value, NotYet):
            raise Unknown(reference)
        if value is SKIPPED:
            return None
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            keys = list(map(str, value)) if isinstance(value, Mapping) else []
            why = f"{walked or 'the plan'} has no {part!r}{nearest(part, keys)}"
            raise PlanError(f"{{{{{reference}}}}} leads nowhere: {why}")
        walked = f"{walked}.{part}".removeprefix(".")
    if isinstance(value, NotYet):
        raise Unknown(reference)
    return None if value is SKIPPED else value


def _as_text(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json_text(value)
