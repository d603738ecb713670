"""Watched paths of a project: what no mount can hold, compared after a call and put back.

A path that is not there cannot be mounted, a link names another place, and `.git/config` has to stay writable for git.
What a confined command made of these is moved to SB_HOME/confine/removed, and new keys that run programs are taken out
of git's configuration, before the next call. Confined processes may still run and swap links meanwhile, so that every
path is reached without following any (`no_links`), and what cannot be put back is reported once.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.hosts.confinement import no_links
from sb.hosts.confinement.contents import Contents, contents, contents_with, put_back
from sb.hosts.confinement.git_config import (
    LARGEST,
    Pair,
    Unreadable,
    config_files,
    is_accepted,
    keys_of,
    without,
)
from sb.hosts.confinement.git_leading import bare_head, leading_paths, pointers, wrong_entries
from sb.hosts.confinement.git_leading import former as former_text
from sb.hosts.confinement.profile import PROJECT_SETTINGS, contains, identities
from sb.hosts.confinement.repositories import (
    git_folder_of,
    git_program,
    modules_of,
)

_MOST_SHOWN = 200  # characters of a key's value
_MOST_TEXT = 4 << 20  # bytes of all configurations of a watch
_FAILED = "could not "
_SAW = "saw "


@frozen
class Watch:
    """The watched paths of a project as they were before a call.

    Args:
        settings: hosts' settings, and what leads git elsewhere, to what their link says; "" for what is no link.
        hooks: folders of git's hooks that were there, which the engine holds.
        configs: a file of git's configuration to its text; None for one that is too large to be compared.
        absent: login files and settings that are not there, in folders where a call may make something else.
        held: the folders that every confined process since then finds held in their place, to what they were; one that
            the person has replaced since is another, which those processes can move.
        approved: paths that calls since then were let make. accepted: keys, with their values, that they were let set.
        reported: failures that the agent was told of.
        contents: of settings and hooks.
        started: folders of the project in which hosts were started.
        files: settings that are files, to what they were: a mount goes when a person replaces what it is on.
        pointers: `.git` files of submodules and worktrees inside of the project, to their texts.
    """

    settings: dict[str, str]
    hooks: list[str]
    configs: dict[str, str | None]
    absent: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    approved: list[str] = field(default_factory=list)
    accepted: list[list[str]] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)
    contents: Contents | None = None
    started: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    pointers: dict[str, str] = field(default_factory=dict)

    @property
    def known(self) -> set[str]:
        """Settings and hooks that were there, or that calls were let make."""
        return {*self.settings, *self.hooks, *self.approved}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Watch | None:
        """A watch as it was saved; None for anything else."""
        saved = body.pop("contents", None)
        names = {
            "settings",
            "hooks",
            "configs",
            "absent",
            "held",
            "approved",
            "accepted",
            "reported",
            "started",
        }
        if body.keys() - {"files", "pointers"} != names:
            return None
        return cls(**body, contents=Contents(**saved) if saved else None)


def watch(
    project: str,
    absent: Iterable[str] = (),
    held: Iterable[str] = (),
    copies: Path | None = None,
    started: Sequence[str] = (),
) -> Watch:
    """The watched paths as they are now.

    Args:
        project: its root, real path. absent: more paths, of which those count that are not there.
        held: of the profile of the first confined call. copies: a folder for the contents of settings and hooks,
            where these count. started: folders of the project in which hosts were started.

    Raises:
        OSError: a copy cannot be written.
    """
    missing = [path for path in absent if not os.path.lexists(path)]
    hooks = [folder for folder in _hooks(project) if no_links.is_folder(folder)]
    texts = contents(project, copies, started) if copies is not None else None
    held_now, files = identities(held), _setting_files(project, started)
    more: dict[str, Any] = {"contents": texts, "started": list(started), "files": files}
    more["pointers"] = pointers(project)
    return Watch(_settings(project, started), hooks, _configs(project), missing, held_now, **more)


def also_started(before: Watch, started: Sequence[str]) -> Watch:
    """The watch with more folders in which hosts were started, as these are now."""
    new = [folder for folder in started if folder not in before.started]
    paths = (path for folder in new for path in (*_host_settings(folder), *bare_head(folder)))
    found = {path: no_links.link_text(path) for path in paths}
    return replace(before, settings={**found, **before.settings}, started=[*before.started, *new])


def restore(
    project: str,
    before: Watch,
    removed: Path,
    allowed: Collection[str] = (),
    keys: Collection[Pair] = (),
) -> list[str]:
    """Put back what changed since; returns what was done and what failed for the first time, a clause each.

    Args:
        removed: the folder that takes what was made; it is made where it is missing.
        allowed: paths that a call since then was let change; each stands for itself, and for what is in it if it is a
            host's setting and not `alone`. keys: with their values, that it was let set in git's configuration.
    """
    putting = _Putting(project, before, removed, [*before.approved, *allowed])
    accepted = [*((name, value) for name, value in before.accepted), *keys]
    done = [
        *putting.absent(),
        *putting.settings(),
        *putting.entries(),
        *putting.hooks(),
        *_restored_configs(project, before, removed, accepted),
        *putting.contents(allowed),
        *putting.replaced(),
    ]
    return [clause for clause in dict.fromkeys(done) if clause and clause not in before.reported]


def accept(
    project: str,
    before: Watch,
    done: Collection[str],
    allowed: Collection[str] = (),
    keys: Collection[Pair] = (),
) -> Watch:
    """The watch after a call that was let change something: only what it named counts as there from now on.

    Args:
        done: of `restore`, whose failures are not reported again.

    Raises:
        OSError: a copy cannot be written.
    """
    now = _settings(project, before.started)
    named = [path for path in allowed if _counts(path, project, before.started)]
    entries = {path: link for path, link in now.items() if path in named}
    texts = (
        contents_with(before.contents, named) if before.contents is not None and named else before.contents
    )
    return replace(
        before,
        settings={**before.settings, **entries},
        absent=[path for path in before.absent if path not in allowed],
        pointers={
            **before.pointers,
            **{path: text for path, text in pointers(project).items() if path in allowed},
        },
        approved=list(dict.fromkeys([*before.approved, *named])),
        accepted=[*before.accepted, *(list(pair) for pair in keys if list(pair) not in before.accepted)],
        reported=[*before.reported, *(clause for clause in done if clause.startswith((_FAILED, _SAW)))],
        contents=texts,
    )


class _Putting:
    """The repair that follows one comparison.

    Args:
        approved: paths that calls were let change.
    """

    def __init__(self, project: str, before: Watch, removed: Path, approved: Collection[str]) -> None:
        self._project, self._before, self._removed = project, before, removed
        self._approved = list(dict.fromkeys(approved))

    def absent(self) -> Iterator[str]:
        for path in self._before.absent:
            if path not in self._approved and no_links.status(path) is not None:
                yield self._made(path)

    def settings(self) -> Iterator[str]:
        now, before = _settings(self._project, self._before.started), self._before.settings
        for path, link in now.items():
            if path not in before:
                yield from self._new(path)
            elif link != before[path]:
                yield _moved(
                    path, self._removed, "put {path} back to the link that it was" if before[path] else _MADE
                )
                if before[path]:
                    yield _linked(path, before[path])
        for path, link in before.items():
            if link and path not in now:
                if no_links.status(path) is not None:
                    yield _moved(path, self._removed, "moved {path} away, which was a link")
                yield _linked(path, link) or f"put the link {plain(path, one_line=True)} back"

    def _new(self, path: str) -> Iterator[str]:
        """Move away a setting that was not there, but for what calls were let make of it."""
        if self._is_let(path, self._approved):
            return
        if no_links.is_folder(path) and any(contains(path, place) for place in self._approved):
            for name in no_links.names_in(path):
                yield from self._new(os.path.join(path, name))
            return
        yield self._made(path)
        if (former := self._before.configs.get(path)) is not None:
            yield _put(path, former.encode(errors="surrogateescape"))
        if (text := former_text(path, self._project)) is not None:
            yield _put(path, text)

    def entries(self) -> Iterator[str]:
        """Put back the `.git` files of submodules and worktrees that name a folder of the agent's."""
        for path in wrong_entries(self._project, self._before.pointers):
            if path in self._approved:
                continue
            yield _moved(path, self._removed, "moved {path} away, which leads git elsewhere")
            if text := self._before.pointers.get(path, ""):
                link = text.removeprefix("\0")
                yield _linked(path, link) if link != text else _put(path, os.fsencode(text))

    def hooks(self) -> Iterator[str]:
        for folder in _hooks(self._project):
            if folder in self._before.hooks:
                continue  # the engine holds what is in it, or its contents are compared
            for name in no_links.names_in(folder):
                path = os.path.join(folder, name)
                if (
                    not name.endswith(".sample")
                    and not name.startswith(no_links.ASIDE)
                    and path not in self._approved
                ):
                    yield _moved(path, self._removed, "moved the git hook {path} away")

    def replaced(self) -> Iterator[str]:
        """Name the files that are others now: what runs confined since before can write them, and may have."""
        now = _setting_files(self._project, self._before.started)
        for path, was in self._before.files.items() if self._before.contents is None else ():
            if now.get(path, was) != was and not self._is_let(path, self._approved):
                yield (
                    f"{_SAW}that {plain(path, one_line=True)} was replaced by another file while a program of the agent "
                    "runs, which can write it from then on (the user should compare it, and end that program)"
                )

    def contents(self, allowed: Collection[str]) -> Iterator[str]:
        if self._before.contents is not None:
            yield from put_back(
                self._project,
                self._before.contents,
                lambda path: moved_away(path, self._removed),
                lambda path: self._is_let(path, allowed),
            )

    def _is_let(self, path: str, allowed: Collection[str]) -> bool:
        """True for a path that was named, and for what is in a folder of settings that was named."""
        started = self._before.started
        return any(
            path == place or (contains(place, path) and _counts(place, self._project, started))
            for place in allowed
        )

    def _made(self, path: str) -> str:
        return _moved(path, self._removed, _MADE)


