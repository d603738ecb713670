"""Knowledge of agents: the memories that each wrote or was told, and the outdated ones among them.

Source: the memory whitepaper, "theory of mind". An agent was told what reached its context, by the log of reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from sb.base.text import shorten
from sb.base.values.frozen import frozen
from sb.memory.search import NO_FILTERS, Searcher
from sb.memory.space import Space
from sb.memory.trust.floor import numbers_where
from sb.memory.views import Memory, View
from sb.store.records.columns import ACTIVE, FORGOTTEN, SUPERSEDED, Row
from sb.store.records.reads import Telling

WROTE, TOLD, UNKNOWN = "wrote", "told", "unknown"
CHANGED = "changed"
_SAYS = (
    "text",
    "category",
    "speaker",
    "happened_at",
)  # columns that a reader is shown; a confidence moves all the time
_LONGEST = 160  # characters of a new memory's title, and of what is outdated
_CHANGES = 300  # by others, the latest ones, among which what is outdated is looked for
_AT_ONCE = 20  # records that are read for a few
NAMED = (
    "id",
    "uid",
    "place",
    "state",
    "version",
    "agent",
    "protected",
    "confidence",
)  # columns that judge a record
_CANDIDATES = 5  # memories that fell, for each one that is asked for


@frozen
class Outdated(View):
    """A memory that an agent knows as it no longer is.

    Args:
        known, voice: what the agent knows of it, and whose words that is. since: changed, superseded or forgotten.
        now: the id of the memory that holds now, or "". content, now_voice: what that says, and whose words that is.
    """

    id: str
    known: str
    voice: str
    since: str
    now: str = ""
    content: str = ""
    now_voice: str = ""

    @property
    def line(self) -> str:
        """The text that tells it to the agent."""
        holds = f": {self.content} ({self.now}, by {self.now_voice})" if self.now else ""
        known = f"{shorten(self.known, _LONGEST)} ({self.id}, by {self.voice})"
        return f"outdated, you know: {known}; {self.since} since{holds}"


@frozen
class New(View):
    """A memory that an agent does not know.

    Args:
        voice: whose words its title is.
    """

    id: str
    title: str
    voice: str

    @property
    def line(self) -> str:
        """The text that names it to the agent."""
        return f"new to you: {shorten(self.title, _LONGEST)} ({self.id}, by {self.voice})"


@frozen
class Knowledge(Memory):
    """A memory, and what an agent knows of it.

    Args:
        knows: wrote, told, or unknown. told_at: when it was told last, in seconds since the epoch; None if never.
        outdated: what it knows of it instead, where that no longer holds.
    """

    knows: str = UNKNOWN
    told_at: float | None = None
    outdated: Outdated | None = None


class Standing(NamedTuple):
    """What an agent knows of one record.

    Args:
        known: the record as the agent knows it. since: as of `Outdated`, or "" if that still holds.
    """

    knows: str
    told_at: float | None
    known: Row
    since: str

    @property
    def is_current(self) -> bool:
        return self.knows != UNKNOWN and not self.since


def _contacts(space: Space, agent: str, rows: Sequence[Row]) -> tuple[dict[int, Telling], dict[int, int]]:
    """When an agent was last told each of these records, and the first change of those that it wrote or changed itself."""
    tellings = space.reads.tellings(agent, [row["id"] for row in rows])
    own = {row["id"]: 0 for row in rows if row["agent"] == agent}
    others = [row["id"] for row in rows if row["id"] not in own]
    return tellings, own | space.records.first_changes(others, agent)


def standings(space: Space, agent: str, rows: Sequence[Row]) -> dict[int, Standing]:
    """Returns what an agent knows of each of these records, by number.

    An agent knows what it wrote, changed, or was told, and its own changes of that.
    """
    tellings, own = _contacts(space, agent, rows)
    known = own | {number: item.change for number, item in tellings.items()}
    later = space.records.changes_after(known)
    found = {}
    for row in rows:
        number = row["id"]
        changes = later.get(number, [])
        first = next((at for at, (actor, _) in enumerate(changes) if actor != agent), len(changes))
        former = dict(row) if changes[first:] else row
        for _, replaced in reversed(changes[first:]):
            former |= replaced
        at = tellings[number].at if number in tellings else None
        knows = WROTE if number in own else TOLD if at is not None else UNKNOWN
        found[number] = Standing(knows, at, former, _since(row, former))
    return found


def _since(row: Row, former: Row) -> str:
    if row["state"] in (SUPERSEDED, FORGOTTEN):
        return str(row["state"]) if former["state"] == ACTIVE else ""
    differs = row["state"] == ACTIVE and any(row[name] != former[name] for name in _SAYS)
    return CHANGED if differs else ""


def readable(space: Space, rows: Sequence[Row], places: Sequence[int]) -> Iterator[Row]:
    """Yields those of these records that the space's reader may read, and that its searches would not leave out."""
    hidden = numbers_where(space.database, [row["id"] for row in rows], space.reader.left_out(places))
    for row in rows:
        if row["place"] in places and row["id"] not in hidden and space.reader.allows(row):
            yield row


