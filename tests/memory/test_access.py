"""Agents without a right in a scope neither read, write, promote nor share there, by whatever door they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sb.config.scopes import RIGHTS
from sb.errors import DeniedError, NotFoundError
from sb.kernel.authority.signing import Label
from sb.memory.bundles import export
from sb.memory.operator_view import Overseer
from sb.protocols.types import Episode, MemorySuggestion
from sb.stack import SQLiteStack
from tests.memory.desk import Desk

ACCESS = (
    '{"customer:acme": {read: [ada, "support-*"], write: [ada], promote: [], share: [ada]},'
    ' "team:*": {read: ["*"], write: [], promote: []}, "*": {read: [ada, eve], write: [ada, eve], promote: [ada]}}'
)
ACME = "customer:acme"
SECRET = "The customer acme pays in March."


@pytest.fixture
def desk(home: Path) -> Iterator[Desk]:
    made = Desk(home, scopes=ACCESS)
    yield made
    made.close()


def stack_of(desk: Desk, core: str = "", scope: str | None = "global") -> SQLiteStack:
    stack = SQLiteStack("default", database=desk.database, config=desk.config, clock=desk.clock, ids=desk.ids)
    if core:
        stack.on_attach(core)
        stack.read_from(core, scope)
    return stack


def test_a_rule_of_the_scope_comes_before_that_of_its_type_and_of_all(desk: Desk) -> None:
    scopes = desk.config.memory.scopes
    may = {
        (agent, scope): "".join(right[0] for right in RIGHTS if scopes.allows(right, scope, agent))
        for agent in ("ada", "eve", "support-7", "")
        for scope in (ACME, "team:web", "project:a")
    }
    assert may == {
        ("ada", ACME): "rws", ("ada", "team:web"): "r", ("ada", "project:a"): "rwp",
        ("eve", ACME): "", ("eve", "team:web"): "r", ("eve", "project:a"): "rw",
        ("support-7", ACME): "r", ("support-7", "team:web"): "r", ("support-7", "project:a"): "",
        ("", ACME): "", ("", "team:web"): "r", ("", "project:a"): "",
    }  # fmt: skip


def test_without_rules_everybody_may_do_everything(home: Path) -> None:
    desk = Desk(home)
    assert not desk.space.rights
    assert all(desk.space.rights.may(agent, right, ACME) for agent in ("eve", "") for right in RIGHTS)
    desk.close()


@pytest.fixture
def secret(desk: Desk) -> str:
    ada = desk.brain("ada", scope=ACME)
    uid = ada.remember(SECRET)
    ada.relate(ada.entity("acme", "organization"), "pays", uid)
    return uid


def test_who_may_only_write_learns_nothing_from_the_gate(home: Path) -> None:
    desk = Desk(home, embedder="static", scopes='{"*": {write: ["*"], read: [ada]}}')
    text = "The lamp in the lighthouse is white and needs oil."
    desk.brain("ada").remember(text, category="lesson")
    eve, ada = desk.brain("eve"), desk.brain("ada")
    for brain in (eve, ada):
        brain.remember(text.replace(".", " every day."), category="lesson")
    assert eve.verdict is not None
    assert ada.verdict is not None
    assert (eve.verdict.others, eve.verdict.content, eve.verdict.nearest) == ((), "", "")
    assert ada.verdict.others or ada.verdict.nearest
    desk.close()


READS: dict[str, Callable[[Any, str], Any]] = {
    "search": lambda brain, uid: brain.search("acme March"),
    "a scope that is named": lambda brain, uid: brain.search("acme March", scope=ACME),
    "think": lambda brain, uid: brain.think("acme March"),
    "orient": lambda brain, uid: brain.orient().as_text(),
    "orient in it": lambda brain, uid: brain.orient(scope=ACME).as_text(),
    "get": lambda brain, uid: brain.get(uid),
    "get by name": lambda brain, uid: brain.get("acme"),
    "look_up": lambda brain, uid: brain.look_up(uid),
    "why": lambda brain, uid: brain.why(uid),
    "history": lambda brain, uid: brain.history(uid),
    "graph": lambda brain, uid: brain.graph(uid),
    "resume": lambda brain, uid: brain.resume(scope=ACME),
}


@pytest.mark.parametrize("way", READS)
@pytest.mark.parametrize("scope", [ACME, "global"])
def test_no_door_shows_what_one_may_not_read(desk: Desk, secret: str, way: str, scope: str) -> None:
    desk.brain("ada", scope=ACME).handoff("March", SECRET, [], "wait")
    eve = desk.brain("eve", scope=scope)
    try:
        found = READS[way](eve, secret)
    except (DeniedError, NotFoundError) as error:
        found = error.message.replace(ACME, "").replace("'acme'", "").replace(secret, "")
    assert "March" not in str(found)
    assert "acme" not in str(found)
    assert "March" in str(READS["get"](desk.brain("support-7", scope=ACME), secret)), "who may, does"


def test_stacks_show_only_what_their_cores_may_read(desk: Desk, secret: str) -> None:
    for core, scope, seen in (
        ("eve", ACME, False),
        ("eve", None, True),
        ("ada", ACME, True),
        ("", None, False),
    ):
        stack = stack_of(desk, core, scope)
        output = repr(
            (
                stack.get_beliefs(),
                stack.search("acme March"),
                stack.get_memory("belief", secret),
                stack.dump(),
            )
        )
        assert ("March" in output) == seen, f"{core} from {scope}"
    operators = stack_of(desk)
    operators.view_as_operator()
    assert [belief.statement for belief in operators.get_beliefs()] == [SECRET]


WRITES: dict[str, Callable[[Any, str], Any]] = {
    "remember": lambda brain, uid: brain.remember("The lamp is white.", scope=ACME),
    "decide": lambda brain, uid: brain.decide("Wait", "They pay late.", scope=ACME),
    "log": lambda brain, uid: brain.log("It was paid.", scope=ACME),
    "entity": lambda brain, uid: brain.entity("acme", "organization", observations=["late"], scope=ACME),
    "private": lambda brain, uid: brain.remember("The lamp is white.", scope=ACME, private=True),
    "forget": lambda brain, uid: brain.forget(uid),
    "protect": lambda brain, uid: brain.protect(uid),
    "refute": lambda brain, uid: brain.refute(uid),
    "relate": lambda brain, uid: brain.relate("acme", "owes", uid),
    "handoff": lambda brain, uid: brain.handoff("March", "wait", [], "", scope=ACME),
    "wrap_up": lambda brain, uid: brain.wrap_up("done", scope=ACME),
}


@pytest.mark.parametrize("way", WRITES)
def test_who_only_reads_writes_by_no_door(desk: Desk, secret: str, way: str) -> None:
    brain = desk.brain("support-7", scope=ACME)
    before = desk.rows("SELECT * FROM records"), desk.rows("SELECT * FROM edges")
    with pytest.raises(DeniedError, match="may not"):
        WRITES[way](brain, secret)
    assert (desk.rows("SELECT * FROM records"), desk.rows("SELECT * FROM edges")) == before
    Overseer(database=desk.database, config=desk.config, clock=desk.clock, ids=desk.ids).forget(
        secret, "operators may"
    )


def test_stacks_write_only_what_their_cores_may(desk: Desk, secret: str) -> None:
    stack = stack_of(desk, "support-7", ACME)
    belief = stack.get_memory("belief", secret)
    assert belief is not None
    belief.statement = "They never pay."
    for attempt in (
        lambda: stack.update_record("belief", belief),
        lambda: stack.weaken_memory("belief", secret, 0.5),
        lambda: stack.forget_memory("belief", secret, "no"),
        lambda: stack.save_episode(Episode("", "default", "lamps", "white", source_entity="core:support-7")),
    ):
        with pytest.raises(DeniedError, match="may not write"):
            attempt()
    assert desk.row(secret)["text"] == SECRET


def test_handing_over_to_another_agent_takes_the_right_to_share(desk: Desk) -> None:
    assert desk.brain("ada", scope=ACME).handoff("March", "wait", [], "", recipient="support-7").recipient
    with pytest.raises(DeniedError, match="may not share in project:a"):
        desk.brain("eve", scope="project:a").handoff("March", "wait", [], "", recipient="ada")
    assert desk.brain("eve", scope="project:a").handoff("March", "wait", [], "").goal == "March"


def test_an_agent_exports_only_what_it_may_share(desk: Desk, secret: str, tmp_path: Path) -> None:
    def carried(agent: str, *scopes: str) -> str:
        path = tmp_path / f"{agent}.jsonl"
        export(
            desk.space,
            desk.log,
            path,
            by=Label(agent or "operator"),
            stack="default",
            scopes=scopes,
            agent=agent,
        )
        return path.read_text()

    assert "March" in carried("ada", ACME)
    assert "March" in carried("")
    for agent in ("eve", "support-7"):
        with pytest.raises(DeniedError, match="may not"):
            carried(agent, ACME)


def test_a_suggestion_is_accepted_by_who_may_promote_and_by_people(desk: Desk) -> None:
    people = stack_of(desk)
    people.view_as_operator()
    content = {"statement": "Lamps are white.", "belief_type": "fact"}
    people.save_suggestion(MemorySuggestion("s1", "default", "belief", content, 0.9, ["raw:r1"]))
    with pytest.raises(DeniedError, match="eve may not promote"):
        stack_of(desk, "eve").suggestions.accept("s1")
    assert people.suggestions.accept("s1", actor="grace")
