"""Reads a git repository's refs and objects from its files: no program is started, and no setting is followed."""

from __future__ import annotations

import mmap
import os
import re
import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha1

from sb.base.files import read_regular

MOST_BYTES = 64 << 20  # of one object
MOST_ENTRIES = 100_000  # of all trees that one question reads
_MOST_DELTAS = 50  # git makes chains of at most 50
_SHA = r"[0-9a-f]{40}"
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFS_DELTA, _REF_DELTA = 6, 7
# Settings with which the working files, the refs or the objects are elsewhere, or in another form.
_ELSEWHERE = re.compile(
    r"(?im)^\s*(?:\[[^\]]*\]\s*)?(?:worktree|worktreeconfig|objectformat|refstorage|partialclone|bare\s*=\s*true)\b|^\s*\[\s*include"
)
FOLDER_MODE, LINK_MODE, REPOSITORY_MODE = 0o040000, 0o120000, 0o160000
Entry = tuple[int, str]  # mode and object


class Unreadable(Exception):
    """A repository, or something in it, that cannot be read here; the message says why."""


def blob_id(content: bytes) -> str:
    """The object id that git gives a file's content."""
    return sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


class Repository:
    """One repository whose `.git` is a folder.

    Args:
        root: real path of the folder that holds `.git`.

    Raises:
        Unreadable: its files are elsewhere, or in a form that is not read.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.folder = f"{root}/.git"
        if os.path.islink(self.folder) or not os.path.isdir(self.folder):
            raise Unreadable(f"{self.folder} is no folder")
        for name in ("commondir", "reftable", "config.worktree", "objects/info/alternates", "shallow.lock"):
            if os.path.lexists(f"{self.folder}/{name}"):
                raise Unreadable(f"{self.folder}/{name} is not followed")
        config = self.text("config")
        if _ELSEWHERE.search(config):
            raise Unreadable("its settings move files or refs")

    def text(self, name: str) -> str:
        """A file of the repository as text; "" if it is absent; raises Unreadable."""
        path = f"{self.folder}/{name}"
        try:
            if os.path.realpath(path) != path:
                raise Unreadable(f"{path} is a link")
            return read_regular(path, 1 << 22).decode("utf-8", "surrogateescape")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return ""
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}") from None

    def head_ref(self) -> str:
        """The ref that HEAD names, or "" if it names a commit."""
        found = re.fullmatch(r"ref: (refs/[^\s]+)\s*", self.text("HEAD"))
        return found[1] if found else ""

    def ref(self, name: str) -> str:
        """The object of a ref by its full name, or ""."""
        found = re.fullmatch(rf"({_SHA})\s*", self.text(name))
        if found:
            return found[1]
        packed = re.search(rf"(?m)^({_SHA}) {re.escape(name)}$", self.text("packed-refs"))
        return packed[1] if packed else ""

    def commit(self, name: str) -> str:
        """The commit that a revision names, "" for none: HEAD, a branch, a tag, a full id, with `~N` and `^`."""
        found = re.fullmatch(r"([\w./@+-]+?)((?:~\d*|\^1?)*)", name)
        if not found or ".." in name or "@{" in name:
            return ""
        steps = sum(int(item[1:] or 1) for item in re.findall(r"~\d*|\^1?", found[2].replace("^1", "^")))
        commit = self._named(found[1])
        for _ in range(min(steps, 1000)):
            commit = next(iter(self.parents(commit)), "") if commit else ""
        return commit

    def _named(self, name: str) -> str:
        if name in ("HEAD", "@"):
            ref = self.head_ref()
            name = self.ref(ref) if ref else self.text("HEAD").strip()
            return name if re.fullmatch(_SHA, name) else ""
        if re.fullmatch(_SHA, name):
            found = name
        else:
            begins = ("", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/")
            full = [begin + name for begin in begins if (begin + name).startswith("refs/")]
            found = next(filter(None, map(self.ref, full)), "")
        for _ in range(5):
            if not found:
                return ""
            kind, content = self.read(found)
            if kind == "commit":
                return found
            target = re.match(rb"object ([0-9a-f]{40})\n", content) if kind == "tag" else None
            found = target[1].decode() if target else ""
        return ""

    def shortened(self, prefix: str) -> str:
        """The one commit whose id begins so, with at least four digits; "" for none or several."""
        if not re.fullmatch("[0-9a-f]{4,39}", prefix):
            return ""
        folder = f"{self.folder}/objects/{prefix[:2]}"
        loose = os.listdir(folder) if os.path.isdir(folder) else []
        found = {prefix[:2] + name for name in loose if name.startswith(prefix[2:])}
        try:
            found.update(name for path in self._packs() for name in _beginning(path, prefix))
        except (OSError, ValueError, struct.error) as error:
            raise Unreadable(f"{self.folder}/objects: {error}") from None
        commits = [name for name in found if self.read(name)[0] == "commit"]
        return commits[0] if len(commits) == 1 else ""

    def parents(self, commit: str) -> list[str]:
        """The parents of a commit; raises Unreadable."""
        header = self.read(commit, "commit")[1].partition(b"\n\n")[0]
        return [line[7:].decode() for line in header.split(b"\n") if line.startswith(b"parent ")]

    def tree_of(self, commit: str) -> str:
        """The tree of a commit; raises Unreadable."""
        found = re.match(rb"tree ([0-9a-f]{40})\n", self.read(commit, "commit")[1])
        if not found:
            raise Unreadable(f"{commit} is no commit")
        return found[1].decode()

    def tree(self, tree: str) -> dict[str, Entry]:
        """The entries of one tree; raises Unreadable."""
        content, at = self.read(tree, "tree")[1], 0
        found: dict[str, Entry] = {}
        while at < len(content):
            space, end = content.index(b" ", at), content.index(b"\0", at)
            name = content[space + 1 : end].decode("utf-8", "surrogateescape")
            found[name] = (int(content[at:space], 8), content[end + 1 : end + 21].hex())
            at = end + 21
        return found

    def files(self, tree: str) -> dict[str, Entry]:
        """All files below a tree, by path; raises Unreadable."""
        found: dict[str, Entry] = {}
        waiting = [("", tree)]
        while waiting:
            above, subtree = waiting.pop()
            for name, (mode, sha) in self.tree(subtree).items():
                if mode == FOLDER_MODE:
                    waiting.append((f"{above}{name}/", sha))
                else:
                    found[above + name] = (mode, sha)
            if len(found) + len(waiting) > MOST_ENTRIES:
                raise Unreadable(f"it has more than {MOST_ENTRIES} files")
        return found

    def entry(self, commit: str, path: str) -> Entry | None:
        """The entry of a path in a commit, None if it has none; raises Unreadable."""
        mode, sha = FOLDER_MODE, self.tree_of(commit)
        for name in path.split("/"):
            found = self.tree(sha).get(name) if mode == FOLDER_MODE else None
            if found is None:
                return None
            mode, sha = found
        return mode, sha

    def read(self, sha: str, kind: str = "") -> tuple[str, bytes]:
        """Kind and content of an object.

        Raises:
            Unreadable: it is absent, damaged, too large, or of another kind than given.
        """
        try:
            found = self._read(sha, 0)
        except (OSError, ValueError, zlib.error, struct.error, IndexError, KeyError) as error:
            raise Unreadable(f"object {sha} cannot be read: {error}") from None
        if kind and found[0] != kind:
            raise Unreadable(f"object {sha} is a {found[0]}, not a {kind}")
        return found

    def loose_path(self, sha: str) -> str:
        """Where an object is, or would be, as a file of its own."""
        return f"{self.folder}/objects/{sha[:2]}/{sha[2:]}"

    def _read(self, sha: str, depth: int) -> tuple[str, bytes]:
        if depth > _MOST_DELTAS:
            raise ValueError("too many deltas")
        try:
            raw = _inflated(read_regular(self.loose_path(sha), MOST_BYTES))
            header, _, content = raw.partition(b"\0")
            return header.split(b" ")[0].decode(), content
        except FileNotFoundError:
            pass
        for name in self._packs():
            offset = _offset(name, bytes.fromhex(sha))
            if offset is not None:
                with open(os.open(f"{name[:-4]}.pack", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                    try:
                        return self._packed(data, offset, depth)
                    finally:
                        data.close()
        raise ValueError("no such object")

    def _packs(self) -> list[str]:
        folder = f"{self.folder}/objects/pack"
        try:
            return [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(".idx")]
        except FileNotFoundError:
            return []

    def _packed(self, data: mmap.mmap, offset: int, depth: int) -> tuple[str, bytes]:
        at, byte = offset + 1, data[offset]
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            byte = data[at]
            size |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
        if size > MOST_BYTES or depth > _MOST_DELTAS:
            raise ValueError("too large")
        if kind == _OFS_DELTA:
            byte = data[at]
            at, back = at + 1, byte & 0x7F
            while byte & 0x80:
                byte = data[at]
                at, back = at + 1, (back + 1) << 7 | (byte & 0x7F)
            base_kind, base = self._packed(data, offset - back, depth + 1)
        elif kind == _REF_DELTA:
            base_kind, base = self._read(data[at : at + 20].hex(), depth + 1)
            at += 20
        else:
            return _KINDS[kind], _inflated(data[at : at + size + 1024 + size // 8])
        return base_kind, _patched(base, _inflated(data[at : at + size + 1024 + size // 8]))


def _inflated(data: bytes) -> bytes:
    decoder = zlib.decompressobj()
    content = decoder.decompress(data, MOST_BYTES)
    if decoder.unconsumed_tail or not decoder.eof:
        raise ValueError("too large, or cut short")
    return content


def _patched(base: bytes, delta: bytes) -> bytes:
    """The object that a delta makes of its base."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = delta[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    if number() != len(base):
        raise ValueError("a delta of another base")
    size = number()
    if size > MOST_BYTES:
        raise ValueError("too large")
    out = bytearray()
    while at < len(delta):
        code = delta[at]
        at += 1
        if code & 0x80:
            start = length = 0
            for bit in range(4):
                if code >> bit & 1:
                    start |= delta[at] << 8 * bit
                    at += 1
            for bit in range(3):
                if code >> 4 + bit & 1:
                    length |= delta[at] << 8 * bit
                    at += 1
            out += base[start : start + (length or 0x10000)]
        elif code:
            out += delta[at : at + code]
            at += code
        else:
            raise ValueError("a delta that is damaged")
    if len(out) != size:
        raise ValueError("a delta that is damaged")
    return bytes(out)


