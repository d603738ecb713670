"""Saved runs of evals: suites, runs and cases as rows, and each in full."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from sb.screens.state.document import Document, Field
from sb.screens.state.listing import Row

from sb.base.fitting import Cut
from sb.base.sources import MICROSECONDS, micros
from sb.base.text import counted, shorten
from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.evals.alignment import ALSO, EXTRA, FORBIDDEN, MISSING, OK, WRONG, AlignedStep, aligned
from sb.evals.comparison import CaseChange, Comparison, compare
from sb.evals.results import CaseVerdict
from sb.evals.shelf import EvalShelf
from sb.evals.summary import CaseSummary, RunSummary, command_again
from sb.operator.filters import EVALS, Filter
from sb.present.kind import Cell, Column, Kind
from sb.present.kind import Field as Shown
from sb.present.states import DANGER, SOFT, WARN, State
from sb.present.times import ago, date_and_time

TREND = 6  # runs of the sparkline
_LONGEST = 2_000  # characters of an answer
_MOST_LISTED = 20
_TONES = {OK: "ok", WRONG: "danger", MISSING: "danger", EXTRA: "danger", FORBIDDEN: "danger", ALSO: "soft"}


VERDICTS = {  # `unexpected_pass` would not fit its column
    CaseVerdict.PASSED: State("passed"),
    CaseVerdict.FAILED: State("failed", DANGER),
    CaseVerdict.FLAKY: State("flaky", WARN),
    CaseVerdict.ERROR: State("error", DANGER),
    CaseVerdict.SKIPPED: State("skipped"),
    CaseVerdict.EXPECTED: State("xfail"),
    CaseVerdict.UNEXPECTED: State("xpass", WARN),
}


@frozen
class EvalRun:
    """A saved run, or the cases of one suite in it.

    Args:
        suite: "" for the whole run.
        trend: the pass rates of the suite's newest runs in percent, the oldest first, each with whether a case failed.
    """

    run: RunSummary
    suite: str = ""
    trend: tuple[tuple[int, bool], ...] = ()

    @property
    def cases(self) -> list[CaseSummary]:
        """The cases that it is about."""
        return [case for case in self.run.cases if not self.suite or case.suite == self.suite]


def _state(about: EvalRun, now: int) -> State:
    verdicts = {case.verdict for case in about.cases if not case.holds}
    for verdict in (CaseVerdict.FAILED, CaseVerdict.ERROR):
        if verdict in verdicts:
            return State(VERDICTS[verdict].word, DANGER, badge=True)
    if verdicts or any(case.verdict is CaseVerdict.FLAKY for case in about.cases):
        return State("flaky", WARN, badge=True)
    return State("cut short", WARN) if about.run.interrupted else State("ok")


def _passed(about: EvalRun, now: int) -> Cell:
    counting = [case.holds for case in about.cases if case.counts]
    return Cell(f"{sum(counting)} of {len(counting)}", "" if all(counting) else DANGER)


def _cost(about: EvalRun, now: int) -> str:
    costs = [case.cost_cents for case in about.cases if case.cost_cents is not None]
    return f"${sum(costs) / 100:.2f}" if costs else ""


def _bars(about: EvalRun, now: int) -> Cell:
    return Cell("", trend=tuple((max(rate, 1), alarm) for rate, alarm in about.trend))  # 0 % has a bar too


EVAL = Kind[EvalRun](
    Shown("state", _state, Column(11, badges=True)),
    Shown("suite", lambda it, now: it.suite, Column(cut=Cut.PATH)),
    Shown("run", lambda it, now: f"{it.run.agent}  {', '.join(it.run.suites)}", Column(cut=Cut.MIDDLE)),
    Shown("trend", _bars, Column(6, 40)),
    Shown("passed", _passed, Column(9, right=True, title="passed")),
    Shown("cost", _cost, Column(7, 50, SOFT, right=True, title="cost")),
    Shown("age", lambda it, now: ago(micros(it.run.at), now), Column(4, tone=SOFT, right=True, title="age")),
    faces={
        "suite": "state,suite,trend,passed,cost,age",
        "run": "state,run,passed,cost,age",
        "plain": "state,suite,passed,cost,age",
    },
)
EVAL_CASE = Kind[CaseSummary](
    Shown("verdict", lambda it, now: VERDICTS[it.verdict], Column(9)),
    Shown("case", lambda it, now: it.id, Column(cut=Cut.MIDDLE)),
    Shown("of suite", lambda it, now: f"{it.suite}: {it.id}", Column(cut=Cut.MIDDLE)),
    Shown(
        "passes",
        lambda it, now: f"{it.passes} of {it.runs}" if it.runs > 1 else "",
        Column(7, tone=SOFT, right=True),
    ),
    Shown(
        "score",
        lambda it, now: "" if it.score is None else f"{it.score:.2f}",
        Column(6, tone=SOFT, right=True),
    ),
    faces={"suite": "verdict,case,passes,score", "run": "verdict,of suite,passes,score"},
)


class Node(NamedTuple):
    """A line of the list: a suite or a run, and below it a case.

    Args:
        suite: "" for a run. run: the run's id; of a suite, "" for its newest one. case: "" for all of its cases.
    """

    suite: str
    run: str = ""
    case: str = ""


@frozen
class Saved:
    """The saved runs of a home, the newest first.

    Args:
        changed: when their folder was, in nanoseconds since the epoch.
    """

    runs: tuple[RunSummary, ...] = ()
    changed: int = 0

    @cached_property
    def suites(self) -> dict[str, list[RunSummary]]:
        """The runs of each suite, suites in the order of their newest run."""
        found: dict[str, list[RunSummary]] = {}
        for run in self.runs:
            for name in run.suites or dict.fromkeys(case.suite for case in run.cases):
                found.setdefault(name, []).append(run)
        return found

    def run(self, node: Node) -> RunSummary | None:
        """The run that a line is about."""
        if node.run:
            return next((run for run in self.runs if run.id == node.run), None)
        return next(iter(self.suites.get(node.suite, ())), None)

    def before(self, run: RunSummary, suite: str) -> RunSummary | None:
        """The run before it by the same agent, of the same suites or of this one."""
        older = self.runs[self.runs.index(run) + 1 :]
        same = (item for item in older if item.agent == run.agent and not item.interrupted)
        if suite:
            return next((item for item in same if suite in item.suites), None)
        return next((item for item in same if item.suites.keys() == run.suites.keys()), None)


def read_saved(shelf: EvalShelf, known: Saved) -> Saved:
    """The saved runs; called in a worker. Nothing is read while the folder is unchanged."""
    try:
        changed = shelf.folder.stat().st_mtime_ns
    except OSError:  # nothing was ever saved
        return Saved()
    return known if changed == known.changed else Saved(tuple(shelf.summaries()), changed)


def suite_nodes(saved: Saved, opened: frozenset[Node], words: str) -> list[Node]:
    """The lines of the suites that fit, with the cases of those that are open, failing ones first."""
    nodes, fits = list[Node](), Filter.parse(words).records(EVALS)
    for name, runs in saved.suites.items():
        node = Node(name)
        cases = [case for case in _worst_first(runs[0], name) if fits({}, _case_text(name, case))]
        if cases or fits({}, name):
            nodes.append(node)
            nodes += [Node(name, "", case.id) for case in cases if node in opened or words]
    return nodes


def run_nodes(saved: Saved, opened: frozenset[Node], words: str) -> list[Node]:
    """The lines of the runs that fit, with the cases of those that are open that do not hold."""
    nodes, fits = list[Node](), Filter.parse(words).records(EVALS)
    for run in saved.runs:
        node = Node("", run.id)
        if fits({}, f"{run.agent} {run.id} {' '.join(run.suites)}"):
            nodes.append(node)
            failing = (case for case in run.cases if not case.holds)
            nodes += [Node(case.suite, run.id, case.id) for case in failing if node in opened]
    return nodes


def row_of(saved: Saved, node: Node, opened: frozenset[Node], now: int) -> Row:
    """One line of the list."""
    run, face = saved.run(node), "run" if node.run else "suite"
    if run is None:
        return Row(("", node.suite or node.run))
    if node.case:
        case = _case_of(run, node)
        cells = EVAL_CASE.cells(case, now, face) if case else (Cell(""), Cell("not in this run"))
        return Row(cells, depth=1, columns=EVAL_CASE.columns[face])
    shown = EvalRun(run, node.suite, _trend(saved, node.suite))
    return Row(EVAL.cells(shown, now, face), fold=node in opened, columns=EVAL.columns[face])


def _trend(saved: Saved, suite: str) -> tuple[tuple[int, bool], ...]:
    """The pass rates of the newest runs of a suite in percent, the oldest first."""
    rates = []
    for run in saved.suites.get(suite, ())[:TREND]:
        counting = [case for case in run.cases if case.suite == suite and case.counts]
        if counting:
            passed = sum(case.holds for case in counting)
            rates.append((100 * passed // len(counting), passed < len(counting)))
    return tuple(reversed(rates))


def document(saved: Saved, shelf: EvalShelf, node: Node | None) -> Document:
    """A line in full; called in a worker.

    Raises:
        SBError: the run's file cannot be read.
    """
    run = saved.run(node) if node else None
    if node is None or run is None:
        return ()
    if node.case:
        return list(_case_fields(shelf.report(run.id), node))
    return [*_run_fields(saved, run, node), *_change_fields(saved, run, node.suite)]


def _run_fields(saved: Saved, run: RunSummary, node: Node) -> Iterator[Field]:
    cases = [case for case in run.cases if not node.suite or case.suite == node.suite]
    yield Field(node.suite or run.agent)
    counts = {look.word: sum(case.verdict is known for case in cases) for known, look in VERDICTS.items()}
    yield Field("Cases", ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none")
    if node.suite:
        rates = [f"{rate}" for rate, _ in _trend(saved, node.suite)]
        yield Field("Trend", f"{' '.join(rates)} % of the cases hold, the newest last")
        yield Field("Agent", run.agent)
    else:
        yield Field("Suites", ", ".join(run.suites))
    yield Field("When", date_and_time(int(run.at * MICROSECONDS)))
    if run.interrupted:
        yield Field("", "It was stopped before its end.", tone="warn")
    failing = [case for case in _worst_first(run, node.suite) if not case.holds]
    if failing:
        yield Field("Does not hold")
        for case in failing[:_MOST_LISTED]:
            look = VERDICTS[case.verdict]
            yield Field(look.word, case.id if node.suite else f"{case.suite}: {case.id}", tone=look.tone)
        if len(failing) > _MOST_LISTED:
            yield Field("", f"and {counted(len(failing) - _MOST_LISTED, 'case')} more")
    again = command_again([node.suite] if node.suite else run.suites, run.agent)
    yield Field("Again", again, folded=True)
    yield Field("run", run.id, folded=True)


def _change_fields(saved: Saved, run: RunSummary, suite: str) -> Iterator[Field]:
    """The differences from the run before."""
    before = saved.before(run, suite)
    if before is None:
        return
    try:
        found = compare(before, run)
    except UsageError:  # a release that cannot be compared says nothing of the cases
        return
    changed = list(_changes(found, suite))
    yield Field(f"Since the run of {date_and_time(int(before.at * MICROSECONDS))}")
    yield from changed or (Field("", "no case changed"),)
    for part in found.release:
        yield Field("release", f"{part.part}: changed", tone="info")


def _changes(found: Comparison, suite: str) -> Iterator[Field]:
    groups: tuple[tuple[str, str, tuple[CaseChange, ...]], ...] = (
        ("worse", "danger", found.regressed),
        ("fixed", "ok", found.fixed),
        ("new", "info", found.added),
        ("removed", "warn", found.removed),
    )
    for word, tone, changes in groups:
        mine = [change for change in changes if not suite or change.case.suite == suite]
        for change in mine[:_MOST_LISTED]:
            yield Field(word, f"{change.case.id}: {change.why}", tone=tone)
        if len(mine) > _MOST_LISTED:
            yield Field(word, f"and {counted(len(mine) - _MOST_LISTED, 'case')} more", tone=tone)


def _case_fields(report: Mapping[str, Any], node: Node) -> Iterator[Field]:
    case = next(
        (item for item in report["cases"] if (item["suite"], item["id"]) == (node.suite, node.case)), None
    )
    if case is None:
        yield Field("not in this run")
        return
    look = VERDICTS[CaseVerdict(case["verdict"])]
    yield Field(node.case)
    runs = f", {case['passes']} of {case['runs']} attempts" if case["runs"] > 1 else ""
    score = "" if case["score"] is None else f", score {case['score']:.2f}"
    yield Field(look.word.capitalize(), f"{node.suite}{runs}{score}", tone=look.tone)
    if case.get("reason"):
        yield Field("Reason", case["reason"])
    attempts = case.get("attempts") or ()
    shown = next(
        (attempt for attempt in attempts if not attempt["passed"]), attempts[0] if attempts else None
    )
    if shown is None:
        return
    if shown["error"]:
        yield Field("Error", shown["error"], tone="danger")
    for failure in shown["failures"]:
        yield Field("", failure, tone="danger")
    yield from _step_fields(case.get("trajectory"), shown)
    yield Field("Answer")
    yield Field("", shorten(shown["output"], _LONGEST) or "(empty)")
    if shown["log"]:
        yield Field("log", shown["log"], folded=True)


def _step_fields(trajectory: Mapping[str, Any] | None, attempt: Mapping[str, Any]) -> Iterator[Field]:
    lines = aligned(trajectory, attempt)
    if not lines:
        yield Field("No calls")
        return
    yield Field(f"Expected and recorded, {trajectory['mode']}" if trajectory else "Calls")
    for line in lines:
        yield from _line_fields(line, graded=trajectory is not None)


def _line_fields(line: AlignedStep, *, graded: bool) -> Iterator[Field]:
    """A step and its call: one line where they agree or one of them is missing, else one below the other."""
    tone = _TONES[line.word] if graded and line.word != OK else ""
    first = line.recorded if line.expected is None or line.word == OK else line.expected
    yield Field(line.word if graded else "", _call_text(first or {}), tone=tone)
    if line.word == WRONG and line.recorded is not None:
        yield Field("  recorded", _call_text(line.recorded), tone=tone)


def _call_text(call: Mapping[str, Any]) -> str:
    """A tool with its arguments, and whether the call failed."""
    args = call.get("args") or {}
    given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in args.items())
    failed = " did not succeed" if call.get("success") is False else ""
    must = " and succeeds" if call.get("require_success") else ""
    return f"{call.get('tool')}({shorten(given, 300)}){failed}{must}"


def _case_of(run: RunSummary, node: Node) -> CaseSummary | None:
    return run.by_key.get((node.suite, node.case))


def _worst_first(run: RunSummary, suite: str) -> list[CaseSummary]:
    cases = [case for case in run.cases if not suite or case.suite == suite]
    return sorted(cases, key=lambda case: case.holds)


def _case_text(suite: str, case: CaseSummary) -> str:
    return f"{suite} {case.id} {VERDICTS[case.verdict].word}"
