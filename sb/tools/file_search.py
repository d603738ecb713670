"""files.search: lines of files that hold a text."""

from __future__ import annotations

import fnmatch
import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from sb.base.text import shorten
from sb.base.values.frozen import frozen, mutable
from sb.kernel.contracts import ToolError
from sb.tools.failures import invalid
from sb.tools.file_reading import readable
from sb.tools.folders import Folder
from sb.tools.roots import Roots

_BINARY_PROBE = 8192  # bytes; a NUL among them marks a binary file
_LINE = 400  # characters of a matching line that are returned
_BEFORE = 120  # of them, characters before the match


LONGEST_GLOB = 256
LONGEST_QUERY = 1024


@frozen
class SearchBounds:
    """Limits of one search.

    Args:
        max_matches: lines returned.
        max_file_bytes: larger files are skipped.
        max_total_bytes: bytes read.
        max_entries: files and folders looked at.
        max_depth: levels of folders below the starting one.
        max_seconds: running time.
    """

    max_matches: int = 200
    max_file_bytes: int = 2**20
    max_total_bytes: int = 64 * 2**20
    max_entries: int = 100_000
    max_depth: int = 32
    max_seconds: float = 10.0


_BOUNDS = SearchBounds()


class FileSearch:
    """The function of files.search."""

    def __init__(self, roots: Roots, *, bounds: SearchBounds = _BOUNDS) -> None:
        self._roots = roots
        self._bounds = bounds

    def search(self, query: str, path: str = ".", glob: str = "*") -> dict[str, Any]:
        """Lines that hold `query`, in the order of paths; raises ToolError."""
        if not query or "\n" in query:
            raise invalid("query must be a text within one line, not empty")
        try:
            needle = query.encode("utf-8")
        except UnicodeEncodeError:
            raise invalid("query is not valid Unicode text") from None
        if len(glob) > LONGEST_GLOB or len(query) > LONGEST_QUERY:
            raise invalid(f"glob may have {LONGEST_GLOB} characters and query {LONGEST_QUERY}")
        run = _Run(self._bounds, needle, glob)
        with self._roots.folder(path) as folder:
            run.walk(folder, 0)
        return {"matches": run.matches, "truncated": run.truncated, "skipped": run.skipped}


@mutable
class _Run:
    """One search under way."""

    bounds: SearchBounds
    needle: bytes
    glob: str
    matches: list[dict[str, Any]] = field(default_factory=list)
    skipped: int = 0
    truncated: bool = False
    _entries: int = 0
    _bytes: int = 0

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.bounds.max_seconds

    def walk(self, folder: Folder, depth: int) -> None:
        try:
            with os.scandir(folder.fd) as found:
                # One more than the bound, so that reaching it is noticed.
                entries = list(itertools.islice(found, self.bounds.max_entries + 1))
        except OSError:
            self.skipped += 1
            return
        for entry in sorted(entries, key=lambda entry: entry.name):
            self._entries += 1
            if self._spent():
                self.truncated = True
                return
            self._visit(folder, entry, depth)

    def _spent(self) -> bool:
        return (
            self.truncated
            or self._entries > self.bounds.max_entries
            or self._bytes >= self.bounds.max_total_bytes
            or time.monotonic() >= self._deadline
        )

    def _visit(self, folder: Folder, entry: os.DirEntry[str], depth: int) -> None:
        try:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith("."):
                    self._descend(folder, entry.name, depth)
            elif entry.is_file(follow_symlinks=False) and fnmatch.fnmatchcase(entry.name, self.glob):
                with folder.open_file(entry.name) as fd:
                    self._search_file(fd, folder, entry.name)
        except (ToolError, OSError):  # protected, unreadable, or gone since it was listed
            self.skipped += 1

    def _descend(self, folder: Folder, name: str, depth: int) -> None:
        if depth >= self.bounds.max_depth:
            self.skipped += 1
            return
        with folder.open_folder(name) as inner:
            self.walk(inner, depth + 1)

    def _search_file(self, fd: int, folder: Folder, name: str) -> None:
        limit = self.bounds.max_file_bytes
        if os.fstat(fd).st_size > limit:
            self.skipped += 1
            return
        with open(fd, "rb", closefd=False) as file:
            data = file.read(limit)
        self._bytes += len(data)
        if b"\0" in data[:_BINARY_PROBE]:
            self.skipped += 1
            return
        for number, text in _matching_lines(data, self.needle):
            if len(self.matches) >= self.bounds.max_matches:
                self.truncated = True
                return
            self.matches.append({"path": readable(str(folder.path / name)), "line": number, "text": text})


def _matching_lines(data: bytes, needle: bytes) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line that holds `needle`; a long line is cut around the match."""
    if needle not in data:
        return
    for number, line in enumerate(data.split(b"\n"), start=1):
        before, hit, _ = line.partition(needle)
        if hit:
            text = line.decode("utf-8", "replace").rstrip("\r")
            start = max(len(before.decode("utf-8", "replace")) - _BEFORE, 0)
            yield number, shorten(("…" if start else "") + text[start:], _LINE)
