"""Knowledge of agents: the memories that each wrote or was told, and the outdated ones among them.

Source: the memory whitepaper, "theory of mind". An agent was told what reached its context, by the log of reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sb.base.text import shorten
from sb.base.values.frozen import frozen
from sb.memory.search import NO_FILTERS, Searcher
from sb.memory.space import Space
from sb.memory.trust.floor import numbers_where
from sb.memory.views import Memory, View
from sb.store.records.columns import ACTIVE, FORGOTTEN, SUPERSEDED, Row

WROTE, TOLD, UNKNOWN = "wrote", "told", "unknown"
CHANGED = "changed"
_SAYS = ("text", "speaker", "happened_at")  # columns of what a record says; its confidence moves all the time
_LONGEST = 160  # characters of a new memory's title, and of what is outdated
_CHANGES = 150  # by others, the latest ones, among which what is outdated is looked for
NAMED = ("id", "uid", "state", "version", "protected", "confidence")  # columns by which what is new is chosen
_CANDIDATES = 5  # memories that are looked at, for each one that is asked for


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
    """A memory as an agent knows it.

    Args:
        knows: wrote, told, or unknown. told_at: when it was told last, in seconds since the epoch; None if never.
        outdated: what it knows of it instead, where that no longer holds.
    """

    knows: str = UNKNOWN
    told_at: float | None = None
    outdated: Outdated | None = None


class Standing(NamedTuple):
    """One record as an agent knows it.

    Args:
        known: the record as it was then. since: as of `Outdated`, or "" if that still holds.
    """

    knows: str
    told_at: float | None
    known: Row
    since: str


def standings(space: Space, agent: str, rows: Sequence[Row]) -> dict[int, Standing]:
    """Returns how an agent knows each of these records, by number: as it wrote, changed or was told it last."""
    contacts = space.reads.contacts(agent, [row["id"] for row in rows])
    later = space.records.changes_after({number: contact.change for number, contact in contacts.items()})
    found = {}
    for row in rows:
        contact = contacts.get(row["id"])
        if contact is None:
            found[row["id"]] = Standing(UNKNOWN, None, row, "")
            continue
        changes = later.get(row["id"], [])
        first = next((at for at, (actor, _) in enumerate(changes) if actor != agent), len(changes))
        known = row
        for _, replaced in reversed(changes[first:]):
            known = known | replaced
        found[row["id"]] = Standing(WROTE if contact.wrote else TOLD, contact.at, known, _since(row, known))
    return found


def _since(row: Row, known: Row) -> str:
    if row["state"] in (SUPERSEDED, FORGOTTEN):
        return str(row["state"]) if known["state"] == ACTIVE else ""
    return CHANGED if row["state"] == ACTIVE and any(row[name] != known[name] for name in _SAYS) else ""


def readable(space: Space, rows: Sequence[Row], places: Sequence[int]) -> list[Row]:
    """Those of these records that stand in these places and that the searches of the space's reader do not leave out."""
    hidden = numbers_where(space.database, [row["id"] for row in rows], space.reader.left_out(places))
    return [row for row in rows if row["place"] in places and row["id"] not in hidden]


def outdated(space: Space, row: Row, standing: Standing, places: Sequence[int]) -> Outdated:
    """Returns what an agent knows of a record that its space's reader may read, and what holds now."""
    # Who may read it is as of now, whoever could when it was told.
    known = space.memory({**standing.known, "place": row["place"]})
    found = Outdated(row["uid"], known.content, known.voice, standing.since)
    seen = set()
    holds: Row | None = row
    while holds is not None and holds["state"] == SUPERSEDED and holds["id"] not in seen:
        seen.add(holds["id"])
        holds = space.records.find(space.superseded_by(holds))
    in_force = [holds] if holds is not None and holds["state"] == ACTIVE else []
    for now in map(space.memory, readable(space, in_force, places)):
        found = replace(found, now=now.id, content=now.content, now_voice=now.voice)
    return found


def latest_outdated(space: Space, agent: str, places: Sequence[int], most: int) -> list[Outdated]:
    """Lists what an agent, who reads the space, knows as it no longer is, the latest change first; so many at most."""
    changed = space.records.changed_by_others(agent, _CHANGES)
    contacts = space.reads.contacts(agent, list(changed)) if changed else {}
    numbers = [
        number for number in changed if number in contacts and changed[number] > contacts[number].change
    ]
    if not numbers:
        return []
    rows = {row["id"]: row for row in space.records.rows(numbers)}
    known = standings(space, agent, [*rows.values()])
    fallen = [rows[number] for number in numbers if known[number].since and rows[number]["kind"] != "handoff"]
    shown = readable(space, fallen, places)[:most]
    return [outdated(space, row, known[row["id"]], places) for row in shown]


def new_to(space: Space, agent: str, rows: Sequence[Row], places: Sequence[int], most: int) -> list[New]:
    """Lists those of these records, at most so many, that an agent, who reads the space, does not know.

    Protected ones come first, then those that most was made of, then the surest, then the newest.

    Args:
        rows: with the columns `NAMED`.
    """
    active = [row for row in rows if row["state"] == ACTIVE]
    contacts = space.reads.contacts(agent, [row["id"] for row in active])
    unknown = [row for row in active if row["id"] not in contacts]
    important = space.reads.kept_importance([row["id"] for row in unknown])

    def rank(row: Row) -> tuple[float, ...]:
        return -row["protected"], -important.get(row["id"], 0.0), -(row["confidence"] or 0.0), -row["id"]

    numbers = [row["id"] for row in sorted(unknown, key=rank)[: _CANDIDATES * most]]
    whole = {row["id"]: row for row in (space.records.rows(numbers) if numbers else ())}
    new = readable(space, [whole[number] for number in numbers], places)[:most]
    return [New(memory.id, memory.title, memory.voice) for memory in map(space.memory, new)]


def agent_knowledge(
    space: Space, searcher: Searcher, agent: str, question: str, places: Sequence[int], k: int
) -> list[Knowledge]:
    """Lists the memories that answer a question, with how an agent knows each; then what it knows that fell since.

    Args:
        places: those that who asks may see. k: the most memories that hold, and as many again that fell.
    """
    hits = [row for _, row in searcher.first(searcher.find(question, places), k)]
    past = searcher.past(question, places, NO_FILTERS, _CANDIDATES * k, (SUPERSEDED, FORGOTTEN))
    known = standings(space, agent, [*hits, *past])
    fallen = readable(space, [row for row in past if known[row["id"]].since], places)[:k]
    found = []
    for row in (*hits, *fallen):
        standing = known[row["id"]]
        instead = outdated(space, row, standing, places) if standing.since else None
        memory = vars(space.memory(row))
        found.append(Knowledge(**memory, knows=standing.knows, told_at=standing.told_at, outdated=instead))
    return found
