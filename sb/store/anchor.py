"""Anchors: the log's head as noted in a file outside the database.

One JSON line per head, appended in a single write, so that many processes may share the file. A database whose
chain is shorter than its newest anchor, or differs at an anchored place, was cut, restored or rewritten.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from sb.errors import StoreError
from sb.store.statement_file import FILE_NAME, StatementFile

OPERATORS_STREAM = "operators"  # the chain of the operators file, which is anchored beside those of logs


class AnchoredHead(NamedTuple):
    seq: int
    hash: str
    at: str


class Anchored(NamedTuple):
    """The file's anchors of one chain.

    Args:
        heads: every head that was recorded for it, in the order of the file.
        replaced: heads of another database that was at the same path.
        unreadable: lines that say nothing.
    """

    heads: tuple[AnchoredHead, ...] = ()
    replaced: tuple[AnchoredHead, ...] = ()
    unreadable: int = 0

    @property
    def newest(self) -> AnchoredHead | None:
        return max(self.heads, key=lambda head: head.seq, default=None)


class Anchor:
    """The anchor file.

    Args:
        path: made with mode 0600 by the first write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.statements = StatementFile(path.with_name(FILE_NAME))

    def write(self, database_id: str, database: str, stream: str, head: AnchoredHead) -> None:
        """Append one head.

        A failure is logged and not raised: the rows are committed, and verification says that the anchor is behind.

        Args:
            database: the database's path, without symbolic links.
        """
        place = {"database": database_id, "path": database, "stream": stream}
        line = json.dumps({**place, **head._asdict()})
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line.encode() + b"\n")
            finally:
                os.close(fd)
        except OSError as error:
            import logging  # 2 ms, for what hardly ever happens

            logging.getLogger(__name__).warning("cannot write the anchor %s: %s", self.path, error.strerror)

    def mark_operators(self, path: Path, count: int, entry: str, at: str) -> None:
        """Note that the operators file is about to have one more entry: what is anchored before this came before it.

        Args:
            path: of the operators file. count: its entries. entry: the digest of the new one.
        """
        self.write("", str(path), OPERATORS_STREAM, AnchoredHead(count, entry, at))

    def before(self, entry: str) -> bytes | None:
        """The part of the file before the entry of the operators file with this digest; None without such a mark.

        Raises:
            StoreError: the file exists but cannot be read.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read the anchor {self.path}: {error.strerror}") from error
        at = data.find(entry.encode())
        return None if at < 0 else data[: data.rfind(b"\n", 0, at) + 1]

    def read(self, database_id: str, database: str, stream: str) -> Anchored:
        """The anchors of this chain, and of others at its database's path.

        Raises:
            StoreError: the file exists but cannot be read.
        """
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return Anchored()
        except OSError as error:
            raise StoreError(f"cannot read the anchor {self.path}: {error.strerror}") from error
        ours: list[AnchoredHead] = []
        others: list[AnchoredHead] = []
        unreadable, place = 0, os.path.realpath(database)
        for line in lines:
            try:
                entry = json.loads(line)
                head = AnchoredHead(int(entry["seq"]), str(entry["hash"]), str(entry["at"]))
                if entry["stream"] == stream and entry["database"] == database_id:
                    ours.append(head)
                elif entry["stream"] == stream and entry["path"] == place:
                    others.append(head)
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                unreadable += 1
        return Anchored(tuple(ours), tuple(others), unreadable)
