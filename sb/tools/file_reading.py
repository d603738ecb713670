"""files.read and files.list."""

from __future__ import annotations

import heapq
import os
from typing import Any

from sb.tools.content import byte_limit, to_content
from sb.tools.failures import os_failures_about
from sb.tools.roots import Roots

_MAX_ENTRIES = 1000


class FileReader:
    """The functions of files.read and files.list.

    Args:
        max_bytes: the most that a read returns.
        max_entries: the most that a listing returns.
    """

    def __init__(self, roots: Roots, max_bytes: int, *, max_entries: int = _MAX_ENTRIES) -> None:
        self._roots = roots
        self._max_bytes = max_bytes
        self._max_entries = max_entries

    def read(self, path: str, max_bytes: float | None = None) -> dict[str, Any]:
        """The content of a regular file; raises ToolError."""
        limit = byte_limit(max_bytes, self._max_bytes)
        with self._roots.parent(path) as (folder, name), folder.open_file(name) as fd:
            where = folder.path / name
            with os_failures_about(where), open(fd, "rb", closefd=False) as file:
                content = to_content(file.read(limit + 1), limit)
        return {"path": readable(str(where)), **content.fields()}

    def list(self, path: str = ".") -> dict[str, Any]:
        """The entries of a folder by name; raises ToolError."""
        with self._roots.folder(path) as folder, os_failures_about(folder.path):
            with os.scandir(folder.fd) as found:
                first = heapq.nsmallest(self._max_entries + 1, found, key=lambda entry: entry.name)
            entries = [entry for found in first[: self._max_entries] if (entry := _described(found))]
        return {
            "path": readable(str(folder.path)),
            "entries": entries,
            "truncated": len(first) > self._max_entries,
        }


def readable(name: str) -> str:
    """A file name as valid Unicode: bytes that are not UTF-8 become U+FFFD, since JSON cannot hold them."""
    return os.fsencode(name).decode("utf-8", "replace")


def _described(entry: os.DirEntry[str]) -> dict[str, Any] | None:
    """One entry of a listing; None when it is gone by now."""
    try:
        return _facts(entry)
    except FileNotFoundError:
        return None


def _facts(entry: os.DirEntry[str]) -> dict[str, Any]:
    size = None
    if entry.is_symlink():
        kind = "link"
    elif entry.is_dir(follow_symlinks=False):
        kind = "folder"
    elif entry.is_file(follow_symlinks=False):
        kind, size = "file", entry.stat(follow_symlinks=False).st_size
    else:
        kind = "other"
    return {"name": readable(entry.name), "type": kind, "bytes": size}
