"""Plugins: what they may do, and what becomes of a core when one fails."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.entity import Entity
from sb.errors import PluginError
from sb.kernel.contracts import SafetyClass, ToolErrorCode
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.run_context import RunContext
from sb.protocols import PluginContext, PluginHealth, PluginInfo, PluginProtocol, ToolDefinition
from tests.entity.list_stack import ListStack
from tests.entity.weather_plugin import TOWN, Umbrella, Weather

FORECAST = "plugin.weather.forecast"


@pytest.fixture
def stack() -> ListStack:
    return ListStack("mine")


@pytest.fixture
def core(tmp_path: Path, stack: ListStack) -> Entity:
    made = Entity("me", tmp_path)
    made.attach_stack(stack)
    return made


def context_of(plugin: Weather) -> PluginContext:
    assert plugin.context is not None
    return plugin.context


def test_a_loaded_plugin_is_listed_and_adds_to_what_is_loaded_and_to_the_status(core: Entity) -> None:
    plugin = Weather()
    assert isinstance(plugin, PluginProtocol)
    core.load_plugin(plugin)
    assert core.plugins == {
        "weather": PluginInfo("weather", "1.2", "what it is like outside", ["forecasts"], is_loaded=True)
    }
    assert core.load()["weather"] == "drizzle"
    status = core.status()
    assert status["plugins"] == {
        "weather": {"version": "1.2", "health": {"healthy": True, "message": "all fine"}}
    }
    assert status["weather"] == "drizzle"
    core.unload_plugin("weather")
    core.unload_plugin("weather")  # nobody minds
    assert (core.plugins, plugin.called[-1], "weather" in core.load()) == ({}, "deactivate", False)


def test_the_tools_of_a_plugin_run_through_the_executor(core: Entity, stack: ListStack) -> None:
    core.load_plugin(Weather())
    executor = ToolExecutor(core.registry)
    result = executor.execute(RunContext.create("me"), FORECAST, {"town": "Ulm"})
    assert (result.success, result.data) == (True, "drizzle in Ulm")
    (note,) = stack.get_notes()
    assert (note.content, note.source_entity) == ("asked about Ulm", "plugin:weather")
    for wrong in ({}, {"town": 5}, {"town": "Ulm", "day": "today"}):
        refused = executor.execute(RunContext.create("me"), FORECAST, wrong)
        assert refused.error_code is ToolErrorCode.VALIDATION_ERROR
    core.unload_plugin("weather")
    gone = executor.execute(RunContext.create("me"), FORECAST, {"town": "Ulm"})
    assert (gone.error_code, core.registry.list_ids()) == (ToolErrorCode.NOT_FOUND, [])


def test_a_tool_has_the_contract_that_its_definition_stands_for(core: Entity) -> None:
    plugin = Weather()
    schema = {
        "properties": {
            "town": {"type": "string"},
            "days": {"type": ["integer", "null"], "description": "how many"},
            "key": {"type": "string", "writeOnly": True},
        },
        "required": ["town"],
    }
    plugin.tools = [
        ToolDefinition("Look Up!", "Reads", schema, print, safety_class="read_only"),
        ToolDefinition("free", "Takes anything", {"additionalProperties": True}, print),
    ]
    core.load_plugin(plugin)
    free, look = core.registry.list_all()
    assert (look.tool_id, look.name, look.description) == ("plugin.weather.look_up_", "Look Up!", "Reads")
    assert [(arg.name, arg.type, arg.required, arg.sensitive) for arg in look.args_schema] == [
        ("town", "string", True, False),
        ("days", "any", False, False),
        ("key", "string", False, True),
    ]
    assert (look.safety_class, look.args_schema[1].description) == (SafetyClass.READ_ONLY, "how many")
    assert (free.safety_class, free.args_schema) == (SafetyClass.NETWORK, [])
    assert {listing.source for listing in core.registry.listing()} == {"plugin weather 1.2"}


@pytest.mark.parametrize(
    "tool",
    [
        ToolDefinition("forecast", "again", TOWN, print),
        ToolDefinition("nothing", "has no handler", TOWN),
        ToolDefinition("bogus", "has another class", TOWN, print, safety_class="harmless"),
        ToolDefinition("!!", "has no name", TOWN, print),
        ToolDefinition("odd", "has another schema", {"properties": ["town"]}, print),
        ToolDefinition("odder", "has another schema", {"properties": {"town": "string"}}, print),
        ToolDefinition("oddest", "has another schema", "town", print),  # type: ignore[arg-type]
    ],
    ids=lambda tool: tool.name,
)
def test_a_tool_that_cannot_be_registered_takes_the_others_along(
    core: Entity, tool: ToolDefinition, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = Weather()
    plugin.tools.append(tool)
    core.load_plugin(plugin)
    assert core.registry.list_ids() == []
    health = core.status()["plugins"]["weather"]["health"]
    assert not health["healthy"]
    assert health["message"].startswith("register_tools: ")
    assert "plugin weather failed in register_tools" in caplog.text
    core.unload_plugin("weather")
    with pytest.raises(PluginError, match=r"plugin weather was not loaded: register_tools: "):
        core.load_plugin(Weather("register_tools"), fail_fast=True)


def test_a_plugin_cannot_take_the_place_of_a_tool_that_is_there(core: Entity) -> None:
    core.load_plugin(Weather())
    before = core.registry.get_callable(FORECAST)

    class Impostor(Weather):
        name = "Weather"  # the same contract, by another name

    core.load_plugin(Impostor())
    assert core.registry.get_callable(FORECAST) is before
    core.unload_plugin("Weather")
    assert core.registry.list_ids() == [FORECAST]


@pytest.mark.parametrize("version", ["1", 1.0, [], True])
def test_a_protocol_version_is_a_whole_number(core: Entity, version: Any) -> None:
    plugin = Weather()
    plugin.protocol_version = version
    with pytest.raises(ValueError, match="must be a whole number"):
        core.load_plugin(plugin)
    assert core.plugins == {}


@pytest.mark.parametrize("name", [None, 5, " ", "\ud800"])
def test_a_plugin_has_a_name_that_can_be_stored(core: Entity, name: Any) -> None:
    plugin = Weather()
    plugin.name = name
    with pytest.raises(ValueError, match=r"must be a (non-blank )?string|surrogates"):
        core.load_plugin(plugin)
    assert core.plugins == {}


def test_a_plugin_of_a_newer_protocol_is_refused_before_it_is_activated(
    core: Entity, stack: ListStack
) -> None:
    plugin = Weather()
    plugin.protocol_version = 2
    with pytest.raises(
        ValueError, match="'weather' requires protocol version 2, but this core supports version 1"
    ):
        core.load_plugin(plugin)
    assert (plugin.called, core.plugins) == ([], {})
    assert ("register_plugin", "weather") not in stack.told


def test_one_of_an_older_protocol_is_loaded_with_a_warning_and_one_of_none_without(
    core: Entity, caplog: pytest.LogCaptureFixture
) -> None:
    old, silent = Weather(), Umbrella()
    old.protocol_version = 0
    silent.protocol_version = None  # type: ignore[assignment]
    core.load_plugin(silent)
    assert caplog.text == ""
    core.load_plugin(old)
    assert "Plugin 'weather' uses protocol version 0 (current: 1)." in caplog.text
    assert list(core.plugins) == ["umbrella", "weather"]


def test_a_name_is_loaded_once(core: Entity) -> None:
    first, second = Weather(), Weather()
    core.load_plugin(first)
    with pytest.raises(ValueError, match="Plugin 'weather' is already loaded"):
        core.load_plugin(second)
    assert (second.called, first.called, core.registry.list_ids()) == (
        [],
        ["activate", "register_tools"],
        [FORECAST],
    )
    nameless = Weather()
    nameless.name = " "
    with pytest.raises(ValueError, match="a plugin's name is"):
        core.load_plugin(nameless)


def test_one_that_cannot_be_activated_is_not_loaded(core: Entity, stack: ListStack) -> None:
    plugin = Weather("activate")
    with pytest.raises(RuntimeError, match="no activate today"):
        core.load_plugin(plugin)
    assert (core.plugins, core.registry.list_ids()) == ({}, [])
    assert stack.told[-1] == ("unregister_plugin", "weather")
    with pytest.raises(PluginError, match="is no longer loaded"):
        context_of(plugin).note("still here")


HOOKS: dict[str, Callable[[Entity], object]] = {
    "capabilities": lambda core: core.plugins,
    "on_load": lambda core: core.load(),
    "on_status": lambda core: core.status(),
    "health_check": lambda core: core.status(),
    "register_tools": lambda core: core.status(),
    "deactivate": lambda core: core.unload_plugin("weather"),
}


@pytest.mark.parametrize("hook", HOOKS)
def test_a_plugin_that_fails_in_a_hook_keeps_nobody_from_anything(
    core: Entity, hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    core.load_plugin(Weather(hook))
    umbrella = Umbrella()
    core.load_plugin(umbrella)
    HOOKS[hook](core)
    assert f"plugin weather failed in {hook}: RuntimeError: no {hook} today" in caplog.text
    (record,) = [item for item in caplog.records if item.levelno == logging.WARNING]
    assert vars(record)["error_type"] == "RuntimeError"
    assert core.load()["weather"] == "drizzle"
    assert core.status()["plugins"]["umbrella"]["health"]["healthy"]
    assert core.plugins["umbrella"].capabilities == ["forecasts"]
    if hook in ("health_check", "register_tools"):
        assert core.status()["plugins"]["weather"]["health"] == {
            "healthy": False,
            "message": f"{hook}: RuntimeError: no {hook} today",
        }
    if hook == "deactivate":
        assert list(core.plugins) == ["umbrella"]
        assert core.registry.list_ids() == ["plugin.umbrella.forecast"]


def test_what_a_plugin_says_of_its_failure_is_redacted(
    core: Entity, caplog: pytest.LogCaptureFixture
) -> None:
    class Leaky(Weather):
        def health_check(self) -> PluginHealth:
            raise RuntimeError("password: hunter2secret\nrefused")

    core.load_plugin(Leaky())
    message = core.status()["plugins"]["weather"]["health"]["message"]
    assert "hunter2secret" not in message + caplog.text
    assert message == "health_check: RuntimeError: password: [redacted:keyed_secret] refused"


def test_a_health_that_is_none_is_no_health(core: Entity) -> None:
    class Odd(Weather):
        def health_check(self) -> Any:
            return "fine"

    core.load_plugin(Odd())
    health = core.status()["plugins"]["weather"]["health"]
    assert health == {"healthy": False, "message": "health_check answered with no PluginHealth"}


def test_under_fail_fast_a_plugin_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsers = argparse.ArgumentParser().add_subparsers()
    for fails in ("register_tools", "register_cli"):
        plugin = Weather(fails)
        core = Entity("me", tmp_path, plugin_fail_fast=True)
        with pytest.raises(RuntimeError, match=f"not loaded: {fails}: RuntimeError: no {fails} today"):
            core.load_plugin(plugin, subparsers=parsers)
        assert (core.plugins, core.registry.list_ids(), plugin.called[-1]) == ({}, [], "deactivate")
        core.load_plugin(Weather(fails), subparsers=parsers, fail_fast=False)
        assert list(core.plugins) == ["weather"]
    monkeypatch.setenv("SB_PLUGIN_FAIL_FAST", "true")
    with pytest.raises(PluginError):
        Entity("me", tmp_path).load_plugin(Weather("register_tools"))


def test_commands_are_registered_where_there_is_a_parser_for_them(core: Entity) -> None:
    parser = argparse.ArgumentParser()
    plugin = Weather()
    core.load_plugin(plugin, subparsers=parser.add_subparsers(dest="command"))
    assert parser.parse_args(["weather"]).command == "weather"


def test_stacks_know_which_plugins_may_write_to_them(core: Entity, stack: ListStack) -> None:
    core.load_plugin(Weather())
    later = ListStack("later")
    core.attach_stack(later, set_active=False)
    assert ("register_plugin", "weather") in stack.told
    assert later.told[-1] == ("register_plugin", "weather")
    core.detach_stack("later")
    assert later.told[-2:] == [("unregister_plugin", "weather"), ("on_detach", "me")]
    core.unload_plugin("weather")
    assert stack.told[-1] == ("unregister_plugin", "weather")


def test_whatever_a_plugin_remembers_is_in_its_own_name(core: Entity, stack: ListStack) -> None:
    plugin = Weather()
    core.load_plugin(plugin)
    context = context_of(plugin)
    assert isinstance(context, PluginContext)
    assert (context.core_id, context.active_stack_id, context.plugin_name) == ("me", "mine", "weather")
    more = {"derived_from": ["raw:r"], "context": "sky", "context_tags": ["wet"]}
    context.episode("look outside", "it worked", lessons=["look up"], tags=["sky"], **more)  # type: ignore[arg-type]
    context.belief("it rains", belief_type="observation", confidence=0.6, **more)  # type: ignore[arg-type]
    context.value("dryness", "stay dry", priority=70, **more)  # type: ignore[arg-type]
    context.goal("buy an umbrella", goal_type="commitment", **more)  # type: ignore[arg-type]
    context.note("grey", note_type="observation", speaker="sky", **more)  # type: ignore[arg-type]
    context.drive("curiosity", intensity=0.7, **more)  # type: ignore[arg-type]
    context.relationship("Ada", trust_level=1.0, notes="has an umbrella", **more)  # type: ignore[arg-type]
    context.raw("cloud data")
    assert sorted(stack.kept) == sorted(
        ["episode", "belief", "value", "goal", "note", "drive", "relationship", "raw"]
    )
    for kind, item in stack.kept.items():
        (record,) = item.values()
        if kind == "raw":
            assert record.source == "plugin:weather"
        else:
            assert (record.source_entity, record.derived_from) == ("plugin:weather", ["raw:r"])
            assert (record.context, record.context_tags) == ("sky", ["wet"])
    assert context.get_goals(status="active")[0].title == "buy an umbrella"
    assert context.get_relationships(entity_id="Ada")[0].sentiment == 1
    assert [found.content for found in context.search("rain", record_types=["belief"])] == ["it rains"]
    assert context.trust_set("Ada", "weather", 0.9) is not None
    assert context.trust_get("Ada", domain="weather")[0].dimensions == {"weather": {"score": 0.9}}


def test_without_an_active_stack_a_plugin_writes_and_finds_nothing(core: Entity) -> None:
    plugin = Weather()
    core.load_plugin(plugin)
    core.detach_stack("mine")
    context = context_of(plugin)
    assert context.active_stack_id is None
    written = [
        context.episode("a", "b"),
        context.belief("a"),
        context.value("a", "b"),
        context.goal("a"),
        context.note("a"),
        context.drive("growth"),
        context.relationship("a"),
        context.raw("a"),
        context.trust_set("a", "b", 1),
    ]
    assert written == [None] * 9
    found = [context.search("a"), context.get_relationships(), context.get_goals(), context.trust_get("a")]
    assert found == [[], [], [], []]


def test_a_plugin_has_a_folder_a_configuration_and_secrets_of_its_own(core: Entity, tmp_path: Path) -> None:
    plugin, other = Weather(), Umbrella()
    core.load_plugin(plugin, config={"units": "metric"}, secrets={"key": "s3cret"})
    core.load_plugin(other)
    context = context_of(plugin)
    assert not (tmp_path / "plugins").exists()
    assert context.get_data_dir() == tmp_path / "plugins" / "weather" / "data"
    assert context.get_data_dir().is_dir()
    assert (context.get_config("units"), context.get_config("zoom", 3)) == ("metric", 3)
    assert (context.get_secret("key"), context.get_secret("none")) == ("s3cret", None)
    assert (context_of(other).get_secret("key"), context_of(other).get_config("units")) == (None, None)
    core.unload_plugin("weather")
    assert context.get_secret("key") is None


@pytest.mark.parametrize("name", ["../../escape", "/etc", "a/b", "..", ".hidden", "ü" * 200, "a\0b", "con:1"])
def test_the_folder_of_a_plugin_is_below_plugins_whatever_its_name(
    core: Entity, tmp_path: Path, name: str
) -> None:
    plugin = Weather()
    plugin.name = name
    core.load_plugin(plugin)
    folder = context_of(plugin).get_data_dir()
    assert folder.is_dir()
    assert folder.parent.parent == tmp_path / "plugins"
    assert folder.resolve().is_relative_to(tmp_path.resolve() / "plugins")


def test_a_plugin_that_was_unloaded_speaks_for_the_core_no_more(core: Entity, stack: ListStack) -> None:
    plugin = Weather()
    core.load_plugin(plugin)
    context_of(plugin).note("while it lasted")
    core.unload_plugin("weather")
    for late in (
        lambda: context_of(plugin).note("late"),
        lambda: context_of(plugin).search("rain"),
        lambda: context_of(plugin).trust_set("Ada", "code", 1),
    ):
        with pytest.raises(PluginError, match="plugin weather is no longer loaded"):
            late()
    assert [note.content for note in stack.get_notes()] == ["while it lasted"]


def test_a_plugin_may_remember_something_as_soon_as_it_is_activated(core: Entity, stack: ListStack) -> None:
    class Eager(Weather):
        def activate(self, context: PluginContext) -> None:
            super().activate(context)
            context.note("hello")

    core.load_plugin(Eager())
    assert stack.told[-1] == ("register_plugin", "weather")
    assert stack.get_notes()[0].source_entity == "plugin:weather"


def test_a_core_and_others_may_share_a_registry(tmp_path: Path, core: Entity) -> None:
    shared = Entity("shared", tmp_path, registry=core.registry)
    assert shared.registry is core.registry
    shared.load_plugin(Umbrella())
    core.load_plugin(Weather())
    assert core.registry.list_ids() == ["plugin.umbrella.forecast", FORECAST]
    shared.close()
    assert core.registry.list_ids() == [FORECAST]
