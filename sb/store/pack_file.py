"""The file of one pack: blobs, compressed one by one, then the list of what they belong to.

Layout: a first line of JSON (`MAGIC`, key, session, times), the blobs, the index (JSON, compressed), and a trailer of
fixed length that names the index and its SHA-256. A file that was cut short has no trailer and is reported as damaged.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from sb.errors import NotFoundError, SBError

MAGIC = "sb-pack 1"
FILE, LINK, FOLDER, ABSENT, EXTRA = "file", "link", "folder", "absent", "extra"
_END = b"sb-pack-end\n"
_TRAILER = struct.Struct(f">QQ32s{len(_END)}s")  # offset and length of the index, its SHA-256, the end mark
_LONGEST_HEADER = 4096  # bytes
_MOST_INDEX = 64 << 20  # bytes, unpacked: a damaged length must not ask for all memory
_CHUNK = 1 << 20
_TRIED = 32 << 10  # bytes of a blob that show whether compressing it is worth its time
_STORED, _DEFLATED = 0, 1


class Entry(NamedTuple):
    """One path of a pack, or one named blob.

    Args:
        path: absolute; of an extra blob its name.
        kind: "file", "link", "folder", "absent" or "extra".
        mode: permission bits (0 to 0o7777); 0 for what has none.
        size: bytes of content. sha256: of the content, or of a link's target, lower-case hex; "" for others.
        target: of a link, as it was written.
        uid: user and gid: group that owned it; -1 where there is no owner.
    """

    path: str
    kind: str
    mode: int = 0
    size: int = 0
    sha256: str = ""
    target: str = ""
    uid: int = -1
    gid: int = -1


class Header(NamedTuple):
    """The first line of a pack.

    Args:
        session: the run that it was taken in.
        taken, until: seconds since the epoch; it is not removed by itself before `until`.
    """

    key: str
    session: str
    taken: float
    until: float

    def line(self) -> bytes:
        """The line as it is written."""
        fields = {"key": self.key, "session": self.session, "taken": self.taken, "until": self.until}
        return f"{MAGIC} {json.dumps(fields)}\n".encode()


class Pack(NamedTuple):
    """The entries of a pack, without contents.

    Args:
        entries: every path, parents before their contents.
        extra: named blobs.
        stored_bytes: size of the file.
    """

    header: Header
    entries: tuple[Entry, ...]
    extra: Mapping[str, Entry]
    stored_bytes: int

    @property
    def size(self) -> int:
        """Bytes of all contents, not compressed."""
        return sum(entry.size for entry in (*self.entries, *self.extra.values()))


Blob = tuple[int, int, int]  # offset, length as stored, how it is stored


class PackWriter:
    """Writes one pack into an open file.

    Args:
        file: empty, writable and seekable.
    """

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file = file
        self._header = header
        self._blobs: dict[str, Blob] = {}
        self._at = file.write(header.line())

    def whole(self, content: bytes) -> str:
        """Add a blob that is in memory, once; returns its SHA-256 as hex."""
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 not in self._blobs:
            method = _method(content)
            packed = content
            if method == _DEFLATED:
                packer = zlib.compressobj(1, zlib.DEFLATED, -15)
                packed = packer.compress(content) + packer.flush()
            self._file.write(packed)
            self._add(sha256, len(packed), method)
        return sha256

    def chunks(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Add a blob chunk by chunk; returns its SHA-256 as hex, and its size in bytes."""
        hashed, size, stored, packer = hashlib.sha256(), 0, 0, None
        for number, chunk in enumerate(chunks):
            if not number and _method(chunk) == _DEFLATED:
                packer = zlib.compressobj(1, zlib.DEFLATED, -15)
            hashed.update(chunk)
            size += len(chunk)
            stored += self._file.write(packer.compress(chunk) if packer else chunk)
        if packer:
            stored += self._file.write(packer.flush())
        sha256 = hashed.hexdigest()
        if sha256 in self._blobs:
            self._file.seek(self._at)
            self._file.truncate()
        else:
            self._add(sha256, stored, _DEFLATED if packer else _STORED)
        return sha256, size

    def finish(self, entries: Iterable[Entry], extra: Mapping[str, Entry]) -> Pack:
        """Write the index and the trailer; the file is complete then."""
        entries = tuple(entries)
        index = {
            "entries": [_row(entry) for entry in entries],
            "extra": [_row(entry) for entry in extra.values()],
            "blobs": self._blobs,
        }
        packed = zlib.compress(json.dumps(index, separators=(",", ":")).encode(), 1)
        self._file.write(packed)
        digest = hashlib.sha256(packed).digest()
        self._file.write(_TRAILER.pack(self._at, len(packed), digest, _END))
        stored = self._at + len(packed) + _TRAILER.size
        return Pack(self._header, entries, dict(extra), stored)

    def _add(self, sha256: str, stored: int, method: int) -> None:
        self._blobs[sha256] = (self._at, stored, method)
        self._at += stored


