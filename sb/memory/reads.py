"""Read memories: search, associate, look up, and follow relations and provenance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sb.base.text import checked_name, storable
from sb.memory.access import READ
from sb.memory.beliefs.conflicts import newer_first
from sb.memory.lazy import lazy
from sb.memory.prospective import Prospective
from sb.memory.search import Filters, Predicate, Without
from sb.memory.trust.floor import below
from sb.memory.views import Hit, Memory
from sb.store.records.columns import STATES

if TYPE_CHECKING:  # a process that asks one question has no need of them
    from sb.memory.activation import Activated
    from sb.memory.knowledge import Knowledge
    from sb.memory.neighbourhood import Neighbour
    from sb.memory.provenance import Change, Origin
    from sb.memory.signals.moves import Moves
    from sb.memory.signals.signals import Signals

MOST_CONTEXT = 10
MOST_RESTATED = 20  # texts of one memory that are shown


class Reads(Prospective):
    """The reading operations of a Brain."""

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
        context: int = 0,
        planning: bool = False,
        min_trust: float = 0.0,
        history: bool = False,
        **filters: Any,
    ) -> list[Hit]:
        """Search memories, the best match first; before them the triggers that the query fires.

        Args:
            k: the most that are returned.
            project, scope: where to search, by default in the session's scope; with what that includes.
            explain: say for each hit what each stage gave.
            fusion: order by reciprocal rank fusion (k = 60), as the paper does; it finds less.
            benchmark: leave out what depends on the past: how recent and how much used a memory is.
            context: memories on each side of a hit in its session that come with it, at most `MOST_CONTEXT`. They do not
                count as read.
            planning: leave out what is less sure than `memory.planning_floor`.
            min_trust: leave out what is trusted less, from 0 to 1, and what was derived from it.
            history: also up to k that were superseded, last, each with `superseded_by`; found by their words.
            filters: fields of `sb.memory.search.Filters`, such as `kinds=["decision"]`.

        Raises:
            ValueError: a value that cannot be; TypeError: there is no such filter. DeniedError: this agent may not read
                that scope.
        """
        if k < 1:
            raise ValueError("k must be at least 1")
        if not 0 <= context <= MOST_CONTEXT:
            raise ValueError(f"context must be between 0 and {MOST_CONTEXT}")
        query = storable(query)
        named = self.writer.named(project, scope)
        self.writer.check_right(READ, named)
        places = self.writer.places(named)
        wanted = self._floors(Filters(**filters), planning, min_trust)
        found = self.searcher.find(query, places, filters=wanted, fusion=fusion, explain=explain)
        hits = self.searcher.best(found, k, salience=not benchmark, explain=explain)
        fired = [] if benchmark else self.fired_by(query, named)
        known = {hit.id for hit in fired}
        hits = [pair for pair in hits if pair[1].id not in known][: max(0, k - len(fired))]
        moves = None if benchmark else self._moves(places)
        hits = moves.applied(hits) if moves else hits  # which writes what they changed
        past = self.searcher.superseded(query, places, wanted, k) if history else []
        numbers = {
            row["uid"]: row["id"] for row in self.space.records.known([hit.id for hit in past]).values()
        }
        self.writer.broadcast(
            "search",
            query,
            [(ranked.id, ranked.score) for ranked, _ in hits]
            + [(number, 0.0) for number in numbers.values()],
            [*(hit for _, hit in hits), *past],
            scope=named,
        )
        best = [*fired, *newer_first([hit for _, hit in hits])]
        best = self.searcher.with_neighbours(best, places, context) if context else best
        return [*best, *past]

    def _moves(self, places: Sequence[int]) -> Moves | None:
        """The signals that move the hits of a search; None for operators, whose searches are not logged."""
        on = self.space.settings.signals
        if not any(on.values()) or self.writer.record_writer.is_operator:
            return None
        from sb.memory.signals.moves import MOVING, Moves

        return Moves(self.space, self.agent_id, places, [name for name in MOVING if on.get(name)])

    @lazy
    def signals(self) -> Signals:
        """The signals of `memory.signals`, as far as this agent may read what they are about."""
        from sb.memory.signals.signals import Signals

        return Signals(self)

    def _floors(self, filters: Predicate, planning: bool, min_trust: float) -> Predicate:
        """The filters, without what is less sure or less trusted than asked for."""
        if not 0 <= min_trust <= 1:
            raise ValueError("min_trust must be between 0 and 1")
        condition, parameters = below(self.space.trust, self.stack, min_trust)
        if condition:
            filters = Without(filters, condition, parameters)
        if planning:  # NULL is neither below nor above it
            filters = Without(filters, "coalesce(r.confidence < ?, 0)", (self.config.memory.planning_floor,))
        return filters

    def think(self, query: str, *, hops: int = 2, decay: float = 0.6, k: int = 20) -> list[Activated]:
        """Recall by spreading activation: hits of a query and what they are related to, the most active first.

        Args:
            hops: how many relations away from a hit. decay: what is left of activation after each, at most 1.
            k: the most that are returned.

        Raises:
            ValueError: a value that cannot be.
        """
        from sb.memory.activation import think

        self.writer.check_right(READ)
        query = storable(query)
        found = think(self.space, self.searcher, query, self.writer.places(), hops, decay, k)
        hits = [(number, activated.activation) for number, activated in found]
        self.writer.broadcast("think", query, hits, [activated for _, activated in found])
        return [activated for _, activated in found]

    def get(self, record: str) -> Memory:
        """One memory by its id, or an entity by its name.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        row = self._visible_row(record, states=None)
        found = self.space.whole_memory(row, MOST_RESTATED)
        self.writer.note_read("get", [found])
        return found

    def knows(
        self, agent: str, question: str, k: int = 10, *, project: str | None = None, scope: str | None = None
    ) -> list[Knowledge]:
        """List the memories that answer a question, each with what an agent knows of it; last what it knows that fell since.

        It goes by what that agent wrote and was told, as far as the asking one may read it. Nothing counts as read.

        Args:
            k: the most memories that hold, and as many again that fell.
            project, scope: where to look, by default in the session's scope; with what that includes.

        Raises:
            ValueError: a value that cannot be. DeniedError: this agent may not read that scope.
        """
        from sb.memory.knowledge import agent_knowledge

        checked_name("agent", agent)
        if k < 1:
            raise ValueError("k must be at least 1")
        named = self.writer.named(project, scope)
        self.writer.check_right(READ, named)
        places = self.writer.places(named)
        found = agent_knowledge(self.space, self.searcher, agent, storable(question), places, k)
        self.space.reader.note_denied()
        return found

    def fading(self, limit: int = -1) -> list[Memory]:
        """List the memories in view that are marked for review, since nobody recalled them for long; it recalls none.

        Args:
            limit: the most that are listed; -1 for all.
        """
        self.writer.check_right(READ)
        found = self.space.marked_for_review(self.writer.places())
        allowed = [pair for pair in found if self.space.reader.allows(pair[0])]
        return [self.space.with_course(*pair) for pair in allowed[: limit if limit >= 0 else None]]

    def look_up(self, record: str) -> Memory:
        """As `get`, for who acts on a memory instead of reading it: it does not count as read.

        Of a quarantined memory what it says is withheld.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        return self.space.memory(self._visible_row(record, states=STATES))

    def graph(self, record: str, depth: int = 1) -> Neighbour:
        """Return the neighbourhood of a memory as a tree, as far as this agent sees it.

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
        """Return the provenance of a memory: its sources, and theirs in turn.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        from sb.memory.provenance import why

        found = why(self.space, self._visible_row(record, states=None), self.writer.places())
        self.writer.note_read("why", found.memories())
        return found

    def history(self, record: str) -> list[Change]:
        """List the changes of a memory, oldest first.

        Raises:
            NotFoundError: there is none that this agent sees.
        """
        from sb.memory.provenance import history

        row = self._visible_row(record, states=None)
        self.writer.note_read("history", [self.space.memory(row)])
        return history(self.space, row)
