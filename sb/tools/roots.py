"""Resolve an agent's path within the folders that tools may touch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sb.base.text import normal_name
from sb.tools.failures import denied, display, invalid
from sb.tools.folders import (
    FOLDER,
    Folder,
    Identity,
    Protected,
    checked,
    file_identity,
    open_component,
    open_or_make,
)

# Folders above a root may be searchable without being readable: /home of a multi-user machine.
_ABOVE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW


LONGEST_PATH = 4096  # characters
DEEPEST_PATH = 64  # components below a root
NO_ROOTS = "no folder is open to tools (set files.roots)"


def path_parts(path: str) -> tuple[str, ...]:
    """The components of a path, without empty ones and dots.

    Raises:
        ToolError: the path is empty or cannot be a path (VALIDATION_ERROR), or climbs (PERMISSION_DENIED).
    """
    if not path:
        raise invalid("the path is empty")
    if "\0" in path:
        raise invalid("the path contains a NUL character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise invalid("the path contains a character that is not valid in file names") from None
    if len(path) > LONGEST_PATH:
        raise invalid(f"the path is longer than {LONGEST_PATH} characters")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in parts:
        raise denied(f"{display(path)}: '..' is not allowed in a path")
    return parts


def absolute(path: str) -> str:
    """An absolute path whose folder is named without links; the last component is left as it is."""
    folder, name = os.path.split(os.path.abspath(os.path.expanduser(path)))
    return os.path.join(os.path.realpath(folder), name)


class Roots:
    """The folders that file tools may touch.

    Args:
        roots: absolute folders; links in them are resolved now, and never again.
        protected: files and folders that are refused even below a root, such as SB_HOME.
        start: where relative paths start; None for the first root.
    """

    def __init__(
        self, roots: Sequence[Path], protected: Sequence[Path] = (), start: Path | None = None
    ) -> None:
        self._roots = [(root.parts[1:], Path(os.path.realpath(root)).parts[1:]) for root in roots]
        self._start = None if start is None else Path(os.path.realpath(start)).parts[1:]
        self._protected = tuple(protected)

    def __bool__(self) -> bool:
        return bool(self._roots)

    def locate(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The components of the root that a path is below, from /, and those of the path below it.

        Raises:
            ToolError: the path is malformed, climbs, is too deep, or is outside every root.
        """
        root, below = self._located(path, path_parts(path))
        if len(below) > DEEPEST_PATH:
            raise invalid(f"the path has more than {DEEPEST_PATH} components below its root")
        return root, below

    def _located(self, path: str, parts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not self._roots:
            raise denied(NO_ROOTS)
        if not path.startswith("/"):
            if self._start is None:
                return self._roots[0][1], parts
            parts = (*self._start, *parts)
        for configured, resolved in self._roots:
            for prefix in (configured, resolved):
                if parts[: len(prefix)] == prefix:
                    return resolved, parts[len(prefix) :]
        raise denied(f"{display(path)} is outside of files.roots")

    @contextmanager
    def folder(self, path: str) -> Iterator[Folder]:
        """Open the folder that a path names.

        Raises:
            ToolError: PERMISSION_DENIED outside the roots, in a protected folder or through a link; NOT_FOUND;
                VALIDATION_ERROR when it is not a folder.
        """
        root, parts = self.locate(path)
        with self._walk(root, parts, make=False) as folder:
            yield folder

    @contextmanager
    def parent(
        self, path: str, *, make: bool = False, any_depth: bool = False
    ) -> Iterator[tuple[Folder, str]]:
        """Open the folder that contains a path, and return the name in it.

        Args:
            make: make missing folders below the root. any_depth: for a path that was there before, however deep.

        Raises:
            ToolError: as `folder`.
        """
        root, parts = self._located(path, path_parts(path)) if any_depth else self.locate(path)
        if not parts:
            raise invalid(f"{display(path)} is a folder")
        with self._walk(root, parts[:-1], make=make) as folder:
            folder.protected.refuse_place(folder.fd, parts[-1], folder.path / parts[-1])
            yield folder, parts[-1]

    @contextmanager
    def _walk(self, root: tuple[str, ...], parts: tuple[str, ...], *, make: bool) -> Iterator[Folder]:
        protected = self._look_up_protected()
        fd = os.open("/", _ABOVE if root else FOLDER)
        try:
            folder = Folder(fd, Path("/"), protected)
            for depth, name in enumerate(root + parts, start=1):
                if make and depth > len(root):
                    child = open_or_make(folder, name)
                else:
                    child = open_component(folder, name, FOLDER if depth >= len(root) else _ABOVE)
                os.close(fd)
                fd = child
                folder = checked(Folder(fd, folder.path / name, protected))
            yield folder
        finally:
            os.close(fd)

    def _look_up_protected(self) -> Protected:
        """Looked up for every call: what is protected may have been made or replaced since."""
        identities: set[Identity] = set()
        places: set[tuple[Identity, str]] = set()
        for path in self._protected:
            with suppress(FileNotFoundError, NotADirectoryError):
                places.add((file_identity(path.parent.stat()), normal_name(path.name)))
            with suppress(FileNotFoundError, NotADirectoryError):
                identities.add(file_identity(path.stat()))
        folders = tuple(path for path in self._protected if path.is_dir())
        return Protected(frozenset(identities), frozenset(places), folders)
