"""Nearest vectors are those of exact comparison, whoever wrote them, and only where they may be seen."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.store import driver, migrate
from sb.store.backup import back_up
from sb.store.database import Database, open_database
from sb.store.index import vectors
from sb.store.index.vectors import Source, VectorIndex, VectorRow

MODEL = "m1"
D = 64
RNG = np.random.default_rng(7)


def unit(*numbers: float) -> Any:
    vector = np.zeros(D, np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.linalg.norm(vector)


def noise(count: int) -> Any:
    found = RNG.normal(size=(count, D)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = prepared(tmp_path / "brain.db")
    yield opened
    opened.close()


def prepared(path: Path) -> Database:
    """A database with three places and a session."""
    database = open_database(path)
    with database.write() as execute:
        for place in (1, 2, 3):
            execute("INSERT INTO places VALUES (?, 'default', ?, '')", (place, f"project:p{place}"))
        execute("INSERT INTO memory_sessions VALUES (1, 's', 'a', 'default', 'global', 0, NULL)")
    return database


@pytest.fixture
def index(database: Database) -> VectorIndex:
    return VectorIndex(database)


@pytest.fixture(params=["exactly", "by bits"])
def compared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place with few records, and one with many."""
    if request.param == "by bits":
        if not driver.EXTENSIONS:
            pytest.skip("this SQLite cannot load extensions")
        monkeypatch.setattr(vectors, "FEW", 0)
    return str(request.param)


def add(
    database: Database, number: int, place: int = 1, text: str = "x", prev: tuple[int | None, ...] = ()
) -> None:
    prev1, prev2 = (*prev, None, None)[:2]
    with database.write() as execute:
        execute(
            "INSERT INTO records (id, uid, kind, place, agent, session, prev1, prev2, source_type, happened_at,"
            " created_at, updated_at, fields, text) VALUES (?, ?, 'fact', ?, 'a', 1, ?, ?, 'x', 0, 0, 0, '{}', ?)",
            (number, f"mem_{number}", place, prev1, prev2, text),
        )
        execute(
            "INSERT INTO record_index (rowid, body, prev, place)"
            " SELECT id, body, prev, place FROM searchable WHERE id = ?",
            (number,),
        )


def put(
    database: Database, index: VectorIndex, number: int, vector: Any, place: int = 1, model: str = MODEL
) -> None:
    with database.write() as execute:
        index.put(execute, number, place, model, b"d", vector)


def ids(found: list[tuple[int, float]]) -> list[int]:
    return [number for number, _ in found]


def test_the_nearest_come_first_with_their_cosines(
    database: Database, index: VectorIndex, compared: str
) -> None:
    for number, vector in enumerate([unit(1), unit(1, 1), unit(0, 1), unit(-1)], 1):
        add(database, number)
        put(database, index, number, vector)
    found = index.nearest(MODEL, unit(1), [1], 3)
    assert ids(found) == [1, 2, 3]
    assert [cosine for _, cosine in found] == pytest.approx([1, 2**-0.5, 0], abs=1e-3)
    assert ids(index.nearest(MODEL, unit(1), [1], 1, also=[4, 99])) == [1, 4]


def test_only_the_places_that_are_asked_for_are_searched(
    database: Database, index: VectorIndex, compared: str
) -> None:
    for number in range(1, 10):
        add(database, number, place=number % 3 + 1)
        put(database, index, number, unit(1), place=number % 3 + 1)
    assert sorted(ids(index.nearest(MODEL, unit(1), [1, 2], 10))) == [1, 3, 4, 6, 7, 9]
    assert index.nearest(MODEL, unit(1), [], 10) == []


@pytest.mark.parametrize("change", ["place = 2", "state = 'forgotten'", "state = 'quarantined'"])
def test_a_record_that_was_moved_or_hidden_is_not_found_even_if_its_vector_was_forgotten(
    database: Database, index: VectorIndex, compared: str, change: str
) -> None:
    add(database, 1)
    put(database, index, 1, unit(1))
    with database.write() as execute:
        execute(f"UPDATE records SET {change} WHERE id = 1")
    assert index.nearest(MODEL, unit(1), [1], 5) == []


def test_a_filter_is_part_of_the_search(database: Database, index: VectorIndex, compared: str) -> None:
    for number in (1, 2):
        add(database, number, text=f"text {number}")
        put(database, index, number, unit(1))
    assert ids(index.nearest(MODEL, unit(1), [1], 5, where="r.text = ?", parameters=("text 2",))) == [2]


def test_a_vector_is_replaced_and_a_zero_one_is_near_to_nothing(
    database: Database, index: VectorIndex, compared: str
) -> None:
    add(database, 1)
    put(database, index, 1, unit(1))
    put(database, index, 1, unit(0, 1))
    assert index.nearest(MODEL, unit(1), [1], 5)[0][1] == pytest.approx(0, abs=1e-3)
    put(database, index, 1, np.zeros(D, np.float32))
    assert index.nearest(MODEL, unit(1), [1], 5) == ([] if compared == "by bits" else [(1, 0.0)])


