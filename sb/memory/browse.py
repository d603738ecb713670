"""Browse all records as an operator, newest first, with a filter.

The records are looked through from the newest on in growing steps, so that the newest hits come at once and the count
later. The full-text index only says early which old records have a rare word: it holds stems, and what is still being
typed has none ("pay" would be stemmed to "pai", and find neither "payment" nor "payload").
"""

from __future__ import annotations

import string
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import neg
from typing import ClassVar

from sb.base.values.frozen import frozen
from sb.log.search import Clause, LogFilter, contains, windows
from sb.memory.ranking.terms import words
from sb.protocols.types.vocabulary import FADING, STRONG, WEAK
from sb.store.database import Database
from sb.store.index.full_text import WordIndex
from sb.store.records.columns import QUARANTINED
from sb.store.records.places import Places
from sb.store.records.store import RecordStore

ENOUGH = 100  # hits to begin with
MOST_CHANGES = 1_000  # more changed records than that are looked for anew
_TIERS = (
    f"CASE WHEN r.strength >= {STRONG} THEN 'strong' WHEN r.strength >= {FADING} THEN 'fading'"
    f" WHEN r.strength >= {WEAK} THEN 'weak' ELSE 'dormant' END"
)
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)  # as SQLite does it
_WORD = frozenset(string.ascii_lowercase + string.digits)


class RecordFilter(LogFilter):
    """A filter of records: values of columns, and words that begin a word of the text."""

    FIELDS: ClassVar[dict[str, str]] = {
        "kind": "r.kind",
        "stack": "(SELECT stack FROM places WHERE id = r.place)",
        "scope": "(SELECT scope FROM places WHERE id = r.place)",
        "agent": "r.agent",
        "strength": _TIERS,
        "state": "r.state || iif(r.protected, ' protected', '') || iif(r.kind = 'suggestion', ' ' || r.category, '')",
    }

    def condition(self) -> Clause:
        """The rarest word, which is often the longest, is looked for first."""
        return LogFilter.condition(replace(self, words=tuple(sorted(self.words, key=len, reverse=True))))

    def word(self, word: str) -> Clause:
        """Its letters are looked for first, then whether a word begins with them: the costly pattern is tried last."""
        sql, (letters,) = contains(word, "r.text")
        sql = f"(r.state <> '{QUARANTINED}' AND {sql})"  # whose words only the review shows
        word = word.translate(_LOWER)
        if word[0] not in _WORD:
            return sql, (letters,)
        pattern = "".join(f"[{item}]" if item in "*?[" else item for item in word)
        begins = "r.text LIKE ? ESCAPE '\\' OR ' ' || lower(r.text) GLOB ?"
        return f"({sql} AND ({begins}))", (letters, f"% {letters[1:]}", f"*[^a-z0-9]{pattern}*")

    def sql(self) -> Clause:
        """The condition without the words, for a search that ranks."""
        return LogFilter.condition(replace(self, words=())) if self.terms else ("", ())

    @property
    def question(self) -> str:
        """The words, for a search that ranks."""
        return " ".join(self.words)

    def places(self, places: Places) -> tuple[int, ...]:
        """The places in which anything can fit."""
        asked = [(field, text.lower()) for field, text in self.terms if field in ("scope", "stack")]
        known = places.all().items()
        return tuple(
            number
            for number, place in known
            if all(text in getattr(place, field).lower() for field, text in asked)
        )


@frozen
class Browsed:
    """The progress of browsing.

    Args:
        numbers: of all records that are known to fit, newest first.
        total: records there were, also erased ones, when the look began; changes: changes of records.
        complete: whether all of them were looked at.
    """

    numbers: Sequence[int] = ()
    total: int = 0
    changes: int = 0
    complete: bool = False


def browse(database: Database, wanted: RecordFilter, before: Browsed) -> Iterator[Browsed]:
    """Look at what was written since a complete look of the same filter, or at everything.

    Args:
        before: the last look; it is not changed.
    """
    records = RecordStore(database)
    total, changes = records.head()
    if not wanted:
        yield Browsed(range(total, 0, -1), total, changes, True)
        return
    condition, parameters = wanted.condition()
    known = array("q", before.numbers)
    after = before.total if before.complete else 0
    changed = records.changed(before.changes, MOST_CHANGES) if after else set[int]()
    if len(changed) == MOST_CHANGES or not after:
        known, after = array("q"), 0
    elif changed:
        _mend(
            known, changed, sorted(fits(database, wanted, [number for number in changed if number <= after]))
        )
    fresh: array[int] = array("q")
    early: Sequence[int] = ()
    for low, high in windows(total, after):
        fresh.extend(records.numbers(condition, parameters, above=low, to=high))
        older = array("q", (number for number in early if number <= low)) + known
        yield Browsed(fresh + older, total, changes, low == after)
        if high == total and 0 == after < low and len(fresh) < ENOUGH:
            early = _early(database, wanted, low)
    if total == after:
        yield Browsed(known, total, changes, True)


def fits(database: Database, wanted: RecordFilter, numbers: Sequence[int]) -> set[int]:
    """Returns those of these records that fit a filter."""
    condition, parameters = wanted.condition()
    marks = ", ".join("?" * len(numbers)) or "NULL"
    among = f"({condition}) AND r.id IN ({marks})"
    found = RecordStore(database).numbers(among, (*parameters, *numbers), above=0, to=max(numbers, default=0))
    return set(found)


def _early(database: Database, wanted: RecordFilter, to: int) -> Sequence[int]:
    """The newest records up to a number that fit, as far as the full-text index knows of them."""
    begun = [part for word in wanted.words for part in words(word)]
    if not begun:
        return ()
    expression = "body : (" + " AND ".join(f'"{part}" *' for part in begun) + ")"
    where, parameters = wanted.condition()
    return WordIndex(database).newest(expression, ENOUGH, below=to + 1, where=where, parameters=parameters)


def place_of(numbers: Sequence[int], number: int) -> int | None:
    """Returns the position of a number among descending numbers."""
    place = bisect_left(numbers, -number, key=neg)
    return place if place < len(numbers) and numbers[place] == number else None


def _mend(numbers: array[int], changed: set[int], fitting: Sequence[int]) -> None:
    """Take out the records that were changed, and put in those of them that fit."""
    for number in changed:
        place = place_of(numbers, number)
        if place is not None:
            del numbers[place]
    for number in fitting:
        numbers.insert(bisect_left(numbers, -number, key=neg), number)
