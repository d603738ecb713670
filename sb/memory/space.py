"""The stores of one database, put together once for every part of memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.config.memory import Memory as Settings
from sb.memory.access import Rights, ScopeRefusal
from sb.memory.decay import DAY, SWEPT_AT, Fading, fading
from sb.memory.lazy import lazy
from sb.memory.personal_data import Screening
from sb.memory.personal_values import masked
from sb.memory.ranking.lexicon import Lexicon
from sb.memory.ranking.rank import Ranked
from sb.memory.ranking.statistics import information
from sb.memory.ranking.terms import STOP_WORDS, stem, words
from sb.memory.reader import Reader, operator
from sb.memory.trust.store import TrustStore
from sb.memory.views import Hit, Memory
from sb.protocols import MaintenanceModeError
from sb.protocols.types import StackState
from sb.store.database import Database
from sb.store.embedding.context import ContextEmbedder
from sb.store.embedding.embedder import Embedder
from sb.store.embedding.selection import NoEmbedder, choose
from sb.store.embedding.static import StaticEmbedder
from sb.store.index.full_text import WordIndex
from sb.store.index.statistics import TextStatistics, counted, keep_counts
from sb.store.index.vectors import VectorIndex, VectorRow
from sb.store.records.claims import ClaimStore
from sb.store.records.collapses import MENTION, CollapseStore
from sb.store.records.columns import ACTIVE, SUPERSEDED, Row
from sb.store.records.descriptors import MEMORIES
from sb.store.records.edges import SUPERSEDES, EdgeStore
from sb.store.records.evidence import EvidenceStore
from sb.store.records.places import GLOBAL, Execute, Places, checked_scope
from sb.store.records.reads import ReadLog
from sb.store.records.rows import from_row
from sb.store.records.sessions import Sessions
from sb.store.records.store import RecordStore

if TYPE_CHECKING:
    from sb.memory.gate.worth import GateVerdict
    from sb.store.embedding.embedder import Vectors

ID_PREFIX = "mem_"
_AGED = "aged"  # marks a row whose strength is that of now
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
        self.collapses = CollapseStore(database)
        self.claims = ClaimStore(database)
        self.places = Places(database)
        self.sessions = Sessions(database)
        self.reads = ReadLog(database)
        self.trust = TrustStore(self.records, self.places, clock)
        self.words = WordIndex(database)
        self.vectors = VectorIndex(database)
        self.settings = settings
        self.rights = Rights(settings.scopes, scope_refusal)
        self.screening = Screening(database, settings, clock.now)
        self.reader = operator(self)  # a Brain and a stack put theirs in its place
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
        embedder = self.usable_embedder if records else None
        if embedder is None or not embedder.in_process:
            return
        contextual = self._embedding(embedder)
        for start in range(0, len(records), _AT_ONCE):
            sources = self.vectors.sources(records[start : start + _AT_ONCE])
            vectors = contextual.embed([(source.text, source.previous) for source in sources])
            self.vectors.put_many(
                execute,
                [
                    VectorRow(source.record, source.place, embedder.model, source.digest, vector)
                    for source, vector in zip(sources, vectors, strict=True)
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
        found = [checked_scope(scope)]
        for outer in found:  # grows while it is walked
            found += [inner for inner in self.settings.scopes.answer("includes", outer) if inner not in found]
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
        reads = self.recalls([row["id"] for row in rows])
        return [from_row(row, self.places.numbered(row["place"]), reads.get(row["id"])) for row in rows]

    def recalls(self, numbers: Sequence[int]) -> dict[int, tuple[int, float]]:
        """The recalls of any number of records: how many of each, and when the last one was."""
        reads: dict[int, tuple[int, float]] = {}
        for start in range(0, len(numbers), _AT_ONCE):
            reads |= self.reads.stats(numbers[start : start + _AT_ONCE])
        return reads

    def fading(self, row: Row) -> Fading:
        """The course of a memory, by how often it was recalled."""
        reads = self.reads.stats([row["id"]]).get(row["id"])
        return fading(row, reads, self.clock.now(), self._swept_at(row["place"]))

    def aged(self, rows: Iterable[Row], reads: Mapping[int, tuple[int, float]]) -> dict[int, Row]:
        """Rows by number, each with the strength that is left of it by now, and its `importance` if it has any.

        Args:
            reads: by record, how often it was recalled, and when last.
        """
        now, swept, found = self.clock.now(), dict[int, float](), dict[int, Row]()
        important = self.reads.kept_importance(list(reads))
        for row in rows:
            number, place = row["id"], row["place"]
            found[number] = {**row, "importance": important[number]} if number in important else row
            if now - max(row["created_at"], row["updated_at"]) >= DAY:  # else nothing to speak of
                if place not in swept:
                    swept[place] = self._swept_at(place)
                left = fading(row, reads.get(number), now, swept[place]).strength
                found[number] = {**found[number], "strength": left, _AGED: True}
        return found

    def marked_for_review(self, places: Sequence[int]) -> list[tuple[Row, Fading]]:
        """The memories of some places that are marked for review, those that faded first before the others."""
        marks = ", ".join("?" * len(places)) or "NULL"
        where = (
            f"r.id > ? AND r.place IN ({marks}) AND r.state = '{ACTIVE}' AND r.protected = 0 AND {MEMORIES}"
        )
        now, after, found = self.clock.now(), 0, list[tuple[Row, Fading]]()
        swept = {place: self._swept_at(place) for place in places}
        while rows := list(self.records.select(where, (after, *places), limit=_AT_ONCE)):
            after = rows[-1]["id"]
            reads = self.reads.stats([row["id"] for row in rows])
            courses = [(row, fading(row, reads.get(row["id"]), now, swept[row["place"]])) for row in rows]
            found += [(row, course) for row, course in courses if course.is_marked(now)]
        return sorted(found, key=lambda pair: pair[1].fades_at)

    def _swept_at(self, place: int) -> float:
        """The time up to which the stored strengths of a place's stack have faded."""
        sql = f"SELECT json_extract(settings, '$.{SWEPT_AT}') FROM stacks WHERE name = ?"
        found = self.database.query(sql, (self.places.numbered(place).stack,))
        return float(found[0][0] or 0) if found else 0.0

    def memory(self, row: Row) -> Memory:
        """One row as agents and people see it."""
        return Memory(**self._shown(row))

    def hit(self, row: Row, ranked: Ranked, restated: tuple[str, ...] = ()) -> Hit:
        """One row that a search found, perhaps by a restatement."""
        shown = self._shown(row)
        return Hit(**shown, restated=restated, score=ranked.score, explanation=ranked.features)

    def restatements(self, row: Row, most: int | None = None) -> tuple[Memory, ...]:
        """The restatements of a memory that may be read, oldest first."""
        rows = self.records.rows(self.evidence.texts([row["id"]]))
        return tuple(self.memory(item) for item in rows if self.reader.allows(item))[:most]

    def whole_memory(self, row: Row, most: int | None = None) -> Memory:
        """One row with the texts of its restatements."""
        texts = tuple(item.content for item in self.restatements(row, most))
        course = self.fading(row) if row["state"] == ACTIVE else None
        return replace(self.with_course(row, course), restated=texts)

    def with_course(self, row: Row, course: Fading | None) -> Memory:
        """One row that says when it fades."""
        shown = self.memory(row)
        return replace(shown, review_at=course.review_at, fades_at=course.fades_at) if course else shown

    def _shown(self, row: Row) -> dict[str, Any]:
        place = self.places.numbered(row["place"])
        refusal = self.reader.refusal(row)
        recent = _AGED in row or self.clock.now() - max(row["created_at"], row["updated_at"]) < DAY
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
            "strength": row["strength"] if recent else self.fading(row).strength,
            "happened_at": row["happened_at"],
            "created_at": row["created_at"],
            "session": self.session_name(row["session"]),
            "speaker": None if refusal else row["speaker"],
            "tags": tuple(orjson.loads(row["tags"]) if row["tags"] and not refusal else ()),
            "details": {} if refusal else orjson.loads(row["fields"]),
        }
        if row["state"] == SUPERSEDED:
            shown["superseded_by"] = self.superseded_by(row)
        elif known := self.collapses.in_force(row["id"]):
            shown["corrected_by"] = known[1] if known[0] == MENTION else ""
        if row["state"] == ACTIVE:
            shown["conflict"] = self.claims.contested(row["id"])
        if self.reader.masks:
            names = ("content", "speaker", "tags", "details")
            shown |= zip(names, masked([shown[name] for name in names]), strict=True)
        return shown

    def superseded_by(self, row: Row) -> str:
        """The id of what replaced a superseded record, here or in the database that it came from; "" if nothing did."""
        if row["state"] != SUPERSEDED:
            return ""
        known = self.collapses.in_force(row["id"])
        if known and known[0] != MENTION:
            return known[1]
        edges = (edge for edge in self.edges.lineage(row["id"]) if edge.target == row["id"])
        ends = [edge.source for edge in edges if edge.relation == SUPERSEDES]
        return next((end["uid"] for end in self.records.rows(ends, ("uid",))), "")

    def shown_verdict(self, verdict: GateVerdict) -> GateVerdict:
        """The gate's answer as the agent may read it: the memories that it compares with may hold personal data."""
        if not self.reader.masks:
            return verdict
        others = tuple(replace(other, content=masked(other.content)) for other in verdict.others)
        return replace(verdict, content=masked(verdict.content), others=others)

    def seen_by(self, agent: str, stack: str) -> Space:
        """The same memory as an agent reads a stack of it; as it is for "", an operator."""
        if not agent:
            return self
        seen = copy(self)
        seen.reads = copy(self.reads)  # denials of this reading are recorded by its own policy
        seen.reader = Reader(seen, (agent,), stack=stack)
        return seen

    def session_name(self, number: int | None) -> str | None:
        """Returns the name of a session, which never changes."""
        if number is None:
            return None
        if number not in self._session_names:
            session = self.sessions.numbered(number)
            self._session_names[number] = session.name if session else ""
        return self._session_names[number]
