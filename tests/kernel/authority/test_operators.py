"""Only who is enrolled decides: signed, pinned outside the database, and refused as soon as anything is amiss."""

from __future__ import annotations

import copy
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.config import groups
from sb.errors import ConfigError, DeniedError, NotFoundError, SBError, UsageError
from sb.kernel import RunContext, SafetyClass, ToolExecutor, ToolRegistry, ToolResult
from sb.kernel.authority import keys as key_module
from sb.kernel.authority.authority import Assurance, Authority, Unauthorised
from sb.kernel.authority.enrolment import Enrolment, decider, login_name
from sb.kernel.authority.keys import KeyFolder, make_key, name_from
from sb.kernel.authority.root_file import Damaged, RootFile, Roster, new_entry
from sb.kernel.authority.signing import Decider, Label, Operator, signed_statement
from sb.log.event_log import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database

PASSPHRASE = "correct horse"


def never_asked(prompt: str) -> str:
    raise AssertionError(prompt)


class Office:
    """A home's operators, its log, and an executor whose only tool needs a person."""

    def __init__(self, folder: Path, clock: SteeredClock, **settings: Any) -> None:
        self.folder = folder
        self.clock = clock
        self.keys = KeyFolder(folder / "keys")
        anchor = Anchor(folder / "anchors.jsonl")
        self.log = EventLog(open_database(folder / "brain.db", clock=clock), anchor=anchor, clock=clock)
        self.authority = Authority(folder / "operators.json", self.log)
        self.enrolment = Enrolment(self.authority, self.keys)
        registry = ToolRegistry()
        registry.register_fn("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE)
        self.executor = ToolExecutor(
            registry,
            event_log=self.log,
            authority=self.authority,
            approvals=groups.Approvals(**settings),
            clock=clock,
        )
        self.approvals = self.executor.approvals

    def operator(self, name: str = "") -> Decider:
        return decider(self.authority, self.keys, name, never_asked)

    def call(self, to: str = "bob") -> ToolResult:
        return self.executor.execute(RunContext.create("clerk"), "bank.pay", {"to": to})

    def ask(self, to: str = "bob") -> str:
        return str(self.call(to).data["approval_id"])


@pytest.fixture
def office(tmp_path: Path, clock: SteeredClock) -> Office:
    return Office(tmp_path, clock)


@pytest.fixture
def staffed(office: Office) -> Office:
    """Two operators, whose keys have no passphrase."""
    office.enrolment.init("ada", None)
    office.enrolment.add("grace", "", office.operator("ada"), "she shares the watch")
    return office


def test_while_nobody_is_enrolled_a_label_decides(office: Office) -> None:
    by = office.operator()
    assert (by.name, by.key_id) == (f"local:{login_name()}", "")
    office.approvals.approve(office.ask(), by, "fine")
    assert office.call().success
    assert office.authority.assurance(office.keys) is Assurance.NONE


def test_a_signed_decision_of_an_operator_counts(staffed: Office) -> None:
    staffed.approvals.approve(staffed.ask(), staffed.operator("grace"), "fine")
    assert staffed.call().data == "bob"


def test_once_somebody_is_enrolled_unsigned_decisions_do_not_count(office: Office) -> None:
    before = office.ask()
    office.approvals.approve(before, Label("ada"), "fine")
    office.enrolment.init("ada", None)
    refused = office.call()
    assert "unsigned, although operators are enrolled" in refused.error_message
    with pytest.raises(Unauthorised, match="unsigned"):
        office.approvals.approve(office.ask("eve"), Label("ada"), "fine")


def test_a_key_that_nobody_pinned_is_worth_nothing(staffed: Office) -> None:
    _, stranger = make_key("ada", None)
    with pytest.raises(Unauthorised, match="unknown key"):
        staffed.approvals.approve(staffed.ask(), stranger, "trust me")
    ada = staffed.operator("ada")
    assert isinstance(ada, Operator)
    impostor = Operator("grace", ada.public_key, ada.private_key)
    with pytest.raises(Unauthorised, match="does not fit"):
        staffed.approvals.approve(staffed.ask(), impostor, "trust me")


def test_what_a_revoked_operator_approved_is_refused(staffed: Office) -> None:
    grace = staffed.operator("grace")
    staffed.approvals.approve(staffed.ask(), grace, "fine")
    staffed.enrolment.revoke("grace", staffed.operator("ada"), "she left")
    assert "revoked key" in staffed.call().error_message
    with pytest.raises(Unauthorised, match="revoked key"):
        staffed.approvals.approve(staffed.ask("eve"), grace, "fine")
    with pytest.raises(Unauthorised, match="not an operator"):
        staffed.operator("grace")


def test_a_rotated_key_signs_no_more_but_what_it_signed_still_counts(staffed: Office) -> None:
    old = staffed.operator("ada")
    staffed.approvals.approve(staffed.ask(), old, "fine")
    staffed.clock.sleep(1)
    staffed.enrolment.rotate(old, None, "a new year")
    staffed.clock.sleep(1)
    assert staffed.call().success
    with pytest.raises(Unauthorised, match="rotated key"):
        staffed.approvals.approve(staffed.ask(), old, "fine")
    new = staffed.operator("ada")
    assert new.key_id != old.key_id
    staffed.approvals.approve(staffed.ask(), new, "fine")
    assert staffed.call().success


def test_dual_control_needs_two_people(tmp_path: Path, clock: SteeredClock) -> None:
    office = Office(tmp_path, clock, dual_control=("bank.*",))
    office.enrolment.init("ada", None)
    ada = office.operator()
    office.enrolment.add("grace", "", ada, "dual control")
    office.enrolment.add("clerk", "", ada, "dual control")
    approval_id = office.ask()
    assert office.approvals.approve(approval_id, ada, "one").state == "waiting"
    with pytest.raises(DeniedError, match="second person"):
        office.approvals.approve(approval_id, ada, "two")
    with pytest.raises(DeniedError, match="asked for it"):
        office.approvals.approve(approval_id, office.operator("clerk"), "two")
    assert not office.call().success
    both = office.approvals.approve(approval_id, office.operator("grace"), "two")
    assert (both.state, both.decided_by) == ("approved", "ada, grace")
    assert office.call().success


def test_one_of_two_approvals_put_into_the_row_by_hand_is_not_two(
    tmp_path: Path, clock: SteeredClock
) -> None:
    office = Office(tmp_path, clock, dual_control=("*",))
    office.enrolment.init("ada", None)
    office.approvals.approve(office.ask(), office.operator(), "one")
    with office.log.database.write() as execute:
        execute("UPDATE approvals SET state = 'approved'")
    assert "1 of 2 people" in office.call().error_message


@pytest.mark.parametrize("damage", ["gone", "other", "cut", "text", "unreadable", "pipe", "huge"])
def test_a_root_file_that_is_not_the_one_on_the_log_fails_closed(staffed: Office, damage: str) -> None:
    staffed.approvals.approve(staffed.ask(), staffed.operator("ada"), "fine")
    path = staffed.folder / "operators.json"
    if damage == "gone":
        path.unlink()
    elif damage == "other":
        _, stranger = make_key("ada", None)
        roster = Roster().extended(new_entry(Roster(), "root", "ada", stranger.public_key, "2026", stranger))
        RootFile(path).write(roster)
    elif damage == "cut":
        path.write_text(json.dumps({"entries": json.loads(path.read_text())["entries"][:1]}))
    elif damage == "text":
        path.write_text("hello")
    elif damage == "huge":
        path.write_text(path.read_text() + " " * (1 << 20))
    else:
        path.unlink()
        os.mkfifo(path) if damage == "pipe" else path.mkdir()
    refused = staffed.call()
    assert not refused.success
    assert "operators" in refused.error_message
    with pytest.raises(SBError):
        staffed.approvals.approve(staffed.ask("eve"), Label("ada"), "now unsigned")
    with pytest.raises(SBError):
        staffed.authority.assurance(staffed.keys)


def _entries() -> list[dict[str, Any]]:
    roster = Roster()
    people = [make_key(name, None)[1] for name in ("ada", "grace", "alan", "grace")]
    steps = [("root", 0, 0), ("add", 1, 0), ("add", 2, 1), ("rotate", 3, 1), ("revoke", 2, 0)]
    for number, (action, whom, by) in enumerate(steps):
        person = people[whom]
        name = "grace" if action == "rotate" else person.name
        entry = new_entry(roster, action, name, person.public_key, f"2026-01-0{number}", people[by])
        roster = roster.extended(entry)
    return [copy.deepcopy(entry) for entry in roster.entries]


ENTRIES = _entries()


def read(folder: Path, entries: list[dict[str, Any]]) -> Roster:
    path = folder / "operators.json"
    path.write_text(json.dumps({"entries": entries}))
    return RootFile(path).read()


@given(st.data())
def test_no_entry_can_be_changed_moved_or_left_out(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    entries = copy.deepcopy(ENTRIES)
    how = data.draw(st.sampled_from(["change", "drop", "swap", "repeat"]))
    at = data.draw(st.integers(0, len(entries) - 1))
    if how == "change":
        text = json.dumps(entries[at])
        spot = data.draw(st.integers(0, len(text) - 1))
        changed = text[:spot] + data.draw(st.sampled_from("aZ09+/{")) + text[spot + 1 :]
        try:
            entries[at] = json.loads(changed)
        except ValueError:
            return
        if entries[at] == ENTRIES[at]:
            return
    elif how == "drop" and at < len(entries) - 1:
        del entries[at]
    elif how == "swap" and at:
        entries[at - 1], entries[at] = entries[at], entries[at - 1]
    else:
        entries.append(entries[at])
    with pytest.raises(Damaged):
        read(tmp_path_factory.mktemp("root"), entries)


def test_the_entries_as_they_were_signed_are_read(tmp_path: Path) -> None:
    roster = read(tmp_path, ENTRIES)
    assert [(operator.name, operator.state) for operator in roster.operators] == [
        ("ada", "active"),
        ("grace", "rotated"),
        ("alan", "revoked"),
        ("grace", "active"),
    ]


def test_a_crash_between_file_and_log_leaves_the_newer_file_in_force(
    staffed: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    grace = staffed.operator("grace")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Enrolment, "_record", die)
        with pytest.raises(KeyboardInterrupt):
            staffed.enrolment.revoke("grace", staffed.operator("ada"), "she left")
    with pytest.raises(Unauthorised, match="revoked"):
        staffed.approvals.approve(staffed.ask(), grace, "fine")
    staffed.approvals.approve(staffed.ask(), staffed.operator("ada"), "fine")
    assert staffed.call().success


def test_a_rotation_that_was_cut_short_leaves_a_usable_key(
    staffed: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = staffed.operator("ada")
    with monkeypatch.context() as patch:
        patch.setattr(KeyFolder, "enrolled", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            staffed.enrolment.rotate(old, None, "a new year")
    new = staffed.operator("ada")
    assert new.key_id != old.key_id
    staffed.approvals.approve(staffed.ask(), new, "fine")


def test_a_lost_key_is_replaced_and_that_is_on_the_log(staffed: Office) -> None:
    staffed.approvals.approve(staffed.ask(), staffed.operator("ada"), "fine")
    made, old = staffed.enrolment.replace("ada", None, "the laptop was stolen")
    assert old is not None
    assert old.exists()
    assert "unknown key" in staffed.call().error_message
    assert staffed.operator().key_id == made.key_id
    events = [event.payload for event in staffed.log.events(kind="operator.changed")]
    assert (events[-1] or {})["reason"] == "the laptop was stolen"
    assert (events[-1] or {})["how"] == "replaced"


def test_what_cannot_be_done_with_operators_is_said(staffed: Office) -> None:
    ada = staffed.operator("ada")
    with pytest.raises(UsageError, match="already: ada, grace"):
        staffed.enrolment.init("eve", None)
    with pytest.raises(UsageError, match="enrolled already"):
        staffed.enrolment.add("grace", "", ada, "again")
    with pytest.raises(UsageError, match="not a public key"):
        staffed.enrolment.add("eve", "ed25519:abc", ada, "new")
    assert isinstance(ada, Operator)
    with pytest.raises(UsageError, match="ada's already"):
        staffed.enrolment.add("eve", ada.public_key, ada, "the same key")
    with pytest.raises(UsageError, match="reason"):
        staffed.enrolment.add("eve", "", ada, " ")
    with pytest.raises(UsageError, match="operator's name"):
        staffed.enrolment.add("Eve!", "", ada, "new")
    with pytest.raises(DeniedError, match="not an operator"):
        staffed.enrolment.add("eve", "", make_key("eve", None)[1], "myself")
    with pytest.raises(NotFoundError, match='did you mean "grace"'):
        staffed.enrolment.revoke("grase", ada, "typo")
    staffed.enrolment.revoke("grace", ada, "she left")
    with pytest.raises(UsageError, match="last operator"):
        staffed.enrolment.revoke("ada", ada, "myself")


def test_a_key_with_a_passphrase_opens_with_it_alone(office: Office) -> None:
    with pytest.raises(UsageError, match="8 characters"):
        make_key("ada", "short")
    office.enrolment.init("ada", PASSPHRASE)
    path = office.folder / "keys" / "ada.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with pytest.raises(DeniedError, match="not the passphrase"):
        decider(office.authority, office.keys, "", lambda prompt: "wrong horse")
    by = decider(office.authority, office.keys, "", lambda prompt: PASSPHRASE)
    office.approvals.approve(office.ask(), by, "fine")
    assert office.call().success
    assert office.authority.assurance(office.keys) is Assurance.PASSPHRASE
    file = office.keys.read("ada")
    with pytest.raises(DeniedError):
        key_module.KeyFile("eve", file.public_key, True, file.sealed).unlock(PASSPHRASE)


def test_the_private_half_is_nowhere_but_in_its_file(staffed: Office) -> None:
    seed = json.loads((staffed.folder / "keys" / "ada.key").read_text())["sealed"]["seed"]
    staffed.approvals.approve(staffed.ask(), staffed.operator("ada"), "fine")
    staffed.log.close()
    for path in staffed.folder.rglob("*"):
        if path.is_file() and path.name != "ada.key":
            assert seed.encode() not in path.read_bytes(), path
    assert staffed.authority.root_file is not None


def test_the_assurance_falls_with_a_key_that_anybody_can_read(staffed: Office) -> None:
    assert staffed.authority.assurance(staffed.keys) is Assurance.SIGNED


@pytest.mark.parametrize(
    "text", ["", "{}", '{"name": "ada"}', '{"name": "eve", "public_key": "x", "locked": 1, "sealed": {}}']
)
def test_a_damaged_key_file_is_one_clear_error(staffed: Office, text: str) -> None:
    (staffed.folder / "keys" / "ada.key").write_text(text)
    with pytest.raises(ConfigError, match=r"ada\.key"):
        staffed.operator("ada")


def test_who_decides_must_be_said_when_several_could(staffed: Office) -> None:
    with pytest.raises(UsageError, match="ada, grace"):
        staffed.operator()
    for name in ("ada", "grace"):
        (staffed.folder / "keys" / f"{name}.key").unlink()
    with pytest.raises(DeniedError, match="none of their keys"):
        staffed.operator()


@given(st.text(max_size=80))
def test_any_login_name_becomes_an_operators_name(login: str) -> None:
    assert key_module.NAME.fullmatch(name_from(login))


def test_a_statement_is_signed_as_a_whole(staffed: Office) -> None:
    signed = signed_statement(staffed.operator("ada"), {"action": "x", "at": "2026"})
    assert staffed.authority.verify(signed) == "ada"
    for field in ("action", "at", "by", "key"):
        forged = copy.deepcopy(signed)
        forged["statement"][field] += "1"
        with pytest.raises(Unauthorised):
            staffed.authority.verify(forged)
    for broken in ({}, {"statement": 1}, {"statement": {}, "signature": ""}):
        with pytest.raises(Unauthorised):
            staffed.authority.verify(broken)
