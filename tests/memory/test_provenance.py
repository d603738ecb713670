"""A person can ask of every memory where it came from, what was changed in it, and who read it."""

from __future__ import annotations

import pytest

from sb.errors import NotFoundError
from sb.memory.erasure import erase
from sb.memory.operator_view import Overseer
from sb.memory.provenance import DEEPEST, MOST_ORIGINS, Origin
from tests.memory.desk import Desk, desk

__all__ = ["desk"]


def overseer(desk: Desk) -> Overseer:
    return Overseer(database=desk.database, config=desk.config, clock=desk.clock, ids=desk.ids)


def outline(origin: Origin) -> object:
    """A memory's text, and those it was made from."""
    text = origin.memory.content if origin.memory else f"{origin.reference} {origin.standing}".strip()
    below = [outline(other) for other in origin.origins]
    return (text, *below) if below else text + (" again" if origin.again else "")


def test_a_conclusion_leads_back_to_what_was_seen(desk: Desk) -> None:
    brain = desk.brain("analyst")
    seen = brain.log("the API answered 429")
    claim = brain.remember("the vendor says 100 requests in 15 s", source_type="derived")
    limit = brain.remember("the limit is 100/15s", derived_from=[f"event:{seen}", claim, "call:call_0042"])
    conclusion = brain.remember("wait for Retry-After", derived_from=[limit, seen, "mem_elsewhere"])
    found = brain.why(conclusion)
    assert outline(found) == (
        "wait for Retry-After",
        (
            "the limit is 100/15s",
            "the API answered 429 again",
            "the vendor says 100 requests in 15 s",
            "call:call_0042 call",
        ),
        "the API answered 429",
        "mem_elsewhere unknown",
    )
    assert found.origins[0].relation == "derived_from"
    assert found.origins[0].origins[1].memory is not None
    assert found.origins[0].origins[1].memory.source_type == "derived"
    assert found.as_json()["origins"][1]["memory"]["session"]


def test_what_others_keep_for_themselves_is_not_shown_as_an_origin(desk: Desk) -> None:
    other = desk.brain("other")
    secret = other.remember("the password is blue", private=True)
    public = other.remember("the door has a lock", derived_from=[secret])
    assert outline(desk.brain("coder").why(public)) == ("the door has a lock", "hidden")
    assert "blue" in str(outline(overseer(desk).why(public)))
    with pytest.raises(NotFoundError):
        desk.brain("coder").why(secret)


def test_what_was_forgotten_or_erased_still_counts_as_an_origin_as_far_as_it_is_there(desk: Desk) -> None:
    brain = desk.brain()
    forgotten, gone = brain.remember("a rumour"), brain.remember("a secret")
    uid = brain.remember("a conclusion", derived_from=[forgotten, gone])
    brain.forget(forgotten)
    erase(desk.space, desk.log, [gone], actor="ada", reason="asked for")
    assert outline(brain.why(uid)) == ("a conclusion", "a rumour", f"{gone} erased")
    assert brain.why(uid).origins[0].standing == "forgotten"


def test_circles_and_endless_chains_end(desk: Desk) -> None:
    brain = desk.brain()
    first = last = brain.remember("link 0")
    for number in range(1, DEEPEST + 5):
        last = brain.remember(f"link {number}", derived_from=[last])
    found, depth = brain.why(last), 0
    while found.origins:
        found, depth = found.origins[0], depth + 1
    assert (depth, found.left_out) == (DEEPEST, 1)

    hen, other = brain.remember("hen"), brain.remember("egg")
    desk.brain().relate(hen, "derived_from", other)
    brain.relate(other, "derived_from", hen)
    assert outline(brain.why(hen)) == ("hen", ("egg", "hen again"))

    many = [brain.remember(f"leaf {number}") for number in range(MOST_ORIGINS + 3)]
    wide = brain.why(brain.remember("the crown", derived_from=many))
    assert (len(wide.origins), wide.left_out) == (MOST_ORIGINS - 1, 4)
    assert brain.why(first).origins == ()


def test_the_history_says_who_changed_what_from_what_to_what(desk: Desk) -> None:
    brain = desk.brain("clerk")
    uid = brain.entity("Ada", "person", observations=["likes tea"], tags=["vip"])
    desk.brain("other").entity("ada", "person", observations=["likes coffee"])
    brain.forget(uid, "she left")
    brain.recover(uid, "she is back")
    change, said_again, forgotten, recovered = brain.history(uid)
    assert (change.actor, change.operation, change.version, change.changed) == ("clerk", "keep", 1, {})
    assert (said_again.actor, said_again.operation, said_again.version) == ("other", "update", 2)
    assert said_again.changed["observations"] == (["likes tea"], ["likes tea", "likes coffee"])
    assert "text" not in said_again.changed
    assert (forgotten.reason, forgotten.version) == ("she left", 2)
    assert forgotten.changed == {"state": ("active", "forgotten"), "strength": (1.0, 0.0)}
    assert recovered.changed == {"state": ("forgotten", "active"), "strength": (0.0, 1.0)}
    assert change.at < said_again.at


def test_the_history_of_what_was_erased_says_that_and_nothing_of_what_it_was(desk: Desk) -> None:
    brain = desk.brain("clerk")
    uid = brain.entity("Ada", "person", observations=["likes tea"])
    brain.entity("Ada", "person", observations=["likes coffee"])
    erase(desk.space, desk.log, [uid], actor="ada", reason="asked for")
    changes = overseer(desk).history(uid)
    assert [(change.operation, change.changed) for change in changes] == [
        ("keep", {}),
        ("update", {}),
        ("erase", {}),
    ]
    assert changes[-1].actor == "ada"


def test_everything_about_a_memory_at_once(desk: Desk) -> None:
    brain = desk.brain("clerk", scope="project:shop")
    brain.log("the customer called")
    uid = brain.remember("she wants a refund", confidence=0.5)
    made = brain.decide("refund her", "she wants one", derived_from=[uid])
    brain.entity("Shop", "organization")
    brain.relate(uid, "about", "Shop")
    brain.protect(uid)
    reader = desk.brain("reader", scope="project:shop")
    reader.search("refund")
    found = overseer(desk).show(uid)
    assert (found.memory.content, found.stack, found.state) == ("she wants a refund", "default", "active")
    assert (found.version, found.protected) == (1, True)
    assert found.before == ("the customer called",)
    assert found.made_of_it == (made,)
    assert {(neighbour.relation, neighbour.memory.content) for neighbour in found.neighbours} == {
        ("about", "Shop"),
        ("derived_from", "refund her: she wants one"),
    }
    assert (found.read, found.reads[0]["agent"], found.reads[0]["query"]) == (1, "reader", "refund")
    assert [change.operation for change in found.changes] == ["keep", "protect"]
    assert found.as_json()["changes"][1]["changed"] == {"is_protected": [False, True]}
    assert overseer(desk).show(uid).read == 1  # an operator's look is no read
