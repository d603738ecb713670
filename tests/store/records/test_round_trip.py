"""Whatever is kept of a record comes back: every field of every kind, through a real row of the real schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.protocols.types import Fact, Remembered
from sb.store.records.descriptor import READ, Descriptor
from sb.store.records.descriptors import DESCRIPTORS, KIND_OF
from tests.rows import rows
from tests.store.records.shelf import NOW, Shelf, as_kept, full_record, records_of

KINDS = sorted(DESCRIPTORS)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path_factory.mktemp("records") / "brain.db")
    yield shelf
    shelf.close()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(data=st.data())
def test_every_field_of_every_kind_comes_back(shelf: Shelf, kind: str, data: st.DataObject) -> None:
    record = shelf.apart(data.draw(records_of(kind)))
    assert shelf.read(shelf.keep(record)) == as_kept(record, kind)


@rows("kind", KINDS)
def test_a_record_comes_back_that_says_something_in_every_field(shelf: Shelf, kind: str) -> None:
    record = shelf.apart(full_record(kind))
    assert shelf.read(shelf.keep(record)) == record


@rows("kind", KINDS)
def test_every_field_has_exactly_one_home(kind: str) -> None:
    about = DESCRIPTORS[kind]
    placed = {"stack_id", "scope", "private"} if about.of_a_brain else {"stack_id"}
    counted = list(READ) if about.reads else []
    homes = [*about.column_of, *about.in_fields, *about.twins, *counted, *placed]
    assert sorted(homes) == sorted(about.attributes)
    columns = list(about.column_of.values())
    assert len(columns) == len(set(columns)), "two fields share a column"


def mutants(kind: str) -> Iterator[tuple[str, Descriptor]]:
    """The descriptor of a kind with one field forgotten, unless the searchable text is its home."""
    about = DESCRIPTORS[kind]
    for name in (*about.column_of, *about.in_fields):
        if about.said_by_text and name == about.text[0]:
            continue
        mutant = replace(about)
        mutant.__dict__["column_of"] = {
            item: about.column_of[item] for item in about.column_of if item != name
        }
        mutant.__dict__["in_fields"] = tuple(field for field in about.in_fields if field != name)
        yield name, mutant


def comes_back(shelf: Shelf, record: Any) -> bool:
    try:
        found = shelf.read(shelf.keep(record))
    except (KeyError, TypeError):  # a column or an argument that must be there is not
        return False
    return bool(found == record)


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_the_codec_forgets_is_noticed(
    shelf: Shelf, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    survivors = []
    for name, mutant in mutants(kind):
        monkeypatch.setitem(DESCRIPTORS, kind, mutant)
        if comes_back(shelf, shelf.apart(full_record(kind))):
            survivors.append(name)
    assert survivors == []


@dataclass
class Recipe(Remembered):
    dish: str
    servings: int = 2
    steps: list[str] | None = None


def test_a_new_kind_is_one_descriptor(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DESCRIPTORS, "recipe", Descriptor("recipe", Recipe, ("dish",), also=("steps",)))
    monkeypatch.setitem(KIND_OF, Recipe, "recipe")
    record = Recipe("soup", 4, ["boil", "serve"], id="r1", agent_id="cook")
    row = shelf.keep(record)
    assert row["text"] == "soup: boil; serve"
    expected = replace(record, happened_at=NOW, created_at=NOW, updated_at=NOW)
    assert shelf.read(row) == expected


def test_numbers_are_kept_exactly(shelf: Shelf) -> None:
    for confidence in (0.1 + 0.2 - 0.3, 1 / 3, 5e-324, 0.9999999999999999):
        row = shelf.keep(Fact("exact", confidence=confidence, agent_id="a", id=f"exact {confidence}"))
        assert shelf.read(row).confidence == confidence == row["confidence"]


def test_reads_are_counted_on_from_where_a_record_brings_them(shelf: Shelf) -> None:
    brought: dict[str, Any] = {"times_accessed": 7, "last_accessed": NOW.replace(year=2020)}
    row = shelf.keep(Fact("read often", id="read", agent_id="a", **brought))
    with shelf.database.write() as execute:
        shelf.reads.append(
            execute, "search", "q", [(row["id"], 1.0)], at=NOW.timestamp(), agent="a", session=None, tokens=3
        )
    assert (shelf.read(row).times_accessed, shelf.read(row).last_accessed) == (8, NOW)
    with shelf.database.write() as execute:
        shelf.reads.fold(execute)
    assert (shelf.read(row).times_accessed, shelf.read(row).last_accessed) == (8, NOW)
    assert shelf.store.row(row["id"]) == row, "a read changed the record"
