"""One work folder as it is stored: its files in git's index and trees, and beside them what git has no place for."""

from __future__ import annotations

import functools
import json
import os
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any, NamedTuple

from sb.base.files import is_behind_link
from sb.base.values.frozen import mutable
from sb.errors import StoreCorrupt
from sb.store.trees.excludes import write_excludes
from sb.store.trees.git_program import CannotStore, Deadline, Git, names_of
from sb.store.trees.left_out import (
    CREDENTIAL,
    LARGE,
    ODD_KIND,
    ODD_NAME,
    UNREADABLE,
    UNSTEADY,
    LeftOut,
    failing,
    is_odd,
    left_out_of,
)
from sb.store.trees.mapped import mapped_in
from sb.store.trees.pipes import Pipes
from sb.store.trees.refused_files import MOST_REFUSED, in_git_entry, is_refused
from sb.store.trees.repository_files import (
    Repository,
    Signature,
    Stored,
    repository_signatures,
    signature_of,
    store_files,
    store_repository,
)

_MOST_RECENT = 1000
_BETWEEN_LOOKS = 500  # files, at the clock
_OF_GIT = (".git/config", ".git/info/exclude")  # which are read, and not stored
MOST_FOLDERS = 5000  # without stored files, which are looked at one by one


class Part(NamedTuple):
    """One work folder as it was stored.

    Args:
        work: absolute. tree: the id of git's tree.
        modes: permission bits by relative path, of files that have others than the umask gives.
        folders: permission bits of folders in which no file is stored.
        left_out: by relative path.
        nested: relative paths of repositories in it, which are parts of their own.
        repository: files of its repository, by absolute path.
        objects: the folder of its repository's objects, "" without one.
        mask: of permission bits that files do not have without being in `modes`.
        added: bytes of content that storing it looked at. new_folders: relative paths, with files that came into view;
            neither is kept.
        recent: files that had changed within the second: git, which compares seconds, may miss that their mode changes
            in the same one.
        linked: files with a second name, by which they can change without a word to who watches this one.
        folder_modes: permission bits of folders with stored files, where they are not the usual ones; None for a part
            that was stored without them. "" is the work folder itself.
        beside: files that git's index refuses, by absolute path.
        mapped: files that a program had mapped to write: their times do not tell whether they changed since.
    """

    work: str
    tree: str
    modes: Mapping[str, int]
    folders: Mapping[str, int]
    left_out: Mapping[str, LeftOut]
    nested: Sequence[str]
    repository: Mapping[str, Stored]
    objects: str = ""
    mask: int = 0o022
    added: int = 0
    recent: Sequence[str] = ()
    new_folders: Sequence[str] = ()
    linked: Mapping[str, Signature] = {}
    folder_modes: Mapping[str, int] | None = None
    beside: Mapping[str, Stored] = {}
    mapped: Sequence[str] = ()

    def content(self) -> Part:
        """The part without what says how it was stored."""
        return self._replace(added=0, new_folders=())

    def mode(self, name: str, git_mode: str) -> int:
        """Permission bits of a stored file."""
        return self.modes.get(name, default_mode(self.mask, executable=git_mode == "100755"))

    def folder_mode(self, name: str) -> int:
        """Permission bits of a folder that was there."""
        usual = (self.folder_modes or {}).get(name, 0o777 & ~self.mask)
        return self.folders.get(name, usual)

    def to_json(self) -> bytes:
        return json.dumps(self._asdict(), separators=(",", ":"), sort_keys=True).encode()

    @classmethod
    def from_json(cls, content: bytes) -> Part:
        """The part that was written; raises StoreCorrupt."""
        try:
            fields: dict[str, Any] = json.loads(content)
            fields["left_out"] = {
                name: LeftOut(why, tuple(signature)) for name, (why, signature) in fields["left_out"].items()
            }
            for kind in ("repository", "beside"):
                fields[kind] = {
                    path: Stored(blob, mode, tuple(signature))
                    for path, (blob, mode, signature) in fields.get(kind, {}).items()
                }
            fields["linked"] = {name: tuple(item) for name, item in fields.get("linked", {}).items()}
            return cls(**fields)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreCorrupt(f"a stored tree cannot be read: {error}", "sb undo --purge") from None


