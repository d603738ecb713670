"""The guard that every reversal asks first: no undo record, no reversal."""

from __future__ import annotations

from typing import Protocol

from sb.errors import SBError
from sb.kernel.reversibility.contracts import MutationRef, MutationState
from sb.store import driver


class NoReversalToken(SBError):
    """Nothing allows this reversal."""

    kind = "reversal_refused"


class TokenStore(Protocol):
    """Knows what calls changed; `sb.kernel.reversibility.mutations.MutationStore` is the one there is."""

    def for_call(self, reference: str) -> MutationRef | None: ...


def guard(store: TokenStore | None, call_id: str, now: int) -> MutationRef:
    """The token that allows a call to be reversed. Every reversal asks here first.

    Args:
        call_id: the call's id, or that of what it left behind.
        now: microseconds since the epoch.

    Raises:
        NoReversalToken: there is none, or it cannot be told.
    """
    if store is None:
        raise NoReversalToken(f"nothing is known of what {call_id} changed: no store of mutations")
    try:
        ref = store.for_call(call_id)
    except (SBError, driver.Error) as error:
        raise NoReversalToken(f"whether {call_id} can be reversed cannot be told: {error}") from error
    if ref is None or call_id not in (ref.call_id, ref.mutation_id):
        raise NoReversalToken(f"nothing that {call_id} changed is on record")
    if ref.state is MutationState.REVERSED:
        raise NoReversalToken(f"{ref.mutation_id} was reversed before")
    if ref.state is not MutationState.COMMITTED:
        raise NoReversalToken(
            f"a reversal of {ref.mutation_id} was begun, and has no outcome: sb recovery list shows it, if it is in doubt"
        )
    if not ref.reversal_tool:
        raise NoReversalToken(f"{ref.mutation_id} has no undo: {ref.no_way_back or 'none was declared'}")
    if ref.is_empty:
        raise NoReversalToken(f"{ref.mutation_id} changed nothing that was stored")
    if not ref.in_window(now):
        raise NoReversalToken(f"the time in which {ref.mutation_id} could be reversed is over")
    return ref
