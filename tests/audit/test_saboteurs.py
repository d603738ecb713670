"""Does the audit notice when a subsystem is broken, and blame that one alone?"""

from __future__ import annotations

import pytest

import tests.audit.saboteurs_memory  # noqa: F401 - registers its saboteurs
import tests.audit.saboteurs_reversible  # noqa: F401 - alike
import tests.audit.saboteurs_subtle  # noqa: F401 - alike
from sb.audit.probes import PROBES
from sb.audit.running import audit
from sb.kernel.harness_audit import ControlStatus, Grade
from tests.audit.saboteurs import SABOTEURS, Saboteur

WORTH = {ControlStatus.FAIL: 0, ControlStatus.PARTIAL: 1, ControlStatus.PASS: 2}


def graded() -> dict[str, Grade]:
    return {grade.control.id: grade for grade in audit().grades}


def held(grade: Grade) -> set[str]:
    return {finding.criterion.name for finding in grade.findings if finding.ok}


@pytest.fixture(scope="module")
def unbroken() -> dict[str, Grade]:
    return graded()


def test_every_probe_has_a_saboteur() -> None:
    assert {control_id for control_id, _ in SABOTEURS} == set(PROBES)


@pytest.mark.parametrize("control_id", PROBES)
def test_every_check_that_can_be_answered_holds(control_id: str, unbroken: dict[str, Grade]) -> None:
    """Of a control that does not pass for what is not built, the status would not tell."""
    grade = unbroken[control_id]
    broken = [one for one in grade.findings if not one.ok and not one.criterion.waits]
    assert (grade.trouble, broken) == ("", [])


@pytest.mark.parametrize(("control_id", "saboteur"), SABOTEURS, ids=lambda one: getattr(one, "__name__", one))
def test_a_broken_subsystem_costs_exactly_its_own_control(
    control_id: str,
    saboteur: Saboteur,
    unbroken: dict[str, Grade],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    saboteur(monkeypatch)
    found = graded()
    changed = {one for one in found if found[one].status is not unbroken[one].status}
    assert changed <= {control_id}
    before, after = unbroken[control_id], found[control_id]
    assert held(after) < held(before)
    if before.status is ControlStatus.PASS:
        assert WORTH[after.status] < WORTH[before.status]