class Rules(NamedTuple):
    """The files of a work folder that are stored.

    Args:
        is_secret: whether an absolute path names a file that may hold secrets.
        protected: absolute paths of SecondBrain's own files and folders.
        max_bytes: of one file.
    """

    is_secret: Callable[[str], bool]
    protected: Sequence[str]
    max_bytes: int


def umask() -> int:
    """The mask of this process, which git and most programs share."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def default_mode(mask: int, *, executable: bool) -> int:
    """The permission bits of a file that nobody gave others."""
    return (0o777 if executable else 0o666) & ~mask


@mutable
class PartStoring:
    """Stores one work folder.

    Args:
        git: with the index and the file of patterns of this part.
        before: as it was stored last; None for the first time.
        repository: of the folder, if it has one that can be stored.
        begun: seconds since the epoch, by the clock of files.
        mapped: absolute paths of files that programs have mapped to write.
    """

    git: Git
    rules: Rules
    before: Part | None
    repository: Repository | None
    deadline: Deadline
    begun: float
    mapped: Collection[str] = ()
    _left_out: dict[str, LeftOut] = field(default_factory=dict)
    _folders: dict[str, int] = field(default_factory=dict)
    _nested: list[str] = field(default_factory=list)
    _mask: int = 0o022
    _added: int = 0
    _recent: list[str] = field(default_factory=list)
    _linked: dict[str, Signature] = field(default_factory=dict)
    _refused: dict[str, os.stat_result] = field(default_factory=dict)

    def store(self) -> Part:
        """Store the folder as it is now.

        Raises:
            CannotStore: it cannot be stored. TooSlow: not in this time.
        """
        before, git = self.before, self.git
        self._mask = before.mask if before else self._usual_mask()
        self._linked = dict(before.linked) if before else {}
        self._write_excludes()
        changes = git.start("diff-files", "-z", "--name-only", "--ignore-submodules=all")
        try:
            listed = names_of(self._others("--directory"))
            repository = self._stored_repository()
            changed = names_of(changes.output(self.deadline))
        finally:
            changes.end()
        new = self._new(listed)
        new += self._tracked_though_ignored(repository)
        self._note_git_entry()
        modes = dict(before.modes) if before else {}
        recent = before.recent if before else ()
        mapped = mapped_in(git, self.mapped, self.deadline)
        again = (*before.mapped, *mapped) if before else ()
        self._update_index(again, "--force-remove")  # git would take their times for their contents
        added = self._add(dict.fromkeys((*changed, *new, *recent, *again)), modes)
        tree = before.tree if before and not added else self._write_tree()
        folders = names_of(git.run("ls-tree", "-rdz", "--name-only", tree, deadline=self.deadline))
        if became := [name for name in folders if os.path.lexists(f"{git.work}/{name}/.git")]:
            self._leave_to_parts(became, modes)
            tree = self._write_tree()
        refused = {f"{git.work}/{name}": status for name, status in self._refused.items()}
        known = before.beside if before else {}
        beside = self._count(known, store_files(refused, git, known, self.deadline))
        self._note_odd_kinds()
        known_folders = before.folders.keys() if before else frozenset[str]()
        return Part(
            git.work,
            tree,
            modes,
            self._folders,
            self._left_out,
            self._nested,
            repository,
            f"{self.repository.shared}/objects" if self.repository else "",
            self._mask,
            self._added,
            self._recent[:_MOST_RECENT],
            sorted({os.path.dirname(name) for name in new} | (self._folders.keys() - known_folders)),
            self._linked,
            self._folder_modes(folders),
            beside,
            mapped,
        )

    def is_same(self) -> bool:
        """True if the repository and the patterns are as they were stored last; its files are not looked at."""
        before = self.before
        if before is None or self._write_excludes():
            return False
        watched = {f"{self.git.work}/{name}": signature for name, signature in before.linked.items()}
        watched |= {path: stored.signature for path, stored in before.beside.items()}
        for path, signature in watched.items():
            with suppress(OSError):
                if signature_of(os.lstat(path)) != signature:
                    return False
        known = {path: stored.signature for path, stored in before.repository.items()}
        return known == (repository_signatures(self.repository) if self.repository else {})

    def look_folders(self) -> set[str]:
        """The folders, as absolute paths, in which something is stored or would be."""
        before = self.before
        names = [*names_of(self.git.run("ls-files", "-z", deadline=self.deadline))]
        if before:
            names += [*before.left_out, *(f"{name}/" for name in before.folders)]
            names += [path[len(self.git.work) + 1 :] for path in before.beside]
        found = {""}
        for folder in {os.path.dirname(name) for name in names}:
            while folder not in found:
                found.add(folder)
                folder = os.path.dirname(folder)
        return {f"{self.git.work}/{name}" if name else self.git.work for name in found}

    def _others(self, *options: str) -> bytes:
        return self.git.run(
            "ls-files", "-z", "--others", "--exclude-standard", *options, deadline=self.deadline
        )

    def _stored_repository(self) -> dict[str, Stored]:
        if self.repository is None:
            return {}
        before = self.before.repository if self.before else {}
        return self._count(before, store_repository(self.repository, self.git, before, self.deadline))

    def _count(self, before: Mapping[str, Stored], files: dict[str, Stored]) -> dict[str, Stored]:
        """The files themselves, with their new contents counted."""
        changed = (stored for path, stored in files.items() if before.get(path) != stored)
        self._added += sum(stored.signature[0] for stored in changed)
        return files

    def _note_git_entry(self) -> None:
        """Note the folder's own `.git` where it is not a repository: git names nothing in it."""
        for name, status in in_git_entry(self.git.work):
            if stat.S_ISDIR(status.st_mode):
                self._folders[name] = stat.S_IMODE(status.st_mode)
            else:
                self._note_refused(name, status)

    def _note_refused(self, name: str, status: os.stat_result) -> None:
        """Note a file that git's index refuses, to be stored beside the tree."""
        why = self._not_stored(f"{self.git.work}/{name}", status)
        if not why and len(self._refused) >= MOST_REFUSED:
            why = ODD_NAME
        if why:
            self._left_out[name] = left_out_of(why, status)
        elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            self._refused[name] = status

    def _note_odd_kinds(self) -> None:
        """Note what git does not name: pipes that it waited at, and what stood in the place of a file before."""
        names = [path.removeprefix(f"{self.git.work}/") for path in (self.git.pipes or Pipes("")).known]
        names += [name for name, left in (self.before.left_out if self.before else {}).items() if left.is_odd]
        names += _OF_GIT
        for name in names:
            with suppress(OSError):
                status = os.lstat(f"{self.git.work}/{name}")
                if not self._is_behind(os.path.dirname(name)) and is_odd(status):
                    self._left_out[name] = left_out_of(ODD_KIND, status)

    def _usual_mask(self) -> int:
        """The mask under which the repository was made, so that few files have unusual modes; else the process's."""
        with suppress(OSError):
            if self.repository is not None:
                mode = os.stat(f"{self.repository.folder}/HEAD").st_mode & 0o666
                return 0o777 & ~(mode | (mode & 0o444) >> 2)
        return umask()

    def _new(self, listed: Sequence[str]) -> list[str]:
        """The files that are not stored yet, and note nested repositories and folders without files.

        Args:
            listed: files, and folders in which nothing is stored, with a slash at the end.
        """
        folders = [name for name in listed if name.endswith("/") and not self._is_nested(name[:-1])]
        if not [name for name in folders if self._note_folders(name[:-1])]:
            return [name for name in listed if not name.endswith("/")]
        names = names_of(self._others())
        for name in names:
            if name.endswith("/"):
                self._is_nested(name[:-1])
        # Git looks into a folder whose `.git` leads nowhere; here that is a part of its own.
        nested = tuple(f"{name}/" for name in self._nested)
        return [name for name in names if not name.endswith("/") and not name.startswith(nested)]

    def _is_nested(self, name: str) -> bool:
        if not os.path.lexists(f"{self.git.work}/{name}/.git"):
            return False
        if name not in self._nested:
            self._nested.append(name)
        return True

    def _note_folders(self, top: str) -> bool:
        """Note a folder and those below it; the ones that get stored files are taken out later.

        Returns:
            True if there is something in them besides folders.
        """
        waiting, has_files = [top], False
        while waiting:
            name = waiting.pop()
            if len(self._folders) >= MOST_FOLDERS or self._is_nested(name):
                continue
            with suppress(OSError), os.scandir(f"{self.git.work}/{name}") as entries:
                self._folders[name] = stat.S_IMODE(os.lstat(f"{self.git.work}/{name}").st_mode)
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{name}/{entry.name}")
                    else:
                        has_files = True
        return has_files

    def _tracked_though_ignored(self, repository: Mapping[str, Stored]) -> list[str]:
        """Files that the repository tracks though its patterns ignore them: looked for when its index changed."""
        if self.repository is None:
            return []
        index = f"{self.repository.folder}/index"
        known = self.before.repository.get(index) if self.before else None
        if index not in repository or (known and known.signature == repository[index].signature):
            return []
        git = Git(self.git.folder, self.git.work, index, self.git.excludes, pipes=self.git.pipes)
        with suppress(CannotStore):  # a split or sparse index: what is not ignored is stored anyway
            output = git.run(
                "ls-files", "-z", "--cached", "--ignored", "--exclude-standard", deadline=self.deadline
            )
            return [name for name in names_of(output) if self._is_plain(name)]
        return []

    def _is_plain(self, name: str) -> bool:
        """True for a name of an agent's index that is a file of the work folder, not behind a link."""
        path = f"{self.git.work}/{name}"
        return os.path.lexists(path) and os.path.realpath(os.path.dirname(path)) == os.path.dirname(path)

    def _add(self, names: Mapping[str, None], modes: dict[str, int]) -> bool:
        """Bring names up to date in the index, and their modes; returns whether the index changed."""
        taken, out, gone, behind = list[str](), list[str](), set[str](), list[str]()
        is_behind = functools.cache(self._is_behind)
        for number, name in enumerate(names):
            if number % _BETWEEN_LOOKS == 0:
                self.deadline.left()
            path = f"{self.git.work}/{name}"
            if is_behind(os.path.dirname(name)):
                behind.append(name)  # a link is in the place of its folder
                modes.pop(name, None)
                continue
            try:
                status = os.lstat(path)
            except PermissionError:
                continue  # below a folder that lets nobody in: the folder's mode is what changed
            except OSError:
                status = None
            replaced = status is not None and stat.S_ISDIR(status.st_mode)
            if status is None or replaced:  # it leaves the index; a folder in its place needs force
                (behind if replaced else taken).append(name)
                modes.pop(name, None)
                self._linked.pop(name, None)
                gone.add(name)
                continue
            if is_refused(name, status):
                self._note_refused(name, status)
                out.append(name)
            elif why := self._not_stored(path, status):
                self._left_out[name] = left_out_of(why, status)
                out.append(name)
            elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                taken.append(name)
                self._note_mode(name, status, modes)
        self._update_index(behind, "--force-remove")
        unsteady = failing(taken, lambda some: self._update_index(some, "--add", "--replace", "--remove"))
        for name in unsteady:
            modes.pop(name, None)
            with suppress(OSError):
                self._left_out[name] = left_out_of(UNSTEADY, os.lstat(f"{self.git.work}/{name}"))
        self._update_index(unsteady, "--force-remove")
        if gone:  # folders in which nothing is stored any more come into view
            self._new(names_of(self._others("--directory")))
        if self.before:  # one of them may be in it since it was smaller
            known = {*self.before.left_out, *(path[len(self.git.work) + 1 :] for path in self.before.beside)}
            self._update_index([name for name in out if name not in known], "--force-remove")
        for name in (item for item in taken if item not in gone):
            above = os.path.dirname(name)
            while above:
                self._folders.pop(above, None)
                above = os.path.dirname(above)
        return bool(taken or out or behind)

    def _is_behind(self, folder: str) -> bool:
        """True for a folder, relative, that is reached by a link, be it one that leads to itself."""
        return bool(folder) and is_behind_link(f"{self.git.work}/{folder}")

    def _update_index(self, names: Sequence[str], *options: str) -> None:
        if names:
            with suppress(FileNotFoundError):
                os.unlink(f"{self.git.index}.lock")  # of a git that ended by a signal
            given = b"".join(os.fsencode(name) + b"\0" for name in names)
            self.git.run("update-index", "-z", *options, "--stdin", deadline=self.deadline, given=given)

    def _note_mode(self, name: str, status: os.stat_result, modes: dict[str, int]) -> None:
        modes.pop(name, None)
        mode = stat.S_IMODE(status.st_mode)
        if status.st_ctime >= self.begun - 1:
            self._recent.append(name)
        self._linked.pop(name, None)
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            self._linked[name] = signature_of(status)
        if stat.S_ISREG(status.st_mode):
            self._added += status.st_size
            if mode != default_mode(self._mask, executable=bool(mode & 0o100)):
                modes[name] = mode

    def _not_stored(self, path: str, status: os.stat_result) -> str:
        """The reason to leave a file out; "" for none."""
        if self.rules.is_secret(path):
            return CREDENTIAL
        if stat.S_ISREG(status.st_mode):
            if status.st_size > self.rules.max_bytes:
                return LARGE
            if not os.access(path, os.R_OK):
                return UNREADABLE
        elif is_odd(status):
            return ODD_KIND
        return ""

    def _write_tree(self) -> str:
        return self.git.run("write-tree", "--missing-ok", deadline=self.deadline).decode().strip()

    def _leave_to_parts(self, became: Sequence[str], modes: dict[str, int]) -> None:
        """Take the files of folders that have become repositories out: those are parts of their own."""
        tops = tuple(
            f"{name}/" for name in became if not name.startswith(tuple(f"{item}/" for item in became))
        )
        self._nested += [top[:-1] for top in tops if top[:-1] not in self._nested]
        names = names_of(self.git.run("ls-files", "-z", deadline=self.deadline))
        self._update_index([name for name in names if name.startswith(tops)], "--force-remove")
        for known in (modes, self._linked, self._left_out, self._folders, self._refused):
            for name in [name for name in known if name.startswith(tops)]:
                del known[name]

    def _folder_modes(self, names: Sequence[str]) -> dict[str, int]:
        """Permission bits of the work folder, and unusual ones of folders with stored files: git's trees hold none."""
        modes, usual = {"": stat.S_IMODE(os.lstat(self.git.work).st_mode)}, 0o777 & ~self._mask
        for number, name in enumerate(names):
            if number % _BETWEEN_LOOKS == 0:
                self.deadline.left()
            with suppress(OSError):
                status = os.lstat(f"{self.git.work}/{name}")
                if stat.S_ISDIR(status.st_mode) and (mode := stat.S_IMODE(status.st_mode)) != usual:
                    modes[name] = mode
        return modes

    def _write_excludes(self) -> bool:
        return write_excludes(self.git.excludes, self.git.work, self.repository, self.rules.protected)
