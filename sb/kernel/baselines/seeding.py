"""Approve the contracts of shipped tools: when a home is made, and after an upgrade.

Those of the tools that ship with this version, in a database where nothing was approved yet and nobody is enrolled
who would have to sign: installing it was the decision. In a home that an earlier release made, the tools that are new
or reworded since: at once if nobody is enrolled, else with the next decision that an operator signs. And, when the
first operator is enrolled, those that counted until then, now under that signature.

A contract that a person approved by hand, or took back, is not touched by any of this: `outdated_contracts` names the
former, for a person to approve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from sb import __version__
from sb.errors import SBError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, Label
from sb.kernel.baselines.store import Baseline, BaselineStatus, ContractBaselineStore
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
        "host.shell.kept_in_part",
        "host.shell.kept_network",
    ),
    REVERSAL_SURFACE: (
        "files.restore_over",
        "host.restore_over",
        "host.shell.kept",
        "host.shell.kept_in_part",
        "host.shell.kept_network",
    ),
}
_INSTALLED = "secondbrain "  # and the release, in a label
_SHIPPED = "shipped with secondbrain "  # and the release, in a reason
_CARRIED = "approved before the first operator was enrolled"
TAKEN_OVER = (
    _SHIPPED,
    _CARRIED,
)  # beginnings of the reasons of contracts that nobody looked at to approve them


class OutdatedContract(NamedTuple):
    """A shipped tool whose contract is not the approved one; the surface and the live fingerprint."""

    surface: str
    tool_id: str
    fingerprint: str
    status: BaselineStatus


def installation() -> Label:
    """The label under which this release approves its own contracts while nobody is enrolled."""
    return Label(_INSTALLED + __version__)


def seed_shipped(
    store: ContractBaselineStore, authority: Authority, shipped: Callable[[], ToolRegistry]
) -> None:
    """Approve the shipped tools in a database that has no approvals, and those of an upgrade in one that has.

    Args:
        shipped: gives those tools and no others; called only where they are needed.
    """
    try:
        if not store.is_empty():
            if (_added(store) or _made_by_earlier_release(store)) and not authority.enrolled():
                seed_added(store, installation(), shipped)
            return
        if authority.enrolled():
            return
    except SBError:  # who may decide cannot be told: then nothing is approved
        return
    registry = shipped()
    store.seen.note_all(registry)
    store.approve(store.seen.fingerprints(registry), installation(), _SHIPPED + __version__)


def seed_added(store: ContractBaselineStore, by: Decider, shipped: Callable[[], ToolRegistry]) -> None:
    """Approve the shipped tools that an upgrade added, and those whose approval an earlier release gave.

    The latter also where their contract is the same, so that the release is asked for only once.

    Raises:
        SBError: it is not on record.
    """
    added, earlier = _added(store), _made_by_earlier_release(store)
    if not added and not earlier:
        return
    registry = shipped()
    store.seen.note_all(registry)
    live = store.seen.fingerprints(registry)
    names = [name for name in dict.fromkeys((*added, *earlier)) if name in live]
    store.approve({name: live[name] for name in names}, by, _SHIPPED + __version__)


def sign_added(
    stores: Iterable[ContractBaselineStore], by: Decider, shipped: Callable[[], ToolRegistry]
) -> str:
    """Have the operator who decides something anyway sign the shipped tools that an upgrade added or reworded.

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


def outdated_contracts(
    stores: Iterable[ContractBaselineStore], registry: ToolRegistry
) -> list[OutdatedContract]:
    """The shipped tools whose contract of this release is not approved, but for those that somebody took back.

    Args:
        registry: the shipped tools and no others.
    """
    return [
        OutdatedContract(store.surface, name, fingerprint, status)
        for store in stores
        for name, fingerprint in sorted(store.seen.fingerprints(registry).items())
        if (status := store.status(name, fingerprint)[0]) is not BaselineStatus.APPROVED
        and not store.is_withdrawn(name)
    ]


def approve_outdated(
    stores: Iterable[ContractBaselineStore], by: Decider, registry: ToolRegistry
) -> list[OutdatedContract]:
    """Approve the contracts of this release; returns those that were not approved.

    Args:
        by: an operator where one is enrolled.
        registry: the shipped tools and no others.

    Raises:
        SBError: it is not on record.
    """
    approved = []
    for store in stores:
        if found := outdated_contracts([store], registry):
            store.seen.note_all(registry)
            store.approve(
                {contract.tool_id: contract.fingerprint for contract in found}, by, _SHIPPED + __version__
            )
            approved += found
    return approved


def _added(store: ContractBaselineStore) -> list[str]:
    # not exact: each hook asks this, and one reading of the log answers for all names
    added = ADDED[store.surface]
    return [
        name
        for name in added
        if store.status(name, "", exact=False)[0] is BaselineStatus.NEW and not store.is_withdrawn(name)
    ]


def _made_by_earlier_release(store: ContractBaselineStore) -> list[str]:
    """The tools whose approval an earlier release gave; none once this release or a later one gave any."""
    releases = {name: _release(baseline) for name, baseline in store.latest().items()}
    given = {name: release for name, release in releases.items() if release}
    return list(given) if given and max(given.values()) < _parsed(__version__) else []


def _release(baseline: Baseline) -> tuple[int, ...]:
    """The release that gave an approval by being installed; () for what a person approved."""
    for text, prefix in ((baseline.reason, _SHIPPED), (baseline.by, _INSTALLED)):
        if text.startswith(prefix):
            return _parsed(text.removeprefix(prefix))
    return ()


def _parsed(version: str) -> tuple[int, ...]:
    """The numbers at the beginning of a version, such as (0, 1, 0) of 0.1.0; () of what begins with none."""
    numbers = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


def approved_contracts(store: ContractBaselineStore) -> dict[str, Baseline]:
    """The approved baselines, by tool id."""
    return {entry.tool_id: entry.baseline for entry in store.entries() if entry.baseline}


def carry_over(store: ContractBaselineStore, approved: Mapping[str, Baseline], by: Decider) -> None:
    """Approve again, signed, what was approved before the first operator was enrolled.

    What a release approved by being installed stays recorded as that, so that the next upgrade can renew it.
    """
    reasons: dict[str, dict[str, str]] = {}
    for name, baseline in approved.items():
        release = ".".join(map(str, _release(baseline)))
        reason = _SHIPPED + release if release else _CARRIED
        reasons.setdefault(reason, {})[name] = baseline.fingerprint
    for reason, contracts in reasons.items():
        store.approve(contracts, by, reason)
