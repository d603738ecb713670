"""Accept or dismiss a suggested memory, for the command line and the console; what stands in the way is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sb.errors import CheckFailed, NotFoundError
from sb.protocols.types import MemorySuggestion
from sb.stack.suggestions import PENDING

if TYPE_CHECKING:
    from sb.stack.sqlite_stack import SQLiteStack

ACCEPT, DISMISS = "accept", "dismiss"
_CHANGE_FIRST = (
    "sb suggestions accept ID --with JSON changes it first; sb suggestions dismiss ID --reason TEXT"
)


def settle(
    stack: SQLiteStack,
    verb: str,
    suggestion_id: str,
    *,
    by: str,
    reason: str,
    modifications: Mapping[str, Any] | None = None,
) -> MemorySuggestion:
    """Accept or dismiss a suggestion; returns it as it is then.

    Args:
        verb: ACCEPT or DISMISS.
        by: the person who decides, for the history.
        modifications: attributes of the memory that are to be other than suggested.

    Raises:
        NotFoundError: there is none. CheckFailed: it was settled before, or its text can be no memory.
        ValueError: the modifications fit no such memory; it stays pending.
    """
    found = stack.get_suggestion(suggestion_id)
    if found is None:
        raise NotFoundError(
            f"no suggestion {suggestion_id!r} in stack {stack.stack_id}", "sb suggestions list"
        )
    if found.status == PENDING:
        done = _settle(stack, verb, suggestion_id, by, reason, modifications)
        found = stack.get_suggestion(suggestion_id) or found
        if done:
            return found
        if found.status == PENDING:
            raise CheckFailed(
                f"{found.id} makes no {found.memory_type}: the text is too short, or a fragment",
                _CHANGE_FIRST,
            )
    became = f", as {found.promoted_to}" if found.promoted_to else ""
    raise CheckFailed(f"{found.id} was {found.status} already{became}")


def _settle(
    stack: SQLiteStack, verb: str, uid: str, by: str, reason: str, modifications: Mapping[str, Any] | None
) -> bool:
    if verb == DISMISS:
        return stack.suggestions.dismiss(uid, reason, actor=by)
    return stack.suggestions.accept(uid, modifications, actor=by, reason=reason) is not None