def test_vectors_of_two_models_are_never_mixed(database: Database, index: VectorIndex, compared: str) -> None:
    for number in (1, 2):
        add(database, number)
        put(database, index, number, unit(1))
    put(database, index, 2, np.full(16, 0.25, np.float32), model="m2")
    assert ids(index.nearest("m2", np.full(16, 0.25, np.float32), [1], 5)) == [2]
    assert ids(index.nearest(MODEL, unit(1), [1], 5, also=[1, 2])) == [1]
    assert index.counts() == (2, {MODEL: 1, "m2": 1})
    assert [source.record for source in index.stale("m2", 9)] == [1, 2]  # 2: put with another digest
    put(database, index, 2, unit(1))  # the first model again: its bits are made anew, also those of 1
    assert sorted(ids(index.nearest(MODEL, unit(1), [1], 5))) == [1, 2]


def test_what_is_rolled_back_was_never_there(database: Database, index: VectorIndex, compared: str) -> None:
    add(database, 1)

    def interrupted() -> None:
        with database.write() as execute:
            index.put(execute, 1, 1, MODEL, b"d", unit(1))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert index.nearest(MODEL, unit(1), [1], 5) == []
    put(database, index, 1, unit(1))
    assert ids(index.nearest(MODEL, unit(1), [1], 5)) == [1]


def test_dropping_a_record_drops_what_quotes_it(
    database: Database, index: VectorIndex, compared: str
) -> None:
    add(database, 1)
    add(database, 2, prev=(1,))
    add(database, 3, prev=(2, 1))
    add(database, 4, prev=(3, 2))
    for number in (1, 2, 3, 4):
        put(database, index, number, unit(1))
    with database.write() as execute:
        index.drop(execute, 1)
    assert ids(index.nearest(MODEL, unit(1), [1], 5)) == [4]
    assert index.counts().vectors == {MODEL: 1}


def test_records_without_a_fitting_vector_are_listed_with_what_it_is_made_from(
    database: Database, index: VectorIndex
) -> None:
    add(database, 1, text="one")
    add(database, 2, text="two", prev=(1,))
    add(database, 3, text="three", prev=(2, 1))
    assert index.stale(MODEL, 9) == index.sources([1, 2, 3])
    assert [source.previous for source in index.sources([1, 2, 3])] == [("", ""), ("one", ""), ("two", "one")]
    assert [source.record for source in index.stale(MODEL, 1, after=1)] == [2]
    with database.write() as execute:
        rows = [
            VectorRow(source.record, source.place, MODEL, source.digest, unit(1))
            for source in index.stale(MODEL, 9)
        ]
        index.put_many(execute, rows)
    assert index.stale(MODEL, 9) == []
    assert [source.record for source in index.stale("other", 9)] == [1, 2, 3]
    with database.write() as execute:
        execute("UPDATE records SET state = 'forgotten' WHERE id = 1")
    assert [(source.record, source.previous) for source in index.stale(MODEL, 9)] == [
        (2, ("", "")),
        (3, ("two", "")),
    ]


def test_a_digest_tells_texts_apart_that_are_the_same_when_joined() -> None:
    texts = [("ab", ()), ("a", ("b",)), ("a", ("", "b")), ("", ("ab",)), ("a", ("b", "c"))]
    assert len({Source(1, 1, text, previous).digest for text, previous in texts}) == len(texts)
    assert Source(1, 1, "a").digest == Source(2, 3, "a", ("", "")).digest


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["put", "put", "drop", "hide", "show"]), st.integers(1, 12)), max_size=40
)


@settings(max_examples=40)
@given(OPERATIONS)
def test_any_puts_and_drops_leave_what_comparing_all_would_find(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, int]]
) -> None:
    database = prepared(tmp_path_factory.mktemp("any") / "brain.db")
    index = VectorIndex(database)
    stored: dict[int, Any] = {}
    hidden: set[int] = set()
    for number in range(1, 13):
        add(database, number, place=number % 2 + 1)
    for (operation, number), vector in zip(operations, noise(len(operations)), strict=True):
        with database.write() as execute:
            if operation == "put":
                index.put(execute, number, number % 2 + 1, MODEL, b"d", vector)
                stored[number] = vector
            elif operation == "drop":
                index.drop(execute, number)
                stored.pop(number, None)
            else:
                state = "forgotten" if operation == "hide" else "active"
                execute("UPDATE records SET state = ? WHERE id = ?", (state, number))
                (hidden.add if operation == "hide" else hidden.discard)(number)
    asked = unit(1, 2, 3)
    shown = {number: float(vector @ asked) for number, vector in stored.items() if number not in hidden}
    for places in ([1], [2], [1, 2]):
        expected = {number: cosine for number, cosine in shown.items() if number % 2 + 1 in places}
        assert dict(index.nearest(MODEL, asked, places, 20)) == pytest.approx(expected, abs=2e-3)
        if driver.EXTENSIONS:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(vectors, "FEW", 0)
                assert dict(index.nearest(MODEL, asked, places, 20)) == pytest.approx(expected, abs=2e-3)
    database.close()


