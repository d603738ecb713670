"""Screens as plain lines, for a screen reader, a pipe or a dumb terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sb.screens.state.agents import read_agents
from sb.screens.state.events import event_rows
from sb.screens.state.inbox import thoroughly
from sb.screens.state.memory import memory_rows
from sb.screens.state.records import Records
from sb.screens.state.recovery import change_rows
from sb.screens.state.runs import call_rows
from sb.screens.state.search import LogSearch

from sb.base.sources import MICROSECONDS
from sb.base.values.frozen import frozen
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.contracts import KERNEL_SURFACE, REVERSAL_SURFACE
from sb.kernel.review.activity import RunTallies
from sb.kernel.review.calls import CallFilter, DecisionFilter, UndoableFilter
from sb.kernel.review.runs import first_events, runs_at
from sb.log.event_log import EventLog
from sb.log.search import LogFilter
from sb.present.agents import AGENT
from sb.present.approvals import GRANT
from sb.present.contracts import CONTRACT, ordered
from sb.present.events import CALL, EVENT
from sb.present.kind import Kind
from sb.present.memories import MEMORY
from sb.present.needs import NEED
from sb.present.recovery import RECOVERY
from sb.present.runs import RUN, UsedRun
from sb.present.usage import session_cost
from sb.store.records.store import RecordStore

if TYPE_CHECKING:
    from sb.screens.state.listing import Row

T = TypeVar("T")
MOST_ROWS = 200


@frozen
class PlainScreen:
    """One screen as a table.

    Args:
        total: how many rows there are; the newest MOST_ROWS are shown.
    """

    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]
    total: int


def _inbox(records: Records) -> PlainScreen:
    """Everything that waits, the highest stake first, a line each; stops and what is not enforced follow."""
    now = int(records.clock.now() * MICROSECONDS)
    entries = [entry for group in records.inbox() for entry in group.entries]
    needs = records.describe(entries[:MOST_ROWS])
    below = thoroughly(records)
    shown = [*(needs[entry.key] for entry in entries[:MOST_ROWS] if entry.key in needs), *below]
    rows = [tuple(cell.text for cell in NEED.cells(need, now, "plain")) for need in shown]
    return PlainScreen(NEED.titles("plain"), rows, len(entries) + len(below))


def _screen(records: Records, kind: Kind[T], shown: Iterable[T], total: int) -> PlainScreen:
    """Records as their kind says."""
    now = int(records.clock.now() * MICROSECONDS)
    rows = [tuple(cell.text for cell in kind.cells(item, now, "plain")) for item in shown]
    return PlainScreen(kind.titles("plain"), rows, total)


def _grants(records: Records) -> PlainScreen:
    grants = ApprovalQueue(records.log()).grants()
    return _screen(records, GRANT, grants[:MOST_ROWS], len(grants))


def _contracts(records: Records, surface: str = KERNEL_SURFACE) -> PlainScreen:
    entries = ordered(records.baselines("rows", surface).entries())
    return _screen(records, CONTRACT, entries, len(entries))


def _runs(records: Records) -> PlainScreen:
    log = records.log()
    firsts, tallies = first_events(log, dry_runs=False), RunTallies(log)
    runs = runs_at(log, firsts[:MOST_ROWS])
    shown = (
        UsedRun(run, *session_cost(records.config, run.run_id), tallies.of(run.run_id))
        for first in firsts
        if (run := runs.get(first))
    )
    return _screen(records, RUN, shown, len(firsts))


def _newest(newest: int) -> range:
    return range(newest, max(newest - MOST_ROWS, 0), -1)


def _rows_of(
    over: type[LogFilter],
    kind: Kind[Any],
    face: str,
    rows_of: Callable[[EventLog, Sequence[int]], dict[int, Row]],
) -> Callable[[Records], PlainScreen]:
    """A view of Activity: the rows of the log that a filter lets through."""

    def read(records: Records) -> PlainScreen:
        log = records.log()
        *_, found = LogSearch("", over).look(log)
        shown = found.keys[:MOST_ROWS]
        rows = rows_of(log, shown)
        return PlainScreen(
            kind.titles(face), [rows[seq].texts for seq in shown if seq in rows], len(found.keys)
        )

    return read


def _memory(records: Records) -> PlainScreen:
    log = records.log()
    newest, _ = RecordStore(log.database).head()
    found = memory_rows(log, _newest(newest), ())
    rows = [found[number].texts for number in _newest(newest) if number in found]
    return PlainScreen(MEMORY.titles("list"), rows, newest)


def _reminders(records: Records, name: str) -> PlainScreen:
    from sb.present.reminders import LESSON, TRIGGER

    memory = records.memory("rows")
    if name == "triggers":
        triggers = memory.trigger_list()
        return _screen(records, TRIGGER, triggers[:MOST_ROWS], len(triggers))
    lessons = memory.lesson_list()
    return _screen(records, LESSON, lessons[:MOST_ROWS], len(lessons))


def _checkpoints(records: Records) -> PlainScreen:
    from sb.screens.state.checkpoints import listed as listed_checkpoints

    from sb.present.checkpoints import CHECKPOINT

    found = listed_checkpoints(records.present("rows"))
    return _screen(records, CHECKPOINT, found[:MOST_ROWS], len(found))


def _evals(records: Records) -> PlainScreen:
    from sb.screens.state.evals import EVAL, EvalRun, Saved, read_saved

    from sb.evals.shelf import EvalShelf  # with the suites' modules, for which no other screen need wait

    saved = read_saved(EvalShelf(records.config.home.evals), Saved())
    shown = [EvalRun(runs[0], name) for name, runs in saved.suites.items()]
    return _screen(records, EVAL, shown[:MOST_ROWS], len(shown))


def _agents(records: Records) -> PlainScreen:
    seen = read_agents(records)
    return _screen(records, AGENT, seen.agents, seen.seen)


PLAIN: dict[str, Callable[[Records], PlainScreen]] = {
    "inbox": _inbox,
    "agents": _agents,
    "runs": _runs,
    "log": _rows_of(LogFilter, EVENT, "list", event_rows),
    "calls": _rows_of(CallFilter, CALL, "list", call_rows),
    "changes": _rows_of(UndoableFilter, RECOVERY, "plain", partial(change_rows, face="plain")),
    "decisions": _rows_of(DecisionFilter, EVENT, "decisions", partial(event_rows, face="decisions")),
    "memory": _memory,
    "triggers": partial(_reminders, name="triggers"),
    "lessons": partial(_reminders, name="lessons"),
    "checkpoints": _checkpoints,
    "contracts": _contracts,
    "reversals": lambda records: _contracts(records, REVERSAL_SURFACE),
    "grants": _grants,
    "evals": _evals,
}
