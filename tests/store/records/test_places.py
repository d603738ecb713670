"""A place has one number for good, and a number is one place's."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.store.database import open_database
from sb.store.records.places import Place, Places


def test_the_number_of_a_place_that_was_rolled_back_is_the_next_ones(tmp_path: Path) -> None:
    database = open_database(tmp_path / "places.db")
    places = Places(database)
    known: list[Place] = []

    def make_none() -> None:
        with database.write() as execute:
            number = places.make(execute, Place("s", "project:a", "me"))
            known.extend((places.numbered(number), places.of_stack("s")[number]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_none()
    assert known == [Place("s", "project:a", "me")] * 2
    with database.write() as execute:
        number = places.make(execute, Place("s", "project:b"))
    assert number == 1
    assert places.numbered(number) == Place("s", "project:b")
    assert dict(places.of_stack("s")) == {number: Place("s", "project:b")}


def test_places_that_others_make_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "places.db"
    mine, other = Places(open_database(path)), open_database(path)
    assert dict(mine.of_stack("s")) == {}
    for scope in ("global", "project:a", "project:b"):
        with other.write() as execute:
            number = Places(other).make(execute, Place("s", scope))
            Places(other).make(execute, Place("t", scope))
        assert mine.of_stack("s")[number] == Place("s", scope)
    assert [place.scope for place in mine.of_stack("t").values()] == ["global", "project:a", "project:b"]
    assert len(mine.all()) == 6
