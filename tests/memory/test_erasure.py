"""Erased memories are gone: from every answer, from the index, and from the files."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from sb.errors import NotFoundError
from sb.memory import Brain
from sb.memory.erasure import MEMORY_ERASED, Erased, erase, old_copies
from sb.store import driver
from tests.memory.desk import Desk, desk, desk_with_vectors

__all__ = ["desk", "desk_with_vectors"]

RARE = ("Quixotrope", "zanzibaric", "flumadiddle", "+49-171-5550199", "wobblegong")


def erased(desk: Desk, *uids: str, reason: str = "she asked for it", **more: bool) -> Erased:
    return erase(desk.space, desk.log, uids, actor="ada", reason=reason, **more)


def test_no_word_of_an_erased_memory_is_left_in_the_files(desk_with_vectors: Desk) -> None:
    desk = desk_with_vectors
    brain = desk.brain(scope="project:x")
    brain.log("we talked about the garden")
    contact = brain.remember(
        "Quixotrope is reached at +49-171-5550199", tags=["zanzibaric"], speaker="Flumadiddle"
    )
    brain.log("and then about the weather")
    brain.log("and about the house")
    known = brain.entity("Quixotrope", "person", observations=["likes wobblegong"])
    brain.entity("Quixotrope", "person", observations=["no longer likes zanzibarics"])
    brain.relate(known, "said", contact)
    hidden = brain.remember("the flumadiddle of Quixotrope", private=True)
    brain.search("wobblegong and Quixotrope")
    brain.search("the garden")
    desk.brain().search("flumadiddles?")
    desk.database.query("PRAGMA wal_checkpoint(PASSIVE)")
    assert all(desk.holds(word) for word in RARE)
    assert desk.holds("quixotrop")  # the stem, in the index
    vector = desk.rows("SELECT vector FROM vectors WHERE record = ?", desk.row(contact)["id"])[0][0]

    done = erased(desk, contact, known, hidden)

    assert done == Erased((contact, known, hidden), (), 2, 2, False)
    for word in RARE:
        for form in (word, word.lower(), word.upper(), word.lower()[:-2]):
            assert desk.holds(form) == [], form
    assert all(vector[:32] not in file.read_bytes() for file in desk.home.glob("brain.db*"))
    assert desk.sound()
    assert not desk.space.places.speakers([desk.row(contact)["place"]])
    assert {hit.content for hit in brain.search("Quixotrope in the garden, the house or the weather")} == {
        "we talked about the garden",
        "and then about the weather",
        "and about the house",
    }


def test_those_after_it_in_its_session_are_embedded_anew(desk_with_vectors: Desk) -> None:
    desk = desk_with_vectors
    brain = desk.brain()
    first = brain.log("the secret recipe of grandmother's cake")
    second = brain.log("it is a good one")
    model = desk.space.embedder.model  # type: ignore[union-attr]
    assert desk.space.vectors.stale(model, 10) == []
    erased(desk, first)
    assert desk.space.vectors.stale(model, 10) == []
    alone = desk.brain()
    other = alone.log("it is a good one")
    vectors = dict(desk.rows("SELECT record, vector FROM vectors"))
    assert vectors[desk.row(second)["id"]] == vectors[desk.row(other)["id"]]


def test_a_tombstone_and_the_log_say_that_it_was_erased(desk: Desk) -> None:
    uid = desk.brain("clerk").remember("a wobblegong")
    erased(desk, uid)
    row = desk.row(uid)
    assert (row["state"], row["text"], row["fields"], row["agent"]) == ("erased", "", "{}", "clerk")
    assert [(entry["operation"], entry["actor"], entry["reason"]) for entry in desk.space.records.history(row["id"])] == [
        ("erase", "ada", "she asked for it")
    ]  # fmt: skip
    (event,) = desk.log.events(kind=MEMORY_ERASED)
    assert event.subject.call_id == uid
    assert event.payload == {"by": "ada", "reason": "she asked for it", "kind": "fact"}
    with pytest.raises(ValueError, match="an erased record"):
        desk.brain("clerk").writer.change(row, {"state": "active"}, "recover", "")


def test_erasing_again_erases_nothing_and_cleans_the_files_again(desk: Desk) -> None:
    uid = desk.brain().remember("a wobblegong")
    erased(desk, uid)
    assert erased(desk, uid).ids == ()
    assert len(list(desk.log.events(kind=MEMORY_ERASED))) == 1


def test_nothing_is_erased_when_one_id_is_unknown(desk: Desk) -> None:
    uid = desk.brain().remember("a wobblegong")
    with pytest.raises(NotFoundError, match="mem_unknown"):
        erased(desk, uid, "mem_unknown")
    assert desk.row(uid)["state"] == "active"


def test_a_reason_that_repeats_it_is_refused(desk: Desk) -> None:
    brain = desk.brain()
    uid = brain.remember("Quixotrope has the flu")
    brain.remember("Ada had the flu")
    with pytest.raises(ValueError, match="quixotrope"):
        erased(desk, uid, reason="Quixotrope asked for it")
    assert desk.row(uid)["state"] == "active"
    assert erased(desk, uid, reason="flu is private").ids == (uid,)


def test_a_handoff_that_repeats_it_is_named_and_erased_on_demand(desk: Desk) -> None:
    brain = desk.brain()
    uid = brain.log("the customer Quixotrope wants her money back by Friday")
    packet = handoff(brain, "Todo: the  customer Quixotrope\nwants her money back")
    other = handoff(brain, "the customer wants her money back")
    first = erased(desk, uid)
    assert (first.ids, first.quoting) == ((uid,), (packet,))
    assert desk.holds("quixotrop")
    second = desk.brain().log("the customer Quixotrope wants her money back by Monday")
    assert erased(desk, second, with_handoffs=True).ids == (second, packet)
    assert desk.holds("uixotrop") == []
    assert desk.row(other)["state"] == "active"


def test_the_end_of_a_session_that_repeats_it_is_treated_as_its_handoff(desk: Desk) -> None:
    brain = desk.brain()
    uid = brain.log("the customer Quixotrope wants her money back by Friday")
    packet = brain.wrap_up("stopped: the customer Quixotrope wants her money back")
    done = erased(desk, uid, with_handoffs=True)
    assert (len(done.ids), packet.id in done.ids) == (3, True)
    assert desk.holds("uixotrop") == []


def test_a_handoff_that_shares_a_tag_or_one_word_of_a_name_is_left_alone(desk: Desk) -> None:
    brain = desk.brain()
    tagged = brain.remember("nobody wants zebras", tags=["api", "rate limit"])
    orders = brain.entity("orders", "service", observations=["answers 429"])
    grace = brain.entity("Grace Hopper", "person", observations=["likes tea"])
    brain.handoff("the rate limit of the orders API", "Grace is told", [], "ask her")
    assert erased(desk, tagged, orders, with_handoffs=True).ids == (tagged, orders)
    packet = brain.handoff("ask Grace Hopper", "she is away", [], "wait").id
    assert erased(desk, grace).quoting == (packet,)


def test_the_reason_of_another_change_that_says_it_is_emptied(desk: Desk) -> None:
    brain = desk.brain()
    uid = brain.remember("Quixotrope has the flu")
    other, third = brain.remember("come on Monday"), brain.remember("come on Tuesday")
    brain.forget(other, "since Quixotrope is ill")
    brain.forget(third, "noise")
    assert erased(desk, uid).questions == 1
    assert desk.holds("uixotrop") == []
    assert [change.reason for change in desk.brain().history(third)] == ["", "noise"]


def handoff(brain: Brain, loop: str) -> str:
    from sb.protocols.types import Handoff
    from sb.store.records.places import Place

    return brain.writer.keep(
        Handoff(goal="a goal", current_state="as it is", open_loops=[loop]), Place(brain.stack)
    )


def test_a_reader_of_an_older_state_is_told_of_and_a_second_run_finishes(desk: Desk) -> None:
    uid = desk.brain().remember("a wobblegong")
    desk.database.query("PRAGMA wal_checkpoint(TRUNCATE)")
    reader = driver.connect(desk.config.database, read_only=True)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM records").fetchone()
    done = erased(desk, uid)
    assert (done.ids, done.held_back) == ((uid,), True)
    assert desk.holds("wobblegong")
    reader.close()
    assert not erased(desk, uid).held_back
    assert desk.holds("wobblegong") == []


def test_no_copy_is_left_in_the_gaps_of_pages_where_rows_were_moved(desk: Desk) -> None:
    """SQLite leaves copies behind there even with secure_delete: the first seeds show that there is something."""
    desk.tamper("CREATE TABLE moved (name TEXT PRIMARY KEY) WITHOUT ROWID")
    for seed in range(20):
        rng = random.Random(seed)
        with desk.database.write() as execute:
            for number in range(1_000):
                mark = "gone" if number % 20 == 0 else "kept"
                name = f"{rng.random()} zqx{mark} {'.' * rng.randint(1, 900)}"
                execute("INSERT INTO moved VALUES (?)", (name,))
        desk.tamper("DELETE FROM moved WHERE instr(name, 'zqxgone')")
        desk.database.query("PRAGMA wal_checkpoint(TRUNCATE)")
        if desk.holds("zqxgone"):
            assert desk.database.rewrite()
            assert (desk.holds("zqxgone"), desk.holds("zqxkept")) == ([], ["brain.db"])
            return
    pytest.fail("nothing was left before")


def test_backups_that_keep_it_are_named(tmp_path: Path) -> None:
    assert old_copies(tmp_path / "none") == []
    for at, name in enumerate(("2027-01-02", "2027-01-01")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "brain.db").write_text("")
        os.utime(tmp_path / name / "brain.db", (at, at))  # by which they are ordered, not by their names
    assert [path.parent.name for path in old_copies(tmp_path)] == ["2027-01-02", "2027-01-01"]
