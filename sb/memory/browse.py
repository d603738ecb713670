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
from operator import neg

from sb.base.values.frozen import frozen
from sb.log.search import Clause, contains, windows
from sb.memory.ranking.terms import words
from sb.protocols.types.vocabulary import FADING, STRONG, WEAK
from sb.store.database import Database
from sb.store.index.full_text import WordIndex
from sb.store.records.columns import QUARANTINED
from sb.store.records.store import RecordStore

ENOUGH = 100  # hits to begin with
PROTECTED = "protected"  # beside the states of a record
MOST_CHANGES = 1_000  # more changed records than that are looked for anew
_TIERS = (
    f"CASE WHEN r.strength >= {STRONG} THEN 'strong' WHEN r.strength >= {FADING} THEN 'fading'"
    f" WHEN r.strength >= {WEAK} THEN 'weak' ELSE 'dormant' END"
)
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)  # as SQLite does it
_WORD = frozenset(string.ascii_lowercase + string.digits)


# SQL for what a record `r` is filtered by; of its states each is one.
RECORD_FIELDS: dict[str, tuple[str, ...]] = {
    "kind": ("r.kind",),
    "stack": ("(SELECT stack FROM places WHERE id = r.place)",),
    "scope": ("(SELECT scope FROM places WHERE id = r.place)",),
    "agent": ("r.agent",),
    "strength": (_TIERS,),
    "state": (
        "r.state",
        f"iif(r.protected, '{PROTECTED}', '')",
        "iif(r.kind = 'suggestion', coalesce(r.category, ''), '')",
    ),
}


@frozen
class RecordFilter:
    """A filter of records: words that begin a word of the text, and a condition besides."""

    words: tuple[str, ...] = ()
    more: Clause = ("1", ())

    def __bool__(self) -> bool:
        return bool(self.words) or self.more[0] != "1"

    def condition(self) -> Clause:
        """The SQL condition on records `r`; the rarest word, which is often the longest, is looked for first."""
        clauses = [*map(word_clause, sorted(self.words, key=len, reverse=True)), self.more]
        return " AND ".join(sql for sql, _ in clauses), tuple(it for _, values in clauses for it in values)

    def sql(self) -> Clause:
        """The condition without the words, for a search that ranks."""
        return self.more if self.more[0] != "1" else ("", ())

    @property
    def question(self) -> str:
        """The words, for a search that ranks."""
        return " ".join(self.words)


def word_clause(word: str) -> Clause:
    """That a word of the text begins so.

    Its letters are looked for first, then whether a word begins with them: the costly pattern is tried last.
    """
    sql, (letters,) = contains(word, "r.text")
    sql = f"(r.state <> '{QUARANTINED}' AND {sql})"  # whose words only the review shows
    word = word.translate(_LOWER)
    if word[0] not in _WORD:
        return sql, (letters,)
    pattern = "".join(f"[{item}]" if item in "*?[" else item for item in word)
    begins = "r.text LIKE ? ESCAPE '\\' OR ' ' || lower(r.text) GLOB ?"
    return f"({sql} AND ({begins}))", (letters, f"% {letters[1:]}", f"*[^a-z0-9]{pattern}*")


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
