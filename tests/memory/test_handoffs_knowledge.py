"""A handoff leaves out what its recipient has, and tells its reader what is new to it and what it knows that is outdated."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.log.event_log import EventLog
from sb.memory import Brain
from sb.memory.erasure import erase
from sb.memory.handoffs import HandoffPacket
from tests.memory.agents import Agents, agents

__all__ = ["agents"]

PACKET: tuple[str, str, list[str], str] = ("ship it", "it works", [], "tag it")


def shop(agents: Agents, agent: str) -> Brain:
    return agents.brain(agent, scope="project:shop")


def read(agents: Agents, agent: str) -> HandoffPacket:
    packet = agents.brain(agent).orient(project="shop").handoff
    assert packet is not None
    return packet


def ids(some: object) -> list[str]:
    return [item.id for item in some]  # type: ignore[attr-defined]


def test_a_packet_leaves_out_what_its_recipient_has_as_it_is_now(agents: Agents) -> None:
    ada = shop(agents, "ada")
    known = ada.remember("the shop sells tea")
    grown = ada.entity("gateway", "service", observations=["its port is open"])
    shop(agents, "bob").search("tea gateway port")
    ada.entity("gateway", "service", observations=["its port is closed"])
    unknown = ada.remember("the till opens at nine")
    assert set(ada.handoff(*PACKET).knows) == {known, grown, unknown}
    assert set(ada.handoff(*PACKET, recipient="bob").knows) == {grown, unknown}
    assert set(ada.handoff(*PACKET, recipient="eve").knows) == {known, grown, unknown}
    assert set(ada.wrap_up("done", recipient="bob").knows) == {grown, unknown}


def test_what_is_new_is_named_the_most_important_first_and_at_most_ten(agents: Agents) -> None:
    ada = shop(agents, "ada")
    facts = [ada.remember(f"shelf {number} holds article {number * 7}") for number in range(14)]
    ada.protect(facts[2], reason="a rule")
    shop(agents, "bob").search("shelf 13 article 91", k=1)
    ada.handoff(*PACKET)
    new = read(agents, "bob").new
    assert len(new) == 10
    assert dict(new[0]) == {"id": facts[2], "title": "shelf 2 holds article 14", "voice": "agent ada"}
    assert facts[13] not in ids(new)
    assert read(agents, "ada").new == ()


def test_what_its_reader_knows_that_is_outdated_is_told_once(agents: Agents) -> None:
    ada = shop(agents, "ada")
    old = [ada.remember(f"shelf {number} holds article {number * 7}") for number in range(7)]
    shop(agents, "bob").search("shelf article", k=20)
    new = [ada.correct(uid, f"shelf {number} is empty", "sold") for number, uid in enumerate(old)]
    ada.handoff(*PACKET)
    packet = shop(agents, "bob").resume()
    assert packet is not None
    assert [(item.id, item.now, item.since) for item in packet.outdated] == [
        (old[at], new[at], "superseded") for at in (6, 5, 4, 3, 2)
    ]
    assert (packet.outdated[0].known, packet.outdated[0].content) == (
        "shelf 6 holds article 42", "shelf 6 is empty",
    )  # fmt: skip
    assert ids(read(agents, "bob").outdated) == [old[1], old[0]]
    assert read(agents, "bob").outdated == ()
    assert ids(read(agents, "eve").outdated) == []
    assert [item.knows for item in ada.knows("bob", "shelf 6 empty", k=1)] == ["told"]


def test_a_packet_of_another_scope_than_the_sessions_tells_it_too(agents: Agents) -> None:
    ada = shop(agents, "ada")
    old, gone = ada.remember("the till opens at nine"), ada.remember("the cellar is locked")
    shop(agents, "bob").search("till", k=1)
    fresh = ada.remember("the shop sells tea")
    ada.handoff(*PACKET)
    for uid in (old, gone):
        agents.person().forget(uid, "moved")
    packet = agents.brain("bob").resume("shop")
    assert packet is not None
    assert (ids(packet.new), ids(packet.outdated), ids(packet.stale)) == ([fresh], [old], [old, gone])


def test_a_package_tells_it_as_text_and_names_whose_words_it_is(agents: Agents) -> None:
    (agents.home / "config.yaml").write_text("memory: {quarantine: []}\n")
    ada = shop(agents, "ada")
    old = ada.remember("the till opens at nine", source_type="tool-output")
    shop(agents, "bob").search("till")
    person = agents.person()
    new = person.remember("the till opens at ten", project="shop", source_type="user-written", force=True)
    person.correct(old, new, "moved")
    gone = ada.remember("the cellar is locked")
    shop(agents, "bob").search("cellar")
    ada.forget(gone, "open now")
    fresh = ada.remember("the shop sells tea")
    ada.handoff(*PACKET)
    text = agents.brain("bob").orient(project="shop").as_text()
    assert (
        f"- outdated, you know: the till opens at nine ({old}, by a tool); superseded since: the till opens at ten"
        f" ({new}, by a person)\n" in text
    )
    assert f"- outdated, you know: the cellar is locked ({gone}, by agent ada); forgotten since\n" in text
    assert f"- new to you: the shop sells tea ({fresh}, by agent ada)\n" in text


@pytest.mark.parametrize("budget", [100, 130, 160, 200, 300, 500, 2000])
def test_only_what_fits_the_budget_counts_as_told(agents: Agents, budget: int) -> None:
    ada = shop(agents, "ada")
    old = [ada.remember(f"shelf {number} holds article {number * 7}") for number in range(4)]
    shop(agents, "bob").search("shelf article", k=20)
    for number, uid in enumerate(old):
        ada.correct(uid, f"shelf {number} is empty", "sold")
    ada.handoff(*PACKET)
    package = agents.brain("bob").orient(project="shop", token_budget=budget)
    text = package.as_text()
    assert package.tokens <= budget
    shown = [uid for uid in old if f"({uid}, by" in text]
    assert sorted(ids(package.handoff.outdated if package.handoff else ())) == sorted(shown)
    rest = [uid for uid in old if uid not in shown]
    assert sorted(ids(read(agents, "bob").outdated)) == sorted(rest)


def test_an_altered_or_foreign_packet_tells_nothing(agents: Agents) -> None:
    ada = shop(agents, "ada")
    old = ada.remember("the till opens at nine")
    shop(agents, "bob").search("till")
    ada.correct(old, "the till opens at ten", "moved")
    ada.remember("the shop sells tea")
    ada.handoff(*PACKET)
    altered = "UPDATE records SET fields = json_set(fields, '$.knows', json('{}')) WHERE kind = 'handoff'"
    secret = agents.home / "digest.key"
    for spoil in (lambda: secret.write_bytes(b"another" * 8), lambda: agents.tamper(altered)):
        spoil()
        packet = read(agents, "bob")
        assert (packet.verified, packet.new, packet.outdated) == (False, (), ())
        taken = shop(agents, "bob").resume()
        assert taken is not None
        assert (taken.verified, taken.new, taken.outdated) == (False, (), ())


def test_no_reader_is_told_of_what_it_may_not_read(agents: Agents) -> None:
    ada = shop(agents, "ada")
    ada.remember("a private thought", private=True)
    ada.remember("the safe is behind the picture", access_grants=["ada"])
    closed = ada.remember("the cellar is locked", access_grants=["bob"])
    other = agents.brain("ada", scope="project:billing")
    other.remember("invoices are numbered")
    hers = shop(agents, "eve").remember("the till opens at nine")
    ada.handoff(*PACKET)
    assert ids(read(agents, "bob").new) == [closed]
    assert read(agents, "eve").new == ()
    # What holds now is told to nobody who may not read it.
    person = agents.person()
    now = person.remember("the till opens at ten", project="shop", access_grants=["bob"], force=True)
    person.correct(hers, now, "moved")
    ada.handoff(*PACKET)
    (item,) = read(agents, "eve").outdated
    assert (item.id, item.since, item.now, item.content) == (hers, "superseded", "", "")


def test_what_was_closed_to_its_reader_since_is_not_told(agents: Agents) -> None:
    ada = shop(agents, "ada")
    old = ada.remember("the till opens at nine")
    shop(agents, "bob").search("till")
    ada.forget(old, "moved")
    (agents.home / "config.yaml").write_text("memory: {scopes: {'project:shop': {max_age: 1s}}}\n")
    ada.handoff(*PACKET)
    agents.clock.time += 1
    assert shop(agents, "bob").knows("bob", "till") == []


def test_the_trust_floor_holds_for_what_is_new_and_outdated(agents: Agents) -> None:
    config = "memory: {quarantine: [], scopes: {'project:shop': {trust_floor: 0.45}}}\n"
    (agents.home / "config.yaml").write_text("memory: {quarantine: []}\n")
    ada = shop(agents, "ada")
    old = ada.remember("the till opens at nine", source_type="web-page")
    shop(agents, "bob").search("till")
    agents.person().forget(old, "moved")
    ada.remember("the shop sells tea", source_type="web-page")
    ada.handoff(*PACKET)
    (agents.home / "config.yaml").write_text(config)
    packet = read(agents, "bob")
    assert (packet.new, packet.outdated) == ((), ())
    (agents.home / "config.yaml").write_text("memory: {quarantine: []}\n")
    packet = read(agents, "bob")
    assert (len(packet.new), len(packet.outdated)) == (1, 1)


def test_personal_data_is_masked_in_both(agents: Agents) -> None:
    (agents.home / "config.yaml").write_text("memory: {personal_data_readers: [ada]}\n")
    ada = shop(agents, "ada")
    old = ada.remember("Grace is called at +49 171 5550199")
    shop(agents, "bob").search("Grace")
    ada.correct(old, "Grace is called at +49 171 5550144", "moved")
    ada.remember("Henry is called at +49 171 5550177")
    ada.handoff(*PACKET)
    package = agents.brain("bob").orient(project="shop")
    assert package.handoff is not None
    assert len(package.handoff.new) + len(package.handoff.outdated) == 3
    assert "5550" not in repr(package) + package.as_text()


@pytest.mark.parametrize("of", ["told", "now", "both"])
def test_what_was_erased_is_in_neither(agents: Agents, of: str) -> None:
    ada = shop(agents, "ada")
    old = ada.remember("the till of Grace opens at nine", subject_ids=["grace"])
    shop(agents, "bob").search("till")
    new = ada.correct(old, "the till of Grace opens at ten", "moved")
    gone = {"told": [old], "now": [new], "both": [old, new]}[of]
    ada.handoff(*PACKET)
    erase(ada.space, EventLog(agents.database, clock=agents.clock), gone, actor="ana", reason="asked")
    packet = read(agents, "bob")
    answer = repr((packet.new, packet.outdated, ada.knows("bob", "till of Grace")))
    assert ("at nine" in answer, "at ten" in answer) == ("told" not in of and of != "both", of == "told")
    assert [item.now for item in packet.outdated] == ([""] if of == "now" else [])


def test_ten_thousand_reads_of_one_record_are_one_telling(agents: Agents) -> None:
    ada = shop(agents, "ada")
    old = ada.remember("the till opens at nine")
    shop(agents, "bob").search("till")
    row = ada.space.records.find(old)
    assert row is not None
    with agents.database.write() as execute:
        for number in range(10_000):
            ada.space.reads.append(
                execute, "get", "", [(row["id"], 1.0)], at=agents.clock.time + number, agent="bob", session=None,
                tokens=1,
            )  # fmt: skip
    (item,) = ada.knows("bob", "till")
    assert item.told_at == agents.clock.time + 9_999
    ada.correct(old, "the till opens at ten", "moved")
    ada.handoff(*PACKET)
    assert ids(read(agents, "bob").outdated) == [old]
    assert read(agents, "bob").outdated == ()


WHO = st.sampled_from(["ada", "bob"])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "read", "correct", "forget", "recover", "grow", "hand", "take", "jump"]),
        WHO,
        st.integers(0, 9),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_nothing_new_was_known_and_nothing_outdated_is_in_force(
    agents: Agents, tmp_path: Path, steps: list[tuple[str, str, int]]
) -> None:
    scope = f"project:{len(agents.rows('SELECT id FROM places'))}"
    brains = {name: agents.brain(name, scope=scope) for name in ("ada", "bob")}
    has: dict[str, set[str]] = {"ada": set(), "bob": set()}  # what each wrote or was told
    texts: list[str] = []
    known: set[tuple[str, str, str]] = set()  # what each was told is outdated, and what holds now
    for number, (step, who, which) in enumerate(steps):
        agents.clock.time += 1
        brain = brains[who]
        alive = [uid for uid in texts if state(agents, uid) == "active"]
        uid = alive[which % len(alive)] if alive else ""
        is_entity = bool(uid) and "gateway" in content(agents, uid)
        if step == "write":
            texts.append(brain.remember(f"article {number} lies on shelf {number * 7}", force=True))
            has[who].add(texts[-1])
        elif step == "jump":
            agents.clock.time -= 500 * which
        elif step == "read" and uid:
            brain.get(uid)
            has[who].add(uid)
        elif step == "correct" and uid and not is_entity:
            texts.append(brain.correct(uid, f"article {number} is sold", "sold"))
            has[who] |= {uid, texts[-1]}
        elif step == "forget" and uid:
            brain.forget(uid, "gone")
            has[who].add(uid)
        elif step == "recover" and texts and state(agents, texts[which % len(texts)]) == "forgotten":
            brain.recover(texts[which % len(texts)], "back")
            has[who].add(texts[which % len(texts)])
        elif step == "grow":
            name = f"{scope} gateway {which % 3}"
            grown = brain.entity(name, "service", observations=[f"seen {number}"])
            if grown not in texts:
                texts.append(grown)
            has[who].add(grown)
        elif step == "hand":
            sent = brain.handoff(*PACKET, recipient="bob" if which % 2 else "")
            assert set(sent.knows) <= set(texts)
        elif step == "take" and (packet := brain.resume()) is not None:
            assert packet.verified
            assert has[who].isdisjoint(ids(packet.new))
            assert all(state(agents, item.id) == "active" for item in packet.new)
            for item in packet.outdated:
                assert item.id in has[who]
                assert state(agents, item.id) != "active" or content(agents, item.id) != item.known
                assert not item.now or (state(agents, item.now), content(agents, item.now)) == (
                    "active", item.content,
                )  # fmt: skip
                assert (who, item.id, item.known) not in known
                known.add((who, item.id, item.known)) if state(agents, item.id) == "active" else None
                has[who] |= {item.id, item.now} - {""}


def state(agents: Agents, uid: str) -> str:
    return str(agents.rows("SELECT state FROM records WHERE uid = ?", uid)[0][0])


def content(agents: Agents, uid: str) -> str:
    return str(agents.rows("SELECT text FROM records WHERE uid = ?", uid)[0][0])
