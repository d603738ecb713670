"""SQLiteStack: a container of memories in one SQLite file, independent of what is attached to it.

Source: the stack protocol. It is a second view over the records that a `Brain` keeps: `sb.stack.views` says which are shown
as what.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.base.text import checked_name
from sb.config import Config, current_config
from sb.memory.access import ScopeRefusal
from sb.memory.masking import refuse_secret
from sb.memory.space import Space
from sb.protocols import InferenceService, StackComponentProtocol, StackProtocol
from sb.protocols.types import SearchResult, StackState
from sb.protocols.types.vocabulary import TOKEN_BUDGET
from sb.stack.container import Container
from sb.stack.correcting import Corrections
from sb.stack.dump import Dumper, write_whole
from sb.stack.lineage import made_from, ungrounded
from sb.stack.parts import of_part
from sb.stack.provenance import ENFORCED
from sb.stack.queries import StackReader
from sb.stack.reads import Reads
from sb.stack.registry import Components
from sb.stack.saver import Saver
from sb.stack.storage import StackStorage
from sb.stack.strength import Strengths
from sb.stack.suggestions import Suggestions
from sb.stack.sync.operations import SyncOperations
from sb.stack.trust import Trust
from sb.stack.working_memory import Loader
from sb.store import migrate
from sb.store.database import Database, open_database
from sb.store.records.places import GLOBAL, check_not_reserved, checked_scope

if TYPE_CHECKING:
    from sb.stack.search import StackSearch


class SQLiteStack(Reads, SyncOperations, StackProtocol):
    """One stack; close it, or use it as a context manager, where the process goes on without it.

    Args:
        stack_id: its name; several stacks may share a file.
        db_path: its file, by default the configured database; it is made if need be.
        components: the components to start with, by default the eight of `sb.stack.components`; none for [].
        enforce_provenance: whether a memory has to say what it was made from, once a core is attached.
        database: an open database to use instead, which stays open.
        remote: the file of another database that keeps this stack too, for `sync`.
        read_only: change nothing, not even what was read when; by default so if the file cannot be written.

    Raises:
        ValueError: it can be no name. ConfigError, StoreError: the configuration or the file cannot be used.
    """

    def __init__(
        self,
        stack_id: str,
        db_path: str | Path | None = None,
        *,
        components: Iterable[StackComponentProtocol] | None = None,
        enforce_provenance: bool = True,
        database: Database | None = None,
        remote: str | Path | None = None,
        config: Config | None = None,
        read_only: bool | None = None,
        scope_refusal: ScopeRefusal | None = None,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> None:
        refuse_secret("stack_id", checked_name("stack_id", stack_id))
        config = config if config is not None else current_config()
        self._owned = database is None
        path = db_path if db_path is not None else config.database
        self._database = database or open_database(path, read_only=read_only, clock=clock, ids=ids)
        space = Space(self._database, config.memory, scope_refusal=scope_refusal, clock=clock, ids=ids)
        self._container = Container(space, stack_id, read_only=self._database.read_only)
        self.enforce_provenance = enforce_provenance or self._container.settings.get(ENFORCED) is True
        self._reader = StackReader(self._container)
        self._strengths = Strengths(self._container)
        self._storage = storage = StackStorage(self._container, self._reader, self._strengths)
        self._components = Components(stack_id, storage)
        self._saver = Saver(self._container, self._components, enforce=self.enforce_provenance)
        storage.saver = self._saver
        self.suggestions = Suggestions(self._container, self._reader, self._saver)
        self._dumper = Dumper(self._container, self._saver)
        self._corrections = Corrections(self._container, self._saver)
        self._trust = Trust(self._container, self._reader, self._saver)
        self._inference: InferenceService | None = None
        self._config, self._remote = config, remote
        for component in components if components is not None else _defaults():
            self._components.add(component)

    @property
    def masked(self) -> tuple[str, ...]:
        """The labels of the secrets that the last write masked."""
        return tuple(self._saver.masked)

    @property
    def stack_id(self) -> str:
        return self._container.stack_id

    @property
    def schema_version(self) -> int:
        return migrate.latest()

    @property
    def path(self) -> str:
        """Its file."""
        return self._database.path

    def location(self) -> dict[str, Any]:
        """The arguments with which this stack is opened again, components by their names and arguments."""
        arguments: dict[str, Any] = {
            "enforce_provenance": self.enforce_provenance,
            "components": self._components.described(),
        }
        if self._remote is not None:
            arguments["remote"] = str(Path(self._remote).absolute())
        return arguments if self._database.in_memory else {"db_path": self.path, **arguments}

    @property
    def state(self) -> StackState:
        self._container.look_again()
        return self._container.state

    # Components

    @property
    def components(self) -> dict[str, StackComponentProtocol]:
        """All components by name, in the order of their registration; a copy."""
        return self._components.all()

    add_component = of_part("_components", Components.add)
    remove_component = of_part("_components", Components.remove)
    get_component = of_part("_components", Components.get)
    maintenance = of_part("_components", Components.on_maintenance)

    def promote(self, *, context: str | None = None) -> dict[str, Any]:
        """Make a belief of each lesson that several episodes taught, in whatever words; what was found and made.

        Args:
            context: only episodes that belong to it.

        Raises:
            MaintenanceModeError, StoreReadOnly: nothing may be written now.
        """
        return self._storage.promoter.promote(context)

    def make(self, kind: str, about: str = "") -> list[str]:
        """Make a playbook, epoch, summary, self_narrative or entity_model of what is remembered; see `Maker.make`."""
        from sb.stack.making import Maker

        return Maker(self._container, self._reader, self._saver).make(kind, about)

    def apply_forgetting(self, *, protect_identity: bool = True) -> dict[str, Any]:
        """Forget up to ten memories that are weak and hardly matter; how many there were, and how many stay protected.

        Args:
            protect_identity: also leave aspirations, commitments and beliefs about oneself. Values, drives and what is
                protected are never forgotten.

        Raises:
            MaintenanceModeError, StoreReadOnly: nothing may be written now.
        """
        return self._storage.forgetting.forget_unimportant(protect_identity=protect_identity)

    # Composition

    def on_attach(self, core_id: str, inference: InferenceService | None = None) -> None:
        """Belong to a core too, which reads the scope `global`; from now on with provenance; components may use its model."""
        check_not_reserved(core_id)
        self._container.cores[core_id] = GLOBAL
        self._use(inference)
        if self.state is StackState.INITIALIZING:
            self._container.enter(StackState.ACTIVE)

    def read_from(self, core_id: str, scope: str | None) -> None:
        """Sets the scope that an attached core reads from: that, what it includes, and `global`.

        Args:
            scope: None for every scope, as operators read.

        Raises:
            ValueError: it is no scope.
        """
        if core_id in self._container.cores:
            self._container.cores[core_id] = None if scope is None else checked_scope(scope)

    def view_as(self, core_id: str, scope: str | None = GLOBAL) -> None:
        """Show what a core may read from a scope, and nothing else; whoever is attached from now on, the file goes on
        belonging to whom it does.

        Args:
            scope: None for every scope, as operators read; what is private to the core is then shown too.
        """
        check_not_reserved(core_id)
        self._container.read_only_view = True
        self._container.cores[core_id] = None
        self.read_from(core_id, scope)

    def view_as_operator(self) -> None:
        """Show and change what rights and trust floors of `memory.scopes` keep from agents; still nothing that is private."""
        self._container.for_operators = True

    def on_detach(self, core_id: str) -> None:
        """Belong to a core no longer; the last one takes its model along."""
        self._container.cores.pop(core_id, None)
        if not self._container.cores:
            self._use(None)

    def on_model_changed(self, inference: InferenceService | None = None) -> None:
        """Sets another inference service for the components, or none."""
        self._use(inference)

    def register_plugin(self, name: str) -> None:
        """Accepts memories from a plugin that a core has loaded; called once by each core."""
        self._container.plugins[name] += 1

    def unregister_plugin(self, name: str) -> None:
        """Rejects further memories from a plugin, unless another core has loaded it too."""
        self._container.plugins[name] -= 1
        self._container.plugins = +self._container.plugins

    def _use(self, inference: InferenceService | None) -> None:
        self._inference = inference
        self._components.use(inference)

    def enter_maintenance(self) -> None:
        """Refuse every write of a memory until `exit_maintenance`."""
        self._container.enter(StackState.MAINTENANCE)

    def exit_maintenance(self) -> None:
        if self.state is StackState.MAINTENANCE:
            self._container.enter(StackState.ACTIVE)

    # What it answers

    @cached_property
    def _search(self) -> StackSearch:
        from sb.stack.search import StackSearch  # numpy, for who searches

        return StackSearch(self._container, self._components)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        record_types: list[str] | None = None,
        context: str | None = None,
        min_confidence: float | None = None,
    ) -> list[SearchResult]:
        """The memories that answer a question best, the best first, as components leave them; weak ones too.

        Args:
            limit: the most that are returned.
            record_types: kinds to look for, of `sb.stack.search.SEARCHED`; all by default.
            context: only what belongs to it. min_confidence: only what is as sure as this, from 0 to 1.

        Raises:
            ValueError: a value that cannot be.
        """
        return self._search.search(query, limit, record_types, context, min_confidence)

    def load(self, *, token_budget: int = TOKEN_BUDGET, context: str | None = None) -> dict[str, Any]:
        """Assembles working memory: the most important strong and fading memories, as lists by kind.

        Args:
            token_budget: tokens that they may take, from 100 to 50 000; what is beyond counts as that.
            context: what belongs to it comes earlier.

        Returns:
            `values`, `beliefs`, `goals`, `drives`, `episodes`, `notes`, `relationships`, `summaries` and `self_narratives`, the most
            important first; `_meta` with `budget_used`, `budget_total` and `excluded_count`; what components add. It is fit for JSON.
        """
        return Loader(self._container, self._components).load(token_budget, context)

    # As a whole

    get_stats = of_part("_dumper", Dumper.stats)
    dump = of_part("_dumper", Dumper.dump)
    load_dump = of_part("_dumper", Dumper.load)

    def export(self, path: str | PathLike[str], *, format: str = "markdown") -> None:
        """Write what `dump` gives to a file, whole or not at all; its folder is made if need be.

        Raises:
            ValueError: there is no such format. StoreError: the file cannot be written.
        """
        write_whole(Path(path), self.dump(format=format))

    # Memories

    def save_records(self, kind: str, records: Sequence[Any]) -> list[str]:
        """Save records of one kind, all or none; returns their ids. See `Saver.save`."""
        return self._saver.save(kind, records)

    update_record = of_part("_saver", Saver.update)
    update_memory_meta = of_part("_saver", Saver.update_meta)
    get_memory = of_part("_reader", StackReader.get)
    record_access = of_part("_strengths", Strengths.access)
    forget_memory = of_part("_strengths", Strengths.forget)
    recover_memory = of_part("_strengths", Strengths.recover)
    protect_memory = of_part("_strengths", Strengths.protect)
    weaken_memory = of_part("_strengths", Strengths.weaken)
    verify_memory = of_part("_strengths", Strengths.verify)

    correct_memory = of_part("_corrections", Corrections.correct_memory)
    get_collapses = of_part("_corrections", Corrections.get_collapses)
    revert_collapse = of_part("_corrections", Corrections.revert_collapse)

    def get_memories_derived_from(self, memory_type: str, memory_id: str) -> list[str]:
        """References `type:id` to what was made from a memory, the oldest first."""
        return made_from(self._container, memory_type, memory_id)

    def get_ungrounded_memories(self) -> list[str]:
        """References to memories all of whose named sources are gone."""
        return ungrounded(self._container)

    # Suggestions and trust

    get_suggestion = of_part("suggestions", Suggestions.get)
    get_suggestions = of_part("suggestions", Suggestions.find)
    accept_suggestion = of_part("suggestions", Suggestions.accept)
    dismiss_suggestion = of_part("suggestions", Suggestions.dismiss)
    expire_suggestions = of_part("suggestions", Suggestions.expire)
    save_trust_assessment = of_part("_trust", Trust.save)
    get_trust_assessments = of_part("_trust", Trust.find)
    compute_trust = of_part("_trust", Trust.compute)

    def close(self) -> None:
        """Close the file, if this stack opened it."""
        if self._owned:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _defaults() -> Iterable[StackComponentProtocol]:
    from sb.stack.components import DEFAULT_COMPONENTS  # not for a stack that is given its own

    return (make() for make in DEFAULT_COMPONENTS)
