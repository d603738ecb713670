"""The core of an entity: an id that outlives its parts, and the routing of calls to them.

Source: the core protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.base.text import checked_name
from sb.config import Config, current_config
from sb.entity.checkpoints import FOLDER, Checkpoints, read_checkpoint
from sb.entity.inference import ModelInference
from sb.entity.lifecycle import Lifecycle
from sb.entity.plugins import Plugins, logger, vouch
from sb.entity.restore import location_of, rehydrate
from sb.entity.routing import text
from sb.entity.trust import Trust
from sb.entity.upserts import Upserts
from sb.entity.writes import RoutedWrites
from sb.kernel.registry.registry import ToolRegistry
from sb.protocols import (
    Binding,
    InferenceService,
    ModelProtocol,
    PluginInfo,
    PluginProtocol,
    StackInfo,
    StackProtocol,
    SyncResult,
)
from sb.protocols.types import SearchResult
from sb.store.records.places import GLOBAL, checked_scope


class Entity(RoutedWrites, Upserts, Trust, Lifecycle):
    """One core. It works without a model and without plugins; to remember something it needs an active stack.

    Args:
        core_id: its name, which stays whatever it is composed of.
        data_dir: holds checkpoints and the folders of plugins; by default SB_HOME.
        plugin_fail_fast: whether a plugin whose tools or commands cannot be registered is not loaded at all; by
            default the setting entity.plugin_fail_fast.
        registry: where the tools of plugins are registered, so that an executor of it runs them; by default one of
            its own.
        config: by default that of this process.
        scope: what it reads of its stacks, as a Brain does: this scope, what that includes, and `global`; None for
            every scope, as operators read.

    Raises:
        ValueError: the core_id is empty, or no text; or it is no scope. ConfigError: the configuration is wrong.
    """

    def __init__(
        self,
        core_id: str,
        data_dir: Path | None = None,
        plugin_fail_fast: bool | None = None,
        *,
        registry: ToolRegistry | None = None,
        config: Config | None = None,
        scope: str | None = GLOBAL,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> None:
        super().__init__(checked_name("core_id", core_id), clock, ids)
        self._scope = None if scope is None else checked_scope(scope)
        self._config = config if config is not None else current_config()
        self._data_dir = Path(data_dir) if data_dir is not None else self._config.home.folder
        fail_fast = self._config.entity.plugin_fail_fast
        self._fail_fast = fail_fast if plugin_fail_fast is None else plugin_fail_fast
        self.registry = registry if registry is not None else ToolRegistry(self._config.home.folder)
        self._aliases: dict[str, str | None] = {}
        self._model: ModelProtocol | None = None
        self._inference: InferenceService | None = None
        self._plugins = Plugins(self, self.registry, self._data_dir)
        self._opened: list[StackProtocol] = []

    # Model

    @property
    def model(self) -> ModelProtocol | None:
        return self._model

    def set_model(self, model: ModelProtocol | None) -> None:
        """Bind a model instead of the one before, or none; every attached stack is told."""
        self._model = model
        self._inference = None if model is None else ModelInference(model, self._config.memory)
        for stack in list(self._stacks.values()):
            stack.on_model_changed(self._inference)

    # Stacks

    @property
    def stacks(self) -> dict[str, StackInfo]:
        """The attached stacks, by stack_id."""
        return {
            stack_id: StackInfo(
                stack_id,
                self._aliases[stack_id],
                stack.schema_version,
                stack.get_stats(),
                stack_id == self._active_id,
            )
            for stack_id, stack in self._stacks.items()
        }

    def attach_stack(self, stack: StackProtocol, *, alias: str | None = None, set_active: bool = True) -> str:
        """Attach a stack; returns its stack_id.

        Args:
            alias: what people call it; nothing is addressed by it. set_active: route to it from now on.

        Raises:
            ValueError: a stack of that id is attached. Nothing has changed then.
        """
        stack_id = stack.stack_id
        if stack_id in self._stacks:
            raise ValueError(f"stack {stack_id!r} is already attached")
        stack.on_attach(self._core_id, self._inference)
        read_from = getattr(stack, "read_from", None)  # a stack of another make may have no scopes
        if read_from is not None:
            read_from(self._core_id, self._scope)
        self._stacks[stack_id] = stack
        self._aliases[stack_id] = alias
        if set_active:
            self._active_id = stack_id
        for name in self._plugins.names():
            vouch(stack, name)
        return stack_id

    def detach_stack(self, stack_id: str) -> None:
        """Detach a stack, which goes on by itself; does nothing if there is none of that id."""
        stack = self._stacks.pop(stack_id, None)
        if stack is None:
            return
        del self._aliases[stack_id]
        if self._active_id == stack_id:
            self._active_id = None
        for name in self._plugins.names():
            vouch(stack, name, no_longer=True)
        stack.on_detach(self._core_id)

    def set_active_stack(self, stack_id: str) -> None:
        """Route to another attached stack; ValueError if there is none of that id."""
        if stack_id not in self._stacks:
            raise ValueError(f"no stack {stack_id!r} is attached: {', '.join(self._stacks) or 'none is'}")
        self._active_id = stack_id

    # Plugins

    @property
    def plugins(self) -> dict[str, PluginInfo]:
        """The loaded plugins, by name."""
        return self._plugins.infos()

    def load_plugin(
        self,
        plugin: PluginProtocol,
        *,
        subparsers: Any = None,
        fail_fast: bool | None = None,
        config: Mapping[str, Any] | None = None,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        """Activate a plugin and register its tools, under the ids `plugin.<plugin>.<tool>`.

        Args:
            subparsers: of argparse, for its commands. fail_fast: instead of the core's own.
            config, secrets: what the plugin gets to know through its context; secrets are kept in memory alone.

        Raises:
            ValueError: it wants a newer protocol, has no name, or that of a plugin which is loaded.
            PluginError: under fail_fast, tools or commands could not be registered; it is not loaded then. Otherwise it
                is, and `status` says what is missing.
            Whatever `activate` raises; it is not loaded then.
        """
        self._plugins.load(
            plugin,
            subparsers,
            fail_fast=self._fail_fast if fail_fast is None else fail_fast,
            config=config or {},
            secrets=secrets or {},
            stacks=list(self._stacks.values()),
        )

    def unload_plugin(self, name: str) -> None:
        """Deactivate a plugin and remove its tools, even if it fails at that; what it remembered stays."""
        self._plugins.unload(name, list(self._stacks.values()))

    def discover_plugins(self) -> list[PluginInfo]:
        """The plugins that are installed, loaded or not."""
        return self._plugins.installed()

    # Search, load and status

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        record_types: list[str] | None = None,
        context: str | None = None,
    ) -> list[SearchResult]:
        """Search the active stack; raises NoActiveStackError, or what the stack does."""
        return self._required_stack().search(query, limit=limit, record_types=record_types, context=context)

    def load(self, *, token_budget: int = 8000, context: str | None = None) -> dict[str, Any]:
        """Working memory from the active stack, with what plugins add; raises like `search`."""
        loaded = self._required_stack().load(token_budget=token_budget, context=context)
        self._plugins.tell("on_load", loaded)
        return loaded

    def status(self) -> dict[str, Any]:
        """Report the composition and health of this core, with what plugins add."""
        status: dict[str, Any] = {
            "core_id": self._core_id,
            "model": None if self._model is None else self._model.model_id,
            "stacks": {
                stack_id: {
                    "stack_id": stack_id,
                    "alias": info.alias,
                    "active": info.is_active,
                    "stats": info.stats,
                }
                for stack_id, info in self.stacks.items()
            },
            "plugins": self._plugins.status(),
        }
        self._plugins.tell("on_status", status)
        return status

    def sync(self) -> SyncResult:
        """Synchronise the active stack with its other copies; raises like `search`."""
        return self._required_stack().sync()

    # Checkpoints

    def get_binding(self) -> Binding:
        """Return the current composition."""
        model = self._model
        return Binding(
            self._core_id,
            {} if model is None else {"provider": model.capabilities.provider, "model_id": model.model_id},
            dict(self._aliases),
            self._active_id,
            self._plugins.names(),
            self._now(),
            stack_locations={
                stack_id: location_of(stack, self._data_dir) for stack_id, stack in self._stacks.items()
            },
        )

    def checkpoint(self, message: str = "") -> str:
        """Save the current composition in a file of the folder `checkpoints`; returns its id.

        Raises:
            NoActiveStackError: no stack is active. ValueError: the message is no text. StoreError: the file cannot be written.
        """
        self._required_stack()
        text("message", message)
        return Checkpoints(self._data_dir, self._clock, self._ids).save(self.get_binding(), message)

    @classmethod
    def from_checkpoint(
        cls,
        path: Path,
        *,
        registry: ToolRegistry | None = None,
        config: Config | None = None,
        scope: str | None = GLOBAL,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> Self:
        """The core that a checkpoint describes, as far as its parts can be found; what cannot is logged as a warning.

        Its data folder is the one that the checkpoint's folder lies in. Close it: it opened the stacks.

        Args:
            registry, config, scope, clock, ids: as for a new one.

        Raises:
            FileNotFoundError: there is no such file. ValueError: it is no checkpoint, or of a newer version.
        """
        path = Path(path).absolute()
        checkpoint = read_checkpoint(path)
        if not checkpoint.intact:
            logger.warning("%s was changed after it was written", path.name)
        data_dir = path.parent.parent if path.parent.name == FOLDER else None
        entity = cls(
            checkpoint.binding.core_id,
            data_dir,
            registry=registry,
            config=config,
            scope=scope,
            clock=clock,
            ids=ids,
        )
        entity._opened = rehydrate(entity, checkpoint, entity._data_dir)
        return entity

    def close(self) -> None:
        """Unload the plugins, detach the stacks, and close those that this core opened itself."""
        for name in self._plugins.names():
            self.unload_plugin(name)
        for stack_id in list(self._stacks):
            self.detach_stack(stack_id)
        for stack in self._opened:
            close = getattr(stack, "close", None)
            if close is not None:
                close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
