"""Approve the contracts of shipped tools when a home is made.

Those of the tools that ship with this version, in a database where nothing was approved yet and nobody is enrolled
who would have to sign: installing it was the decision. In a home that an earlier version made, the tools that are new
since: at once if nobody is enrolled, else with the next decision that an operator signs. And, when the first operator
is enrolled, those that counted until then, now under that signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sb import __version__
from sb.errors import SBError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, Label
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.contracts import KERNEL_SURFACE, REVERSAL_SURFACE
from sb.kernel.registry.registry import ToolRegistry

# By surface, the shipped tools that homes made by the first version do not know.
ADDED: Mapping[str, tuple[str, ...]] = {
    KERNEL_SURFACE: (
        "files.restore_over",
        "host.changed",
        "host.mcp.destructive",
        "host.restore_over",
        "host.shell.kept",
        "host.shell.kept_network",
    ),
    REVERSAL_SURFACE: (
        "files.restore_over",
        "host.restore_over",
        "host.shell.kept",
        "host.shell.kept_network",
    ),
}


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
    store.approve({name: contracts[name] for name in added}, by, "shipped with this version")


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
    # not exact: each hook asks this, and one reading of the log answers for all names
    added = ADDED[store.surface]
    return [name for name in added if store.status(name, "", exact=False)[0] is BaselineStatus.NEW]


def approved_contracts(store: ContractBaselineStore) -> dict[str, str]:
    """What is approved now: tool id to fingerprint."""
    return {entry.tool_id: entry.baseline.fingerprint for entry in store.entries() if entry.baseline}


def carry_over(store: ContractBaselineStore, approved: dict[str, str], by: Decider) -> None:
    """Approve again, signed, what was approved before the first operator was enrolled."""
    if approved:
        store.approve(approved, by, "approved before the first operator was enrolled")
