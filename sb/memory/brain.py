"""Brain: one agent's view of the memory in one database.

Source: the memory whitepaper, "the Brain interface" and "retrieval in the session lifecycle".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sb.config import Config, current_config
from sb.errors import NotFoundError
from sb.memory.fading import FORGET, recovered
from sb.memory.searching import Filters, Searcher
from sb.memory.space import ID_PREFIX, Space
from sb.memory.views import Hit, Memory
from sb.memory.writing import Writer
from sb.redaction import one_line
from sb.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.store.database import Database, open_database
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.places import Place
from sb.store.records.store import ACTIVE, FORGOTTEN, Row
from sb.text import checked_name, storable
from sb.types import Decision, EntityRecord, Event, Fact, Handoff

if TYPE_CHECKING:  # a process that asks one question, or keeps one fact, has no need of them
    from sb.memory.activation import Activated
    from sb.memory.handoffs import HandoffPacket, Handoffs
    from sb.memory.neighbourhood import Neighbour
    from sb.memory.orienting import ContextPackage
    from sb.memory.provenance import Change, Origin

DEFAULT_STACK = "default"
_TIDIED_AT_ONCE = 500  # records, which takes about a tenth of a second; the next one to close goes on
DEFAULT_TOKENS = 2_000  # that a context package may take


class Brain:
    """One agent's memory; use it as a context manager, or close it.

    Args:
        agent_id: who writes, and who reads what is private.
        database: an open database, which stays open; otherwise the configured one is opened, and made if need be.
        path: another file than the configured one.
        stack: the memory container; the configured agents share `default`.
        scope: where the session starts, before `orient` names a project; by default where the session of that name
            is, or `global`.
        session: a name for the session, such as a coding agent's own id; by default one is made up.

    Raises:
        ConfigError, StoreError: the configuration or the database cannot be used. ValueError: a name says nothing, or is too long.
    """

    _writes: type[Writer] = Writer

    def __init__(
        self,
        agent_id: str,
        *,
        database: Database | None = None,
        path: str | Path | None = None,
        config: Config | None = None,
        stack: str = DEFAULT_STACK,
        scope: str | None = None,
        session: str | None = None,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> None:
        checked_name("agent_id", agent_id)
        checked_name("stack", stack)
        self.config = config if config is not None else current_config()
        self._owned = database is None
        self.database = database or open_database(path or self.config.database, clock=clock, ids=ids)
        self.agent_id = agent_id
        self.stack = stack
        self.space = Space(self.database, self.config.memory, clock=clock, ids=ids)
        self.writer = self._writes(self.space, agent_id, stack, scope=scope, session=session)
        self.searcher = Searcher(self.space)
        self.space.refusal = self._refusal
        self.space.leaves_out = self._leaves_out
        self._named = session  # by whoever made this Brain, until that session ends

    @cached_property
    def handoffs(self) -> Handoffs:
        """The packets that this agent sends and receives."""
        from sb.memory.handoffs import Handoffs

        return Handoffs(self.writer, self.config.home)

    @property
    def scope(self) -> str:
        """The session's scope: what is written without one goes there, and it is read with what it includes."""
        return self.writer.scope

    @property
    def words_alone(self) -> str:
        """Why memories are found by their words alone, or were by the last question, in one line; else ""."""
        return self.searcher.words_alone

    @property
    def masked(self) -> tuple[str, ...]:
        """What was masked of the last write, or of the last question: the labels of the secrets in it."""
        return tuple(self.writer.masked)

    def remember(
        self,
        content: str,
        category: str = "project",
        *,
        project: str | None = None,
        scope: str | None = None,
        private: bool = False,
        **more: Any,
    ) -> str:
        """Keep a fact; returns its id.

        Args:
            category: convention, decision, environment, identity, integration, lesson, preference, project or user.
            project, scope: where it belongs, by default the session's scope; `project="x"` is `scope="project:x"`.
            private: only this agent may read it.
            more: further fields of `sb.types.Fact`, such as `confidence`, `source_type`, `derived_from`, `tags`,
                `speaker`, `happened_at`.

        Raises:
            ValueError: a field has a value that it cannot have.
        """
        fact = Fact(content=content, category=category, **more)
        return self.writer.keep(fact, self._place(project, scope, private))

    def decide(
        self,
        title: str,
        rationale: str,
        *,
        project: str | None = None,
        scope: str | None = None,
        private: bool = False,
        **more: Any,
    ) -> str:
        """Keep a decision and why it was taken, neither of which can be changed; returns its id.

        Args:
            more: further fields of `sb.types.Decision`; the others are those of `remember`.

        Raises:
            ValueError: a field has a value that it cannot have.
        """
        decision = Decision(title=title, rationale=rationale, **more)
        return self.writer.keep(decision, self._place(project, scope, private))

    def log(
        self,
        summary: str,
        event_type: str = "observation",
        *,
        project: str | None = None,
        scope: str | None = None,
        private: bool = False,
        **more: Any,
    ) -> str:
        """Keep an event, which cannot be changed; returns its id.

        Args:
            event_type: artifact, decision, error, handoff, result, session_start, session_end, task_update, warning or
                observation.
            more: further fields of `sb.types.Event`; the others are those of `remember`.

        Raises:
            ValueError: a field has a value that it cannot have.
        """
        event = Event(summary=summary, event_type=event_type, **more)
        return self.writer.keep(event, self._place(project, scope, private))

    def entity(
        self,
        name: str,
        entity_type: str,
        *,
        observations: Sequence[str] = (),
        project: str | None = None,
        scope: str | None = None,
        private: bool = False,
        **more: Any,
    ) -> str:
        """Keep an entity, or add to the one of that name what was observed since; returns its id.

        Args:
            entity_type: agent, concept, document, event, location, organization, person, project, service or tool.
            more: further fields of `sb.types.EntityRecord`; the others are those of `remember`.

        Raises:
            ValueError: a field has a value that it cannot have.
        """
        entity = EntityRecord(name=name, entity_type=entity_type, observations=list(observations), **more)
        return self.writer.keep(entity, self._place(project, scope, private))

    def relate(self, source: str, relation: str, target: str, *, weight: float = 1.0) -> None:
        """Relate two records that this agent sees, each by its id or as an entity by its name.

        Args:
            relation: a word for what the first is to the second, such as `depends_on`.
            weight: how strong, above 0; `think` follows strong relations further.

        Raises:
            NotFoundError: there is no such record. ValueError: the relation or its weight cannot be used.
        """
        self.writer.relate(self._visible_row(source), relation, self._visible_row(target), weight)

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        project: str | None = None,
        scope: str | None = None,
        explain: bool = False,
        fusion: bool = False,
        benchmark: bool = False,
        **filters: Any,
    ) -> list[Hit]:
        """The memories that answer a question best, the best first.

        Args:
            k: the most that are returned.
            project, scope: where to search, by default in the session's scope; with what that includes.
            explain: say for each hit what each stage gave.
            fusion: order by reciprocal rank fusion (k = 60), as the paper does; it finds less.
            benchmark: leave out what depends on the past: how recent and how much used a memory is.
            filters: fields of `sb.memory.searching.Filters`, such as `kinds=["decision"]`.

        Raises:
            ValueError: a value that cannot be; TypeError: there is no such filter.
        """
        if k < 1:
            raise ValueError("k must be at least 1")
        query = storable(query)
        places = self.writer.places(self.writer.named(project, scope))
        found = self.searcher.find(query, places, filters=Filters(**filters), fusion=fusion, explain=explain)
        hits = self.searcher.best(found, k, salience=not benchmark, explain=explain)
        self.writer.broadcast(
            "search", query, [(one.id, one.score) for one, _ in hits], [hit for _, hit in hits]
        )
        return [hit for _, hit in hits]

    def think(self, query: str, *, hops: int = 2, decay: float = 0.6, k: int = 20) -> list[Activated]:
        """What answers a question and what that is related to, the most active first.

        Args:
            hops: how many relations away from a hit. decay: what is left of activation after each, at most 1.
            k: the most that are returned.

        Raises:
            ValueError: a value that cannot be.
        """
        from sb.memory.activation import think

        query = storable(query)
        found = think(self.space, self.searcher, query, self.writer.places(), hops, decay, k)
        hits = [(number, one.activation) for number, one in found]
        self.writer.broadcast("think", query, hits, [one for _, one in found])
        return [one for _, one in found]

    def orient(
        self,
        project: str | None = None,
        *,
        scope: str | None = None,
        query: str | None = None,
        token_budget: int = DEFAULT_TOKENS,
        session: str | None = None,
        repeat: bool = False,
    ) -> ContextPackage:
        """Start a session, and get what the agent should know from the start.

        Args:
            project, scope: the session's scope from now on, by default the one that there is.
            query: what the session is about; what answers it comes first.
            token_budget: tokens that the package may take as text, at least 100.
            session: the name of a session to go on in, such as a coding agent's own id; by default a new one begins.
            repeat: show also what that session has seen before, since it was lost from its context.

        Raises:
            ValueError: a value that cannot be, or a session of another agent.
        """
        from sb.memory.orienting import Orienting

        self.writer.begin(self.writer.chosen(project, scope), session or self._named)
        return Orienting(self.writer, self.searcher, self.handoffs).package(
            None if query is None else storable(query), token_budget, repeat=repeat
        )

    def handoff(
        self,
        goal: str,
        current_state: str,
        open_loops: str | Sequence[str],
        next_step: str,
        *,
        recipient: str = "",
        project: str | None = None,
        scope: str | None = None,
    ) -> HandoffPacket:
        """Leave a signed packet for another agent, or for whoever comes next; the session goes on.

        Args:
            recipient: the agent it is for; "" for anyone.

        Raises:
            ValueError: the goal is empty. ConfigError: the home's secret cannot be used.
        """
        from sb.memory.handoffs import loops

        said = Handoff(goal, current_state, loops(open_loops), next_step, recipient)
        return self.handoffs.send(said, self.writer.chosen(project, scope))

    def resume(self, project: str | None = None, *, scope: str | None = None) -> HandoffPacket | None:
        """Take over the newest packet that is waiting for this agent, or for anyone; None if none is.

        Look at `verified` first: of a packet that cannot be verified the content is left out, and it goes on waiting.
        """
        return self.handoffs.resume(self.writer.chosen(project, scope))

    def wrap_up(
        self,
        summary: str,
        *,
        project: str | None = None,
        scope: str | None = None,
        goal: str | None = None,
        open_loops: str | Sequence[str] | None = None,
        next_step: str | None = None,
        recipient: str = "",
    ) -> HandoffPacket:
        """End the session with a signed packet for the next one.

        Args:
            summary: where things stand.
            goal, open_loops, next_step: derived from what the session wrote where they are not given; docs/guides/memory.md
                says how.
            recipient: the agent it is for; "" for anyone.

        Raises:
            ValueError: the summary is empty. ConfigError: the home's secret cannot be used.
        """
        from sb.memory.wrapping import wrap_up

        given = {"goal": goal, "open_loops": open_loops, "next_step": next_step}
        made = wrap_up(
            self.writer, self.handoffs, summary, self.writer.chosen(project, scope), given, recipient
        )
        self._named = None
        return made

    def get(self, record: str) -> Memory:
        """One memory by its id, or an entity by its name.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        found = self.look_up(record)
        self.writer.note_read("get", [found])
        return found

    def look_up(self, record: str) -> Memory:
        """As `get`, for who acts on a memory instead of reading it: it does not count as read.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        return self.space.memory(self._visible_row(record, states=None))

    def graph(self, record: str, depth: int = 1) -> Neighbour:
        """What a memory is related to, as far as this agent sees it, as a tree.

        Args:
            depth: in how many steps, from 1 to `sb.memory.neighbourhood.DEEPEST`.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        from sb.memory.neighbourhood import neighbourhood

        found = neighbourhood(self.space, self._visible_row(record), self.writer.places(), depth=depth)
        self.writer.note_read("graph", found.memories())
        return found

    def why(self, record: str) -> Origin:
        """What a memory was made from, and what that was made from in turn.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        from sb.memory.provenance import why

        found = why(self.space, self._visible_row(record, states=None), self.writer.places())
        self.writer.note_read("why", found.memories())
        return found

    def history(self, record: str) -> list[Change]:
        """What was done with a memory since it was kept, oldest first.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        from sb.memory.provenance import history

        row = self._visible_row(record, states=None)
        self.writer.note_read("history", [self.space.memory(row)])
        return history(self.space, row)

    def forget(self, record: str, reason: str = "") -> None:
        """Take a memory out of every search until it is recovered.

        Raises:
            NotFoundError: there is none that this agent sees. ValueError: it is protected.
        """
        row = self._visible_row(record)
        if row["protected"]:
            raise ValueError(f"{row['uid']} is protected: lift that first")
        self.writer.change(row, FORGET, "forget", reason)

    def recover(self, record: str, reason: str = "") -> None:
        """Take back that a memory was forgotten; it is as strong as it was.

        Raises:
            NotFoundError: this agent has forgotten no such memory.
        """
        row = self._visible_row(record, states=(FORGOTTEN,))
        self.writer.change(row, recovered(self.space.records.history(row["id"])), "recover", reason)

    def protect(self, record: str, protected: bool = True, reason: str = "") -> None:
        """Keep a memory from being forgotten, or no longer.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        self.writer.change(self._visible_row(record), {"protected": int(protected)}, "protect", reason)

    def _refusal(self, handoff: Row) -> str:
        """Why this agent is not shown what a handoff says, on whatever way it came to it."""
        return self.handoffs.refusal(handoff)

    def _leaves_out(self, places: Sequence[int]) -> tuple[str, tuple[Any, ...]]:
        """What no search of this agent finds, in SQL over `r`."""
        return self.handoffs.between_others(places)

    def _place(self, project: str | None, scope: str | None, private: bool) -> Place:
        return Place(self.stack, self.writer.chosen(project, scope), self.agent_id if private else "")

    def _visible_row(self, record: str, states: Iterable[str] | None = (ACTIVE,)) -> Row:
        """The row of a record that this agent sees: by its id, or the entity of that name."""
        places = self.writer.places()
        row = self.space.records.find(record)
        own = row is not None and record.startswith(ID_PREFIX)  # others may be an entity's name
        rows = [*([] if own else self._entities(record, places)), *([row] if row else [])]
        seen = [one for one in rows if one["place"] in places]
        for one in seen:
            if states is None or one["state"] in states:
                return one
        if seen:
            raise NotFoundError(f"memory {seen[0]['uid']} is {seen[0]['state']}")
        problem = f"no memory {one_line(record, 80)!r}, or not visible to you"
        raise NotFoundError(problem, "sb memory search finds ids")

    def _entities(self, name: str, places: Sequence[int]) -> list[Row]:
        """The entities of a name, the one of the nearest scope first."""
        folded = DESCRIPTORS["entity"].normal(name)
        keys = dict.fromkeys((("entity", folded), ("relationship", name), ("relationship", folded)))
        found = (self.space.records.keyed(place, *key) for place in places for key in keys)
        return [row for row in found if row is not None]

    def close(self) -> None:
        """Close the database, if this Brain opened it, after a little housekeeping if that is due.

        Raises:
            StoreError: housekeeping could not write; the database is closed nevertheless.
        """
        from sb.memory.housekeeping import is_due, tidy

        try:
            if is_due(self.space):
                tidy(self.space, most=_TIDIED_AT_ONCE)
        finally:
            self._close()

    def _close(self) -> None:
        if self._owned:
            self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close() if error is None else self._close()
