"""No way of saving loses a field: once, in its own place again, and by an update, a record comes back as it was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.base.sources import CountingIds, SteeredClock
from sb.memory.trust.scores import AGENT, USER
from sb.protocols.types import Drive, RawEntry
from sb.stack import SQLiteStack
from sb.store.records.descriptors import DESCRIPTORS
from tests.store.records.shelf import records_of

KINDS = (
    "episode", "belief", "value", "goal", "note", "drive", "relationship", "raw", "playbook", "epoch", "summary",
    "self_narrative",
)  # fmt: skip
SAID_BY_THE_STACK = {"version", "local_updated_at", "created_at", "captured_at", "timestamp", "started_at"}


_numbers = count()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStack]:
    path = tmp_path_factory.mktemp("whole") / "stack.db"
    with SQLiteStack("mine", path, components=[], clock=SteeredClock(), ids=CountingIds()) as made:
        yield made


def mine(record: Any) -> Any:
    """The record with the stack's name, an id of its own, and a version that has some after it."""
    some = {"version": record.version % 1000} if hasattr(record, "version") else {}
    if getattr(record, "source_type", "") == USER:  # only a person is believed that
        some["source_type"] = AGENT
    return replace(record, id=f"{record.id}#{next(_numbers)}", stack_id="mine", **some)


def as_given(record: Any) -> dict[str, Any]:
    """Its fields, but for what the stack fills in; times are aware."""
    fields = {
        name: value
        for name, value in vars(record).items()
        if name not in SAID_BY_THE_STACK or value is not None
    }
    for name in DESCRIPTORS[kind_of(record)].times & fields.keys():
        if fields[name] is not None and fields[name].tzinfo is None:
            fields[name] = fields[name].replace(tzinfo=UTC)
    return {name: value for name, value in fields.items() if name not in ("version", "local_updated_at")}


def kind_of(record: Any) -> str:
    return next(kind for kind, about in DESCRIPTORS.items() if about.type is type(record))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(data=st.data())
def test_every_field_survives_saving_saving_again_and_reading(
    stack: SQLiteStack, kind: str, data: st.DataObject
) -> None:
    first, second = (mine(data.draw(records_of(kind))) for _ in range(2))
    save = getattr(stack, f"save_{kind}")
    given_first = as_given(replace(first))
    uid = save(first)
    found = vars(stack.get_memory(kind, uid))
    if kind not in ("drive", "relationship"):  # of which an older one may say what the new one leaves open
        assert {name: found[name] for name in given_first} == given_first
    second.id = uid
    if kind in ("drive", "relationship"):
        key = DESCRIPTORS[kind].key
        assert key is not None
        setattr(second, key, getattr(first, key))
    given_second = as_given(replace(second))
    assert save(second) == uid
    again = vars(stack.get_memory(kind, uid))
    unread = {name for name, value in given_second.items() if value is None}
    fresh = given_second.keys() - unread - {"times_accessed", "last_accessed", "created_at", "strength"}
    assert {name: again[name] for name in fresh} == {name: given_second[name] for name in fresh}
    assert again["version"] >= found["version"]


@settings(max_examples=12)
@given(drive=records_of("drive"))
def test_an_update_writes_every_field(stack: SQLiteStack, drive: Drive) -> None:
    drive = mine(drive)
    stack.save_drive(drive)
    read = stack.get_memory("drive", drive.id)
    assert read is not None
    changed = replace(read, intensity=0.25, focus_areas=["only this"], context=None)
    assert stack.update_drive_atomic(changed) is True
    after = stack.get_memory("drive", drive.id)
    assert after is not None
    assert replace(after, local_updated_at=None) == replace(changed, local_updated_at=None)


def test_what_was_captured_keeps_its_id_time_tags_and_source(stack: SQLiteStack) -> None:
    stack.save_raw(RawEntry("raw-1", "mine", "as it came", source="plugin:ear", tags=["heard"]))
    (raw_entry,) = stack.get_raw(tags=["heard"])
    assert (raw_entry.id, raw_entry.source, raw_entry.content, raw_entry.captured_at) == (
        "raw-1",
        "plugin:ear",
        "as it came",
        raw_entry.timestamp,
    )
    assert raw_entry.captured_at is not None
