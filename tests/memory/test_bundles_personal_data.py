"""A bundle is screened for personal data as what agents write is, however often it is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.memory.bundle_import import Imported, load
from sb.memory.bundles import export
from sb.memory.personal_data import detections
from sb.protocols.types import Handoff
from tests.memory.desk import Desk, desk

__all__ = ["desk"]
PHONE = "+49 171 5550199"
TEXT = f"Grace is called at {PHONE} about the lighthouse"
REDACTED = "Grace is called at [redacted:phone] about the lighthouse"
RULES = (
    '{"project:red": {personal_data: redact}, "project:drop": {personal_data: drop},'
    ' "project:wait": {personal_data: escalate}}'
)


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "strict", scopes=RULES)
    yield made
    made.close()


def carried(desk: Desk, to: Desk, path: Path, into: str | None = None) -> Imported:
    """The memories of a home after an import of all that another knows."""
    if not path.exists():
        export(desk.space, desk.log, path, by=Label("ada"), stack="default")
    authority = Authority(to.config.operators.file, to.log)
    return load(to.space, to.log, path, authority, actor="bob", into=into)


def test_nothing_of_a_redacted_value_reaches_the_home_of_a_bundle(
    desk: Desk, strict: Desk, tmp_path: Path
) -> None:
    brain = desk.brain(scope="project:red")
    fact = brain.remember(TEXT, tags=[PHONE])
    brain.decide("call Grace", TEXT)
    brain.entity("Grace", "person", observations=[TEXT], properties={PHONE: PHONE})
    brain.handoff(TEXT, TEXT, [TEXT], TEXT)
    done = carried(desk, strict, tmp_path / "b")
    assert (done.added, done.conflicting, done.masked) == (4, 0, ("phone",))
    assert strict.row(fact)["text"] == REDACTED
    files = [path for path in strict.home.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"5550199" in path.read_bytes()]
    logged = detections(strict.database)
    assert {(item.label, item.action, item.scope) for item in logged} == {("phone", "redact", "project:red")}
    assert len(logged) == 4


def test_a_bundle_that_is_read_again_changes_nothing(desk: Desk, strict: Desk, tmp_path: Path) -> None:
    for scope in ("project:red", "project:drop", "project:wait", "project:open"):
        desk.brain(scope=scope).remember(TEXT)
    first = carried(desk, strict, tmp_path / "b")
    before = detections(strict.database)
    again = carried(desk, strict, tmp_path / "b")
    assert (first.added, first.conflicting, first.quarantined) == (3, 1, 1)
    assert (again.added, again.same, again.conflicting) == (0, 3, 1)
    assert detections(strict.database) == before


def test_a_scope_that_drops_leaves_it_out_and_says_so(desk: Desk, strict: Desk, tmp_path: Path) -> None:
    brain = desk.brain(scope="project:drop")
    sensitive, plain = brain.remember(TEXT), brain.remember("the lamp is white")
    brain.relate(plain, "about", sensitive)
    done = carried(desk, strict, tmp_path / "b")
    assert done.conflicts == (
        (sensitive, "it holds personal data (phone), which project:drop does not keep"),
    )
    assert (done.added, done.relations) == (1, 0)
    assert strict.holds("5550199") == []


def test_a_scope_that_escalates_holds_it_until_somebody_releases_it(
    desk: Desk, strict: Desk, tmp_path: Path
) -> None:
    record = desk.brain(scope="project:open").remember(TEXT)
    assert carried(desk, strict, tmp_path / "b", into="project:wait").quarantined == 1
    assert strict.row(record)["state"] == "quarantined"
    assert strict.brain(scope="project:wait").search("Grace lighthouse") == []


def test_a_packet_that_is_redacted_no_longer_passes_for_what_was_signed(
    desk: Desk, strict: Desk, tmp_path: Path
) -> None:
    desk.brain(scope="project:red").handoff(TEXT, "state", [], "next")
    strict.config.home.digest_key.write_bytes(desk.config.home.digest_key.read_bytes())
    carried(desk, strict, tmp_path / "b")
    [row] = strict.space.records.select("r.kind = 'handoff'", ())
    record = strict.space.record(row)
    assert isinstance(record, Handoff)
    assert record.goal == REDACTED
    shown = strict.brain("next", scope="project:red").get(row["uid"])
    assert shown.content.startswith("withheld: its signature does not match")