_MADE = "moved {path} away, which only an approved call may create"


def _restored_configs(
    project: str, before: Watch, removed: Path, accepted: Collection[Pair]
) -> Iterator[str]:
    # Also those that were there: more submodules than are looked at could stand before them.
    files = dict.fromkeys((*config_files(project), *before.configs))
    for file in files if git_program() else ():
        link = no_links.link_text(file)
        former = before.configs.get(file, "")
        if former is None or (link and before.settings.get(file) == link):
            continue
        old = former.encode(errors="surrogateescape")
        try:
            text = b"" if link else no_links.read(file, LARGEST + 1)
            if text == old and not link:
                continue
            if link or len(text) > LARGEST:
                yield from _replaced(
                    file, before, removed, "is a link" if link else "is too large to be compared"
                )
                continue
            yield from _without_new(project, file, (text, old), before, removed, accepted)
        except Unreadable:
            yield from _replaced(file, before, removed, "could not be rid of keys that run programs")
        except OSError:
            if no_links.status(file) is not None:
                yield from _replaced(file, before, removed, "cannot be compared")


def _without_new(
    project: str,
    file: str,
    texts: tuple[bytes, bytes],
    before: Watch,
    removed: Path,
    accepted: Collection[Pair],
) -> Iterator[str]:
    """Write a configuration without the keys that run programs and are new in it."""
    text, old = texts
    try:
        former = keys_of(file, old, project)
    except Unreadable:
        former = []
    added = [
        pair
        for pair in keys_of(file, text, project)
        if pair not in former and not is_accepted(pair, accepted)
    ]
    if not added:
        return
    removed.mkdir(mode=0o700, parents=True, exist_ok=True)
    agreed = {name for name, _ in accepted}
    keep = [*(pair for pair in former if pair[0] not in agreed), *accepted]
    clean = without(text, added, keep, removed.parent)
    if any(pair not in former and not is_accepted(pair, accepted) for pair in keys_of(file, clean, project)):
        raise Unreadable
    entry = no_links.status(file)
    no_links.write(file, clean, stat.S_IMODE(entry.st_mode) if entry else 0o644)
    for name in dict.fromkeys(name for name, _ in added):
        value = next(value for key, value in added if key == name)[:_MOST_SHOWN]
        way = plain(f"git config {name} {shlex.quote(value)}", one_line=True)
        ask = (
            f" (`{way}`, in a call of its own, has the user asked; then it stays)"
            if len(value) < _MOST_SHOWN
            else ""
        )
        yield f"took {plain(name, one_line=True)} = {plain(value, one_line=True)} out of {plain(file, one_line=True)}, since it runs a program{ask}"


