"""Memory can be carried to another home: whole, unaltered, by whose hand, and without touching what is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.base.values.canonical import canonical_bytes
from sb.errors import CheckFailed, DeniedError, MaintenanceModeError, NotFoundError, UsageError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Decider, Label
from sb.memory import bundles
from sb.memory.bundle_import import MEMORY_IMPORTED, Imported, load
from sb.memory.bundles import MEMORY_EXPORTED, Seal, export, verify
from sb.memory.erasure import erase
from sb.memory.operator_view import Overseer
from sb.protocols.types import Lesson
from sb.stack import SQLiteStack
from tests.memory.desk import Desk, desk

__all__ = ["desk"]
NOBODY = Label("ada")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "other")
    yield made
    made.close()


def authority(desk: Desk) -> Authority:
    return Authority(desk.config.operators.file, desk.log)


def enrolled(desk: Desk) -> Decider:
    by = Enrolment(authority(desk), KeyFolder(desk.config.home.keys)).init("ada", None)
    assert by is not None
    return by


def exported(desk: Desk, path: Path, by: Decider = NOBODY, **more: Any) -> Seal:
    return export(desk.space, desk.log, path, **{"by": by, "stack": "default", **more})


def loaded(desk: Desk, path: Path, **more: Any) -> Imported:
    return load(desk.space, desk.log, path, authority(desk), actor="bob", **more)


def filled(desk: Desk) -> None:
    """Memories of several kinds, places, sessions and states, related and changed."""
    brain = desk.brain("coder", scope="project:shop", session="ses_one")
    seen = brain.log("the API answered 429", happened_at=None)
    limit = brain.remember(
        "100 requests in 15 s", derived_from=[seen], tags=["limits", "ä"], speaker="Bob\tX"
    )
    brain.decide("use Retry-After", "the server knows best", derived_from=[limit], confidence=0.9)
    brain.entity("RateLimitAPI", "service", observations=["100/15s"], properties={"n": {"a": [1, 2.5]}})
    brain.entity("ratelimitapi", "service", observations=["answers 429"])
    brain.relate(limit, "about", "RateLimitAPI", weight=0.5)
    gone = brain.remember("what nobody needs")
    brain.forget(gone, "noise")
    brain.remember("of coder alone\0with a NUL", private=True)
    brain.wrap_up("it works")
    reader = desk.brain("reader", scope="project:shop")
    reader.remember("of reader alone", private=True)
    reader.search("requests")
    desk.brain("coder").remember("kept everywhere")
    erased = brain.remember("erased words")
    erase(desk.space, desk.log, [erased], actor="ada", reason="asked for")


def test_a_stack_that_is_being_maintained_takes_in_no_bundle(desk: Desk, other: Desk, tmp_path: Path) -> None:
    desk.brain("coder").remember("the API is versioned")
    exported(desk, tmp_path / "b.jsonl")
    stack = SQLiteStack("default", database=other.space.database, config=other.config, components=[])
    stack.enter_maintenance()
    with pytest.raises(MaintenanceModeError):
        loaded(other, tmp_path / "b.jsonl")
    stack.exit_maintenance()
    assert loaded(other, tmp_path / "b.jsonl").added == 1


def everything(desk: Desk) -> dict[str, Any]:
    """All that a bundle is to carry, by ids that both homes share."""
    rows = list(desk.space.records.select("r.state <> 'erased'", ()))
    derived = ("id", "prev1", "prev2", "info", "place", "session")
    return {
        row["uid"]: {
            **{name: value for name, value in row.items() if name not in derived},
            "record": desk.space.record(row),
            "place": desk.space.places.numbered(row["place"]),
            "session": desk.space.session_name(row["session"]),
        }
        for row in rows
    }


def relations(desk: Desk) -> set[tuple[Any, ...]]:
    sql = (
        "SELECT s.uid, e.relation, t.uid, e.weight, e.agent, e.created_at FROM edges AS e"
        " JOIN records AS s ON s.id = e.source JOIN records AS t ON t.id = e.target"
    )
    return set(desk.rows(sql))


def test_another_home_gets_all_of_it_as_it_is(desk: Desk, other: Desk, tmp_path: Path) -> None:
    filled(desk)
    seal = exported(desk, tmp_path / "b")
    assert seal.counts == {"decision": 1, "entity": 1, "event": 2, "fact": 5, "handoff": 1}
    done = loaded(other, tmp_path / "b")
    assert (done.added, done.same, done.conflicting, done.relations) == (10, 0, 0, 3)
    assert everything(other) == everything(desk)
    assert relations(other) == relations(desk)
    assert other.rows(
        "SELECT name, agent, scope, started_at, ended_at FROM memory_sessions ORDER BY name"
    ) == [
        row
        for row in desk.rows(
            "SELECT name, agent, scope, started_at, ended_at FROM memory_sessions ORDER BY name"
        )
        if row[0] in {item["session"] for item in everything(desk).values()}
    ]
    assert other.sound()
    again = tmp_path / "again"
    exported(other, again)
    lines, same = (path.read_bytes().splitlines() for path in (tmp_path / "b", again))
    assert {line for line in lines if b'"record"' in line} == {line for line in same if b'"record"' in line}
    assert [hit.content for hit in other.brain("coder", scope="project:shop").search("requests")] == [
        hit.content for hit in desk.brain("coder", scope="project:shop").search("requests")
    ]


def test_doing_it_again_changes_nothing(desk: Desk, other: Desk, tmp_path: Path) -> None:
    filled(desk)
    exported(desk, tmp_path / "b")
    loaded(other, tmp_path / "b")
    before = everything(other), relations(other), other.rows("SELECT * FROM record_history")
    again = loaded(other, tmp_path / "b")
    assert (again.added, again.same, again.conflicting) == (0, 10, 0)
    assert loaded(desk, tmp_path / "b").same == 10
    assert (everything(other), relations(other), other.rows("SELECT * FROM record_history")) == before


def test_what_is_here_is_never_overwritten(desk: Desk, other: Desk, tmp_path: Path) -> None:
    brain = desk.brain()
    changed = brain.entity("Ada", "person", observations=["likes tea"])
    twin = brain.entity("Bob", "person", observations=["likes milk"])
    gone, survivor = brain.remember("a secret"), brain.remember("no secret", derived_from=[changed, twin])
    brain.relate(survivor, "hides", gone)
    exported(desk, tmp_path / "b")
    loaded(other, tmp_path / "b")
    there = other.brain("else")
    there.entity("Ada", "person", observations=["likes coffee"])
    erase(other.space, other.log, [gone], actor="bob", reason="asked for")
    third = Desk(tmp_path / "third")
    here = third.brain("else").entity("bob", "person", observations=["likes water"])
    assert loaded(other, tmp_path / "b").conflicts == (
        (changed, "it differs in text, fields"),
        (gone, "it was erased here"),
    )
    done = loaded(third, tmp_path / "b")
    assert done.conflicts == ((twin, "another entity of that name is here"),)
    assert "water" in third.row(here)["text"]
    assert "milk" not in third.row(here)["text"]
    assert (survivor, "derived_from", here) in {
        relation[:3] for relation in relations(third)
    }  # it stands for the other Bob
    third.close()


def test_everything_may_go_into_another_scope(desk: Desk, other: Desk, tmp_path: Path) -> None:
    filled(desk)
    exported(desk, tmp_path / "b", scopes=["project:shop"])
    loaded(other, tmp_path / "b", into="team:web")
    assert {place.scope for place in other.space.places.all().values()} == {"team:web"}
    assert {place.owner for place in other.space.places.all().values()} == {"", "coder", "reader"}
    assert loaded(desk, tmp_path / "b", into="team:web").conflicts[0][1] == "it stands elsewhere here"
    with pytest.raises(ValueError, match="not a scope"):
        loaded(other, tmp_path / "b", into="web")


def test_an_agent_exports_what_it_may_read_and_an_operator_everything(desk: Desk, tmp_path: Path) -> None:
    filled(desk)
    exported(desk, tmp_path / "mine", agent="reader")
    exported(desk, tmp_path / "all")
    mine, everybodys = (tmp_path / "mine").read_text(), (tmp_path / "all").read_text()
    assert "of reader alone" in mine
    assert "of coder alone" not in mine
    assert "of coder alone" in everybodys
    assert "erased words" not in everybodys
    assert (tmp_path / "all").stat().st_mode & 0o777 == 0o600


def test_an_export_names_what_it_finds_nothing_in_and_overwrites_nothing(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no memories in"):
        exported(desk, tmp_path / "b")
    filled(desk)
    with pytest.raises(NotFoundError, match="project:x"):
        exported(desk, tmp_path / "b", scopes=["project:shop", "project:x"])
    (tmp_path / "b").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        exported(desk, tmp_path / "b")
    with pytest.raises(UsageError, match="cannot write"):
        exported(desk, tmp_path / "no" / "such" / "folder")
    with pytest.raises(UsageError, match="cannot write"):
        exported(desk, tmp_path / "b\0c")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["b"]


def test_the_seal_says_whose_it_is(desk: Desk, other: Desk, tmp_path: Path) -> None:
    filled(desk)
    assert exported(desk, tmp_path / "unsigned").standing == "unsigned"
    by = enrolled(desk)
    assert exported(desk, tmp_path / "signed", by).key == by.key_id
    assert verify(tmp_path / "signed", authority(desk)).standing == "operator"
    assert verify(tmp_path / "signed", authority(other)).standing == "stranger"
    assert verify(tmp_path / "unsigned", authority(desk)).standing == "unsigned"
    assert verify(tmp_path / "signed", authority(desk)).as_json()["counts"]["fact"] == 5


def test_where_operators_are_enrolled_they_have_to_have_signed_it(
    desk: Desk, other: Desk, tmp_path: Path
) -> None:
    filled(desk)
    exported(desk, tmp_path / "unsigned")
    exported(desk, tmp_path / "signed", enrolled(desk))
    loaded(other, tmp_path / "signed")  # nobody is enrolled there, so anybody's counts
    enrolled(other)
    for name, why in (("unsigned", "is unsigned"), ("signed", "by a stranger")):
        with pytest.raises(DeniedError, match=why):
            loaded(other, tmp_path / name)
        assert loaded(other, tmp_path / name, from_anybody=True).same == 10


def test_the_bundle_of_an_operator_who_was_shut_out_is_refused(desk: Desk, tmp_path: Path) -> None:
    filled(desk)
    by = enrolled(desk)
    exported(desk, tmp_path / "b", by)
    keys = KeyFolder(desk.config.home.keys)
    Enrolment(authority(desk), keys).add("bob", "", by, "second", passphrase=None)
    Enrolment(authority(desk), keys).revoke("ada", keys.read("bob").unlock(), "left")
    with pytest.raises(DeniedError, match="revoked"):
        loaded(desk, tmp_path / "b", from_anybody=True)


def test_the_log_says_what_left_and_what_came(desk: Desk, other: Desk, tmp_path: Path) -> None:
    filled(desk)
    seal = exported(desk, tmp_path / "b", scopes=["project:shop"])
    loaded(other, tmp_path / "b")
    (left,), (came,) = desk.log.events(kind=MEMORY_EXPORTED), other.log.events(kind=MEMORY_IMPORTED)
    assert left.payload is not None
    assert came.payload is not None
    assert left.payload == {
        "by": "ada", "scopes": ["project:shop"], "agent": "", "digest": seal.digest, "records": 9,
    }  # fmt: skip
    assert (came.payload["by"], came.payload["from"], came.payload["digest"]) == ("bob", "ada", seal.digest)
    uid = next(iter(everything(other)))
    history = Overseer(database=other.database, config=other.config).history(uid)
    assert [(change.operation, change.actor) for change in history] == [("keep", "coder"), ("import", "bob")]
    assert history[1].reason.startswith("bundle of ada, sha256:")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_a_bundle_with_one_byte_changed_is_refused(desk: Desk, tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "b"
    if not path.exists():
        filled(desk)
        exported(desk, path, enrolled(desk))
    whole = path.read_bytes()
    position = data.draw(st.integers(0, len(whole) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda new: new != whole[position]))
    changed = tmp_path / "changed"
    changed.write_bytes(whole[:position] + bytes([byte]) + whole[position + 1 :])
    with pytest.raises((CheckFailed, DeniedError)) as refused:
        loaded(desk, changed)
    assert "\n" not in refused.value.message


def test_a_bundle_that_was_cut_off_or_is_none_is_refused(desk: Desk, tmp_path: Path) -> None:
    filled(desk)
    exported(desk, tmp_path / "b")
    whole = (tmp_path / "b").read_bytes()
    for content in (
        b"",
        b"{}",
        b"\0" * 100,
        whole[:-40],
        whole[: whole.rindex(b"\n", 0, -1) + 1],
        b"[" * 9999,
    ):
        (tmp_path / "cut").write_bytes(content)
        with pytest.raises(CheckFailed):
            verify(tmp_path / "cut", authority(desk))
    with pytest.raises(UsageError, match="cannot read"):
        verify(tmp_path / "missing", authority(desk))
    with pytest.raises(UsageError, match="cannot read"):
        verify(tmp_path, authority(desk))


def resealed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """A bundle that somebody else wrote: its lines changed, sealed as it should be."""
    from hashlib import sha256

    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines[:-1]:
        change(line)
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines[:-1])
    change(lines[-1])
    lines[-1]["statement"]["digest"] = f"sha256:{sha256(body).hexdigest()}"
    path.write_bytes(body + canonical_bytes(lines[-1]) + b"\n")


def test_what_a_newer_version_made_is_refused_before_anything_is_read(
    desk: Desk, other: Desk, tmp_path: Path
) -> None:
    filled(desk)
    exported(desk, tmp_path / "newer")
    exported(desk, tmp_path / "kinds")
    resealed(tmp_path / "newer", lambda line: line.update(version=2) if "format" in line else None)
    resealed(
        tmp_path / "kinds",
        lambda line: line["statement"]["counts"].update(dream=1) if "statement" in line else None,
    )
    with pytest.raises(CheckFailed, match="format 2, this version reads 1"):
        loaded(other, tmp_path / "newer")
    with pytest.raises(CheckFailed, match="dream"):
        loaded(other, tmp_path / "kinds")
    assert everything(other) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "dream"},
        {"kind": ["fact"]},
        {"uid": ""},
        {"uid": 7},
        {"uid": "u" * 201},
        {"uid": "mem_1\x1b[2J"},
        {"uid": "mem_1\nmem_2"},
        {"state": "erased"},
        {"state": "dreaming"},
        {"version": 0},
        {"version": 1.5},
        {"version": 10**19},
        {"place": 99},
        {"place": []},
        {"agent": None},
        {"confidence": 7},
        {"confidence": "high"},
        {"category": "nonsense"},
        {"source_type": "hearsay"},
        {"created_at": "yesterday"},
        {"happened_at": True},
        {"fields": []},
        {"fields": {"derived_from": 5}},
        {"tags": "limits"},
        {"tags": [1]},
        {"text": ""},
        {"accessed": -1},
    ],
    ids=str,
)
def test_a_record_that_could_not_have_been_kept_here_is_refused(
    desk: Desk, other: Desk, tmp_path: Path, change: dict[str, Any]
) -> None:
    desk.brain().remember("a fact", tags=["x"])
    exported(desk, tmp_path / "b")
    resealed(tmp_path / "b", lambda line: line["record"].update(change) if "record" in line else None)
    with pytest.raises(CheckFailed, match="the bundle cannot be imported"):
        loaded(other, tmp_path / "b")
    assert everything(other) == {}
    assert other.sound()


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"",
        b"[1]",
        b"5",
        b"{}",
        b'{"dream":{}}',
        b'{"record":{},"session":{}}',
        b'{"record":[]}',
        b'{"record":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"record":{"uid":"\\ud800"}}',
        b'{"relation":7}',
    ],
    ids=lambda line: line[:30].decode(),
)
def test_a_line_that_no_version_wrote_is_refused(
    desk: Desk, other: Desk, tmp_path: Path, line: bytes
) -> None:
    desk.brain().remember("a fact")
    exported(desk, tmp_path / "b")
    with_line(tmp_path / "b", line)
    with pytest.raises(CheckFailed):
        loaded(other, tmp_path / "b")
    assert other.sound()


def with_line(path: Path, line: bytes) -> None:
    """A bundle that has this line before its seal, which says so."""
    from hashlib import sha256

    *lines, last = path.read_bytes().splitlines()
    body = b"".join(data + b"\n" for data in (*lines, line))
    sealed = json.loads(last)
    sealed["statement"]["digest"] = f"sha256:{sha256(body).hexdigest()}"
    sealed["statement"]["counts"] = {"fact": body.count(b'{"record":')}
    path.write_bytes(body + canonical_bytes(sealed) + b"\n")


def test_a_bundle_holds_as_many_memories_and_those_scopes_that_its_seal_says(
    desk: Desk, other: Desk, tmp_path: Path
) -> None:
    desk.brain("coder", scope="project:shop").remember("a fact")
    for name, item in (("few", {"counts": {"fact": 0}}), ("elsewhere", {"scopes": ["project:garden"]})):
        exported(desk, tmp_path / name)

        def say(line: dict[str, Any], overrides: dict[str, Any] = item) -> None:
            line.get("statement", {}).update(overrides)

        resealed(tmp_path / name, say)
        with pytest.raises(CheckFailed):
            loaded(other, tmp_path / name)
    assert everything(other) == {}


def test_no_memory_of_a_bundle_passes_for_an_entity_by_its_id(
    desk: Desk, other: Desk, tmp_path: Path
) -> None:
    desk.brain("coder").remember("another fact")
    exported(desk, tmp_path / "b")
    resealed(tmp_path / "b", lambda line: line.get("record", {}).update(uid="orders"))
    entity = other.brain("coder").entity("orders", "service")
    loaded(other, tmp_path / "b")
    assert other.brain("coder").get("orders").id == entity


def test_a_text_is_what_its_fields_say_whatever_a_bundle_claims(
    desk: Desk, other: Desk, tmp_path: Path
) -> None:
    uid = desk.brain().decide("pay Ada", "she worked")
    exported(desk, tmp_path / "b")
    resealed(
        tmp_path / "b",
        lambda line: line["record"].update(text="pay Mallory", key="x") if "record" in line else None,
    )
    loaded(other, tmp_path / "b")
    assert other.row(uid)["text"] == "pay Ada: she worked"


def test_a_session_of_another_agent_under_the_same_name_is_refused(
    desk: Desk, other: Desk, tmp_path: Path
) -> None:
    desk.brain("coder", session="s1").remember("a fact")
    other.brain("writer", session="s1").remember("another")
    exported(desk, tmp_path / "b")
    with pytest.raises(CheckFailed, match="session 's1' is writer's"):
        loaded(other, tmp_path / "b")


def test_an_import_that_was_cut_short_is_finished_by_doing_it_again(
    desk: Desk, other: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brain = desk.brain()
    for number in range(30):
        brain.remember(f"fact {number}")
    exported(desk, tmp_path / "b")
    monkeypatch.setattr("sb.memory.bundle_import._AT_ONCE", 7)

    def stop(done: int, total: int) -> None:
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loaded(other, tmp_path / "b", progress=stop)
    done = loaded(other, tmp_path / "b")
    assert (done.added, done.same) == (9, 21)
    assert everything(other) == everything(desk)
    assert other.sound()
    assert len(other.space.vectors.sources([30])[0].previous) == 2


def test_pages_and_kinds_of_a_stack_are_carried_too(
    desk: Desk, other: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "_PAGE", 3)
    brain = desk.brain()
    for number in range(10):
        brain.writer.keep(Lesson(content=f"lesson {number}", cause="haste"), brain._place(None, None, False))
    reports: list[tuple[int, int]] = []
    exported(desk, tmp_path / "b", progress=lambda done, total: reports.append((done, total)))
    assert reports == [(3, 10), (6, 10), (9, 10), (10, 10)]
    assert loaded(other, tmp_path / "b").added == 10


def test_vectors_are_made_on_demand(desk: Desk, tmp_path: Path) -> None:
    desk.brain().remember("a fact")
    exported(desk, tmp_path / "b")
    for embed in (False, True):
        other = Desk(tmp_path / f"with {embed}", embedder="static")
        loaded(other, tmp_path / "b", embed=embed)
        assert len(other.rows("SELECT * FROM vectors")) == embed
        other.close()
