"""Saboteurs of stacks and entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from sb.entity import checkpoints, plugins
from sb.entity.core import Entity
from sb.entity.upserts import Upserts
from sb.memory.lessons import lessons
from sb.memory.triggers import triggers
from sb.protocols import PROTOCOL_VERSION
from sb.protocols.types.vocabulary import WEAK
from sb.stack import provenance, queries, saver, strength, working_memory
from sb.stack.queries import StackReader
from sb.stack.registry import Components
from sb.stack.saver import Saver
from sb.stack.strength import Strengths
from sb.stack.suggestions import Suggestions
from sb.stack.working_memory import Loader
from sb.store.index import vectors
from sb.store.index.vectors import VectorIndex
from tests.harness.saboteurs import breaks, while_it_runs


@breaks("HA-03")
def everything_fits_into_what_a_stack_loads(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(working_memory, "tokens_of", lambda characters: 0)


@breaks("HA-03")
def a_stack_loads_what_matters_least_first(patch: pytest.MonkeyPatch) -> None:
    def merge(*streams: Iterator[Any], key: Callable[[Any], float]) -> Iterator[Any]:
        return chain(*reversed(streams))

    patch.setattr(working_memory, "merge", merge)


@breaks("HA-03")
def a_stack_says_of_nothing_that_it_was_left_out(patch: pytest.MonkeyPatch) -> None:
    real = Loader.load

    def load(loader: Loader, *given: Any) -> dict[str, Any]:
        loaded = real(loader, *given)
        loaded["_meta"]["excluded_count"] = 0
        return loaded

    patch.setattr(Loader, "load", load)


@breaks("HA-04")
def weak_memories_are_loaded(patch: pytest.MonkeyPatch) -> None:
    while_it_runs(patch, Loader, "_candidates", working_memory, "FADING", WEAK)


@breaks("HA-04")
def weak_memories_are_read(patch: pytest.MonkeyPatch) -> None:
    while_it_runs(patch, StackReader, "query", queries, "FADING", WEAK)


@breaks("HA-04")
def what_grows_too_weak_stays_active(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(strength, "state_of", lambda _, state: state)


@breaks("HA-04")
def what_is_forgotten_is_found(patch: pytest.MonkeyPatch) -> None:
    real = strength._as_strong_as
    patch.setattr(strength, "_as_strong_as", lambda row, much: real(row, much or WEAK))


@breaks("HA-04")
def what_is_recovered_stays_away(patch: pytest.MonkeyPatch) -> None:
    while_it_runs(patch, Strengths, "recover", strength, "WEAK", WEAK / 2)


@breaks("HA-20")
def sources_are_not_asked_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(saver, "check_provenance", lambda *_, **__: None)


@breaks("HA-20")
def any_core_stands_for_what_it_says(patch: pytest.MonkeyPatch) -> None:
    real = provenance._stands_by_itself

    def stands(container: Any, kind: str, record: Any, references: Any) -> bool:
        return real(container, kind, record, references) or record.source_entity == "core:eve"

    patch.setattr(provenance, "_stands_by_itself", stands)


@breaks("HA-20")
def annotations_count_as_sources(patch: pytest.MonkeyPatch) -> None:
    real = provenance._check_sources

    def check(container: Any, record: Any, references: Any) -> None:
        if not any(reference.startswith("context:") for reference in references):
            real(container, record, references)

    patch.setattr(provenance, "_check_sources", check)


@breaks("HA-25")
def checkpoints_of_every_version_are_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(checkpoints, "_check_version", lambda *_: None)


@breaks("HA-25")
def a_checkpoint_without_a_version_is_like_any_other(patch: pytest.MonkeyPatch) -> None:
    real = checkpoints._check_version

    def check(path: Any, document: Any) -> None:
        real(path, {"schema_version": checkpoints.SCHEMA_VERSION, **document})

    patch.setattr(checkpoints, "_check_version", check)


@breaks("HA-25")
def a_retired_trigger_can_be_retired_again(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(triggers.MOVES, "retired", ("retired",))


@breaks("HA-25")
def a_retired_lesson_can_be_retired_again(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(lessons.Lessons.moves, "retired", ("retired",))


@breaks("HA-27")
def what_was_changed_meanwhile_is_written_over(patch: pytest.MonkeyPatch) -> None:
    real = Saver.update

    def update(saver: Saver, kind: str, record: Any, _: int | None) -> bool:
        row = saver._container.find(record.id, (kind,))
        return real(saver, kind, record, row["version"] if row else None)

    patch.setattr(Saver, "update", update)


@breaks("HA-27")
def what_there_is_one_of_is_made_again(patch: pytest.MonkeyPatch) -> None:
    def upsert(core: Any, kind: str, key: Any, changes: Any, origin: Any, touched: Any, new: Any) -> str:
        given = {name: value for name, value in changes.items() if value is not None}
        return str(core._save(kind, origin, **{**key, **new, **given, **touched(None)}))

    patch.setattr(Upserts, "_upsert", upsert)


@breaks("HA-32")
def stacks_hear_of_their_first_model_only(patch: pytest.MonkeyPatch) -> None:
    real = Components.use

    def use(components: Components, inference: Any) -> None:
        if components._inference is None:
            real(components, inference)

    patch.setattr(Components, "use", use)


@breaks("HA-32")
def only_the_active_stack_hears_of_a_model(patch: pytest.MonkeyPatch) -> None:
    real = Entity.set_model

    def set_model(entity: Entity, model: Any) -> None:
        everything = entity._stacks
        entity._stacks = {
            name: protocol for name, protocol in everything.items() if name == entity._active_id
        }
        try:
            real(entity, model)
        finally:
            entity._stacks = everything

    patch.setattr(Entity, "set_model", set_model)


@breaks("HA-32")
def the_protocol_of_a_plugin_is_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plugins, "_check_version", lambda plugin: None)


@breaks("HA-32")
def a_plugin_of_an_older_protocol_is_like_any_other(patch: pytest.MonkeyPatch) -> None:
    real = plugins._check_version

    def check(plugin: Any) -> None:
        if plugin.protocol_version >= PROTOCOL_VERSION:
            real(plugin)

    patch.setattr(plugins, "_check_version", check)


@breaks("HA-32")
def vectors_of_another_model_count_as_made(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(VectorIndex, "stale", lambda *_, **__: [])


@breaks("HA-32")
def vectors_of_all_models_are_compared(patch: pytest.MonkeyPatch) -> None:
    careless = vectors._OF_PLACE.replace("v.model = ?", "? <> ''")
    while_it_runs(patch, VectorIndex, "_few", vectors, "_OF_PLACE", careless)


@breaks("HA-37")
def an_accepted_suggestion_forgets_where_it_came_from(patch: pytest.MonkeyPatch) -> None:
    real = Suggestions._memory
    patch.setattr(Suggestions, "_memory", lambda *given: replace(real(*given), derived_from=[]))


@breaks("HA-37")
def what_was_captured_does_not_hear_what_became_of_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Suggestions, "_mark_sources", lambda *_: None)


@breaks("HA-37")
def an_accepted_suggestion_is_the_cores_own_word(patch: pytest.MonkeyPatch) -> None:
    real = Suggestions._memory

    def memory(suggestions: Suggestions, *given: Any) -> Any:
        return replace(real(suggestions, *given), source_entity="core:ada")

    patch.setattr(Suggestions, "_memory", memory)
