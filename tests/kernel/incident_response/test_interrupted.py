"""A statement whose process was killed before its commit is told from tampering, counts as it should, and is settled."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.kernel.incident_response.incidents import Incidents
from sb.kernel.incident_response.interrupted import interrupted, settle
from sb.kernel.review.findings import interrupted_statements
from sb.kernel.review.log_verification import verify
from sb.store.statement_file import StatementFile, StatementLine
from tests.kernel.incident_response.conftest import ADA, Plant
from tests.sql_attacker import SqlAttacker


class Dying(StatementFile):
    """The file of a process that is killed as soon as a line is on the disk."""

    def append(self, lines: object) -> None:
        super().append(lines)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGKILL)


def killed(folder: Path, clock: SteeredClock, action: Callable[[Plant], object]) -> None:
    """Do something in a process that is killed between the sync of its line and its commit."""
    pid = os.fork()
    if pid == 0:
        try:
            plant = Plant(folder, clock, home=folder)
            assert plant.log.anchor is not None
            plant.log.anchor.statements = plant.kill._statements._file = Dying(folder / "statements.jsonl")
            action(plant)
        finally:
            os._exit(3)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def throw(plant: Plant) -> object:
    return plant.kill.throw("agent", "mallory", ADA, "stop")


def lift(plant: Plant) -> object:
    return plant.kill.lift("agent", "mallory", ADA, "fine")


@pytest.fixture
def plant(tmp_path: Path, clock: SteeredClock) -> Plant:
    plant = Plant(tmp_path, clock, home=tmp_path)
    plant.kill.throw("agent", "eve", ADA, "first")
    return plant


def test_kill_that_was_not_committed_stops_and_is_no_tampering(plant: Plant) -> None:
    killed(plant.folder, plant.clock, throw)
    assert {kill.target for kill in plant.kill.active()} == {"eve", "mallory"}
    found = verify(plant.log, plant.authority)
    assert (found.ok, len(found.interrupted)) == (True, 1)
    assert "kill.thrown" in found.interrupted[0]
    plant.kill.throw("agent", "trudy", ADA, "another takes its number")
    assert (verify(plant.log, plant.authority).ok, len(interrupted(plant.log))) == (True, 1)
    assert [finding.name for finding in interrupted_statements(plant.log)] == ["statements"]


def test_settled_kill_is_on_the_log_and_lifted_as_any_other(plant: Plant) -> None:
    killed(plant.folder, plant.clock, throw)
    [settled] = settle(plant.log, plant.authority, interrupted(plant.log), ADA)
    assert settled.repeated
    assert not interrupted(plant.log)
    assert verify(plant.log, plant.authority).to_dict()["interrupted"] == []
    [kill] = [kill for kill in plant.kill.active() if kill.target == "mallory"]
    assert (kill.reason, kill.lost) == ("stop", False)
    lift(plant)
    assert {kill.target for kill in plant.kill.active()} == {"eve"}
    assert settle(plant.log, plant.authority, interrupted(plant.log), ADA) == []


def test_lift_that_was_not_committed_never_took_effect(plant: Plant) -> None:
    throw(plant)
    killed(plant.folder, plant.clock, lift)
    assert {kill.target for kill in plant.kill.active()} == {"eve", "mallory"}
    [settled] = settle(plant.log, plant.authority, interrupted(plant.log), ADA)
    assert "never took effect" in settled.sentence
    assert {kill.target for kill in plant.kill.active()} == {"eve", "mallory"}
    assert verify(plant.log, plant.authority).ok
    lift(plant)
    assert {kill.target for kill in plant.kill.active()} == {"eve"}


def test_incident_that_was_not_committed_is_settled_under_its_own_id(plant: Plant) -> None:
    def open_one(inside: Plant) -> None:
        incidents = Incidents(inside.log, inside.authority)
        incidents._statements._file = inside.kill._statements._file
        incidents.open("prices leaked", ADA, "seen in a log")

    killed(plant.folder, plant.clock, open_one)
    settle(plant.log, plant.authority, interrupted(plant.log), ADA)
    [incident] = Incidents(plant.log, plant.authority).all()
    assert (incident.title, incident.open) == ("prices leaked", True)


def test_row_that_was_committed_and_taken_away_is_tampering_all_the_same(plant: Plant) -> None:
    throw(plant)
    SqlAttacker(plant.folder / "brain.db").run("DELETE FROM events WHERE kind = 'kill.thrown' AND id & 1 = 0")
    assert not interrupted(plant.log)
    assert any("is gone from the log" in line for line in verify(plant.log, plant.authority).problems)


def test_statement_that_is_being_committed_is_not_settled(plant: Plant) -> None:
    """Of a line that a living process has written, the row is there once its transaction is over."""
    file, before = plant.folder / "statements.jsonl", StatementLine("x", "y")
    throw(plant)
    line = plant.log.anchor.statements.read(plant.log.database_id, plant.log.place).lines[-1]  # type: ignore[union-attr]
    assert settle(plant.log, plant.authority, [before, line], ADA) == []
    assert b'"withdrawn": true' not in file.read_bytes()
