"""The newest verification of a log, in a file outside the database: when, up to which row, what it found."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.base.files import write_atomic
from sb.base.sources import MICROSECONDS
from sb.base.values.frozen import frozen
from sb.log.event_log import EventLog

if TYPE_CHECKING:  # loads all that the log is compared with
    from sb.kernel.review.log_verification import Verification

FILE_NAME = "verified.json"
OVERDUE_AFTER_S = 86_400  # of the oldest event that no verification covers
LARGEST = 1 << 20  # bytes
MOST_LOGS = 100  # of which the file remembers a verification


@frozen
class VerificationState:
    """Reliability of a log's newest verification.

    Args:
        at: microseconds since the epoch; None if the log was never verified.
        since: events that were written after it.
        overdue: one of them is older than OVERDUE_AFTER_S.
        trouble: what the verification found, or that the verified row is another one now; "" if all was well.
    """

    at: int | None = None
    since: int = 0
    overdue: bool = False
    trouble: str = ""


@frozen
class _Entry:
    """The file's entry for one log; `at` in microseconds since the epoch."""

    seq: int
    hash: str
    at: int
    problems: int = 0
    first_problem: str = ""


def record_verification(log: EventLog, found: Verification) -> None:
    """Write down what was found; the process that verified does it. A log without a home has no such file.

    A file that cannot be written is logged and not raised: what was found is said all the same.
    """
    path = _path(log)
    if path is None:
        return
    entries = _entries(path)
    problems = len(found.problems) + found.further_problems
    now = int(log.clock.now() * MICROSECONDS)
    entry = _Entry(found.last_seq, found.head, now, problems, found.problems[0] if found.problems else "")
    entries.pop(_name(log), None)
    entries[_name(log)] = asdict(entry)
    newest = dict(list(entries.items())[-MOST_LOGS:])
    try:
        write_atomic(path, json.dumps(newest, indent=1).encode())
    except OSError as error:
        import logging  # 2 ms, for what hardly ever happens

        logging.getLogger(__name__).warning("cannot write %s: %s", path, error.strerror)


def verification_state(log: EventLog) -> VerificationState:
    """Compare the newest verification with the log as it is; quick, without walking the chain.

    Raises:
        StoreError: the database cannot be read.
    """
    entry, head = _entry(log), log.head().seq
    seq = entry.seq if entry else 0
    oldest = log.database.query("SELECT at FROM events WHERE id = ?", (log.first_id + seq + 1,))
    now = log.clock.now() * MICROSECONDS
    overdue = bool(oldest) and now - oldest[0][0] > OVERDUE_AFTER_S * MICROSECONDS
    if entry is None:
        return VerificationState(None, head, overdue)
    stored = log.database.query("SELECT hash FROM events WHERE id = ?", (log.first_id + seq,))
    trouble = ""
    if entry.problems:
        more = f" and {entry.problems - 1:,} more" if entry.problems > 1 else ""
        trouble = f"verification failed: {entry.first_problem}{more}"
    elif seq and (not stored or stored[0][0] != entry.hash):
        trouble = f"row {seq}, which was verified, is gone or another one"
    return VerificationState(entry.at, max(head - seq, 0), overdue, trouble)


def _path(log: EventLog) -> Path | None:
    return None if log.anchor is None else log.anchor.path.with_name(FILE_NAME)


def _name(log: EventLog) -> str:
    return f"{log.database_id} {log.stream}"


def _entry(log: EventLog) -> _Entry | None:
    path = _path(log)
    found = _entries(path).get(_name(log)) if path else None
    try:
        entry = _Entry(**found) if isinstance(found, dict) else None
    except TypeError:
        return None
    whole = entry is not None and all(type(value) is int for value in (entry.seq, entry.at, entry.problems))
    return entry if whole else None


def _entries(path: Path) -> dict[str, Any]:
    """The file's entries; an unreadable one counts as no verification."""
    try:
        with path.open("rb") as file:
            entries = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}
