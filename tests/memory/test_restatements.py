"""A restatement loses nothing: its text is found, shown, counted, split again, and protected like any memory."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from evals.gate.__main__ import HALVES, pairs
from sb.errors import DeniedError, NotFoundError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Label
from sb.memory import Brain
from sb.memory.bundle_import import load
from sb.memory.bundles import export
from sb.memory.erasure import erase
from sb.memory.operator_view import Overseer
from sb.memory.retention import overdue
from sb.memory.trust.deciding import TrustDesk
from sb.runtime.parts import open_authority
from sb.store.records.evidence import MOST_TEXTS
from tests.memory.desk import Desk, desk, desk_with_vectors

__all__ = ["desk", "desk_with_vectors"]

KEPT = "The shop's large parcels were removed from the store by the night crew on Tuesday."
AGAIN = "On Tuesday the shop's big parcels were deleted from the store by the night crew, zanzibarically."
ONLY = "zanzibarically"  # a word that only the restatement has


def restated(brain: Brain, text: str = AGAIN, **more: object) -> tuple[str, str]:
    """Save a memory and a restatement; returns the ids of both."""
    memory = brain.remember(KEPT, **more)  # type: ignore[arg-type]
    assert brain.remember(text, **more) == memory  # type: ignore[arg-type]
    assert brain.verdict is not None
    assert brain.verdict.restatement
    return memory, brain.verdict.restatement


def test_search_for_words_that_only_a_restatement_has_finds_the_memory(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    memory, _ = restated(brain)
    [hit] = brain.search(ONLY)
    assert (hit.id, hit.content, hit.restated) == (memory, KEPT, (AGAIN,))
    [hit] = brain.search(ONLY, fusion=True)
    assert hit.id == memory
    assert [each.id for each in brain.search("large parcels of the shop")] == [memory]  # once, not twice


def test_restatement_is_shown_counted_and_in_no_other_read(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain(scope="project:shop")
    memory, text = restated(brain)
    assert brain.get(memory).restated == (AGAIN,)
    person = Overseer(
        database=desk_with_vectors.database, config=desk_with_vectors.config, clock=desk_with_vectors.clock
    )
    shown = person.show(memory)
    assert ([item.id for item in shown.restatements], shown.restatement_count) == ([text], 1)
    assert shown.evidence_count == 1
    assert text not in str(brain.orient(project="shop"))
    assert [neighbour.memory.id for neighbour in brain.graph(memory).neighbours if neighbour.memory] == []


def test_same_text_again_adds_no_text(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    memory, _ = restated(brain)
    before = desk_with_vectors.space.records.last()
    for text in (AGAIN, KEPT, AGAIN):
        assert brain.remember(text) == memory
    assert desk_with_vectors.space.records.last() == before
    assert len(desk_with_vectors.space.evidence.of(desk_with_vectors.row(memory)["id"])) == 4


def test_split_makes_a_memory_of_its_own_and_takes_back_what_it_counted(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    memory, text = restated(brain)
    counted = desk_with_vectors.row(memory)["confidence"]
    assert brain.split(text, "another shop") == memory
    assert desk_with_vectors.row(memory)["confidence"] < counted
    assert [hit.id for hit in brain.search(ONLY)] == [text]
    assert brain.get(memory).restated == ()
    assert desk_with_vectors.space.evidence.of(desk_with_vectors.row(memory)["id"]) == []
    assert [change.operation for change in brain.history(text)] == ["keep", "split"]
    assert brain.remember(AGAIN) == text
    brain.split(text, "the same after all", revert=True)
    assert desk_with_vectors.row(memory)["confidence"] == pytest.approx(counted)
    assert [hit.id for hit in brain.search(ONLY)] == [memory]
    assert brain.history(memory)[-1].operation == "merge"


def test_what_is_no_restatement_is_not_split(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    memory, text = restated(brain)
    with pytest.raises(NotFoundError, match="is active"):
        brain.split(memory, "no")
    with pytest.raises(ValueError, match="is no restatement"):
        brain.split(memory, "no", revert=True)
    brain.split(text, "once")
    with pytest.raises(NotFoundError, match="is active"):
        brain.split(text, "twice")


def test_nobody_else_relates_a_text_as_a_restatement(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    memory, other = brain.remember(KEPT), brain.remember("the logo is blue", force=True)
    with pytest.raises(ValueError, match="made by remember"):
        brain.relate(other, "merged_into", memory)


def test_agent_that_is_trusted_less_splits_nothing(desk_with_vectors: Desk) -> None:
    desk = desk_with_vectors
    person = Overseer(database=desk.database, config=desk.config, clock=desk.clock)
    _, text = restated(person)
    trust = TrustDesk(desk.space, desk.log, open_authority(desk.config, desk.log))
    trust.assess("default", "eve", "general", 0.1, by=Label("grace"), reason="tried")
    with pytest.raises(DeniedError, match="trusted less"):
        desk.brain("eve").split(text, "mine")


def test_restatement_below_the_trust_floor_finds_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "home", embedder="static", scopes='{"*": {trust_floor: 0.5}}')
    memory = desk.brain("ada").remember(KEPT)
    assert desk.brain("eve").remember(AGAIN) == memory
    assert [hit.id for hit in desk.brain("ada").search(ONLY)] == [memory]
    trust = TrustDesk(desk.space, desk.log, open_authority(desk.config, desk.log))
    trust.assess("default", "eve", "general", 0.1, by=Label("grace"), reason="it invents")
    assert [hit.restated for hit in desk.brain("ada").search(ONLY)] == []
    assert [hit.id for hit in desk.brain("ada").search("large parcels")] == [memory]
    desk.close()


def test_erased_memory_takes_its_restatements_along(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    memory, text = restated(brain)
    assert desk_with_vectors.holds(ONLY)
    done = erase(
        desk_with_vectors.space, desk_with_vectors.log, [memory], actor="ada", reason="she asked for it"
    )
    assert set(done.ids) == {memory, text}
    assert desk_with_vectors.holds(ONLY) == []
    assert brain.search(ONLY) == []
    assert desk_with_vectors.sound()


def test_erased_restatement_leaves_the_memory(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    memory, text = restated(brain)
    erase(desk_with_vectors.space, desk_with_vectors.log, [text], actor="ada", reason="she asked for it")
    assert brain.get(memory).restated == ()
    assert desk_with_vectors.holds(ONLY) == []


def test_forgotten_or_quarantined_memory_is_not_found_by_its_restatements(desk_with_vectors: Desk) -> None:
    from sb.memory.quarantine.spreading import quarantine

    brain = desk_with_vectors.brain()
    memory, text = restated(brain)
    brain.forget(memory, "no longer so")
    assert brain.search(ONLY) == []
    brain.recover(memory, "so after all")
    assert [hit.id for hit in brain.search(ONLY)] == [memory]
    with desk_with_vectors.database.write() as execute:
        quarantine(brain.writer.record_writer, execute, [desk_with_vectors.row(memory)], "hostile")
    assert desk_with_vectors.row(text)["state"] == "quarantined"
    assert brain.search(ONLY) == []


def test_private_and_other_scopes_never_share_a_restatement(desk_with_vectors: Desk) -> None:
    ada, eve = desk_with_vectors.brain("ada"), desk_with_vectors.brain("eve")
    private, _ = restated(ada, private=True)
    assert eve.search(ONLY) == []
    shared = eve.remember(AGAIN)  # of another place: never merged with what is private
    assert shared != private
    assert [hit.id for hit in eve.search(ONLY)] == [shared]
    there, _ = restated(ada, scope="project:x")
    assert all(hit.id != there for hit in eve.search(ONLY))
    with pytest.raises(NotFoundError):
        eve.get(there)


def test_personal_data_and_secrets_of_a_restatement_are_masked_and_noted(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "home", embedder="static", scopes='{"project:red": {personal_data: redact}}')
    brain = desk.brain(scope="project:red")
    memory = brain.remember(KEPT)
    assert brain.remember(f"{AGAIN[:-1]}, note grace@example.org.") in (memory, *_all(desk))
    assert desk.holds("grace@example.org") == []
    shared = desk.brain()
    other = shared.remember("The night crew answers mails at grace@example.org about large parcels.")
    assert shared.remember("The night crew answers mails at grace@example.org about big parcels.") == other
    noted = {record for (record,) in desk.rows("SELECT record FROM personal_data")}
    assert {row["id"] for row in desk.space.records.select("r.text LIKE '%big parcels%@%'", ())} <= noted
    desk.close()


def _all(desk: Desk) -> list[str]:
    return [uid for (uid,) in desk.rows("SELECT uid FROM records")]


def test_retention_and_protection_hold_for_restatements(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "home", embedder="static", scopes='{"*": {retention: {"*": 1d}}}')
    brain = desk.brain()
    memory, text = restated(brain)
    late = desk.clock.now() + 2 * 86_400
    found = overdue(desk.space, desk.config.memory, late)
    assert {item.id for item in found} == {memory, text}
    brain.protect(memory)
    assert all(item.protected for item in overdue(desk.space, desk.config.memory, late))
    desk.close()


def test_bundle_carries_restatements(desk_with_vectors: Desk, tmp_path: Path) -> None:
    memory, text = restated(desk_with_vectors.brain())
    other, file = Desk(tmp_path / "other", embedder="static", quarantine=""), tmp_path / "memory"
    _carried(desk_with_vectors, other, file)
    brain = other.brain()
    [hit] = brain.search(ONLY)
    assert (hit.id, hit.restated) == (memory, (AGAIN,))
    assert brain.split(text, "apart") == memory
    other.close()


def test_full_memory_takes_no_further_text_and_nothing_is_lost(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    texts = [f"{KEPT[:-1]}, {word}ly." for word in _words(2 * MOST_TEXTS + 20)]
    into = [brain.remember(text) for text in texts]
    assert len(set(into)) == 3
    space = desk_with_vectors.space
    assert all(
        len(space.evidence.texts([desk_with_vectors.row(uid)["id"]])) <= MOST_TEXTS for uid in set(into)
    )
    stored = {text for (text,) in desk_with_vectors.rows("SELECT text FROM records WHERE kind = 'fact'")}
    assert stored >= set(texts)


def _words(number: int) -> list[str]:
    source = random.Random(7)
    return ["".join(source.choices("bcdfghklmnprstvz", k=9)) for _ in range(number)]


def _carried(desk: Desk, other: Desk, file: Path) -> None:
    export(desk.space, desk.log, file, by=Label("ada"), stack="default")
    authority = Authority(other.config.operators.file, other.log)
    load(other.space, other.log, file, authority, actor="bob")


def test_long_text_is_a_memory_of_its_own_and_a_repeated_one_adds_nothing(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    long = f"{KEPT} " * 1_200
    memory = brain.remember(KEPT)
    apart = brain.remember(long[:100_000])
    assert apart != memory
    assert brain.remember(long[:100_000]) == apart
    assert brain.get(apart).restated == ()


@pytest.mark.parametrize(
    "pair",
    [
        ("Alice is CTO", "alice is cto"),
        ("The build uses node 20", "The build uses Node 20"),
        ("There are 2 servers in the rack", "There are two servers in a rack"),
        ("The worker waits for 1 job", "A worker waits for one job"),
    ],
)
def test_case_number_spelling_and_articles_are_folded(desk_with_vectors: Desk, pair: tuple[str, str]) -> None:
    brain = desk_with_vectors.brain()
    assert brain.remember(pair[0]) == brain.remember(pair[1])


@pytest.mark.parametrize(
    "pair",
    [
        ("the billing worker is to be moved to Kubernetes next quarter", "the report job is to be moved to Kubernetes next quarter"),
        ("The list of roles is mutable.", "The list of roles is immutable."),
        ("The backup disk is mounted at night.", "The backup disk is unmounted at night."),
        ("The sender pays the fee of a transfer.", "The receiver pays the fee of a transfer."),
        ("The sensors are in the water.", "The sensors are out of the water."),
        ("Ann approves the deploys of Ben.", "Ben approves the deploys of Ann."),
        ("Ann is paid by Ben on Fridays.", "Ann pays Ben on Fridays."),
        ("The stack traces are encrypted at rest.", "The stack traces are decrypted at rest."),
        ("The operator approved the change of the schema.", "The operation approved the change of the schema."),
        ("The office is in the old mill.", "The office was in the old mill."),
        ("IT is closed on Monday.", "it is closed on Monday."),
        ("Restart the worker if the queue is full.", "Restart the worker, the queue is full."),
        ("The shop ships to Poland from Spain.", "The shop ships from Poland to Spain."),
        ("The cache is cleared after the deploy.", "The cache is cleared before the deploy."),
    ],
)  # fmt: skip
def test_other_noun_opposite_role_or_direction_is_never_merged(
    desk_with_vectors: Desk, pair: tuple[str, str]
) -> None:
    brain = desk_with_vectors.brain()
    assert brain.remember(pair[0]) != brain.remember(pair[1])
    assert desk_with_vectors.brain().explain(pair[0]).nearest


@pytest.mark.parametrize(
    "pair",
    [
        ("Ann pays Ben on Fridays.", "Ben is paid by Ann on Fridays."),
        ("The shop's disk was full in May.", "In May the disk of the shop was full."),
        ("The large parcels were removed at night.", "The big parcels were deleted at night."),
        ("Deploys do not go out on Fridays.", "On Fridays, deploys don't go out."),
    ],
)
def test_restatement_is_merged(desk_with_vectors: Desk, pair: tuple[str, str]) -> None:
    brain = desk_with_vectors.brain()
    assert brain.remember(pair[0]) == brain.remember(pair[1])


def test_no_text_of_all_labelled_pairs_is_lost(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    texts = {text for half in HALVES for pair in pairs(half) for text in (pair.memory, pair.text)}
    ids = {brain.remember(text) for text in sorted(texts)}
    assert len(ids) < len(texts)
    stored = desk_with_vectors.rows("SELECT text FROM records WHERE state IN ('active', 'superseded')")
    assert texts <= {text for (text,) in stored}


def test_text_with_a_nul_is_kept_once(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    memory = brain.remember(KEPT)
    for _ in range(3):
        assert brain.remember(AGAIN.replace(", ", ",\0")) == memory
    assert len(desk_with_vectors.space.evidence.texts([desk_with_vectors.row(memory)["id"]])) == 1


@pytest.mark.parametrize("rest", ["", " on Mondays", " by email", " through the proxy"])
@pytest.mark.parametrize(("does", "done"), [("calls", "called"), ("pays", "paid"), ("writes", "written")])
def test_swapped_parts_are_told_apart_in_active_and_passive(
    desk_with_vectors: Desk, does: str, done: str, rest: str
) -> None:
    brain, first, second = desk_with_vectors.brain(), "the gateway", "the old worker"
    memory = brain.remember(f"{first} {does} {second}{rest}.")
    assert brain.remember(f"{second} is {done} by {first}{rest}.") == memory
    swapped = {
        brain.remember(f"{second} {does} {first}{rest}."),
        brain.remember(f"{first} is {done} by {second}{rest}."),
    }
    assert memory not in swapped
