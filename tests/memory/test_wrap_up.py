"""The end of a session summarizes what the session itself wrote."""

from __future__ import annotations

import pytest

from tests.memory.agents import Agents, agents

__all__ = ["agents"]


def test_goal_loops_and_next_step_come_from_the_sessions_own_writes(agents: Agents) -> None:
    agents.brain("bob", scope="project:shop").log("deploy failed: disk full", "error")
    ada = agents.brain("ada")
    ada.orient(project="shop")
    ada.log("implement the order fetcher", "task_update")
    ada.decide("use Retry-After", "the server controls the window")
    ada.log("timeout while fetching page 3", "error")
    ada.log("rate limit reached", "warning")
    ada.log("rate limit handled by waiting", "result")
    ada.remember("pagination is not yet implemented")
    ada.remember("TODO of billing", project="billing")
    ada.remember("TODO: ask for a raise", private=True)
    ada.remember("TODO: answer Grace's complaint", subject_ids=["grace"])
    ada.remember("TODO: review the payroll", access_grants=["hr"])
    sent = ada.wrap_up("fetcher works")
    assert sent.goal == "implement the order fetcher"
    assert sent.current_state == "fetcher works"
    assert sent.open_loops == ("timeout while fetching page 3", "pagination is not yet implemented")
    assert sent.next_step == "timeout while fetching page 3"


@pytest.mark.parametrize(
    ("events", "goal"),
    [
        ([("session_start", "make search fast"), ("task_update", "index built")], "make search fast"),
        ([("task_update", "index built"), ("observation", "it rains")], "index built"),
        ([("observation", "it rains")], "use a hash"),
    ],
)
def test_the_goal_is_what_the_session_said_first(
    agents: Agents, events: list[tuple[str, str]], goal: str
) -> None:
    ada = agents.brain("ada")
    ada.decide("use a hash", "it is quick")
    for kind, text in events:
        ada.log(text, kind)
    assert ada.wrap_up("done").goal == goal


@pytest.mark.parametrize(
    ("events", "loops"),
    [
        ([("error", "upload of images fails")], ("upload of images fails",)),
        ([("error", "upload of images fails"), ("result", "uploading images works")], ()),
        ([("error", "upload of images fails"), ("result", "the tests are green")], ("upload of images fails",)),
        ([("warning", "disk is almost full"), ("task_update", "the disk is cleaned, no longer full, done")], ()),
        ([("task_update", "parser half written"), ("task_update", "parser written, tests missing")], ("parser written, tests missing",)),
        ([("task_update", "parser finished")], ()),
        ([("task_update", "write a parser"), ("task_update", "tests not done")], ("tests not done",)),
        ([("task_update", "write a parser")], ()),
        ([("observation", "retries are still to be tested")], ("retries are still to be tested",)),
        ([("observation", "the sky is blue")], ()),
        ([("result", "tests pass, docs pending")], ()),
    ],
)  # fmt: skip
def test_what_was_raised_and_not_settled_stays_open(
    agents: Agents, events: list[tuple[str, str]], loops: tuple[str, ...]
) -> None:
    ada = agents.brain("ada")
    for kind, text in events:
        ada.log(text, kind)
    assert ada.wrap_up("so far").open_loops == loops


def test_a_session_that_wrote_nothing_is_handed_on_by_its_summary(agents: Agents) -> None:
    sent = agents.brain("ada").wrap_up("looked around")
    assert (sent.goal, sent.open_loops, sent.next_step) == (
        "looked around",
        (),
        "continue from: looked around",
    )


def test_what_is_given_is_not_derived(agents: Agents) -> None:
    ada = agents.brain("ada")
    ada.log("pagination is pending", "warning")
    sent = ada.wrap_up("s", goal="g", open_loops=[], next_step="n", recipient="bob")
    assert (sent.goal, sent.open_loops, sent.next_step, sent.recipient) == ("g", (), "n", "bob")


def test_at_most_ten_loops_are_handed_on_the_latest(agents: Agents) -> None:
    ada = agents.brain("ada")
    for name in "abcdefghijklmn":
        ada.log(f"{name * 4} crashed", "error")
    assert [loop[0] for loop in ada.wrap_up("s").open_loops] == list("efghijklmn")


def test_the_session_is_over_and_the_next_write_begins_another(agents: Agents) -> None:
    ada = agents.brain("ada", session="s1")
    ada.wrap_up("done")
    ((name, ended),) = agents.rows("SELECT name, ended_at FROM memory_sessions")
    assert (name, ended) == ("s1", agents.clock.time)
    assert agents.rows("SELECT category, text FROM records WHERE kind = 'event'") == [("session_end", "done")]
    assert ada.get(ada.remember("something new")).session != "s1"


def test_a_session_that_goes_on_later_is_open_again(agents: Agents) -> None:
    agents.brain("ada", session="s1").wrap_up("done")
    agents.brain("ada", session="s1").remember("one more thing")
    assert agents.rows("SELECT name, ended_at FROM memory_sessions") == [("s1", None)]


def test_a_packet_that_was_built_on_does_not_wait_any_longer(agents: Agents) -> None:
    agents.brain("ada").handoff("g", "s", [], "n", recipient="bob", project="shop")
    agents.brain("ada").handoff("other work", "s", [], "n", project="shop")
    bob = agents.brain("bob")
    assert bob.orient(project="shop").handoff is not None
    last = bob.wrap_up("went on with the other work")
    taken = agents.brain("eve").resume("shop")
    assert taken is not None
    assert taken.id == last.id
    assert agents.brain("eve").resume("shop") is None
    still = agents.brain("bob").resume("shop")
    assert still is not None
    assert still.recipient == "bob"


def test_an_empty_summary_ends_nothing(agents: Agents) -> None:
    ada = agents.brain("ada", session="s1")
    ada.remember("x")
    with pytest.raises(ValueError, match="summary"):
        ada.wrap_up("  ")
    assert agents.rows("SELECT ended_at FROM memory_sessions") == [(None,)]
