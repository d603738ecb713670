"""Memories as rows, ranked and filtered, and the questions before a change."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sb.screens.state.listing import Row, row_of
from sb.screens.state.question import MOST_OBJECTS, Question, some
from sb.screens.state.search import Found, Search, memory_filter, names_kind

from sb.base.sources import MICROSECONDS
from sb.base.text import counted, revealed, shorten
from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.log.event_log import EventLog
from sb.memory.allowed_changes import is_suggestion
from sb.memory.browse import Browsed, RecordFilter, browse, fits, place_of
from sb.present.memories import (
    CLOSEST,
    MEMORY,
    Record,
    ShownMemory,
)
from sb.stack.settling import DISMISS, settle
from sb.store.records.descriptors import ASIDE
from sb.store.records.places import Places
from sb.store.records.store import RecordStore

if TYPE_CHECKING:
    from sb.screens.state.records import Records

    from sb.kernel.authority.signing import Decider
    from sb.memory.operator_view import Overseer

FILTER_HINT = "words, kind:… scope:… stack:… agent:… strength:… state:… since:7d"
TEXT, ORIGIN, HISTORY, NEIGHBOURS = "text", "origin", "history", "neighbours"
VIEW_NAMES = {TEXT: "Text", ORIGIN: "Origin", HISTORY: "History", NEIGHBOURS: "Neighbours"}  # of one memory
BEST, NEAREST = 20, 10  # memories that ranking names: with every word, and without
UPKEEP_KINDS = tuple(kind for kind in ASIDE if kind != "suggestion")  # which waits for a person
BEST_HEADING, REST_HEADING, NEAREST_HEADING, UPKEEP_HEADING = -1, -2, -3, -4
_UPKEEP = {UPKEEP_HEADING: "Upkeep: trust scores and histories of relationships"}


def memory_rows(log: EventLog, numbers: Sequence[int], words: Sequence[str]) -> dict[int, Row]:
    """Rows of memories, by their numbers."""
    places, now = Places(log.database), int(log.clock.now() * MICROSECONDS)
    return {
        record["id"]: row_of(MEMORY, ShownMemory(record, places.numbered(record["place"]), words), now)
        for record in read_records(log, numbers)
    }


def read_records(log: EventLog, numbers: Sequence[int]) -> list[Record]:
    """Memories by their numbers, those that there are."""
    return list(RecordStore(log.database).rows(numbers))


def view_counts(records: Records) -> dict[str, int]:
    """Counts of records in the views beside the memories."""
    return {"checkpoints": len(records.present("counts").checkpoints.ids())}


@frozen
class FoundMemories(Found):
    """Progress of a search.

    Args:
        changes: the newest change of a record when it began.
        upkeep: the numbers of all records of upkeep, newest first.
    """

    changes: int = 0
    upkeep: Sequence[int] = ()


class MemorySearch(Search):
    """One filter over all that is remembered."""

    noun = "memory"

    def __init__(self, text: str = "", now: int = 0) -> None:
        super().__init__(text)
        self.wanted = memory_filter(text, now)
        self.hits: Found = FoundMemories((), 0, False)
        self.ranking: Ranking | None = None

    def look(self, log: EventLog) -> Iterator[Found]:
        found = self.hits
        changes = found.changes if isinstance(found, FoundMemories) else 0
        before = Browsed(found.keys, found.total, changes, found.complete)
        # Who names a kind gets it in order.
        upkeep = [] if names_kind(self.text) else RecordStore(log.database).numbers_of_kinds(UPKEEP_KINDS)
        for step in browse(log.database, self.wanted, before):
            yield FoundMemories(step.numbers, step.total, step.complete, step.changes, upkeep)

    def arranged(self) -> Sequence[int]:
        """Keys of matches: best first, then newest memories, upkeep, and those near without every word.

        Headings are below 0.
        """
        upkeep = self.hits.upkeep if isinstance(self.hits, FoundMemories) else ()
        return arranged(self.hits, self.ranking, upkeep)

    def headings(self) -> Mapping[int, Row]:
        """The lines above the parts of the list."""
        titles = self.ranking.titles if self.ranking else {}
        return {number: Row((title,), heading=True) for number, title in (titles | _UPKEEP).items()}


@frozen
class Ranking:
    """The results of a ranking search for the words of a filter.

    Args:
        best: those that have every word, the best first; nearest: others. words_alone: why meaning did not count, or "".
    """

    best: Sequence[int] = ()
    nearest: Sequence[int] = ()
    words_alone: str = ""

    @property
    def titles(self) -> dict[int, str]:
        """Of the parts of the list."""
        by = f"by {self.words_alone}" if self.words_alone else "by words and meaning"
        return {
            BEST_HEADING: f"Best first, {by}",
            REST_HEADING: "Other matches, newest first",
            NEAREST_HEADING: f"No exact match; nearest {by}" if self.words_alone else CLOSEST,
        }


def ranked(overseer: Overseer, wanted: RecordFilter) -> Ranking:
    """The active memories that answer the words best."""
    places = tuple(overseer.space.places.all())
    numbers = [item.id for item in overseer.searcher.find(wanted.question, places, filters=wanted)]
    fitting = fits(overseer.database, wanted, numbers)
    best = [number for number in numbers if number in fitting][:BEST]
    nearest = [number for number in numbers if number not in fitting][:NEAREST]
    return Ranking(best, nearest, overseer.vector_search_disabled_reason)


def arranged(found: Found, ranking: Ranking | None, upkeep: Sequence[int] = ()) -> Sequence[int]:
    """The keys of a list, with a heading above each part; the newest memories alone have none.

    Args:
        upkeep: what stands behind the memories, since nobody looks for it first; newest first.
    """
    keys, ranked = found.keys, ranking or Ranking()
    places = {number: place_of(keys, number) for number in (*ranked.best, *upkeep)}
    best = [number for number in ranked.best if not found.complete or places[number] is not None]
    aside = [number for number in upkeep if places[number] is not None]
    if ranking is None and not aside:
        return keys
    rest: array[int] = array("q")
    start = 0
    for place in sorted(place for place in places.values() if place is not None):
        rest.extend(keys[start:place])
        start = place + 1
    rest.extend(keys[start:])
    parts: dict[int, Sequence[int]] = {
        BEST_HEADING: best,
        REST_HEADING: rest,
        UPKEEP_HEADING: aside,
        NEAREST_HEADING: ranked.nearest,
    }
    shown: array[int] = array("q")
    for heading, part in parts.items():
        if part and (ranking or heading == UPKEEP_HEADING):
            shown.append(heading)
        shown.extend(part)
    return shown


_DONE = {
    "accept": "accepted",
    "forget": "forgotten",
    "recover": "recovered",
    "protect": "protected",
    "release": "unguarded",
    "dismiss": "dismissed",
}
_TITLES = {
    "forget": "Forget",
    "recover": "Recover",
    "protect": "Protect",
    "release": "Unprotect",
    "accept": "Accept",
    "dismiss": "Dismiss",
}
_CONSEQUENCES = {
    "forget": "Searches and agents no longer find it, until you recover it (u).",
    "recover": "Searches find it again.",
    "protect": "It cannot be forgotten until you unprotect it (P).",
    "release": "It can be forgotten again.",
    "accept": "It becomes a memory of its stack. sb suggestions accept --with changes it first.",
    "dismiss": "It is not saved, and not suggested again.",
}


def question(verb: str, records: Sequence[Record]) -> Question:
    """The question before these change."""
    count = len(records)
    objects = [shorten(record["text"], 300) for record in records[:MOST_OBJECTS]]
    facts: tuple[tuple[str, str], ...] = ()
    if count == 1:
        facts = (
            ("Kind", _what(records[0])),
            ("Agent", str(records[0]["agent"])),
            ("Memory", records[0]["uid"]),
        )
    title = f"{_TITLES[verb]} {counted(count, 'memory')}" if count > 1 else _TITLES[verb]
    uids = tuple(record["uid"] for record in records)
    return Question(title, some(objects, count), facts, _CONSEQUENCES[verb], uids)


def _what(record: Record) -> str:
    """Its kind, and of a suggestion what it would become."""
    return f"suggested {would_become(record)}" if is_suggestion(record) else str(record["kind"])


def would_become(record: Record) -> str:
    """The kind that a suggestion gets once it is accepted."""
    return revealed(shorten(str(json.loads(record["fields"]).get("memory_type")), 40))


def change(records: Records, verb: str, record: Record, by: Decider, reason: str) -> str:
    """Do it; returns what to say.

    Raises:
        NotFoundError, CheckFailed: it is not as it was any more, or can be no memory. UsageError: it is protected.
    """
    uid = record["uid"]
    try:
        with records.memory_decision(_DONE[verb], uid, by, reason):
            if verb in ("accept", "dismiss"):
                stack = records.stack("write", _stack_of(records, record))
                settled = settle(stack, verb, uid, by=by.name, reason=reason)
                return f"{uid} {_DONE[verb]}" if verb == DISMISS else f"saved as {settled.promoted_to}"
            overseer = records.memory("write", by.name)
            if verb == "forget":
                overseer.forget(uid, reason)
            elif verb == "recover":
                overseer.recover(uid, reason)
            else:
                overseer.protect(uid, verb == "protect", reason)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return f"{uid} {_DONE[verb]}"


def _stack_of(records: Records, record: Record) -> str:
    return Places(records.log("write").database).numbered(record["place"]).stack
