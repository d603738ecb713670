"""Composition of a core: stacks and a model, under an id that stays."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from sb.entity import Entity
from sb.entity.inference import LLMModel, ModelInference
from sb.errors import NoActiveStackError
from sb.protocols import CoreProtocol, StackInfo, StackProtocol
from tests.entity.chat_server import ChatServer
from tests.entity.list_stack import ListStack
from tests.rows import rows

COMMON = "source=None,derived_from=None,context=None,context_tags=None,source_type=None"
SIGNATURES = f"""
set_model(model) attach_stack(stack,*,alias=None,set_active=True) detach_stack(stack_id) set_active_stack(stack_id)
load_plugin(plugin,*,subparsers=None,fail_fast=None,config=None,secrets=None) unload_plugin(name) discover_plugins()
episode(objective,outcome,*,lessons=None,repeat=None,avoid=None,tags=None,{COMMON})
belief(statement,*,type='fact',confidence=0.8,foundational=False,{COMMON})
value(name,statement,*,priority=50,type='core_value',foundational=False,{COMMON})
goal(title,*,description=None,goal_type='task',priority='medium',{COMMON})
note(content,*,type='note',speaker=None,reason=None,tags=None,protect=False,{COMMON})
drive(drive_type,*,intensity=None,focus_areas=None,{COMMON})
relationship(other_stack_id,*,trust_level=None,notes=None,interaction_type=None,entity_type=None,{COMMON})
raw(blob,*,source=None) search(query,*,limit=10,record_types=None,context=None)
load(*,token_budget=8000,context=None) status() trust_set(entity,domain,score,*,evidence=None)
trust_get(entity,*,domain=None) trust_list(*,domain=None,min_score=None) checkpoint(message='') get_binding() sync()
"""


@pytest.fixture
def core(tmp_path: Path) -> Entity:
    return Entity("me", tmp_path)


def test_a_core_and_any_stack_meet_their_protocols(core: Entity) -> None:
    assert isinstance(core, CoreProtocol)
    assert isinstance(ListStack("any"), StackProtocol)


def test_operations_have_the_signatures_of_the_core_protocol(core: Entity) -> None:
    for line in SIGNATURES.split():
        method = getattr(core, line.partition("(")[0])
        plain = [
            keyword.replace(annotation=inspect.Parameter.empty)
            for each in inspect.signature(method).parameters.values()
            for keyword in ([each] if each.kind is not each.VAR_KEYWORD else keywords(method, each.name))
        ]
        assert line == line.partition("(")[0] + str(inspect.Signature(plain)).replace(" ", "")


def keywords(method: Any, name: str) -> list[inspect.Parameter]:
    """The keywords that `**name` stands for, which are all optional."""
    (names,) = get_args(get_type_hints(method)[name])
    assert not names.__required_keys__
    return [
        inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=None)
        for each in get_type_hints(names)
    ]


def test_unknown_keyword_of_a_write_is_refused(core: Entity) -> None:
    core.attach_stack(ListStack("any"))
    unknown: dict[str, Any] = {"sauce": "somebody"}
    with pytest.raises(TypeError, match="sauce"):
        core.note("text", **unknown)
    with pytest.raises(TypeError, match="sauce"):
        core.drive("growth", **unknown)


@rows("core_id", ["", "  \n", "\ud800", None, 5])
def test_a_core_without_a_name_is_refused(core_id: Any) -> None:
    with pytest.raises(
        ValueError, match=r"core_id is .* must be a (non-blank )?string|surrogates not allowed"
    ):
        Entity(core_id)


def test_stacks_are_known_by_their_ids_and_one_is_active(core: Entity) -> None:
    primary, work = ListStack("primary"), ListStack("work")
    assert core.attach_stack(primary, alias="home") == "primary"
    assert core.attach_stack(work, set_active=False) == "work"
    assert core.active_stack is primary
    assert core.stacks == {
        "primary": StackInfo("primary", "home", 1, {}, is_active=True),
        "work": StackInfo("work", None, 1, {}, is_active=False),
    }
    core.stacks.clear()  # a copy
    core.set_active_stack("work")
    core.note("for work")
    assert (list(work.kept), primary.kept) == (["note"], {})
    assert core.stacks["work"].stats == {"note": 1}
    assert primary.told == [("on_attach", "me", None)]


def test_an_alias_addresses_nothing(core: Entity) -> None:
    core.attach_stack(ListStack("primary"), alias="home")
    with pytest.raises(ValueError, match="no stack 'home' is attached: primary"):
        core.set_active_stack("home")
    core.detach_stack("home")
    assert list(core.stacks) == ["primary"]


def test_a_second_stack_of_the_same_id_is_refused_and_not_told(core: Entity) -> None:
    first, second = ListStack("primary"), ListStack("primary")
    core.attach_stack(first, set_active=False)
    with pytest.raises(ValueError, match="stack 'primary' is already attached"):
        core.attach_stack(second, alias="other")
    assert (second.told, core.active_stack, core.stacks["primary"].alias) == ([], None, None)


def test_a_stack_that_cannot_be_attached_is_not_there(core: Entity) -> None:
    class Stubborn(ListStack):
        def on_attach(self, core_id: str, inference: Any = None) -> None:
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        core.attach_stack(Stubborn("primary"))
    assert (core.stacks, core.active_stack) == ({}, None)


def test_detaching_leaves_no_successor_and_the_stack_goes_on(core: Entity) -> None:
    primary, work = ListStack("primary"), ListStack("work")
    core.attach_stack(work)
    core.attach_stack(primary)
    core.note("before")
    core.detach_stack("primary")
    core.detach_stack("primary")  # nobody minds
    assert (core.active_stack, list(core.stacks)) == (None, ["work"])
    assert primary.told[-1] == ("on_detach", "me")
    assert [note.content for note in primary.get_notes()] == ["before"]
    core.attach_stack(primary)


@pytest.mark.parametrize(
    "operation",
    [
        lambda core: core.episode("a", "b"),
        lambda core: core.belief("a"),
        lambda core: core.value("a", "b"),
        lambda core: core.goal("a"),
        lambda core: core.note("a"),
        lambda core: core.drive("growth"),
        lambda core: core.relationship("a"),
        # Whatever else is wrong with them.
        lambda core: core.belief("a", type="d"),
        lambda core: core.value("a", "b", type=" "),
        lambda core: core.goal("a", goal_type="d"),
        lambda core: core.note("a", type="d"),
        lambda core: core.drive("d"),
        lambda core: core.relationship("a", trust_level=float("nan")),
        lambda core: core.raw("a"),
        lambda core: core.search("a"),
        lambda core: core.load(),
        lambda core: core.sync(),
        lambda core: core.trust_set("a", "b", 1),
        lambda core: core.trust_get("a"),
        lambda core: core.trust_list(),
        lambda core: core.checkpoint(),
        lambda core: core.forget("note", "a", "why"),
        lambda core: core.recover("note", "a"),
        lambda core: core.protect("note", "a"),
        lambda core: core.weaken("note", "a", 0.1),
        lambda core: core.verify("note", "a"),
        lambda core: core.get_memories_derived_from("note", "a"),
        lambda core: core.get_ungrounded_memories(),
    ],
)
def test_without_an_active_stack_every_routed_operation_says_so(core: Entity, operation: Any) -> None:
    stack = ListStack("primary")
    core.attach_stack(stack, set_active=False)
    with pytest.raises(NoActiveStackError, match="core me has no active stack") as caught:
        operation(core)
    assert caught.value.hint == "set_active_stack: primary"
    assert stack.kept == {}


def test_a_model_is_told_to_every_stack_and_can_be_taken_away(core: Entity, chat: ChatServer) -> None:
    active, other, later = ListStack("active"), ListStack("other"), ListStack("later")
    core.attach_stack(active)
    core.attach_stack(other, set_active=False)
    assert core.model is None
    model = LLMModel("local")
    core.set_model(model)
    assert core.model is model
    ((_, inference),) = active.told[1:]
    assert isinstance(inference, ModelInference)
    assert inference.infer("How do we deploy?") == "Blue-green."
    assert other.told[1:] == [("on_model_changed", inference)]
    core.attach_stack(later)
    assert later.told == [("on_attach", "me", inference)]
    core.set_model(None)
    assert (core.model, active.told[-1], core.core_id) == (None, ("on_model_changed", None), "me")


def test_status_says_what_there_is_and_needs_no_stack(core: Entity, chat: ChatServer) -> None:
    assert core.status() == {"core_id": "me", "model": None, "stacks": {}, "plugins": {}}
    core.attach_stack(ListStack("primary"), alias="home")
    core.raw("something")
    core.set_model(LLMModel("local"))
    assert core.status() == {
        "core_id": "me",
        "model": "local",
        "stacks": {"primary": {"stack_id": "primary", "alias": "home", "active": True, "stats": {"raw": 1}}},
        "plugins": {},
    }


def test_search_load_and_sync_go_to_the_active_stack_as_they_are_asked(core: Entity) -> None:
    stack = ListStack("primary")
    core.attach_stack(stack)
    uid = core.note("blue-green deploys", context="work")
    (found,) = core.search("green", limit=3, record_types=["note"], context="work")
    assert (found.memory_type, found.memory_id, found.content) == ("note", uid, "blue-green deploys")
    assert core.load(token_budget=500, context="work")["notes"] == ["blue-green deploys"]
    assert stack.told[1:] == [("search", "green", 3, ["note"], "work"), ("load", 500, "work")]
    assert core.sync().pushed == 1


def test_closing_lets_go_of_everything(tmp_path: Path) -> None:
    stack = ListStack("primary")
    with Entity("me", tmp_path) as core:
        core.attach_stack(stack)
    assert (stack.told[-1], core.stacks) == (("on_detach", "me"), {})
