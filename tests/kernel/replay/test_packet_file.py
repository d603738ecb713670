"""A packet that anybody changed is refused; only its end can be missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.errors import ConfigError, DeniedError, NotFoundError
from sb.kernel.replay.packet_file import MAGIC, TORN, PacketFile, PacketFull

KEY = bytes(range(32))
FIRST = {"kind": "begun"}
PLENTY = 1 << 20
RECORDS = [{"kind": "step", "n": number, "text": "ä" * number} for number in range(5)]


def written(folder: Path, name: str = "one") -> PacketFile:
    file = PacketFile(folder / name, KEY)
    for record in RECORDS:
        file.append(record, lambda: FIRST, PLENTY)
    return file


@pytest.fixture
def file(tmp_path: Path) -> PacketFile:
    return written(tmp_path)


def test_records_come_back_in_order(file: PacketFile) -> None:
    assert list(file.records()) == [FIRST, *RECORDS]
    assert file.path.stat().st_mode & 0o777 == 0o600


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_changed_byte_is_refused(file: PacketFile, data: st.DataObject) -> None:
    good = file.path.read_bytes()
    position = data.draw(st.integers(0, len(good) - 1))
    changed = bytearray(good)
    changed[position] ^= data.draw(st.integers(1, 255))
    other = PacketFile(file.path.with_name("changed"), KEY)
    other.path.write_bytes(changed)
    try:
        found = list(other.records())
    except (DeniedError, ConfigError):
        return
    # A length that reaches beyond the end is an end that was cut off.
    assert found == [FIRST, *RECORDS][: len(found)] != [FIRST, *RECORDS]


@given(st.integers(0, 10_000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_what_is_cut_off_leaves_the_records_before_it(file: PacketFile, cut: int) -> None:
    good = file.path.read_bytes()
    other = PacketFile(file.path.with_name("cut"), KEY)
    other.path.write_bytes(good[: max(len(MAGIC) + 2, len(good) - cut % len(good))])
    found = list(other.records())
    assert found == [FIRST, *RECORDS][: len(found)]


def test_records_left_out_moved_or_of_another_packet_are_refused(tmp_path: Path, file: PacketFile) -> None:
    data, ends = file.path.read_bytes(), [len(MAGIC) + 2]
    while ends[-1] < len(data):
        ends.append(ends[-1] + 16 + int.from_bytes(data[ends[-1] : ends[-1] + 4], "big"))
    head, *records = (data[start:end] for start, end in zip([0, *ends], ends, strict=False))
    foreign = written(tmp_path, "two").path.read_bytes()
    spliced = foreign[: ends[2]] + data[ends[2] :]
    left_out = head + b"".join(records[:2] + records[3:])
    moved = head + b"".join([records[0], records[2], records[1], *records[3:]])
    for changed in (spliced, left_out, moved):
        file.path.write_bytes(changed)
        with pytest.raises(DeniedError, match="was changed, or is not of this home"):
            list(file.records())


def test_another_home_s_key_opens_nothing(file: PacketFile) -> None:
    with pytest.raises(DeniedError):
        list(PacketFile(file.path, bytes(32)).records())


def test_newer_foreign_missing_and_unreadable_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "packet"
    file = PacketFile(path, KEY)
    for content, error, item in (
        (MAGIC + b"2\n", ConfigError, "version 2, newer than this sb reads"),
        (b"PK\x03\x04", DeniedError, "is not a packet"),
        (b"", DeniedError, "is not a packet"),
    ):
        path.write_bytes(content)
        with pytest.raises(error, match=item):
            list(file.records())
    path.unlink()
    with pytest.raises(NotFoundError):
        list(file.records())
    path.mkdir()
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        list(file.records())


def test_a_full_packet_stays_as_it_is(file: PacketFile) -> None:
    before = file.path.read_bytes()
    with pytest.raises(PacketFull):
        file.append({"kind": "step", "text": "x" * 500}, lambda: FIRST, len(before) + 100)
    assert file.path.read_bytes() == before


def test_processes_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    file = PacketFile(tmp_path / "shared", KEY)
    children = []
    for process in range(4):
        child = os.fork()
        if not child:
            try:
                for number in range(50):
                    file.append({"process": process, "number": number}, lambda: FIRST, PLENTY)
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    first, *records = file.records()
    assert first == FIRST
    for process in range(4):
        assert [record["number"] for record in records if record["process"] == process] == list(range(50))


@given(st.integers(1, 10_000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_a_record_behind_a_torn_one_leaves_a_note_and_all_whole_records(file: PacketFile, cut: int) -> None:
    good = file.path.read_bytes()
    other = PacketFile(file.path.with_name("torn"), KEY)
    other.path.write_bytes(good[: len(good) - 1 - cut % (len(good) - 1)])
    size, ends = other.path.stat().st_size, [0, len(MAGIC) + 2]
    while ends[-1] < len(good):
        ends.append(ends[-1] + 16 + int.from_bytes(good[ends[-1] : ends[-1] + 4], "big"))
    del ends[1]  # the first line alone is torn too
    before = list(other.records()) if other.path.stat().st_size > len(MAGIC) + 2 else []
    other.append({"kind": "later"}, lambda: FIRST, PLENTY)
    other.append({"kind": "last"}, lambda: FIRST, PLENTY)
    found = list(PacketFile(other.path, KEY).records())
    assert found[-2:] == [{"kind": "later"}, {"kind": "last"}]
    assert [item for item in found[:-2] if item != TORN] == (before or [FIRST])
    assert (TORN in found) is (size not in ends)


def test_nothing_is_added_behind_records_that_somebody_changed(file: PacketFile) -> None:
    changed = bytearray(file.path.read_bytes())
    changed[len(changed) // 2] ^= 1
    file.path.write_bytes(changed[:-3])
    with pytest.raises(DeniedError, match="was changed"):
        PacketFile(file.path, KEY).append({"kind": "later"}, lambda: FIRST, PLENTY)
    assert file.path.read_bytes() == changed[:-3]
