"""Corrections: who may make them, what waits for a person, what two at once do, and what erasing leaves to revert."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest

from sb.config import load_config
from sb.errors import CheckFailed, DeniedError, NotFoundError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.memory import Brain
from sb.memory.bundle_import import load
from sb.memory.bundles import export
from sb.memory.erasure import erase
from sb.memory.operator_view import Overseer
from sb.memory.quarantine.review import Quarantine
from sb.memory.trust.deciding import TrustDesk
from sb.protocols.types import Belief
from sb.stack import SQLiteStack
from tests.conftest import CommandLine
from tests.memory.desk import Desk, desk  # noqa: F401 (a fixture)

OLD, NEW = "the limit is 100 requests", "the limit is 200 requests"
GRACE = Label("grace")


def authority(desk: Desk) -> Authority:  # noqa: F811
    return Authority(desk.config.operators.file, desk.log)


def distrust(desk: Desk, agent: str, score: float = 0.2) -> None:  # noqa: F811
    TrustDesk(desk.space, desk.log, authority(desk)).assess(
        "default", agent, "general", score, by=GRACE, reason="r"
    )


def review(desk: Desk) -> Quarantine:  # noqa: F811
    return Quarantine(desk.space, desk.log, authority(desk))


def texts(brain: Brain) -> list[str]:
    return [hit.content for hit in brain.search("limit requests", 20)]


def state(desk: Desk, uid: str) -> str:  # noqa: F811
    return str(desk.row(uid)["state"])


def test_who_is_trusted_less_displaces_nothing_and_a_person_may_let_it(desk: Desk) -> None:  # noqa: F811
    old = desk.brain("ada").remember(OLD)
    distrust(desk, "mallory")
    mallory = desk.brain("mallory")
    new = mallory.correct(old, NEW, "so I heard")
    assert mallory.quarantined == (new,)
    assert texts(desk.brain("ada")) == [OLD]
    pending = Overseer(database=desk.database, config=desk.config).collapses(1)[0]
    assert (pending.status, pending.winner, pending.loser) == ("pending", new, old)
    assert "trusted less" in pending.held
    (item,) = review(desk).items()
    assert item.reason.startswith(f"it would replace {old}")
    review(desk).release([item], by=GRACE, reason="checked")
    assert texts(desk.brain("ada")) == [NEW]
    assert desk.brain("ada").collapses(1)[0].status == "standing"
    with pytest.raises(DeniedError, match="trusted less"):
        desk.brain("mallory").revert(pending.id)
    desk.brain("ada").revert(pending.id)
    assert texts(desk.brain("ada")) == [OLD]


def test_what_stands_where_one_may_not_write_does_not_fall(home: Path) -> None:
    desk = Desk(home, scopes='{"team:web": {read: ["*"], write: [bob]}}')  # noqa: F811
    ada = desk.brain("ada")
    old = ada.remember(OLD)
    rests = desk.brain("bob").remember("wait a second", derived_from=[old], scope="team:web")
    new = ada.correct(old, NEW)
    assert [state(desk, uid) for uid in (old, rests, new)] == ["active", "active", "quarantined"]
    desk.close()


def test_a_memory_that_is_there_is_not_quarantined_but_refused(desk: Desk) -> None:  # noqa: F811
    old = desk.brain("ada").remember(OLD)
    distrust(desk, "mallory")
    mallory = desk.brain("mallory")
    own = mallory.remember(NEW)
    with pytest.raises(DeniedError, match="trusted less"):
        mallory.correct(old, own)
    assert (state(desk, old), state(desk, own)) == ("active", "active")
    waits = mallory.correct(old, NEW)
    assert (mallory.quarantined, state(desk, old)) == ((waits,), "active")
    assert desk.brain("ada").correct(old, NEW) == own
    assert (state(desk, old), state(desk, own)) == ("superseded", "active")


def test_what_is_trusted_more_does_not_fall_with_what_is_not(desk: Desk) -> None:  # noqa: F811
    distrust(desk, "mallory")
    mallory = desk.brain("mallory")
    own = mallory.remember(OLD)
    rests = desk.brain("ada").remember("wait a second for each 100 requests", derived_from=[own])
    new = mallory.correct(own, NEW)
    assert (state(desk, own), state(desk, rests), state(desk, new)) == ("active", "active", "quarantined")


@pytest.mark.parametrize("below", [False, True])
def test_what_is_protected_waits_for_a_person(desk: Desk, below: bool) -> None:  # noqa: F811
    brain = desk.brain("ada")
    old = brain.remember(OLD)
    rests = brain.remember("wait a second for each 100 requests", derived_from=[old])
    brain.protect(rests if below else old)
    new = brain.correct(old, NEW)
    assert (state(desk, old), state(desk, new)) == ("active", "quarantined")
    with pytest.raises(ValueError, match="protected: lift that first"):
        Overseer(database=desk.database, config=desk.config).correct(old, NEW)
    (item,) = review(desk).items()
    review(desk).release([item], by=GRACE, reason="decided")
    assert (state(desk, old), state(desk, rests), state(desk, new)) == ("superseded", "superseded", "active")


def test_what_an_untrusted_source_says_waits_and_may_come_too_late(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain("ada")
    old = brain.remember(OLD)
    new = brain.remember(NEW, replaces=old, source_type="web-page")
    assert (state(desk, old), state(desk, new)) == ("active", "quarantined")
    brain.correct(old, "the limit is 300 requests")
    (item,) = review(desk).items()
    review(desk).release([item], by=GRACE, reason="checked")
    assert {event.status for event in brain.collapses()} == {"dismissed", "standing"}


def test_a_purged_correction_never_happens(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain("ada")
    old = brain.remember(OLD)
    brain.remember(NEW, replaces=old, source_type="web-page")
    review(desk).purge(review(desk).items(), by=GRACE, reason="bad")
    assert state(desk, old) == "active"


def test_what_is_quarantined_or_private_to_another_is_not_there(desk: Desk) -> None:  # noqa: F811
    ada = desk.brain("ada")
    private, bad = ada.remember(OLD, private=True), ada.remember("bad", source_type="web-page")
    for uid in (private, bad):
        with pytest.raises(NotFoundError):
            desk.brain("bob").correct(uid, NEW)
    assert (state(desk, private), state(desk, bad)) == ("active", "quarantined")


def test_what_replaces_is_seen_by_all_who_saw_what_it_replaces(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain("ada")
    old = brain.remember(OLD)
    own, elsewhere = brain.remember(NEW, private=True), brain.remember(NEW, scope="project:shop")
    for other in (own, elsewhere):
        with pytest.raises((ValueError, NotFoundError)):
            desk.brain("ada", scope="project:shop").correct(old, other)
    with pytest.raises(ValueError, match="has to stand where"):
        brain.remember("the limit is 300", replaces=old, private=True)
    assert state(desk, old) == "active"
    in_shop = brain.remember("the shop's limit is 5", scope="project:shop")
    shop = desk.brain("ada", scope="project:shop")
    assert shop.get(shop.correct(in_shop, "the shop's limit is 6")).scope == "project:shop"


@pytest.mark.parametrize("kind", ["entity", "handoff"])
def test_what_has_a_name_or_was_handed_over_is_not_corrected(desk: Desk, kind: str) -> None:  # noqa: F811
    brain = desk.brain("ada")
    made = {
        "entity": lambda: brain.entity("shop", "service"),
        "handoff": lambda: brain.handoff("goal", "state", [], "next").id,
    }
    with pytest.raises(ValueError, match=f"kind {kind}"):
        brain.correct(made[kind](), NEW)


def test_a_decision_is_replaced_by_another_one_with_the_reason(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain("ada")
    old = brain.decide("page by offset", "simple")
    with pytest.raises(ValueError, match="needs a reason"):
        brain.correct(old, "page by cursor")
    new = brain.get(brain.correct(old, "page by cursor", "offsets skip orders"))
    assert (new.kind, new.details["rationale"]) == ("decision", "offsets skip orders")


def test_secrets_and_hidden_ids_are_in_no_collapse(desk: Desk) -> None:  # noqa: F811
    ada = desk.brain("ada")
    old = ada.remember(OLD)
    hidden = desk.brain("bob").remember("bob's own plan", private=True, derived_from=[old])
    token = "ghp_" + "x1" * 18
    ada.correct(old, NEW, f"by {token}")
    (event,) = ada.collapses()
    assert token not in str(event)
    assert (hidden not in str(event), event.hidden) == (True, 1)
    assert state(desk, hidden) == "superseded"
    assert hidden not in str(ada.revert(event.id))
    assert state(desk, hidden) == "active"


def test_the_credibility_of_both_sides_and_their_provenance_are_kept(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain("ada")
    seen = brain.log("a mail says so")
    old = brain.remember(OLD, derived_from=[seen], confidence=0.9, evidence_n=10)
    brain.correct(old, NEW, "raised")
    (event,) = brain.collapses()
    assert [side["side"] for side in event.ranking] == ["loser", "winner"]
    assert event.ranking[0]["confidence"] == 0.9
    assert event.provenance == {"winner": [], "loser": [seen]}
    assert event.citation.startswith("ada, agent-written, 20")
    assert brain.get(seen).corrected_by == event.winner


def test_reverting_after_parts_were_erased_does_what_it_can(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain("ada")
    old = brain.remember(OLD)
    parts = [brain.remember(f"rule {number} of the limit", derived_from=[old]) for number in range(2)]
    new = brain.correct(old, NEW)
    erase(desk.space, desk.log, [parts[0]], actor="grace", reason="asked for")
    done = brain.revert(brain.collapses()[0].id)
    assert done.left == ((parts[0], "erased since"),)
    assert set(done.restored) == {old, parts[1]}
    assert state(desk, new) == "superseded"


def test_a_collapse_whose_loser_was_erased_is_not_reverted_and_says_nothing_of_it(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain("ada")
    old = brain.remember("Grace lives in the Lighthouse Lane")
    new = brain.correct(old, "Grace lives in Bonn", "no Lighthouse any more")
    erase(desk.space, desk.log, [old], actor="grace", reason="asked for")
    event = brain.collapses()[0].id
    with pytest.raises(NotFoundError, match="was erased") as error:
        brain.revert(event)
    assert "\n" not in error.value.message
    assert state(desk, new) == "active"
    assert desk.holds("Lighthouse") == []
    assert desk.rows("SELECT count(*) FROM belief_collapse_items WHERE digest IS NOT NULL") == [(0,)]


def test_a_winner_that_was_erased_lets_the_loser_come_back(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain("ada")
    old = brain.remember(OLD)
    new = brain.correct(old, NEW)
    erase(desk.space, desk.log, [new], actor="grace", reason="asked for")
    assert brain.revert(brain.collapses()[0].id).restored == (old,)
    assert texts(brain) == [OLD]


def test_a_winner_that_was_corrected_in_turn_is_reverted_first(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain("ada")
    old = brain.remember(OLD)
    brain.correct(brain.correct(old, NEW), "the limit is 300 requests")
    last, first = brain.collapses()
    with pytest.raises(CheckFailed, match="is superseded by"):
        brain.revert(first.id)
    brain.revert(last.id)
    brain.revert(first.id)
    assert texts(brain) == [OLD]


def _corrects(home: str, old: str, new: str, start: object, answers: object) -> None:
    config = load_config(env={"SB_HOME": home, "HOME": home}, cwd=Path(home), flags={})
    with Brain(new, config=config) as brain:
        start.wait()  # type: ignore[attr-defined]
        try:
            answers.put(brain.correct(old, f"the limit is {new}"))  # type: ignore[attr-defined]
        except NotFoundError as error:
            answers.put(error.message)  # type: ignore[attr-defined]


def test_of_two_processes_that_correct_the_same_one_wins_and_the_other_is_told(home: Path) -> None:
    desk = Desk(home)  # noqa: F811
    old = desk.brain("ada").remember(OLD)
    context = multiprocessing.get_context("spawn")
    start, answers = context.Barrier(2), context.Queue()
    runs = [
        context.Process(target=_corrects, args=(str(home), old, name, start, answers))
        for name in ("ann", "ben")
    ]
    for run in runs:
        run.start()
    found = sorted(answers.get(timeout=60) for _ in runs)
    for run in runs:
        run.join()
    refusal, winner = sorted(found, key=lambda answer: answer.startswith("mem_"))
    assert refusal == f"memory {old} is superseded by {winner}"
    assert len(desk.brain("ada").collapses()) == 1
    desk.close()


def test_a_bundle_carries_that_something_was_superseded(tmp_path: Path, home: Path) -> None:
    desk, other = Desk(home), Desk(tmp_path / "other")  # noqa: F811
    old = desk.brain("ada").remember(OLD)
    export(desk.space, desk.log, tmp_path / "before", by=GRACE, stack="default")
    new = desk.brain("ada").correct(old, NEW)
    export(desk.space, desk.log, tmp_path / "after", by=GRACE, stack="default")
    load(other.space, other.log, tmp_path / "after", authority(other), actor="grace")
    load(other.space, other.log, tmp_path / "before", authority(other), actor="grace")
    hits = other.brain("bob").search("limit requests", history=True)
    assert [(hit.content, hit.superseded_by) for hit in hits] == [(NEW, ""), (OLD, new)]
    for each in (desk, other):
        each.close()


def stack_of(desk: Desk) -> SQLiteStack:  # noqa: F811
    return SQLiteStack(
        "mine",
        database=desk.database,
        config=desk.config,
        components=[],
        enforce_provenance=False,
        clock=desk.clock,
    )


def test_a_stack_corrects_and_reverts_by_the_same_rules(desk: Desk) -> None:  # noqa: F811
    stack = stack_of(desk)
    old = stack.save_belief(Belief("", "mine", OLD, confidence=0.6))
    rests = stack.save_belief(Belief("", "mine", "100 requests are few", derived_from=[f"belief:{old}"]))
    new = stack.correct_memory("belief", old, NEW, "raised")
    assert new is not None
    assert [belief.statement for belief in stack.get_beliefs(include_forgotten=True)] == [NEW]
    former, later = (stack.get_memory("belief", uid) for uid in (old, new))
    assert former is not None and later is not None  # noqa: PT018
    assert (former.is_active, former.superseded_by) == (False, new)
    assert later.supersedes == old
    former.confidence = 0.2
    assert stack.update_record(
        "belief", former
    )  # which neither revives it nor says that it is not held once it is reverted
    assert [belief.statement for belief in stack.get_beliefs(include_forgotten=True)] == [NEW]
    with pytest.raises(NotFoundError, match=f"superseded by {new}"):
        stack.correct_memory("belief", old, "the limit is 5")
    assert stack.correct_memory("belief", "nobody", NEW) is None
    (event,) = stack.get_collapses()
    assert set(stack.revert_collapse(event.id).restored) == {old, rests}
    assert {belief.statement for belief in stack.get_beliefs()} == {OLD, "100 requests are few"}


def test_a_dump_with_what_was_superseded_brings_nothing_back(desk: Desk, tmp_path: Path) -> None:  # noqa: F811
    brain = desk.brain("ada", stack="mine")
    brain.correct(brain.remember(OLD), NEW)
    brain.correct(brain.decide("page by offset", "simple"), "page by cursor", "skips")
    dump = stack_of(desk).dump(format="json", include_forgotten=True)
    other = Desk(tmp_path / "other")
    fresh = stack_of(other)
    fresh.load_dump(dump)
    assert [belief.statement for belief in fresh.get_beliefs()] == [NEW]
    assert [note.content for note in fresh.get_notes()] == ["page by cursor"]
    other.close()


def test_the_commands_correct_list_and_revert(sb: CommandLine) -> None:
    sb("init")
    old = sb("memory", "remember", OLD, "--json").json["id"]
    rests = sb("memory", "remember", "few", "--from", old, "--json").json["id"]
    asked = sb("memory", "correct", old, NEW)  # there is no terminal
    assert (asked.code, rests in asked.err) == (2, True)
    done = sb("memory", "correct", old, NEW, "--reason", "raised", "--yes", "--json").json
    assert (done["loser"], done["reason"], done["status"]) == (old, "raised", "standing")
    assert {item["id"]: item["role"] for item in done["records"]} == {old: "loser", rests: "derived"}
    shown = sb("memory", "search", "limit requests", "--history").out
    assert shown.index(NEW) < shown.index(f"superseded by {done['winner']}") < shown.index(OLD)
    assert OLD not in sb("memory", "search", "limit requests").out
    assert f"superseded by {done['winner']}" in sb("memory", "show", old).out
    assert done["winner"] in sb("memory", "remember", OLD.upper()).err
    listed = sb("memory", "collapses", "--json").json["items"]
    assert [item["id"] for item in listed] == [done["id"]]
    assert "raised" in sb("memory", "collapses").out
    back = sb("memory", "revert", done["id"][:10], "--json").json
    assert set(back["restored"]) >= {old, rests}
    assert sb("memory", "revert", done["id"]).code == 1
    new = sb("memory", "remember", "the limit is 7", "--replaces", old, "--json").json["id"]
    assert sb("memory", "show", old, "--json").json["memory"]["superseded_by"] == new


REFUSALS: dict[str, Callable[[Brain, str], object]] = {
    "itself": lambda brain, old: brain.correct(old, old),
    "nothing": lambda brain, old: brain.correct(old, " "),
}


@pytest.mark.parametrize("name", sorted(REFUSALS))
def test_what_makes_no_sense_is_refused(desk: Desk, name: str) -> None:  # noqa: F811
    brain = desk.brain("ada")
    old = brain.remember(OLD)
    with pytest.raises(ValueError):  # noqa: PT011
        REFUSALS[name](brain, old)
    assert state(desk, old) == "active"
