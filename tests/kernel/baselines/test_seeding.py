"""Homes of earlier versions get the shipped tools that an upgrade added, approved; homes that have them are only read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from sb.config import current_config
from sb.kernel.authority.authority import Unauthorised
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Decider, Label, Operator
from sb.kernel.baselines.seeding import (
    ADDED,
    approve_outdated,
    approved_contracts,
    carry_over,
    installation,
    outdated_contracts,
    sign_added,
)
from sb.kernel.baselines.seen import SURFACES
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.contracts import KERNEL_SURFACE, REVERSAL_SURFACE, SafetyClass
from sb.log.event_log import EventLog
from sb.log.kinds import BASELINE_CHANGED
from sb.runtime import open_runtime
from sb.runtime.parts import baselines_of, open_authority, shipped_registry
from sb.store.database import open_database

# What a home approved that was made before anything was added. Never extended: a new tool belongs to ADDED.
FIRST_VERSION: Mapping[str, frozenset[str]] = {
    KERNEL_SURFACE: frozenset(
        """
        files.delete files.digest files.list files.read files.restorable files.restore files.search files.write
        host.agent host.fetch host.mcp host.read host.restorable host.restore host.shell.destructive
        host.shell.network host.shell.read host.shell.write host.unknown host.write host.write_config
        http.get shell.run
        """.split()
    ),
    REVERSAL_SURFACE: frozenset(
        "files.delete files.write host.agent host.shell.write host.write host.write_config http.get".split()
    ),
}


REWORDED = ("host.write", "host.write_config")


def first_version(by: Decider, reason: str = "as shipped", reworded: Sequence[str] = ()) -> EventLog:
    """The log of a home as the first version made it, with what that one approved under a name.

    Args:
        reworded: tools whose contract had other words then.
    """
    config = current_config()
    config.home.create()
    log = EventLog.of_home(open_database(config.database), config.home, make_key=True)
    registry = shipped_registry(config)
    for name in reworded:
        spec = registry.get(name)
        assert spec is not None
        spec.description = "In the words of an earlier release."
    for surface in SURFACES:
        store = ContractBaselineStore(log, open_authority(config, log), surface)
        store.seen.note_all(registry)
        live = store.seen.fingerprints(registry)
        store.approve({name: live[name] for name in FIRST_VERSION[surface]}, by, reason)
    return log


def enrolled(log: EventLog) -> Operator:
    config = current_config()
    ada = Enrolment(open_authority(config, log), KeyFolder(config.home.keys)).init("ada", None)
    assert isinstance(ada, Operator)
    return ada


def stores(log: EventLog) -> list[ContractBaselineStore]:
    authority = open_authority(current_config(), log)
    return [ContractBaselineStore(log, authority, surface) for surface in SURFACES]


def statuses(log: EventLog) -> set[BaselineStatus]:
    """The states of the shipped contracts, on every surface."""
    registry = shipped_registry(current_config())
    return {
        store.status(name, fingerprint)[0]
        for store in stores(log)
        for name, fingerprint in store.seen.fingerprints(registry).items()
    }


def approvals(log: EventLog) -> int:
    return len(list(log.events(kind=BASELINE_CHANGED)))


@pytest.mark.parametrize("surface", SURFACES)
def test_every_shipped_tool_is_of_the_first_version_or_seeded_by_an_upgrade(surface: str) -> None:
    registry = shipped_registry(current_config())
    with open_runtime() as runtime:
        shipped = ContractBaselineStore(runtime.log, None, surface).seen.fingerprints(registry)
    assert FIRST_VERSION[surface] <= shipped.keys()
    assert shipped.keys() - FIRST_VERSION[surface] == set(ADDED[surface])


def test_home_of_the_first_version_approves_all_that_was_added_once_and_then_only_reads() -> None:
    log = first_version(Label("secondbrain 0.1.0"))
    for _ in range(3):
        with open_runtime(hosted=True):
            pass
    assert statuses(log) == {BaselineStatus.APPROVED}
    assert approvals(log) == 4  # of each surface: what the first version shipped, and what was added
    authority = open_authority(current_config(), log)
    for surface in SURFACES:  # without the shipped tools nothing can be written
        baselines_of(log, authority, surface, lambda: pytest.fail("asked for the shipped tools again"))


def test_where_an_operator_is_enrolled_the_next_signature_approves_what_was_added() -> None:
    config = current_config()
    config.home.create()
    made = EventLog.of_home(open_database(config.database), config.home, make_key=True)
    ada = enrolled(made)
    log = first_version(ada)
    with open_runtime(hosted=True):
        pass
    assert statuses(log) == {BaselineStatus.APPROVED, BaselineStatus.NEW}  # a label would not count
    assert sign_added(stores(log), ada, lambda: shipped_registry(config)) == ""
    assert statuses(log) == {BaselineStatus.APPROVED}


def changed(log: EventLog) -> list[str]:
    return [
        contract.tool_id for contract in outdated_contracts(stores(log), shipped_registry(current_config()))
    ]


def test_contract_that_a_later_release_rewords_counts_as_approved_after_the_upgrade() -> None:
    log = first_version(Label("secondbrain 0.0.9"), "shipped with this version", REWORDED)
    assert set(REWORDED) <= set(changed(log))
    for _ in range(3):
        with open_runtime(hosted=True):
            pass
    assert statuses(log) == {BaselineStatus.APPROVED}
    assert approvals(log) == 4  # once for each surface


@pytest.mark.parametrize(
    ("by", "reason"),
    [
        (
            "secondbrain 0.1.0",
            "shipped with this version",
        ),  # the same release: something else changed the contract
        (
            "secondbrain 9.0.0",
            "shipped with secondbrain 9.0.0",
        ),  # an older one, opened by mistake, renews nothing
        ("ada", "looked at it"),
    ],
)
def test_changed_contract_waits_for_a_person_unless_an_earlier_release_approved_it(
    by: str, reason: str
) -> None:
    log = first_version(Label(by), reason, REWORDED)
    with open_runtime(hosted=True):
        pass
    assert changed(log) == list(REWORDED)
    approved = approve_outdated(stores(log), installation(), shipped_registry(current_config()))
    assert [(contract.tool_id, contract.status) for contract in approved] == [
        (name, BaselineStatus.CHANGED) for name in REWORDED
    ]
    assert changed(log) == []


def test_contract_that_was_taken_back_is_not_approved_by_an_upgrade_or_a_fix() -> None:
    log = first_version(Label("secondbrain 0.0.9"), "shipped with this version")
    for name in ("host.changed", "host.write"):
        stores(log)[0].approve({name: ""}, Label("ada"), "not here")
    for _ in range(2):
        with open_runtime(hosted=True):
            pass
    assert changed(log) == []
    kernel = stores(log)[0]
    assert [kernel.status(name, "")[0] for name in ("host.changed", "host.write")] == [BaselineStatus.NEW] * 2


def test_contract_of_a_third_partys_tool_is_never_renewed() -> None:
    log = first_version(Label("secondbrain 0.0.9"), "shipped with this version")
    with open_runtime() as runtime:
        runtime.registry.register_fn("shop.label", "Label", lambda: None, SafetyClass.LOCAL_WRITE)
        runtime.baselines.seen.note_all(runtime.registry)
    approve_outdated(stores(log), installation(), shipped_registry(current_config()))
    assert stores(log)[0].status("shop.label", "")[0] is BaselineStatus.NEW


def test_operator_signs_what_an_earlier_release_worded_otherwise() -> None:
    config = current_config()
    config.home.create()
    ada = enrolled(EventLog.of_home(open_database(config.database), config.home, make_key=True))
    log = first_version(ada, "shipped with secondbrain 0.0.9", REWORDED)
    with open_runtime(hosted=True):
        pass
    assert set(REWORDED) <= set(changed(log))  # a label would not count
    with pytest.raises(Unauthorised):
        approve_outdated(stores(log), installation(), shipped_registry(config))
    assert sign_added(stores(log), ada, lambda: shipped_registry(config)) == ""
    assert changed(log) == []


def test_enrolling_keeps_which_release_approved_a_contract() -> None:
    log = first_version(Label("secondbrain 0.0.9"), "shipped with this version", REWORDED)
    stores(log)[0].approve({"http.get": stores(log)[0].latest()["http.get"].fingerprint}, Label("bo"), "read")
    approved = [approved_contracts(store) for store in stores(log)]
    ada = enrolled(log)
    for store, contracts in zip(stores(log), approved, strict=True):
        carry_over(store, contracts, ada)
    reasons = {name: baseline.reason for name, baseline in stores(log)[0].latest().items()}
    assert reasons["http.get"] == "approved before the first operator was enrolled"
    assert reasons["host.write"] == "shipped with secondbrain 0.0.9"
    assert sign_added(stores(log), ada, lambda: shipped_registry(current_config())) == ""
    assert changed(log) == []
