"""Memories as rows, ranked and filtered, and the questions before a change."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sb.screens.state.listing import LONGEST_CELL, WIDE, Column, Row
from sb.screens.state.question import MOST_OBJECTS, Question, some
from sb.screens.state.search import Found, Search

from sb.errors import NotFoundError, UsageError
from sb.log.event_log import EventLog
from sb.memory.browse import Browsed, RecordFilter, browse, fits, place_of
from sb.present.counts import counted
from sb.present.memories import PENDING, Record, is_suggestion, memory_line
from sb.present.suggestions import CHANGE_FIRST, unsavable
from sb.store.records.columns import ACTIVE, ERASED, FORGOTTEN, QUARANTINED, SUPERSEDED
from sb.store.records.places import Place, Places
from sb.store.records.store import RecordStore
from sb.text import revealed, shorten

if TYPE_CHECKING:
    from sb.screens.state.records import Records

    from sb.memory.operator_view import Overseer
    from sb.stack import SQLiteStack

MEMORY_COLUMNS = (
    Column("kept", 10),
    Column("kind", 10),
    Column("state", 9),
    Column("scope", 14),
    Column("agent", 12, least=WIDE),
    Column("memory"),
)
FILTER_HINT = "words, kind:… stack:… scope:… agent:… strength:… state:…"
BEST, NEAREST = 20, 10  # memories that ranking names: with every word, and without
LOOKED_AT = 100_000  # characters of a memory in which the words of a filter are looked for to show them
FAR, BEFORE = 24, 12  # characters of a memory that stand before what was asked for
BEST_HEADING, REST_HEADING, NEAREST_HEADING = -1, -2, -3
_TONES = {
    FORGOTTEN: "muted",
    ERASED: "muted",
    QUARANTINED: "warn",
    SUPERSEDED: "muted",
    "protected": "ok",
    PENDING: "warn",
}


def memory_row(record: Record, place: Place, words: Sequence[str] = ()) -> Row:
    """One line about a memory, from the first of these words on if that stands far behind."""
    line = memory_line(record, place)
    text = line.text if record["state"] == ERASED else _from(words, line.text)
    cells = (line.saved, line.kind, line.state, line.scope, line.agent, text)
    return Row(cells, _TONES.get(line.state, ""))


def _from(words: Sequence[str], text: str) -> str:
    any_word = "|".join(map(re.escape, words))
    found = re.search(rf"(?<![a-z0-9])(?:{any_word})", text[:LOOKED_AT], re.IGNORECASE) if words else None
    start = found.start() if found else 0
    if start > FAR:
        text = "…" + text[start - BEFORE : start + LONGEST_CELL]
    return text[:LONGEST_CELL]


def memory_rows(log: EventLog, numbers: Sequence[int], words: Sequence[str]) -> dict[int, Row]:
    """How memories read in a list, by their numbers."""
    places = Places(log.database)
    return {
        record["id"]: memory_row(record, places.numbered(record["place"]), words)
        for record in read_records(log, numbers)
    }


def read_records(log: EventLog, numbers: Sequence[int]) -> list[Record]:
    """Memories by their numbers, those that there are."""
    return list(RecordStore(log.database).rows(numbers))


@dataclass(frozen=True)
class FoundMemories(Found):
    """How far a look has come.

    Args:
        changes: the newest change of a record when it began.
    """

    changes: int = 0


class MemorySearch(Search):
    """One filter over all that is remembered."""

    nouns = ("memory", "memories")

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.wanted = RecordFilter.parse(text)
        self.hits: Found = FoundMemories((), 0, False)
        self.ranking: Ranking | None = None

    def look(self, log: EventLog) -> Iterator[Found]:
        found = self.hits
        changes = found.changes if isinstance(found, FoundMemories) else 0
        before = Browsed(found.keys, found.total, changes, found.complete)
        for step in browse(log.database, self.wanted, before):
            yield FoundMemories(step.numbers, step.total, step.complete, step.changes)

    def arranged(self) -> Sequence[int]:
        """What fits, the best first, then the newest; last what is near without every word. Headings are below 0."""
        return arranged(self.hits, self.ranking) if self.ranking else self.hits.keys


@dataclass(frozen=True)
class Ranking:
    """What a search that ranks named for the words of a filter.

    Args:
        best: those that have every word, the best first; nearest: others. words_alone: why meaning did not count, or "".
    """

    best: Sequence[int] = ()
    nearest: Sequence[int] = ()
    words_alone: str = ""

    def headings(self) -> Mapping[int, Row]:
        """The lines above the parts of the list."""
        by = f"by {self.words_alone}" if self.words_alone else "by words and meaning"
        titles = {
            BEST_HEADING: f"Best first, {by}",
            REST_HEADING: "Other matches, newest first",
            NEAREST_HEADING: f"No exact match; closest in meaning, {by}",
        }
        return {number: Row((title,), "heading") for number, title in titles.items()}


def ranked(overseer: Overseer, wanted: RecordFilter) -> Ranking:
    """The active memories that answer the words best."""
    places = wanted.places(overseer.space.places)
    numbers = [one.id for one in overseer.searcher.find(wanted.question, places, filters=wanted)]
    fitting = fits(overseer.database, wanted, numbers)
    best = [number for number in numbers if number in fitting][:BEST]
    nearest = [number for number in numbers if number not in fitting][:NEAREST]
    return Ranking(best, nearest, overseer.vector_search_disabled_reason)


def arranged(found: Found, ranking: Ranking) -> Sequence[int]:
    """The keys of a list, with a heading above each part."""
    keys = found.keys
    places = {number: place_of(keys, number) for number in ranking.best}
    best = [number for number in ranking.best if not found.complete or places[number] is not None]
    rest: array[int] = array("q")
    start = 0
    for place in sorted(place for place in places.values() if place is not None):
        rest.extend(keys[start:place])
        start = place + 1
    rest.extend(keys[start:])
    nearest = ranking.nearest
    parts: dict[int, Sequence[int]] = {BEST_HEADING: best, REST_HEADING: rest, NEAREST_HEADING: nearest}
    shown: array[int] = array("q")
    for heading, part in parts.items():
        if part:
            shown.append(heading)
            shown.extend(part)
    return shown


_DONE = {
    "forget": "is forgotten",
    "recover": "is recovered",
    "protect": "is protected",
    "release": "is no longer protected",
    "dismiss": "is dismissed",
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


def can(verb: str, record: Record) -> bool:
    """Whether this can be done with a record as it is."""
    if verb in ("accept", "dismiss"):
        return is_suggestion(record) and record["category"] == PENDING
    if verb == "recover":
        return bool(record["state"] == FORGOTTEN)
    return bool(record["state"] == ACTIVE and record["protected"] == (verb == "release"))


def question(verb: str, records: Sequence[Record]) -> Question:
    """What to ask before these change."""
    count = len(records)
    objects = [shorten(one["text"], 300) for one in records[:MOST_OBJECTS]]
    facts: tuple[tuple[str, str], ...] = ()
    if count == 1:
        facts = (
            ("Kind", _what(records[0])),
            ("Agent", str(records[0]["agent"])),
            ("Memory", records[0]["uid"]),
        )
    title = f"{_TITLES[verb]} {counted(count, 'memory', 'memories')}" if count > 1 else _TITLES[verb]
    uids = tuple(one["uid"] for one in records)
    return Question(title, some(objects, count), facts, _CONSEQUENCES[verb], uids)


def _what(record: Record) -> str:
    """Its kind, and of a suggestion what it would become."""
    if not is_suggestion(record):
        return str(record["kind"])
    return revealed(shorten(f"suggested {json.loads(record['fields']).get('memory_type')}", 40))


def change(records: Records, verb: str, record: Record, by: str, reason: str) -> str:
    """Do it; returns what to say.

    Raises:
        NotFoundError: it is not as it was any more. UsageError: it is protected, or can be no memory.
    """
    uid = record["uid"]
    try:
        if verb in ("accept", "dismiss"):
            return _settle(records.stack("write", _stack_of(records, record)), verb, uid, by, reason)
        overseer = records.memory("write", by)
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


def _settle(stack: SQLiteStack, verb: str, uid: str, by: str, reason: str) -> str:
    """Accept or dismiss a suggestion."""
    if verb == "dismiss":
        done: str | None = uid if stack.suggestions.dismiss(uid, reason, actor=by) else None
    else:
        done = stack.suggestions.accept(uid, actor=by, reason=reason)
    now = stack.get_suggestion(uid)
    if done is None and now is not None and now.status == PENDING:
        raise UsageError(unsavable(now), CHANGE_FIRST)
    if done is None:
        raise NotFoundError(f"{uid} was {now.status} meanwhile" if now else f"{uid} no longer exists")
    return f"{uid} {_DONE[verb]}" if verb == "dismiss" else f"saved as {now.promoted_to if now else done}"
