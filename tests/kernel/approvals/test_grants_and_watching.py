"""Grants allow what a person said and no more; a watcher is told of each change once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.config import groups
from sb.errors import DeniedError, UsageError
from sb.kernel import RunContext, SafetyClass, ToolExecutor, ToolRegistry, ToolResult
from sb.kernel.approvals.watching import Watcher
from sb.kernel.authority.signing import Label
from sb.kernel.policy.permissions import PolicyAction, PolicyDecision, ToolPolicy
from sb.log.event_log import EventLog
from sb.store.database import open_database

ADA = Label("ada")


class AskAlways(ToolPolicy):
    """A policy under which a person has to agree to everything."""

    def evaluate(self, spec: object, agent_name: str, args: dict[str, object]) -> PolicyDecision:
        return PolicyDecision(PolicyAction.REQUIRE_APPROVAL, "ask first", "ask")

    def bound_by(self, mode: object) -> ToolPolicy:
        return self


class Office:
    """An executor whose policy asks a person before a report is written or read."""

    def __init__(self, path: Path, clock: SteeredClock, **settings: object) -> None:
        self.clock = clock
        self.log = EventLog(open_database(path, clock=clock), clock=clock)
        self.registry = ToolRegistry()
        for tool, safety_class in (
            ("report.write", SafetyClass.LOCAL_WRITE),
            ("report.read", SafetyClass.READ_ONLY),
            ("report.burn", SafetyClass.DESTRUCTIVE),
        ):
            self.registry.register_fn(tool, tool, lambda **args: args, safety_class)
        self.executor = ToolExecutor(
            self.registry,
            AskAlways(),
            self.log,
            clock=clock,
            approvals=groups.Approvals(**settings),  # type: ignore[arg-type]
        )
        self.approvals = self.executor.approvals
        self.ctx = RunContext.create("clerk")

    def call(self, tool: str = "report.write", **args: object) -> ToolResult:
        return self.executor.execute(self.ctx, tool, args)

    def ask(self, tool: str = "report.write", **args: object) -> str:
        return str(self.call(tool, **args).data["approval_id"])


@pytest.fixture
def office(tmp_path: Path, clock: SteeredClock) -> Office:
    return Office(tmp_path / "brain.db", clock)


def test_a_grant_for_the_run_covers_its_calls_of_that_tool_and_no_others(office: Office) -> None:
    grant = office.approvals.grant(office.ask(path="a"), ADA, "batch", lasting_s=3600, this_run=True)
    assert office.call(path="a").success
    assert office.call(path="b").success
    assert not office.call("report.read", path="a").success
    office.ctx = RunContext.create("clerk")
    assert not office.call(path="c").success
    (counted,) = office.approvals.grants()
    assert (counted.id, counted.uses) == (grant.id, 1), "the call that asked has an approval of its own"
    assert counted.last_used_at == office.approvals.now()


def test_a_grant_with_patterns_covers_calls_all_of_whose_arguments_fit(office: Office) -> None:
    office.approvals.grant(
        office.ask(path="reports/a"), ADA, "batch", lasting_s=3600, args={"path": "reports/*"}
    )
    office.approvals.revoke(office.approvals.page()[0].id, ADA, "the first one is not wanted")
    office.ctx = RunContext.create("clerk")
    assert office.call(path="reports/b").success
    for args in (
        {"path": "secrets/b"},
        {"path": "reports/b", "mode": "w"},
        {"path": ["reports/b", "secrets/b"]},
    ):
        assert not office.call(**args).success, args
    stranger = RunContext.create("intruder")
    assert not office.executor.execute(stranger, "report.write", {"path": "reports/b"}).success


def test_a_read_only_call_that_needs_a_person_uses_its_approval_too(office: Office) -> None:
    approval_id = office.ask("report.read", path="a")
    office.approvals.approve(approval_id, ADA, "fine")
    assert office.call("report.read", path="a").success
    assert not office.call("report.read", path="a").success


def test_a_grant_ends_by_time_by_revocation_and_with_a_changed_contract(office: Office) -> None:
    grants = [
        office.approvals.grant(office.ask(path=str(n)), ADA, "batch", lasting_s=3600, this_run=True)
        for n in range(1)
    ]
    spec = office.registry.get("report.write")
    assert spec is not None
    spec.description = "Writes anywhere."
    assert not office.call(path="x").success
    spec.description = ""
    assert office.call(path="x").success
    office.approvals.revoke(grants[0].id, ADA, "enough")
    assert not office.call(path="y").success
    assert [grant.state for grant in office.approvals.grants()] == ["revoked"]
    again = office.approvals.grant(office.ask(path="z"), ADA, "batch", lasting_s=60, this_run=True)
    office.clock.sleep(61)
    assert not office.call(path="w").success
    with pytest.raises(Exception, match="expired"):
        office.approvals.revoke(again.id, ADA, "late")


def test_destructive_tools_and_dual_control_are_never_granted_in_advance(
    tmp_path: Path, clock: SteeredClock, office: Office
) -> None:
    approval_id = office.ask("report.burn", path="a")
    with pytest.raises(DeniedError, match="destructive"):
        office.approvals.grant(approval_id, ADA, "batch", lasting_s=60, this_run=True)
    with pytest.raises(UsageError, match="30 days"):
        office.approvals.grant(approval_id, ADA, "batch", lasting_s=31 * 86_400, this_run=True)
    assert office.approvals.get(approval_id).state == "waiting"
    with office.log.database.write() as execute:  # not even one put into the database by hand
        execute(
            "INSERT INTO grants SELECT 1, 'grant_x', 'active', agent, tool_id, fingerprint, '', '{}', 0, 'ada', 'r',"
            " expires_at, 0, NULL FROM approvals"
        )
    assert not office.call("report.burn", path="a").success


@pytest.mark.parametrize(
    "edit",
    ['UPDATE grants SET args = \'{"path": "*"}\'', "UPDATE grants SET expires_at = expires_at + 1", None],
)
def test_a_grant_that_nobody_made_or_that_was_widened_is_ignored(office: Office, edit: str | None) -> None:
    approval_id = office.ask(path="a")
    if edit is None:
        edit = (
            "INSERT INTO grants SELECT 1, 'grant_x', 'active', agent, tool_id, fingerprint, '', '{}', 0, 'ada', 'r',"
            " expires_at, 0, NULL FROM approvals"
        )
    else:
        office.approvals.grant(approval_id, ADA, "batch", lasting_s=60, args={"path": "b*"})
    with office.log.database.write() as execute:
        execute(edit)
    assert not office.call(path="c").success
    assert not office.call(path="bb").success


def test_a_watcher_is_told_of_each_change_once(office: Office) -> None:
    watcher = Watcher(office.approvals)
    assert list(watcher.news()) == []
    first, second = office.ask(path="a"), office.ask(path="b")
    assert [(notice.change, notice.approval.id) for notice in watcher.news()] == [
        ("waiting", first),
        ("waiting", second),
    ]
    office.approvals.deny(first, ADA, "no")
    assert [(notice.change, notice.approval.state) for notice in watcher.news()] == [("decided", "denied")]
    office.clock.sleep(31 * 60)
    assert [notice.change for notice in watcher.news()] == ["overdue"]
    assert list(watcher.news()) == []
    office.clock.sleep(3.2 * 3600)
    assert [notice.change for notice in watcher.news()] == ["expiring"]
    office.clock.sleep(3600)
    assert [(notice.change, notice.approval.state) for notice in watcher.news()] == [("decided", "expired")]
