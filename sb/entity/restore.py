"""Rebuild a core from a checkpoint, best effort: failures are logged and left out.

A checkpoint names classes only by the entry points of what is installed: no file decides what is imported.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.base.discovery import MODELS, PLUGINS, STACK_COMPONENTS, STACKS, discover, find, load_component
from sb.base.text import plain
from sb.protocols import CoreProtocol, StackComponentProtocol, StackProtocol

if TYPE_CHECKING:
    from sb.entity.checkpoints import Checkpoint

# Of a location: its class and its components by entry points, and the path that is relative to the data folder.
KIND, FILE, COMPONENTS, ENFORCED = "kind", "db_path", "components", "enforce_provenance"
REMOTE = "remote"
_DEFAULT_KIND = "sqlite"
_ANY_MODEL = "llm"  # the adapter that is asked where no entry point has the provider's name
logger = logging.getLogger("sb.entity")


def location_of(stack: StackProtocol, data_dir: Path) -> dict[str, Any]:
    """Returns the class and arguments that open a stack again."""
    describe = getattr(stack, "location", None)
    location: dict[str, Any] = dict(describe()) if callable(describe) else {}
    kind = _kind_of(type(stack))
    if kind is not None:
        location[KIND] = kind
    if FILE in location:
        path = Path(location[FILE]).absolute()
        inside = path.is_relative_to(data_dir.absolute())
        location[FILE] = path.relative_to(data_dir.absolute()).as_posix() if inside else str(path)
    return location


def open_stack(stack_id: str, location: Mapping[str, Any], data_dir: Path) -> StackProtocol:
    """The stack that a location leads to; nothing new is made there.

    Raises:
        ImportError: its class is not installed. ValueError, FileNotFoundError: the location leads to none.
        Whatever the class raises.
    """
    arguments = dict(location)
    kind = arguments.pop(KIND, None)
    if kind is None:
        raise ValueError("the checkpoint names no class for it")
    if kind == _DEFAULT_KIND and FILE not in arguments:
        raise ValueError("it was in memory only")
    if FILE in arguments:
        path = data_dir / str(arguments[FILE])
        if not path.is_file():
            raise FileNotFoundError(f"no file {path}")
        arguments[FILE] = path
    if COMPONENTS in arguments:
        arguments[COMPONENTS] = _components(stack_id, arguments[COMPONENTS])
    stack: StackProtocol = load_component(find(STACKS, kind))(stack_id, **arguments)
    return stack


def _components(stack_id: str, described: Iterable[Any]) -> list[StackComponentProtocol]:
    """The components of these names and arguments; one that cannot be made is left out."""
    found: list[StackComponentProtocol] = []

    def load(component: Any) -> None:
        name, arguments = (
            (component["name"], component["arguments"]) if isinstance(component, dict) else (component, {})
        )
        found.append(load_component(find(STACK_COMPONENTS, name))(**arguments))

    for item in described:
        name = component_name(item)
        _attempt(f"component {name} of stack {stack_id}", lambda made=item: load(made))  # type: ignore[misc]
    return found


def component_name(described: Any) -> str:
    """Returns the name of a component in a location."""
    return str(described.get("name") if isinstance(described, dict) else described)


def rehydrate(core: CoreProtocol, checkpoint: Checkpoint, data_dir: Path) -> list[StackProtocol]:
    """Attach, load and bind what a checkpoint names; returns the stacks that were opened for it.

    A file that was changed after it was written may not turn off that memories have to say what they were made from,
    nor say where they go, nor what components are made with.
    """
    binding = checkpoint.binding
    opened: list[StackProtocol] = []

    def attach(stack_id: str, alias: Any) -> None:
        location = binding.stack_locations.get(stack_id)
        if location is None:  # a file from before there were locations
            logger.warning("no location of stack %s: opened in the configured database", stack_id)
            stack = load_component(find(STACKS, _DEFAULT_KIND))(stack_id)
        else:
            settings = dict(location) if isinstance(location, dict) else {}
            if not checkpoint.intact:
                settings = _plain(settings)
            stack = open_stack(stack_id, settings, data_dir)
        opened.append(stack)
        core.attach_stack(stack, alias=alias if isinstance(alias, str) else None, set_active=False)

    def load(name: str) -> None:
        core.load_plugin(load_component(find(PLUGINS, name))())

    for stack_id, alias in binding.stacks.items():
        _attempt(f"stack {stack_id}", lambda item=stack_id, other=alias: attach(item, other))  # type: ignore[misc]
    active = binding.active_stack_id
    if active is not None:
        _attempt(f"the active stack {active}", lambda: core.set_active_stack(active))
    for name in binding.plugins:
        _attempt(f"plugin {name}", lambda item=name: load(item))  # type: ignore[misc]
    if binding.model_config:
        _attempt("the model", lambda: core.set_model(_model(binding.model_config)))
    return opened


def _plain(location: Mapping[str, Any]) -> dict[str, Any]:
    """A location with no settings but those that come with a stack."""
    settings = {name: value for name, value in location.items() if name not in (ENFORCED, REMOTE)}
    if isinstance(settings.get(COMPONENTS), list):
        settings[COMPONENTS] = [component_name(setting) for setting in settings[COMPONENTS]]
    return settings


def _model(config: Mapping[str, Any]) -> Any:
    provider, model_id = config.get("provider"), config["model_id"]
    names = {component.name for component in discover(MODELS)}
    return load_component(find(MODELS, provider if provider in names else _ANY_MODEL))(model_id)


def _kind_of(stack_class: type) -> str | None:
    """The name under which a class is installed; its module is loaded, since an object of it is there."""
    import sys

    for component in discover(STACKS):
        if getattr(sys.modules.get(component.module), component.attr, None) is stack_class:
            return component.name
    return None


def _attempt(what: str, step: Callable[[], None]) -> None:
    try:
        step()
    except Exception as error:  # noqa: BLE001 - part of an entity is better than none: the log says what is missing
        message = plain(f"{what} was not restored: {type(error).__name__}: {error}", one_line=True)
        logger.warning("%s", message)
