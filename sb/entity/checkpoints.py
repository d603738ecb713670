"""Checkpoints: files that say what a core was composed of, the ten newest of each core.

Source: the core protocol, "Checkpoint save and restore".
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from sb.base.files import write_atomic
from sb.base.sources import Clock, Ids
from sb.base.values.canonical import NotCanonical, canonical_bytes, digest
from sb.base.values.frozen import frozen
from sb.entity.folders import path_part, private_folder
from sb.errors import StoreError
from sb.memory.masking import masked_text, refuse_secret
from sb.protocols import Binding
from sb.protocols.types import parse_datetime

SCHEMA_VERSION = 1
FOLDER = "checkpoints"
KEPT = 10  # of each core
_NAME = re.compile(r"(?P<core>.+)_(?P<at>\d{8}_\d{6}_\d{6})_[0-9a-f]{8}", re.DOTALL)
_AT = "%Y%m%d_%H%M%S_%f"
_LARGEST = 1 << 20
logger = logging.getLogger("sb.entity")


@frozen
class Checkpoint:
    """A composition, as a file has it.

    Args:
        intact: False if the file was changed after it was written.
    """

    checkpoint_id: str
    message: str
    binding: Binding
    created_at: datetime | None
    intact: bool = True


class Checkpoints:
    """The checkpoints in one data folder."""

    def __init__(self, data_dir: Path, clock: Clock, ids: Ids) -> None:
        self.folder = data_dir / FOLDER
        self._clock = clock
        self._ids = ids

    def save(self, binding: Binding, message: str) -> str:
        """Write a checkpoint, and remove those of this core that are older than the newest ten; returns its id.

        Args:
            message: secrets in it are masked.

        Raises:
            StoreError: it cannot be written; there is no half of it then. ValueError: the core's name holds a secret.
        """
        core = path_part(refuse_secret("core_id", binding.core_id))
        now = self._after_newest(core, datetime.fromtimestamp(self._clock.now(), UTC))
        checkpoint_id = f"{core}_{now:{_AT}}_{self._ids.token(4)}"
        document: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "checkpoint_id": checkpoint_id,
            "message": masked_text(message, {}),
            "created_at": now.isoformat(),
            "binding": asdict(binding) | {"created_at": now.isoformat()},
        }
        document["digest"] = _digest(document)
        path = self.folder / f"{checkpoint_id}.json"
        try:
            private_folder(self.folder)
            write_atomic(path, orjson.dumps(document, option=orjson.OPT_INDENT_2))
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from error
        self._retain(core, checkpoint_id)
        return checkpoint_id

    def ids(self, core_id: str | None = None) -> list[str]:
        """The ids of the checkpoints of a core, or of all, the newest first; no file is read."""
        return [name for _, name in sorted(self._named(core_id), reverse=True)]

    def path(self, checkpoint_id: str) -> Path:
        """Its file, whether there is one or not.

        Raises:
            ValueError: it is not a checkpoint id.
        """
        if not _NAME.fullmatch(checkpoint_id) or "/" in checkpoint_id or "\0" in checkpoint_id:
            raise ValueError(f"{checkpoint_id!r} is not a checkpoint id")
        return self.folder / f"{checkpoint_id}.json"

    def _named(self, core_id: str | None) -> list[tuple[str, str]]:
        """Returns the time and id of each checkpoint, both from its file name."""
        core = None if core_id is None else path_part(core_id)
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        found = [_NAME.fullmatch(name.removesuffix(".json")) for name in names if name.endswith(".json")]
        return [
            (match["at"], match[0]) for match in found if match is not None and core in (None, match["core"])
        ]

    def _after_newest(self, core: str, now: datetime) -> datetime:
        """This time, or a moment after the newest checkpoint of the core, which a clock that was ahead may have made."""
        newest = max((at for at, name in self._named(None) if _core_of(name) == core), default="")
        if newest < f"{now:{_AT}}":
            return now
        try:
            return datetime.strptime(newest, _AT).replace(tzinfo=UTC) + timedelta(microseconds=1)
        except (ValueError, OverflowError):  # digits that are no time
            return now

    def _retain(self, core: str, newest: str) -> None:
        try:
            of_core = [name for at, name in sorted(self._named(None)) if _core_of(name) == core]
            others = [name for name in of_core if name != newest]  # it stays, whatever the clock says
            for name in others[: -(KEPT - 1)]:
                (self.folder / f"{name}.json").unlink(missing_ok=True)
        except OSError as error:
            logger.warning("old checkpoints could not be removed: %s", error)


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in a file.

    Raises:
        FileNotFoundError: there is none. ValueError: it is no checkpoint, or one of a newer version.
    """
    with open(path, "rb") as file:
        text = file.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise ValueError(f"{path.name} is too large for a checkpoint")
    try:
        document = orjson.loads(text)
    except ValueError as error:
        raise _odd(path, str(error)) from error
    binding = document.get("binding") if isinstance(document, dict) else None
    if not isinstance(binding, dict):
        raise _odd(path, "no binding in it")
    _check_version(path, document)
    claimed = document.get("digest")
    return Checkpoint(
        str(document.get("checkpoint_id") or path.stem),
        str(document.get("message") or ""),
        _binding(path, binding, upstream="schema_version" not in document),
        _moment(document.get("created_at")),
        claimed == _digest({k: v for k, v in document.items() if k != "digest"})
        if claimed is not None
        else "stack_locations" not in binding,  # files from before there were locations have no digest
    )


