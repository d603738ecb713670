"""Changes of files as the tools of hosts name them: whole contents, replaced texts, patches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sb.base.values.frozen import frozen
from sb.hosts.hooks.calls.fields import decoded, text
from sb.hosts.hooks.event import NativeCall
from sb.hosts.transcripts import blocks
from sb.kernel.calls.call import PATH_FIELDS

_CONTENTS = ("content", "file_text", "contents")
_OLD = ("old_string", "old_str", "oldString", "oldText")
_NEW = ("new_string", "new_str", "newString", "newText")
_EVERY = ("replace_all", "replaceAll", "allow_multiple")
_PATCHES = ("command", "input", "patch", "text", "patchText")
_CHANGES = re.compile(r"(?i)write|edit|create|replace|insert|patch")
_PATCH = "*** Begin Patch"
_HEADER = re.compile(r"[^\S\n]*\*\*\* (Add File|Update File|Delete File|Move to): ?(.*)")


@frozen
class Replacement:
    """One text in place of another.

    Args:
        every: each occurrence of the old one.
    """

    old: str
    new: str
    every: bool = False


@frozen
class Change:
    """Change of one file by a call.

    Args:
        path: as the call names it.
        content: all that the file then holds; None if only parts are replaced.
    """

    path: str
    content: str | None = None
    replacements: tuple[Replacement, ...] = ()

    @property
    def size(self) -> int:
        """Characters."""
        return len(self.content or "") + sum(
            len(replacement.old) + len(replacement.new) for replacement in self.replacements
        )


def changes_of(call: NativeCall) -> list[Change]:
    """The files that a call changes by a file tool or a patch; a command line otherwise says nothing of what it writes."""
    patch = next((value for name in _PATCHES if _PATCH in (value := text(call.args, name))), "")
    if patch:
        return list(_patched(patch))
    path = text(call.args, *PATH_FIELDS)
    if not path or not _CHANGES.search(call.tool):
        return []
    content = next((call.args[name] for name in _CONTENTS if isinstance(call.args.get(name), str)), None)
    if content is not None:
        return [Change(path, _lines(content))]
    edits = list(blocks(decoded(call.args.get("edits")))) or [call.args]
    replacements = tuple(replacement for edit in edits if (replacement := _replacement(edit)) is not None)
    return [Change(path, replacements=replacements)] if replacements else []


def changed_files(call: NativeCall) -> list[str]:
    """The paths of the files that a call changes, also where it does not say how."""
    found = [change.path for change in changes_of(call)]
    if found or not _CHANGES.search(call.tool):
        return found
    path = text(call.args, *PATH_FIELDS)
    return [path] if path else []


def _replacement(edit: dict[str, Any]) -> Replacement | None:
    new = next((edit[name] for name in _NEW if isinstance(edit.get(name), str)), None)
    if new is None:
        return None
    every = any(edit.get(name) is True for name in _EVERY)
    return Replacement(_lines(text(edit, *_OLD)), _lines(new), every)


def _patched(patch: str) -> Iterator[Change]:
    """The changes of a patch in the form of `apply_patch`."""
    path, kind, body, moved = "", "", list[str](), ""
    for line in [*_lines(patch).split("\n"), "*** End Patch"]:
        header = _HEADER.fullmatch(line)
        if header and header[1] == "Move to":
            moved = header[2].strip()
        elif header or line.strip() == "*** End Patch":
            if path:
                yield from _of_file(kind, path, moved, body)
            path, kind = (header[2].strip(), header[1]) if header else ("", "")
            body, moved = [], ""
        else:
            body.append(line)


def _of_file(kind: str, path: str, moved: str, body: list[str]) -> Iterator[Change]:
    if kind == "Add File":
        content = "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))
        yield Change(path, content)
    elif kind == "Update File":
        replacements = tuple(_hunks(body))
        for name in dict.fromkeys(filter(None, (path, moved))):
            yield Change(name, replacements=replacements)


def _hunks(body: list[str]) -> Iterator[Replacement]:
    old, new = list[str](), list[str]()
    for line in [*body, "@@"]:
        if line.startswith("@@"):
            if new and old != new:
                yield Replacement("\n".join(old), "\n".join(new))
            old, new = [], []
        elif not line.startswith("***"):
            if not line.startswith("+"):
                old.append(line[1:])
            if not line.startswith("-"):
                new.append(line[1:])


def _lines(content: str) -> str:
    """A text with line ends as this module compares them."""
    return content.replace("\r\n", "\n")
