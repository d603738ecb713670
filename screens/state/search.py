"""Rows of the log or of memory that fit a filter, found step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from sb.base.text import counted
from sb.base.values.frozen import frozen
from sb.kernel.calls.approval import ApprovalState
from sb.log.event_log import EventLog
from sb.log.search import Clause, LogFilter, search
from sb.memory.browse import RecordFilter

if TYPE_CHECKING:
    from sb.operator.filters import Filter


@frozen
class Found:
    """Progress of a search.

    Args:
        keys: numbers of all rows that are known to fit, newest first.
        total: rows of the log when the look began.
        complete: whether all of them were looked at.
    """

    keys: Sequence[int]
    total: int
    complete: bool


class Search(ABC):
    """One filter, followed as what it is about grows.

    Args:
        text: as it was typed; "" for everything.
    """

    noun: ClassVar[str]

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.hits = Found((), 0, False)

    @abstractmethod
    def look(self, log: EventLog) -> Iterator[Found]:
        """Look at what was written since the last complete look; called in a worker, changes nothing."""

    def summary(self) -> str:
        """37 of 12,408, as far as that is known."""
        found = self.hits
        if not self.text:
            return counted(found.total, self.noun)
        more = "" if found.complete else "+"
        return f"{len(found.keys):,}{more} of {found.total:,} · filter: {self.text}"


def log_clause(text: str, now: int, view: str = "log") -> Clause:
    """The condition on events that a filter's text stands for in a view of Activity; raises UsageError for none."""
    if not text.strip():
        return "1", ()
    from sb.operator import filters

    return _filter(text, view).log(now, getattr(filters, view.upper()))


def run_clause(text: str, now: int) -> Clause:
    """The condition on runs that a filter's text stands for; raises UsageError where it is none."""
    return _filter(text, "runs").runs(now) if text.strip() else ("1", ())


def names_state(text: str) -> bool:
    """True if a filter asks for a state of requests, also one that nobody decided."""
    return bool(text.strip()) and any(
        it.key == "state" and not it.negated and it.value in list(ApprovalState)
        for it in _filter(text, "decisions").terms
    )


def names_kind(text: str) -> bool:
    """True if a filter of memories names a kind of record."""
    return bool(text.strip()) and any(it.key == "kind" for it in _filter(text, "memory").terms)


def memory_filter(text: str, now: int) -> RecordFilter:
    """The filter of memories that a text stands for; raises UsageError where it is none."""
    return _filter(text, "memory").memory(now) if text.strip() else RecordFilter()


def _filter(text: str, face: str) -> Filter:
    from sb.operator import filters  # with the queue of approvals, for which the first screen need not wait

    return filters.Filter.parse(text, getattr(filters, face.upper()))


class LogSearch(Search):
    """One filter over the log.

    Args:
        over: the events among which is looked.
        now: microseconds since the epoch, from which `since:` counts. view: of Activity, whose states count.

    Raises:
        UsageError: the text is no filter of the log.
    """

    noun = "event"

    def __init__(
        self, text: str = "", over: type[LogFilter] = LogFilter, now: int = 0, view: str = "log"
    ) -> None:
        super().__init__(text)
        self._wanted = over(more=log_clause(text, now, view))
        self._of_all = over is LogFilter
        self._everything = self._of_all and not self._wanted

    def summary(self) -> str:
        if self._of_all:
            return super().summary()
        more = "" if self.hits.complete else "+"  # nobody counts what else is of its sort
        return f"{len(self.hits.keys):,}{more} · filter: {self.text}"

    def look(self, log: EventLog) -> Iterator[Found]:
        newest = log.head().seq
        if self._everything:
            yield Found(range(newest, 0, -1), newest, True)
            return
        before = self.hits if self.hits.complete else Found((), 0, False)
        fresh: array[int] = array("q")
        known = array("q", before.keys)
        for step in search(log, self._wanted, newest=newest, after=before.total):
            fresh.extend(step.seqs)
            yield Found(fresh + known, newest, step.done_to == before.total + 1)
        if newest <= before.total:
            yield Found(known, newest, True)