def _replaced(file: str, before: Watch, removed: Path, reason: str) -> Iterator[str]:
    """Put the whole former text in a configuration's place."""
    yield _moved(file, removed, f"moved {{path}} away, which {reason}")
    if (former := before.configs.get(file)) is not None:
        yield _put(file, former.encode(errors="surrogateescape"))


def _moved(path: str, removed: Path, clause: str) -> str:
    shown = plain(path, one_line=True)
    try:
        return clause.replace("{path}", shown) + moved_away(path, removed)
    except FileNotFoundError:
        return ""  # gone by itself
    except OSError as error:
        return f"{_FAILED}move {shown} away: {error.strerror}"


def _linked(path: str, text: str) -> str:
    try:
        no_links.make_link(path, text)
    except OSError as error:
        return f"{_FAILED}put the link {plain(path, one_line=True)} back: {error.strerror}"
    return ""


def _put(path: str, content: bytes) -> str:
    shown = plain(path, one_line=True)
    try:
        no_links.write(path, content, 0o644)
    except OSError as error:
        return f"{_FAILED}put {shown} back: {error.strerror}"
    return f"put {shown} back to what it was"


def moved_away(path: str, removed: Path) -> str:
    """Move a path into a folder, which is made where it is missing; returns where it is now, in brackets.

    Raises:
        OSError: it cannot be moved, or is reached by a link only.
    """
    return no_links.move(path, removed)


