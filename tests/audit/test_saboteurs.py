"""Does the audit notice when a subsystem is broken, and blame that one alone?"""

from __future__ import annotations

import pytest

import tests.audit.saboteurs_reversible  # noqa: F401 - registers its saboteurs
from sb.audit.probes import PROBES
from sb.audit.running import audit
from sb.kernel.harness_audit import ControlStatus
from tests.audit.saboteurs import SABOTEURS, Saboteur

WORTH = {ControlStatus.FAIL: 0, ControlStatus.PARTIAL: 1, ControlStatus.PASS: 2}


def statuses() -> dict[str, ControlStatus]:
    return {grade.control.id: grade.status for grade in audit().grades}


@pytest.fixture(scope="module")
def unbroken() -> dict[str, ControlStatus]:
    return statuses()


def test_every_probe_has_a_saboteur() -> None:
    assert {control_id for control_id, _ in SABOTEURS} == set(PROBES)


def test_every_probe_has_something_to_lose(unbroken: dict[str, ControlStatus]) -> None:
    assert [control_id for control_id in PROBES if unbroken[control_id] is ControlStatus.FAIL] == []


@pytest.mark.parametrize(("control_id", "saboteur"), SABOTEURS, ids=lambda one: getattr(one, "__name__", one))
def test_a_broken_subsystem_costs_exactly_its_own_control(
    control_id: str,
    saboteur: Saboteur,
    unbroken: dict[str, ControlStatus],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    saboteur(monkeypatch)
    found = statuses()
    assert {one for one in found if found[one] is not unbroken[one]} == {control_id}
    assert WORTH[found[control_id]] < WORTH[unbroken[control_id]]
