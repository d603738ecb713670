"""Saved runs of evals: suites, runs and cases as rows, and each in full."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from sb.screens.state.document import Document, Field
from sb.screens.state.listing import Row

from sb.base.fitting import Cut, relative_age
from sb.base.sources import MICROSECONDS
from sb.base.text import counted, shorten
from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.evals.alignment import ALSO, EXTRA, FORBIDDEN, MISSING, OK, WRONG, AlignedStep, aligned
from sb.evals.comparison import CaseChange, Comparison, compare
from sb.evals.results import CaseVerdict
from sb.evals.shelf import EvalShelf
from sb.evals.summary import CaseSummary, RunSummary, command_again
from sb.present.kind import Cell, Column
from sb.present.times import date_and_time

SUITE_COLUMNS = (
    Column(11, badges=True),
    Column(cut=Cut.PATH),
    Column(6, least=40),
    Column(9, right=True, title="passed"),
    Column(7, right=True, least=50, title="cost"),
    Column(4, right=True, title="age"),
)
RUN_COLUMNS = (SUITE_COLUMNS[0], Column(cut=Cut.MIDDLE), *SUITE_COLUMNS[3:])
CASE_COLUMNS = (
    Column(9),
    Column(cut=Cut.MIDDLE),
    Column(7, right=True),
    Column(6, right=True),
)
PLAIN_TITLES = ("state", "suite", "passed", "cost", "age")
TREND = 6  # runs of the sparkline
_LONGEST = 2_000  # characters of an answer
_MOST_LISTED = 20
_WORDS = {  # of a verdict, with its tone; `unexpected_pass` would not fit its column
    CaseVerdict.PASSED: ("passed", "soft"),
    CaseVerdict.FAILED: ("failed", "danger"),
    CaseVerdict.FLAKY: ("flaky", "warn"),
    CaseVerdict.ERROR: ("error", "danger"),
    CaseVerdict.SKIPPED: ("skipped", "soft"),
    CaseVerdict.EXPECTED: ("xfail", "soft"),
    CaseVerdict.UNEXPECTED: ("xpass", "warn"),
}
_TONES = {OK: "ok", WRONG: "danger", MISSING: "danger", EXTRA: "danger", FORBIDDEN: "danger", ALSO: "soft"}


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
        same = (one for one in older if one.agent == run.agent and not one.interrupted)
        if suite:
            return next((one for one in same if suite in one.suites), None)
        return next((one for one in same if one.suites.keys() == run.suites.keys()), None)


def read_saved(shelf: EvalShelf, known: Saved) -> Saved:
    """The saved runs; called in a worker. Nothing is read while the folder is unchanged."""
    try:
        changed = shelf.folder.stat().st_mtime_ns
    except OSError:  # nothing was ever saved
        return Saved()
    return known if changed == known.changed else Saved(tuple(shelf.summaries()), changed)


def suite_nodes(saved: Saved, opened: frozenset[Node], words: str) -> list[Node]:
    """The lines of the suites that fit, with the cases of those that are open, failing ones first."""
    nodes: list[Node] = []
    for name, runs in saved.suites.items():
        node = Node(name)
        cases = [case for case in _worst_first(runs[0], name) if _fits(words, name, case)]
        if cases or _has_all(words, name):
            nodes.append(node)
            nodes += [Node(name, "", case.id) for case in cases if node in opened or words]
    return nodes


def run_nodes(saved: Saved, opened: frozenset[Node], words: str) -> list[Node]:
    """The lines of the runs that fit, with the cases of those that are open that do not hold."""
    nodes: list[Node] = []
    for run in saved.runs:
        node = Node("", run.id)
        if _has_all(words, f"{run.agent} {run.id} {' '.join(run.suites)}"):
            nodes.append(node)
            failing = (case for case in run.cases if not case.holds)
            nodes += [Node(case.suite, run.id, case.id) for case in failing if node in opened]
    return nodes


def row_of(saved: Saved, node: Node, opened: frozenset[Node], now: int) -> Row:
    """One line of the list."""
    run = saved.run(node)
    if run is None:
        return Row(("", node.suite or node.run))
    if node.case:
        return _case_row(_case_of(run, node), node.run != "")
    cases = [case for case in run.cases if not node.suite or case.suite == node.suite]
    holding, counting = sum(case.holds for case in cases if case.counts), sum(case.counts for case in cases)
    costs = [case.cost_cents for case in cases if case.cost_cents is not None]
    name = node.suite or f"{run.agent}  {', '.join(run.suites)}"
    cells = (
        _badge(run, cases),
        name,
        Cell(f"{holding} of {counting}", "" if holding == counting else "danger"),
        Cell(f"${sum(costs) / 100:.2f}" if costs else "", "soft"),
        Cell(relative_age(int(run.at * MICROSECONDS), now), "soft"),
    )
    if not node.suite:
        return Row(cells, fold=node in opened, columns=RUN_COLUMNS)
    # A run in which nothing held has a bar too.
    trend = Cell("", trend=tuple((max(rate, 1), alarm) for rate, alarm in _trend(saved, node.suite)))
    return Row((*cells[:2], trend, *cells[2:]), fold=node in opened)


def _badge(run: RunSummary, cases: Sequence[CaseSummary]) -> Cell:
    verdicts = {case.verdict for case in cases if not case.holds}
    if CaseVerdict.FAILED in verdicts:
        return Cell("failed", "danger", badge=True)
    if CaseVerdict.ERROR in verdicts:
        return Cell("error", "danger", badge=True)
    if verdicts or any(case.verdict is CaseVerdict.FLAKY for case in cases):
        return Cell("flaky", "warn", badge=True)
    return Cell("cut short", "warn") if run.interrupted else Cell("ok", "soft")


def _case_row(case: CaseSummary | None, with_suite: bool) -> Row:
    if case is None:
        return Row(("", "not in this run"), depth=1, columns=CASE_COLUMNS)
    word, tone = _WORDS[case.verdict]
    name = f"{case.suite}: {case.id}" if with_suite else case.id
    passes = f"{case.passes} of {case.runs}" if case.runs > 1 else ""
    score = "" if case.score is None else f"{case.score:.2f}"
    cells = (Cell(word, tone), name, Cell(passes, "soft"), Cell(score, "soft"))
    return Row(cells, depth=1, columns=CASE_COLUMNS)


def _trend(saved: Saved, suite: str) -> tuple[tuple[int, bool], ...]:
    """The pass rates of the newest runs of a suite in percent, the oldest first."""
    rates = []
    for run in saved.suites.get(suite, ())[:TREND]:
        counting = [case for case in run.cases if case.suite == suite and case.counts]
        if counting:
            held = sum(case.holds for case in counting)
            rates.append((100 * held // len(counting), held < len(counting)))
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
    counts = {word: sum(_WORDS[case.verdict][0] == word for case in cases) for word, _ in _WORDS.values()}
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
            word, tone = _WORDS[case.verdict]
            yield Field(word, case.id if node.suite else f"{case.suite}: {case.id}", tone=tone)
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
        (one for one in report["cases"] if (one["suite"], one["id"]) == (node.suite, node.case)), None
    )
    if case is None:
        yield Field("not in this run")
        return
    word, tone = _WORDS[CaseVerdict(case["verdict"])]
    yield Field(node.case)
    runs = f", {case['passes']} of {case['runs']} attempts" if case["runs"] > 1 else ""
    score = "" if case["score"] is None else f", score {case['score']:.2f}"
    yield Field(word.capitalize(), f"{node.suite}{runs}{score}", tone=tone)
    if case.get("reason"):
        yield Field("Reason", case["reason"])
    attempts = case.get("attempts") or ()
    shown = next((one for one in attempts if not one["passed"]), attempts[0] if attempts else None)
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


def _fits(words: str, suite: str, case: CaseSummary) -> bool:
    return _has_all(words, f"{suite} {case.id} {_WORDS[case.verdict][0]}")


def _has_all(words: str, text: str) -> bool:
    return all(word in text.lower() for word in words.lower().split())