@pytest.mark.skipif(not driver.EXTENSIONS, reason="this SQLite cannot load extensions")
def test_of_many_records_bits_propose_nearly_all_of_the_nearest(
    database: Database, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = noise(300)
    for number in range(1, 301):
        add(database, number)
    with database.write() as execute:
        index.put_many(execute, [VectorRow(n, 1, MODEL, b"d", vector) for n, vector in enumerate(made, 1)])
    asked = noise(20)
    exact = [set(ids(index.nearest(MODEL, item, [1], 10))) for item in asked]
    monkeypatch.setattr(vectors, "FEW", 0)
    proposed = [set(ids(index.nearest(MODEL, item, [1], 10))) for item in asked]
    found = sum(len(item & other) for item, other in zip(exact, proposed, strict=True)) / 200
    assert 0.5 < found <= 1  # at random it would be 0.13


@pytest.mark.skipif(not driver.EXTENSIONS, reason="this SQLite cannot load extensions")
def test_the_tables_of_the_extension_disturb_neither_migrations_nor_backups_nor_readers(
    database: Database, index: VectorIndex, tmp_path: Path
) -> None:
    add(database, 1)
    put(database, index, 1, unit(1))
    assert {line.state for line in migrate.status(database.query)} == {"applied"}
    with database.snapshot() as connection:
        assert connection.execute("SELECT count(*) FROM record_bits").fetchone() == (1,)
    with database.write(power=True) as execute:
        index.drop(execute, 1)
        index.put(execute, 1, 1, MODEL, b"d", unit(1))
    back_up(database, tmp_path / "copy.db")
    copy = open_database(tmp_path / "copy.db")  # and a connection without the extension
    assert copy.query("PRAGMA integrity_check") == [("ok",)]
    assert ids(VectorIndex(copy).nearest(MODEL, unit(1), [1], 5)) == [1]
    copy.close()


WITHOUT = """
import sys
sys.modules["pysqlite3"] = None
import numpy as np
from sb.store import driver
from sb.store.database import open_database
from sb.store.index import vectors
assert driver.NAME == "sqlite3"
if driver.EXTENSIONS:  # this Python's own module can load extensions: take the library away instead
    driver.vector_extension = lambda: None
database = open_database(sys.argv[1])
index = vectors.VectorIndex(database)
two = np.zeros(64, np.float32); two[1] = 1
with database.write() as execute:
    index.drop(execute, 1)
    index.put(execute, 2, 1, "m1", b"d", two)
print(index.nearest("m1", two, [1], 5))
vectors.FEW = 0
print(index.nearest("m1", two, [1], 5), index.nearest("m1", two, [1], 5, also=[1, 2]))
print(index.unavailable("m1"))
"""


def test_a_process_that_cannot_load_the_extension_still_writes_and_compares(
    database: Database, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2, 3):
        add(database, number)
    for number in (1, 3):
        put(database, index, number, unit(1))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, database.path], capture_output=True, text=True, check=True
    )
    few, many, why = done.stdout.splitlines()
    assert few == "[(2, 1.0), (3, 0.0)]"
    listed = "[(3, 0.0)]" if driver.EXTENSIONS else "[]"  # what others listed is read without the extension
    both = "[(2, 1.0), (3, 0.0)]" if driver.EXTENSIONS else "[(2, 1.0)]"
    assert many == f"{listed} {both}"
    assert "no vector search" in why
    assert ids(index.nearest(MODEL, unit(0, 1), [1], 5)) == [2, 3]
    if driver.EXTENSIONS:
        monkeypatch.setattr(vectors, "FEW", 0)
        assert ids(index.nearest(MODEL, unit(0, 1), [1], 5)) == [3]  # what the other wrote is not listed yet
        add(database, 4)
        put(database, index, 4, unit(1))
        assert sorted(ids(index.nearest(MODEL, unit(0, 1), [1], 5))) == [2, 3, 4]


def test_few_that_a_filter_lets_pass_are_compared_exactly_even_in_a_place_of_many(
    database: Database, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "FEW", 5)
    for number in range(1, 41):
        add(database, number, text="rare" if number > 38 else "common")
        put(database, index, number, unit(0, 1, number) if number > 38 else unit(1, 0, number))
    index.nearest(MODEL, unit(1), [1], 2)
    rare = index.nearest(MODEL, unit(1), [1], 2, where="r.text = ?", parameters=("rare",))
    assert sorted(ids(rare)) == [39, 40]
