"""The difference of two stored trees of a project: what was at each path that a call changed, for its snapshot."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sb.base.files import is_executable, is_folder, read_regular
from sb.base.text import counted, human_bytes
from sb.base.values.frozen import mutable
from sb.store.pack_file import ABSENT, FILE, FOLDER, LINK, Entry
from sb.store.trees.bounds import Bounds, beyond
from sb.store.trees.git_program import CannotStore, Deadline, Git, entries_of, present
from sb.store.trees.open_calls import StoredTree
from sb.store.trees.part import Part
from sb.store.trees.repository_files import (
    LINKED,
    OPERATIONS,
    Stored,
    changed_paths,
    commits_of,
    names_objects,
)
from sb.store.trees.stashes import STASH, unstored_in

LINK_MODE, FOLDER_MODE, GITLINK_MODE = "120000", "040000", "160000"
_EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the id of an empty tree
_MOST_BELOW = 20_000  # entries of folders that a call made


class Difference(NamedTuple):
    """The changes of one call.

    Args:
        before: each path with its content; "absent" for one that the call made.
        extra: named contents, as `sb.store.packs.PackStore.take` has them: objects that only a removed ref reached.
        unstored: paths that changed and of which no content is stored, with the reason.
    """

    before: tuple[tuple[Entry, bytes], ...]
    extra: Mapping[str, bytes]
    unstored: Mapping[str, str]

    @property
    def changed(self) -> bool:
        return bool(self.before or self.unstored)


class Raw(NamedTuple):
    """One line of `git diff-tree --raw`: modes and ids before and after."""

    mode: str
    new_mode: str
    blob: str
    new_blob: str
    name: str


@mutable
class Comparing:
    """Compares two trees of one project.

    Args:
        git: on the folder that both are stored in.
        index_digest: a digest of what an index of git says is staged, "" if it cannot be read: git also writes one
            again that says the same.
    """

    git: Git
    before: StoredTree
    after: StoredTree
    bounds: Bounds
    deadline: Deadline
    index_digest: Callable[[str], str]
    _entries: dict[str, Entry] = field(default_factory=dict)
    _blobs: dict[str, str] = field(default_factory=dict)
    _unstored: dict[str, str] = field(default_factory=dict)
    _extra: dict[str, bytes] = field(default_factory=dict)
    _made_paths: dict[str, None] = field(default_factory=dict)
    _rules_changed: bool = False
    _into: dict[str, tuple[str, int]] = field(default_factory=dict)

    def compare(self) -> Difference:
        """The difference.

        Raises:
            CannotStore: it is more than the bounds, or cannot be read. TooSlow: it took too long.
        """
        now = {part.work: part for part in self.after.parts}
        known = {part.work for part in self.before.parts}
        for part in (now[work] for work in now.keys() - known):
            for mode, blob, name in entries_of(self.git, part.tree, self.deadline):
                self._into[f"{part.work}/{name}"] = (blob, part.mode(name, mode))
        for part in self.before.parts:
            self._part(part, now.pop(part.work, None))
        gone = {part.tree for part in self.before.parts if not is_folder(part.work)}
        for part in now.values():  # repositories that came into view
            top = f"{part.work}/.git" if self._was_folder(part.work) else part.work
            if not self._made(top, moved=part.tree in gone) and top.endswith("/.git"):
                self._unstored[top] = "is older than the call, and was elsewhere before"
            elif top.endswith("/.git") and (number := self._new_in(part)):
                self._unstored[part.work] = (
                    f"has {counted(number, 'new path')} in it, and became a repository"
                )
        self._note_made()
        self._trim()
        contents = self._contents(set(self._blobs.values()))
        return Difference(tuple(self._with_contents(contents)), self._extra, self._unstored)

    def _part(self, part: Part, after: Part | None) -> None:
        """Compare one work folder; what became of a repository that is gone is seen from its files."""
        gone, made = dict[str, str](), dict[str, str]()
        for raw in self._raw(part, after):
            if raw.new_mode == FOLDER_MODE and raw.mode != FOLDER_MODE:
                made[raw.name] = raw.new_blob
            if raw.mode == FOLDER_MODE and raw.new_mode != FOLDER_MODE:
                gone[raw.name] = raw.blob
            self._file(part, raw)
            self._rules_changed = self._rules_changed or os.path.basename(raw.name) == ".gitignore"
        self._modes(part, after)
        now = after.folders if after else {}
        for name in (*gone, *(name for name in part.folders if name not in now)):
            path = f"{part.work}/{name}"
            if not is_folder(path):
                self._note(Entry(path, FOLDER, part.folder_mode(name)))
        self._folder_modes(part, after, gone)
        known = {*part.folders, *gone}
        new = [
            name for name in (*made, *(name for name in now if name not in known)) if name not in part.folders
        ]
        stored = self._stored_at(part, new)
        for name in new:
            if stored.get(name, ("", ""))[1] != "tree":
                # The same as one that is gone is that one, moved: what is in it is older than the call.
                self._made(f"{part.work}/{name}", moved=made.get(name, "") in gone.values())
        if after is None and not is_folder(part.work):
            self._note(Entry(part.work, FOLDER, part.folder_mode("")))
        if part.objects == f"{part.work}/.git/objects" and not (after and after.objects):
            self._unstored[f"{part.work}/.git"] = "a repository that is gone is not stored"
        else:
            self._repository(part, after)
        self._beside(part, after)
        self._left_out(part, after)

    def _beside(self, part: Part, after: Part | None) -> None:
        """Compare the files that git's index refuses."""
        now = after.beside if after else {}
        for path in changed_paths(part.beside, now):
            before = part.beside.get(path)
            if before is not None:
                is_link = before.mode == LINKED
                self._note(Entry(path, LINK) if is_link else Entry(path, FILE, before.mode), blob=before.blob)
            elif self._is_made_since(path):
                self._made_paths[path] = None

    def _was_folder(self, path: str) -> bool:
        """True for a folder of before: its own times are those of its last entry."""
        for part in self.before.parts:
            name = path.removeprefix(f"{part.work}/")
            if name != path and (
                name in part.folders or self._stored_at(part, [name]).get(name, ("", ""))[1] == "tree"
            ):
                return True
        return False

    def _new_in(self, part: Part) -> int:
        """The number of new files in a folder that became a repository; others may have been ignored there before."""
        owners = [it for it in self.before.parts if part.work.startswith(f"{it.work}/")]
        if not owners:
            return 0
        owner = max(owners, key=lambda it: len(it.work))
        above = len(owner.work) + 1
        listed = entries_of(self.git, part.tree, self.deadline)
        names = [f"{part.work}/{name}"[above:] for _, _, name in listed]
        stored = self._stored_at(owner, names)
        return sum(name not in stored and self._is_made_since(f"{owner.work}/{name}") for name in names)

    def _left_out(self, part: Part, after: Part | None) -> None:
        """Name the files without a stored content that changed."""
        now = after.left_out if after else {}
        for name, left in {**now, **part.left_out}.items():
            path, known = f"{part.work}/{name}", part.left_out.get(name)
            was = known.signature if known else None
            if path not in self._entries and (name not in now or now[name].signature != was):
                self._unstored[path] = left.why

    def _stored_at(self, part: Part, names: Sequence[str]) -> dict[str, tuple[str, str]]:
        """The id and the kind of what was stored under names, "blob" or "tree"; absent ones are left out."""
        asked, found = [name for name in names if "\n" not in name], dict[str, tuple[str, str]]()
        if odd := {name for name in names if "\n" in name}:  # git is asked by lines
            for mode, blob, name in entries_of(self.git, part.tree, self.deadline, "-t"):
                if name in odd and mode != GITLINK_MODE:
                    found[name] = (blob, "tree" if mode == FOLDER_MODE else "blob")
        if not asked:
            return found
        given = b"".join(f"{part.tree}:".encode() + os.fsencode(name) + b"\n" for name in asked)
        output = self.git.run("cat-file", "--batch-check", deadline=self.deadline, given=given)
        lines = [line.rsplit(b" ", 2) for line in output.split(b"\n")]
        pairs = zip(asked, lines, strict=False)
        return found | {
            name: (fields[0].decode(), fields[1].decode())
            for name, fields in pairs
            if len(fields) == 3 and fields[1] in (b"blob", b"tree") and fields[2].isdigit()
        }

    def _raw(self, part: Part, after: Part | None) -> Iterator[Raw]:
        now = after.tree if after else _EMPTY
        if part.tree == now:
            return
        given = ("diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", "--full-index", part.tree, now)
        fields = self.git.run(*given, deadline=self.deadline).split(b"\0")
        for about, name in zip(fields[::2], fields[1::2], strict=False):
            mode, new_mode, blob, new_blob, _ = about.decode().removeprefix(":").split(" ")
            yield Raw(mode, new_mode, blob, new_blob, os.fsdecode(name))

    def _file(self, part: Part, raw: Raw) -> None:
        path = f"{part.work}/{raw.name}"
        if self._into.get(path) == (raw.blob, part.mode(raw.name, raw.mode)):
            return  # its folder has become a repository
        if raw.mode == "000000":
            if raw.new_mode != FOLDER_MODE and self._is_made_since(path):
                self._made_paths[path] = None
        elif raw.mode == LINK_MODE:
            self._note(Entry(path, LINK), blob=raw.blob)
        elif raw.mode not in (FOLDER_MODE, GITLINK_MODE):
            self._note(Entry(path, FILE, part.mode(raw.name, raw.mode)), blob=raw.blob)

    def _modes(self, part: Part, after: Part | None) -> None:
        """Note files whose mode alone changed, in bits that git's trees do not hold."""
        if after is None:
            return
        names = [
            name for name in {**part.modes, **after.modes} if part.modes.get(name) != after.modes.get(name)
        ]
        noted = self._entries.keys() | self._into.keys()
        names = [name for name in names if f"{part.work}/{name}" not in noted]
        for name, (blob, kind) in self._stored_at(part, names).items():
            path = f"{part.work}/{name}"
            if (
                kind == "blob"
            ):  # whether it is executable is as it was, else its content would count as changed
                mode = "100755" if is_executable(path) else "100644"
                self._note(Entry(path, FILE, part.mode(name, mode)), blob=blob)

    def _folder_modes(self, part: Part, after: Part | None, gone: Iterable[str]) -> None:
        """Note folders that are still there with another mode, also those whose files can no longer be seen."""
        if after is None or part.folder_modes is None or after.folder_modes is None:
            return
        names = {**part.folders, **part.folder_modes, **dict.fromkeys(gone)}
        later = [name for name in {**after.folders, **after.folder_modes} if name not in names]
        stored = self._stored_at(part, later)
        names |= {name: None for name in later if name and stored.get(name, ("", ""))[1] == "tree"}
        for name in names:
            path, mode = f"{part.work}/{name}".rstrip("/"), part.folder_mode(name)
            if is_folder(path) and stat.S_IMODE(os.lstat(path).st_mode) != mode:
                self._note(Entry(path, FOLDER, mode))

    def _is_made_since(self, path: str) -> bool:
        """True for a file that is newer than the first tree; an older one only came into view, by other ignore rules."""
        try:
            return os.lstat(path).st_ctime > self.before.at
        except OSError:
            return False

    def _made(self, top: str, *, moved: bool = False) -> bool:
        """Note a folder that the call made with all that is in it; False if something of that is older and was not moved."""
        below = list[str]()
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            if not moved and not self._is_made_since(folder):
                return False
            if moved or not self._rules_changed:  # else it may have been there, ignored and empty
                below.append(folder)
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif moved or self._is_made_since(entry.path):
                        below.append(entry.path)
                    else:
                        return False
            if len(below) > _MOST_BELOW:
                self._unstored[top] = f"was made with more than {_MOST_BELOW} paths in it"
                return True
        self._made_paths |= dict.fromkeys(below)
        return True

    def _note_made(self) -> None:
        """Note the paths that the call made; of a folder with too many of them all stay, and it is named."""
        made = {path for path in self._made_paths if path not in self._entries}
        groups = dict[str, list[str]]()
        for path in made:
            top = path
            while (above := os.path.dirname(top)) in made:
                top = above
            groups.setdefault(top if top != path or is_folder(top) else os.path.dirname(top), []).append(path)
        room = self.bounds.max_paths - sum(map(os.path.lexists, self._entries))
        for folder, paths in sorted(groups.items(), key=lambda group: len(group[1])):
            room -= len(paths)
            if room < 0:
                new = counted(len(paths) - (folder in made), "new path")
                self._unstored[folder] = f"has {new} in it: too many to undo"
            else:
                for path in paths:
                    self._note(Entry(path, ABSENT))

    def _repository(self, part: Part, after: Part | None) -> None:
        """Compare the files of a repository, and take the objects that only refs of before reach.

        Those of a linked worktree that is gone are among the files of its repository.
        """
        now = after.repository if after else self._everywhere()
        changed = changed_paths(
            part.repository, now if after else {p: now[p] for p in part.repository if p in now}
        )
        folders = {os.path.dirname(path) for path in part.repository}
        staying = self._stashes_alone(part, changed)
        for path in changed:
            before = part.repository.get(path)
            if path in staying:
                self._unstored[path] = "names a stash with files that are stored nowhere else, and stays"
            elif before is None:
                self._made_paths[path] = None
                above = os.path.dirname(path)
                if above.endswith(OPERATIONS) and above not in folders:
                    self._made_paths[above] = None  # git takes an empty one for an unfinished operation
                while "/worktrees/" in above and above not in folders:  # or for a worktree
                    self._made_paths[above] = None
                    above = os.path.dirname(above)
            elif not self._says_the_same(path, before.blob):
                self._note(Entry(path, FILE, before.mode), blob=before.blob)
        if after and part.objects and any(names_objects(path) or path.endswith("/index") for path in changed):
            self._take_objects(part, after)

    def _stashes_alone(self, part: Part, changed: Sequence[str]) -> set[str]:
        """The files that name the call's stashes, if one holds files that the tree does not."""
        found = {path for path in changed if path.endswith(STASH)}
        log = next((path for path in found if path.endswith(STASH[1]) and os.path.exists(path)), "")
        if not log or not part.objects:
            return set()
        was = self._contents({part.repository[log].blob}) if log in part.repository else {}
        new = commits_of({log: read_regular(log)}) - commits_of({log: b"".join(was.values())})
        git = Git(self.git.folder, part.work, self.git.index, objects=part.objects)
        with suppress(CannotStore):
            if not unstored_in(new, git, self.deadline, lambda names: self._stored_at(part, names)):
                return set()
        return found | {path for path in changed if path.endswith("/packed-refs")}

    def _everywhere(self) -> dict[str, Stored]:
        """The files of all repositories of now."""
        return {path: stored for part in self.after.parts for path, stored in part.repository.items()}

    def _says_the_same(self, path: str, blob: str) -> bool:
        """True for an index that stages the same though its bytes differ."""
        if not path.endswith("/index") or not os.path.exists(path):
            return False
        with tempfile.NamedTemporaryFile(dir=self.git.folder) as file:
            file.write(self._contents({blob})[blob])
            file.flush()
            digest = self.index_digest(file.name)
        return bool(digest) and digest == self.index_digest(path)

    def _take_objects(self, part: Part, after: Part | None) -> None:
        """Pack the objects that refs and index of before reach and those of now do not."""
        before = self._named_objects(part)
        now = self._named_objects(after) if after else set()
        staged = self._staged(part) - (self._staged(after) if after else set())
        lost = sorted((before - now) | staged)
        if not lost or not os.path.isdir(part.objects):
            return
        git = Git(self.git.folder, part.work, self.git.index, objects=part.objects)
        try:
            known = present(git, (*lost, *now), self.deadline)
            if missing := [name for name in lost if name not in known]:
                raise CannotStore(f"{counted(len(missing), 'object')} removed by the call")
            names = "".join(f"{name}\n" for name in lost)
            names += "".join(f"^{name}\n" for name in sorted(now) if name in known)
            given = ("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset", "--threads=1")
            pack = git.run(*given, deadline=self.deadline, given=names.encode())
            if int.from_bytes(pack[8:12], "big") == 0:
                return
            if len(pack) > self.bounds.max_bytes:
                raise CannotStore(f"it is more than {human_bytes(self.bounds.max_bytes)}")
            self._extra |= self._with_index(pack, part.objects)
        except CannotStore as error:
            self._unstored[part.objects] = f"lost commits that are not kept: {error.message}"

    def _missing(self, part: Part, names: set[str]) -> int:
        """The number of objects that a part's repository has no more."""
        if not names or not os.path.isdir(part.objects):
            return 0
        git = Git(self.git.folder, part.work, self.git.index, objects=part.objects)
        return len(names - present(git, sorted(names), self.deadline))

    def _with_index(self, pack: bytes, objects: str) -> dict[str, bytes]:
        """A pack and its index, by the paths that they get in a repository."""
        with tempfile.TemporaryDirectory(dir=self.git.folder) as folder:
            path = Path(folder) / "objects.pack"
            path.write_bytes(pack)
            name = self.git.run("index-pack", str(path), deadline=self.deadline).decode().split()[-1]
            index = path.with_suffix(".idx").read_bytes()
        return {
            f"{objects}/pack/pack-{name}.{ending}": content
            for ending, content in (("pack", pack), ("idx", index))
        }

    def _named_objects(self, part: Part) -> set[str]:
        named = {path: stored.blob for path, stored in part.repository.items() if names_objects(path)}
        contents = self._contents(set(named.values()))
        return commits_of({path: contents[blob] for path, blob in named.items()})

    def _staged(self, part: Part) -> set[str]:
        """The objects that indexes name, as they were stored."""
        blobs = {stored.blob for path, stored in part.repository.items() if path.endswith("/index")}
        return {name for blob in blobs for name in self._staged_in(part, blob)}

    def _staged_in(self, part: Part, blob: str) -> set[str]:
        """The objects that an index names; none of one that git cannot read alone."""
        with tempfile.NamedTemporaryFile(dir=self.git.folder) as file:
            file.write(self._contents({blob})[blob])
            file.flush()
            git = Git(self.git.folder, part.work, file.name)
            try:
                lines = git.run("ls-files", "-z", "--stage", deadline=self.deadline).split(b"\0")
            except CannotStore:
                return set()
        fields = (line.split(b"\t")[0].decode().split(" ") for line in lines if line)
        return {name for mode, name, _ in fields if mode != GITLINK_MODE}

    def _note(self, entry: Entry, *, blob: str = "") -> None:
        """Note what was at a path."""
        self._entries[entry.path] = entry
        self._blobs.pop(entry.path, None)
        if blob:
            self._blobs[entry.path] = blob

    def _trim(self) -> None:
        """Leave out what is more than the bounds, and name it."""
        sizes = self._sizes(set(self._blobs.values()))
        blobs = {path: self._blobs.get(path, "") for path in self._entries}
        dropped = beyond(self.bounds, blobs, sizes)
        for path in dropped:
            del self._entries[path]
            self._blobs.pop(path, None)
        self._unstored |= dropped

    def _sizes(self, blobs: Iterable[str]) -> dict[str, int]:
        """The sizes of stored contents; those that are missing have none."""
        if not (wanted := sorted(blobs)):
            return {}
        given = "".join(f"{blob}\n" for blob in wanted).encode()
        lines = self.git.run("cat-file", "--batch-check", deadline=self.deadline, given=given).split(b"\n")
        fields = (line.split() for line in lines if line and not line.endswith(b"missing"))
        return {item[0].decode(): int(item[-1]) for item in fields}

    def _contents(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """The contents of blobs.

        Raises:
            CannotStore: they are more than the bounds, or one is missing.
        """
        wanted = sorted(blobs)
        if not wanted:
            return {}
        given = "".join(f"{blob}\n" for blob in wanted).encode()
        if sum(self._sizes(wanted).values()) > self.bounds.max_bytes:
            limit = human_bytes(self.bounds.max_bytes)
            raise CannotStore(f"it changed more than {limit} (undo.call_max_bytes)")
        output, at, contents = self.git.run("cat-file", "--batch", deadline=self.deadline, given=given), 0, {}
        for blob in wanted:
            end = output.index(b"\n", at)
            about = output[at:end].split()
            if len(about) != 3:
                raise CannotStore("a stored content is missing")
            size = int(about[2])
            contents[blob] = output[end + 1 : end + 1 + size]
            at = end + 2 + size
        return contents

    def _with_contents(self, contents: Mapping[str, bytes]) -> Iterator[tuple[Entry, bytes]]:
        for path in sorted(self._entries, key=lambda path: path.split("/")):
            entry = self._entries[path]
            content = contents[self._blobs[path]] if path in self._blobs else b""
            if entry.kind == LINK:
                target = os.fsdecode(content)
                yield entry._replace(target=target, sha256=sha256(content).hexdigest()), b""
            elif entry.kind == FILE:
                yield entry._replace(size=len(content), sha256=sha256(content).hexdigest()), content
            else:
                yield entry, b""
