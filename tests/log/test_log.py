"""The log: chained, redacted, anchored, prunable, and telling when it was touched."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import CountingIds, SteeredClock
from sb.errors import NotFoundError, StoreCorrupt, StoreLocked
from sb.kernel import RunContext, SafetyClass, ToolExecutor, ToolRegistry
from sb.kernel.calls.narrative import describe
from sb.kernel.review.log_pruning import prune
from sb.kernel.review.log_verification import Verification, verify
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.present.events import log_line
from sb.store import driver
from sb.store.anchor import Anchor
from sb.store.database import open_database
from tests.rows import rows

ROOT = Path(__file__).parents[2]
KIND = "kernel.tool.dispatch"
SUBJECT = Subject("run_1", "t" * 32, "clerk", "files.read", "call_1")


def open_log(folder: Path, **options: object) -> EventLog:
    clock, ids = SteeredClock(), CountingIds()
    database = open_database(folder / "brain.db", clock=clock, ids=ids)
    return EventLog(database, anchor=Anchor(folder / "anchors.jsonl"), clock=clock, ids=ids, **options)  # type: ignore[arg-type]


def filled(folder: Path, rows: int = 10) -> EventLog:
    log = open_log(folder)
    for number in range(rows):
        log.append(KIND, {"n": number}, SUBJECT, {"phase": "outcome"})
    log.anchor_head()
    return log


def tamper(folder: Path, *sql: str) -> None:
    """Change the file as somebody who owns it could, triggers or not."""
    connection = driver.connect(folder / "brain.db")
    for trigger in ("events_are_kept", "events_are_final"):
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute("PRAGMA foreign_keys = OFF")
    for statement in sql:
        assert connection.execute(statement).rowcount != 0
    connection.close()


def test_an_untouched_log_verifies(tmp_path: Path) -> None:
    found = verify(filled(tmp_path))
    assert found.ok
    assert (found.rows, found.anchored_seq, found.pruned) == (10, 10, 0)


def test_an_empty_log_verifies(tmp_path: Path) -> None:
    assert verify(open_log(tmp_path)).ok


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE events SET payload = replace(payload, '\"n\":3', '\"n\":4') WHERE seq = 4", "the payload of row 4 was edited"),
        ("UPDATE events SET agent = 'somebody else' WHERE seq = 4", "row 4 was edited"),
        ("UPDATE events SET at = at + 1 WHERE seq = 4", "row 4 was edited"),
        ("UPDATE events SET kind = 'kernel.run.started' WHERE seq = 4", "row 4 was edited"),
        ("UPDATE events SET hash = payload_digest WHERE seq = 4", "row 4 was edited"),
        ("UPDATE events SET prev = payload_digest WHERE seq = 4", "row 4 does not follow row 3"),
        ("DELETE FROM events WHERE seq = 4", "rows 4 to 4 are missing"),
        ("DELETE FROM events WHERE seq BETWEEN 2 AND 5", "rows 2 to 5 are missing"),
        ("DELETE FROM events WHERE seq = 1", "rows 1 to 1 are missing"),
        ("UPDATE events SET salt = NULL, payload = NULL WHERE seq = 4", "the payload of row 4 is missing"),
        ("DELETE FROM events WHERE seq > 7", "rows 8 to 10, anchored"),
    ],
)  # fmt: skip
def test_each_kind_of_tampering_is_named_with_its_row(tmp_path: Path, sql: str, problem: str) -> None:
    filled(tmp_path).close()
    tamper(tmp_path, sql)
    found = verify(open_log(tmp_path))
    assert any(problem in line for line in found.problems), found.problems


def test_two_rows_that_changed_places_are_named(tmp_path: Path) -> None:
    log = filled(tmp_path)
    first = log.first_id
    log.close()
    tamper(
        tmp_path,
        f"UPDATE events SET id = {first + 999} WHERE seq = 4",
        f"UPDATE events SET id = {first + 4} WHERE seq = 5",
        f"UPDATE events SET id = {first + 5} WHERE seq = 999",
    )
    problems = " ".join(verify(open_log(tmp_path)).problems)
    assert "row 4 was edited" in problems
    assert "row 5 does not follow row 4" in problems


def test_a_consistently_rewritten_chain_disagrees_with_its_anchor(tmp_path: Path) -> None:
    filled(tmp_path).close()
    anchors = (tmp_path / "anchors.jsonl").read_text(encoding="utf-8")
    identity = open_log(tmp_path).database_id
    for path in tmp_path.glob("brain.db*"):
        path.unlink()
    forged = open_log(tmp_path)
    with forged.database.write() as execute:
        execute("UPDATE meta SET value = ? WHERE key = 'database_id'", (identity,))
    forged.close()
    forged = open_log(tmp_path)
    for number in range(10):
        forged.append(KIND, {"n": number, "forged": True}, SUBJECT)
    forged.database.close()
    (tmp_path / "anchors.jsonl").write_text(anchors, encoding="utf-8")
    found = verify(open_log(tmp_path))
    assert ["row 10 is not the one anchored" in line for line in found.problems] == [True]


def test_an_older_copy_put_back_is_older_than_its_anchor(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.close()
    old = tmp_path / "old"
    old.mkdir()
    shutil.copy(tmp_path / "brain.db", old)
    log = open_log(tmp_path)
    for number in range(5):
        log.append(KIND, {"n": number}, SUBJECT)
    log.close()
    for path in tmp_path.glob("brain.db*"):
        path.unlink()
    shutil.copy(old / "brain.db", tmp_path)
    found = verify(open_log(tmp_path))
    assert "the anchor is newer than the database: rows 11 to 15" in found.problems[0]
    assert "an older copy was put back" in found.problems[0]


def test_an_older_copy_that_was_written_to_again_differs_at_the_anchor(tmp_path: Path) -> None:
    filled(tmp_path).close()
    shutil.copy(tmp_path / "brain.db", tmp_path / "old.db")
    log = open_log(tmp_path)
    log.append(KIND, {"the": "refund"}, SUBJECT)
    log.close()
    shutil.copy(tmp_path / "old.db", tmp_path / "brain.db")
    log = open_log(tmp_path)
    for _ in range(3):
        log.append(KIND, {"nothing": "happened"}, SUBJECT)
    log.database.close()
    assert "row 11 is not the one anchored" in verify(open_log(tmp_path)).problems[0]


def test_an_end_that_was_cut_and_grew_again_disagrees_with_its_anchor_for_ever(tmp_path: Path) -> None:
    filled(tmp_path).close()
    tamper(tmp_path, "DELETE FROM events WHERE seq > 6")
    for _ in range(3):
        log = open_log(tmp_path)
        for number in range(4):
            log.append(KIND, {"regrown": number}, SUBJECT)
        log.close()
    problems = verify(open_log(tmp_path)).problems
    assert ["row 10 is not the one anchored" in line for line in problems] == [True]
    assert standalone(tmp_path).returncode == 1


def test_a_database_that_was_replaced_is_noticed_and_two_databases_of_one_home_are_not(
    tmp_path: Path,
) -> None:
    filled(tmp_path).close()
    other = EventLog(open_database(tmp_path / "other.db"), anchor=Anchor(tmp_path / "anchors.jsonl"))
    other.append(KIND, {}, SUBJECT)
    other.close()
    assert verify(open_log(tmp_path)).ok
    assert standalone(tmp_path).returncode == 0
    for path in tmp_path.glob("brain.db*"):
        path.unlink()
    replaced = EventLog(open_database(tmp_path / "brain.db"), anchor=Anchor(tmp_path / "anchors.jsonl"))
    assert "the database was replaced: another one at this path had 10 rows" in verify(replaced).problems[0]
    assert standalone(tmp_path).returncode == 1


def test_the_stand_alone_verifier_says_how_it_is_used(tmp_path: Path) -> None:
    outcome = standalone(tmp_path)
    assert (outcome.returncode, "verify_log.py brain.db" in outcome.stderr) == (2, True)


def test_a_damaged_anchor_file_is_said(tmp_path: Path) -> None:
    log = filled(tmp_path)
    with (tmp_path / "anchors.jsonl").open("a", encoding="utf-8") as file:
        file.write("{half a li")
    assert "1 unreadable" in verify(log).problems[0]


def test_full_commits_are_anchored_at_once_and_others_every_so_many(tmp_path: Path) -> None:
    log = open_log(tmp_path, anchor_every=4)

    def anchored() -> int:
        return verify(log).anchored_seq

    log.append(KIND, {}, SUBJECT)
    assert anchored() == 0
    with log.write(power=True) as write:
        write.append(KIND, {}, SUBJECT)
    assert anchored() == 2
    for _ in range(5):
        log.append(KIND, {}, SUBJECT)
    assert anchored() == 6
    log.close()
    assert verify(open_log(tmp_path)).anchored_seq == 7


def test_the_rows_reach_the_disk_before_their_anchor_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(tmp_path, anchor_every=3)
    anchored_at_sync: list[bool] = []
    monkeypatch.setattr("os.fsync", lambda fd: anchored_at_sync.append((tmp_path / "anchors.jsonl").exists()))
    for _ in range(3):
        log.append(KIND, {}, SUBJECT)
    assert anchored_at_sync == [False]
    assert (tmp_path / "anchors.jsonl").exists()


def test_an_anchor_that_cannot_be_written_loses_nothing_and_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "anchors.jsonl").mkdir()
    log = open_log(tmp_path, anchor_every=1)
    log.append(KIND, {}, SUBJECT)
    assert "cannot write the anchor" in caplog.text
    assert log.head().seq == 1


def test_the_log_cannot_be_changed_through_sql(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for statement in (
        "DELETE FROM events",
        "UPDATE events SET agent = 'x'",
        "UPDATE events SET payload = '{}'",
    ):
        with pytest.raises(driver.IntegrityError, match="append-only"), log.database.write() as execute:
            execute(statement)
    assert verify(log).ok


def test_pruning_removes_what_old_events_said_and_leaves_a_log_that_verifies(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert isinstance(log.clock, SteeredClock)
    log.clock.time += 100
    boundary = log.clock.time
    log.append(KIND, {"young": True}, SUBJECT)
    assert prune(log, before=boundary, reason="retention") == 10
    found = verify(log)
    assert found.ok
    assert (found.rows, found.pruned) == (12, 10)
    events = list(log.events())
    assert [event.payload for event in events[:10]] == [None] * 10
    assert events[10].payload == {"young": True}
    assert events[11].payload == {"reason": "retention", "through": 10, "removed": 10}
    assert prune(log, before=boundary, reason="again") == 0


def test_a_prune_cannot_excuse_younger_rows(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert isinstance(log.clock, SteeredClock)
    log.clock.time += 100
    prune(log, before=log.clock.time, reason="retention")
    log.append(KIND, {"the": "refund"}, SUBJECT)
    log.close()
    tamper(tmp_path, "UPDATE events SET salt = NULL, payload = NULL WHERE seq = 12")
    assert "the payload of row 12 is missing" in verify(open_log(tmp_path)).problems


def test_pruned_text_is_gone_from_the_files(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append(KIND, {"text": "canary-" * 300}, SUBJECT)
    assert isinstance(log.clock, SteeredClock)
    log.clock.time += 100
    prune(log, before=log.clock.time, reason="erasure")
    log.close()
    assert all(b"canary-" not in path.read_bytes() for path in tmp_path.iterdir())


def test_an_unregistered_kind_is_refused_and_nothing_written() -> None:
    log = EventLog()
    with pytest.raises(NotFoundError, match=r"kernel\.tool\.dispatch"):
        log.append("kernel.tool.dispach", {})
    assert log.head().seq == 0


@given(
    st.dictionaries(
        st.text(max_size=8), st.text(max_size=30) | st.integers(-(2**53), 2**53) | st.none(), max_size=5
    )
)
def test_whatever_is_said_is_read_back_as_it_was(said: dict[str, object]) -> None:
    log = EventLog()
    log.append(KIND, said, SUBJECT, {"fact": 1})
    event = next(iter(log.events()))
    assert event.subject == SUBJECT
    expected = {"fact": 1, **said}
    assert event.payload is not None
    if "[redacted:" not in json.dumps(event.payload):
        assert event.payload == expected
    assert verify(log).ok


@rows(
    "filters, numbers",
    [
        ({}, [1, 2, 3, 4]),
        ({"run_id": "r1"}, [1, 3]),
        ({"agent": "b"}, [2, 4]),
        ({"call_id": "c3"}, [3]),
        ({"tool_id": "t"}, [1, 2, 3, 4]),
        ({"kind": "kernel.memory.put"}, []),
        ({"after": 2}, [3, 4]),
        ({"limit": 2}, [1, 2]),
        ({"limit": 2, "newest_first": True}, [4, 3]),
        ({"run_id": "r1", "newest_first": True}, [3, 1]),
    ],
)
def test_events_are_found_by_what_they_are_about(filters: dict[str, object], numbers: list[int]) -> None:
    log = EventLog()
    for number, (run, agent) in enumerate([("r1", "a"), ("r2", "b"), ("r1", "a"), ("r2", "b")], 1):
        log.append(KIND, {}, Subject(run, "", agent, "t", f"c{number}"))
    assert [event.seq for event in log.events(**filters)] == numbers  # type: ignore[arg-type]


def test_reading_pages_through_a_long_log_in_both_directions() -> None:
    log = EventLog()
    for _ in range(1203):
        log.append(KIND, {}, SUBJECT)
    assert [event.seq for event in log.events()] == list(range(1, 1204))
    assert [event.seq for event in log.events(newest_first=True)] == list(range(1203, 0, -1))


def standalone(folder: Path) -> subprocess.CompletedProcess[str]:
    script = ROOT / "docs" / "verify_log.py"
    command = [sys.executable, "-I", str(script), str(folder / "brain.db"), str(folder / "anchors.jsonl")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "break_it",
    [
        "UPDATE events SET agent = 'x' WHERE seq = 4",
        "UPDATE events SET payload = '{}' WHERE seq = 4",
        "DELETE FROM events WHERE seq = 4",
        "DELETE FROM events WHERE seq > 7",
        "UPDATE events SET salt = NULL, payload = NULL WHERE seq = 4",
    ],
)
def test_the_stand_alone_verifier_agrees(tmp_path: Path, break_it: str) -> None:
    log = filled(tmp_path)
    assert isinstance(log.clock, SteeredClock)
    log.close()
    assert (standalone(tmp_path).returncode, standalone(tmp_path).stdout[:2]) == (0, "ok")
    tamper(tmp_path, break_it)
    outcome = standalone(tmp_path)
    assert outcome.returncode == 1
    assert "row" in outcome.stdout
    assert not verify(open_log(tmp_path)).ok


def test_the_stand_alone_verifier_accepts_a_pruned_log(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert isinstance(log.clock, SteeredClock)
    log.clock.time += 100
    prune(log, before=log.clock.time, reason="retention")
    log.close()
    assert standalone(tmp_path).returncode == 0


def test_no_event_can_command_the_terminal_it_is_shown_on() -> None:
    log = EventLog()
    hostile = "\x1b]0;owned\x07\u202e[@click=app.quit]x[/]\n\r\x9b2J"
    about = Subject("run_\x1b[1m", "", hostile, hostile, hostile)
    for phase in ("intent", "outcome", "refused", "in_doubt"):
        untrusted = {"args": {hostile: hostile}, "reason": hostile, "error": hostile, "cause": hostile}
        log.append(KIND, untrusted, about, {"phase": phase})
    log.append("kernel.run.started", {"intent": hostile}, about)
    for event in log.events():
        for line in (log_line(event), describe(event)):
            assert not [char for char in line if ord(char) < 32 or 127 <= ord(char) < 160 or char == "\u202e"]


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("DELETE FROM intents", "has no outcome and is not listed as open"),
        ("DELETE FROM steps", "the step that row 5 kept is gone"),
        ("UPDATE steps SET result = '\"forged\"'", "is not what it gave"),
        ("UPDATE steps SET args_digest = 'x'", "is not what it gave"),
        ("UPDATE intents SET call_id = 'call_other'", "the log does not say so"),
        ("UPDATE streams SET name = 'other' WHERE 0", ""),
        ("INSERT INTO events SELECT 0, at, kind, run_id, trace_id, agent, tool_id, call_id, payload_digest, prev, hash, salt, payload FROM events LIMIT 1", "belong to no stream"),
    ],
)  # fmt: skip
def test_the_tables_beside_the_log_must_be_what_it_says(tmp_path: Path, sql: str, problem: str) -> None:
    log = open_log(tmp_path)
    registry = ToolRegistry()
    registry.register_fn("t.ok", "Ok", lambda: {"receipt": 1}, SafetyClass.LOCAL_WRITE)
    registry.register_fn(
        "t.lost", "Lost", lambda: (_ for _ in ()).throw(ConnectionError()), SafetyClass.NETWORK
    )
    executor, ctx = ToolExecutor(registry, event_log=log), RunContext.create("a")
    executor.execute(ctx, "t.lost", {})
    executor.execute(ctx, "t.ok", {}, step="once")
    assert verify(log).ok
    log.close()
    connection = driver.connect(tmp_path / "brain.db")
    connection.execute(sql)
    connection.close()
    problems = " ".join(verify(open_log(tmp_path)).problems)
    assert problem in problems
    assert bool(problem) is bool(problems)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE events SET payload = 'not json' WHERE seq = 4",
        "UPDATE events SET payload = '[1]', at = 9000000000000000000 WHERE seq = 4",
        "UPDATE events SET payload = CAST(x'ff41' AS TEXT) WHERE seq = 4",
        "UPDATE events SET agent = CAST(x'ff41' AS TEXT) WHERE seq = 4",
        "UPDATE events SET kind = 'audit.pruned' WHERE seq = 4",
        "UPDATE events SET kind = 'audit.pruned', payload = '{\"through\": 1e999}' WHERE seq = 4",
    ],
)
def test_damaged_content_is_reported_and_shown_rather_than_crashed_on(tmp_path: Path, sql: str) -> None:
    filled(tmp_path).close()
    tamper(tmp_path, sql)
    log = open_log(tmp_path)
    assert any("row 4" in line for line in verify(log).problems)
    assert (standalone(tmp_path).returncode, standalone(tmp_path).stderr) == (1, "")
    if "CAST" not in sql:
        assert [log_line(event) for event in log.events()]


@pytest.mark.parametrize("line", ["[" * 100_000, '{"seq": 1e999}', '{"seq": "x"}', "null", "\x00"])
def test_an_anchor_line_that_makes_no_sense_is_counted(tmp_path: Path, line: str) -> None:
    log = filled(tmp_path)
    with (tmp_path / "anchors.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    assert verify(log).problems == ["the anchor file has 1 unreadable lines"]


def test_a_database_that_lost_its_id_or_its_stream_is_said(tmp_path: Path) -> None:
    filled(tmp_path).close()
    connection = driver.connect(tmp_path / "brain.db")
    connection.execute("UPDATE streams SET number = 4611686018427387904")
    connection.close()
    with pytest.raises(StoreCorrupt, match="impossible number"):
        open_log(tmp_path)
    connection = driver.connect(tmp_path / "brain.db")
    connection.execute("DELETE FROM meta")
    connection.close()
    with pytest.raises(StoreCorrupt, match="lost its id"):
        open_log(tmp_path)


def test_pruning_says_when_a_reader_keeps_the_old_text(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert isinstance(log.clock, SteeredClock)
    log.clock.time += 100
    log.database.query("PRAGMA busy_timeout = 50")
    with log.database.snapshot() as reader:
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (10,)
        with pytest.raises(StoreLocked, match="still reads the old ones"):
            prune(log, before=log.clock.time, reason="erasure")
    assert prune(log, before=log.clock.time, reason="erasure") == 0
    assert (tmp_path / "brain.db-wal").stat().st_size == 0


def test_a_report_of_many_problems_stays_short(tmp_path: Path) -> None:
    filled(tmp_path, rows=80).close()
    tamper(tmp_path, "UPDATE events SET agent = 'x'")
    found: Verification = verify(open_log(tmp_path))
    assert len(found.problems) == 50
    assert found.further_problems == 30
