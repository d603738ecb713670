"""Build the context package for the start of a session, from a few bounded reads.

Source: the memory whitepaper, "orient retrieval", "salience routing" and "theory of mind"; docs/guides/memory.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from sb.base.values.frozen import frozen
from sb.memory.entities import ONE
from sb.memory.handoffs import PENDING, HandoffPacket, Handoffs, Newest
from sb.memory.lazy import lazy
from sb.memory.open_conflicts import OpenConflict, open_conflicts
from sb.memory.salience import WEIGHTS, configured, salience, within
from sb.memory.search import Searcher
from sb.memory.session_writer import SessionWriter
from sb.memory.space import Space
from sb.memory.trust.floor import numbers_where
from sb.memory.views import Memory, View, tokens_of
from sb.protocols.types.vocabulary import CONTINUE
from sb.store.armed_triggers import any_armed
from sb.store.records.columns import Row
from sb.store.records.reads import ORIENT

if TYPE_CHECKING:  # most homes have no triggers
    from sb.memory.triggers.armed import Fitting
    from sb.memory.triggers.triggers import FiredTrigger, Triggers

LEAST_TOKENS = 100
MEMORIES = ("fact", "lesson")
KINDS = (*MEMORIES, "decision", *ONE)
_TOKENS_EACH = 80  # of the budget: one record of each place and kind is looked at for so many
_TOKENS_SHOWN = 40  # and one of each section is made ready to be shown for so many
_ENTITIES = 12
_NEIGHBOURS = 5  # of one entity
_FOUND = 20  # hits of a query
_NAMED = 5  # notes of one sort, and open conflicts

Section = str
Entry = tuple[Section, Any, str]  # where it stands, what it is, and the line that shows it


@frozen
class Neighbour(View):
    """A relation of an entity to another record.

    Args:
        outgoing: whether the entity is the relation's source.
    """

    relation: str
    outgoing: bool
    id: str
    kind: str
    title: str
    weight: float


@frozen
class Surrounded(Memory):
    """A memory with those that it is related to most strongly."""

    neighbours: tuple[Neighbour, ...] = ()


@frozen
class ContextPackage(View):
    """The context that an agent gets when its session starts.

    Args:
        agent: whose session it is; lines of `as_text()` name whose words they are where these are not its own.
        triggers: reminders that the session's scope or query fires.
        conflicts: open ones about what may be read here; they are told each time, until somebody resolves them.
        handoff: the newest packet for it, if there is one; read `verified` before its content.
        memories: facts and lessons, and whatever else answers the query. entities: with what they are related to.
        notes: what the agent should know of the package itself.
        tokens: an estimate for `as_text()`.
    """

    scope: str
    session: str
    triggers: tuple[FiredTrigger, ...] = ()
    conflicts: tuple[OpenConflict, ...] = ()
    handoff: HandoffPacket | None = None
    decisions: tuple[Memory, ...] = ()
    memories: tuple[Memory, ...] = ()
    entities: tuple[Surrounded, ...] = ()
    notes: tuple[str, ...] = ()
    tokens: int = field(default=0, compare=False)
    agent: str = ""

    @property
    def empty(self) -> bool:
        """True if there is nothing to say."""
        return not any(self[name] for name in ("handoff", *_TITLES))

    def as_text(self) -> str:
        """The package as Markdown for the agent's prompt."""
        if self.empty:
            return f"Nothing is remembered of {self.scope} yet.\n"
        lines = [_heading(self.scope)]
        sections: Sequence[tuple[Section, Sequence[str]]] = (
            ("triggers", [_trigger_line(trigger) for trigger in self.triggers]),
            ("conflicts", [_conflict_line(conflict) for conflict in self.conflicts]),
            ("notes", [_note_line(note) for note in self.notes]),
            ("handoff", _handoff_lines(self.handoff)),
            ("decisions", [_line(decision, self.agent) for decision in self.decisions]),
            ("memories", [_line(memory, self.agent) for memory in self.memories]),
            ("entities", [_line(entity, self.agent) for entity in self.entities]),
        )
        for name, shown in sections:
            if shown:
                lines += [_TITLES[name], *shown]
        return "\n".join(lines) + "\n"