def _method(begin: bytes) -> int:
    """The method for content that begins like this: images and archives only grow when compressed."""
    tried = begin[:_TRIED]
    if len(begin) <= _TRIED:
        return _DEFLATED if begin else _STORED
    return _DEFLATED if len(zlib.compress(tried, 1)) < 0.95 * len(tried) else _STORED


def _row(entry: Entry) -> list[Any]:
    return [
        entry.path,
        entry.kind,
        entry.mode,
        entry.size,
        entry.sha256,
        entry.target,
        entry.uid,
        entry.gid,
    ]


class PackReader:
    """Reads one pack; the file is open inside the context.

    Raises:
        NotFoundError: no such file.
        SBError: it is damaged.
    """

    def __init__(self, path: Path, key: str) -> None:
        try:
            self._file = path.open("rb")
        except (FileNotFoundError, NotADirectoryError):
            raise NotFoundError(f"no snapshot {key}") from None
        self._key = key
        try:
            self.pack, self._blobs = self._index()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def content(self, entry: Entry) -> bytes:
        """The content of a file or extra blob, checked against its SHA-256.

        Raises:
            NotFoundError: the entry has no content.
            SBError: the content is damaged.
        """
        if entry.kind not in (FILE, EXTRA) or entry.sha256 not in self._blobs:
            raise NotFoundError(f"snapshot {self._key} holds no content of {entry.path}")
        offset, stored, method = self._blobs[entry.sha256]
        self._file.seek(offset)
        packed = self._file.read(stored)
        try:
            content = zlib.decompressobj(-15).decompress(packed, entry.size + 1) if method else packed
        except zlib.error:
            raise self._damaged("a content cannot be unpacked") from None
        if len(content) != entry.size or hashlib.sha256(content).hexdigest() != entry.sha256:
            raise self._damaged(f"the content of {entry.path} is not what was recorded")
        return content

    def _index(self) -> tuple[Pack, dict[str, Blob]]:
        end = self._file.seek(0, 2)
        if end < _TRAILER.size:
            raise self._damaged("it was cut short")
        self._file.seek(end - _TRAILER.size)
        offset, length, digest, mark = _TRAILER.unpack(self._file.read(_TRAILER.size))
        if mark != _END or offset + length + _TRAILER.size != end:
            raise self._damaged("it was cut short")
        self._file.seek(offset)
        packed = self._file.read(length)
        if hashlib.sha256(packed).digest() != digest:
            raise self._damaged("its index was altered")
        self._file.seek(0)
        header = header_of(self._file.readline(_LONGEST_HEADER))
        if header is None or header.key != self._key:
            raise self._damaged("its first line is of another snapshot")
        try:
            index = json.loads(zlib.decompressobj().decompress(packed, _MOST_INDEX))
            entries = tuple(Entry(*row) for row in index["entries"])
            extra = {row[0]: Entry(*row) for row in index["extra"]}
            blobs = {sha256: (blob[0], blob[1], blob[2]) for sha256, blob in index["blobs"].items()}
        except (ValueError, KeyError, TypeError, IndexError, zlib.error):
            raise self._damaged("its index cannot be read") from None
        return Pack(header, entries, extra, end), blobs

    def _damaged(self, why: str) -> SBError:
        return SBError(f"snapshot {self._key} is damaged: {why}", f"sb undo --purge {self._key} removes it")


def merged(
    writer: PackWriter,
    old: PackReader | None,
    before: Iterable[tuple[Entry, bytes]],
    extra: Mapping[str, bytes],
) -> Pack:
    """Write a pack of what another holds and of further entries with their contents; the other's come first."""
    entries = {entry.path: entry for entry in old.pack.entries} if old else {}
    named = dict(old.pack.extra) if old else {}
    if old:
        for entry in (*entries.values(), *named.values()):
            if entry.kind in (FILE, EXTRA):
                writer.whole(old.content(entry))
    for entry, content in before:
        if entry.path not in entries:
            entries[entry.path] = entry
            if entry.kind == FILE:
                writer.whole(content)
    for name, content in extra.items():
        if name not in named:
            named[name] = Entry(name, EXTRA, 0, len(content), writer.whole(content))
    return writer.finish(sorted(entries.values(), key=lambda entry: entry.path.split("/")), named)


def header_of(line: bytes) -> Header | None:
    """The header that a first line holds; None if it is none."""
    magic, _, fields = line.decode("utf-8", "replace").partition(" {")
    if magic != MAGIC:
        return None
    try:
        found = json.loads("{" + fields)
        return Header(str(found["key"]), str(found["session"]), float(found["taken"]), float(found["until"]))
    except (ValueError, KeyError, TypeError):
        return None


def read_header(path: str) -> Header | None:
    """The header of a pack file; None where there is none."""
    try:
        with open(path, "rb") as file:
            return header_of(file.readline(_LONGEST_HEADER))
    except OSError:
        return None


def chunks_of(read: Any, size: int) -> Iterable[bytes]:
    """Chunks of a file of the stated size; ends early or gives one byte more where the size was wrong."""
    left = size + 1
    while left > 0 and (chunk := read(min(_CHUNK, left))):
        left -= len(chunk)
        yield chunk