def _settings(project: str, started: Sequence[str]) -> dict[str, str]:
    """Settings of hosts where they count, and what leads git elsewhere, each to its link's text."""
    folders = (project, *started)
    found = [path for folder in folders for path in (*_host_settings(folder), *bare_head(folder))]
    return {path: no_links.link_text(path) for path in (*found, *leading_paths(project))}


def _host_settings(project: str) -> Iterator[str]:
    """The existing settings of hosts, and links in place of folders that hold some; case does not count."""
    for name in no_links.names_in(project):
        path, folded = os.path.join(project, name), name.casefold()
        patterns = [pattern.partition("/") for pattern in PROJECT_SETTINGS]
        tails = {tail for head, _, tail in patterns if fnmatchcase(folded, head)}
        if "" in tails or (tails and no_links.link_text(path)):
            yield path
        elif tails:
            inner = no_links.names_in(path)
            yield from (os.path.join(path, entry) for entry in inner if entry.casefold() in tails)


def _setting_files(project: str, started: Sequence[str]) -> dict[str, str]:
    """The settings of hosts that are files, each to what tells it from another in its place."""
    paths = (path for folder in (project, *started) for path in _host_settings(folder))
    found = ((path, no_links.status(path)) for path in paths)
    return {
        path: f"{result.st_dev}:{result.st_ino}"
        for path, result in found
        if result and stat.S_ISREG(result.st_mode)
    }


def _counts(path: str, project: str, started: Sequence[str] = ()) -> bool:
    """True for a host's setting, git's hooks and what lies in them: a call that named it was judged as changing it."""
    if any(contains(folder, path) for folder in _hooks(project)):
        return True
    root = next((folder for folder in started if contains(folder, path)), project)
    head, _, rest = os.path.relpath(path, root).partition("/")
    patterns = [pattern.partition("/") for pattern in PROJECT_SETTINGS]
    tails = {tail for pattern, _, tail in patterns if fnmatchcase(head.casefold(), pattern)}
    return "" in tails or rest.partition("/")[0].casefold() in tails


def _hooks(project: str) -> list[str]:
    folder = git_folder_of(project)
    return [os.path.join(git, "hooks") for git in (folder, *modules_of(folder))] if folder else []


def _configs(project: str) -> dict[str, str | None]:
    texts: dict[str, str | None] = {}
    left = _MOST_TEXT
    for file in config_files(project):
        try:
            text = no_links.read(file, LARGEST + 1)
        except OSError:
            continue  # a link, or closed: it has no former text
        left -= len(text)
        texts[file] = text.decode(errors="surrogateescape") if len(text) <= LARGEST and left >= 0 else None
    return texts
