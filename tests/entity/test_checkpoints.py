"""Checkpoints: what a core was composed of, kept in a file and put together again."""

from __future__ import annotations

import json
import logging
import math
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.entity import Checkpoints, Entity, read_checkpoint
from sb.entity.inference import LLMModel
from sb.protocols import Binding, ProvenanceError, StorageError
from sb.stack import SQLiteStack
from sb.stack.components import ForgettingComponent
from tests.entity.chat_server import ChatServer
from tests.entity.list_stack import ListStack
from tests.entity.weather_plugin import Weather


@pytest.fixture
def folder(home: Path) -> Path:
    """Where the checkpoints of this home are."""
    return home / "checkpoints"


@pytest.fixture
def core(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Entity]:
    with Entity("me", clock=clock, ids=ids) as made, SQLiteStack("mine", components=[]) as stack:
        made.attach_stack(stack, alias="home")
        yield made


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin and the stack of these tests, as pip leaves them behind."""
    info = tmp_path / "site" / "weather-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.2\n", "utf-8")
    (info / "entry_points.txt").write_text(
        "[sb.plugins]\nweather = tests.entity.weather_plugin:Weather\n"
        "[sb.stacks]\nlist = tests.entity.list_stack:ListStack\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(info.parent)


class Mood(ForgettingComponent):
    """A component that no package offers."""

    name = "mood"


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def taken(core: Entity, folder: Path, message: str = "") -> Path:
    return folder / f"{core.checkpoint(message)}.json"


def rewritten(path: Path, **changes: Any) -> Path:
    """The file with other values at its top; ... leaves one out."""
    whole = {**document(path), **changes}
    path.write_text(json.dumps({k: v for k, v in whole.items() if v is not ...}), "utf-8")
    return path


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_a_checkpoint_is_a_file_that_says_what_the_core_was_composed_of(
    core: Entity, folder: Path, chat: ChatServer
) -> None:
    core.set_model(LLMModel("local"))
    core.load_plugin(Weather())
    path = taken(core, folder, "before refactor")
    assert path.name == "me_20270115_080000_000000_00000001.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    checkpoint = document(path)
    assert checkpoint["digest"].startswith("sha256:")
    assert checkpoint["binding"].pop("created_at") == checkpoint["created_at"] == "2027-01-15T08:00:00+00:00"
    assert {name: checkpoint[name] for name in ("schema_version", "checkpoint_id", "message", "binding")} == {
        "schema_version": 1,
        "checkpoint_id": "me_20270115_080000_000000_00000001",
        "message": "before refactor",
        "binding": {
            "core_id": "me",
            "model_config": {"provider": "llm", "model_id": "local"},
            "stacks": {"mine": "home"},
            "active_stack_id": "mine",
            "plugins": ["weather"],
            "metadata": {},
            "stack_locations": {
                "mine": {
                    "kind": "sqlite",
                    "db_path": "brain.db",
                    "enforce_provenance": True,
                    "components": [],
                }
            },
        },
    }


def test_what_was_taken_is_put_together_again(
    core: Entity, folder: Path, chat: ChatServer, installed: None, caplog: pytest.LogCaptureFixture
) -> None:
    core.attach_stack(ListStack("other", "blue"), set_active=False)
    core.set_model(LLMModel("local"))
    core.load_plugin(Weather())
    uid = core.note("blue-green deploys")
    with Entity.from_checkpoint(taken(core, folder)) as restored:
        assert warnings(caplog) == []
        assert restored.core_id == "me"
        assert [restored.get_binding().stacks, list(restored.plugins)] == [
            {"mine": "home", "other": None},
            ["weather"],
        ]
        assert restored.model is not None
        assert restored.model.model_id == "local"
        stack = restored.active_stack
        assert isinstance(stack, SQLiteStack)
        memory = stack.get_memory("note", uid)
        assert memory is not None
        assert memory.content == "blue-green deploys"
        assert stack.enforce_provenance
        assert restored.get_binding().stack_locations["other"] == {"kind": "list", "color": "blue"}
        assert restored.registry.list_ids() == ["plugin.weather.forecast"]
        restored.note("and on")
    assert core.active_stack is not None
    assert {note.content for note in core.active_stack.get_notes()} == {"and on", "blue-green deploys"}


def test_the_database_and_the_settings_of_a_stack_are_those_that_it_had(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "work.db"
    elsewhere.parent.mkdir()
    with (
        Entity("me") as core,
        SQLiteStack("work", elsewhere, enforce_provenance=False, components=[]) as stack,
    ):
        core.attach_stack(stack)
        core.belief("nobody said so")
        path = taken(core, home / "checkpoints")
    with Entity.from_checkpoint(path) as restored:
        again = restored.active_stack
        assert isinstance(again, SQLiteStack)
        assert (again.path, again.enforce_provenance) == (str(elsewhere), False)
        assert [belief.statement for belief in again.get_beliefs()] == ["nobody said so"]


def test_a_stack_has_the_components_again_that_it_had(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other.db"
    with (
        Entity("me") as core,
        SQLiteStack("bare", components=[]) as bare,
        SQLiteStack("full", remote=other) as full,
        SQLiteStack("odd", components=[ForgettingComponent(), Mood()]) as odd,
    ):
        for stack in (bare, full, odd):
            core.attach_stack(stack)
        path = taken(core, home / "checkpoints")
        names = list(full.components)
    assert len(names) == 8
    with Entity.from_checkpoint(path) as restored:
        locations = restored.get_binding().stack_locations
        assert [locations[item]["components"] for item in ("bare", "full", "odd")] == [
            [],
            names,
            ["forgetting"],
        ]
        assert locations["full"]["remote"] == str(other)
    assert warnings(caplog) == [
        "component mood of stack odd was not restored: ImportError: mood of sb.stack_components is not installed"
    ]


class Odd(Mood):
    """Its arguments cannot be written down."""

    name = "odd"

    def arguments(self) -> dict[str, Any]:
        return {"clock": SteeredClock()}


def test_a_component_is_made_with_what_it_was_made_with_also_in_another_home(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = [ForgettingComponent({"note": 3, "belief": math.inf}), Odd()]
    with Entity("me") as core, SQLiteStack("mine", components=made) as stack:
        core.attach_stack(stack)
        path = taken(core, home / "checkpoints")
    assert warnings(caplog) == ["component odd failed in arguments: NotCanonical"]
    other = tmp_path / "other-home"
    (other / "checkpoints").mkdir(parents=True)
    monkeypatch.setenv("SB_HOME", str(other))
    SQLiteStack("mine", components=[]).close()
    copied = Path(shutil.copy(path, other / "checkpoints"))
    with Entity.from_checkpoint(copied) as restored:
        again = restored.active_stack
        assert isinstance(again, SQLiteStack)
        assert again.path == str(other / "brain.db")
        forgetting = again.get_component("forgetting")
        assert isinstance(forgetting, ForgettingComponent)
        assert forgetting.half_lives == {"note": 3.0, "belief": math.inf}
    locations = document(copied)["binding"]["stack_locations"]
    locations["mine"]["components"][0]["arguments"]["half_lives"]["note"] = 0.001
    locations["mine"]["remote"] = str(tmp_path / "theirs.db")
    binding = document(copied)["binding"] | {"stack_locations": locations}
    with Entity.from_checkpoint(rewritten(copied, binding=binding)) as restored:
        forgetting = restored.active_stack.get_component("forgetting")  # type: ignore[union-attr]
        assert isinstance(forgetting, ForgettingComponent)
        assert forgetting.half_lives == {}
        assert "remote" not in restored.get_binding().stack_locations["mine"]


def test_a_home_that_was_moved_is_restored_from_where_it_is_now(
    core: Entity, home: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core.note("moved")
    path = taken(core, folder)
    core.close()
    moved = tmp_path / "another"
    shutil.copytree(home, moved)
    shutil.rmtree(home)
    monkeypatch.setenv("SB_HOME", str(moved))
    with Entity.from_checkpoint(moved / "checkpoints" / path.name) as restored:
        stack = restored.active_stack
        assert isinstance(stack, SQLiteStack)
        assert stack.path == str(moved / "brain.db")
        assert [note.content for note in stack.get_notes()] == ["moved"]
        assert restored.checkpoint() in Checkpoints(moved, SteeredClock(), CountingIds()).ids("me")


def test_a_file_outside_of_any_checkpoints_folder_restores_into_this_home(
    core: Entity, home: Path, folder: Path, tmp_path: Path
) -> None:
    copied = Path(shutil.copy(taken(core, folder), tmp_path / "mailed.json"))
    with Entity.from_checkpoint(copied) as restored:
        assert restored.active_stack is not None
        assert (folder / f"{restored.checkpoint()}.json").is_file()


def test_what_cannot_be_restored_is_a_warning_and_the_rest_is_there(
    core: Entity, home: Path, folder: Path, installed: None, caplog: pytest.LogCaptureFixture
) -> None:
    core.attach_stack(ListStack("listed"), set_active=False)
    core.load_plugin(Weather())
    path = taken(core, folder)
    binding = document(path)["binding"]
    binding["stack_locations"] |= {
        "gone": {"kind": "sqlite", "db_path": "gone.db"},
        "foreign": {"kind": "no-such"},
        "odd": {"kind": "sqlite", "color": "blue"},
        "odder": {"kind": "sqlite", "db_path": "brain.db", "color": "blue"},
        "text": "brain.db",
        "memory": {"kind": "sqlite"},
        "none": {},
    }
    binding["stacks"] = {
        "gone": None,
        "foreign": None,
        "odd": None,
        "odder": None,
        "text": None,
        "memory": None,
        "none": 5,
        **binding["stacks"],
    }
    binding["plugins"] = ["missing", 7, *binding["plugins"]]
    binding["model_config"] = {"provider": "openai", "model_id": "no-such-model"}
    with Entity.from_checkpoint(rewritten(path, binding=binding, digest=...)) as restored:
        assert list(restored.get_binding().stacks) == ["mine", "listed"]
        assert (restored.active_stack is not None, list(restored.plugins), restored.model) == (
            True,
            ["weather"],
            None,
        )
    text = "\n".join(warnings(caplog))
    for what in (
        "stack gone was not restored: FileNotFoundError: no file",
        "stack foreign was not restored: ImportError: no-such of sb.stacks is not installed",
        "stack odd was not restored: ValueError: it was in memory only",
        "stack odder was not restored: TypeError: ",
        "stack text was not restored: ValueError: the checkpoint names no class for it",
        "stack none was not restored: ValueError: the checkpoint names no class for it",
        "stack memory was not restored: ValueError: it was in memory only",
        "plugin missing was not restored: ImportError: missing of sb.plugins is not installed",
        "plugin 7 was not restored",
        "the model was not restored: ModelError",
    ):
        assert what in text
    assert not (home / "gone.db").exists()


def test_a_checkpoint_without_its_active_stack_restores_with_none(
    core: Entity, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = taken(core, folder)
    binding = document(path)["binding"] | {"active_stack_id": "another"}
    with Entity.from_checkpoint(rewritten(path, binding=binding, digest=...)) as restored:
        assert (restored.active_stack, list(restored.get_binding().stacks)) == (None, ["mine"])
    assert warnings(caplog)[1:] == [
        "the active stack another was not restored: ValueError: no stack 'another' is attached: mine"
    ]


def test_a_plugin_that_fails_when_it_is_restored_is_left_out(
    core: Entity, folder: Path, installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    core.load_plugin(Weather())
    path = taken(core, folder)
    monkeypatch.setattr(Weather, "protocol_version", 2)
    with Entity.from_checkpoint(path) as restored:
        assert (restored.plugins, restored.active_stack is not None) == ({}, True)


def test_a_file_cannot_name_what_is_imported(
    core: Entity, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted.py").write_text("def Thing(*a, **k): raise SystemExit", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    path = taken(core, folder)
    binding = document(path)["binding"] | {
        "stack_locations": {"mine": {"kind": "planted:Thing"}},
        "plugins": ["planted:Thing", "planted"],
        "model_config": {"provider": "planted:Thing", "model_id": "local"},
    }
    with Entity.from_checkpoint(rewritten(path, binding=binding, digest=...)) as restored:
        assert (restored.get_binding().stacks, restored.plugins) == ({}, {})
    assert "planted" not in sys.modules


def test_there_is_no_core_of_a_file_that_is_none(core: Entity, folder: Path) -> None:
    path = taken(core, folder)
    with pytest.raises(FileNotFoundError):
        Entity.from_checkpoint(folder / "no-such.json")
    whole = path.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is not a checkpoint"):
            Entity.from_checkpoint(path)
    path.write_bytes(whole + b" " * (1 << 20))
    with pytest.raises(ValueError, match="is too large for a checkpoint"):
        Entity.from_checkpoint(path)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"binding": ...}, "no binding in it"),
        ({"binding": []}, "no binding in it"),
        ({"binding": {"stacks": {}}}, "its binding has no core_id"),
        ({"binding": {"core_id": 7}}, "its binding has no core_id"),
        ({"binding": {"core_id": " "}}, "its binding has no core_id"),
        ({"binding": {"core_id": "me", "stacks": ["mine"]}}, "stacks of its binding is not a dict"),
        ({"binding": {"core_id": "me", "plugins": "weather"}}, "plugins of its binding is not a list"),
        (
            {"binding": {"core_id": "me", "model_config": "local"}},
            "model_config of its binding is not a dict",
        ),
        (
            {"binding": {"core_id": "me", "stack_locations": 7}},
            "stack_locations of its binding is not a dict",
        ),
        ({"schema_version": "1"}, "schema_version is '1'"),
        ({"schema_version": True}, "schema_version is True"),
        ({"schema_version": 0}, "schema_version is 0"),
        ({"schema_version": 2}, "is a checkpoint of version 2; this SecondBrain reads up to 1"),
    ],
)
def test_there_is_no_core_of_a_file_that_was_edited_beyond_sense(
    core: Entity, folder: Path, changes: dict[str, Any], why: str
) -> None:
    path = rewritten(taken(core, folder), **changes)
    with pytest.raises(ValueError, match=why):
        Entity.from_checkpoint(path)


def test_a_file_that_was_edited_says_so(core: Entity, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = taken(core, folder)
    assert read_checkpoint(path).intact
    rewritten(path, message="another reason")
    assert not read_checkpoint(path).intact
    with Entity.from_checkpoint(path) as restored:
        assert restored.active_stack is not None
    assert warnings(caplog) == [f"{path.name} was changed after it was written"]


@pytest.mark.parametrize("digest", ["sha256:0", None])
def test_a_file_that_was_edited_cannot_turn_off_provenance(
    home: Path, tmp_path: Path, digest: str | None
) -> None:
    with Entity("me", tmp_path) as core, SQLiteStack("own", tmp_path / "own.db") as stack:
        core.attach_stack(stack)
        path = tmp_path / "checkpoints" / f"{core.checkpoint()}.json"
    checkpoint = json.loads(path.read_text())
    checkpoint["binding"]["stack_locations"]["own"]["enforce_provenance"] = False
    checkpoint["digest"] = digest
    path.write_text(json.dumps({name: value for name, value in checkpoint.items() if value is not None}))
    with Entity.from_checkpoint(path) as restored, pytest.raises(ProvenanceError):
        restored.belief("everybody may be trusted")


def test_files_from_before_there_were_versions_are_read_with_a_warning(
    core: Entity, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = taken(core, folder)
    newer = rewritten(path, schema_version=..., digest=...)
    assert read_checkpoint(newer).binding.stacks == {"mine": "home"}
    older = rewritten(
        path, binding={"core_id": "me", "stacks": {"home": "mine", "work": "other", "odd": None}}
    )
    assert read_checkpoint(older).binding.stacks == {"mine": "home", "other": "work", "odd": None}
    assert warnings(caplog) == [f"{path.name} has no schema_version: read as version 1"] * 2
    with Entity.from_checkpoint(older) as restored:
        assert list(restored.get_binding().stacks) == ["mine", "other", "odd"]
        assert restored.get_binding().stack_locations["mine"]["db_path"] == "brain.db"
    assert warnings(caplog)[-1] == "no location of stack odd: opened in the configured database"


def test_the_ten_newest_of_a_core_are_kept_and_nobody_elses_are_touched(home: Path) -> None:
    clock, ids = SteeredClock(), CountingIds()
    store = Checkpoints(home, clock, ids)
    cores = {core_id: Entity(core_id, clock=clock, ids=ids) for core_id in ("a", "a_b", "a*", "A")}
    (odd := home / "checkpoints" / "a_notes.json").parent.mkdir(parents=True)
    odd.write_text("mine", "utf-8")
    for core in cores.values():
        core.attach_stack(ListStack("mine"))
    last = {core_id: core.checkpoint() for core_id, core in cores.items()}
    made = []
    for _ in range(12):
        clock.sleep(1)
        made.append(cores["a"].checkpoint())
    assert store.ids("a") == made[:1:-1]
    for core_id in ("a_b", "a*", "A"):
        assert store.ids(core_id) == [last[core_id]]
    assert len(store.ids()) == 13
    assert odd.read_text("utf-8") == "mine"


def test_the_newest_is_kept_even_if_the_clock_went_back(home: Path) -> None:
    clock = SteeredClock()
    core = Entity("me", clock=clock, ids=CountingIds())
    core.attach_stack(ListStack("mine"))
    for _ in range(10):
        clock.sleep(1)
        core.checkpoint()
    clock.time -= 100_000
    newest = core.checkpoint()
    ids = Checkpoints(home, clock, CountingIds()).ids("me")
    assert (newest in ids, len(ids)) == (True, 10)


def test_what_is_kept_last_is_the_newest_whatever_the_clock_said_before(tmp_path: Path) -> None:
    clock = SteeredClock()
    store = Checkpoints(tmp_path, clock, CountingIds())
    clock.time += 10 * 365 * 86_400
    store.save(Binding("clerk", {}, {}), "an agent, with a clock that was ahead")
    clock.time -= 10 * 365 * 86_400
    last = store.save(Binding("clerk", {}, {}), "what the operator restored")
    assert store.ids("clerk")[0] == last


@pytest.mark.parametrize(
    "core_id", ["../../escape", "/etc/passwd", "a/b", "..", ".", "ü" * 200, "[a]*?", "a b\n"]
)
def test_a_core_of_any_name_keeps_its_checkpoints_in_the_folder(home: Path, core_id: str) -> None:
    core = Entity(core_id)
    core.attach_stack(ListStack("mine"))
    checkpoint_id = core.checkpoint()
    (path,) = (home / "checkpoints").iterdir()
    assert path.name == f"{checkpoint_id}.json"
    assert not path.name.startswith(".")
    store = Checkpoints(home, SteeredClock(), CountingIds())
    assert store.ids(core_id) == [checkpoint_id]
    assert store.path(checkpoint_id) == path
    assert read_checkpoint(path).binding.core_id == core_id


def test_folders_are_open_to_their_owner_only(tmp_path: Path) -> None:
    core = Entity("me", tmp_path / "a" / "b")
    core.attach_stack(ListStack("mine"))
    core.checkpoint()
    for folder in ("a", "a/b", "a/b/checkpoints"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700


def test_an_id_is_looked_up_in_the_folder_alone(home: Path) -> None:
    store = Checkpoints(home, SteeredClock(), CountingIds())
    for wrong in (
        "../../x_20270115_080000_000000_00000001",
        "brain",
        "",
        "a\0_20270115_080000_000000_00000001",
    ):
        with pytest.raises(ValueError, match="is not a checkpoint"):
            store.path(wrong)
    assert store.ids() == []


def test_a_checkpoint_that_cannot_be_written_leaves_nothing_behind(
    core: Entity, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = core.checkpoint()
    monkeypatch.setattr(
        "os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(StorageError, match=r"cannot write .*: No space left on device"):
        core.checkpoint()
    assert [path.name for path in folder.iterdir()] == [f"{before}.json"]


def test_old_ones_that_cannot_be_removed_are_a_warning(
    core: Entity, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(10):
        core.checkpoint()

    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    core.checkpoint()
    assert "old checkpoints could not be removed" in warnings(caplog)[0]


def test_a_binding_needs_no_stack_and_a_stack_of_an_unknown_class_says_what_it_can(tmp_path: Path) -> None:
    core = Entity("me", tmp_path)
    assert (core.get_binding().stacks, core.get_binding().model_config) == ({}, {})
    core.attach_stack(ListStack("other", "red"))
    assert core.get_binding().stack_locations == {"other": {"color": "red"}}
