"""Changes of an undo, as a unified diff."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence

from sb.base.text import human_bytes, plain
from sb.store.pack_file import FILE, LINK, Entry, PackReader
from sb.tools.pack_changes import Change

_LARGEST = 1 << 20  # bytes of a file whose lines are compared


def difference(changes: Sequence[Change], reader: PackReader) -> str:
    """A unified diff from the present files to their snapshots; sizes where one is binary or large.

    Raises:
        SBError: a content of the snapshot is damaged.
    """
    return "\n".join(line for change in changes for line in _lines(change, reader))


def _lines(change: Change, reader: PackReader) -> Iterator[str]:
    path = plain(change.path, one_line=True)
    former = _text(_before(change.before, reader))
    present = _text(_now(change.now))
    if former is None or present is None:
        yield f"{path}: {_word(change.now)} -> {_word(change.before)}"
        return
    names = ("/dev/null" if change.now is None else path, "/dev/null" if change.before is None else path)
    found = list(difflib.unified_diff(present, former, *names, lineterm=""))
    yield from (plain(line, one_line=True) for line in found)
    if not found:
        yield f"{path}: {_word(change.now)} -> {_word(change.before)}"


def _before(entry: Entry | None, reader: PackReader) -> bytes | None:
    if entry is None:
        return b""
    return reader.content(entry) if entry.kind == FILE and entry.size <= _LARGEST else None


def _now(entry: Entry | None) -> bytes | None:
    if entry is None:
        return b""
    if entry.kind != FILE or entry.size > _LARGEST:
        return None
    try:
        handle = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            return file.read(_LARGEST + 1)
    except OSError:
        return None


def _text(content: bytes | None) -> list[str] | None:
    """The lines of a text; None for what is none."""
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode().splitlines()
    except UnicodeDecodeError:
        return None


def _word(entry: Entry | None) -> str:
    """A state in a few words."""
    if entry is None:
        return "absent"
    if entry.kind == LINK:
        return f"link to {plain(entry.target, one_line=True)}"
    size = f", {human_bytes(entry.size)}" if entry.kind == FILE else ""
    return f"{entry.kind}{size}, mode {entry.mode:04o}"
