"""Sessions, their turns and calls: as a tree of rows, and each in full."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from sb.screens.state.document import Field, fields_of, value_text
from sb.screens.state.listing import INDENT, Row, row_of
from sb.screens.state.records import Records

from sb.base.fitting import Cut, relative_age
from sb.base.sources import MICROSECONDS
from sb.base.text import counted
from sb.base.values.frozen import frozen
from sb.kernel.reversibility.mutations import MutationStore
from sb.kernel.review.activity import RunTallies
from sb.kernel.review.calls import (
    CallFilter,
    CallRecord,
    RefusedFilter,
    Turn,
    all_calls,
    calls_at,
    next_refused,
    run_calls,
    run_turns,
)
from sb.kernel.review.runs import (
    Run,
    first_event,
    first_events,
    project_name,
    run_of,
    runs_at,
)
from sb.log.event_log import EventLog
from sb.log.search import Clause, events_at
from sb.present import events
from sb.present.agents import counts_text
from sb.present.events import WORD, call_line
from sb.present.kind import Cell, Column
from sb.present.runs import RUN, UsedRun, number, release_text
from sb.present.times import date_and_time, when
from sb.present.usage import session_cost, tokens_line

TREE_COLUMNS = tuple(  # of the lines of a tree, by how far each stands in
    (Column(WORD + depth * len(INDENT)), Column(cut=Cut.MIDDLE), Column(6, tone="soft", right=True))
    for depth in range(3)
)
NEXT_CALLS = 3
NEWEST_CALLS, LOOKED_AT = 12, 20_000  # calls below a tool or an agent; events among which they are
SESSION, TURN, CALL = KINDS = range(3)


class Node(NamedTuple):
    """A line of the tree.

    Args:
        first: the number of the first event of a session or a call; of a turn, that of its first call.
    """

    kind: int
    first: int

    @property
    def key(self) -> int:
        """Its key in the list."""
        return self.first * len(KINDS) + self.kind


def node_of(key: int) -> Node:
    """The line with a key."""
    return Node(key % len(KINDS), key // len(KINDS))


@frozen
class Tree:
    """Sessions, newest first, and what those that are open hold.

    Args:
        read_to: the log's newest row when they were read.
        open: lines that show their branches. turns: of each open session, newest first.
    """

    sessions: array[int] = field(default_factory=lambda: array("q"))
    read_to: int = 0
    open: frozenset[Node] = frozenset()
    turns: dict[int, list[Turn]] = field(default_factory=dict)

    def keys(self) -> array[int]:
        """The keys of all lines."""
        return array("q", self._keys())

    def _keys(self) -> Iterator[int]:
        for first in self.sessions:
            yield Node(SESSION, first).key
            turns = self.turns.get(first, ())
            for turn in turns:
                node = turn_node(turn)
                if len(turns) > 1:
                    yield node.key
                if len(turns) == 1 or node in self.open:
                    yield from (Node(CALL, call).key for call in turn.calls)

    def turn(self, first: int) -> Turn | None:
        """The turn with this first call."""
        return next(
            (turn for turns in self.turns.values() for turn in turns if turn.calls[-1] == first), None
        )

    @cached_property
    def in_turns(self) -> frozenset[int]:
        """The first events of the calls that stand below a turn."""
        several = (turns for turns in self.turns.values() if len(turns) > 1)
        return frozenset(call for turns in several for turn in turns for call in turn.calls)


def turn_node(turn: Turn) -> Node:
    """The line of a turn."""
    return Node(TURN, turn.calls[-1])


def grown(log: EventLog, tree: Tree, wanted: Clause, opened: Collection[Node]) -> Tree:
    """The tree with what was written since it was read, and these lines open; a new one opens its newest line."""
    newest = log.head().seq
    found = first_events(log, after=tree.read_to, wanted=wanted, dry_runs=False)
    sessions = array("q", sorted({*found, *tree.sessions}, reverse=True)) if found else tree.sessions
    fresh = not tree.read_to and not opened
    open_nodes = {Node(SESSION, sessions[0])} if fresh and sessions else set(opened)
    runs = runs_at(log, [node.first for node in open_nodes if node.kind == SESSION])
    turns = {first: run_turns(log, run.run_id) for first, run in runs.items()}
    if fresh:
        open_nodes |= {turn_node(turn) for found_turns in turns.values() for turn in found_turns[:1]}
    return Tree(
        sessions, max(newest, found[0] if found else 0), frozenset(open_nodes), turns
    )  # a run may have begun in between


class RunRows:
    """Reads the rows of the tree; counts of a run are kept, so that only what was added is counted."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._lock = threading.Lock()
        self._tallies: RunTallies | None = None

    def rows(self, tree: Tree, keys: Sequence[int]) -> dict[int, Row]:
        """The lines with these keys."""
        log, now = self._records.log("rows of runs"), self._now()
        nodes = [node_of(key) for key in keys]
        rows = {}
        with self._lock:
            if self._tallies is None or self._tallies.log is not log:
                self._tallies = RunTallies(log)
            for first, run in runs_at(log, [node.first for node in nodes if node.kind == SESSION]).items():
                node = Node(SESSION, first)
                rows[node.key] = self._session(run, node in tree.open, now)
        calls = calls_at(log, [node.first for node in nodes if node.kind == CALL])
        rows |= {
            Node(CALL, first).key: _branch(call, 2 if first in tree.in_turns else 1, now)
            for first, call in calls.items()
        }
        for node in nodes:
            turn = tree.turn(node.first) if node.kind == TURN else None
            if turn is not None:
                rows[node.key] = _turn(turn, node in tree.open, now)
        return rows

    def _session(self, run: Run, unfolded: bool, now: int) -> Row:
        assert self._tallies is not None
        tally, used = self._tallies.of(run.run_id), session_cost(self._records.config, run.run_id)
        cells = RUN.cells(UsedRun(run, *used, tally), now, "list")
        return Row(cells, fold=unfolded if tally.calls else None)

    def _now(self) -> int:
        return int(self._records.clock.now() * MICROSECONDS)


