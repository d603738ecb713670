"""Screens as plain lines, for a screen reader, a pipe or a dumb terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sb.screens.state.agents import read_agents
from sb.screens.state.events import event_rows
from sb.screens.state.home import NO_AGENT, NO_CALL, NOTHING, Home, at_work, facts, quickly, thoroughly
from sb.screens.state.listing import Row, row_of
from sb.screens.state.memory import PLAIN_TITLES as MEMORY_TITLES
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
from sb.present.kind import Column
from sb.present.overview import AtWork
from sb.present.recovery import RECOVERY
from sb.present.runs import RUN, UsedRun
from sb.present.usage import session_cost
from sb.store.records.store import RecordStore

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


def _table(columns: Sequence[Column], rows: Sequence[Row], total: int) -> PlainScreen:
    return PlainScreen(tuple(column.title for column in columns), [row.texts for row in rows], total)


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


def _approvals(records: Records) -> PlainScreen:
    queue = Approvals(records.log(), records.authority())
    numbers, now = queue.numbers(states=OPEN), queue.now()
    found = queue.numbered(numbers[:MOST_ROWS])
    items = [found[number] for number in numbers[:MOST_ROWS] if number in found]
    origins = call_origins(queue.log, {item.run_id for item in items})
    shown = (
        Request(queue.disclose(item), origins.get(item.run_id, CallOrigin()).project_name) for item in items
    )
    rows = [row_of(REQUEST, item, now, "plain").texts for item in shown]
    return PlainScreen(REQUEST.titles("plain"), rows, len(numbers))


def _contracts(records: Records) -> PlainScreen:
    entries = ordered(records.baselines("rows").entries())
    now = int(records.clock.now() * 1e6)
    rows = [row_of(CONTRACT, entry, now, "plain").texts for entry in entries]
    return PlainScreen(CONTRACT.titles("plain"), rows, len(entries))


def _recovery(records: Records) -> PlainScreen:
    found, now = listed(records.log(), OPEN_VIEW), int(records.clock.now() * 1e6)
    rows = [row_of(RECOVERY, item, now, "plain").texts for item in found.items]
    return PlainScreen(RECOVERY.titles("plain"), rows, found.counts[OPEN_VIEW])


def _runs(records: Records) -> PlainScreen:
    firsts = first_events(records.log(), dry_runs=False)
    log, now = records.log(), int(records.clock.now() * MICROSECONDS)
    tallies = RunTallies(log)
    used = (
        UsedRun(run, *session_cost(records.config, run.run_id), tallies.of(run.run_id))
        for run in runs_at(log, firsts[:MOST_ROWS]).values()
    )
    rows = [row_of(RUN, it, now, "plain").texts for it in used]
    return PlainScreen(RUN.titles("plain"), rows, len(firsts))


def _log(records: Records) -> PlainScreen:
    log = records.log()
    newest = log.head().seq
    rows = event_rows(log, range(newest, max(newest - MOST_ROWS, 0), -1))
    return PlainScreen(EVENT.titles("list"), [row.texts for row in rows.values()], newest)


def _memory(records: Records) -> PlainScreen:
    log = records.log()
    newest, _ = RecordStore(log.database).head()
    numbers = range(newest, max(newest - MOST_ROWS, 0), -1)
    found = memory_rows(log, numbers, ())
    rows = [found[number].texts for number in numbers if number in found]
    return PlainScreen(MEMORY_TITLES, rows, newest)


def _checkpoints(records: Records) -> PlainScreen:
    from sb.screens.state.checkpoints import listed as listed_checkpoints

    from sb.present.checkpoints import CHECKPOINT

    found = listed_checkpoints(records.present("rows"))
    now = int(records.clock.now() * MICROSECONDS)
    rows = [row_of(CHECKPOINT, it, now, "plain").texts for it in found[:MOST_ROWS]]
    return PlainScreen(CHECKPOINT.titles("plain"), rows, len(found))


def _evals(records: Records) -> PlainScreen:
    from sb.screens.state.evals import PLAIN_TITLES, Saved, read_saved, row_of, suite_nodes

    from sb.evals.shelf import EvalShelf  # with the suites' modules, for which no other screen need wait

    saved = read_saved(EvalShelf(records.config.home.evals), Saved())
    nodes, now = suite_nodes(saved, frozenset(), ""), int(records.clock.now() * MICROSECONDS)
    rows = [_without(2, row_of(saved, node, frozenset(), now)) for node in nodes]
    return PlainScreen(PLAIN_TITLES, rows[:MOST_ROWS], len(rows))


def _agents(records: Records) -> PlainScreen:
    seen = read_agents(records)
    rows = [row_of(AGENT, line, 0, "plain").texts for line in seen.agents]
    return PlainScreen(AGENT.titles("plain"), rows, seen.seen)


def _without(column: int, row: Row) -> tuple[str, ...]:
    """The texts of a row but for one: a sparkline has none, and what a tool does takes the room of the others."""
    return row.texts[:column] + row.texts[column + 1 :]


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
