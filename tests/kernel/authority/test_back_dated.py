"""The holder of a rotated key decides nothing any more, whatever time is claimed and wherever on the log it is put."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.kernel.approvals.proof import binding_digest
from sb.kernel.authority.authority import Authority, Unauthorised
from sb.kernel.authority.signing import Decider, Label, signed_statement
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.log.event import Subject
from sb.log.kinds import APPROVAL_APPROVED, BASELINE_CHANGED, KILL_LIFTED
from sb.store.anchor import Anchor
from tests.kernel.authority.test_operators import Office
from tests.sql_attacker import SqlAttacker

LONG_AGO = "2001-01-01T00:00:00.000Z"


@pytest.fixture
def office(tmp_path: Path, clock: SteeredClock) -> Office:
    """One operator, who has rotated the key; the former one is `former`."""
    found = Office(tmp_path, clock)
    found.enrolment.init("ada", None)
    return found


def rotated(office: Office) -> Decider:
    former = office.operator("ada")
    office.clock.sleep(10)
    office.enrolment.rotate(former, None, "the laptop was lost")
    office.clock.sleep(10)
    return former


def back_dated(office: Office, former: Decider, approval_id: str) -> dict[str, object]:
    approval = office.approvals.get(approval_id)
    statement = {
        "action": "approve",
        "binding": binding_digest(approval.binding(office.log.database_id)),
        "reason": "as ever",
        "at": LONG_AGO,
        "shown": approval.request["shown"],
    }
    return {"reason": "as ever", "by": "ada", "signed": signed_statement(former, statement)}


def approve_by_sql(office: Office, former: Decider, approval_id: str) -> SqlAttacker:
    attacker = SqlAttacker(office.folder / "brain.db")
    payload = back_dated(office, former, approval_id)
    attacker.append(APPROVAL_APPROVED, payload, approval_id)
    attacker.run("UPDATE approvals SET state = 'approved' WHERE id = ?", approval_id)
    return attacker


def test_an_approval_by_a_rotated_key_counts_by_its_place_and_not_by_its_date(office: Office) -> None:
    former = rotated(office)
    approve_by_sql(office, former, office.ask())
    assert "rotated key" in office.call().error_message


@contextmanager
def _clock_back(office: Office) -> Iterator[None]:
    now = office.clock.time
    office.clock.time -= 15
    yield
    office.clock.time = now


def test_a_clock_that_was_set_back_makes_a_rotated_key_no_younger(office: Office) -> None:
    former = rotated(office)
    approval_id = office.ask()
    with _clock_back(office), pytest.raises(Unauthorised, match="rotated key"):
        office.approvals.approve(approval_id, former, "as ever")


def test_moving_the_approval_before_the_rotation_makes_it_no_older(office: Office) -> None:
    former = rotated(office)
    attacker = approve_by_sql(office, former, office.ask())
    ((newest,),) = attacker.rows("SELECT max(id) FROM events")
    (rotation,) = attacker.rows("SELECT max(id) FROM events WHERE kind = 'operator.changed'")[0]
    attacker.move(rotation, after=newest)
    attacker.run("UPDATE approvals SET event_id = event_id - 1, decided_by = 'ada', reason = 'as ever'")
    assert "rotated key" in office.call().error_message


def test_what_a_key_approved_before_it_was_rotated_goes_on_counting(office: Office) -> None:
    approval_id = office.ask()
    office.approvals.approve(approval_id, office.operator("ada"), "fine")
    rotated(office)
    assert office.call().success


def test_a_decision_that_was_never_anchored_by_itself_is_found_before_the_rotation(office: Office) -> None:
    approval_id = office.ask()
    office.approvals.approve(approval_id, office.operator("ada"), "fine")
    anchors = office.folder / "anchors.jsonl"
    anchors.write_text("\n".join(anchors.read_text().splitlines()[:-1]) + "\n")
    office.log.append("kernel.run.started", {})
    rotated(office)
    assert office.call().success


def test_a_home_that_rotated_before_anchors_named_it_goes_by_the_log(office: Office) -> None:
    approval_id = office.ask()
    office.approvals.approve(approval_id, office.operator("ada"), "fine")
    former = rotated(office)
    (office.folder / "anchors.jsonl").unlink()
    assert office.call().success
    approve_by_sql(office, former, office.ask("eve"))
    assert "rotated key" in office.call("eve").error_message


def test_a_rotated_key_lifts_nothing_and_approves_no_contract(office: Office) -> None:
    switch = KillSwitch(office.log, office.authority)
    switch.throw("agent", "clerk", Label("grace"), "stop")
    store = ContractBaselineStore(office.log, office.authority)
    contracts = {"bank.pay": "sha256:" + "0" * 64}
    former = rotated(office)
    rows = office.log.database.query("SELECT hash FROM events WHERE call_id = 'kill' ORDER BY id")
    place = {"database": office.log.database_id, "after": rows[-1][0], "at": LONG_AGO}
    lift = {"action": KILL_LIFTED, "scope": "agent", "target": "clerk", "reason": "over", **place}
    office.log.append(KILL_LIFTED, {}, Subject(call_id="kill"), {"signed": signed_statement(former, lift)})
    assert [kill.name for kill in switch.active()] == ["agent:clerk"]
    statement = {"action": "approve_contracts", "surface": "kernel", "contracts": contracts, "reason": "fine"}
    statement |= place | {"after": ""}
    signed = {"signed": signed_statement(former, statement)}
    office.log.append(BASELINE_CHANGED, {}, Subject(call_id=store._reference), signed)
    assert store.history("bank.pay") == []


def test_a_second_database_of_the_home_knows_of_the_rotation_too(office: Office, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Office(tmp_path / "other", office.clock)
    other.log.anchor = Anchor(office.folder / "anchors.jsonl")
    other.authority.root_file = Authority(office.folder / "operators.json").root_file
    before = other.ask()
    other.approvals.approve(before, office.operator("ada"), "fine")
    former = rotated(office)
    assert other.call().success
    approve_by_sql(other, former, other.ask("eve"))
    assert "rotated key" in other.call("eve").error_message
