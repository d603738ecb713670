"""People accept and reject runs: on the log, signed, bound to their place, and never by the agent itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sb.errors import DeniedError, NotFoundError, StoreCorrupt, UsageError
from sb.kernel.authority.authority import Unauthorised
from sb.kernel.authority.signing import Label, signed_statement
from sb.kernel.outcomes import Judgements, judged_run
from sb.kernel.outcomes.judgements import OUTCOMES
from sb.kernel.review.log_pruning import prune
from sb.kernel.review.log_verification import verify
from sb.log.event import Subject
from sb.log.kinds import OUTCOME_JUDGED
from tests.kernel.incident_response.conftest import ADA, Plant
from tests.kernel.outcomes.conftest import made


def test_later_judgement_replaces_the_earlier_one_and_both_stay(plant: Plant, judgements: Judgements) -> None:
    run = made(plant)
    first = judgements.judge(run, ADA, accepted=True, workflow="support.refund")
    assert (first.accepted, first.by, first.agent, first.doubt) == (True, "ada", "clerk", "")
    second = judgements.judge(run, Label("grace"), accepted=False, reason="wrong amount")
    assert judgements.in_force() == {run: second}
    assert judgements.of_run(run) == judgements.all() == [first, second]
    assert (second.reason, second.workflow, second.signed) == ("wrong amount", "support.refund", False)


def test_kind_of_work_stays_until_it_is_said_anew(plant: Plant, judgements: Judgements) -> None:
    run = made(plant)
    judgements.judge(run, ADA, accepted=True, workflow="dunning", intent="remind")
    again = judgements.judge(run, ADA, accepted=False)
    assert (again.accepted, again.workflow, again.intent) == (False, "dunning", "remind")
    assert judgements.judge(run, ADA, accepted=True, workflow="refund").workflow == "refund"


def test_operators_sign_and_nobody_else_counts(plant: Plant, judgements: Judgements) -> None:
    early, late = made(plant), made(plant)
    judgements.judge(early, ADA, accepted=True)
    operator = plant.enrol("ada")["ada"]
    with pytest.raises(Unauthorised, match="unsigned, although operators are enrolled"):
        judgements.judge(late, Label("grace"), accepted=True)
    assert judgements.judge(late, operator, accepted=True).signed
    in_force = judgements.in_force()
    assert {run: it.signed for run, it in in_force.items()} == {early: False, late: True}


def test_agent_cannot_judge_its_own_run(plant: Plant, judgements: Judgements) -> None:
    run = made(plant, "clerk")
    with pytest.raises(DeniedError, match="clerk made this run"):
        judgements.judge(run, Label("clerk"), accepted=True)
    assert judgements.judge(run, Label("clerks"), accepted=False).by == "clerks"
    operator = plant.enrol("clerk")["clerk"]
    with pytest.raises(DeniedError, match="clerk made this run"):
        judgements.judge(run, operator, accepted=True)
    other = made(plant, "courier")
    assert judgements.judge(other, operator, accepted=True).accepted


def forge(plant: Plant, about: str, by: Label = ADA, **changed: object) -> None:
    """Write a judgement past `judge`, as whoever can write the database can."""
    facts = {
        "action": OUTCOME_JUDGED,
        "database": plant.log.database_id,
        "run": about,
        "after": "",
        "at": "2026-01-01T00:00:00Z",
        "accepted": True,
    }
    signed = signed_statement(by, {**facts, **changed})
    subject = Subject(run_id=about, agent="clerk", call_id=OUTCOMES)
    plant.log.append(OUTCOME_JUDGED, {"by": by.name}, subject, {"signed": signed})


def test_forged_judgement_does_not_count(plant: Plant, judgements: Judgements) -> None:
    run, other = made(plant), made(plant)
    forge(plant, run, by=Label("clerk"))
    forge(plant, run, database="another")
    forge(plant, run, run=other)
    forge(plant, run, accepted="yes")
    plant.enrol("ada")
    forge(plant, other)
    doubts = [it.doubt for it in judgements.all()]
    assert doubts[0] == "the agent judged its own run"
    assert doubts[1:3] == ["it was made for another place on the log"] * 2
    assert doubts[3] == "it cannot be read"
    assert "unsigned, although operators are enrolled" in doubts[4]
    assert judgements.in_force() == {}


def test_signed_judgement_cannot_be_repeated_after_it_was_replaced(
    plant: Plant, judgements: Judgements
) -> None:
    operator, run = plant.enrol("ada")["ada"], made(plant)
    judgements.judge(run, operator, accepted=True)
    (event,) = plant.log.events(kind=OUTCOME_JUDGED)
    judgements.judge(run, operator, accepted=False)
    plant.log.append(OUTCOME_JUDGED, {}, event.subject, {"signed": (event.payload or {})["signed"]})
    assert judgements.all()[-1].doubt == "it was made for another place on the log"
    assert judgements.in_force()[run].accepted is False
    assert judgements.judge(run, operator, accepted=True).doubt == ""


def test_judgement_that_was_changed_is_refused_and_pruning_leaves_it(
    plant: Plant, judgements: Judgements
) -> None:
    run = made(plant)
    judgements.judge(run, ADA, accepted=False)
    plant.clock.sleep(10)
    prune(plant.log, before=plant.clock.now(), reason="old", authority=plant.authority)
    assert judgements.in_force()[run].accepted is False
    assert verify(plant.log).ok
    with plant.log.database.write() as execute:
        execute("DROP TRIGGER events_are_final")
        execute(
            "UPDATE events SET payload = replace(payload, 'false', 'true') WHERE kind = ?", (OUTCOME_JUDGED,)
        )
    with pytest.raises(StoreCorrupt, match="was changed after it was written"):
        judgements.in_force()


def test_run_is_found_by_id_prefix_or_session(plant: Plant) -> None:
    run = made(plant, session_id="s-1")
    assert (
        judged_run(plant.log, run) == judged_run(plant.log, run[:12]) == judged_run(plant.log, "s-1") == run
    )
    made(plant, session_id="s-1")
    with pytest.raises(UsageError, match="session 's-1' has 2 runs"):
        judged_run(plant.log, "s-1")
    for reference in ("", "s-", "run_ffffffffffffffff", "nope\n\x1b[31m"):
        with pytest.raises(NotFoundError, match="no run or session"):
            judged_run(plant.log, reference)


def test_nothing_is_judged_that_never_ran_and_texts_are_masked(plant: Plant, judgements: Judgements) -> None:
    with pytest.raises(NotFoundError):
        judgements.judge("run_ffffffffffffffff", ADA, accepted=True)
    run = made(plant)
    with pytest.raises(UsageError, match="the reason has more than"):
        judgements.judge(run, ADA, accepted=True, reason="x" * 2000)
    with pytest.raises(UsageError, match="needs a workflow"):
        judgements.judge(run, ADA, accepted=True, workflow=" ")
    secret = "ghp_" + "a1B2" * 9
    assert secret not in judgements.judge(run, ADA, accepted=True, reason=f"with {secret}").reason


JUDGE = """
import sys
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.kernel.outcomes import Judgements
from sb.log.event_log import EventLog
from sb.store.database import open_database
log = EventLog(open_database(sys.argv[1]))
for number in range(10):
    Judgements(log, Authority(None, log)).judge(sys.argv[2], Label(sys.argv[3]), accepted=number % 2 == 0)
"""


def test_eight_people_at_once_leave_one_chain(plant: Plant, judgements: Judgements) -> None:
    run = made(plant)
    path = str(plant.folder / "brain.db")
    children = [
        subprocess.Popen([sys.executable, "-c", JUDGE, path, run, f"p{number}"]) for number in range(8)
    ]
    assert [child.wait(timeout=120) for child in children] == [0] * 8
    found = judgements.of_run(run)
    assert len(found) == 80
    assert [it.doubt for it in found if it.doubt] == []
    assert verify(plant.log).ok
