"""Calls that have a stored tree of their project and wait for a second one."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.files import write_atomic
from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.errors import StoreCorrupt, UsageError
from sb.store.packs import KEY
from sb.store.trees.git_program import CannotStore
from sb.store.trees.known_settings import KnownSettings
from sb.store.trees.part import Part
from sb.store.trees.running import young_keys

_AWAITED_S = 600.0


class StoredTree(NamedTuple):
    """A project as it was stored.

    Args:
        project: absolute. at: seconds since the epoch, before the first look, by the clock of files.
        parts: the project, then the repositories in it.
        nested_left_out: repositories in it that are too many to store.
    """

    project: str
    at: float
    parts: tuple[Part, ...]
    nested_left_out: tuple[str, ...] = ()


class OpenCall(NamedTuple):
    """A call that has a stored tree and no report yet.

    Args:
        tree: before it; None where none could be stored. why: the reason of that.
        session: the run of the call.
        overlapping: keys of other calls that were open when it began.
        known: settings that undo may bring back; None for all.
    """

    key: str
    session: str
    tree: StoredTree | None
    why: str = ""
    overlapping: tuple[str, ...] = ()
    known: KnownSettings | None = None


class OpenCalls:
    """The calls of all projects that wait for a second tree, and the parts that trees are made of.

    Args:
        folder: of the trees.
    """

    def __init__(self, folder: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        self.folder = folder
        self._clock = clock

    def begin(self, call: OpenCall, project: str) -> None:
        """Keep the tree of a call until it is reported; a key that is there already is left as it is."""
        path = self._open_path(project, call.key)
        if path.exists():
            return
        home = self.home_of(project)
        fields: dict[str, Any] = {"session": call.session, "why": call.why, "overlapping": call.overlapping}
        fields["known"] = call.known
        if call.tree is not None:
            fields |= self._fields_of(home, call.tree)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomic(path, json.dumps(fields).encode(), durable=False)
        except OSError as error:
            raise CannotStore(f"the tree cannot be stored: {error.strerror or error}") from None

    def call(self, project: str, key: str) -> OpenCall | None:
        """A call that waits for its second tree; None if it does not.

        Raises:
            StoreCorrupt: what was stored of it cannot be read.
        """
        try:
            fields = json.loads(self._open_path(project, key).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StoreCorrupt(f"the stored tree of {key} cannot be read: {error}") from None
        tree = None
        if "parts" in fields:
            parts = tuple(self._read_parts(self.home_of(project), fields["parts"]))
            tree = StoredTree(project, float(fields["at"]), parts, tuple(fields["skipped"]))
        known = KnownSettings.from_json(fields.get("known"))
        return OpenCall(key, fields["session"], tree, fields["why"], tuple(fields["overlapping"]), known)

    def open_keys(self, project: str) -> list[str]:
        """The keys of calls of a project that are not reported; after a day nobody reports one any more."""
        return young_keys(self.home_of(project) / "open", self._clock.now())

    def _is_awaited(self, project: str) -> bool:
        """True while a call with a tree may soon be reported; one that was lost does not hold up others for long."""
        recent = young_keys(self.home_of(project) / "open", self._clock.now(), _AWAITED_S)
        return any("parts" in self._open_fields(project, key) for key in recent)

    def begun_since(self, project: str, key: str, at: float) -> list[str]:
        """The keys of other calls of a project that began after a time and are not reported."""
        result = []
        for other in self.open_keys(project):
            with suppress(OSError):
                if other != key and self._open_path(project, other).stat().st_ctime >= at:
                    result.append(other)
        return result

    def note_next(self, project: str, keys: Collection[str], tree: StoredTree) -> None:
        """Note a tree as the one that ends earlier calls, should no report of them come."""
        fields = self._fields_of(self.home_of(project), tree) if keys else {}
        for key in keys:
            self._change_open(project, key, {"next": fields}, once="next")

    def renew(self, project: str, key: str, tree: StoredTree | None, why: str = "") -> None:
        """Put a later tree in the place of the one before a call, which begins only now; or the reason why there is none.

        Raises:
            OSError: it cannot be written.
        """
        known = self._open_fields(project, key)
        if "parts" in known:
            fields = self._fields_of(self.home_of(project), tree) if tree else {}
            others = {name: item for name, item in known.items() if name not in ("at", "parts", "skipped")}
            body = json.dumps({**others, "why": why, **fields}).encode()
            write_atomic(self._open_path(project, key), body, durable=False)

    def _fields_of(self, home: Path, tree: StoredTree) -> dict[str, Any]:
        parts = [self._write_part(home, part.content()) for part in tree.parts]
        return {"at": tree.at, "parts": parts, "skipped": tree.nested_left_out}

    def next_tree(self, project: str, key: str) -> StoredTree | None:
        """The first tree that was stored after a call's own; None if there is none yet."""
        after = self._open_fields(project, key).get("next")
        if not isinstance(after, dict):
            return None
        parts = tuple(self._read_parts(self.home_of(project), after["parts"]))
        return StoredTree(project, float(after["at"]), parts, tuple(after.get("skipped", ())))

    def note_background(self, project: str, key: str) -> None:
        """Note that a call goes on after its report."""
        self._change_open(project, key, {"background": True}, once="background")

    def is_background(self, project: str, key: str) -> bool:
        """True for a call that goes on after its report."""
        return bool(self._open_fields(project, key).get("background"))

    def _open_fields(self, project: str, key: str) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            result = json.loads(self._open_path(project, key).read_bytes())
            return result if isinstance(result, dict) else {}
        return {}

    def _change_open(self, project: str, key: str, fields: dict[str, Any], *, once: str) -> None:
        if (known := self._open_fields(project, key)) and once not in known:
            with suppress(OSError):
                body = json.dumps(known | fields).encode()
                write_atomic(self._open_path(project, key), body, durable=False)

    def home_of(self, project: str) -> Path:
        """The folder of a project's trees."""
        return self.folder / token(project)

    def _open_path(self, project: str, key: str) -> Path:
        if not KEY.fullmatch(key):
            hint = "use [a-z0-9_.-]+, without a dot at the start"
            raise UsageError(f"{key!r} is no valid snapshot key", hint)
        return self.home_of(project) / "open" / key

    def _read_parts(self, home: Path, names: Any) -> Iterator[Part]:
        for name in names:
            try:
                yield Part.from_json((home / "parts" / str(name)).read_bytes())
            except OSError as error:
                raise StoreCorrupt(f"a stored tree cannot be read: {error}", "sb undo --purge") from None

    def _write_part(self, home: Path, part: Part) -> str:
        content = part.to_json()
        name = sha256(content).hexdigest()
        path = home / "parts" / name
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomic(path, content, durable=False)
        else:
            os.utime(path)  # in use, so that it is not swept
        return name


def token(path: str) -> str:
    """The name of the files of a project or a part of one."""
    return sha256(os.fsencode(path)).hexdigest()[:24]
