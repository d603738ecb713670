"""Does the audit notice when a subsystem is broken, and blame that one alone?"""

from __future__ import annotations

import os

import pytest

import tests.audit.saboteurs_memory  # noqa: F401 - registers its saboteurs
import tests.audit.saboteurs_reversible  # noqa: F401 - alike
import tests.audit.saboteurs_stack  # noqa: F401 - alike
import tests.audit.saboteurs_subtle  # noqa: F401 - alike
from sb.audit.probes import PROBES, network
from sb.audit.running import audit
from sb.kernel.harness_audit import Check, ControlStatus, Grade, load_catalogue
from tests.audit.saboteurs import SABOTEURS, Saboteur

WORTH = {ControlStatus.FAIL: 0, ControlStatus.PARTIAL: 1, ControlStatus.PASS: 2}


# A memory names what it was made from, and is related to it: with both broken at once another control has nothing to look at.
BOTH_ENDS = {"what_a_memory_rests_on_is_not_kept", "derivations_are_not_related"}


def graded(controls: set[str]) -> dict[str, Grade]:
    chosen = [control for control in load_catalogue().controls if control.id in controls]
    return {grade.control.id: grade for grade in audit(chosen).grades}


def held(grade: Grade) -> set[str]:
    return {finding.criterion.name for finding in grade.findings if finding.ok}


@pytest.fixture(scope="module")
def unbroken() -> dict[str, Grade]:
    return graded(set(PROBES))


def test_every_probe_has_a_saboteur() -> None:
    assert {control_id for control_id, _ in SABOTEURS} == set(PROBES)


@pytest.mark.parametrize("control_id", PROBES)
def test_every_check_that_can_be_answered_holds(control_id: str, unbroken: dict[str, Grade]) -> None:
    """Of a control that does not pass for what is not built, the status would not tell."""
    grade = unbroken[control_id]
    broken = [one for one in grade.findings if not one.ok and not one.criterion.waits]
    assert (grade.trouble, broken) == ("", [])


@pytest.mark.parametrize(("control_id", "saboteur"), SABOTEURS, ids=lambda one: getattr(one, "__name__", one))
def test_a_broken_subsystem_costs_its_own_control(
    control_id: str,
    saboteur: Saboteur,
    unbroken: dict[str, Grade],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    saboteur(monkeypatch)
    before, after = unbroken[control_id], graded({control_id})[control_id]
    assert held(after) < held(before)
    if before.status is ControlStatus.PASS:
        assert WORTH[after.status] < WORTH[before.status]


def together(saboteurs: list[Saboteur]) -> list[list[Saboteur]]:
    """Groups in which no one undoes what another broke."""
    groups: list[tuple[set[tuple[int, str]], list[Saboteur]]] = []
    for saboteur in saboteurs:
        with pytest.MonkeyPatch.context() as patch:
            saboteur(patch)
            patched = {(id(part), name) for part, name, _ in patch._setattr}
        if saboteur.__name__ in BOTH_ENDS:
            patched.add((0, "lineage"))
        taken, members = next((one for one in groups if not one[0] & patched), (set(), []))
        if not members:
            groups.append((taken, members))
        taken |= patched
        members.append(saboteur)
    return [members for _, members in groups]


def spoiled(saboteurs: list[Saboteur], unbroken: dict[str, Grade], controls: set[str]) -> set[str]:
    """Which of these controls another status have when all that is broken at once."""
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        for saboteur in saboteurs:
            saboteur(patch)
        if (
            dict(os.environ) == before
        ):  # a process of its own is reached by nothing else, and a quarter of the time
            patch.setattr(network, "_importing", lambda h: Check("importing", True, ""))
        found = graded(controls)
    return {one for one in found if found[one].status is not unbroken[one].status}


@pytest.mark.parametrize("control_id", PROBES)
def test_a_broken_subsystem_costs_no_other_control(control_id: str, unbroken: dict[str, Grade]) -> None:
    """All that break this control at once, for it takes a fifth of the time; if that shows elsewhere, one by one."""
    others = set(PROBES) - {control_id}
    for group in together([saboteur for broken, saboteur in SABOTEURS if broken == control_id]):
        if spoiled(group, unbroken, others):
            guilty = {one.__name__: spoiled([one], unbroken, others) for one in group}
            assert set().union(*guilty.values()) == set(), guilty
