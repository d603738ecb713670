"""A forged prune excuses no missing payload once operators are enrolled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.errors import DeniedError
from sb.kernel.authority.signing import Label
from sb.kernel.review.log_pruning import prune
from sb.kernel.review.log_verification import verify
from sb.log.kinds import (
    BASELINE_CHANGED,
    GRANT_MADE,
    INCIDENT_OPENED,
    KILL_LIFTED,
    KILL_THROWN,
    OPERATOR_CHANGED,
    PRUNED,
)
from tests.kernel.authority.test_operators import Office
from tests.log.test_log import ROOT
from tests.sql_attacker import SqlAttacker

KEPT = (OPERATOR_CHANGED, BASELINE_CHANGED, GRANT_MADE, KILL_THROWN, KILL_LIFTED, INCIDENT_OPENED)


@pytest.fixture
def office(tmp_path: Path, clock: SteeredClock) -> Office:
    found = Office(tmp_path, clock)
    found.enrolment.init("ada", None)
    found.ask()
    found.clock.sleep(100)
    return found


def standalone(office: Office, *files: str) -> subprocess.CompletedProcess[str]:
    paths = [str(office.folder / name) for name in ("brain.db", "anchors.jsonl", *files)]
    command = [sys.executable, "-I", str(ROOT / "docs" / "verify_log.py"), *paths]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def blank(office: Office, signed: dict[str, object], *kinds: str) -> None:
    attacker = SqlAttacker(office.folder / "brain.db")
    named = ", ".join(f"'{kind}'" for kind in ("approval.requested", *kinds))
    sql = f"UPDATE events SET payload = NULL, salt = NULL WHERE kind IN ({named})"
    (last,) = attacker.rows("SELECT max(id) FROM events")[0]
    payload = {"through": last - (1 << 40), "removed": attacker.run(sql), "reason": "retention"}
    attacker.append(PRUNED, payload | signed)


def test_a_forged_prune_is_named_and_excuses_nothing(office: Office) -> None:
    blank(office, {})
    problems = verify(office.log, office.authority).problems
    assert any("unsigned, although operators are enrolled" in line for line in problems)
    assert any("is missing" in line for line in problems)
    assert "is not signed" in standalone(office).stdout
    assert standalone(office, "operators.json").returncode == 1


def test_a_forged_prune_that_empties_the_enrolment_is_named_too(office: Office) -> None:
    blank(office, {}, OPERATOR_CHANGED)
    problems = verify(office.log, office.authority).problems
    assert any("unsigned, although operators are enrolled" in line for line in problems)
    assert "is not signed" in standalone(office).stdout


@pytest.mark.parametrize("kind", KEPT)
def test_what_is_in_force_is_excused_by_no_prune(kind: str, office: Office) -> None:
    office.log.append(kind, {"what": "x"})
    office.clock.sleep(1)
    ada = office.operator("ada")
    prune(office.log, before=office.clock.time, reason="old", by=ada, authority=office.authority)
    attacker = SqlAttacker(office.folder / "brain.db")
    (row,) = attacker.rows(f"SELECT min(id) - (1 << 40) FROM events WHERE kind = '{kind}'")[0]
    attacker.run(f"UPDATE events SET payload = NULL, salt = NULL WHERE kind = '{kind}'")
    named = f"the payload of row {row} is missing"
    assert named in verify(office.log, office.authority).problems
    assert named in standalone(office, "operators.json").stdout


def test_an_operator_prunes_and_both_verifiers_say_so(office: Office) -> None:
    ada = office.operator("ada")
    count = prune(office.log, before=office.clock.time, reason="old", by=ada, authority=office.authority)
    assert count > 0
    assert verify(office.log, office.authority).problems == []
    checked = standalone(office, "operators.json")
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "ok\n", "")
    assert "signatures of prunes were not checked" in standalone(office).stderr


def test_the_signature_of_another_prune_does_not_fit(office: Office) -> None:
    ada = office.operator("ada")
    prune(office.log, before=office.clock.time, reason="old", by=ada, authority=office.authority)
    (signed,) = [(event.payload or {})["signed"] for event in office.log.events(kind=PRUNED)]
    office.ask("eve")
    blank(office, {"signed": signed})
    assert any("another one" in line for line in verify(office.log, office.authority).problems)
    assert "signed as another one" in standalone(office, "operators.json").stdout
    signed = {**signed, "statement": {**signed["statement"], "through": 5, "removed": 1}}
    SqlAttacker(office.folder / "brain.db").append(PRUNED, {"through": 5, "removed": 1, "signed": signed})
    assert any("does not fit" in line for line in verify(office.log, office.authority).problems)
    assert "does not fit" in standalone(office, "operators.json").stdout


def test_nobody_but_an_operator_prunes(office: Office) -> None:
    with pytest.raises(DeniedError, match="unsigned"):
        prune(office.log, before=office.clock.time, reason="old", by=Label("eve"), authority=office.authority)
    assert verify(office.log, office.authority).pruned == 0


def test_a_prune_from_before_the_enrolment_goes_on_counting(tmp_path: Path, clock: SteeredClock) -> None:
    office = Office(tmp_path, clock)
    office.ask()
    clock.sleep(100)
    assert prune(office.log, before=clock.time, reason="old") > 0
    office.enrolment.init("ada", None)
    assert verify(office.log, office.authority).problems == []
    assert standalone(office, "operators.json").returncode == 0
