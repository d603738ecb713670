"""Last call of a home, as `undo` takes it: never an older one in its place."""

from __future__ import annotations

from sb.errors import CheckFailed
from sb.kernel.contracts import MutationRef
from sb.kernel.recovery_loop.service import Recovery


def last_change(recovery: Recovery) -> MutationRef:
    """The newest call that may have changed something, whether or not it can be undone.

    Raises:
        CheckFailed: its outcome is unknown, so that an older one must not be undone in its place.
        NotFoundError: there is none.
    """
    ref = recovery.mutations.last(undoable=False)
    doubtful = [intent for intent in recovery.executor.in_doubt() if intent.reverses is None]
    if doubtful and doubtful[-1].id > recovery.mutations.number(ref.mutation_id):
        call_id = doubtful[-1].call_id
        raise CheckFailed(
            f"the last call, {unknown_outcome(call_id)}",
            f"sb recovery settle {call_id}, or name a call to undo",
        )
    return ref


def unknown_outcome(call_id: str) -> str:
    """The clause about a call in doubt."""
    return f"{call_id} has an unknown outcome: it may have changed something"
