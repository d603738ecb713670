"""Read and append the records of one packet: an encrypted file that only grows.

Each record is sealed with ChaCha20-Poly1305 (RFC 8439) and bound to the record before it, so that none can be changed,
moved or left out. Only the end can be missing; a packet that ended says so itself.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from sb.errors import ConfigError, DeniedError, NotFoundError

MAGIC = b"sb replay packet "
VERSION = 1
_LINE = MAGIC + str(VERSION).encode() + b"\n"
_SIZE, _NONCE, _TAG = 4, 12, 16
_FIRST = b"\0" * _TAG  # in place of the record before the first one
TORN = {"kind": "torn"}  # the record in place of one that was cut off


class PacketFull(Exception):
    """The packet has reached its largest size."""


class PacketFile:
    """One packet.

    Args:
        key: 32 bytes.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        self.path = path
        self._cipher = ChaCha20Poly1305(key)
        self._end = 0  # up to here the file is known to be whole

    def append(self, record: dict[str, Any], first: Callable[[], dict[str, Any]], max_bytes: int) -> None:
        """Add a record, whole or not at all; what a killed process left of one gives way to a note of it.

        Args:
            first: makes the record that a new file begins with.
            max_bytes: the largest size of the file.

        Raises:
            OSError: it cannot be written.
            PacketFull: it would be larger than that.
            ConfigError, DeniedError: the file is of a newer version, or was changed.
        """
        handle = os.open(
            self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            size, torn = self._cut_torn(handle)
            before = os.pread(handle, _TAG, size - _TAG) if size else _FIRST
            data = b""
            for item in (*(() if size else (first(),)), *((TORN,) if torn else ()), record):
                sealed = self._seal(item, before)
                data, before = data + sealed, sealed[-_TAG:]
            if not size:
                data = _LINE + data
            if size + len(data) > max_bytes:
                raise PacketFull
            written = os.write(handle, data)
            if written < len(data):
                os.ftruncate(handle, size)
                raise OSError(28, "No space left on device")
            self._end = size + written
        finally:
            os.close(handle)

    def _cut_torn(self, handle: int) -> tuple[int, bool]:
        """The size of the file without a record that was cut off at its end, and whether there was one."""
        size = os.fstat(handle).st_size
        if size == self._end:
            return size, False
        line = os.pread(handle, len(_LINE), 0)
        end = 0
        if len(line) == len(_LINE) or not _LINE.startswith(line):
            self._require_version(line)
            end = max(self._end, len(_LINE)) if size >= self._end else len(_LINE)
            while (
                after := end + _SIZE + _NONCE + int.from_bytes(os.pread(handle, _SIZE, end), "big")
            ) <= size:
                end = after
            if end == len(_LINE):
                end = 0  # nothing of it is left to go on from
        if end == size:
            return size, False
        if end:
            for (
                _
            ) in self.records():  # an end that was cut off is torn only behind records that nobody changed
                pass
        os.ftruncate(handle, end)
        return end, True

    def _seal(self, record: dict[str, Any], before: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        box = self._cipher.encrypt(nonce, orjson.dumps(record), _LINE + before)
        return len(box).to_bytes(_SIZE, "big") + nonce + box

    def records(self) -> Iterator[dict[str, Any]]:
        """Every record in order; the last one may be cut short, which ends them.

        Raises:
            NotFoundError: there is no such file.
            ConfigError: it cannot be read, or is of a newer version.
            DeniedError: it was changed, or is not of this home.
        """
        try:
            with self.path.open("rb") as file:
                self._require_version(file.read(len(_LINE)))
                before = _FIRST
                while sealed := self._next(file):
                    nonce, box = sealed
                    yield self._open(nonce, box, before)
                    before = box[-_TAG:]
        except FileNotFoundError:
            raise NotFoundError("no such packet", "sb replay list") from None
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be read: {error.strerror}") from None

    def _require_version(self, line: bytes) -> None:
        if line == _LINE:
            return
        version = line.removeprefix(MAGIC).strip()
        if line.startswith(MAGIC) and version.isdigit() and int(version) > VERSION:
            raise ConfigError(
                f"{self.path}: is a packet of version {int(version)}, newer than this sb reads ({VERSION})",
                "update sb",
            )
        raise DeniedError(f"{self.path}: is not a packet", "sb replay list shows those that can be read")

    @staticmethod
    def _next(file: BinaryIO) -> tuple[bytes, bytes] | None:
        """Nonce and box of the next record; None at the end, or where it is cut short."""
        size = int.from_bytes(file.read(_SIZE), "big")
        data = file.read(_NONCE + size)
        whole = size >= _TAG and len(data) == _NONCE + size
        return (data[:_NONCE], data[_NONCE:]) if whole else None

    def _open(self, nonce: bytes, box: bytes, before: bytes) -> dict[str, Any]:
        from cryptography.exceptions import InvalidTag

        try:
            record: dict[str, Any] = orjson.loads(self._cipher.decrypt(nonce, box, _LINE + before))
        except (InvalidTag, ValueError):
            raise DeniedError(
                f"{self.path}: was changed, or is not of this home", "a packet is refused whole"
            ) from None
        return record
