"""The newest verification is on record beside the anchors, and is compared with the log as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import MICROSECONDS, SteeredClock
from sb.kernel.review.findings import Status, log_standing
from sb.kernel.review.log_verification import verify
from sb.kernel.review.verification_record import FILE_NAME, record_verification, verification_state
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.present.home import verified_words
from sb.store import driver
from sb.store.anchor import Anchor
from sb.store.database import open_database

KIND = "kernel.tool.dispatch"
HOUR_S = 3600


@pytest.fixture
def log(tmp_path: Path, clock: SteeredClock) -> EventLog:
    database = open_database(tmp_path / "brain.db", clock=clock)
    return EventLog(database, anchor=Anchor(tmp_path / "anchors.jsonl"), clock=clock)


def append(log: EventLog, rows: int = 1) -> None:
    for number in range(rows):
        log.append(KIND, {"n": number}, Subject(), {"phase": "outcome"})
    log.anchor_head()


def words(log: EventLog) -> tuple[str, str]:
    return verified_words(verification_state(log), int(log.clock.now() * MICROSECONDS))


def test_it_says_how_long_ago_and_warns_once_an_event_waits_for_a_day(
    log: EventLog, clock: SteeredClock
) -> None:
    append(log, 3)
    assert words(log) == ("never verified", "")
    record_verification(log, verify(log))
    assert words(log) == ("verified just now", "")
    clock.time += 25 * HOUR_S
    assert words(log) == ("verified 1d ago", ""), "nothing was written since"
    append(log, 2)
    assert (verification_state(log).since, words(log)[1]) == (2, "")
    clock.time += 25 * HOUR_S
    assert words(log) == ("verified 2d ago", "warn")
    record_verification(log, verify(log))
    assert words(log) == ("verified just now", "")
    (Path(log.database.path).with_name(FILE_NAME)).write_text("[1")
    assert words(log) == ("never verified", "warn")


def test_a_verification_that_failed_is_a_finding_until_one_succeeds(log: EventLog) -> None:
    append(log, 3)
    path = Path(log.anchor.path) if log.anchor else Path()
    whole = path.read_text()
    path.write_text(whole + "{half a li")
    record_verification(log, verify(log))
    path.write_text(whole)
    found = log_standing(log)
    assert (found.status, found.hint) == (Status.FAIL, "sb log verify")
    assert found.detail == "verification failed: the anchor file has 1 unreadable lines"
    assert words(log) == ("verification failed", "danger")
    record_verification(log, verify(log))
    assert log_standing(log).status is Status.OK


def test_a_verified_row_that_is_another_one_now_is_a_finding(log: EventLog) -> None:
    append(log, 3)
    record_verification(log, verify(log))
    connection = driver.connect(log.database.path)
    connection.execute("DROP TRIGGER events_are_final")
    connection.execute("UPDATE events SET hash = ? WHERE seq = 3", ("0" * 64,))
    connection.close()
    assert log_standing(log).detail == "row 3, which was verified, is gone or another one"


def test_what_one_database_was_found_to_be_says_nothing_of_another(
    log: EventLog, tmp_path: Path, clock: SteeredClock
) -> None:
    append(log)
    record_verification(log, verify(log))
    other = EventLog(open_database(tmp_path / "other.db", clock=clock), anchor=log.anchor, clock=clock)
    append(other)
    assert words(other) == ("never verified", "")
    record_verification(other, verify(other))
    assert (words(log)[0], words(other)[0]) == ("verified just now", "verified just now")


def test_a_row_that_another_process_writes_meanwhile_is_no_fault(
    log: EventLog, clock: SteeredClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(log, 3)
    assert log.anchor is not None
    folder = Path(log.anchor.path).parent
    other = EventLog(
        open_database(folder / "brain.db", clock=clock), anchor=Anchor(folder / "anchors.jsonl"), clock=clock
    )
    anchored, head = log.anchored, log.head

    def written(reads: Callable[[], Any]) -> Any:
        result = reads()
        append(other)
        return result

    monkeypatch.setattr(log, "anchored", lambda: written(anchored))
    monkeypatch.setattr(log, "head", lambda: written(head))
    assert log_standing(log).status is Status.OK