@lru_cache(maxsize=64)
def _index(path: str, mtime: int) -> bytes:
    return read_regular(path)


def _offset(path: str, sha: bytes) -> int | None:
    """Where a pack has an object, by its index of version 2; None if it has not."""
    data = _index(path, os.stat(path).st_mtime_ns)
    if data[:8] != b"\xfftOc\0\0\0\2":
        raise ValueError("an index of an old version")
    fan = struct.unpack_from(">256I", data, 8)
    low, high, count = (fan[sha[0] - 1] if sha[0] else 0), fan[sha[0]], fan[255]
    names = 8 + 1024
    while low < high:
        middle = (low + high) // 2
        found = data[names + 20 * middle : names + 20 * middle + 20]
        if found == sha:
            offsets = names + 24 * count
            offset = int(struct.unpack_from(">I", data, offsets + 4 * middle)[0])
            if offset & 0x80000000:
                return int(struct.unpack_from(">Q", data, offsets + 4 * count + 8 * (offset & 0x7FFFFFFF))[0])
            return offset
        low, high = (middle + 1, high) if found < sha else (low, middle)
    return None


def _beginning(path: str, prefix: str) -> Iterator[str]:
    """The ids in a pack's index of version 2 that begin so."""
    data, first = _index(path, os.stat(path).st_mtime_ns), int(prefix[:2], 16)
    if data[:8] != b"\xfftOc\0\0\0\2":
        raise ValueError("an index of an old version")
    fan = struct.unpack_from(">256I", data, 8)
    for at in range(fan[first - 1] if first else 0, fan[first]):
        name = data[1032 + 20 * at : 1052 + 20 * at].hex()
        if name.startswith(prefix):
            yield name


def reflog(text: str) -> Iterator[str]:
    """The commits that a reflog names, oldest first."""
    for line in text.splitlines():
        found = re.match(rf"{_SHA} ({_SHA}) ", line)
        if not found:
            raise Unreadable("the reflog is damaged")
        yield found[1]
