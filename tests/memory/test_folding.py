"""Old reads, sessions and restatements are folded, and what is counted of them stays the same."""

from __future__ import annotations

import os
import signal
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.memory.erasure import erase
from sb.memory.housekeeping import is_due, tidy, tidy_a_little
from sb.memory.salience import salience
from sb.store.records.reads import FOLD_AFTER
from tests.memory.desk import Desk, desk  # noqa: F401 (a fixture)
from tests.rounds import rounds

DAY = 86_400.0


def fold(desk: Desk) -> None:  # noqa: F811
    while tidy_a_little(desk.space):
        pass


def figures(desk: Desk, uids: list[str]) -> list[Any]:  # noqa: F811
    """Whatever is computed of reads: counts, importance, and salience at one time."""
    numbers = [desk.row(uid)["id"] for uid in uids]
    stats, important = desk.space.reads.stats(numbers), desk.space.reads.importance(numbers)
    rows = [desk.row(uid) for uid in uids]
    moved = [salience(row, stats.get(row["id"]), desk.clock.time).value for row in rows]
    return [stats, important, moved]


@pytest.mark.prove
@settings(max_examples=rounds(12), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.floats(0, 50)), max_size=25))
def test_folding_changes_no_figure_and_adds_up(reads: list[tuple[int, int, float]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "home")
        uids = list[str]()
        for number in range(4):
            uids.append(
                desk.brain().remember(f"fact {number} of the shop", derived_from=uids[-1:], force=True)
            )
        seen: dict[tuple[str, str], list[float]] = defaultdict(list)
        for which, agent, days in reads:
            desk.clock.time += days * DAY
            desk.brain(f"agent {agent}").get(uids[which])
            seen[f"agent {agent}", uids[which]].append(desk.clock.time)
        desk.clock.time += 60 * DAY
        before, limit = figures(desk, uids), desk.clock.time - FOLD_AFTER
        fold(desk)
        assert figures(desk, uids) == before
        assert not is_due(desk.space)
        newest = max((at for times in seen.values() for at in times), default=0.0)  # which is never folded
        folded = {pair: [at for at in times if at < limit and at != newest] for pair, times in seen.items()}
        found = desk.rows(
            "SELECT f.agent, r.uid, f.first, f.last, f.count FROM folded_reads AS f JOIN records AS r ON r.id = f.record"
        )
        assert {row[:2]: row[2:] for row in found} == {
            pair: (min(times), max(times), len(times)) for pair, times in folded.items() if times
        }
        stays = desk.rows("SELECT b.agent, r.uid FROM access_log JOIN broadcasts AS b ON b.id = broadcast"
                         " JOIN records AS r ON r.id = record")  # fmt: skip
        assert Counter(stays) == Counter({
            pair: len(times) - len(folded[pair]) for pair, times in seen.items() if len(times) > len(folded[pair])
        })  # fmt: skip
        desk.close()


def test_sessions_in_which_nothing_was_written_go_with_their_reads(desk: Desk) -> None:  # noqa: F811
    fact = desk.brain("ada", session="wrote").remember("the limit is 100 requests")
    desk.brain("bob", session="read").search("limit requests")
    desk.clock.time += 100 * DAY
    desk.brain("bob", session="new").search("limit requests")
    assert is_due(desk.space)
    fold(desk)
    assert desk.rows("SELECT name FROM memory_sessions ORDER BY name") == [("new",), ("wrote",)]
    assert [read["operation"] for read in desk.space.reads.of(desk.row(fact)["id"])] == ["search", "1 reads"]
    desk.brain("bob", session="newest").search("limit requests")
    numbers = [number for (number,) in desk.rows("SELECT id FROM broadcasts ORDER BY id")]
    assert numbers == sorted(set(numbers))
    erase(desk.space, desk.log, [fact], actor="ada", reason="asked for")
    assert desk.rows("SELECT count(*) FROM folded_reads") == [(0,)]


def test_restatements_of_long_ago_are_one_entry(desk: Desk) -> None:  # noqa: F811
    brain = desk.brain()
    fact = brain.remember("the limit is 100 requests")
    number = desk.row(fact)["id"]
    for confidence in (0.5, 0.6, 0.7, 0.95):
        with desk.database.write() as execute:
            desk.space.records.update(
                execute,
                number,
                {"confidence": confidence},
                actor="coder",
                operation="restate",
                reason="restated",
            )
    first = next(change for change in brain.history(fact) if change.operation == "restate").changed
    brain.search("limit")
    desk.clock.time += 100 * DAY
    brain.search("limit")
    brain.search("limit")
    fold(desk)
    changes = [change for change in brain.history(fact) if change.operation == "restate"]
    assert [change.reason for change in changes] == ["restated, 4 times until 2027-01-15"]
    assert changes[0].changed["confidence"] == (first["confidence"][0], 0.95)


def test_a_fold_that_is_killed_at_any_statement_goes_on(home: Path) -> None:
    desk = Desk(home)  # noqa: F811
    uids = [desk.brain().remember(f"fact {number} of the shop", force=True) for number in range(3)]
    for uid in uids * 3:
        desk.brain("bob", session=f"of {uid}").get(uid)
    desk.clock.time += 100 * DAY
    desk.brain().get(uids[0])
    then = desk.clock.time
    before = figures(desk, uids)
    desk.close()
    for at in range(1, 200):
        child = os.fork()
        if child == 0:
            again = Desk(home)
            again.clock.time = then
            _die_at(again, at)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        again = Desk(home)
        again.clock.time = then
        assert figures(again, uids) == before
        counted = again.rows(
            "SELECT (SELECT count(*) FROM access_log), (SELECT coalesce(sum(count), 0) FROM folded_reads)"
        )
        assert sum(counted[0]) == 10
        again.close()
        if not os.WIFSIGNALED(status):
            break
    else:
        pytest.fail("it never came to its end")
    assert counted[0] == (1, 9)
    assert at > 10


def _die_at(desk: Desk, at: int) -> None:  # noqa: F811
    begun = 0

    def trace(_: str) -> None:
        nonlocal begun
        begun += 1
        if begun == at:
            os.kill(os.getpid(), signal.SIGKILL)

    desk.database._normal.set_trace_callback(trace)
    tidy(desk.space, seconds=60.0)
