"""Screens as plain lines, for a screen reader, a pipe or a dumb terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from sb.screens.state.agents import read_agents
from sb.screens.state.events import event_rows
from sb.screens.state.home import NO_AGENT, NO_CALL, NOTHING, Home, at_work, facts, quickly, thoroughly
from sb.screens.state.memory import memory_rows
from sb.screens.state.records import Records
from sb.screens.state.recovery import OPEN_VIEW, listed

from sb.base.sources import MICROSECONDS
from sb.base.values.frozen import frozen
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.calls.approval import OPEN
from sb.kernel.review.activity import RunTallies
from sb.kernel.review.needs import CallOrigin, call_origins
from sb.kernel.review.runs import first_events, runs_at
from sb.present.agents import AGENT
from sb.present.approvals import REQUEST, Request
from sb.present.contracts import CONTRACT, ordered
from sb.present.events import EVENT
from sb.present.kind import Kind
from sb.present.memories import MEMORY
from sb.present.overview import AtWork
from sb.present.recovery import RECOVERY
from sb.present.runs import RUN, UsedRun
from sb.present.usage import session_cost
from sb.store.records.store import RecordStore

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


def _home(records: Records) -> PlainScreen:
    now = int(records.clock.now() * MICROSECONDS)
    home = Home(**(quickly(records) | at_work(records) | thoroughly(records)))
    parts = (
        ("Needs you", home.needs(records.needs_you()), NOTHING),
        ("Agents", home.agents(home.work or AtWork()), NO_AGENT),
        ("Latest", home.calls(home.latest or (), now), NO_CALL),
    )
    rows: list[tuple[str, ...]] = []
    for title, lines, nothing in parts:
        texts = ["  ".join(filter(None, line.row.texts)) for line in lines] or [nothing]
        rows += [(text,) for text in (f"# {title}", *texts)]
    found = facts(home, now)
    log = f"Log  {found.log}, {found.verified[0]}"
    rows += [
        (text,) for text in ("# Enforced", f"Enforced  {found.enforced}", log, f"Memory  {found.memory}")
    ]
    return PlainScreen(("",), rows, len(rows))


def _screen(records: Records, kind: Kind[T], shown: Iterable[T], total: int) -> PlainScreen:
    """Records as their kind says."""
    now = int(records.clock.now() * MICROSECONDS)
    rows = [tuple(cell.text for cell in kind.cells(item, now, "plain")) for item in shown]
    return PlainScreen(kind.titles("plain"), rows, total)


def _approvals(records: Records) -> PlainScreen:
    queue = Approvals(records.log(), records.authority())
    numbers = queue.numbers(states=OPEN)
    found = queue.numbered(numbers[:MOST_ROWS])
    items = [found[number] for number in numbers[:MOST_ROWS] if number in found]
    origins = call_origins(queue.log, {item.run_id for item in items})
    shown = (Request(queue.disclose(it), origins.get(it.run_id, CallOrigin()).project_name) for it in items)
    return _screen(records, REQUEST, shown, len(numbers))


def _contracts(records: Records) -> PlainScreen:
    entries = ordered(records.baselines("rows").entries())
    return _screen(records, CONTRACT, entries, len(entries))


def _recovery(records: Records) -> PlainScreen:
    found = listed(records.log(), OPEN_VIEW)
    return _screen(records, RECOVERY, found.items, found.counts[OPEN_VIEW])


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


def _log(records: Records) -> PlainScreen:
    log = records.log()
    newest = log.head().seq
    rows = event_rows(log, _newest(newest))
    return PlainScreen(EVENT.titles("list"), [row.texts for row in rows.values()], newest)


def _memory(records: Records) -> PlainScreen:
    log = records.log()
    newest, _ = RecordStore(log.database).head()
    found = memory_rows(log, _newest(newest), ())
    rows = [found[number].texts for number in _newest(newest) if number in found]
    return PlainScreen(MEMORY.titles("list"), rows, newest)


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
    "home": _home,
    "approvals": _approvals,
    "contracts": _contracts,
    "recovery": _recovery,
    "runs": _runs,
    "log": _log,
    "memory": _memory,
    "checkpoints": _checkpoints,
    "evals": _evals,
    "agents": _agents,
}