def _odd(path: Path, why: str) -> ValueError:
    return ValueError(f"{path.name} is not a checkpoint: {why}")


def _check_version(path: Path, document: Mapping[str, Any]) -> None:
    version = document.get("schema_version")
    if version is None:
        logger.warning("%s has no schema_version: read as version %d", path.name, SCHEMA_VERSION)
    elif isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise _odd(path, f"schema_version is {version!r}")
    elif version > SCHEMA_VERSION:
        raise ValueError(
            f"{path.name} is a checkpoint of version {version}; this SecondBrain reads up to {SCHEMA_VERSION}"
        )


def _binding(path: Path, document: Mapping[str, Any], *, upstream: bool) -> Binding:
    core_id = document.get("core_id")
    if not isinstance(core_id, str) or not core_id.strip():
        raise _odd(path, "its binding has no core_id")
    parts: dict[str, Any] = {}
    kinds = {"model_config": dict, "stacks": dict, "plugins": list, "stack_locations": dict, "metadata": dict}
    for name, kind in kinds.items():
        parts[name] = kind() if document.get(name) is None else document[name]
        if not isinstance(parts[name], kind):
            raise _odd(path, f"{name} of its binding is not a {kind.__name__}")
    if upstream and "active_stack_id" not in document:
        parts["stacks"] = _by_id(parts["stacks"])
    active = document.get("active_stack_id")
    return Binding(
        core_id,
        active_stack_id=active if isinstance(active, str) else None,
        created_at=_moment(document.get("created_at")),
        **parts,
    )


def _by_id(stacks: Mapping[str, Any]) -> dict[str, Any]:
    """Older files name the stack by its alias, where newer ones name the alias by the stack."""
    return {
        stack_id if isinstance(stack_id, str) else alias: alias if isinstance(stack_id, str) else None
        for alias, stack_id in stacks.items()
    }


def _moment(text: Any) -> datetime | None:
    with contextlib.suppress(ValueError):
        return parse_datetime(text) if isinstance(text, str) else None
    return None


def _digest(document: Mapping[str, Any]) -> str:
    try:
        return "sha256:" + digest(canonical_bytes(document))
    except NotCanonical:
        return ""


def _core_of(checkpoint_id: str) -> str:
    found = _NAME.fullmatch(checkpoint_id)
    return found["core"] if found else ""
