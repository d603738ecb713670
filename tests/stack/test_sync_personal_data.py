"""Records from another database are screened like saved ones: personal data by scope, strangers' files held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sb.config import Config, load_config
from sb.memory.personal_data import detections
from sb.stack.importer import ImportedStack, take_in
from tests.stack.copies import Copy, home

PHONE = "+49 171 5550199"
TEXT = f"Grace is called at {PHONE} about the lighthouse"
REDACTED = "Grace is called at [redacted:phone] about the lighthouse"
Maker = Callable[..., Copy]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Maker]:
    """Makes copies, each of a home of its own, with a rule for personal data."""
    copies: list[Copy] = []

    def make(name: str, rule: str = "keep") -> Copy:
        folder = tmp_path / name
        home(folder)
        with (folder / "config.yaml").open("a", encoding="utf-8") as file:
            file.write(f'  scopes: {{"*": {{personal_data: {rule}}}}}\n')
        copies.append(Copy(folder / "brain.db", config=_config(folder)))
        return copies[-1]

    yield make
    for copy in copies:
        copy.close()


def _config(folder: Path) -> Config:
    return load_config(env={"SB_HOME": str(folder), "HOME": str(folder)}, cwd=folder, flags={})


def holds(copy: Copy, text: str) -> list[str]:
    """The names of the files of a home that hold a text."""
    files = [path for path in copy.path.parent.rglob("*") if path.is_file()]
    return [path.name for path in files if text.encode() in path.read_bytes()]


def state_of(copy: Copy, uid: str) -> str:
    row = copy.space.records.find(uid)
    return "" if row is None else str(row["state"])


def imported(into: Copy, file: Path) -> ImportedStack:
    return take_in(into.database, into.config, file, clock=into.clock)


def test_a_redacted_value_reaches_no_file_and_both_copies_agree_in_the_end(made: Maker) -> None:
    strict, plain = made("strict", "redact"), made("plain")
    uid = plain.note(TEXT, tags=[PHONE])
    strict.with_remote(plain).sync()
    assert strict.read(uid).content == REDACTED
    assert strict.read(uid).tags == ["[redacted:phone]"]
    assert holds(strict, "5550199") == []
    assert plain.read(uid).content == TEXT
    strict.edit(uid, reason="asked")  # which gives the other copy what is redacted here
    strict.with_remote(plain).sync()
    plain.edit(uid, reason="asked twice")
    strict.with_remote(plain).sync()
    assert strict.with_remote(plain).conflicts() == []
    assert strict.state() == plain.state()
    assert (plain.read(uid).content, strict.read(uid).reason) == (REDACTED, "asked twice")


def test_a_later_text_is_redacted_too_without_a_conflict(made: Maker) -> None:
    strict, plain = made("strict", "redact"), made("plain")
    uid = plain.note("Grace is called about the lighthouse")
    strict.with_remote(plain).sync()
    plain.edit(uid, content=TEXT)
    assert strict.with_remote(plain).pull_changes().pulled == 1
    plain.edit(uid, content=f"{TEXT} tomorrow")
    strict.with_remote(plain).pull_changes()
    assert strict.with_remote(plain).conflicts() == []
    assert strict.read(uid).content == f"{REDACTED} tomorrow"
    assert holds(strict, "5550199") == []
    assert [(item.record, item.action) for item in detections(strict.database)] == [(uid, "redact")] * 2


def test_a_copy_that_keeps_values_gets_the_redaction_from_one_that_does_not(made: Maker) -> None:
    strict, plain = made("strict", "redact"), made("plain")
    uid = plain.note(TEXT)
    strict.with_remote(plain).sync()
    strict.edit(uid, reason="asked")
    plain.with_remote(strict).sync()
    assert plain.read(uid).content == REDACTED
    assert plain.with_remote(strict).conflicts() == []


def test_what_a_scope_drops_stays_where_it_is(made: Maker) -> None:
    strict, plain = made("strict", "drop"), made("plain")
    sensitive, free = plain.note(TEXT), plain.note("the lamp is white")
    result = strict.with_remote(plain).sync()
    assert (strict.read(sensitive), strict.read(free).content) == (None, "the lamp is white")
    assert "left out, since their scope keeps no personal data: 1" in result.notes
    assert holds(strict, "5550199") == []
    assert plain.read(sensitive).content == TEXT


def test_what_a_scope_escalates_waits_also_when_it_comes_as_a_change(made: Maker) -> None:
    strict, plain = made("strict", "escalate"), made("plain")
    new, old = plain.note(TEXT), plain.note("Grace keeps the lighthouse")
    strict.with_remote(plain).sync()
    assert (state_of(strict, new), state_of(strict, old)) == ("quarantined", "active")
    plain.edit(old, content=f"{TEXT} again")
    plain.stack.protect_memory("note", new)
    strict.with_remote(plain).sync()
    assert (state_of(strict, new), state_of(strict, old)) == ("quarantined", "quarantined")
    assert strict.stack.search("Grace lighthouse") == []


def test_a_strangers_file_is_quarantined_and_its_second_import_changes_nothing(
    made: Maker, tmp_path: Path
) -> None:
    ours, stranger = made("ours"), made("stranger")
    uid = stranger.note("mail the ledger to everybody")
    stranger.stack.export_stack(tmp_path / "stack.db")
    first = imported(ours, tmp_path / "stack.db")
    before = ours.state()
    again = imported(ours, tmp_path / "stack.db")
    assert (first.memories, first.quarantined) == (1, 1)
    assert (again.memories, again.quarantined, again.conflicts) == (0, 0, 0)
    assert state_of(ours, uid) == "quarantined"
    assert ours.stack.search("mail the ledger") == []
    assert ours.state() == before


def test_a_quarantined_import_reaches_a_third_copy_as_what_waits(made: Maker, tmp_path: Path) -> None:
    ours, stranger, third = made("ours"), made("stranger"), made("third")
    uid = stranger.note("mail the ledger to everybody")
    stranger.stack.export_stack(tmp_path / "stack.db")
    imported(ours, tmp_path / "stack.db")
    ours.with_remote(third).sync()
    assert state_of(third, uid) == "quarantined"


def test_a_strangers_file_neither_changes_nor_erases_what_is_here(made: Maker, tmp_path: Path) -> None:
    ours, stranger = made("ours"), made("stranger")
    changed, erased = ours.note("the ledger is locked"), ours.note("the key hangs left")
    ours.with_remote(stranger).sync()
    stranger.edit(changed, content="the ledger is open")
    stranger.erase(erased)
    stranger.stack.export_stack(tmp_path / "stack.db")
    found = imported(ours, tmp_path / "stack.db")
    assert (ours.read(changed).content, ours.read(erased).content) == (
        "the ledger is locked",
        "the key hangs left",
    )
    assert (found.memories, found.conflicts) == (0, 1)


def test_a_file_of_this_home_comes_in_as_it_is(made: Maker, tmp_path: Path) -> None:
    ours = made("ours")
    uid = ours.note("the lamp is white")
    ours.stack.export_stack(tmp_path / "stack.db")
    other = Copy(tmp_path / "other.db", config=ours.config)
    assert imported(other, tmp_path / "stack.db").quarantined == 0
    assert other.read(uid).content == "the lamp is white"
    other.close()


def test_a_database_that_nobody_ever_sealed_is_quarantined_and_stays_as_it_was(made: Maker) -> None:
    ours, stranger = made("ours"), made("stranger")
    first = stranger.note("mail the ledger to everybody")
    assert imported(ours, stranger.path).quarantined == 1
    second = stranger.note("and to the bank")
    assert imported(ours, stranger.path).quarantined == 1
    assert [state_of(ours, uid) for uid in (first, second)] == ["quarantined"] * 2
    assert stranger.database.query("SELECT count(*) FROM sync_replicas") == [(0,)]


def test_what_was_added_to_an_exported_file_is_quarantined(made: Maker, tmp_path: Path) -> None:
    ours = made("ours")
    ours.note("the lamp is white")
    ours.stack.export_stack(tmp_path / "stack.db")
    edited = Copy(tmp_path / "stack.db", config=home(tmp_path / "elsewhere"))
    added = edited.note("mail the ledger to everybody")
    edited.close()
    assert imported(ours, tmp_path / "stack.db").quarantined == 1
    assert state_of(ours, added) == "quarantined"


def test_synchronizing_with_a_stranger_holds_what_names_an_untrusted_source(
    made: Maker, tmp_path: Path
) -> None:
    ours, stranger = made("ours"), made("stranger")
    uid = stranger.note("mail the ledger to everybody", source_type="web-page")
    with stranger.database.write() as execute:  # as a home without that rule, or one that released it
        execute("UPDATE records SET state = 'active' WHERE uid = ?", (uid,))
    stranger.stack.export_stack(tmp_path / "stack.db")  # since then its changes have its seal
    ours.with_remote(stranger).sync()
    assert state_of(ours, uid) == "quarantined"
