"""The stores of one database, put together once for every part of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from sb.config.memory import Memory as Settings
from sb.config.scope_patterns import rules_of
from sb.memory.access import Rights, ScopeRefusal
from sb.memory.lazy import lazy
from sb.memory.personal_data import Screening
from sb.memory.personal_values import masked
from sb.memory.ranking.lexicon import Lexicon
from sb.memory.ranking.rank import Ranked
from sb.memory.ranking.statistics import information
from sb.memory.ranking.terms import STOP_WORDS, stem, words
from sb.memory.trust.store import TrustStore
from sb.memory.views import Hit, Memory
from sb.memory.visibility import Condition, Unlimited, Visibility, any_of
from sb.protocols import MaintenanceModeError
from sb.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.store.database import Database
from sb.store.embedding.context import ContextEmbedder
from sb.store.embedding.embedder import Embedder
from sb.store.embedding.selection import NoEmbedder, choose
from sb.store.embedding.static import StaticEmbedder
from sb.store.index.full_text import WordIndex
from sb.store.index.statistics import TextStatistics, counted, keep_counts
from sb.store.index.vectors import VectorIndex, VectorRow
from sb.store.records.columns import QUARANTINED, Row
from sb.store.records.edges import EdgeStore
from sb.store.records.evidence import EvidenceStore
from sb.store.records.places import GLOBAL, Execute, Places, checked_scope
from sb.store.records.reads import ReadLog
from sb.store.records.rows import from_row
from sb.store.records.sessions import Sessions
from sb.store.records.store import RecordStore
from sb.types import StackState

if TYPE_CHECKING:
    from sb.kernel.memory_read_policy import ReadPolicy
    from sb.memory.gate.worth import GateVerdict
    from sb.store.embedding.embedder import Vectors

ID_PREFIX = "mem_"
_AT_ONCE = 2_000  # records: a statement takes no more than some ten thousand parameters


class Space:
    """The memory in one database, seen by nobody in particular; `Brain` is an agent's view of it.

    Args:
        settings: which embedder to use, and which scopes include others.
        scope_refusal: why an agent may not use a scope, by its charter; None where charters are not enforced.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        scope_refusal: ScopeRefusal | None = None,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> None:
        self.database = database
        self.clock = clock
        self.ids = ids
        self.records = RecordStore(database, clock=clock)
        self.edges = EdgeStore(database)
        self.evidence = EvidenceStore(database)
        self.places = Places(database)
        self.sessions = Sessions(database)
        self.reads = ReadLog(database)
        self.trust = TrustStore(self.records, self.places, clock)
        self.words = WordIndex(database)
        self.vectors = VectorIndex(database)
        self.visibility: Visibility = Unlimited()  # of whoever reads here
        self.settings = settings
        self.rights = Rights(settings.access, scope_refusal)
        self.screening = Screening(database, settings, clock.now)
        self.read_policy: ReadPolicy | None = None  # of whom it is read by, where a scope has a rule
        self.shows_personal_data = True  # to whom it is shown; a Brain says whether its agent is one
        self._contextual: ContextEmbedder | None = None
        self._session_names: dict[int, str] = {}

    @property
    def untrusted_sources(self) -> tuple[str, ...]:
        """The source types whose memories are quarantined."""
        return self.settings.quarantine

    @lazy
    def statistics(self) -> TextStatistics:
        return TextStatistics(self.database)

    @lazy
    def embedder(self) -> Embedder | NoEmbedder:
        """The embedder, or the reason why there is none; loaded on first use."""
        chosen = choose(self.settings)
        return chosen if isinstance(chosen, NoEmbedder) else counted(chosen, self.database)

    @property
    def usable_embedder(self) -> Embedder | None:
        """The embedder, if there is one."""
        return None if isinstance(self.embedder, NoEmbedder) else self.embedder

    @lazy
    def lexicon(self) -> Lexicon:
        """The lexicon of ranking; one for all queries of this process."""
        embedder = self.embedder
        return Lexicon(embedder.embed_words if isinstance(embedder, StaticEmbedder) else None)

    def embed(self, execute: Execute, records: Sequence[int]) -> None:
        """Make the vectors of records that were written in this transaction.

        A model that is not in this process is not waited for while others wait for the database: housekeeping asks it.
        """
        embedder = self.usable_embedder
        if embedder is None or not embedder.in_process or not records:
            return
        contextual = self._embedding(embedder)
        for start in range(0, len(records), _AT_ONCE):
            sources = self.vectors.sources(records[start : start + _AT_ONCE])
            vectors = contextual.embed([(one.text, one.previous) for one in sources])
            self.vectors.put_many(
                execute,
                [
                    VectorRow(one.record, one.place, embedder.model, one.digest, vector)
                    for one, vector in zip(sources, vectors, strict=True)
                ],
            )

    def own_vector(self, text: str) -> Vectors | None:
        """The vector of a text by itself, which `embed` uses again; None without an embedder in this process."""
        embedder = self.usable_embedder
        if embedder is None or not embedder.in_process:
            return None
        return self._embedding(embedder).own(text)

    def _embedding(self, embedder: Embedder) -> ContextEmbedder:
        if self._contextual is None or self._contextual.embedder is not embedder:
            self._contextual = ContextEmbedder(embedder)
        return self._contextual

    def information(self, text: str) -> float:
        """Returns how specific a text is, by the statistics of the last refresh."""
        return information([stem(word) for word in words(text) if word not in STOP_WORDS], self.statistics)

    def count_tokens(self, embedder: StaticEmbedder, texts: Iterable[str]) -> None:
        """Counts the tokens of these texts, for the embeddings of this and later processes."""
        counts = embedder.count(texts)
        with self.database.write() as execute:
            keep_counts(execute, embedder.model, counts.to_bytes())
        self.embedder = embedder.knowing(counts)
        self.__dict__.pop("lexicon", None)  # it is made with the embedder

    def chain(self, scope: str) -> tuple[str, ...]:
        """The scopes that are read from a scope: itself, what it includes directly or by way of others, and `global`.

        Raises:
            ValueError: it is no scope.
        """
        found, includes = [checked_scope(scope)], self.settings.includes
        for one in found:  # grows while it is walked
            included = [inner for rule in reversed(rules_of(includes, one)) for inner in rule]
            found += [inner for inner in dict.fromkeys(included) if inner not in found]
        return (*found, *(() if GLOBAL in found else (GLOBAL,)))

    def check_open(self, execute: Execute, stack: str) -> None:
        """Refuse, within a transaction, to write the memories of a stack that is being maintained.

        Raises:
            MaintenanceModeError: it is.
        """
        found = execute("SELECT state FROM stacks WHERE name = ?", (stack,)).fetchone()
        if found is not None and found[0] == StackState.MAINTENANCE:
            raise MaintenanceModeError(
                f"stack {stack} is in maintenance", "call exit_maintenance() when it is done"
            )

    def new_id(self, now: float) -> str:
        """A public id: the time in milliseconds, so that the index over ids grows at its end, and 8 random bytes."""
        return f"{ID_PREFIX}{int(now * 1000):012x}{self.ids.token(8)}"

    def record(self, row: Row) -> Any:
        """The record that a row holds, as the dataclass of its kind."""
        return self.all_records([row])[0]

    def all_records(self, rows: Sequence[Row]) -> list[Any]:
        """The records that these rows hold, as the dataclasses of their kinds."""
        numbers = [row["id"] for row in rows]
        reads: dict[int, tuple[int, float]] = {}
        for start in range(0, len(numbers), _AT_ONCE):
            reads |= self.reads.stats(numbers[start : start + _AT_ONCE])
        return [from_row(row, self.places.numbered(row["place"]), reads.get(row["id"])) for row in rows]

    def memory(self, row: Row) -> Memory:
        """One row as agents and people see it."""
        return Memory(**self._shown(row))

    def hit(self, row: Row, ranked: Ranked) -> Hit:
        """One row that a search found."""
        return Hit(**self._shown(row), score=ranked.score, explanation=ranked.features)

    def _shown(self, row: Row) -> dict[str, Any]:
        place = self.places.numbered(row["place"])
        refusal = self.withheld(row)
        shown = {
            "id": row["uid"],
            "kind": row["kind"],
            "content": f"withheld: {refusal}" if refusal else row["text"],
            "category": row["category"],
            "scope": place.scope,
            "agent_id": row["agent"],
            "private": bool(place.owner),
            "source_type": row["source_type"],
            "confidence": row["confidence"],
            "strength": row["strength"],
            "happened_at": row["happened_at"],
            "created_at": row["created_at"],
            "session": self.session_name(row["session"]),
            "speaker": None if refusal else row["speaker"],
            "tags": tuple(orjson.loads(row["tags"]) if row["tags"] and not refusal else ()),
            "details": {} if refusal else orjson.loads(row["fields"]),
        }
        if not self.shows_personal_data:
            names = ("content", "speaker", "tags", "details")
            shown |= zip(names, masked([shown[name] for name in names]), strict=True)
        return shown

    def shown_verdict(self, verdict: GateVerdict) -> GateVerdict:
        """The gate's answer as the agent may read it: the memories that it compares with may hold personal data."""
        if self.shows_personal_data:
            return verdict
        others = tuple(replace(one, content=masked(one.content)) for one in verdict.others)
        return replace(verdict, content=masked(verdict.content), others=others)

    def withheld(self, row: Row) -> str:
        """Why nothing that a record says is shown, on any face; "" if it is."""
        if row["state"] == QUARANTINED:
            return "it is quarantined"
        return self.visibility.refusal(row) or (
            self.read_policy.refusal(row) if self.read_policy is not None else ""
        )

    def is_readable(self, row: Row) -> bool:
        """Whether the agent may read a record, for what only compares with it: nothing is put on record."""
        if row["state"] == QUARANTINED or self.visibility.refusal(row):
            return False
        return self.read_policy is None or not self.read_policy.reason(row)

    def read_for(self, agent: Callable[[], str | None]) -> None:
        """Hold what is read here to the reading policy, if there is one.

        Args:
            agent: who reads; None for an operator, who reads everything.
        """
        if not self.settings.reading:
            return
        from sb.kernel.memory_read_policy import ReadPolicy

        policy = ReadPolicy(self.database, self.settings.reading, self.places, agent, self.clock.now)
        self.read_policy, self.reads.denied = policy, policy.flush

    def leaves_out(self, places: Sequence[int]) -> Condition:
        """The records in these places that no search finds: by who reads, and by the reading policy."""
        policy = self.read_policy
        hidden = self.visibility.left_out(places)
        return hidden if policy is None else any_of(hidden, policy.condition(places))

    def withheld_from(self, agent: str, places: Sequence[int]) -> list[int]:
        """The numbers of the records in these places that an agent may not read by the reading policy, put on record."""
        if not self.settings.reading:
            return []
        from sb.kernel.memory_read_policy import ReadPolicy

        policy = ReadPolicy(self.database, self.settings.reading, self.places, lambda: agent, self.clock.now)
        hidden = policy.hidden(places)
        if policy.has_denied:
            with self.database.write() as execute:
                policy.flush(execute)
        return hidden

    def purpose(self, scope: str) -> str:
        """For what a scope is read; "" where no rule says."""
        return "" if self.read_policy is None else self.read_policy.purpose(scope)

    def session_name(self, number: int | None) -> str | None:
        """Returns the name of a session, which never changes."""
        if number is None:
            return None
        if number not in self._session_names:
            session = self.sessions.numbered(number)
            self._session_names[number] = session.name if session else ""
        return self._session_names[number]
