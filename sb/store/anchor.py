"""What was the log's head, as far as a file outside the database knows?

One JSON line per head, appended in a single write, so that many processes may share the file. A database whose
chain is shorter than its newest anchor, or differs at an anchored place, was cut, restored or rewritten.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from sb.errors import StoreError
from sb.sources import iso

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AnchoredHead:
    seq: int
    hash: str
    at: str


class Anchor:
    """The anchor file.

    Args:
        path: made with mode 0600 by the first write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, database_id: str, stream: str, seq: int, head: str, now: float) -> None:
        """Append one head.

        A failure is logged and not raised: the rows are committed, and verification says that the anchor is behind.
        """
        line = json.dumps(
            {"database": database_id, "stream": stream, "seq": seq, "hash": head, "at": iso(now)}
        )
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line.encode() + b"\n")
            finally:
                os.close(fd)
        except OSError as error:
            _log.warning("cannot write the anchor %s: %s", self.path, error.strerror)

    def heads(self, database_id: str, stream: str) -> tuple[list[AnchoredHead], int]:
        """Every head recorded for this chain, oldest first, and how many lines could not be read.

        Raises:
            StoreError: the file exists but cannot be read.
        """
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return [], 0
        except OSError as error:
            raise StoreError(f"cannot read the anchor {self.path}: {error.strerror}") from error
        found, unreadable = [], 0
        for line in lines:
            try:
                entry = json.loads(line)
                if entry["database"] == database_id and entry["stream"] == stream:
                    found.append(AnchoredHead(int(entry["seq"]), str(entry["hash"]), str(entry["at"])))
            except (ValueError, KeyError, TypeError):
                unreadable += 1
        return found, unreadable
