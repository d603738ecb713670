"""Inventory of a folder: its files and the digests of their contents."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

SKIPPED = frozenset(("__pycache__",))
# Path from a root: size in bytes, SHA-256.
Inventory = dict[str, tuple[int, str]]


def inventory(root: Path, skipped: Collection[str] = SKIPPED) -> Inventory:
    """Every file below a folder, without the skipped names.

    Raises:
        OSError: one cannot be read.
    """
    return {name: content(os.path.join(root, name)) for name in sorted(_names(str(root), skipped))}


def sizes(root: Path, skipped: Collection[str] = SKIPPED) -> list[tuple[str, int, int]]:
    """The same files by size and time of change: quick, but no proof."""
    found = ((name, os.lstat(os.path.join(root, name))) for name in sorted(_names(str(root), skipped)))
    return [(name, status.st_size, status.st_mtime_ns) for name, status in found]


def content(path: str | Path) -> tuple[int, str]:
    """The size and digest of a file; of a link that leads nowhere, of what it says."""
    try:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            return os.fstat(file.fileno()).st_size, found
    except OSError:
        if not os.path.islink(path) or os.path.exists(path):
            raise
    target = os.fsencode(os.readlink(path))
    return len(target), hashlib.sha256(target).hexdigest()


def _names(root: str, skipped: Collection[str]) -> Iterator[str]:
    before = len(os.path.join(root, ""))  # cut off each path: relpath would take a tenth of an install
    for folder, below, files in os.walk(root):
        below[:] = [name for name in below if name not in skipped]
        yield from (os.path.join(folder, name)[before:] for name in files if name not in skipped)


def differences(known: Mapping[str, tuple[int, str]], found: Mapping[str, tuple[int, str]]) -> list[str]:
    """The files that were changed, removed or added, one line each."""
    lines = [
        f"{name} {'is gone' if name not in found else 'was changed'}"
        for name, facts in sorted(known.items())
        if tuple(found.get(name, ())) != tuple(facts)
    ]
    return [*lines, *(f"{name} was added" for name in sorted(found.keys() - known.keys()))]
