"""`sb doctor` says whether the memory is sound, and what to do where it is not."""

from __future__ import annotations

import pytest

from sb.kernel.review.findings import Finding, Status
from sb.memory import checks
from sb.memory.checks import check
from sb.memory.housekeeping import tidy
from sb.protocols.types import Fact
from sb.store.records.places import Place
from tests.conftest import CommandLine
from tests.memory.desk import Desk, desk, desk_with_vectors

__all__ = ["desk", "desk_with_vectors"]


def findings(desk: Desk) -> dict[str, Finding]:
    return {finding.name: finding for finding in check(desk.space)}


@pytest.fixture(params=["compared", "sampled"])
def looked_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A memory that is looked at entirely, and one that is too large for that."""
    if request.param == "sampled":
        monkeypatch.setattr(checks, "MOST_CHECKED", 0)
    return str(request.param)


def filled(desk: Desk) -> str:
    brain = desk.brain()
    brain.log("the API answered 429")
    uid = brain.remember("100 requests in 15 s")
    brain.entity("Ünï-code", "person", observations=["Ωμέγα 日本語 don't"])
    brain.forget(brain.remember("a rumour"))
    return uid


def test_a_sound_memory_says_how_that_is_known(desk: Desk, looked_at: str) -> None:
    filled(desk)
    brain = desk.brain()
    brain.writer.keep_all([Fact(content=f"?! {'.' * number}") for number in range(1, 4)], Place("default"))
    report = findings(desk)
    assert {finding.status for finding in report.values()} == {Status.OK}
    assert report["memory"].detail == "6 memories in 1 place; 1 forgotten"
    known = {"compared": ("all", "compared with every record"), "sampled": ("a sample of 7",) * 2}[looked_at]
    assert report["memory records"].detail == f"{known[0]} can be read"
    assert known[1] in report["memory index"].detail
    assert report["memory vectors"].detail == "words alone: memory.embedder is none"


def test_an_empty_memory_is_sound(desk_with_vectors: Desk) -> None:
    assert {finding.status for finding in findings(desk_with_vectors).values()} == {Status.OK}


def test_an_index_that_lost_a_record_is_found_and_can_be_made_anew(desk: Desk, looked_at: str) -> None:
    uid = filled(desk)
    row = desk.row(uid)
    entry = f"SELECT 'delete', id, body, prev, place FROM searchable WHERE id = {row['id']}"
    for damage in (
        f"INSERT INTO record_index (record_index, rowid, body, prev, place) {entry}",
        "INSERT INTO record_index (record_index) VALUES ('delete-all')",
    ):
        desk.tamper(damage)
        broken = findings(desk)["memory index"]
        assert broken.status is Status.FAIL
        assert "tidy" in broken.hint
        desk.space.words.rebuild()
        assert findings(desk)["memory index"].status is Status.OK
    assert desk.brain().search("requests")


def test_a_record_that_cannot_be_read_is_named(desk: Desk, looked_at: str) -> None:
    uid = filled(desk)
    desk.tamper("UPDATE records SET fields = 'no json \x1b[31m' WHERE uid = ?", uid)
    broken = findings(desk)["memory records"]
    assert broken.status is Status.FAIL
    assert uid in broken.detail
    assert "\x1b" not in broken.detail


def test_relations_that_lead_nowhere_are_counted_and_tidied_away(desk: Desk) -> None:
    brain = desk.brain()
    hen, other = brain.remember("hen"), brain.remember("egg")
    brain.relate(hen, "lays", other)
    desk.tamper("PRAGMA ignore_check_constraints = ON")
    desk.tamper("DROP TRIGGER erased_records_hold_nothing")
    desk.tamper("UPDATE records SET state = 'erased' WHERE uid = ?", other)
    broken = findings(desk)["memory relations"]
    assert (broken.status, broken.detail) == (Status.WARN, "1 relation to records that no longer exist")
    tidy(desk.space)
    assert findings(desk)["memory relations"].status is Status.OK


def test_vectors_that_are_missing_or_of_another_model_are_counted(desk_with_vectors: Desk) -> None:
    desk = desk_with_vectors
    filled(desk)
    assert findings(desk)["memory vectors"].status is Status.OK
    with desk.database.write() as execute:
        desk.space.vectors.drop(execute, 4)
    desk.tamper("UPDATE vectors SET model = 'other-1' WHERE record = 2")
    behind = findings(desk)["memory vectors"]
    assert behind.status is Status.WARN
    assert behind.detail.startswith("1 of 3 memories without a vector of wordllama")
    assert behind.detail.endswith("(1 of other-1)")
    assert "sb memory tidy" in behind.hint
    tidy(desk.space)
    assert findings(desk)["memory vectors"].status is Status.OK


def test_doctor_tells_of_it(sb: CommandLine) -> None:
    assert sb("init").code == 0
    items = {item["name"]: item for item in sb("doctor", "--json").json["items"]}
    assert items["memory"]["detail"] == "0 memories in 0 places"
    assert items["memory index"]["status"] == "ok"
