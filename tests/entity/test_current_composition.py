"""The present composition of a core, the changes of another checkpoint, and the way there and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.config import current_config
from sb.entity.composition import Difference, Present, differences
from sb.errors import CheckFailed, NotFoundError, StoreError
from sb.protocols import Binding
from sb.runtime import Runtime, open_runtime
from sb.stack.catalogue import all_stacks, make_stack


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds) -> Runtime:
    return open_runtime(clock=clock, ids=ids)


@pytest.fixture
def present(runtime: Runtime, clock: SteeredClock, ids: CountingIds) -> Present:
    make_stack(runtime.database, "work")
    return Present(runtime.database, current_config(), clock=clock, ids=ids)


def attached(present: Present, core_id: str = "ada") -> tuple[list[str], str | None]:
    """The stacks of a core, and the active one."""
    with present.entity(core_id) as core:
        binding = core.get_binding()
    return list(binding.stacks), binding.active_stack_id


def test_a_core_without_a_checkpoint_has_the_default_stack(present: Present) -> None:
    assert present.newest("ada") is None
    assert attached(present) == (["default"], "default")


def test_a_core_is_what_its_newest_checkpoint_says(present: Present, clock: SteeredClock) -> None:
    present.save("ada", "both", ("work", "default"))
    assert attached(present) == (["work", "default"], "work")
    assert attached(present, "bob") == (["default"], "default")
    clock.time += 1
    present.save("ada", "one", ("default",))
    assert attached(present) == (["default"], "default")


def test_looking_attaches_nothing(present: Present, runtime: Runtime) -> None:
    runtime.brain("ada").remember("the office is in Bonn")
    present.binding("ada")
    present.save("ada", "", ("default", "work"))
    assert {entry.state for entry in all_stacks(runtime.database)} == {"initializing"}
    with present.entity("ada") as core, present.entity("bob") as other:
        assert present.binding("ada").stack_locations == core.get_binding().stack_locations
        assert present.binding("bob").stack_locations == other.get_binding().stack_locations


def test_a_named_stack_stands_in_for_what_the_checkpoint_says(present: Present) -> None:
    present.save("ada", "", ("default",))
    with present.entity("ada", ("work",)) as core:
        assert core.get_binding().stacks == {"work": None}
    with pytest.raises(NotFoundError, match='did you mean "work"'):
        present.entity("ada", ("wrok",))


def test_saving_again_keeps_what_cannot_be_found_here(present: Present, clock: SteeredClock) -> None:
    lost = Binding("ada", {}, {"elsewhere": None}, plugins=["gone"])
    present.checkpoints.save(lost, "")
    clock.time += 1
    checkpoint = present.find(present.save("ada", "again"))
    assert (checkpoint.binding.stacks, checkpoint.binding.plugins) == ({"elsewhere": None}, ["gone"])


def test_restoring_goes_there_and_leaves_a_way_back(
    present: Present, runtime: Runtime, clock: SteeredClock
) -> None:
    first = present.find(present.save("ada", "one", ("default",)))
    clock.time += 1
    present.save("ada", "both", ("work", "default"))
    clock.time += 1
    changes = present.changes(first)
    assert changes[0] == Difference("active stack", "work", "default")
    done = present.restore(runtime.log, first, actor="eve", reason="too much at once")
    assert done.differences == changes
    assert attached(present) == (["default"], "default")
    clock.time += 1
    present.restore(runtime.log, present.find(done.before_id), actor="eve", reason="no, both")
    assert attached(present) == (["work", "default"], "work")
    payloads = [event.payload or {} for event in runtime.log.events() if event.kind == "checkpoint.restored"]
    assert [(payload["by"], payload["reason"], payload["core"]) for payload in payloads] == [
        ("eve", "too much at once", "ada"),
        ("eve", "no, both", "ada"),
    ]


def test_the_oldest_of_ten_can_be_restored_although_its_file_goes(
    present: Present, runtime: Runtime, clock: SteeredClock
) -> None:
    oldest = present.find(present.save("ada", "the oldest", ("work",)))
    for _ in range(9):
        clock.time += 1
        present.save("ada", "", ("default",))
    present.restore(runtime.log, oldest, actor="eve", reason="back to the roots")
    assert len(present.checkpoints.ids("ada")) == 10
    assert attached(present) == (["work"], "work")


def test_a_checkpoint_of_another_home_restores_here(
    present: Present, runtime: Runtime, tmp_path: Path
) -> None:
    carried = tmp_path / "carried.json"
    made = present.checkpoints.path(present.save("ada", "", ("work", "default")))
    made.rename(carried)
    chosen = present.find(str(carried))
    present.restore(runtime.log, chosen, actor="eve", reason="moved here")
    assert attached(present) == (["work", "default"], "work")


def test_an_edited_checkpoint_is_not_restored(present: Present, runtime: Runtime) -> None:
    path = present.checkpoints.path(present.save("ada", "", ("default",)))
    path.write_text(path.read_text("utf-8").replace('"default"', '"work"'), "utf-8")
    before = present.checkpoints.ids()
    with pytest.raises(CheckFailed, match="changed after it was written"):
        present.restore(runtime.log, present.find("last"), actor="eve", reason="?")
    assert present.checkpoints.ids() == before
    assert not any(event.kind == "checkpoint.restored" for event in runtime.log.events())


def test_an_edited_checkpoint_or_that_of_another_core_says_nothing_of_the_present(
    present: Present, clock: SteeredClock
) -> None:
    present.save("ada", "", ("work",))
    clock.time += 1
    edited = present.checkpoints.path(present.save("ada", "with provenance"))
    edited.write_text(edited.read_text().replace('"enforce_provenance": true', '"enforce_provenance": false'))
    clock.time += 1
    of_bob = present.checkpoints.path(present.save("bob", "", ("default",)))
    of_bob.rename(of_bob.with_name(of_bob.name.replace("bob_", "ada_")))
    assert attached(present) == (["work"], "work")
    assert present.newest("bob") is None
    checkpoint = present.find(present.save("ada", "again"))
    assert checkpoint.binding.stack_locations["work"]["enforce_provenance"] is True


def test_what_cannot_be_written_is_not_on_the_log(present: Present, runtime: Runtime) -> None:
    chosen = present.find(present.save("ada", "", ("work",)))
    for path in present.checkpoints.folder.iterdir():
        path.unlink()
    present.checkpoints.folder.rmdir()
    present.checkpoints.folder.symlink_to("nowhere/at/all")
    with pytest.raises(StoreError, match="cannot write"):
        present.restore(runtime.log, chosen, actor="eve", reason="?")
    assert not any(event.kind == "checkpoint.restored" for event in runtime.log.events())


def test_a_checkpoint_that_cannot_be_read_says_which_file_it_is(present: Present) -> None:
    path = present.checkpoints.path(present.save("ada", ""))
    path.write_text("{", "utf-8")
    with pytest.raises(CheckFailed) as refused:
        present.entity("ada")
    assert str(path) in refused.value.hint
    ((_, problem),) = present.readable()
    assert isinstance(problem, str)


@pytest.mark.parametrize("reference", ["nothing", "last", "x" * 5_000, "a\0b", ".."])
def test_what_names_no_checkpoint_is_refused(present: Present, reference: str) -> None:
    with pytest.raises(NotFoundError, match="no checkpoint"):
        present.find(reference)


def test_every_part_that_differs_is_named() -> None:
    binding = Binding(
        "ada", {}, {"work": None}, "work", ["notes"], stack_locations={"work": {"db_path": "a.db"}}
    )
    other = Binding(
        "ada",
        {"provider": "openai", "model_id": "small"},
        {"work": "w", "home": None},
        None,
        stack_locations={
            "work": {"components": ["embedding", "mine"], "db_path": "a.db", "enforce_provenance": False}
        },
    )
    assert differences(binding, binding) == ()
    assert [(each.part, each.before, each.after) for each in differences(binding, other)] == [
        ("active stack", "work", "none"),
        ("model", "none", "openai small"),
        ("stack work", "in a.db", "known as w; in a.db; WITHOUT provenance; components: embedding, mine"),
        ("plugin notes", "loaded", None),
        ("stack home", None, "nothing is known of where it is"),
    ]


def test_nobody_is_told_to_remove_a_file_that_is_not_ours(present: Present, tmp_path: Path) -> None:
    other = tmp_path / "passwd"
    other.write_text("root:x:0:0")
    with pytest.raises(CheckFailed, match="passwd is not a checkpoint") as refused:
        present.find(str(other))
    assert "remove" not in refused.value.hint
