"""Signals are off by default, cost nothing then, move hits within a bound, are logged, and show only what may be read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import CountingIds, SteeredClock
from sb.config.memory import SIGNALS as NAMES
from sb.errors import UsageError
from sb.memory import Brain
from sb.memory.signals import moves
from sb.memory.signals.affect import affect
from sb.memory.signals.moves import BOUND
from sb.memory.signals.neuromodulation import DECAY
from sb.memory.signals.signals import SIGNALS
from sb.store.database import open_database
from tests.conftest import CommandLine
from tests.memory.agents import DAY, Agents, agents

__all__ = ["agents"]

PROJECT = "project:shop"


def switch(agents: Agents, *on: str, off: tuple[str, ...] = (), embedder: str = "static") -> None:
    values = ", ".join([*(f"{name}: true" for name in on), *(f"{name}: false" for name in off)])
    agents.home.mkdir(parents=True, exist_ok=True)
    (agents.home / "config.yaml").write_text(
        f"memory:\n  embedder: {embedder}\n  signals: {{{values}}}\n", encoding="utf-8"
    )


def traced(brain: Brain, work: Callable[[], object]) -> list[str]:
    """The statements that `work` makes."""
    found: list[str] = []
    brain.database._normal.set_trace_callback(found.append)
    try:
        work()
    finally:
        brain.database._normal.set_trace_callback(None)
    return found


def show(brain: Brain, name: str, **more: Any) -> list[dict[str, Any]]:
    return brain.signals.show(name, **more)


# Off


def test_every_signal_has_a_switch_and_is_off() -> None:
    assert tuple(sorted(NAMES)) == tuple(sorted(SIGNALS))
    from sb.config.memory import Memory

    assert not any(Memory().signals.values())


def perform(brain: Brain, operation: str, fact: str) -> None:
    match operation:
        case "search":
            assert brain.search("which port has the gateway")
        case "get":
            brain.get(fact)
        case "remember":
            brain.remember(f"invoices are sent at noon by {fact}")
        case _:
            brain.orient()


@pytest.mark.parametrize("operation", ["search", "get", "remember", "orient"])
def test_switches_that_are_off_cost_no_statement(agents: Agents, operation: str) -> None:
    made: list[list[str]] = []
    for on in ((), NAMES[3:], moves.MOVING):  # those that only show something cost nothing either
        database = open_database(agents.home.parent / f"{len(made)}.db", clock=agents.clock)
        some = replace(agents, database=database, clock=SteeredClock(), ids=CountingIds())
        switch(some, *on, off=tuple(name for name in NAMES if name not in on))
        fact = some.brain("ada", scope=PROJECT).remember("the gateway listens on 8080")
        brain = some.brain("bob", scope=PROJECT)
        made.append(traced(brain, lambda brain=brain, fact=fact: perform(brain, operation, fact)))  # type: ignore[misc]
        database.close()
    off, shows, moving = made
    assert off == shows
    assert len(off) > 3
    assert not any("signal_log" in statement or "replay" in statement for statement in off)
    assert (len(moving) > len(off)) == (operation == "search")


def test_nothing_is_loaded_while_every_switch_is_off() -> None:
    code = (
        "import sys\nfrom sb.memory import Brain\nfrom sb.store.database import MEMORY\n"
        "with Brain('ada', path=MEMORY) as brain:\n"
        "    brain.remember('the gateway listens on 8080')\n    assert brain.search('gateway')\n"
        "    brain.orient()\nprint([name for name in sys.modules if name.startswith('sb.memory.signals')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", NAMES)
def test_a_signal_that_is_off_says_how_to_switch_it_on(agents: Agents, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is off"):
        show(agents.brain(), name)


# Affect


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("The outage was a terrible disaster", "negative"),
        ("We love the wonderful new dashboard", "positive"),
        ("This was not good", "negative"),
        ("The gateway listens on port 8080", "neutral"),
        ("", "neutral"),
    ],
)
def test_affect_is_labelled(text: str, label: str) -> None:
    assert affect(text).label == label


def test_emphasis_raises_arousal_and_no_word_is_none_of_it() -> None:
    plain = affect("the release was good")
    assert affect("the release was very good").arousal > plain.arousal
    assert affect("the release was good!!!").arousal > plain.arousal
    assert affect("the release was GOOD").arousal > plain.arousal
    assert affect("port 8080!!!") == (0.0, 0.0)
    assert affect("an awful outage").priority > affect("a good release").priority > affect("port 1").priority


@given(
    st.text() | st.lists(st.sampled_from("awful not very GOOD disaster love ! 8080".split())).map(" ".join)
)
def test_affect_stays_in_its_bounds(text: str) -> None:
    felt = affect(text)
    assert -1 <= felt.valence <= 1
    assert 0 <= felt.arousal <= 1
    assert 0 <= felt.priority <= 1
    assert felt.arousal >= abs(felt.valence) - 1e-9


# What moves hits

CALM, UPSET = "the nightly import of orders ran", "the nightly import of orders failed, a terrible disaster"


def scores(brain: Brain, query: str = "nightly import of orders") -> dict[str, float]:
    return {hit.id: hit.score for hit in brain.search(query)}


@pytest.mark.parametrize(
    "on", [("affect",), ("neuromodulation",), ("replay",), ("affect", "neuromodulation", "replay")]
)
def test_a_signal_moves_a_score_by_its_bound_at_most(agents: Agents, on: tuple[str, ...]) -> None:
    writer = agents.brain("ada", scope=PROJECT)
    texts = [f"{CALM} on day {day}: {'an awful horrible disaster!!!' * (day % 2)}" for day in range(8)]
    for text in texts:
        agents.clock.time += 4 * DAY
        writer.remember(text, category="project")
    for _ in range(5):
        writer.log("the import failed", "error")
    former = scores(agents.brain("bob", scope=PROJECT))
    with writer.database.write() as execute:
        writer.space.reads.fold(execute)
    agents.tamper("UPDATE record_stats SET replay_priority = 10 WHERE record % 2 = 0")
    switch(agents, *on)
    brain = agents.brain("bob", scope=PROJECT)
    agents.clock.time -= 60  # nothing but the signals differs
    explained = brain.search("nightly import of orders", explain=True)
    assert {hit.id for hit in explained} == set(former)  # none comes or goes
    plain, best = {}, max(former.values())
    for hit in explained:
        given_by = {name: value for name, value in (hit.explanation or {}).items() if "signal." in name}
        assert sorted(given_by) == sorted(f"signal.{name}" for name in on)
        assert all(
            -1 <= value <= 1 and abs(value * worth) <= BOUND * 1.01 * best
            for value, worth in given_by.values()
        )
        plain[hit.id] = hit.score - sum(value * worth for value, worth in given_by.values())
    assert any(abs(plain[hit.id] - hit.score) > 1e-6 for hit in explained)
    assert [hit.score for hit in explained] == sorted((hit.score for hit in explained), reverse=True)


def test_what_affect_moves_is_logged_for_who_searched(agents: Agents) -> None:
    switch(agents, embedder="none")
    upset = agents.brain("ada", scope=PROJECT).log("nightly import of orders: disaster")
    agents.clock.time += 2 * DAY
    calm = agents.brain("ada", scope=PROJECT).log("nightly import of orders: wednesday")
    plain = list(scores(agents.brain("bob", scope=PROJECT)))
    switch(agents, "affect", embedder="none")
    bob = agents.brain("bob", scope=PROJECT)
    moved = list(scores(bob))
    assert (plain, moved) == ([calm, upset], [upset, calm])
    [entry] = [item for item in bob.signals.log() if item["id"] == upset]
    assert (entry["signal"], entry["agent"], entry["former"], entry["current"]) == ("affect", "bob", "2", "1")
    assert entry["cause"].startswith("score +0.")
    assert agents.brain("eve", scope=PROJECT).signals.log() == []
    assert {item["agent"] for item in agents.person().signals.log("affect")} == {"bob"}


def test_operators_benchmarks_and_dull_searches_move_nothing(agents: Agents) -> None:
    switch(agents, "affect", "neuromodulation", "replay")
    writer = agents.brain("ada", scope=PROJECT)
    for text in (CALM, UPSET):
        writer.remember(text, category="project")
    agents.person().search("nightly import of orders")
    agents.brain("bob", scope=PROJECT).search("nightly import of orders", benchmark=True)
    assert not agents.rows("SELECT 1 FROM signal_log")
    assert not agents.rows("SELECT 1 FROM record_stats WHERE replay_priority > 0")
    assert agents.brain("bob", scope="project:empty").search("nightly import") == []


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([], "normal"),
        ([("the build failed", "error")] * 4, "focused_work"),
        ([("the build failed", "error")] * 5, "incident"),
        ([("the build is red", "warning")] * 5, "incident"),
        ([("roadmap for the next quarter", "observation"), ("lunch", "observation")], "strategic_planning"),
        ([(f"task {n} done", "task_update") for n in range(17)], "sprint"),
        ([("a", "observation"), ("b", "observation")], "normal"),
    ],
)
def test_the_newest_events_tell_the_state(agents: Agents, events: list[tuple[str, str]], state: str) -> None:
    switch(agents, "neuromodulation")
    brain = agents.brain("ada", scope=PROJECT)
    for text, kind in events:
        brain.log(text, kind)
    assert [row["state"] for row in show(brain, "neuromodulation")] == [state]
    agents.clock.time += DAY  # and it ends
    assert [row["state"] for row in show(brain, "neuromodulation")] == ["normal"]


def test_an_incident_prefers_what_is_new_and_its_begin_and_end_are_logged(agents: Agents) -> None:
    brain = agents.brain("ada", scope=PROJECT)
    old = brain.remember("the payment queue drains through worker seven", category="project")
    agents.clock.time += 20 * DAY
    switch(agents, "neuromodulation")
    brain = agents.brain("ada", scope=PROJECT)

    def given_to_old() -> float:
        hits = brain.search("payment queue worker", explain=True)
        explained = {hit.id: hit.explanation or {} for hit in hits}
        return float(explained[old]["signal.neuromodulation"][0])

    assert given_to_old() == 0.0
    for _ in range(5):
        brain.log("gateway timeout", "error")
    assert -1 <= given_to_old() < 0.0
    agents.clock.time += DAY
    given_to_old()
    states = [(item["former"], item["current"]) for item in brain.signals.log("neuromodulation")]
    assert states == [("incident", "normal"), ("normal", "incident")]
    assert set(DECAY) == {"normal", "incident", "sprint", "strategic_planning", "focused_work"}


def test_retrieval_adds_to_replay_priority_by_salience_up_to_ten(agents: Agents) -> None:
    switch(agents, "replay")
    brain = agents.brain("ada", scope=PROJECT)
    sure = brain.remember("the gateway listens on port 8080", confidence=0.9)
    unsure = brain.remember("the gateway once used port 9090 for probes", confidence=0.3)
    brain.search("gateway port")
    idle = brain.remember("invoices are due in May")
    brain.get(idle)
    with brain.database.write() as execute:
        brain.space.reads.fold(execute)
    rows = {row["id"]: row for row in show(brain, "replay")}
    assert set(rows) == {sure, unsure}
    assert rows[sure]["replay_priority"] == pytest.approx(0.09, abs=0.02)
    assert rows[sure]["replay_priority"] > rows[unsure]["replay_priority"] > 0
    assert (rows[sure]["ripple_tags"], rows[unsure]["ripple_tags"]) == (1, 0)
    before = brain.space.reads.stats([row["id"] for row in brain.space.records.known([sure]).values()])
    assert [times for times, _ in before.values()] == [1]  # it is counted once as a read
    agents.tamper("UPDATE record_stats SET replay_priority = 9.99")
    brain.search("gateway port")
    assert max(row["replay_priority"] for row in show(brain, "replay")) == 10


def test_the_log_keeps_its_newest_rows(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "LOGGED", 3)
    switch(agents, "neuromodulation")
    brain = agents.brain("ada", scope=PROJECT)
    brain.remember(CALM, category="project")
    for _ in range(3):
        for _ in range(5):
            brain.log("gateway timeout", "error")
        brain.search("nightly import")
        agents.clock.time += DAY
        brain.search("nightly import")
    assert len(agents.rows("SELECT 1 FROM signal_log")) == 3


# What is computed when asked


def test_memories_that_lost_support_or_are_contradicted_are_decoherent(agents: Agents) -> None:
    switch(agents, "decoherence")
    brain = agents.brain("ada", scope=PROJECT)
    sources = [brain.remember(text) for text in ("the limit is 100 requests", "batches hold 50 rows")]
    made = brain.remember("a batch waits a second", derived_from=sources)
    ports = [
        agents.brain(agent, scope=PROJECT).remember(f"the staging port is {port}", claim="staging · port")
        for agent, port in (("ada", 8080), ("bob", 9090))
    ]
    assert {row["id"] for row in show(brain, "decoherence")} == set(ports)
    brain.forget(sources[1])  # forgotten is not said to be false
    assert made not in {row["id"] for row in show(brain, "decoherence")}
    agents.tamper("UPDATE records SET state = 'superseded' WHERE uid = ?", sources[0])
    rows = {row["id"]: row for row in show(brain, "decoherence")}
    assert (rows[made]["coherence_syndrome"], rows[made]["decoherence_rate"]) == ("unsupported", 0.5)
    assert rows[ports[0]]["coherence_syndrome"] == rows[ports[1]]["coherence_syndrome"] == "contradicted"
    assert sources[0] not in rows


def test_what_can_come_back_is_listed_with_the_way(agents: Agents) -> None:
    switch(agents, "recovery")
    brain = agents.brain("ada", scope=PROJECT)
    forgotten, old = brain.remember("the limit is 100 requests"), brain.remember("the gateway port is 8080")
    stays = brain.remember("invoices are due in May")
    brain.forget(forgotten, "old")
    brain.correct(old, "the gateway port is 9090", "moved")
    untrusted = brain.remember("a page said that the sky is green", source_type="web-page")
    rows = {row["id"]: row for row in show(brain, "recovery")}
    assert stays not in rows
    assert (rows[forgotten]["way"], rows[forgotten]["cause"]) == ("sb memory recover", "forget")
    assert rows[old]["way"] == "sb memory revert"
    everything = {row["id"]: row for row in show(agents.person(), "recovery")}
    assert everything[untrusted]["way"] == "sb quarantine release"
    assert untrusted not in rows or "sky" not in rows[untrusted]["content"]
    brain.recover(forgotten)
    assert forgotten not in {row["id"] for row in show(brain, "recovery")}


def test_expertise_counts_what_was_accepted_corrected_and_cited(agents: Agents) -> None:
    switch(agents, "expertise")
    ada, bob = agents.brain("ada", scope=PROJECT), agents.brain("bob", scope=PROJECT)
    good = ada.remember("the gateway listens on port 8080", category="integration", confidence=0.8)
    bad = bob.remember("the gateway wants basic auth", category="integration", confidence=0.8)
    bob.confirm(good)
    ada.refute(bad)
    bob.remember("the proxy forwards to 8080", category="integration", derived_from=[good])
    rows = {(row["agent"], row["topic"]): row for row in show(ada, "expertise", about="integration")}
    first, second = rows["ada", "integration"], rows["bob", "integration"]
    assert (first["accepted"], first["corrected"], first["cited"], first["evidence_count"]) == (1, 0, 1, 1)
    assert (second["accepted"], second["corrected"], second["evidence_count"]) == (0, 1, 2)
    assert first["strength"] > second["strength"]
    assert first["brier_score"] == pytest.approx(0.04)
    assert second["brier_score"] == pytest.approx(0.64)
    assert {row["topic"] for row in show(ada, "expertise", of="bob")} == {"integration", "shop"}


def test_a_change_of_confidence_and_a_search_that_met_a_gap_are_uncertainty(agents: Agents) -> None:
    switch(agents, "uncertainty")
    ada = agents.brain("ada", scope=PROJECT)
    fact = ada.remember("the gateway listens on port 8080", confidence=0.8)
    agents.brain("bob", scope=PROJECT).refute(fact, "it does not")
    ada.search("who repairs the coffee machine upstairs")
    ada.search("gateway port")
    changes = [row for row in show(ada, "uncertainty") if "former" in row]
    assert [(row["id"], row["former"], row["agent"]) for row in changes] == [(fact, 0.8, "bob")]
    assert changes[0]["confidence"] < 0.8
    assert changes[0]["free_energy"] == pytest.approx(0.5 * (1 - changes[0]["confidence"]), abs=1e-4)
    assert (changes[0]["cause"], changes[0]["reason"]) == ("refuted", "it does not")
    gaps = [row["query"] for row in show(ada, "uncertainty") if "query" in row]
    assert gaps == ["who repairs the coffee machine upstairs"]
    assert not any("query" in row for row in show(agents.brain("eve", scope=PROJECT), "uncertainty"))
    assert any("query" in row for row in show(agents.person(), "uncertainty", of="ada"))


def test_perspectives_say_what_another_agent_believes_and_lacks(agents: Agents) -> None:
    switch(agents, "perspectives")
    ada = agents.brain("ada", scope=PROJECT)
    port = ada.remember("the port of the gateway is 8080")
    agents.brain("bob", scope=PROJECT).search("port of the gateway")
    new = ada.remember("the gateway also has a port for probes, 8081")
    agents.clock.time += 10 * DAY

    def about(agent: str) -> dict[str, tuple[Any, ...]]:
        rows = show(ada, "perspectives", about="port of the gateway", of=agent)
        assert {(row["observer"], row["subject"]) for row in rows} == {("ada", agent)}
        names = ("estimated_belief", "knowledge_gap", "confusion_risk")
        return {row["id"]: tuple(row[name] for name in names) for row in rows}

    assert about("bob")[port] == ("the port of the gateway is 8080", None, 0.1)
    assert about("bob")[new] == (None, "the gateway also has a port for probes, 8081", 1.0)
    later = ada.correct(port, "the port of the gateway is 9090", "moved")
    assert later
    assert about("bob")[port] == ("the port of the gateway is 8080", "the port of the gateway is 9090", 0.6)
    with pytest.raises(UsageError, match="needs a topic and an agent"):
        show(ada, "perspectives", about="ports")


def test_phi_is_the_share_of_what_was_shown_that_was_used(agents: Agents) -> None:
    switch(agents, "phi")
    ada = agents.brain("ada", scope=PROJECT)
    facts = [ada.remember(text) for text in ("the gateway listens on 8080", "invoices are due in May")]
    bob = agents.brain("bob", scope=PROJECT)
    bob.orient()
    [row] = show(bob, "phi")
    assert (row["phi_org"], row["broadcast_count"], row["agent_pair_count"]) == (0.0, 2, 1)
    bob.get(facts[0])
    assert show(bob, "phi")[0]["phi_org"] == 0.5
    bob.remember("reminders go out in April", derived_from=[facts[1]])
    assert show(bob, "phi")[0]["phi_org"] == 1.0
    agents.clock.time += 2 * DAY
    assert show(bob, "phi")[0]["broadcast_count"] == 0


# Who may read what


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("neuromodulation", "phi", "perspectives")]
)
def test_no_signal_shows_what_another_agent_keeps_for_itself(agents: Agents, name: str) -> None:
    switch(agents, *NAMES)
    ada = agents.brain("ada", scope=PROJECT)
    for private in (False, True):
        secret = ada.remember(
            f"an awful disaster, {private}", private=private, confidence=0.5, category="lesson"
        )
        made = ada.remember(f"so we sadly rehearse it, {private}", private=private, derived_from=[secret])
        ada.search("awful disaster rehearse")
        ada.refute(made)
        gone = ada.remember(f"a horrible mistake, {private}", private=private, category="lesson")
        ada.forget(gone)
        agents.tamper("UPDATE records SET state = 'superseded' WHERE uid = ?", secret)
    mine, others = (str(show(agents.brain(agent, scope=PROJECT), name)) for agent in ("ada", "eve"))
    if name != "expertise":
        assert "True" in mine
        assert "False" in others
    else:
        assert mine != others
    assert "True" not in others


def test_a_handoff_between_others_is_in_no_signal(agents: Agents) -> None:
    switch(agents, "affect", "recovery")
    ada = agents.brain("ada", scope=PROJECT)
    packet = ada.handoff("an awful disaster", "terrible", [], "rehearse it", recipient="bob")
    gone = ada.handoff("another awful disaster", "terrible", [], "rehearse it", recipient="bob")
    agents.tamper("UPDATE records SET state = 'forgotten' WHERE uid = ?", gone.id)
    for name, uid in (("affect", packet.id), ("recovery", gone.id)):
        seen = {
            agent: uid in {row["id"] for row in show(agents.brain(agent, scope=PROJECT), name)}
            for agent in ("ada", "bob", "eve")
        }
        assert seen == {"ada": True, "bob": True, "eve": False}


def test_erasing_a_memory_takes_its_signals_away(agents: Agents) -> None:
    switch(agents, "replay", "affect")
    brain = agents.brain("ada", scope=PROJECT)
    fact = brain.remember(UPSET, category="project")
    brain.search("nightly import of orders")
    number = brain.space.records.known([fact])[fact]["id"]
    agents.tamper("INSERT INTO signal_log (at, signal, agent, record, former, current, cause)"
                  " VALUES (0, 'affect', 'ada', ?, '2', '1', 'score +0.01')", number)  # fmt: skip
    with brain.database.write() as execute:
        brain.space.records.erase(execute, [number], actor="ann", reason="asked")
    for table in ("signal_log", "record_stats"):
        assert not agents.rows(f"SELECT 1 FROM {table} WHERE record = ?", number)


# The command


def test_the_command_lists_shows_and_logs(sb: CommandLine, home: Any) -> None:
    sb("init", "--yes")
    sb("memory", "remember", "the release was a terrible disaster", "--agent", "ada")
    listed = sb("memory", "signals", "list", "--json").json["items"]
    assert [(item["signal"], item["enabled"]) for item in listed] == [(name, False) for name in SIGNALS]
    assert {item["signal"]: item["bound"] for item in listed if item["bound"]} == dict.fromkeys(
        moves.MOVING, BOUND
    )
    off = sb("memory", "signals", "show", "affect")
    assert (off.code, "affect is off" in off.err) == (2, True)
    (home / "config.yaml").write_text("memory:\n  signals: {affect: true}\n", encoding="utf-8")
    [row] = sb("memory", "signals", "show", "affect", "--json").json["items"]
    assert (row["label"], row["agent"]) == ("negative", "ada")
    assert row["at"].endswith("Z")
    assert "terrible disaster" in sb("memory", "signals", "show", "affect").out
    assert sb("memory", "signals", "log", "--json").json == {"items": []}
    assert sb("memory", "signals", "show", "mood").code == 2
