"""The present composition of a core: read, compare with a checkpoint, restore.

A core is what the newest of its checkpoints says that nobody edited; one without any has the stack `default`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.base.text import nearest, plain
from sb.base.values.frozen import frozen
from sb.base.values.references import full_one
from sb.config import Config
from sb.entity.checkpoints import Checkpoint, Checkpoints, read_checkpoint
from sb.entity.restore import FILE, KIND, component_name, location_of
from sb.errors import CheckFailed, NotFoundError
from sb.log import kinds
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.protocols import Binding
from sb.stack.catalogue import DEFAULT, require_stack
from sb.store.database import Database
from sb.store.records.places import GLOBAL

if TYPE_CHECKING:
    from sb.entity.core import Entity
    from sb.stack import SQLiteStack

CHECKPOINT_RESTORED = "checkpoint.restored"
kinds.register(CHECKPOINT_RESTORED, "A person put a core together again as a checkpoint has it")
LAST = "last"
_ENFORCED = "enforce_provenance"  # of a location: an argument of SQLiteStack


@frozen
class Difference:
    """A part of a composition that is one thing and would be another; None where it is not there."""

    part: str
    before: str | None
    after: str | None


@frozen
class Restored:
    """The result of a restore: the new checkpoint, and the one of the state before."""

    core_id: str
    checkpoint_id: str
    before_id: str
    differences: tuple[Difference, ...]


class Present:
    """The cores of one home, as their newest checkpoints have them.

    Args:
        database: where stacks are that no checkpoint names.
    """

    def __init__(
        self, database: Database, config: Config, *, clock: Clock = SYSTEM_CLOCK, ids: Ids = SYSTEM_IDS
    ) -> None:
        self._database = database
        self._config = config
        self._clock = clock
        self._ids = ids
        self.checkpoints = Checkpoints(config.home.folder, clock, ids)

    def newest(self, core_id: str) -> Checkpoint | None:
        """The checkpoint that says what a core is at present; one that was edited, or is another core's, says nothing.

        Raises:
            CheckFailed: its file cannot be read as one.
        """
        found = (self._read(self.checkpoints.path(name)) for name in self.checkpoints.ids(core_id))
        return next(
            (
                checkpoint
                for checkpoint in found
                if checkpoint.intact and checkpoint.binding.core_id == core_id
            ),
            None,
        )

    def entity(
        self,
        core_id: str,
        stack_ids: tuple[str, ...] = (),
        *,
        looking: bool = False,
        scope: str | None = GLOBAL,
    ) -> Entity:
        """A core as it is at present; close it.

        Args:
            stack_ids: compose it of these stacks alone instead, of which the first is active.
            looking: let a stack that is in no checkpoint of this core belong to whom it does.
            scope: as for `Entity`.

        Raises:
            ValueError: the core_id is empty. NotFoundError: there is no such stack.
            CheckFailed: its newest checkpoint cannot be read.
        """
        from sb.entity.core import Entity

        newest = None if stack_ids else self.newest(core_id)
        if newest is not None:
            path = self.checkpoints.path(newest.checkpoint_id)
            return Entity.from_checkpoint(
                path, config=self._config, scope=scope, clock=self._clock, ids=self._ids
            )
        entity = Entity(core_id, config=self._config, scope=scope, clock=self._clock, ids=self._ids)
        for number, stack_id in enumerate(dict.fromkeys(stack_ids or (DEFAULT,))):
            stack = self._stack(stack_id)
            if looking:
                stack.view_as(core_id, scope)
            entity.attach_stack(stack, set_active=number == 0)
        return entity

    def _stack(self, stack_id: str) -> SQLiteStack:
        from sb.stack import SQLiteStack

        require_stack(self._database, stack_id)
        return SQLiteStack(
            stack_id, database=self._database, config=self._config, clock=self._clock, ids=self._ids
        )

    def binding(self, core_id: str, stack_ids: tuple[str, ...] = ()) -> Binding:
        """Returns the present composition of a core; raises what `entity` does. Nothing is attached."""
        if not core_id.strip():
            raise ValueError("core_id must not be empty")
        newest = None if stack_ids else self.newest(core_id)
        if newest is not None:
            return newest.binding
        stacks = [self._stack(stack_id) for stack_id in dict.fromkeys(stack_ids or (DEFAULT,))]
        folder = self._config.home.folder
        return Binding(
            core_id,
            {},
            {stack.stack_id: None for stack in stacks},
            stacks[0].stack_id,
            stack_locations={stack.stack_id: location_of(stack, folder) for stack in stacks},
        )

    def save(self, core_id: str, message: str, stack_ids: tuple[str, ...] = ()) -> str:
        """Saves a checkpoint of a core's composition; returns its id.

        Raises:
            StoreError: the file cannot be written. Otherwise what `entity` does.
        """
        return self.checkpoints.save(self.binding(core_id, stack_ids), message)

    def find(self, reference: str, core_id: str = "") -> Checkpoint:
        """A checkpoint of this home, or the one in a file of another.

        Args:
            reference: an id, the path of a file, or `last` for the newest: of a core, if one is named.

        Raises:
            NotFoundError: there is none. CheckFailed: it cannot be read as one.
        """
        known = self.checkpoints.ids(core_id or None)
        if reference == LAST and known:
            return self._read(self.checkpoints.path(known[0]))
        reference = full_one(reference, known)
        if reference in known:
            return self._read(self.checkpoints.path(reference))
        if os.path.isfile(reference):  # False too for what can be no path
            return self._read(Path(reference))
        shown = plain(reference, one_line=True)
        raise NotFoundError(f"no checkpoint {shown!r}{nearest(reference, known)}", "sb checkpoint list")

    def changes(self, chosen: Checkpoint) -> tuple[Difference, ...]:
        """Lists what restoring a checkpoint would change."""
        return differences(self.binding(chosen.binding.core_id), chosen.binding)

    def restore(self, log: EventLog, chosen: Checkpoint, *, actor: str, reason: str) -> Restored:
        """Restores a core from a checkpoint, after a checkpoint of its present state.

        Raises:
            CheckFailed: the file was changed after it was written. StoreError: nothing can be written.
        """
        if not chosen.intact:
            raise CheckFailed(
                f"{chosen.checkpoint_id} was changed after it was written",
                "restore another: sb checkpoint list",
            )
        core_id = chosen.binding.core_id
        before = self.binding(core_id)
        before_id = self.checkpoints.save(before, f"before {chosen.checkpoint_id} was restored")
        untrusted = {"by": actor, "reason": reason, "core": core_id, "checkpoint": chosen.checkpoint_id}
        with log.write() as write:
            write.append(CHECKPOINT_RESTORED, untrusted, Subject(agent=core_id), {"before": before_id})
            message = f"restored {chosen.checkpoint_id}: {reason}"
            checkpoint_id = self.checkpoints.save(chosen.binding, message)  # with the log, or not at all
        return Restored(core_id, checkpoint_id, before_id, differences(before, chosen.binding))

    def version(self) -> int:
        """Differs from the last time when a checkpoint was kept or removed since; cheap."""
        try:
            return self.checkpoints.folder.stat().st_mtime_ns
        except OSError:
            return 0

    def readable(self, core_id: str | None = None) -> Iterator[tuple[str, Checkpoint | str]]:
        """The id of every checkpoint, the newest first, and what is in it, or why that cannot be read."""
        for checkpoint_id in self.checkpoints.ids(core_id):
            try:
                yield checkpoint_id, self._read(self.checkpoints.path(checkpoint_id))
            except CheckFailed as error:
                yield checkpoint_id, error.message

    def _read(self, path: Path) -> Checkpoint:
        try:
            return read_checkpoint(path)
        except (OSError, ValueError) as error:
            raise CheckFailed(
                plain(getattr(error, "strerror", None) or error, one_line=True),
                "sb checkpoint list"
                if path.parent != self.checkpoints.folder
                else f"look at {path}, or remove it",
            ) from None


def differences(before: Binding, after: Binding) -> tuple[Difference, ...]:
    """Compares two compositions, part by part."""
    old, new = parts(before), parts(after)
    return tuple(
        Difference(part, old.get(part), new.get(part))
        for part in dict.fromkeys((*old, *new))
        if old.get(part) != new.get(part)
    )


def parts(binding: Binding) -> dict[str, str]:
    """A composition as names and texts."""
    parts = {"core": binding.core_id, "active stack": binding.active_stack_id or "none"}
    model = " ".join(str(binding.model_config.get(name, "")) for name in ("provider", "model_id")).strip()
    parts["model"] = model or "none"
    for stack_id, alias in binding.stacks.items():
        details = [f"known as {alias}"] if alias else []
        parts[f"stack {stack_id}"] = "; ".join([*details, *_where(binding.stack_locations.get(stack_id))])
    return parts | {f"plugin {name}": "loaded" for name in binding.plugins}


def _where(location: Mapping[str, Any] | None) -> Iterator[str]:
    """Describes how a stack is opened again."""
    for name, value in sorted((location or {}).items(), key=lambda item: isinstance(item[1], list)):
        if (name, value) == (KIND, "sqlite"):
            continue  # it goes without saying
        if name == FILE:
            yield f"in {value}"
        elif name == _ENFORCED:
            yield "with provenance" if value else "WITHOUT provenance"
        elif isinstance(value, list):
            yield f"{name}: {', '.join(map(_component, value)) or 'none'}"
        else:
            yield f"{name} {value}"
    if not location:
        yield "nothing is known of where it is"


def _component(described: Any) -> str:
    """A component by its name, and what it was made with."""
    arguments = described.get("arguments") if isinstance(described, dict) else None
    return component_name(described) + (f" {orjson.dumps(arguments).decode()}" if arguments else "")
