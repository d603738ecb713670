"""Records from another database come as they were sealed there, by this home or one that counts in it, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.errors import CheckFailed, DeniedError, SBError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Operator
from sb.protocols import SyncResult
from sb.stack.sync.changes import parse
from tests.stack.copies import Copy, home


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Copy, Copy]]:
    """Two copies of one home, of which the other has two notes."""
    copy, other = Copy(tmp_path / "one.db"), Copy(tmp_path / "other.db")
    other.note("first")
    other.note("second")
    yield copy, other
    copy.close()
    other.close()


def enrolled(copy: Copy) -> Operator:
    copy.config.home.create()
    authority = Authority(copy.config.operators.file, copy.log)
    by = Enrolment(authority, KeyFolder(copy.config.home.keys)).init("ada", None)
    assert isinstance(by, Operator)
    return by


def exchange_changes(pair: tuple[Copy, Copy]) -> None:
    """Let the other copy write down what it has, and change it, so that there is something to edit."""
    copy, other = pair
    other.with_remote(copy).sync()
    for uid in list(copy.state()):
        other.edit(uid, content=f"new text of {uid}")
    elsewhere = Copy(copy.path.with_name("elsewhere.db"))
    other.with_remote(elsewhere).sync()
    elsewhere.close()


def edit(copy: Copy, sql: str, *values: object) -> None:
    with copy.database.write() as execute:
        execute(sql, values)


EDITS: list[Callable[[Copy], None]] = [
    lambda copy: edit(copy, "UPDATE sync_changes SET document = replace(document, 'new text', 'evil text')"),
    lambda copy: edit(
        copy,
        "UPDATE sync_changes SET document = replace(document, 'new text', 'evil text')"
        " WHERE record = (SELECT max(record) FROM sync_changes)",
    ),
    lambda copy: edit(copy, "UPDATE sync_changes SET seal = '{}'"),
    lambda copy: edit(copy, "UPDATE sync_changes SET seal = 'x'"),
    lambda copy: edit(copy, "UPDATE sync_changes SET document = 'x'"),
    lambda copy: edit(
        copy, "UPDATE sync_changes SET seal = (SELECT seal FROM sync_changes ORDER BY record LIMIT 1)"
    ),
]


@pytest.mark.parametrize("change", EDITS)
def test_a_batch_that_was_edited_is_refused_whole(
    pair: tuple[Copy, Copy], change: Callable[[Copy], None]
) -> None:
    local, other = pair
    exchange_changes(pair)
    local.note("to be given")
    before = [copy.state() for copy in pair]
    change(other)
    with pytest.raises(CheckFailed, match=r"edited|seal|damaged"):
        local.with_remote(other).sync()
    assert [copy.state() for copy in pair] == before


def test_a_forged_seal_of_this_home_is_refused(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    exchange_changes(pair)
    rows = other.database.query("SELECT record, document, seal FROM sync_changes")
    forger = Copy(copy.path.with_name("forger.db"), config=home(copy.path.with_name("forger")))
    forger.note("evil")
    forger.with_remote(other).sync()
    (sealed,) = forger.database.query("SELECT seal FROM sync_changes ORDER BY seq LIMIT 1")
    seal = orjson.loads(sealed[0])
    ours = orjson.loads(rows[0][2])["statement"]["home"]
    seal["statement"]["home"] = ours
    edit(other, "UPDATE sync_changes SET seal = ? WHERE seal = ?", orjson.dumps(seal).decode(), sealed[0])
    with pytest.raises(CheckFailed, match="edited"):
        copy.with_remote(other).sync()
    forger.close()


@pytest.mark.parametrize(
    "change",
    [
        """UPDATE sync_changes SET seal = replace(seal, '"mac":"', '"mac":"é')""",
        "UPDATE sync_changes SET seen = 'nothing'",
        "UPDATE sync_changes SET (document, seal) = (SELECT document, seal FROM sync_changes ORDER BY seq)",
    ],
)
def test_what_no_program_of_ours_wrote_is_refused_in_words(pair: tuple[Copy, Copy], change: str) -> None:
    copy, other = pair
    exchange_changes(pair)
    edit(other, change)
    before = copy.state()
    with pytest.raises(CheckFailed):
        copy.with_remote(other).sync()
    assert copy.state() == before


def test_a_change_that_knows_of_what_was_never_made_here_is_refused(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    exchange_changes(pair)
    forger = Copy(copy.path.with_name("forger.db"))  # of the same home: its seal is good
    uid = forger.note("evil")
    forger.with_remote(other).sync()
    row = forger.space.records.find(uid)
    assert row is not None
    (here,) = copy.database.query("SELECT replica FROM sync_replicas")
    feed = other.stack.synchroniser._feed(None)
    with other.database.write() as execute:
        change = next(item for item in feed.after(0) if item.change.uid == uid)
        document = replace(change.change, seen={here[0]: 2**53 - 1}).document()
        feed.put(execute, change.record, {}, document, feed.sealer.seal(document))
    with pytest.raises(CheckFailed, match="never made here"):
        copy.with_remote(other).sync()
    forger.close()


def test_what_another_home_wrote_is_taken_and_said_to_be_unsigned_while_nobody_is_enrolled(
    tmp_path: Path,
) -> None:
    laptop = Copy(tmp_path / "laptop.db", config=home(tmp_path / "laptop"))
    desk = Copy(tmp_path / "desk.db", config=home(tmp_path / "desk"))
    stick = Copy(tmp_path / "stick.db", config=home(tmp_path / "laptop"))
    uid = laptop.note("from the laptop")
    assert laptop.with_remote(stick).sync() == SyncResult(pushed=1)
    result = desk.with_remote(stick).sync()
    assert (result.pulled, result.notes) == (1, ["changes that nobody signed: 1"])
    assert desk.read(uid).content == "from the laptop"
    desk.edit(uid, content="from the desk")
    assert desk.with_remote(stick).sync().pushed == 1
    assert laptop.with_remote(stick).sync().pulled == 1
    assert laptop.read(uid).content == "from the desk"
    for copy in (laptop, desk, stick):
        copy.close()


def test_between_homes_with_operators_only_what_an_operator_of_both_signed_is_taken(tmp_path: Path) -> None:
    laptop = Copy(tmp_path / "laptop.db", config=home(tmp_path / "laptop"))
    stick = Copy(tmp_path / "stick.db", config=laptop.config)
    ada = enrolled(laptop)
    config = home(tmp_path / "desk")
    for name in ("operators.json", "keys"):  # the same person there
        source = laptop.config.home.folder / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, config.home.folder / name)
    desk = Copy(tmp_path / "desk.db", config=config)
    stranger = Copy(tmp_path / "stranger.db", config=home(tmp_path / "stranger"))
    uid = laptop.note("from the laptop")
    laptop.with_remote(stick).sync()
    for copy in (desk, stranger):
        if copy is stranger:
            enrolled(stranger)
        with pytest.raises(DeniedError, match="nobody signed: 1"):
            copy.with_remote(stick).sync()
        assert copy.state() == {}
    laptop.with_remote(stick).synchroniser.sync(by=ada)
    assert desk.with_remote(stick).sync() == SyncResult(pulled=1)
    with pytest.raises(DeniedError, match="a stranger signed: 1"):
        stranger.with_remote(stick).sync()
    assert stranger.with_remote(stick).synchroniser.sync(from_anybody=True).pulled == 1
    edit(stick, "UPDATE sync_changes SET document = replace(document, 'laptop', 'enemy')")
    assert desk.read(uid).content == "from the laptop"
    edit(desk, "UPDATE sync_peers SET pulled = 0")
    with pytest.raises(CheckFailed, match="edited"):
        desk.with_remote(stick).sync()
    for copy in (laptop, desk, stick, stranger):
        copy.close()


def test_what_is_changed_in_a_file_of_another_home_waits_until_that_home_tells_it(tmp_path: Path) -> None:
    laptop = Copy(tmp_path / "laptop.db", config=home(tmp_path / "laptop"))
    stick = Copy(tmp_path / "stick.db", config=laptop.config)
    desk = Copy(tmp_path / "desk.db", config=home(tmp_path / "desk"))
    uid = laptop.note("a note")
    laptop.with_remote(stick).sync()
    desk.with_remote(stick).sync()
    stick.edit(uid, content="written on the stick itself")
    desk.edit(uid, content="written at the desk")
    assert desk.with_remote(stick).sync().conflicts == 0
    assert (stick.read(uid).content, desk.read(uid).content) == (
        "written on the stick itself",
        "written at the desk",
    )
    laptop.with_remote(stick).sync()
    assert laptop.read(uid).content == "written on the stick itself"
    assert desk.with_remote(stick).sync().conflicts == 1
    for copy in (laptop, desk, stick):
        copy.close()


@given(document=st.one_of(st.binary(max_size=50), st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["format", "uid", "kind", "stack", "scope", "owner", "seen", "parts", "dots", "relations"]),
        inner, max_size=6), max_leaves=8).map(orjson.dumps)))  # fmt: skip
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_document_of_any_bytes_is_refused_in_words(document: bytes) -> None:
    with pytest.raises(SBError):
        parse(document)
