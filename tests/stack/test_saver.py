"""A record is checked, kept whole in one transaction, and then shown to the components."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.protocols import MaintenanceModeError, ProvenanceError, VersionConflictError
from sb.protocols.types import Belief, Drive, Episode, Goal, Note, RawEntry, Relationship, SourceType, Value
from sb.stack import SQLiteStack


class Recorder:
    """A component that keeps what it is shown, and says what it is told to say."""

    version, required, needs_inference = "1", False, False

    def __init__(self, name: str, changes: dict[str, Any] | None = None) -> None:
        self.name, self.said = name, changes
        self.seen: list[tuple[str, str, Any]] = []
        self.inference: list[Any] = []

    def attach(self, stack_id: str, inference: Any = None) -> None: ...

    def detach(self) -> None: ...

    def set_inference(self, inference: Any) -> None:
        self.inference.append(inference)

    def on_save(self, memory_type: str, memory_id: str, memory: Any) -> dict[str, Any] | None:
        self.seen.append((memory_type, memory_id, memory))
        return self.said

    def on_search(self, query: str, results: list[Any]) -> list[Any]:
        return results

    def on_load(self, context: dict[str, Any]) -> None: ...

    def on_maintenance(self) -> dict[str, Any]:
        return {"seen": len(self.seen)}


class Failing(Recorder):
    """A component of which every hook fails."""

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    attach = detach = set_inference = on_save = on_search = on_load = on_maintenance = _fail


def test_what_is_saved_comes_back_whole_and_again_in_its_place(stack: SQLiteStack) -> None:
    made = Episode("e1", "mine", "ship it", "shipped", lessons=["small steps"], is_protected=True)
    assert stack.save_episode(made) == "e1"
    assert stack.get_episodes() == [made]
    made.outcome = "rolled back"
    stack.save_episode(made)
    assert (made.version, stack.get_episodes()[0].outcome) == (2, "rolled back")


def test_an_empty_id_becomes_a_new_one(stack: SQLiteStack) -> None:
    notes = [Note("", "mine", f"note {number}") for number in range(3)]
    assert stack.save_notes_batch(notes) == [note.id for note in notes]
    assert len({note.id for note in notes}) == 3
    assert all(note.created_at is not None for note in notes)


def test_of_a_batch_all_are_kept_or_none(stack: SQLiteStack) -> None:
    with pytest.raises(ValueError, match="confidence"):
        stack.save_beliefs_batch([Belief("b1", "mine", "fine"), Belief("b2", "mine", "no", confidence=7)])
    assert stack.get_beliefs() == []


@pytest.mark.parametrize(
    "wrong",
    [
        Episode("e", "mine", "", "empty"),
        Episode("e", "mine", "what", "came", emotional_valence=2.0),
        Note("n", "mine", "what", note_type="song"),
        Note("n", "mine", "what", source_type="rumour"),
        Goal("g", "mine", "what", status="lost"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_written(stack: SQLiteStack, wrong: Any) -> None:
    kind = type(wrong).__name__.lower()
    with pytest.raises(ValueError, match=r"must be|empty"):
        getattr(stack, f"save_{kind}")(wrong)
    assert stack.get_memory(kind, wrong.id) is None


def test_a_kind_is_not_saved_as_another(stack: SQLiteStack) -> None:
    with pytest.raises(ValueError, match="Note is not an episode"):
        stack.save_episode(Note("n", "mine", "a note"))  # type: ignore[arg-type]


class TestProvenance:
    def test_a_stack_of_nobody_takes_everything(self, stack: SQLiteStack) -> None:
        assert stack.save_belief(Belief("b", "mine", "it just is")) == "b"

    def test_an_owned_one_asks_where_it_came_from(self, owned: SQLiteStack) -> None:
        refusals: list[Callable[[], object]] = [
            lambda: owned.save_episode(Episode("e", "mine", "no source", "at all")),
            lambda: owned.save_belief(Belief("b", "mine", "by a core", source_entity="core:me")),
            lambda: owned.save_note(Note("n", "mine", "by a stranger", source_entity="core:other")),
            lambda: owned.save_value(Value("v", "mine", "name", "what", derived_from=["episode:e"])),
            lambda: owned.save_note(Note("n", "mine", "of nothing", derived_from=["raw:missing"])),
            lambda: owned.save_note(Note("n", "mine", "unreadable", derived_from=["raw"])),
            lambda: owned.save_note(Note("n", "mine", "annotated", derived_from=["context:cli"])),
        ]
        for refused in refusals:
            with pytest.raises(ProvenanceError):
                refused()
        assert owned.get_notes() == []
        assert owned.get_beliefs() == []

    def test_a_chain_from_what_was_captured_to_a_value_is_kept(self, owned: SQLiteStack) -> None:
        owned.save_raw(RawEntry("r", "mine", "the deploy broke"))
        owned.save_episode(Episode("e", "mine", "deploy", "broke", derived_from=["raw:r", "context:cli"]))
        owned.save_belief(Belief("b", "mine", "deploys break on Fridays", derived_from=["episode:e"]))
        owned.save_value(Value("v", "mine", "calm", "no Friday deploys", derived_from=["belief:b"]))
        owned.save_relationship(Relationship("p", "mine", "Ada", derived_from=["episode:e"]))
        assert owned.get_values()[0].derived_from == ["belief:b"]

    @pytest.mark.parametrize("source", [SourceType.DIRECT_EXPERIENCE, SourceType.OBSERVATION, "external"])
    def test_what_the_core_saw_itself_stands_by_itself(self, owned: SQLiteStack, source: str) -> None:
        owned.save_note(Note("n", "mine", "seen", source_entity="core:me", source_type=source))
        with pytest.raises(ProvenanceError):
            owned.save_note(Note("m", "mine", "concluded", source_entity="core:me", source_type="inference"))

    def test_a_plugin_counts_while_it_is_loaded(self, owned: SQLiteStack) -> None:
        belief = Belief("b", "mine", "by a plugin", source_entity="plugin:weather")
        owned.register_plugin("weather")
        owned.save_belief(belief)
        owned.unregister_plugin("weather")
        with pytest.raises(ProvenanceError):
            owned.save_belief(Belief("c", "mine", "later", source_entity="plugin:weather"))

    @pytest.mark.parametrize("system", ["sb:suggestion-promotion", "kernle:doctor"])
    def test_the_system_may_write(self, owned: SQLiteStack, system: str) -> None:
        owned.save_belief(Belief("b", "mine", "by the system", source_entity=system))

    def test_nothing_comes_from_itself(self, stack: SQLiteStack) -> None:
        stack.save_note(Note("n1", "mine", "first", derived_from=["note:n2"]))
        stack.save_note(Note("n2", "mine", "second"))
        with pytest.raises(ValueError, match="from itself"):
            stack.save_note(Note("n2", "mine", "second", derived_from=["note:n1"]))

    def test_it_can_be_switched_off(self, tmp_path: Path) -> None:
        with SQLiteStack("x", tmp_path / "x.db", components=[], enforce_provenance=False) as free:
            free.on_attach("me")
            assert free.save_belief(Belief("b", "x", "it just is")) == "b"


def test_nothing_is_written_during_maintenance(owned: SQLiteStack, tmp_path: Path) -> None:
    owned.enter_maintenance()
    with pytest.raises(MaintenanceModeError):
        owned.save_raw(RawEntry("r", "mine", "even this"))
    with SQLiteStack("mine", tmp_path / "stack.db", components=[]) as again:
        assert again.state == "maintenance"
    owned.exit_maintenance()
    owned.save_raw(RawEntry("r", "mine", "now"))


class TestAtomicUpdates:
    def test_one_of_two_writers_wins_and_the_other_hears_of_it(self, tmp_path: Path) -> None:
        path = tmp_path / "two.db"
        first, second = (SQLiteStack("s", path, components=[]) for _ in range(2))
        first.save_drive(Drive("d", "s", "growth"))
        mine, theirs = first.get_drive("growth"), second.get_drive("growth")
        assert mine is not None
        assert theirs is not None
        mine.intensity, theirs.intensity = 0.9, 0.1
        assert first.update_drive_atomic(mine) is True
        assert mine.version == 2
        with pytest.raises(VersionConflictError) as caught:
            second.update_drive_atomic(theirs)
        assert (caught.value.expected_version, caught.value.actual_version) == (1, 2)
        drive = second.get_drive("growth")
        assert drive is not None
        assert drive.intensity == 0.9

    def test_what_is_gone_is_not_updated(self, stack: SQLiteStack) -> None:
        seen = Recorder("seen")
        stack.add_component(seen)
        assert stack.update_drive_atomic(Drive("none", "mine", "growth")) is False
        assert seen.seen == []

    def test_of_many_threads_each_version_is_written_once(self, tmp_path: Path) -> None:
        path = tmp_path / "many.db"
        SQLiteStack("s", path, components=[]).save_relationship(Relationship("r", "s", "Ada"))
        done: list[int] = []

        def add() -> None:
            with SQLiteStack("s", path, components=[]) as mine:
                while True:
                    found = mine.get_relationship("Ada")
                    assert found is not None
                    found.interaction_count += 1
                    try:
                        mine.update_relationship_atomic(found)
                    except VersionConflictError:
                        continue
                    done.append(found.version)
                    return

        threads = [threading.Thread(target=add) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = SQLiteStack("s", path, components=[]).get_relationship("Ada")
        assert found is not None
        assert found.interaction_count == 6
        assert sorted(done) == [2, 3, 4, 5, 6, 7]


class TestComponents:
    def test_each_is_shown_what_was_saved_once_and_what_it_says_is_kept(self, stack: SQLiteStack) -> None:
        first, second = Recorder("first", {"emotional_valence": 0.5}), Recorder("second", {"unknown": 1})
        stack.add_component(first)
        stack.add_component(second)
        episode = Episode("e", "mine", "a good day", "indeed")
        stack.save_episode(episode)
        assert first.seen == second.seen == [("episode", "e", episode)]
        assert stack.get_episodes()[0].emotional_valence == 0.5 == episode.emotional_valence
        stack.save_notes_batch([Note("n1", "mine", "one"), Note("n2", "mine", "two")])
        assert [seen[1] for seen in first.seen] == ["e", "n1", "n2"]

    def test_what_several_say_of_many_is_all_kept_and_counted(self, stack: SQLiteStack) -> None:
        stack.add_component(Recorder("first", {"emotional_valence": 0.5}))
        stack.add_component(Recorder("wrong", {"emotional_arousal": 9.0}))
        stack.add_component(Recorder("second", {"emotional_tags": ["joy"]}))
        days = [Episode(f"e{number}", "mine", f"day {number}", "good") for number in range(5)]
        stack.save_episodes_batch(days)
        stored = {episode.id: episode for episode in stack.get_episodes()}
        assert {
            (episode.emotional_valence, tuple(episode.emotional_tags or ())) for episode in stored.values()
        } == {(0.5, ("joy",))}
        assert {episode.id: episode.version for episode in days} == {
            uid: episode.version for uid, episode in stored.items()
        }
        assert {episode.version for episode in days} == {3}

    def test_a_hook_that_one_component_was_given_is_asked(self, tmp_path: Path) -> None:
        asked: list[str] = []
        with SQLiteStack("s", tmp_path / "s.db") as stack:
            anxiety: Any = stack.components["anxiety"]
            anxiety.on_save = lambda kind, uid, memory: asked.append(uid)
            stack.save_note(Note("n", "s", "asked"))
        assert asked == ["n"]

    def test_a_failure_stays_the_components_own(
        self, stack: SQLiteStack, caplog: pytest.LogCaptureFixture
    ) -> None:
        after = Recorder("after")
        with caplog.at_level(logging.WARNING):
            stack.add_component(Failing("broken"))
            stack.add_component(after)
            stack.on_attach("me", object())  # type: ignore[arg-type]
            stack.save_raw(RawEntry("r", "mine", "kept anyway"))
            done = stack.maintenance()
            stack.remove_component("broken")
        assert done == {"broken": {"error": "RuntimeError: broken"}, "after": {"seen": 1}}
        assert {(record.component, record.hook) for record in caplog.records} == {  # type: ignore[attr-defined]
            ("broken", hook) for hook in ("attach", "set_inference", "on_save", "on_maintenance", "detach")
        }
        assert [raw_entry.id for raw_entry in stack.get_raw()] == ["r"]

    def test_what_a_component_says_wrongly_is_not_kept(self, stack: SQLiteStack) -> None:
        stack.add_component(Recorder("wild", {"emotional_valence": 9.0}))
        stack.save_episode(Episode("e", "mine", "a day", "indeed"))
        assert stack.get_episodes()[0].emotional_valence == 0.0

    def test_names_are_unique_and_required_ones_stay(self, stack: SQLiteStack) -> None:
        needed = Recorder("needed")
        needed.required = True
        stack.add_component(needed)
        wrongs: list[Callable[[], object]] = [
            lambda: stack.add_component(Recorder("needed")),
            lambda: stack.remove_component("needed"),
            lambda: stack.remove_component("none"),
        ]
        for wrong in wrongs:
            with pytest.raises(ValueError, match=r"needed|none"):
                wrong()
        assert list(stack.components) == ["needed"]

    def test_a_model_serves_until_the_last_core_is_gone(self, stack: SQLiteStack) -> None:
        seen, model = Recorder("seen"), object()
        stack.add_component(seen)
        stack.on_attach("one", model)  # type: ignore[arg-type]
        stack.on_attach("two", model)  # type: ignore[arg-type]
        stack.on_detach("one")
        assert seen.inference == [model, model]
        stack.on_detach("two")
        assert seen.inference[-1] is None


def test_a_batch_may_lead_in_no_circle_either(stack: SQLiteStack) -> None:
    circle = [
        Episode("a", "", "Deploy", "It worked", derived_from=["episode:b"]),
        Episode("b", "", "Test", "It worked", derived_from=["episode:a"]),
    ]
    with pytest.raises(ValueError, match="derived from itself"):
        stack.save_episodes_batch(circle)
    assert stack.get_episodes() == []


def test_a_stack_that_somebody_else_maintains_or_owns_is_so_for_all(
    stack: SQLiteStack, tmp_path: Path
) -> None:
    with SQLiteStack("mine", tmp_path / "stack.db", components=[]) as other:
        assert other.state == "initializing"
        stack.on_attach("me")
        with pytest.raises(ProvenanceError):
            other.save_episode(Episode("e", "", "Deploy", "It worked"))
        stack.enter_maintenance()
        with pytest.raises(MaintenanceModeError):
            other.save_raw(RawEntry("r", "", "as it came"))
        other.on_attach("you")
        assert stack.state == "maintenance"
        other.exit_maintenance()
        assert stack.save_raw(RawEntry("r", "", "as it came")) == "r"
        stack.enter_maintenance()
        assert other.state == "maintenance"
