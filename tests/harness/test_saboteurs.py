"""The audit notices a broken subsystem, and blames that one alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from itertools import combinations
from math import comb
from types import FunctionType
from typing import Any

import pytest

import tests.harness.saboteurs_boundaries  # noqa: F401 - registers its saboteurs
import tests.harness.saboteurs_credentials  # noqa: F401 - alike
import tests.harness.saboteurs_evals  # noqa: F401 - alike
import tests.harness.saboteurs_judgement  # noqa: F401 - alike
import tests.harness.saboteurs_memory  # noqa: F401 - registers its saboteurs
import tests.harness.saboteurs_planning  # noqa: F401 - alike
import tests.harness.saboteurs_privacy  # noqa: F401 - alike
import tests.harness.saboteurs_reading  # noqa: F401 - alike
import tests.harness.saboteurs_refusing  # noqa: F401 - alike
import tests.harness.saboteurs_replay  # noqa: F401 - alike
import tests.harness.saboteurs_reversible  # noqa: F401 - alike
import tests.harness.saboteurs_running  # noqa: F401 - alike
import tests.harness.saboteurs_stack  # noqa: F401 - alike
import tests.harness.saboteurs_subtle  # noqa: F401 - alike
from sb.harness.probes import PROBES, network
from sb.harness.running import audit
from sb.kernel.harness_audit import Check, ControlStatus, Grade, load_catalogue
from tests.harness.saboteurs import SABOTEURS, Saboteur

Place = tuple[int, str]  # the id of an object, and a name in it
WORTH = {ControlStatus.FAIL: 0, ControlStatus.PARTIAL: 1, ControlStatus.PASS: 2}


# What a quarantine reaches is found by what a memory rests on, a stop is lifted by signed decisions, and a proposal is
# applied by what its evaluation finds. These are broken one by one: with two of them at once a third control has nothing
# to look at.
NEEDED_BY = {
    "what_a_memory_rests_on_is_not_kept": {"HA-05", "HA-37"},
    "derivations_are_not_related": {"HA-05", "HA-38"},
    "unsigned_decisions_count": {"HA-36"},
    "the_end_of_a_run_is_not_recorded": {"HA-34"},
    "a_dry_run_calls_tools": {"HA-18"},
    "matchers_are_not_asked": {"HA-37"},
    "nothing_is_worse_than_before": {"HA-37"},
}


class Unbroken:
    """The grades where nothing is broken, and which probes come by what a saboteur replaces.

    A probe that never calls what a saboteur replaces goes the same way whether it is replaced or not, so it need not be
    asked again: that leaves a third of the work.
    """

    def __init__(self) -> None:
        self.grades: dict[str, Grade] = {}
        self._callers: list[set[str]] = []  # of each place
        self._asked = ""
        with pytest.MonkeyPatch.context() as patch:
            for part, name, real in places():
                patch.setattr(part, name, self._overheard(real))
            for self._asked in PROBES:
                self.grades |= graded({self._asked})

    def _overheard(self, real: Any) -> Any:
        callers: set[str] = set()
        self._callers.append(callers)
        function: Any = real.fget if isinstance(real, property) else real

        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            callers.add(self._asked)
            return function(*given, **named)

        return property(call) if isinstance(real, property) else call

    def within_reach(self, saboteur: Saboteur) -> set[str]:
        """The controls that this saboteur may cost; all, where it replaces what is not called."""
        broken = replaced(saboteur)
        if broken is None:
            return set(PROBES)
        asked = {(id(part), name) for part, name, _ in broken}
        found = zip(places(), self._callers, strict=True)
        return set().union(*(callers for (part, name, _), callers in found if (id(part), name) in asked))


@cache
def places() -> list[tuple[Any, str, Any]]:
    """The object, the name and the function of each that a saboteur replaces; in the same order in every process."""
    found: dict[Place, tuple[Any, str, Any]] = {}
    for _, saboteur in SABOTEURS:
        for part, name, real in replaced(saboteur) or ():
            found.setdefault((id(part), name), (part, name, real))
    return list(found.values())


def replaced(saboteur: Saboteur) -> list[tuple[Any, str, Any]] | None:
    """The object, the name and the function of each that it replaces; None if it changes anything else."""
    with pytest.MonkeyPatch.context() as patch:
        saboteur(patch)
        places, elsewhere = list(patch._setattr), bool(patch._setitem)
    called = all(isinstance(real, FunctionType | property) for _, _, real in places)
    return places if called and not elsewhere else None


def graded(controls: set[str], saboteurs: Sequence[Saboteur] = ()) -> dict[str, Grade]:
    """The grades of these controls while all that is broken."""
    chosen = [control for control in load_catalogue().controls if control.id in controls]
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        for saboteur in saboteurs:
            saboteur(patch)
        if (
            saboteurs and dict(os.environ) == before
        ):  # nothing else reaches a process of its own, which takes long
            patch.setattr(network, "_importing", lambda h: Check("importing", True, ""))
        return {grade.control.id: grade for grade in audit(chosen).grades}


def held_checks(grade: Grade) -> set[str]:
    return {finding.criterion.name for finding in grade.findings if finding.ok}


@pytest.fixture(scope="module")
def unbroken(once: Callable[[str, Callable[[], Any]], Any]) -> Unbroken:
    graded_before: Unbroken = once("unbroken", Unbroken)
    return graded_before


def test_every_probe_has_a_saboteur() -> None:
    assert {control_id for control_id, _ in SABOTEURS} == set(PROBES)


@pytest.mark.parametrize("control_id", PROBES)
def test_every_check_that_can_be_answered_holds(control_id: str, unbroken: Unbroken) -> None:
    """Of a control that does not pass for what is not built, the status would not tell."""
    grade = unbroken.grades[control_id]
    broken = [finding for finding in grade.findings if not finding.ok and not finding.criterion.waits]
    assert (grade.trouble, broken) == ("", [])


@pytest.mark.parametrize(
    ("control_id", "saboteur"), SABOTEURS, ids=lambda item: getattr(item, "__name__", item)
)
def test_a_broken_subsystem_costs_its_own_control(
    control_id: str, saboteur: Saboteur, unbroken: Unbroken
) -> None:
    before, after = unbroken.grades[control_id], graded({control_id}, [saboteur])[control_id]
    assert held_checks(after) < held_checks(before)
    if before.status is ControlStatus.PASS:
        assert WORTH[after.status] < WORTH[before.status]


def together(saboteurs: Iterable[Saboteur]) -> list[list[Saboteur]]:
    """Groups in which no one undoes what another broke."""
    groups: list[tuple[set[Place], list[Saboteur]]] = []
    for saboteur in saboteurs:
        with pytest.MonkeyPatch.context() as patch:
            saboteur(patch)
            patched = {(id(part), name) for part, name, _ in patch._setattr}
        taken, members = next((group for group in groups if not group[0] & patched), (set(), []))
        if not members:
            groups.append((taken, members))
        taken |= patched
        members.append(saboteur)
    return [members for _, members in groups]


def spoiled(saboteurs: list[Saboteur], unbroken: Unbroken, but: set[str]) -> set[str]:
    """Controls other than those that have another status when all that is broken at once."""
    found = graded(set().union(*map(unbroken.within_reach, saboteurs)) - but, saboteurs)
    return {item for item in found if found[item].status is not unbroken.grades[item].status}


def companies() -> list[set[str]]:
    """Controls that are broken at once; of each two there is a company that holds the one and not the other.

    Each control is in three companies, no two of them in the same three.
    """
    number = next(count for count in range(3, len(PROBES)) if comb(count, 3) >= len(PROBES))
    memberships = list(zip(PROBES, combinations(range(number), 3), strict=False))
    return [
        {control for control, companies in memberships if company in companies} for company in range(number)
    ]


def test_of_each_two_controls_the_one_is_broken_while_the_other_is_graded() -> None:
    apart = {(item, other) for broken in companies() for item in broken for other in set(PROBES) - broken}
    assert apart == {(probe, other) for probe in PROBES for other in PROBES if probe != other}


@pytest.mark.parametrize("broken", companies(), ids=lambda item: "-".join(sorted(item)).replace("-HA", ""))
def test_a_broken_subsystem_costs_no_other_control(broken: set[str], unbroken: Unbroken) -> None:
    """All that break these controls at once, while the others are graded; if one is spoiled, one by one.

    That takes a third of the time of breaking one control after the other. What one of them spoils another could hide: of 388
    that were tried in a company like this, one was hidden, and each is tried in another company too.
    """
    owners = {saboteur: control_id for control_id, saboteur in SABOTEURS if control_id in broken}
    for group in together(owner for owner in owners if owner.__name__ not in NEEDED_BY):
        if spoiled(group, unbroken, broken):
            guilty = {item.__name__: spoiled([item], unbroken, {owners[item]}) for item in group}
            assert set().union(*guilty.values()) == set(), guilty


@pytest.mark.parametrize("name", NEEDED_BY)
def test_a_broken_subsystem_that_another_needs_costs_no_third_control(name: str, unbroken: Unbroken) -> None:
    [(control_id, saboteur)] = [(owner, item) for owner, item in SABOTEURS if item.__name__ == name]
    assert spoiled([saboteur], unbroken, {control_id} | NEEDED_BY[name]) == set()
