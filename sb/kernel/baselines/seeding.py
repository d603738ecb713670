"""Approve the contracts of shipped tools when a home is made.

Those of the tools that ship with this version, in a database where nothing was approved yet and nobody is enrolled
who would have to sign: installing it was the decision. In a home that an earlier version made, the tools that are new
since: at once if nobody is enrolled, else with the next decision that an operator signs. And, when the first operator
is enrolled, those that counted until then, now under that signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sb import __version__
from sb.errors import SBError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, Label
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.registry.registry import ToolRegistry

# Shipped tools that homes of earlier versions do not know.
ADDED = ("host.shell.kept", "host.shell.kept_network")


def seed_shipped(
    store: ContractBaselineStore, authority: Authority, shipped: Callable[[], ToolRegistry]
) -> None:
    """Approve the shipped tools in a database that has no approvals, and those added since in one that has.

    Args:
        shipped: gives those tools and no others; called only where they are needed.
    """
    try:
        if not store.is_empty():
            if _added(store) and not authority.enrolled():
                seed_added(store, Label(f"secondbrain {__version__}"), shipped)
            return
        if authority.enrolled():
            return
    except SBError:  # who may decide cannot be told: then nothing is approved
        return
    registry = shipped()
    store.seen.note_all(registry)
    contracts = store.seen.fingerprints(registry)
    store.approve(contracts, Label(f"secondbrain {__version__}"), "shipped with this version")


def seed_added(store: ContractBaselineStore, by: Decider, shipped: Callable[[], ToolRegistry]) -> None:
    """Approve the shipped tools that were added since the home was made, where nothing was decided about them.

    Raises:
        SBError: it is not on record.
    """
    added = _added(store)
    if not added:
        return
    registry = shipped()
    store.seen.note_all(registry)
    contracts = store.seen.fingerprints(registry)
    found = {name: contracts[name] for name in added if name in contracts}
    if found:
        store.approve(found, by, "shipped with this version")


def sign_added(
    stores: Iterable[ContractBaselineStore], by: Decider, shipped: Callable[[], ToolRegistry]
) -> str:
    """Have the operator who decides something anyway sign the shipped tools that an upgrade added.

    Returns:
        Why that failed, or "": the decision itself does not depend on it.
    """
    if not by.key_id:
        return ""
    try:
        for store in stores:
            seed_added(store, by, shipped)
    except SBError as error:
        return f"the contracts of this version are not approved: {error.message}"
    return ""


def _added(store: ContractBaselineStore) -> list[str]:
    return [name for name in ADDED if store.status(name, "")[0] is BaselineStatus.NEW]


def approved_contracts(store: ContractBaselineStore) -> dict[str, str]:
    """What is approved now: tool id to fingerprint."""
    return {entry.tool_id: entry.baseline.fingerprint for entry in store.entries() if entry.baseline}


def carry_over(store: ContractBaselineStore, approved: dict[str, str], by: Decider) -> None:
    """Approve again, signed, what was approved before the first operator was enrolled."""
    if approved:
        store.approve(approved, by, "approved before the first operator was enrolled")
