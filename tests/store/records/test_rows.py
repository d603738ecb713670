"""Values of rows where plain ones are not enough, and values that are refused before."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import orjson
import pytest

from sb.protocols.types import Affect, Decision, EntityRecord, Episode, Fact, MemorySuggestion, Note, RawEntry
from sb.store.records.places import Place
from sb.store.records.rows import from_row, to_moment, to_row, to_seconds
from tests.rows import rows
from tests.store.records.shelf import NOW, Shelf

EARLY = timezone(timedelta(hours=-9, minutes=-30))


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path / "brain.db")
    yield shelf
    shelf.close()


@rows(
    "record, message",
    [
        (Fact("x", "opinion"), "category is 'opinion', must be one of convention, decision, environment"),
        (Fact("x", source_type="gossip"), "source_type is 'gossip', must be one of agent-written"),
        (Fact("x", confidence=1.01), "confidence is 1.01, must be from 0 to 1"),
        (Fact("x", confidence=math.nan), "confidence is nan, must be from 0 to 1"),
        (Fact("x", evidence_n=math.inf), "evidence_n is inf, must be from 0"),
        (Fact("x", strength=-0.1), "strength is -0.1"),
        (Affect("x", dominance=-2), "dominance is -2, must be from -1 to 1"),
        (Fact(""), "content of this fact is empty"),
        (Fact(" \n"), "content of this fact is empty"),
        (RawEntry("i", "s"), "blob of this raw is empty"),
        (Fact("half \ud83d of a pair"), "content is not valid text: surrogates not allowed at character 5"),
        (Decision("x", "\udcff"), "title/rationale is not valid text: surrogates not allowed at character 3"),
        (Fact("x", id="\udcff"), "id is not valid text"),
        (Fact("x", speaker="\udcff"), "speaker is not valid text"),
        (Fact("x", tags=["\udcff"]), "tags of this fact cannot be stored: .*surrogates"),
        (Fact("x", source_entity="\udcff"), "a field of this fact cannot be stored: .*surrogates"),
        (Fact("x", happened_at="2026-01-01"), "happened_at is '2026-01-01', must be a time"),  # type: ignore[arg-type]
        (Fact("x", tags="billing"), "tags is 'billing', must be a list of strings"),  # type: ignore[arg-type]
        (Fact("x", tags=["a", 1]), r"tags is \['a', 1\], must be a list of strings"),  # type: ignore[list-item]
        (Fact(7), "content is 7, must be a string"),  # type: ignore[arg-type]
        (Fact("x", is_protected="no"), "is_protected is 'no', must be true or false"),  # type: ignore[arg-type]
        (Fact("x", version=1.5), "version is 1.5, must be a whole number"),  # type: ignore[arg-type]
        (Decision("x", None), "rationale is None, must be a string"),  # type: ignore[arg-type]
        (EntityRecord("x", "person", properties={"n": math.nan}), "properties holds nan"),
        (MemorySuggestion("i", "s", "note", {"a": [{"b": math.inf}]}, 0.5, []), "content holds inf"),
        (EntityRecord("x", "person", properties={"at": NOW}), "not JSON serializable: datetime"),
        (EntityRecord("x", "person", properties={"n": 2**70}), "exceeds 64-bit"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(record: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_row(record)


def test_a_refusal_of_a_huge_text_is_short() -> None:
    with pytest.raises(ValueError, match="category") as caught:
        to_row(Fact("x", "y" * 5_000_000))
    assert len(str(caught.value)) < 300


def test_what_is_no_record_has_no_row() -> None:
    with pytest.raises(TypeError, match="dict is not a record kind"):
        to_row({"content": "x"})


def test_control_characters_come_back_as_they_were(shelf: Shelf) -> None:
    text = "a\0b\x1b[31m\u202e\r\nc"
    for record in (
        Fact(text, id="f", agent_id="a", speaker=text),
        Decision(text, text, id="d", agent_id="a"),
    ):
        found = shelf.read(shelf.keep(record))
        assert [
            getattr(found, name) for name in ("content", "title", "rationale") if hasattr(found, name)
        ] == [text for name in ("content", "title", "rationale") if hasattr(record, name)]
    assert shelf.read(shelf.keep(Note("n", "s", text, speaker=text))).speaker == text


def test_a_tuple_is_taken_for_a_list(shelf: Shelf) -> None:
    record = Episode("e", "s", "a", "b", lessons=("one", "two"))  # type: ignore[arg-type]
    assert shelf.read(shelf.keep(record)).lessons == ["one", "two"]


def test_none_and_an_empty_list_are_kept_apart(shelf: Shelf) -> None:
    nothing = shelf.read(shelf.keep(Note("n1", "s", "x")))
    empty = shelf.read(shelf.keep(Note("n2", "s", "x", tags=[], derived_from=[])))
    assert (nothing.tags, nothing.derived_from) == (None, None)
    assert (empty.tags, empty.derived_from) == ([], [])


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=UTC),
        datetime(2026, 3, 4, 5, 6, 7, 999_999, tzinfo=EARLY),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(1066, 10, 14, 9, 0, 0, 1, tzinfo=UTC),
        datetime(2999, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
        datetime(1850, 1, 1, tzinfo=timezone(timedelta(minutes=19, seconds=32))),
    ],
)
def test_a_time_is_kept_to_the_microsecond(shelf: Shelf, moment: datetime) -> None:
    record = EntityRecord("x", "event", id="x", agent_id="a", happened_at=moment)
    assert shelf.read(shelf.keep(record)).happened_at == moment
    episode = Episode("e", "s", "a", "b", created_at=moment, last_verified=moment, cloud_synced_at=moment)
    found = shelf.read(shelf.keep(episode))
    assert [found.created_at, found.last_verified, found.cloud_synced_at] == [moment] * 3


def test_a_time_without_an_offset_counts_as_utc(shelf: Shelf) -> None:
    naive = datetime(2026, 3, 4, 5, 6, 7)
    found = shelf.read(shelf.keep(Note("n", "s", "x", created_at=naive, last_verified=naive)))
    assert found.created_at == found.last_verified == naive.replace(tzinfo=UTC)


def test_times_in_columns_are_seconds_since_the_epoch() -> None:
    assert to_row(Fact("x", happened_at=datetime(1970, 1, 2, tzinfo=UTC)))["happened_at"] == 86_400.0
    for microseconds in (-(2**42) * 1000 + 1, -1, 0, 1, 1_800_000_000_123_457, 4_294_967_295_999_999):
        seconds = microseconds / 1e6
        moment = to_moment(seconds)
        assert moment is not None
        assert to_seconds(moment) == seconds
    assert to_moment(math.inf) is None
    assert to_moment(1e300) == datetime.max.replace(tzinfo=UTC)


def test_a_source_is_stored_as_it_was_given(shelf: Shelf) -> None:
    for given in ("tool-output", "observation"):
        row = shelf.keep(Fact("x", id=given, agent_id="a", source_type=given))
        assert (row["source_type"], shelf.read(row).source_type) == (given, given)


def test_what_a_newer_version_wrote_stays_when_the_record_is_rewritten(shelf: Shelf) -> None:
    row = shelf.keep(EntityRecord("Ada", "person", ["plays"], id="e", agent_id="a"))
    fields = orjson.loads(row["fields"]) | {"mood": {"level": 3}}
    with shelf.database.write() as execute:
        shelf.store.update(execute, row["id"], {"fields": orjson.dumps(fields).decode()}, actor="newer")
    former = shelf.store.row(row["id"])
    assert former is not None
    record = shelf.read(former)
    record.observations.append("sings")
    rewritten = orjson.loads(to_row(record, former)["fields"])
    assert rewritten["mood"] == {"level": 3}
    assert rewritten["observations"] == ["plays", "sings"]


def test_a_field_that_became_empty_is_not_taken_for_one_of_a_newer_version(shelf: Shelf) -> None:
    row = shelf.keep(Note("n", "s", "x", reason="because"))
    record = shelf.read(row)
    record.reason = None
    assert "reason" not in orjson.loads(to_row(record, row)["fields"])


def test_a_kind_of_a_newer_version_is_named(shelf: Shelf) -> None:
    row = shelf.keep(Note("n", "s", "x")) | {"kind": "hologram"}
    with pytest.raises(ValueError, match="n is of kind 'hologram', which this version of sb does not know"):
        shelf.read(row)


def test_an_erased_record_cannot_be_read(shelf: Shelf) -> None:
    row = shelf.keep(Decision("Use queues", "They last", id="d", agent_id="a"))
    with shelf.database.write() as execute:
        shelf.store.erase(execute, [row["id"]], actor="a", reason="asked")
    erased = shelf.store.row(row["id"])
    assert erased is not None
    with pytest.raises(ValueError, match="d is erased"):
        from_row(erased, Place("default"))