def _turn(turn: Turn, unfolded: bool, now: int) -> Row:
    name = f"turn {turn.number}" if turn.number else "before the first turn"
    age = Cell(relative_age(turn.at, now), "soft")
    cells = (Cell(name, "soft"), number(len(turn.calls)), number(turn.refused, "danger"), "", age)
    return Row(cells, depth=1, fold=unfolded)


def _branch(call: CallRecord, depth: int, now: int) -> Row:
    return Row(events.CALL.cells(call_line(call), now, "branch"), depth=depth, columns=TREE_COLUMNS[depth])


def call_rows(log: EventLog, seqs: Sequence[int]) -> dict[int, Row]:
    """Calls by their first events, in a list of calls alone."""
    now = int(log.clock.now() * MICROSECONDS)
    return {
        first: row_of(events.CALL, call_line(call), now) for first, call in calls_at(log, list(seqs)).items()
    }


def newest_calls(log: EventLog, title: str, now: int, *, agent: str = "", tool: str = "") -> list[Field]:
    """A heading and the newest calls of an agent, or of a tool, a line each; [] where there is none.

    Not in all of the log: of what was called long ago, Activity knows.
    """
    wanted = {"agent": agent, "tool_id": tool}
    of = {column: value for column, value in wanted.items() if value}
    clause = " AND ".join(f"{column} = ?" for column in of), tuple(of.values())
    newest, found = log.head().seq, array("q")
    after = max(newest - LOOKED_AT, 0)
    for step in all_calls(log, CallFilter(more=clause), newest=newest, after=after):
        found.extend(step.seqs)
        if len(found) >= NEWEST_CALLS:
            break
    lines = [call_line(call) for _, call in sorted(calls_at(log, found[:NEWEST_CALLS]).items(), reverse=True)]
    fields = [
        Field(
            relative_age(line.at, now),
            " · ".join(
                [line.verdict.word, line.object.removeprefix(f"{tool} "), *([] if agent else [line.agent])]
            ),
            tone=line.verdict.tone if line.verdict.tone == "danger" else "",
        )
        for line in lines
    ]
    return [Field(title), *fields] if fields else []


def document(records: Records, tree: Tree, node: Node) -> list[Field]:
    """A line of the tree in full; called in a worker."""
    log, now = records.log("run"), int(records.clock.now() * MICROSECONDS)
    if node.kind == CALL:
        call = calls_at(log, [node.first]).get(node.first)
        return _call_document(log, call, now) if call else []
    if node.kind == TURN:
        turn = tree.turn(node.first)
        return _turn_document(turn) if turn else []
    run = runs_at(log, [node.first]).get(node.first)
    return _session_document(records, log, run) if run else []


def _session_document(records: Records, log: EventLog, run: Run) -> list[Field]:
    tally = RunTallies(log).of(run.run_id)
    fields = [Field(UsedRun(run).intent or " in ".join(filter(None, (run.agent, project_name(run.project)))))]
    if run.error:
        fields.append(Field("Failed", run.error, tone="danger"))
    if run.disputed_claims:
        fields.append(Field("Not supported by its calls", "; ".join(run.disputed_claims), tone="danger"))
    fields += [Field("Agent", run.agent), Field("Calls", ", ".join(text for text, _ in counts_text(tally)))]
    used = tokens_line(*session_cost(records.config, run.run_id))
    fields += [Field("Used", used)] if used else []
    fields += [
        Field("Began", date_and_time(run.started_at)),
        Field("Last event", date_and_time(run.last_at)),
    ]
    where = {"Host": run.host, "Project": run.project}
    fields += fields_of({name: value for name, value in where.items() if value})
    fields += [Field("Release", release_text(run))] if run.release else []
    fields += [Field("session", run.session, folded=True)] if run.session else []
    return [*fields, Field("run", run.run_id, folded=True)]