def outdated(space: Space, row: Row, standing: Standing, places: Sequence[int]) -> Outdated:
    """Returns what an agent knows of a record that its space's reader may read, and what holds now."""
    # Who may read it is as of now, whoever could when it was told.
    former = space.memory({**standing.known, "place": row["place"]})
    holds = _in_force(space, row, places)
    if holds is None:
        return Outdated(row["uid"], former.content, former.voice, standing.since)
    now = space.memory(holds)
    return Outdated(row["uid"], former.content, former.voice, standing.since, now.id, now.content, now.voice)


def _in_force(space: Space, row: Row, places: Sequence[int]) -> Row | None:
    """The record that holds in a record's place, if the space's reader may read it."""
    seen = set()
    holds: Row | None = row
    while holds is not None and holds["state"] == SUPERSEDED and holds["id"] not in seen:
        seen.add(holds["id"])
        holds = space.records.find(space.superseded_by(holds))
    there = [holds] if holds is not None and holds["state"] == ACTIVE else []
    return next(readable(space, there, places), None)


def latest_outdated(space: Space, agent: str, places: Sequence[int], most: int) -> list[Outdated]:
    """Lists what an agent, who reads the space, knows as it no longer is, the latest change first.

    Args:
        most: how many.
    """
    changed = space.reads.changed_since(agent, places, _CHANGES)
    if not changed:
        return []
    rows = {row["id"]: row for row in space.records.rows(changed)}
    known = standings(space, agent, [*rows.values()])
    fallen = [rows[number] for number in changed if _is_outdated(known[number])]
    shown = islice(readable(space, fallen, places), most)
    return [outdated(space, row, known[row["id"]], places) for row in shown]


def lacking(space: Space, agent: str, records: Sequence[int]) -> set[int]:
    """Returns those of these records that an agent does not have as they are now."""
    known = standings(space, agent, list(space.records.rows(records)))
    return {number for number, standing in known.items() if not standing.is_current}


def new_to(space: Space, agent: str, rows: Sequence[Row], places: Sequence[int], most: int) -> list[New]:
    """Lists those of these records that an agent, who reads the space, does not know, the most important first.

    Protected ones come first, then those that most was made of, then the surest, then the newest.

    Args:
        rows: with the columns `NAMED`. most: how many.
    """
    active = [row for row in rows if row["state"] == ACTIVE]
    tellings, own = _contacts(space, agent, active)
    unknown = [row for row in active if row["id"] not in tellings and row["id"] not in own]
    important = space.reads.kept_importance([row["id"] for row in unknown])

    def rank(row: Row) -> tuple[float, ...]:
        return -row["protected"], -important.get(row["id"], 0.0), -(row["confidence"] or 0.0), -row["id"]

    numbers = [row["id"] for row in sorted(unknown, key=rank)]
    new = islice(_readable_of(space, numbers, places), most)
    return [New(memory.id, memory.title, memory.voice) for memory in map(space.memory, new)]


def _readable_of(space: Space, numbers: Sequence[int], places: Sequence[int]) -> Iterator[Row]:
    """Yields what `readable` does of these records, in their order, reading no more of them than needed."""
    for start in range(0, len(numbers), _AT_ONCE):
        wanted = numbers[start : start + _AT_ONCE]
        rows = {row["id"]: row for row in space.records.rows(wanted)}
        yield from readable(space, [rows[number] for number in wanted], places)


def _is_outdated(standing: Standing) -> bool:
    return standing.knows != UNKNOWN and bool(standing.since)


def agent_knowledge(
    space: Space, searcher: Searcher, agent: str, question: str, places: Sequence[int], k: int
) -> list[Knowledge]:
    """Lists the memories that answer a question, with what an agent knows of each; then what it knows that fell since.

    Args:
        places: those that who asks may see. k: the most memories that hold, and as many again that fell.
    """
    hits = [row for _, row in searcher.first(searcher.find(question, places), k)]
    fallen = searcher.past(question, places, NO_FILTERS, _CANDIDATES * k, (SUPERSEDED, FORGOTTEN))
    known = standings(space, agent, [*hits, *fallen])
    outdated_rows = [row for row in fallen if _is_outdated(known[row["id"]])]
    shown = islice(readable(space, outdated_rows, places), k)
    return [_shown(space, row, known, places) for row in (*hits, *shown)]


def _shown(space: Space, row: Row, known: Mapping[int, Standing], places: Sequence[int]) -> Knowledge:
    standing = known[row["id"]]
    instead = None
    if _is_outdated(standing) and space.reader.allows(row):
        instead = outdated(space, row, standing, places)
    memory = space.memory(row)
    return Knowledge(**vars(memory), knows=standing.knows, told_at=standing.told_at, outdated=instead)
