"""The catalogue of controls is whole, and true about what is built."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from importlib.util import find_spec

from sb.harness.probes import PROBES
from sb.kernel.harness_audit import CheckKind, Control, ControlSeverity, load_catalogue
from tests.rows import rows

CATALOGUE = load_catalogue()
CONTROLS = CATALOGUE.controls
WAITING = sorted(
    {criterion.waits for control in CONTROLS for criterion in control.criteria if criterion.waits}
)

# The survival layer, "Source map"; harness_audit itself is audited by its saboteurs.
SOURCE_MAP = {
    "contracts",
    "reversibility",
    "run_context",
    "compensation",
    "error_classifier",
    "recovery_loop",
    "events",
    "autonomy",
    "tokenomics",
    "trajectory_eval",
    "context_sources",
    "red_team",
    "replay",
    "agent_charter",
    "memory_read_policy",
    "data_classification",
    "durable_execution",
    "release_tuple",
    "incident_response",
    "contradiction_ledger",
    "business_metrics",
}


def test_there_are_forty_controls_in_eight_outcomes_of_five() -> None:
    assert [control.id for control in CONTROLS] == [f"HA-{number:02}" for number in range(1, 41)]
    assert set(Counter(control.outcome for control in CONTROLS).values()) == {5}
    numbers = [outcome.number for outcome in CATALOGUE.outcomes]
    assert numbers == ["I", "II", "III", "IV", "V", "VI", "VII", "VIII"]


def test_the_original_numbering_is_kept_beside_ours() -> None:
    assert sorted(control.ref for control in CONTROLS) == list(range(1, 41))
    upstream = Counter(control.upstream_outcome for control in CONTROLS)
    assert [upstream[outcome.id] for outcome in CATALOGUE.outcomes] == [7, 6, 6, 4, 3, 7, 5, 2]


@rows("control", CONTROLS)
def test_each_control_has_what_must_be_allowed_and_what_must_be_denied(control: Control) -> None:
    kinds = {criterion.kind for criterion in control.criteria}
    assert {CheckKind.ALLOW, CheckKind.DENY} <= kinds
    names = [criterion.name for criterion in control.criteria]
    assert len(names) == len(set(names))
    assert control.question.partition("?")[1]
    assert all(criterion.says.endswith(".") for criterion in control.criteria)


def test_every_agentic_risk_is_covered_at_least_twice() -> None:
    counts = Counter(risk for control in CONTROLS for risk in set(control.owasp))
    assert set(counts) == {f"ASI{number:02}" for number in range(1, 11)}
    assert min(counts.values()) >= 2


def test_references_to_nist_are_subcategories() -> None:
    references = [reference for control in CONTROLS for reference in control.nist]
    assert all(re.fullmatch(r"(GV|MP|MS|MG) [1-6]\.(1[0-3]|[1-9])", reference) for reference in references)


def test_every_module_of_the_source_map_belongs_to_a_control() -> None:
    named = {module for control in CONTROLS for module in control.modules}
    assert {f"sb.kernel.{name}" for name in SOURCE_MAP} - named == set()


def test_only_what_informs_is_p2() -> None:
    assert {control.ref for control in CONTROLS if control.severity is ControlSeverity.P2} == {3, 33, 39}


def test_the_fix_order_names_each_control_once() -> None:
    assert sorted(CATALOGUE.fix_order) == [control.id for control in CONTROLS]


def exists(name: str) -> bool:
    """True if it is a module, or a name in one."""
    module, _, attribute = name.rpartition(".")
    try:
        if find_spec(name):
            return True
        return hasattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        return False


@rows("name", WAITING)
def test_what_a_check_waits_for_is_not_built(name: str) -> None:
    assert not exists(name), f"{name} is there: write the probes of the checks that wait for it"


@rows("control", CONTROLS)
def test_a_control_has_a_probe_as_soon_as_one_of_its_checks_can_be_answered(control: Control) -> None:
    assert (control.id in PROBES) is not all(criterion.waits for criterion in control.criteria)


@rows("control", CONTROLS)
def test_every_module_of_a_control_is_there_or_waited_for(control: Control) -> None:
    waits = {criterion.waits for criterion in control.criteria}
    later = {module for item in CONTROLS for criterion in item.criteria if (module := criterion.waits)}
    missing = {module for module in control.modules if not exists(module)}
    assert missing <= later
    assert not missing or waits & later
