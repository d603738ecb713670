"""Whoever can write the database, and nothing else of the home, brings no killed agent back and closes no incident."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SteeredClock
from sb.errors import SBError, StoreError
from sb.kernel.authority.signing import Label
from sb.kernel.incident_response.incidents import Incidents
from sb.kernel.review.log_verification import verify
from sb.log.kinds import INCIDENT_CLOSED, INCIDENT_OPENED, KILL_LIFTED, KILL_THROWN
from tests.kernel.incident_response.conftest import ADA, Plant
from tests.sql_attacker import SqlAttacker


class Home:
    """A home with its database; every `process` starts with nothing but the files."""

    def __init__(self, folder: Path, clock: SteeredClock) -> None:
        self.folder = folder
        self.clock = clock

    def process(self, database: str = "brain.db", *, home: Path | None = None) -> Plant:
        return Plant(self.folder, self.clock, home=home or self.folder, database=database)

    def attacker(self, database: str = "brain.db") -> SqlAttacker:
        return SqlAttacker(self.folder / database)

    def unsigned(self, kind: str, facts: dict[str, Any], about: str = "kill") -> dict[str, Any]:
        """A statement as the kernel itself would make it, without a key."""
        log = self.process().log
        rows = log.database.query(
            "SELECT hash FROM events WHERE call_id = ? AND substr(kind, 1, 7) <> 'kernel.' ORDER BY id",
            (about,),
        )
        after = rows[-1][0] if rows else ""
        place = {"database": log.database_id, "after": after, "at": "2026-01-01T00:00:00.000Z"}
        statement = {"action": kind, **facts, "reason": "all is well", **place, "by": "ada", "key": ""}
        return {"by": "ada", "reason": "all is well", "signed": {"statement": statement, "signature": ""}}


@pytest.fixture
def at_home(tmp_path: Path, clock: SteeredClock) -> Home:
    return Home(tmp_path, clock)


CLERK = {"scope": "agent", "target": "clerk"}


@pytest.mark.parametrize("name", ["agent:clerk", "tool:plant.write", "class:local_write", "global"])
def test_a_kill_that_was_deleted_goes_on_in_new_processes(at_home: Home, name: str) -> None:
    first = at_home.process()
    assert first.call().success
    first.kill.throw(name, "", ADA, "stop")
    at_home.attacker().delete(KILL_THROWN)
    fresh = at_home.process()
    refused = fresh.call()
    assert not refused.success
    assert "was killed by ada: stop" in refused.error_message
    assert fresh.calls == []
    assert [kill.lost for kill in fresh.kill.active()] == [True]
    assert any("is gone from the log" in line for line in verify(fresh.log).problems)
    assert fresh.kill.lift(name, "", ADA, "looked at") is None
    assert at_home.process().call().success


def test_a_run_that_was_killed_stays_so(at_home: Home) -> None:
    first = at_home.process()
    ctx = first.context()
    assert first.executor.execute(ctx, "plant.write", {}).success
    first.kill.throw("run", ctx.run_id, ADA, "it loops")
    at_home.attacker().delete(KILL_THROWN)
    assert not at_home.process().executor.execute(ctx, "plant.write", {}).success


def test_a_process_that_looked_before_sees_a_kill_whose_row_is_gone_again(at_home: Home) -> None:
    running, other = at_home.process(), at_home.process()
    assert running.call().success
    other.kill.throw("agent", "clerk", ADA, "stop")
    at_home.attacker().run("DELETE FROM events WHERE kind = ?", KILL_THROWN)  # the log is as long as it was
    assert not running.call().success
    assert not running.call("plant.read").success


def test_a_forged_lift_lifts_nothing_where_nobody_is_enrolled(at_home: Home) -> None:
    at_home.process().kill.throw("agent", "clerk", ADA, "stop")
    at_home.attacker().append(KILL_LIFTED, at_home.unsigned(KILL_LIFTED, CLERK), "kill")
    fresh = at_home.process()
    assert not fresh.call().success
    assert "put into the database by something else" in fresh.kill.active()[0].rejected[0]
    assert fresh.kill.lift("agent", "clerk", ADA, "looked at") is None
    assert fresh.call().success


def test_a_lift_is_not_replayed_for_a_later_kill(at_home: Home) -> None:
    first = at_home.process()
    first.kill.throw("agent", "clerk", ADA, "stop")
    first.kill.lift("agent", "clerk", ADA, "go on")
    first.kill.throw("agent", "clerk", ADA, "stop again")
    attacker = at_home.attacker()
    attacker.run("DELETE FROM events WHERE id = (SELECT max(id) FROM events WHERE kind = ?)", KILL_THROWN)
    attacker.append("kernel.run.started", {})
    refused = at_home.process().call()
    assert "stop again" in refused.error_message


def test_an_unsigned_lift_counts_as_little_when_the_enrolment_is_moved_behind_it(at_home: Home) -> None:
    first = at_home.process()
    first.enrol("ada")
    first.kill.throw("agent", "clerk", ADA, "stop")
    attacker = at_home.attacker()
    enrolled, last = attacker.rows(
        "SELECT max(id) FILTER (WHERE kind = 'operator.changed'), max(id) FROM events"
    )[0]
    attacker.move(enrolled, after=last)
    lift = attacker.append(KILL_LIFTED, at_home.unsigned(KILL_LIFTED, CLERK), "kill")
    attacker.move(last, after=lift)
    assert not at_home.process().call().success


def test_an_unsigned_lift_from_before_the_enrolment_goes_on_counting(at_home: Home) -> None:
    first = at_home.process()
    first.kill.throw("agent", "clerk", ADA, "stop")
    first.kill.lift("agent", "clerk", ADA, "go on")
    first.enrol("ada")
    assert at_home.process().call().success


def test_kills_and_lifts_of_an_earlier_version_are_taken_over(at_home: Home, clock: SteeredClock) -> None:
    before = Plant(at_home.folder, clock)
    before.kill.throw("agent", "clerk", ADA, "stop")
    before.kill.throw("agent", "courier", ADA, "stop")
    before.kill.lift("agent", "courier", ADA, "go on")
    before.enrol("ada")
    assert at_home.process().call(agent="courier").success
    at_home.attacker().delete(KILL_THROWN)
    fresh = at_home.process()
    assert not fresh.call().success
    lines = (at_home.folder / "statements.jsonl").read_text().splitlines()
    assert len(lines) == 4  # where it was met, two kills, one lift


def test_a_kill_follows_a_database_that_is_moved_restored_or_replaced(at_home: Home) -> None:
    first = at_home.process()
    assert first.call().success
    first.log.close()
    shutil.copy(at_home.folder / "brain.db", at_home.folder / "backup.db")
    second = at_home.process()
    second.kill.throw("agent", "clerk", ADA, "stop")
    second.log.close()
    shutil.move(at_home.folder / "brain.db", at_home.folder / "moved.db")
    assert not at_home.process("moved.db").call().success
    shutil.copy(at_home.folder / "backup.db", at_home.folder / "brain.db")
    assert not at_home.process().call().success
    (at_home.folder / "brain.db").unlink()
    replaced = at_home.process()
    assert not replaced.call().success
    replaced.kill.lift("agent", "clerk", ADA, "a new beginning")
    assert at_home.process().call().success


def test_another_id_of_the_database_frees_nobody(at_home: Home) -> None:
    at_home.process().kill.throw("agent", "clerk", ADA, "stop")
    attacker = at_home.attacker()
    attacker.run("UPDATE meta SET value = 'another' WHERE key = 'database_id'")
    attacker.delete(KILL_THROWN)
    attacker.relink()
    assert not at_home.process().call().success


def test_two_databases_of_one_home_have_kills_of_their_own(at_home: Home) -> None:
    at_home.process().kill.throw("agent", "clerk", ADA, "stop")
    other = at_home.process("second.db")
    assert other.call().success
    other.kill.throw("agent", "courier", ADA, "stop")
    assert at_home.process().call(agent="courier").success


def test_a_copied_home_keeps_its_kills(at_home: Home, tmp_path: Path, clock: SteeredClock) -> None:
    first = at_home.process()
    first.kill.throw("agent", "clerk", ADA, "stop")
    first.log.close()
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("brain.db", "statements.jsonl", "anchors.jsonl"):
        shutil.copy(at_home.folder / name, copy / name)
    SqlAttacker(copy / "brain.db").delete(KILL_THROWN)
    assert not Plant(copy, clock, home=copy).call().success


@pytest.mark.parametrize("kind", [KILL_THROWN, KILL_LIFTED])
def test_a_process_that_dies_between_file_and_log_leaves_agents_stopped(at_home: Home, kind: str) -> None:
    first = at_home.process()
    if kind == KILL_LIFTED:
        first.kill.throw("agent", "clerk", ADA, "stop")

    def cut_short() -> None:
        with first.log.write(power=True) as write:
            facts = {**CLERK, "reason": "cut short", "people": 1}
            first.kill._statements.add(write, kind, facts, ADA)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_short()
    for process in (first, at_home.process()):
        assert not process.call().success
    assert at_home.process().kill.lift("agent", "clerk", ADA, "go on") is None
    for process in (first, at_home.process()):
        assert process.call().success


def test_a_torn_last_line_was_never_acknowledged_and_other_damage_denies_every_call(at_home: Home) -> None:
    file = at_home.folder / "statements.jsonl"
    first = at_home.process()
    with file.open("a") as out:
        out.write('{"database": "')
    assert at_home.process().call().success
    first.kill.throw("agent", "clerk", ADA, "stop")
    assert not at_home.process().call().success
    assert at_home.process().call(agent="courier").success
    with file.open("a") as out:
        out.write("[1]\n")
    assert "makes no sense" in at_home.process().call(agent="courier").error_message


def test_a_kill_that_cannot_be_recorded_outside_the_database_is_not_acknowledged(at_home: Home) -> None:
    first = at_home.process()
    (at_home.folder / "statements.jsonl").unlink()
    (at_home.folder / "statements.jsonl").mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        first.kill.throw("agent", "clerk", ADA, "stop")
    assert not first.call().success  # it cannot be told what is stopped


def test_a_forged_event_closes_no_incident(at_home: Home) -> None:
    first = at_home.process()
    incident = Incidents(first.log, first.authority).open("Paid twice", ADA, "two invoices")
    attacker = at_home.attacker()
    attacker.append(
        INCIDENT_CLOSED, at_home.unsigned(INCIDENT_CLOSED, {"id": incident.id}, "incidents"), "incidents"
    )
    fresh = at_home.process()
    incidents = Incidents(fresh.log, fresh.authority)
    assert incidents.get(incident.id).open
    assert not incidents.close(incident.id, ADA, "one was returned").open
    fresh.enrol("ada")
    assert not incidents.get(incident.id).open


def test_an_incident_whose_row_was_deleted_is_still_there(at_home: Home) -> None:
    first = at_home.process()
    incident = Incidents(first.log, first.authority).open("Paid twice", Label("eve"), "two invoices")
    at_home.attacker().delete(INCIDENT_OPENED)
    fresh = at_home.process()
    assert Incidents(fresh.log, fresh.authority).get(incident.id).title == "Paid twice"
    assert any("incident.opened" in line and "gone" in line for line in verify(fresh.log).problems)


def test_who_has_seen_a_kill_denies_every_call_once_its_row_is_gone(at_home: Home) -> None:
    running = at_home.process()
    running.kill.throw("agent", "clerk", ADA, "stop")
    assert not running.call().success
    at_home.attacker().run("DELETE FROM events WHERE kind = ?", KILL_THROWN)
    with pytest.raises(SBError, match="vanished"):
        running.kill.active()
