"""No read path shows an agent what is outside its scopes or private to another agent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sb.entity import Entity
from sb.memory import Brain
from sb.memory.record_writer import RecordWriter
from sb.protocols.types import Episode, RawEntry
from sb.stack import SQLiteStack
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.places import Place
from tests.conftest import CommandLine
from tests.store.records.shelf import full_record

CANARY = "zanzibar"
HIDDEN = (
    Place("default", "project:secret"),
    Place("default", "global", "ada"),
    Place("default", "project:secret", "ada"),
)
OPEN = Place("default")
PUBLIC = "paraguay"


def planted(kind: str, place: Place, uid: str, word: str) -> Any:
    """A record of a kind that says a word in each of its texts."""
    about = DESCRIPTORS[kind]
    record = replace(full_record(kind), id=uid)
    changes: dict[str, Any] = {}
    for name in (*about.text, *about.also):
        value = getattr(record, name)
        if name not in about.vocabulary and isinstance(value, str):
            changes[name] = f"the {word} of {kind} is always calm because we learned it today"
        elif name not in about.vocabulary and isinstance(value, list):
            changes[name] = [f"the {word} of {kind} teaches patience"]
    for name in ("tags", "context_tags"):
        if getattr(record, name, None) is not None:
            changes[name] = [word]
    for name in ("access_grants", "consent_grants"):  # places are what is tested here
        if hasattr(record, name):
            changes[name] = None
    if kind == "handoff":
        changes["recipient"] = ""
    if kind == "suggestion":
        changes |= {
            "content": {"statement": f"the {word} is suggested"},
            "status": "pending",
            "memory_type": "belief",
        }
    if kind == "trust_assessment":
        changes["entity"] = word
    if hasattr(record, "strength"):
        changes["strength"] = 1.0
    return (
        replace(record, derived_from=None, **changes)
        if hasattr(record, "derived_from")
        else replace(record, **changes)
    )


@pytest.fixture
def brain(home: Path) -> Iterator[Brain]:
    """The memory of ada, with a record of each kind in each place that eve does not see, and one that everybody does."""
    with Brain("ada") as opened:
        for number, place in enumerate((*HIDDEN, OPEN)):
            word = PUBLIC if place == OPEN else CANARY
            record_writer = RecordWriter(opened.space, "ada")
            pairs = []
            for kind in DESCRIPTORS:
                record = planted(kind, place, f"{word}_{kind}_{number}", word)
                pairs += record_writer.pairs([record])
            with opened.database.write() as execute:
                at = opened.space.places.make(execute, place)
                for row, _ in pairs:
                    row["place"], row["state"] = at, "active"
                record_writer.keep(execute, pairs)
        opened.handoff(f"{CANARY} goes to bob", "b", [], "d", recipient="bob")
        opened.relate(f"{PUBLIC}_fact_3", "is_about", f"{CANARY}_fact_1")
        yield opened


LISTS = (
    ("stack", "list"), ("stack", "show", "default"), ("stack", "search", "default", CANARY),
    ("stack", "search", "default", PUBLIC), ("stack", "load", "default"),
    ("stack", "dump", "default", "--forgotten"), ("stack", "dump", "default", "--format", "json", "--forgotten"),
    ("entity", "search", CANARY), ("entity", "search", PUBLIC), ("entity", "load"), ("entity", "status"),
    ("suggestions", "list", "--status", "any"), ("trust", "list"), ("checkpoint", "list"),
    ("memory", "search", CANARY), ("memory", "think", PUBLIC), ("memory", "orient", "--query", CANARY),
    ("memory", "graph", f"{PUBLIC}_fact_3"), ("memory", "why", f"{PUBLIC}_fact_3"),
)  # fmt: skip


def test_no_command_shows_an_agent_what_it_may_not_read(sb: CommandLine, brain: Brain) -> None:
    for command in LISTS:
        done = sb(*command, "--agent", "eve")
        assert (command, done.code, done.err.count("error")) == (command, 0, 0)
        assert CANARY not in done.out.replace(f'"{CANARY}"', "") + done.err, command
    for number, kind in enumerate(("event", "handoff", "suggestion")):
        uid = f"{CANARY}_{kind}_{number}"
        for command in (
            ("memory", "show"),
            ("memory", "why"),
            ("memory", "history"),
            ("suggestions", "show"),
        ):
            done = sb(*command, uid, "--agent", "eve")
            assert (done.code, CANARY in done.out) == (1, False), (command, uid)
            assert CANARY not in done.err.replace(uid, "")


def test_an_agent_reads_from_the_scope_that_it_names_and_an_operator_from_every_scope(
    sb: CommandLine, brain: Brain
) -> None:
    for command in (("stack", "search", "default", CANARY), ("entity", "search", CANARY)):
        named = sb(*command, "--agent", "eve", "--scope", "project:secret", "-k", "100").out
        assert f"{CANARY}_belief_0" in named  # in the scope
        assert f"{CANARY}_belief_2" not in named  # in the scope, and ada's own
        everything = sb(*command, "-k", "100").out
        assert f"{CANARY}_belief_0" in everything
        assert f"{CANARY}_belief_1" not in everything  # private: with --agent ada
        assert f"{CANARY}_belief_1" in sb(*command, "--agent", "ada", "-k", "100").out
    refused = sb("stack", "search", "default", CANARY, "--scope", "project:secret")
    assert (refused.code, "add --agent NAME" in refused.err) == (2, True)
    assert sb("stack", "dump", "default", "--agent", "").code == 2


def seen_by(stack: SQLiteStack) -> Iterator[Any]:
    """Answers of a stack, on every way there is."""
    every: Any = {"include_weak": True, "include_forgotten": True}
    yield (
        stack.get_episodes(**every),
        stack.get_beliefs(**every),
        stack.get_values(**every),
        stack.get_goals(**every),
    )
    yield (
        stack.get_notes(**every),
        stack.get_drives(include_expired=True),
        stack.get_relationships(),
        stack.get_raw(),
    )
    yield (
        stack.get_suggestions(),
        stack.get_trust_assessments(),
        stack.get_ungrounded_memories(),
        stack.conflicts(),
    )
    yield stack.search(PUBLIC, limit=100), stack.search(CANARY, limit=100, context="project:secret")
    yield stack.load(token_budget=50_000, context="project:secret"), stack.get_relationship(CANARY)
    yield stack.dump(format="json", include_forgotten=True), stack.dump(include_forgotten=True)
    yield [
        stack.get_memory(kind, f"{CANARY}_{kind}_{at}") for kind in DESCRIPTORS for at in range(len(HIDDEN))
    ]
    yield [stack.get_memories_derived_from(kind, f"{PUBLIC}_{kind}_3") for kind in DESCRIPTORS]
    yield stack.compute_trust(CANARY)["source"], stack.maintenance()


def test_no_answer_of_a_stack_shows_a_core_what_it_may_not_read(
    brain: Brain, home: Path, tmp_path: Path
) -> None:
    with Entity("eve") as core, SQLiteStack("default") as stack:
        core.attach_stack(stack)
        for answer in seen_by(stack):
            assert CANARY not in repr(answer).replace(f"'{CANARY}'", "")
        assert core.search(PUBLIC, limit=100)
        assert CANARY not in repr((core.load(), core.status(), core.trust_list()))
        stack.export_stack(tmp_path / "taken.db")
    assert CANARY.encode() not in (tmp_path / "taken.db").read_bytes()
    assert PUBLIC.encode() in (tmp_path / "taken.db").read_bytes()


def test_counts_are_of_what_is_in_view(sb: CommandLine, brain: Brain) -> None:
    mine = sb("stack", "show", "default", "--agent", "eve", "--json").json
    of_ada = sb("stack", "show", "default", "--agent", "ada", "--scope", "project:secret", "--json").json
    assert mine["kinds"]["belief"] == 2  # a belief, and a fact
    assert (mine["private"], of_ada["kinds"]["belief"]) == (0, 8)
    with Entity("eve") as core, SQLiteStack("default") as stack:
        core.attach_stack(stack)
        assert stack.get_stats()["beliefs"] == 2
        assert stack.load()["_meta"]["excluded_count"] < 20


def test_a_sweep_tells_a_core_of_what_it_sees_and_forgets_nothing_else_for_it(brain: Brain) -> None:
    with brain.database.write() as execute:  # weak enough to be forgotten, in places of every kind
        execute(
            "UPDATE records SET strength = 0.2, protected = 0, confidence = 0.001, happened_at = 0 WHERE kind <> 'event'"
        )
    with SQLiteStack("default", database=brain.database) as stack:
        every = stack.maintenance()["forgetting"]
        stack.view_as("eve", "global")
        visible = stack.maintenance()["forgetting"]
        asked = stack.apply_forgetting(protect_identity=False)
    assert every["swept"] == 4 * visible["swept"]
    assert visible["swept"] == asked["candidates"]
    left = brain.database.query(
        "SELECT count(*) FROM records WHERE uid LIKE ? AND strength = 0", (f"{CANARY}%",)
    )
    assert left == [(0,)]


def test_a_core_is_told_of_relations_between_what_it_sees(home: Path) -> None:
    def related(scopes: tuple[str, ...]) -> dict[str, Any]:
        with Brain("ada", stack="-".join(scopes)) as hidden:
            for scope in scopes:
                for number in range(4):
                    hidden.remember(
                        f"{number} of zanzibar is calm in {scope}", tags=["zanzibar"], scope=scope
                    )
                hidden.entity("zanzibar", "location", scope=scope)
            with SQLiteStack(hidden.stack, database=hidden.database) as stack:
                stack.view_as("eve", "global")
                done = stack.maintenance()["knowledge"]
                return {name: done[name] for name in ("topics_related", "mentions_related")}

    alone = related(("global",))
    assert all(alone.values())
    assert related(("global", "project:secret")) == alone


def test_a_packet_between_two_is_not_found_by_its_words_by_a_third(brain: Brain) -> None:
    def kinds_for(agent: str) -> list[str]:
        with Brain(agent, database=brain.database) as reader:
            return [hit.kind for hit in reader.search("goes to bob", kinds=["handoff"])]

    assert (kinds_for("eve"), kinds_for("bob"), kinds_for("ada")) == ([], ["handoff"], ["handoff"])
    with brain.database.write() as execute:  # one that cannot be read is nobody's, and stops no search
        execute("UPDATE records SET fields = '{' WHERE kind = 'handoff' AND text LIKE '%goes to bob%'")
    assert (kinds_for("eve"), kinds_for("bob")) == ([], [])
    with Brain("eve", database=brain.database) as reader:
        assert not [
            activated for activated in reader.think(f"{CANARY} goes to bob") if activated.kind == "handoff"
        ]


def test_the_end_of_a_session_does_not_repeat_a_packet_that_is_for_one_agent(brain: Brain) -> None:
    brain.wrap_up(f"the {CANARY} waits at the gate", recipient="bob")
    with Brain("eve", database=brain.database) as reader:
        assert "waits at the gate" not in repr(reader.search("waits at the gate", k=50))


def test_a_packet_between_two_leaves_only_with_one_of_them(brain: Brain, tmp_path: Path) -> None:
    def taken(agent: str) -> bool:
        path = tmp_path / f"{agent}.db"
        with SQLiteStack("default", database=brain.database) as stack:
            stack.view_as(agent, None)
            stack.export_stack(path)
        return b"goes to bob" in path.read_bytes()

    assert [taken(agent) for agent in ("eve", "bob")] == [False, True]


def test_what_a_stack_makes_of_memories_is_seen_by_whoever_sees_them_all(brain: Brain) -> None:
    """Lessons of episodes become beliefs, what was captured becomes suggestions, and these memories."""

    def moved(uid: str, place: Place) -> None:
        with brain.database.write() as execute:
            at = brain.space.places.make(execute, place)
            execute("UPDATE records SET place = ? WHERE uid = ?", (at, uid))

    with SQLiteStack("work", database=brain.database, enforce_provenance=False) as stack:
        lessons = {
            "alpha": ["project:secret"] * 2,
            "beta": ["project:secret", "project:other"],
            "gamma": ["global"] * 2,
        }
        for name, scopes in lessons.items():
            for scope in scopes:
                uid = stack.save_episode(
                    Episode("", "work", f"try {name}", "done", lessons=[f"{name} needs two reviews"])
                )
                moved(uid, Place("work", scope))
        raw = stack.save_raw(
            RawEntry("", "work", "I believe that delta should always be reviewed because it breaks")
        )
        moved(raw, Place("work", "project:secret", "ada"))
        with SQLiteStack("work", database=brain.database) as opened:
            opened.view_as("ada", None)
            opened.maintenance()
            (suggestion,) = opened.get_suggestions()
            made = opened.accept_suggestion(suggestion.id) or ""

        def seen(agent: str, scope: str) -> set[str]:
            with SQLiteStack("work", database=brain.database) as reader:
                reader.view_as(agent, scope)
                output = repr(
                    (reader.get_beliefs(), reader.get_suggestions(), reader.get_memory("belief", made))
                )
                return {name for name in (*lessons, "delta") if name in output}

        assert seen("eve", "global") == {"gamma"}
        assert seen("eve", "project:secret") == {"gamma", "alpha"}
        assert seen("ada", "project:secret") == {"gamma", "alpha", "delta"}
