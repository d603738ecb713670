"""Approve the contracts of shipped tools when a home is made.

Those of the tools that ship with this version, in a database where nothing was approved yet and nobody is enrolled
who would have to sign: installing it was the decision. And, when the first operator is enrolled, those that counted
until then, now under that signature.
"""

from __future__ import annotations

from collections.abc import Callable

from sb import __version__
from sb.errors import SBError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, Label
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.registry.registry import ToolRegistry


def seed_shipped(
    store: ContractBaselineStore, authority: Authority, shipped: Callable[[], ToolRegistry]
) -> None:
    """Approve the shipped tools in a database that has no approvals.

    Args:
        shipped: gives those tools and no others; called only where they are needed.
    """
    try:
        if not store.is_empty() or authority.enrolled():
            return
    except SBError:  # who may decide cannot be told: then nothing is approved
        return
    registry = shipped()
    store.seen.note_all(registry)
    contracts = store.seen.fingerprints(registry)
    store.approve(contracts, Label(f"secondbrain {__version__}"), "shipped with this version")


def approved_contracts(store: ContractBaselineStore) -> dict[str, str]:
    """What is approved now: tool id to fingerprint."""
    return {entry.tool_id: entry.baseline.fingerprint for entry in store.entries() if entry.baseline}


def carry_over(store: ContractBaselineStore, approved: dict[str, str], by: Decider) -> None:
    """Approve again, signed, what was approved before the first operator was enrolled."""
    if approved:
        store.approve(approved, by, "approved before the first operator was enrolled")
