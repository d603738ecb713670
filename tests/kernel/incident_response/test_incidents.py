"""An incident is put on record with its severity and a runbook whose commands are there, and closed by an operator."""

from __future__ import annotations

import itertools
import shlex

import pytest
import typer

from sb.cli import HELP, load
from sb.errors import NotFoundError, UsageError
from sb.kernel import Impact, Incidents, Reach, Severity
from sb.kernel.authority.authority import Unauthorised
from sb.kernel.authority.signing import Label
from sb.kernel.incident_response import SEVERITY_MATRIX, AlreadyClosed, runbook, severity_of
from sb.kernel.review.log_pruning import prune
from sb.log.event import Subject
from sb.log.kinds import INCIDENT_CLOSED
from tests.kernel.incident_response.conftest import ADA, Plant


@pytest.fixture
def incidents(plant: Plant) -> Incidents:
    return Incidents(plant.log, plant.authority)


def test_the_matrix_covers_everything_and_never_falls_as_things_get_worse() -> None:
    assert set(SEVERITY_MATRIX) == set(Impact)
    for row in SEVERITY_MATRIX.values():
        assert [*row] == [*Reach]
        assert sorted(row.values(), reverse=True) == [*row.values()]
    for reach in Reach:
        column = [SEVERITY_MATRIX[impact][reach] for impact in Impact]
        assert sorted(column, reverse=True) == column
    assert severity_of(Impact.IRREVERSIBLE, Reach.FLEET) is Severity.SEV1
    assert severity_of(Impact.STOPPED, Reach.RUN) is Severity.SEV4


def test_an_incident_is_opened_found_and_closed(plant: Plant, incidents: Incidents) -> None:
    opened = incidents.open(
        "Paid twice", ADA, "two invoices", impact=Impact.IRREVERSIBLE, reach=Reach.AGENT, kill="agent:clerk"
    )
    assert (opened.severity, opened.open, opened.kill) == (Severity.SEV2, True, "agent:clerk")
    assert Incidents(plant.log).get(opened.id) == opened
    closed = incidents.close(opened.id, ADA, "one was returned")
    assert (closed.open, closed.closed_by, closed.outcome) == (False, "ada", "one was returned")
    assert incidents.all() == [closed]
    with pytest.raises(AlreadyClosed, match="by ada: one was returned"):
        incidents.close(opened.id, ADA, "again")
    with pytest.raises(NotFoundError, match="no incident 'inc_x'"):
        incidents.get("inc_x")


def test_what_is_not_known_is_taken_for_the_worst(incidents: Incidents) -> None:
    assert incidents.open("Odd", ADA, "unclear").severity is Severity.SEV1
    assert incidents.open("Odd", ADA, "unclear", impact=Impact.STOPPED).severity is Severity.SEV3
    assert incidents.open("Odd", ADA, "harmless", severity=Severity.SEV4).severity is Severity.SEV4


@pytest.mark.parametrize(("title", "reason", "kill"), [("", "x", ""), ("x", "", ""), ("x", "x", "agnet:y")])
def test_an_incident_needs_a_title_a_reason_and_a_scope_that_there_is(
    incidents: Incidents, title: str, reason: str, kill: str
) -> None:
    with pytest.raises(UsageError):
        incidents.open(title, ADA, reason, kill=kill)
    assert incidents.all() == []


def test_anybody_may_open_and_only_operators_close(plant: Plant, incidents: Incidents) -> None:
    ada = plant.enrol("ada")["ada"]
    opened = incidents.open("Odd", Label("passer-by"), "smoke")
    with pytest.raises(Unauthorised):
        incidents.close(opened.id, Label("passer-by"), "no smoke")
    forged = {"statement": {"id": opened.id, "reason": "no smoke", "by": "ada", "key": "", "at": ""}}
    plant.log.append(INCIDENT_CLOSED, {}, Subject(call_id="incidents"), {"signed": forged})
    assert incidents.get(opened.id).open
    assert not incidents.close(opened.id, ada, "looked").open


def test_incidents_outlive_pruning(plant: Plant, incidents: Incidents) -> None:
    opened = incidents.open("Odd", ADA, "unclear")
    prune(plant.log, before=plant.clock.now() + 1, reason="old")
    assert incidents.all() == [opened]


@pytest.mark.parametrize(
    "kill", ["", "global", "agent:o'clerk", "tool:plant.write", "run:run_1", "class:network"]
)
def test_each_command_of_each_runbook_is_one_that_there_is(incidents: Incidents, kill: str) -> None:
    kinds = [*itertools.product(Impact, Reach), (None, None)]
    for impact, reach in kinds:
        incident = incidents.open("It's odd", ADA, "unclear", impact=impact, reach=reach, kill=kill)
        steps = runbook(incident)
        assert steps[-1].command.startswith(f"sb incident close {incident.id}")
        for step in steps:
            if step.command:
                _parses(shlex.split(step.command))


def _parses(words: list[str]) -> None:
    """Let Typer read a command line, without running it."""
    assert words[0] == "sb"
    command = load(words[1])
    rest = words[2:]
    if isinstance(command, typer.core.TyperGroup):
        name, command, rest = command.resolve_command(typer.Context(command), rest)
        assert name is not None
    command.make_context(words[1], rest, help_option_names=[*HELP])
