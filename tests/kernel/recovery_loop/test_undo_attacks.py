"""Undoing what was done to files leaves alone what somebody else made, however it got there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sb.kernel import RunContext
from sb.kernel.contracts import MutationState
from sb.store.pack_file import Entry, PackReader
from tests.kernel.recovery_loop.conftest import ADA, WINDOW_S, Shop


def write(shop: Shop, name: str, content: str, **more: Any) -> str:
    result = shop.call("files.write", path=name, content=content, **more)
    assert result.success, result
    return result.mutation_id


def undo(shop: Shop, mutation_id: str) -> str:
    return shop.runtime.recovery.undo(shop.ref(mutation_id), ADA, "it was wrong").state


@pytest.mark.parametrize("existed", [True, False])
def test_a_file_as_deep_as_can_be_written_can_be_undone(shop: Shop, existed: bool) -> None:
    deep = "/".join(["d"] * 60) + "/f"
    if existed:
        (shop.files / deep).parent.mkdir(parents=True)
        (shop.files / deep).write_text("old", encoding="utf-8")
    made = write(shop, deep, "new", parents=True)
    assert undo(shop, made) == "reversed"
    assert (shop.files / deep).exists() == existed


def test_what_is_written_into_the_file_while_it_is_undone_is_not_lost(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shop.files / "f"
    path.write_text("old", encoding="utf-8")
    made = write(shop, "f", "new")
    read = PackReader.content

    def slow(reader: PackReader, entry: Entry) -> bytes:
        with open(path, "a", encoding="utf-8") as file:
            file.write(", and mine")
        return read(reader, entry)

    monkeypatch.setattr(PackReader, "content", slow)
    assert undo(shop, made) == "failed"
    assert path.read_text(encoding="utf-8") == "new, and mine"
    assert shop.ref(made).state is MutationState.COMMITTED


def test_what_is_written_into_a_new_file_while_it_is_undone_is_not_lost(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sb.tools import pack_changes, pack_restoring

    path, judged = shop.files / "f", pack_changes.changes_of
    made = write(shop, "f", "new")

    def slow(*args: Any, **given: Any) -> Any:
        found = judged(*args, **given)
        path.write_text("mine", encoding="utf-8")
        return found

    monkeypatch.setattr(pack_restoring, "changes_of", slow)
    assert undo(shop, made) == "failed"
    assert path.read_text(encoding="utf-8") == "mine"


def test_a_file_that_somebody_makes_while_a_deleted_one_comes_back_stays(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sb.tools import pack_restoring

    path = shop.files / "f"
    path.write_text("old", encoding="utf-8")
    deleted = shop.call("files.delete", path="f").mutation_id
    in_place = pack_restoring._require_still

    def slow(*args: object, **more: Any) -> None:
        in_place(*args, **more)  # type: ignore[arg-type]
        path.write_text("mine", encoding="utf-8")

    monkeypatch.setattr(pack_restoring, "_require_still", slow)
    assert undo(shop, deleted) == "failed"
    assert path.read_text(encoding="utf-8") == "mine"
    assert [item.name for item in shop.files.iterdir()] == ["f"]


@pytest.mark.parametrize(
    "name", ["ümläut é", "e\u0301", "-rf", "new\nline", "\u202egnp.exe", " ", "*", "📎" * 50]
)
def test_names_of_any_kind_are_undone(shop: Shop, name: str) -> None:
    (shop.files / "other").write_text("mine", encoding="utf-8")
    assert undo(shop, write(shop, name, "new")) == "reversed"
    assert [path.name for path in shop.files.iterdir()] == ["other"]


def test_another_name_of_the_file_keeps_what_it_has(shop: Shop) -> None:
    path, link = shop.files / "f", shop.files / "link"
    made = write(shop, "f", "new")
    os.link(path, link)
    assert undo(shop, made) == "reversed"
    assert (path.exists(), link.read_text(encoding="utf-8")) == (False, "new")


def test_a_folder_on_the_way_that_became_a_link_is_not_followed(shop: Shop, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f").write_text("new", encoding="utf-8")
    made = write(shop, "d/f", "new", parents=True)
    (shop.files / "d").rename(shop.files / "was d")
    (shop.files / "d").symlink_to(elsewhere)
    assert undo(shop, made) == "failed"
    assert (elsewhere / "f").read_text(encoding="utf-8") == "new"


def test_a_run_of_which_a_part_is_out_of_time_is_undone_as_far_as_it_can_be(shop: Shop) -> None:
    ctx = RunContext.create("clerk", clock=shop.clock)
    args = {"order": 1, "amount": 5}
    shop.runtime.executor.execute(ctx, "pay.human", args)
    shop.clock.time += WINDOW_S
    shop.runtime.executor.execute(ctx, "pay.human", args)
    recovery = shop.runtime.recovery
    done = list(recovery.undo_all(recovery.mutations.of_run(ctx.run_id), ADA, "all wrong"))
    assert [undone.state for undone in done] == ["reversed", "failed"]
    assert "is over" in done[1].detail
