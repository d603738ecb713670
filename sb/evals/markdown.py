"""Report a run of evals as Markdown, for job summaries and pull requests."""

from __future__ import annotations

from collections.abc import Sequence

from sb.base.secrets.redaction import one_line
from sb.base.text import counted
from sb.evals.comparison import CaseChange, Comparison, GateResult
from sb.evals.results import CaseResult, EvalRun
from sb.evals.summary import RunSummary, command_again, summary
from sb.present.reports import markdown_literal, markdown_table

_LONGEST_LINE = 300  # characters of a failure
_MOST_FAILURES = 100  # rows


def render(run: EvalRun, decided: GateResult, comparison: Comparison | None = None) -> str:
    """The verdict, what is worse than the baseline and what changed beside it, and each failing case with the command
    that runs it again."""
    short = summary(run)
    parts = ["# Agent evals", _verdict(short, decided)]
    if comparison is not None:
        parts += _compared(comparison)
    failing = [result for result in run.results if not result.holds]
    if failing:
        parts += ["## Failing", _failures(failing, run.agent)]
    return "\n\n".join(parts) + "\n"


def _verdict(run: RunSummary, decided: GateResult) -> str:
    counting = [case for case in run.cases if case.counts]
    passing = sum(case.holds for case in counting)
    word = "failed" if decided.exit_code else "passed"
    head = f"**{word}** · {passing} of {counted(len(counting), 'case')} hold · agent {markdown_literal(run.agent)}"
    return "\n".join([head, *(f"- {markdown_literal(reason)}" for reason in decided.reasons)])


def _compared(comparison: Comparison) -> list[str]:
    parts = [
        f"Beside run {markdown_literal(comparison.before.id)} of {markdown_literal(comparison.before.agent)}."
    ]
    for title, changes in (
        ("Worse than before", comparison.regressed),
        ("Removed", comparison.removed),
        ("Skipped", comparison.skipped),
        ("Fixed", comparison.fixed),
        ("New", comparison.added),
    ):
        if changes:
            parts += [f"## {title}", _changes(changes)]
    if comparison.release:
        rows = [[part.part, part.before.version, part.after.version] for part in comparison.release]
        parts += ["## What changed in the release", markdown_table(["Part", "Before", "Now"], rows)]
    return parts


def _changes(changes: Sequence[CaseChange]) -> str:
    rows = [[change.case.suite, change.case.id, change.why] for change in changes[:_MOST_FAILURES]]
    return _cut(markdown_table(["Suite", "Case", ""], rows), len(changes))


def _failures(failing: Sequence[CaseResult], agent: str) -> str:
    rows = [
        [result.suite, result.id, _why(result), command_again([result.suite], agent, result.id)]
        for result in failing[:_MOST_FAILURES]
    ]
    return _cut(markdown_table(["Suite", "Case", "Why", "Run it again"], rows), len(failing))


def _cut(table: str, count: int) -> str:
    return table if count <= _MOST_FAILURES else f"{table}\n\nand {count - _MOST_FAILURES} more"


def _why(result: CaseResult) -> str:
    lines = [line for attempt in result.attempts for line in attempt.failures]
    attempts = (
        f"{result.passes} of {len(result.attempts)} attempts passed: " if len(result.attempts) > 1 else ""
    )
    return one_line(attempts + (lines[0] if lines else result.verdict), _LONGEST_LINE)