_TITLES = {
    "triggers": "## Triggers",
    "conflicts": "## Open conflicts",
    "notes": "## Notes",
    "handoff": "## Handoff",
    "decisions": "## Decisions",
    "memories": "## Memories",
    "entities": "## Entities",
}
_MORE = "more is remembered than fits here: search for it"


class Orienting:
    """Puts packages together for one agent."""

    def __init__(self, writer: SessionWriter, searcher: Searcher, handoffs: Handoffs) -> None:
        self._writer = writer
        self._space: Space = writer.space
        self._searcher = searcher
        self._handoffs = handoffs

    def package(self, query: str | None, budget: int, *, repeat: bool) -> ContextPackage:
        """The package of the writer's session; what is in it counts as shown.

        Args:
            budget: tokens that `as_text` may take. repeat: show also what the session has seen before.
        """
        if budget < LEAST_TOKENS:
            raise ValueError(f"token_budget must be at least {LEAST_TOKENS}")
        scope = self._writer.scope
        seen = set() if repeat else self._seen()
        newest = self._handoffs.newest(scope)
        if newest.row is not None and newest.row["id"] in seen:
            newest = Newest(None, None, newest.others)
        handoff = newest.packet if newest.packet and newest.packet.verified else None
        if handoff is not None:
            handoff = self._handoffs.for_reader(handoff)
            newest = newest._replace(packet=handoff)
        ranked = self._ranked(query, max(8, budget // _TOKENS_EACH))
        new = [pair for pair in ranked if pair[0]["id"] not in seen]
        notes = _of_handoffs(newest)
        if len(new) < len(ranked):
            notes.append(f"{len(ranked) - len(new)} that this session has seen already are not repeated")
        triggers = self._triggers(query)
        conflicts = open_conflicts(self._space, self._writer.places(), _NAMED)
        entries: list[Entry] = [("triggers", fitting, _trigger_line(view)) for fitting, view in triggers]
        entries += [("conflicts", conflict, _conflict_line(conflict[1])) for conflict in conflicts]
        entries += self._entries(handoff, notes, new, budget // _TOKENS_SHOWN)
        rare: Mapping[Section, Sequence[Any]] = {"triggers": triggers, "conflicts": conflicts}
        titles = (title for name, title in _TITLES.items() if rare.get(name, True))
        frame = [_heading(scope), *titles, _note_line(_MORE)]
        room = budget - tokens_of(sum(len(line) + 1 for line in frame)) - 1
        selection = within(room, ((entry, entry[2]) for entry in entries))
        handed = 1 + len(handoff.new) + len(handoff.outdated) if handoff else 0
        if len(selection) < len(triggers) + len(conflicts) + len(notes) + handed + len(new):
            selection.append(("notes", _MORE, _note_line(_MORE)))
        return self._shown(query, newest, new, selection)

    def _triggers(self, query: str | None) -> list[tuple[Fitting, FiredTrigger]]:
        """The triggers that the scope's name or the query fits, and how they are shown."""
        if not any_armed(self._space.database):
            return []
        from sb.memory.triggers.precondition import Situation

        topic = " ".join(filter(None, (query, self._writer.scope.partition(":")[2])))
        found = self._reminders.matching(Situation(topic, topic), meaning=query is not None)
        return list(zip(found, self._reminders.views(found), strict=True))

    @lazy
    def _reminders(self) -> Triggers:
        from sb.memory.triggers.triggers import Triggers

        return Triggers(self._writer)

    def _seen(self) -> set[int]:
        """Returns the unchanged records that this session wrote or was shown, which are left out."""
        return {known.record for known in self._handoffs.known() if known.unchanged}

    def _ranked(self, query: str | None, each: int) -> list[tuple[Row, float]]:
        """The records that could be shown with their salience, the most salient first."""
        space, places = self._space, self._writer.places()
        relevant: Mapping[int, float] = {}
        if query is not None:
            found = self._searcher.find(query, places)[:_FOUND]
            best = found[0].score if found and found[0].score > 0 else 1.0
            relevant = {ranked.id: max(0.0, ranked.score / best) for ranked in found}
        rows = {row["id"]: row for row in space.records.prominent(places, KINDS, each)}
        missing = [number for number in relevant if number not in rows]
        rows |= {row["id"]: row for row in space.records.rows(missing) if row["kind"] != "handoff"}
        for number in numbers_where(space.database, rows, space.reader.left_out(places)):
            del rows[number]
        reads, now = space.reads.stats(list(rows)), space.clock.now()
        aged = space.aged(rows.values(), reads)
        trust, weights = space.trust.in_rows(rows.values()), configured(WEIGHTS, space.settings.salience)
        scored = []
        for number in rows:
            its = salience(
                aged[number], reads.get(number), now, relevance=relevant.get(number, 0.0), weights=weights,
                trust=trust[number],
            )  # fmt: skip
            scored.append((aged[number], its.value))
        return sorted(scored, key=lambda pair: (-pair[1], -pair[0]["id"]))

    def _entries(
        self,
        handoff: HandoffPacket | None,
        notes: Sequence[str],
        ranked: Sequence[tuple[Row, float]],
        most: int,
    ) -> Iterator[Entry]:
        """Everything that could be shown, the most important first: notes, handoff, then the sections by turns."""
        for note in notes:
            yield "notes", note, _note_line(note)
        if handoff is not None:
            yield "handoff", handoff, _handoff_line(handoff)
            for item in handoff.outdated:
                yield "outdated", item, _note_line(item.line)
            for new in handoff.new:
                yield "new", new, _note_line(new.line)
        sections: dict[Section, list[Row]] = {"decisions": [], "memories": [], "entities": []}
        for row, _ in ranked:
            section = sections[_section(row)]
            if len(section) < (_ENTITIES if row["kind"] in ONE else most):
                section.append(row)
        around = self._neighbours([row["id"] for row in sections["entities"]])
        for turn in zip_longest(*([(name, row) for row in rows] for name, rows in sections.items())):
            for name, row in (item for item in turn if item is not None):
                shown = self._space.memory(row)
                if name == "entities":
                    shown = Surrounded(**vars(shown), neighbours=around.get(row["id"], ()))
                yield name, (row, shown), _line(shown, self._writer.agent)

    def _neighbours(self, entities: Sequence[int]) -> dict[int, tuple[Neighbour, ...]]:
        places = self._writer.places()
        edges = self._space.edges.strongest(entities, places, _NEIGHBOURS)
        ends = {end for edge in edges for end in (edge.source, edge.target)}
        rows = {row["id"]: row for row in self._space.records.rows(list(ends))}
        hidden = numbers_where(self._space.database, ends, self._space.reader.left_out(places))
        edges = [edge for edge in edges if hidden.isdisjoint((edge.source, edge.target))]
        found: dict[int, list[Neighbour]] = {}
        wanted = set(entities)
        for edge in edges:
            for near, far in ((edge.source, edge.target), (edge.target, edge.source)):
                if near in wanted and len(found.setdefault(near, [])) < _NEIGHBOURS:
                    other = self._space.memory(rows[far])
                    found[near].append(
                        Neighbour(
                            edge.relation, near == edge.source, other.id, other.kind, other.title, edge.weight
                        )
                    )
        return {number: tuple(some) for number, some in found.items()}

    def _shown(
        self, query: str | None, newest: Newest, ranked: Sequence[tuple[Row, float]], entries: Sequence[Entry]
    ) -> ContextPackage:
        """The package of what fits; it is kept that the session was shown it."""
        sections: dict[Section, list[Any]] = {name: [] for name in (*_TITLES, "outdated", "new")}
        for name, shown, _ in entries:
            sections[name].append(shown)
        score = {row["id"]: value for row, value in ranked}
        rows = [pair for name in ("decisions", "memories", "entities") for pair in sections[name]]
        hits = [(row["id"], score[row["id"]]) for row, _ in rows]
        memories = [memory for _, memory in rows]
        for row, _ in sections["conflicts"]:
            hits.append((row["id"], 1.0))
            memories.append(self._space.memory(row))
        given, due = newest.packet, sections["triggers"]
        if given is not None and newest.row is not None and sections["handoff"]:
            given = replace(given, outdated=tuple(sections["outdated"]), new=tuple(sections["new"]))
            also = [newest.row, *self._handoffs.rows_of(given.outdated)]
            hits += [(row["id"], 1.0) for row in also]
            memories += map(self._space.memory, also)
        self._writer.broadcast(ORIENT, query or "", hits, memories)
        made = ContextPackage(
            scope=self._writer.scope,
            session=self._writer.name,
            triggers=tuple(self._reminders.fire(due, query or "")) if due else (),
            conflicts=tuple(conflict for _, conflict in sections["conflicts"]),
            handoff=given if given and (sections["handoff"] or not given.verified) else None,
            decisions=tuple(memory for _, memory in sections["decisions"]),
            memories=tuple(memory for _, memory in sections["memories"]),
            entities=tuple(memory for _, memory in sections["entities"]),
            notes=tuple(sections["notes"]),
            agent=self._writer.agent,
        )
        return replace(made, tokens=tokens_of(len(made.as_text())))


def _of_handoffs(newest: Newest) -> list[str]:
    """Returns notes on the handoffs: which are unreliable, and what changed since."""
    notes = [f"a newer handoff is for {other}" for other in newest.others[:_NAMED]]
    given = newest.packet
    if given is None:
        return notes
    if not given.verified:
        return [*notes, f"the handoff {given.id} is left out, it cannot be relied on: {given.problem}"]
    if given.status != PENDING:
        notes.append(f"the handoff {given.id} was taken over by a session before")
    notes += [
        f"{given.sender} built on {item.id} ({item.title}), which is {item.now} since"
        for item in given.stale[:_NAMED]
    ]
    if len(given.stale) > _NAMED:
        notes.append(f"and on {len(given.stale) - _NAMED} more that are no longer as they were")
    return notes


def _section(row: Row) -> Section:
    if row["kind"] in ONE:
        return "entities"
    return "decisions" if row["kind"] == "decision" else "memories"


def _heading(scope: str) -> str:
    return f"# Remembered of {scope} (unnamed: your own)"


def _note_line(note: str) -> str:
    return f"- {_flat(note)}"


def _trigger_line(trigger: FiredTrigger) -> str:
    return f"- {_flat(trigger.line)}"


def _conflict_line(conflict: OpenConflict) -> str:
    voice, against = conflict.voices[0], " and ".join(conflict.voices[1:])
    says = f" ({conflict.against}, {conflict.other})" if conflict.other else ""
    text = f"{conflict.content} (by {voice}, {conflict.memory}) is contradicted by {against}{says}: {conflict.resolve}"
    return f"- {_flat(text)}"


def _handoff_line(handoff: HandoffPacket) -> str:
    state = handoff.current_state
    lines = [f"From {handoff.sender}, verified ({handoff.id})."]
    lines += [f"Goal: {handoff.goal}"] if handoff.goal != state else []
    lines += [f"State: {state}", *(f"Open: {loop}" for loop in handoff.open_loops)]
    known = (f"{CONTINUE}{state}", *handoff.open_loops)
    lines += [f"Next: {handoff.next_step}"] if handoff.next_step not in known else []
    return "\n".join(f"- {_flat(line)}" for line in lines)


def _handoff_lines(handoff: HandoffPacket | None) -> list[str]:
    if handoff is None or not handoff.verified:
        return []
    return [_handoff_line(handoff), *map(_note_line, handoff.lines)]


def _line(memory: Memory, reader: str) -> str:
    near = memory.neighbours if isinstance(memory, Surrounded) else ()
    ends = (
        f"{neighbour.relation} {neighbour.title}"
        if neighbour.outgoing
        else f"{neighbour.title} {neighbour.relation} it"
        for neighbour in near
    )
    category = f"{memory.category}, " if memory.category else ""
    mark = f", partly corrected by {memory.corrected_by}" if memory.corrected_by else ""
    mark += f", contested: {memory.conflict}" if memory.conflict else ""
    voice = "" if memory.voice == f"agent {reader}" else f", by {memory.voice}"
    return "- " + _flat(f"{'; '.join((memory.content, *ends))} ({category}{memory.id}{voice}{mark})")


def _flat(text: str) -> str:
    return " ".join(text.split())
