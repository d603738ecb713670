"""Ids by an unambiguous prefix: one rule for whatever a person names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sb.base.text import plain
from sb.errors import UsageError

SHORTEST = 3  # characters after the kind, as in apr_820
SESSION_SHOWN = 8  # characters of a host's id of a session that are shown, and that name it
_MOST_NAMED = 4


def is_prefix(reference: str) -> bool:
    """True if this is long enough to name something: its kind and some of its digits."""
    kind, underscore, digits = reference.partition("_")
    return bool(kind and underscore) and len(digits) >= SHORTEST


def is_session_prefix(reference: str) -> bool:
    """True if this is long enough to name a session by its host's id, which has no kind."""
    return len(reference) >= SESSION_SHOWN


def full_one(reference: str, known: Iterable[str], *, is_enough: Callable[[str], bool] = is_prefix) -> str:
    """The id that is meant: the reference itself, or the only id that begins with it; unchanged if none does.

    Args:
        is_enough: whether a text is long enough to be the beginning of an id.

    Raises:
        UsageError: several begin with it.
    """
    fitting = sorted({item for item in known if item.startswith(reference)}) if is_enough(reference) else []
    if not fitting or reference in fitting:
        return reference
    if len(fitting) > 1:
        named = ", ".join(fitting[:_MOST_NAMED]) + (", …" if len(fitting) > _MOST_NAMED else "")
        raise UsageError(f"{plain(reference, one_line=True)!r} is ambiguous: {named}", "type more of the id")
    return fitting[0]
