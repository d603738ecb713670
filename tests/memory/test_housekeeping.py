"""Housekeeping makes good what was right when it was written, without anybody waiting for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sb.errors import EmbedderError
from sb.memory import housekeeping
from sb.memory.erasure import erase
from sb.memory.housekeeping import FEWEST, Tidied, is_due, tidy
from sb.protocols.types import Fact
from sb.store.embedding.static import StaticEmbedder
from sb.store.index.statistics import TextStatistics
from sb.store.records.places import Place
from tests.memory.desk import Desk, desk, desk_with_vectors

__all__ = ["desk", "desk_with_vectors"]


def remember(desk: Desk, count: int, text: str = "fact number {}") -> list[str]:
    facts = [Fact(content=text.format(number)) for number in range(count)]
    return desk.brain().writer.keep_all(facts, Place("default"))


def information(desk: Desk) -> dict[int, float]:
    return dict(desk.rows("SELECT id, info FROM records"))


def counters(desk: Desk) -> dict[str, Any]:
    return dict(desk.rows("SELECT name, value FROM index_state WHERE name IN ('records', 'words', 'window')"))


class Waiting:
    """An embedder on a server that sometimes answers, and lets something happen meanwhile."""

    model, dimensions, in_process = "server-1", 8, False

    def __init__(self) -> None:
        self.up = True
        self.meanwhile: Any = None

    def embed(self, texts: Sequence[str]) -> Any:
        if not self.up:
            raise EmbedderError("the server does not answer")
        if self.meanwhile:
            self.meanwhile()
        return np.tile(np.array([1, -1] * 4, np.float32) / np.sqrt(np.float32(8)), (len(texts), 1))

    def embed_query(self, text: str, keep: Sequence[str]) -> Any:
        return self.embed([text])[0]


@pytest.fixture
def server(desk: Desk) -> Waiting:
    made = Waiting()
    desk.space.embedder = made
    return made


def test_it_is_due_at_fifty_records_and_each_time_there_are_twice_as_many(desk: Desk) -> None:
    assert not is_due(desk.space)
    remember(desk, FEWEST - 1)
    assert not is_due(desk.space)
    remember(desk, 1)
    assert is_due(desk.space)
    assert tidy(desk.space).records == FEWEST
    assert not is_due(desk.space)
    remember(desk, FEWEST - 1)
    assert not is_due(desk.space)
    remember(desk, 1)
    assert is_due(desk.space)


def test_how_specific_texts_are_is_counted_over_all_that_is_kept(desk: Desk) -> None:
    remember(desk, 60, "the weather is fine {}")
    (rare,) = remember(desk, 1, "quixotrope flumadiddle")
    tidy(desk.space)
    found = information(desk)
    assert found[desk.row(rare)["id"]] > 2 * found[1] > 0
    versions = desk.rows("SELECT DISTINCT version FROM records")
    assert versions == [(1,)]
    assert desk.rows("SELECT count(*) FROM record_history") == [(0,)]
    assert desk.sound()


def test_what_came_since_counts_as_average(desk: Desk) -> None:
    remember(desk, 60, "the weather is fine {}")
    tidy(desk.space)
    desk.space.statistics.refresh()
    assert desk.space.statistics.mean_information == pytest.approx(np.mean(list(information(desk).values())))
    remember(desk, 1, "the weather is dull")
    (new,) = [hit for hit in desk.brain().search("weather", k=99, explain=True) if "dull" in hit.content]
    assert new.explanation is not None
    assert new.explanation["information"][0] == desk.space.statistics.mean_information


def test_counters_are_right_afterwards(desk: Desk) -> None:
    brain = desk.brain()
    uids = [brain.log(f"step {number} was done") for number in range(10)]
    brain.entity("Ada", "person", observations=["tea"])
    brain.entity("Ada", "person", observations=["coffee", "and a lot of cake"])
    fresh = counters(desk)
    erase(desk.space, desk.log, uids[3:5], actor="ada", reason="asked for")
    tidy(desk.space)
    found = counters(desk)
    rows = desk.rows("SELECT length, state FROM records")
    assert found["records"] == fresh["records"] - 2 == 9
    assert found["words"] == sum(length for length, _ in rows)
    statistics = TextStatistics(desk.database)
    statistics.refresh()
    assert statistics.mean_length < statistics.mean_window < 3 * statistics.mean_length


def test_reads_are_counted_and_relations_to_nothing_removed(desk: Desk) -> None:
    brain = desk.brain()
    hen, other = brain.remember("hen"), brain.remember("egg")
    brain.relate(hen, "lays", other)
    brain.search("hen")
    desk.tamper(
        "UPDATE records SET state = 'erased', text = '', fields = '{}', terms = x'00000000' WHERE uid = ?",
        other,
    )
    assert desk.space.edges.orphans() == 1
    tidy(desk.space)
    assert desk.space.edges.orphans() == 0
    assert desk.rows("SELECT accessed FROM record_stats WHERE record = ?", desk.row(hen)["id"]) == [(1,)]


def test_vectors_are_made_by_what_is_common_here_once_there_is_enough(desk_with_vectors: Desk) -> None:
    desk = desk_with_vectors
    embedder = desk.space.embedder
    assert isinstance(embedder, StaticEmbedder)
    assert embedder.statistics.texts == 0
    remember(desk, 60, "the weather is fine {}")
    before = dict(desk.rows("SELECT record, vector FROM vectors"))
    assert tidy(desk.space) == Tidied(60, 60, 0, "")
    assert isinstance(desk.space.embedder, StaticEmbedder)
    assert desk.space.embedder.statistics.texts == 60
    after = dict(desk.rows("SELECT record, vector FROM vectors"))
    assert before.keys() == after.keys()
    assert all(before[item] != after[item] for item in before)
    assert tidy(desk.space) == Tidied(60, 0, 0, "")  # nothing is too old yet
    restarted = Desk(desk.home, embedder="static")
    assert isinstance(restarted.space.embedder, StaticEmbedder)
    assert restarted.space.embedder.statistics.texts == 60
    restarted.close()
    erase(desk.space, desk.log, [desk.row_of(7)["uid"]], actor="ada", reason="asked for")
    assert [hit.content for hit in desk.brain().search("fine weather 59", k=1)] == ["the weather is fine 59"]


def test_a_pass_that_is_left_off_goes_on_where_it_was(
    desk_with_vectors: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_with_vectors
    monkeypatch.setattr(housekeeping, "_AT_ONCE", 10)
    remember(desk, 60)
    reports: list[tuple[int, int]] = []
    assert tidy(desk.space, most=25, progress=lambda *how: reports.append(how)) == Tidied(30, 30, 30, "")
    assert reports == [(10, 60), (20, 60), (30, 60)]
    assert is_due(desk.space)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tidy(desk.space, progress=stop)
    restarted = Desk(desk.home, embedder="static")
    assert tidy(restarted.space) == Tidied(20, 20, 0, "")
    assert not is_due(restarted.space)
    assert all(information(restarted).values())
    restarted.close()


def test_a_pass_that_another_process_ends_meanwhile_leaves_nothing_behind(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "_AT_ONCE", 10)
    remember(desk, 60)
    ended: list[Tidied] = []

    def meanwhile(*_: int) -> None:
        if not ended:
            ended.append(tidy(desk.space))

    assert tidy(desk.space, most=20, progress=meanwhile).left == 40
    assert ended == [Tidied(50, 0, 0, "words alone: memory.embedder is none")]
    assert not is_due(desk.space)
    assert tidy(desk.space).records == 60


def test_a_pass_of_which_only_the_place_was_left_behind_goes_on(desk: Desk) -> None:
    """Earlier versions left that where two processes tidied at once, and no Brain could be closed any more."""
    remember(desk, 60)
    with desk.database.write() as execute:
        execute("INSERT INTO index_state (name, value) VALUES ('tidied_up_to', 10)")
    assert tidy(desk.space).records == 50
    assert not is_due(desk.space)


def test_a_server_that_does_not_answer_leaves_vectors_for_the_next_time(desk: Desk, server: Waiting) -> None:
    remember(desk, 3)
    server.up = False
    assert tidy(desk.space) == Tidied(3, 0, 0, "the server does not answer")
    assert all(information(desk).values())
    server.up = True
    assert tidy(desk.space) == Tidied(3, 3, 0, "")
    assert tidy(desk.space) == Tidied(3, 0, 0, "")


def test_nothing_is_kept_of_what_was_erased_while_the_model_was_asked(desk: Desk, server: Waiting) -> None:
    untouched, gone, changed = remember(desk, 3)
    brain = desk.brain()

    def meanwhile() -> None:
        server.meanwhile = None
        erase(desk.space, desk.log, [gone], actor="ada", reason="asked for")
        brain.forget(changed)

    server.meanwhile = meanwhile
    assert tidy(desk.space).embedded == 1
    assert desk.rows("SELECT record FROM vectors") == [(desk.row(untouched)["id"],)]


def test_those_that_quote_a_memory_get_a_vector_when_it_is_forgotten(desk_with_vectors: Desk) -> None:
    brain = desk_with_vectors.brain()
    first = brain.log("a rumour")
    brain.log("and what came of it")
    brain.forget(first)
    brain.recover(first)
    assert tidy(desk_with_vectors.space).embedded == 0


def test_another_model_takes_the_place_of_the_former_one(desk_with_vectors: Desk) -> None:
    desk = desk_with_vectors
    remember(desk, 5)
    desk.space.embedder = Waiting()
    assert tidy(desk.space).embedded == 5
    assert desk.rows("SELECT DISTINCT model FROM vectors") == [("server-1",)]


def test_a_session_that_starts_does_a_little_of_it_when_it_is_due_and_closing_does_none(desk: Desk) -> None:
    remember(desk, 700)
    with desk.brain():
        pass
    assert is_due(desk.space)
    assert not any(information(desk).values())
    for _ in range(1_000):
        desk.brain().orient()
        if not is_due(desk.space):
            break
    assert not is_due(desk.space)
    assert all(information(desk).values())


def test_a_step_that_has_no_time_is_made_all_the_same(desk_with_vectors: Desk) -> None:
    desk = desk_with_vectors
    remember(desk, 60)
    steps = [tidy(desk.space, seconds=0.0).records for _ in range(7)]
    assert (steps[0], sum(steps)) == (0, 60)
    assert not is_due(desk.space)
    assert tidy(desk.space, seconds=0.0) == Tidied(0, 0, 0, "")


def test_without_an_embedder_it_says_so(desk: Desk, tmp_path: Path) -> None:
    assert tidy(desk.space) == Tidied(0, 0, 0, "words alone: memory.embedder is none")
