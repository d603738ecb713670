"""Settings of a project that were there before programs of an agent ran: undo brings no other ones back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from sb.store.pack_file import ABSENT, FILE, FOLDER, LINK, Entry

_COMMON = b"../.."  # of a worktree, as git writes it


class KnownSettings(NamedTuple):
    """Hosts' settings and what leads git elsewhere, while a program of the agent could make some.

    Args:
        folders: in which settings count. patterns: of hosts' settings there, each with one or two components.
        of_git: what git finds its folder, its hooks and its configuration by, in the first of the folders.
        paths: those that were there, or that calls were let make, to what their link says; "" for what is no link.
    """

    folders: tuple[str, ...]
    patterns: tuple[str, ...]
    of_git: tuple[str, ...]
    paths: Mapping[str, str]

    @classmethod
    def from_json(cls, body: Any) -> KnownSettings | None:
        """Known settings as they were stored; None for none."""
        if not body:
            return None
        folders, patterns, of_git, paths = body
        return cls(tuple(folders), tuple(patterns), tuple(of_git), paths)

    def is_made(self, entry: Entry, content: bytes) -> bool:
        """True for a setting that is not known, as it was before a call."""
        path = entry.path
        if entry.kind == ABSENT or any(self._is_known(known, entry) for known in self.paths):
            return False
        return self._leads_git(entry, content) or any(
            self._is_setting(folder, path, is_link=entry.kind == LINK) for folder in self.folders
        )

    def _is_known(self, known: str, entry: Entry) -> bool:
        if link := self.paths[known]:  # no mount holds one, so that another may be in its place
            return entry.path == known and entry.kind == LINK and entry.target == link
        return _contains(known, entry.path) or (entry.kind == FOLDER and _contains(entry.path, known))

    def _is_setting(self, folder: str, path: str, *, is_link: bool) -> bool:
        if path == folder or not _contains(folder, path):
            return False
        head, _, rest = os.path.relpath(path, folder).casefold().partition("/")
        patterns = (pattern.partition("/") for pattern in self.patterns)
        tails = {tail for pattern, _, tail in patterns if fnmatchcase(head, pattern)}
        return "" in tails or rest.partition("/")[0] in tails or (is_link and not rest and bool(tails))

    def _leads_git(self, entry: Entry, content: bytes) -> bool:
        name = os.path.relpath(entry.path, self.folders[0])
        if entry.kind == FILE and os.path.basename(name) == "commondir":
            return content.strip() != _COMMON
        return (entry.kind == LINK and name in self.of_git) or (entry.kind == FILE and name == ".git")


def known_in_both(first: KnownSettings | None, second: KnownSettings | None) -> KnownSettings | None:
    """The settings that were known both before and after a tree was stored."""
    if first is None or second is None:
        return first or second
    return second._replace(
        paths={path: link for path, link in second.paths.items() if first.paths.get(path) == link}
    )


def _contains(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
