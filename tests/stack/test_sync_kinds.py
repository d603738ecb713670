"""Whatever a record of any kind says comes to be in the other database as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.memory.record_writer import RecordWriter
from sb.protocols import SyncResult
from sb.protocols.types import Handoff, Value
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.places import Place
from sb.store.records.rows import from_row
from tests.stack.copies import Copy
from tests.store.records.shelf import records_of

OF_ONE_DATABASE = {
    "version",
    "updated_at",
    "local_updated_at",
    "times_accessed",
    "last_accessed",
    "cloud_synced_at",
    "strength",
}
_numbers = count()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Copy, Copy]]:
    folder = tmp_path_factory.mktemp("kinds")
    copy, other = Copy(folder / "one.db"), Copy(folder / "other.db", ahead_s=-86_400)
    yield copy, other
    copy.close()
    other.close()


def batched(kinds: Iterable[str]) -> list[tuple[str, ...]]:
    """Four at a time: one exchange of two databases does for all of them."""
    left = iter(kinds)
    return list(iter(lambda: tuple(islice(left, 4)), ()))


def read(copy: Copy, uid: str) -> dict[str, Any]:
    row = copy.space.records.find(uid)
    assert row is not None
    place = copy.space.places.numbered(row["place"])
    fields: dict[str, Any] = vars(from_row(row, place))
    return {name: value for name, value in fields.items() if name not in OF_ONE_DATABASE}


@pytest.mark.parametrize("kinds", batched(DESCRIPTORS), ids=", ".join)
@given(data=st.data())
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_a_record_of_any_kind_goes_over_whole(
    pair: tuple[Copy, Copy], kinds: tuple[str, ...], data: st.DataObject
) -> None:
    copy, other = pair
    number = next(_numbers)
    records = [replace(data.draw(records_of(kind)), id=f"rec_{number}_{kind}") for kind in kinds]
    for record in records:
        if isinstance(record, Handoff):
            record.recipient = ""  # one for somebody goes over only with that one's core
    record_writer = RecordWriter(copy.space, "tester")
    pairs = record_writer.pairs(records)
    with copy.database.write() as execute:
        place = copy.space.places.make(execute, Place("mine", f"project:{number}"))  # for its name
        for row, _ in pairs:
            row["place"] = place
        record_writer.keep(execute, pairs)
    assert copy.with_remote(other).sync().pushed == len(kinds)
    for record in records:
        assert read(copy, record.id) == read(other, record.id)
        assert copy.state(record.id)[record.id] == other.state(record.id)[record.id]
    assert copy.with_remote(other).sync() == SyncResult()


def test_number_with_the_digits_of_a_card_goes_over_as_it_is(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    uid = copy.stack.save_value(Value("", "mine", "speed", "fast enough", priority=4111_1111_1111_1111))
    assert copy.with_remote(other).sync().pushed == 1
    assert read(copy, uid)["priority"] == read(other, uid)["priority"] == 4111_1111_1111_1111