def _turn_document(turn: Turn) -> list[Field]:
    fields = [Field(f"Turn {turn.number}" if turn.number else "Before the first turn")]
    fields += [Field("Began", date_and_time(turn.at)), Field("Calls", counted(len(turn.calls), "call"))]
    return (
        [*fields, Field("Refused", counted(turn.refused, "call"), tone="danger")] if turn.refused else fields
    )


def _call_document(log: EventLog, call: CallRecord, now: int) -> list[Field]:
    line, payload = call_line(call), call.payload
    word = line.verdict.word.capitalize()
    fields = [
        Field(line.object),
        Field("", f"{word}: {line.why}" if line.why else word, tone=line.verdict.tone),
    ]
    rule, run = payload.get("rule"), run_of(log, call.run_id)
    fields += [Field("Rule", str(rule))] if rule else []
    fields += [Field("When", when(call.at, now)), Field("Agent", line.agent)]
    fields += [Field("Took", line.took)] if line.took else []
    where = {"Host": run.host, "Project": run.project} if run else {}
    fields += fields_of({name: value for name, value in where.items() if value})
    following = list(run_calls(log, call.run_id, after=call.first))[-NEXT_CALLS:][::-1]
    after = [call_line(found) for first, found in sorted(calls_at(log, following).items())]
    if after:
        fields.append(Field("What the agent did next"))
        fields += [Field(item.verdict.word, item.object) for item in after]
    if isinstance(call.args, dict) and call.args:
        fields += [Field("Arguments, redacted"), *fields_of(call.args)]
    if "result" in payload:
        fields += [Field("Result, redacted"), Field("", value_text(payload["result"]))]
    ids = {"tool": call.tool_id, "call": call.call_id, "run": call.run_id}
    ids |= {"session": run.session} if run and run.session else {}
    return [*fields, *(Field(name, value, folded=True) for name, value in ids.items())]


def refused_call(log: EventLog, clause: Clause, start: int, by: int) -> tuple[int, int] | None:
    """The nearest call that was refused or is unknown; from the end on if there is none.

    Returns its event that says so, and its first one.
    """
    wanted, head = RefusedFilter(clause), log.head().seq
    for seq in (start, head + 1 if by > 0 else 0):
        found = next_refused(log, wanted, seq, newer=by < 0)
        event = events_at(log, [found]).get(found) if found else None
        if event is not None:
            begun = next(log.events(run_id=event.subject.run_id, call_id=event.subject.call_id), event)
            return event.seq, begun.seq
    return None


def calls_of(log: EventLog, tree: Tree) -> Clause:
    """The condition on events of the runs in a tree."""
    firsts = json.dumps([log.first_id + first for first in tree.sessions])
    return (
        "run_id IN (SELECT run_id FROM events WHERE id IN (SELECT value FROM json_each(?)))",
        (firsts,),
    )


def start_of(log: EventLog, node: Node | None, by: int) -> int:
    """The row from which on to look: of a session, behind its newest call; to newer ones, a call's newest event."""
    if node is None:
        return log.head().seq + 1
    if node.kind == CALL and by < 0:
        event = events_at(log, [node.first]).get(node.first)
        events = log.events(run_id=event.subject.run_id, call_id=event.subject.call_id) if event else ()
        return max((event.seq for event in events), default=node.first)
    run = runs_at(log, [node.first]).get(node.first) if node.kind == SESSION else None
    newest = run_calls(log, run.run_id, limit=1) if run else ()
    return newest[0] + 1 if newest else node.first


def path_to(log: EventLog, call: int) -> list[Node]:
    """The session and the turn that hold a call."""
    event = events_at(log, [call]).get(call)
    first = first_event(log, event.subject.run_id) if event else None
    if event is None or first is None:
        return []
    turns = [turn_node(turn) for turn in run_turns(log, event.subject.run_id) if call in turn.calls]
    return [Node(SESSION, first), *turns]


def undone_of(log: EventLog, node: Node) -> tuple[str, str, str]:
    """The agent, the run that can be undone whole, and the call; "" for each that the line is not about."""
    if node.kind == SESSION:
        run = runs_at(log, [node.first]).get(node.first)
        changed = run is not None and bool(MutationStore(log).of_run(run.run_id))
        return (run.agent, run.run_id, "") if run and changed else ("", "", "")
    call = calls_at(log, [node.first]).get(node.first) if node.kind == CALL else None
    return (call.agent, "", call.call_id) if call else ("", "", "")
