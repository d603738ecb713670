"""Probes of "measurable" controls about models and checkpoints."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sb.entity import Entity
from sb.harness.harness import Harness
from sb.harness.probes.boundaries import model_in_release
from sb.harness.probes.failures import refusal
from sb.kernel.harness_audit import Check
from sb.protocols import (
    PROTOCOL_VERSION,
    ModelCapabilities,
    ModelChunk,
    ModelMessage,
    ModelResponse,
    PluginContext,
    PluginHealth,
    ToolDefinition,
)
from sb.protocols.types import Note
from sb.runtime import Runtime
from sb.stack.components import Component

_CORE_LOG = "sb.entity"


def model_routing(h: Harness) -> Iterator[Check]:
    """HA-32."""
    with h.open() as runtime:
        yield _swapped(runtime)
        yield _newer(runtime)
        yield _vectors(runtime)
    yield model_in_release(h)


class _Model:
    """A model that says its name, whatever it is asked."""

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id

    @property
    def capabilities(self) -> ModelCapabilities:
        return ModelCapabilities(self.model_id, "probe", 0)

    def generate(self, messages: list[ModelMessage], **_: Any) -> ModelResponse:
        return ModelResponse(self.model_id)

    def stream(self, messages: list[ModelMessage], **_: Any) -> Iterator[ModelChunk]:
        yield ModelChunk(self.model_id)


class _Asking(Component):
    """A component that asks the model of its stack for its name."""

    name = "asking"

    def asked(self) -> str:
        return self._inference.infer("Who are you?") if self._inference else "nobody"


def _swapped(runtime: Runtime) -> Check:
    """Two models one after the other, then none, as components of two stacks hear them; the core remembers on."""
    entity = runtime.entity("ada")
    asking = [_Asking(), _Asking()]
    for number, item in enumerate(asking):
        entity.attach_stack(runtime.stack(f"shelf {number}", components=[item]), set_active=False)
    heard, bound = [], []
    for model in (_Model("one"), _Model("two"), None):
        entity.set_model(model)
        entity.note(f"bound to {model.model_id if model else 'none'}")
        heard.append([entry.asked() for entry in asking])
        bound.append(entity.get_binding().model_config.get("model_id", "nobody"))
    stack = entity.active_stack
    assert stack is not None  # of this home: the runtime attaches it
    writers = {str(note.source_entity) for note in stack.get_notes()}
    ok = heard == [["one"] * 2, ["two"] * 2, ["nobody"] * 2] and bound == ["one", "two", "nobody"]
    ok &= entity.core_id == "ada" and writers == {"core:ada"}
    seen = "; ".join(
        f"{name} bound, {' and '.join(answers)} heard" for name, answers in zip(bound, heard, strict=True)
    )
    return Check("swapped", ok, f"Entity.set_model: {seen}; all written by {', '.join(sorted(writers))}")


class _Plugin:
    """A plugin that offers one tool, and asks for a version of the protocol."""

    version, description = "1", "greets"

    def __init__(self, name: str, protocol_version: int) -> None:
        self.name, self.protocol_version = name, protocol_version
        self.activated = False

    def capabilities(self) -> list[str]:
        return ["greetings"]

    def activate(self, context: PluginContext) -> None:
        self.activated = True

    def deactivate(self) -> None:
        self.activated = False

    def register_cli(self, subparsers: Any) -> None:
        """Add none."""

    def register_tools(self) -> list[ToolDefinition]:
        return [ToolDefinition("greet", "Say hello", {"type": "object"}, lambda: "hello")]

    def on_load(self, context: dict[str, Any]) -> None:
        """Add nothing."""

    def on_status(self, status: dict[str, Any]) -> None:
        """Add nothing."""

    def health_check(self) -> PluginHealth:
        return PluginHealth(True)

    def handle_cli(self, args: Any, k: Any) -> None:
        """Nothing was added."""

    def cli_commands(self) -> list[str]:
        return []


def _newer(runtime: Runtime) -> Check:
    entity, seen = runtime.entity("bob"), {}
    for name, version in (("older", -1), ("current", 0), ("newer", 1)):
        plugin = _Plugin(name, PROTOCOL_VERSION + version)
        with _warnings() as warned:
            error = refusal(lambda item=plugin: entity.load_plugin(item))  # type: ignore[misc]
        offered = f"plugin.{name}.greet" in runtime.registry
        parts = (name in entity.plugins, plugin.activated, offered)
        state = "loaded" if all(parts) else "half loaded" if any(parts) else error
        seen[name] = f"{state}, warned" if any("protocol version" in item for item in warned) else state
    wanted = {"older": "loaded, warned", "current": "loaded", "newer": "ValueError"}
    evidence = "; ".join(f"one of the {name} protocol {state}" for name, state in seen.items())
    return Check("newer", seen == wanted, f"Entity.load_plugin: {evidence}")


def _vectors(runtime: Runtime) -> Check:
    """Vectors as another model has left them: compared with nothing until maintenance has made them anew."""
    stack = runtime.stack("clinic")
    note = stack.save_note(Note("", "", "The physician examined the patient."))

    def by_meaning() -> bool:
        return note in [result.memory_id for result in stack.search("doctor")]

    found = [by_meaning()]
    with runtime.database.write() as execute:
        execute("UPDATE vectors SET model = 'another'")
    found.append(by_meaning())
    made = [stack.maintenance()["embedding"]["re_indexed"]]
    found.append(by_meaning())
    made.append(stack.maintenance()["embedding"]["re_indexed"])
    ok = found == [True, False, True] and made[0] > 0 and made[1] == 0
    evidence = ", ".join("found" if item else "not found" for item in found)
    return Check("vectors", ok, f"SQLiteStack.maintenance: {made} vectors made anew; by meaning {evidence}")


def checkpoints(h: Harness, runtime: Runtime) -> Check:
    """Of HA-25: the file of a checkpoint as another version has written it."""
    entity = runtime.entity("ada")
    entity.detach_stack("default")  # its components are looked up when it is restored, a tenth of a second
    entity.attach_stack(runtime.stack("shelf", components=[]))
    path = runtime.config.home.folder / "checkpoints" / f"{entity.checkpoint('probe')}.json"
    document = json.loads(path.read_text("utf-8"))
    del document["digest"]  # which another version may not have
    version = document.pop("schema_version")
    path.write_text(json.dumps(document | {"schema_version": version + 1}), "utf-8")
    refused = refusal(lambda: _restored(h, runtime, path))
    path.write_text(json.dumps(document), "utf-8")
    with _warnings() as warned:
        restored = _restored(h, runtime, path)
    has_warning = any("schema_version" in item for item in warned)
    ok = (refused, restored, has_warning) == ("ValueError", "ada with shelf", True)
    seen = f"newer {refused}; without a version {restored}, {'' if has_warning else 'not '}warned of"
    return Check("checkpoint", ok, f"Entity.from_checkpoint: {seen}")


def _restored(h: Harness, runtime: Runtime, path: Path) -> str:
    """The core that a checkpoint restores, and its stack."""
    with Entity.from_checkpoint(path, config=runtime.config, clock=h.clock, ids=h.ids) as entity:
        stack = entity.active_stack
        return f"{entity.core_id} with {stack.stack_id if stack else 'none'}"


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect the warnings of cores; meanwhile nothing else shows them."""
    core_log, heard = logging.getLogger(_CORE_LOG), _Heard()
    former = core_log.level, core_log.propagate
    core_log.addHandler(heard)
    core_log.setLevel(logging.WARNING)
    core_log.propagate = False
    try:
        yield heard.said
    finally:
        core_log.removeHandler(heard)
        core_log.setLevel(former[0])
        core_log.propagate = former[1]
