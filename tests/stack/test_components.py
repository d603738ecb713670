"""A stack has eight components, which extend it, fail by themselves, and do nothing without a stack."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sb.protocols import StackComponentProtocol
from sb.protocols.types import Episode, Note, RawEntry
from sb.stack import SQLiteStack
from sb.stack.components import DEFAULT_COMPONENTS, AnxietyComponent, Component, EmbeddingComponent
from tests.rows import rows

NAMES = [
    "embedding", "forgetting", "consolidation", "emotions", "anxiety", "suggestions", "metamemory", "knowledge",
]  # fmt: skip


def test_a_stack_loads_eight_components_in_this_order(full: SQLiteStack) -> None:
    assert list(full.components) == NAMES
    assert [name for name, protocol in full.components.items() if protocol.required] == ["embedding"]
    asking = [name for name, protocol in full.components.items() if protocol.needs_inference]
    assert asking == ["embedding", "consolidation", "emotions", "suggestions"]
    assert all(isinstance(protocol, StackComponentProtocol) for protocol in full.components.values())


def test_an_optional_component_goes_and_a_required_one_stays(full: SQLiteStack) -> None:
    full.remove_component("anxiety")
    assert "anxiety" not in full.components
    assert "anxiety" not in full.maintenance()
    with pytest.raises(ValueError, match="Cannot remove required"):
        full.remove_component("embedding")
    full.add_component(AnxietyComponent())
    assert list(full.components)[-1] == "anxiety"
    with pytest.raises(ValueError, match="registered"):
        full.add_component(EmbeddingComponent())


@rows("make", DEFAULT_COMPONENTS)
def test_every_component_survives_every_hook_without_a_stack(make: type[Component]) -> None:
    component = make()
    results: list[Any] = []
    component.on_save("episode", "e", Episode("e", "", "a disaster", "everybody was angry"))
    component.on_save("note", "n", Note("n", "", "x"))
    assert component.on_search("anything", results) is results
    context: dict[str, Any] = {}
    component.on_load(context)
    assert context == {}
    assert component.on_maintenance() == {"skipped": True, "reason": "it has no storage"}
    component.attach("mine")
    component.set_inference(None)
    component.detach()


class Agreeing:
    """A component that has any attribute, as a stand-in of other parties' tests has."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    name, version, required, needs_inference, inference = "agreeing", "1", False, False, None

    def __getattr__(self, hook: str) -> Any:
        return Hook(self.seen, hook)


class Hook:
    no_op = True

    def __init__(self, seen: list[str], name: str) -> None:
        self._seen, self._name = seen, name

    def __call__(self, *arguments: Any) -> Any:
        self._seen.append(self._name)


def test_component_whose_attributes_are_all_true_gets_its_hooks(full: SQLiteStack) -> None:
    component = Agreeing()
    full.add_component(component)
    full.save_note(Note("n", full.stack_id, "x"))
    full.search("x")
    assert {"on_save", "on_search"} <= set(component.seen)


