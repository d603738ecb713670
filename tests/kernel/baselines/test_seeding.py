"""Homes of earlier versions get the shipped tools that an upgrade added, approved; homes that have them are only read."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sb.config import current_config
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Decider, Label, Operator
from sb.kernel.baselines.seeding import ADDED, sign_added
from sb.kernel.baselines.seen import SURFACES
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.contracts import KERNEL_SURFACE, REVERSAL_SURFACE
from sb.log.event_log import EventLog
from sb.log.kinds import BASELINE_CHANGED
from sb.parts import baselines_of, open_authority, shipped_registry
from sb.runtime import open_runtime
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


def first_version(by: Decider) -> EventLog:
    """The log of a home as the first version made it, with what that one approved under a name."""
    config = current_config()
    config.home.create()
    log = EventLog.of_home(open_database(config.database), config.home, make_key=True)
    registry = shipped_registry(config)
    for surface in SURFACES:
        store = ContractBaselineStore(log, open_authority(config, log), surface)
        store.seen.note_all(registry)
        live = store.seen.fingerprints(registry)
        store.approve({name: live[name] for name in FIRST_VERSION[surface]}, by, "as shipped")
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
    """How the shipped contracts stand, on every surface."""
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
