"""Handoffs reach their recipient unaltered, and once."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.memory import Brain
from sb.memory.handoffs import HandoffPacket
from sb.store.secret import derived_key, home_secret
from tests.faults.at_once import run_at_once
from tests.memory.agents import Agents, agents

__all__ = ["agents"]

FOUR = ("ship the fetcher", "it works", ["pagination"], "add a cursor")


def test_a_packet_waits_for_its_recipient_and_is_taken_over_once(agents: Agents) -> None:
    sent = agents.brain("ada", scope="project:shop").handoff(*FOUR, recipient="bob")
    assert agents.brain("eve", scope="project:shop").resume() is None
    taken = agents.brain("bob").resume("shop")
    assert taken is not None
    assert (taken.verified, taken.status, taken.sender) == (True, "consumed", "ada")
    assert (taken.goal, taken.current_state, list(taken.open_loops), taken.next_step) == FOUR
    assert taken.id == sent.id
    assert agents.brain("bob").resume("shop") is None


def test_without_a_recipient_whoever_comes_next_takes_it_over(agents: Agents) -> None:
    agents.brain("ada").handoff("a", "b", "one open loop", "d", project="shop")
    taken = agents.brain("eve").resume("shop")
    assert taken is not None
    assert taken.open_loops == ("one open loop",)


def everything_read(brain: Brain, uid: str) -> str:
    """All that an agent comes to see of one handoff and of what is related to it, on every way there is."""
    ways = (
        brain.search("zebra", k=50),
        brain.think("zebra"),
        brain.get(uid),
        brain.graph(uid),
        brain.graph("orders"),
        brain.why(uid),
        brain.history(uid),
        brain.orient(query="zebra", repeat=True).as_text(),
    )
    return repr(ways)


def test_no_way_of_reading_shows_a_packet_that_was_altered(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    uid = ada.handoff("feed the zebra", "b", [], "d").id
    ada.relate(ada.entity("orders", "service"), "is_in", uid)
    assert "feed the zebra" in everything_read(agents.brain("eve", scope="project:shop"), uid)
    altered = "UPDATE records SET fields = replace(fields, 'feed', 'sell'), text = replace(text, 'feed', 'sell') WHERE uid = ?"
    agents.tamper(altered, uid)
    read = everything_read(agents.brain("eve", scope="project:shop"), uid)
    assert "sell the" not in read
    assert "withheld: its signature does not match" in read


def test_no_way_of_reading_shows_a_packet_that_is_for_another_agent(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    uid = ada.handoff("feed the zebra", "b", [], "d", recipient="bob").id
    ada.relate(ada.entity("orders", "service"), "is_in", uid)
    assert "feed the zebra" not in everything_read(agents.brain("eve", scope="project:shop"), uid)
    for agent in ("ada", "bob"):
        assert agents.brain(agent, scope="project:shop").get(uid).details["goal"] == "feed the zebra"


def test_a_packet_of_another_scope_is_not_for_this_one(agents: Agents) -> None:
    agents.brain("ada").handoff(*FOUR, project="billing")
    agents.brain("ada").handoff(*FOUR)
    assert agents.brain("bob").resume("shop") is None
    assert agents.brain("bob").orient(project="shop").handoff is None


def test_orienting_says_who_took_a_packet_over_and_that_a_newer_one_is_for_somebody_else(
    agents: Agents,
) -> None:
    agents.brain("ada").handoff(*FOUR, project="shop")
    agents.brain("ada").handoff("secret goal of bob", "b", [], "d", recipient="bob", project="shop")
    agents.brain("eve").resume("shop")
    ctx = agents.brain("eve").orient(project="shop")
    assert ctx.handoff is not None
    assert ctx.handoff.goal == FOUR[0]
    assert ctx.notes == (
        "a newer handoff is for bob",
        f"the handoff {ctx.handoff.id} was taken over by a session before",
    )
    assert "secret goal" not in ctx.as_text()


def changed(field: str, value: Any) -> str:
    return (
        f"UPDATE records SET fields = json_set(fields, '$.{field}', json('{orjson.dumps(value).decode()}'))"
    )


TAMPERED = [
    changed("goal", "ship it now"),
    changed("current_state", ""),
    changed("open_loops", []),
    changed("next_step", "rm -rf /"),
    changed("recipient", "eve"),
    changed("session", "another"),
    changed("knows", {"mem_1": 2}),
    changed("signature", "0" * 64),
    "UPDATE records SET text = replace(text, 'works', 'wocks')",
    "UPDATE records SET agent = 'mallory'",
    "UPDATE records SET fields = '[]'",
    "UPDATE records SET fields = '{'",
    "UPDATE records SET fields = json_set(fields, '$.goal', 7)",
]


@pytest.mark.parametrize("sql", TAMPERED)
def test_an_altered_packet_is_never_handed_out(agents: Agents, sql: str) -> None:
    agents.brain("ada").handoff(*FOUR, recipient="bob", project="shop")
    agents.tamper(f"{sql} WHERE kind = 'handoff'")
    ctx = agents.brain("bob").orient(project="shop")
    taken = agents.brain("bob").resume("shop")
    for packet in (ctx.handoff, taken):
        assert packet is not None
        assert (packet.verified, packet.goal, packet.next_step, packet.open_loops) == (False, "", "", ())
        assert packet.problem
    assert len(ctx.notes) == 1
    assert "cannot be relied on" in ctx.notes[0]
    assert not any(part in ctx.as_text() for part in ("ship it", "cursor", "rm -rf"))
    assert agents.rows("SELECT category FROM records WHERE kind = 'handoff'") == [("pending",)]


def test_a_packet_moved_into_another_scope_is_not_verified_there(agents: Agents) -> None:
    agents.brain("ada").handoff(*FOUR, project="shop")
    agents.brain("ada").remember("x", project="billing")
    agents.tamper(
        "UPDATE records SET place = (SELECT id FROM places WHERE scope = 'project:billing') WHERE kind = 'handoff'"
    )
    taken = agents.brain("bob").resume("billing")
    assert taken is not None
    assert not taken.verified


def test_a_packet_of_another_home_is_not_verified(agents: Agents) -> None:
    agents.brain("ada").handoff(*FOUR, project="shop")
    secret = agents.home / "digest.key"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    secret.unlink()
    first = agents.brain("bob").resume("shop")
    assert first is not None
    assert "no" in first.problem
    assert not secret.exists()  # to look at a packet makes no secret
    secret.write_bytes(b"another" * 8)
    second = agents.brain("bob").resume("shop")
    assert second is not None
    assert "another home" in second.problem


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(at=st.integers(0, 10_000), byte=st.integers(1, 127))
def test_one_changed_byte_anywhere_shows(agents: Agents, at: int, byte: int) -> None:
    agents.brain("ada").handoff(*FOUR, project="shop")
    ((number, fields),) = agents.rows(
        "SELECT id, fields FROM records WHERE kind = 'handoff' AND state = 'active'"
    )
    data = bytearray(fields.encode())
    data[at % len(data)] ^= byte
    agents.tamper("UPDATE records SET fields = CAST(? AS TEXT) WHERE id = ?", bytes(data), number)
    packet = agents.brain("bob").orient(project="shop").handoff
    agents.tamper("UPDATE records SET state = 'forgotten' WHERE id = ?", number)
    if packet is not None:  # a byte outside of what is said, such as white space, changes nothing
        assert not packet.verified or saying(packet) == FOUR


def saying(packet: HandoffPacket) -> tuple[Any, ...]:
    return packet.goal, packet.current_state, list(packet.open_loops), packet.next_step


def test_agents_have_keys_of_their_own(agents: Agents) -> None:
    secret = home_secret(agents.home / "digest.key")
    keys = {derived_key(secret, label) for label in ("handoff:ada", "handoff:bob", "handoff:")}
    assert len(keys | {secret}) == 4


def print_secret(path: str) -> None:
    print(home_secret(Path(path)).hex())


def test_processes_that_make_the_secret_at_once_agree(tmp_path: Path) -> None:
    secrets = run_at_once(print_secret, 4, tmp_path / "key")
    assert len(secrets) == 4
    assert len(set(secrets)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_the_receiver_is_told_what_the_sender_took_for_true_and_is_no_longer_so(agents: Agents) -> None:
    ada = agents.brain("ada", scope="project:shop")
    limit = ada.entity("RateLimitAPI", "service", observations=["100 req/15s"])
    wrong = ada.remember("orders are numbered from 1")
    fine = ada.remember("the shop sells tea")
    hers = ada.remember("a private thought", private=True)
    sent = ada.wrap_up("half done")
    assert set(sent.knows) == {limit, wrong, fine}
    assert hers not in sent.knows
    agents.clock.time += 60
    bob = agents.brain("bob", scope="project:shop")
    bob.entity("RateLimitAPI", "service", observations=["50 req/15s"])
    bob.forget(wrong, "they start at 1000")
    ctx = agents.brain("bob").orient(project="shop")
    assert ctx.handoff is not None
    assert {(stale.id, stale.now) for stale in ctx.handoff.stale} == {
        (limit, "changed"),
        (wrong, "forgotten"),
    }
    assert f"ada built on {limit} (RateLimitAPI), which is changed since" in ctx.notes


def test_what_changed_after_it_was_read_is_not_what_the_sender_knows(agents: Agents) -> None:
    bob = agents.brain("bob", scope="project:shop")
    limit = bob.entity("RateLimitAPI", "service", observations=["100 req/15s"])
    ada = agents.brain("ada", scope="project:shop")
    ada.search("rate limit")
    agents.clock.time += 60
    bob.entity("RateLimitAPI", "service", observations=["50 req/15s"])
    agents.clock.time += 60
    assert ada.wrap_up("done").knows[limit] == 1


def test_a_secret_that_cannot_be_read_is_said_and_nothing_is_sent(agents: Agents) -> None:
    (agents.home / "digest.key").mkdir()
    with pytest.raises(Exception, match=r"cannot read .*digest\.key"):
        agents.brain("ada").wrap_up("done")
    assert agents.rows("SELECT count(*) FROM records") == [(0,)]


def test_two_agents_at_once_do_not_both_take_a_packet_over(agents: Agents) -> None:
    agents.brain("ada").handoff(*FOUR, project="shop")
    first: Brain = agents.brain("bob", scope="project:shop")
    second: Brain = agents.brain("eve", scope="project:shop")
    assert [first.resume() is None, second.resume() is None] == [False, True]