def test_a_model_that_fails_takes_nothing_from_what_is_done_without_one(
    full: SQLiteStack, scripted: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for at in range(3):
        full.save_episode(Episode(f"e{at}", "", f"angry step {at}", "done", lessons=["Pin the versions"]))
    full.save_raw(RawEntry("r", "", "I think that caches should always be warm because that is faster"))
    full.save_raw(RawEntry("s", "", "a text that says nothing"))
    broken = scripted(*[RuntimeError("no credit")] * 9)
    full.on_attach("me", broken)
    with caplog.at_level(logging.WARNING):
        done = full.maintenance()
    assert len(broken.prompts) == 3
    assert done["consolidation"]["beliefs_created"] == 1
    assert done["suggestions"]["suggestions_extracted"] == 1
    assert done["emotions"]["judged"] == 0
    assert not any("error" in each for each in done.values())
    assert "RuntimeError" in caplog.text
    assert "no credit" not in caplog.text


def test_a_stack_that_is_only_read_is_looked_after_by_none(full: SQLiteStack) -> None:
    full.save_note(Note("n", "", "the cache is warm"))
    with SQLiteStack("mine", full.path, read_only=True) as reader:
        done = reader.maintenance()
        assert [note.id for note in reader.get_notes()] == ["n"]
    writing = ["embedding", "forgetting", "consolidation", "emotions", "suggestions", "knowledge"]
    assert all(done[name]["skipped"] for name in writing)
    assert done["anxiety"]["level"] == "calm"


def test_reading_a_stack_loads_neither_the_model_nor_the_lexicon(full: SQLiteStack, tmp_path: Path) -> None:
    full.save_note(Note("n", "", "the cache is warm"))
    program = (
        "import sys; from sb.stack import SQLiteStack\n"
        f"with SQLiteStack('mine', {full.path!r}) as stack:\n"
        "    assert stack.get_notes() and stack.components\n"
        "from sb.stack.emotion_lexicon import lexicon\n"
        "print([name for name in ('kitoken', 'safetensors', 'Stemmer') if name in sys.modules],"
        " lexicon.cache_info().currsize)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[0] == "[] 0"


def test_what_a_component_says_of_a_record_leaves_its_version_known(full: SQLiteStack) -> None:
    episode = Episode("e", "", "the release", "everybody was furious")
    full.save_episode(episode)
    stored = full.get_memory("episode", "e")
    assert stored is not None
    assert (
        (episode.version, episode.emotional_tags) == (stored.version, stored.emotional_tags) == (2, ["anger"])
    )


class Numbering(Component):
    """Tags notes with how many it has seen, under a setting with a name of its own; refuses what it does not like."""

    name = "numbering"

    def on_save(self, memory_type: str, memory_id: str, memory: Any) -> dict[str, Any] | None:
        assert self._storage is not None
        seen = (self._storage.setting("seen-so.far") or 0) + 1
        self._storage.save_setting("seen-so.far", seen)
        if memory.content == "bad":
            return {"confidence": 7.0}
        return {"tags": [*(memory.tags or ()), str(seen)], "id": "mine", "no such field": 1}


def test_what_components_say_of_a_batch_is_kept_and_a_wrong_answer_is_left(tmp_path: Path) -> None:
    path = tmp_path / "stack.db"
    with SQLiteStack("mine", path, components=[Numbering()]) as stack:
        stack.save_notes_batch(
            [Note("a", "", "one"), Note("b", "", "bad"), Note("c", "", "three", tags=["t"])]
        )
    with SQLiteStack("mine", path, components=[Numbering()]) as stack:
        stack.save_note(Note("d", "", "four"))
        found = {note.id: (note.tags, note.confidence) for note in stack.get_notes()}
    assert found == {"a": (["1"], 0.8), "b": (None, 0.8), "c": (["t", "3"], 0.8), "d": (["4"], 0.8)}


class _Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


class _Nonsense(Component):
    """Answers every hook with something that it cannot be."""

    name = "nonsense"

    def on_search(self, query: str, results: list[Any]) -> list[Any]:
        return [*results, None]

    def on_maintenance(self) -> Any:
        return ["done"]


def test_nonsense_that_a_component_answers_with_spoils_nothing(stack: SQLiteStack) -> None:
    stack.add_component(_Nonsense())
    stack.save_note(Note("n", "", "the cache is warm"))
    assert [result.memory_id for result in stack.search("cache")] == ["n"]
    assert stack.maintenance() == {"nonsense": {"error": "TypeError: it returned a list"}}


def test_a_failure_that_cannot_be_described_is_contained_too(
    stack: SQLiteStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> Any:
        raise _Speechless

    monkeypatch.setattr(_Nonsense, "on_maintenance", fail)
    stack.add_component(_Nonsense())
    assert stack.maintenance() == {"nonsense": {"error": "_Speechless"}}
