"""Report an audit on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from sb.base.text import plain
from sb.kernel.harness_audit import AuditReport, Comparison, ControlStatus, Grade

MARKS = {ControlStatus.PASS: "✓", ControlStatus.PARTIAL: "~", ControlStatus.FAIL: "✗"}
QUEUE_SHOWN = 5


def scorecard(report: AuditReport) -> Iterator[str]:
    """The verdict, the outcomes, what does not pass and what to mend first."""
    yield verdict(report)
    yield ""
    yield from _outcomes(report)
    if report.queue:
        yield from _not_passing(report)
        yield from _queue(report)


def verdict(report: AuditReport) -> str:
    """The first line, such as ``82.5 %  31 pass · 4 partial · 5 fail · BLOCKED by 1 P0``."""
    counts = " · ".join(f"{report.count(status)} {status}" for status in ControlStatus)
    blocked = f" · BLOCKED by {len(report.blockers)} P0" if report.blockers else ""
    return f"{percent(report.score)}  {counts}{blocked}"


def percent(score: float) -> str:
    return f"{100 * score:.1f} %"


def _outcomes(report: AuditReport) -> Iterator[str]:
    rows = report.to_dict()["outcomes"]
    width = max((len(row["title"]) for row in rows), default=0)
    graded = {grade.control.id: grade for grade in report.grades}
    for row in rows:
        marks = " ".join(MARKS[graded[control_id].status] for control_id in row["controls"])
        worst = f"  {row['worst']} open" if row["worst"] else ""
        yield f"{row['number']:<4} {row['title']:<{width}}  {marks}  {percent(row['score']):>7}{worst}"


def _not_passing(report: AuditReport) -> Iterator[str]:
    unbuilt = [grade for grade in report.queue if grade.only_waits]
    open_ = [grade for grade in report.grades if grade.status is not ControlStatus.PASS]
    yield ""
    for grade in open_:
        if grade not in unbuilt:
            yield from _observed(grade)
    for grade in open_:
        if grade in unbuilt:
            yield f"{_name(grade)}: {grade.reason}"


def _observed(grade: Grade) -> Iterator[str]:
    yield _name(grade)
    if grade.trouble:
        yield f"      {grade.trouble}"
    for finding in grade.findings:
        if not finding.ok:
            asked = finding.criterion
            yield f"      wanted    {asked.kind} {asked.name}: {asked.says}"
            yield f"      observed  {finding.observed}"
    yield f"      open      {', '.join(grade.control.modules)}"


def _name(grade: Grade) -> str:
    control = grade.control
    return f"{control.id} {control.severity} {grade.status:<7} {control.title}"


def _queue(report: AuditReport) -> Iterator[str]:
    yield ""
    first = [f"{grade.control.id} {grade.control.title}" for grade in report.queue[:QUEUE_SHOWN]]
    more = len(report.queue) - len(first)
    yield f"mend first: {', '.join(first)}" + (f"; then {more} more (queue of --json)" if more else "")


def explanations(report: AuditReport) -> Iterator[str]:
    """Each control in full."""
    for grade in report.grades:
        yield from _explanation(grade)


def _explanation(grade: Grade) -> Iterator[str]:
    control = grade.control
    yield f"{_name(grade)}  ({control.outcome}, original number {control.ref})"
    yield control.question
    yield ""
    if grade.trouble:
        yield grade.trouble
    for finding in grade.findings:
        asked = finding.criterion
        yield f"{'ok    ' if finding.ok else 'NOT OK'}  {asked.kind:<5} {asked.name}: {asked.says}"
        yield f"              {finding.observed}"
    yield ""
    passing = grade.status is ControlStatus.PASS
    yield "it stays passed while each of these holds:" if passing else "it passes once these hold:"
    yield from (f"  {line}" for line in grade.flip)
    yield ""
    yield f"modules  {', '.join(control.modules)}"
    yield f"OWASP    {', '.join(control.owasp)}"
    yield f"NIST     {', '.join(control.nist)}"


def verdict_of(comparison: Comparison, exit_code: int) -> str:
    """The last line of an audit against a baseline."""
    if exit_code == 0:
        return "baseline held"
    worse = [change.control_id for change in (*comparison.regressed, *comparison.lost)]
    return f"baseline BROKEN: {', '.join(worse) or 'the score is below --fail-under'}"


def changes(comparison: Comparison) -> Iterator[str]:
    """Changes since an earlier report."""
    yield plain(f"since {comparison.before_version} ({percent(comparison.before_score)}):", one_line=True)
    if not comparison.same_catalogue:
        yield "  the catalogue is another one since: a control may have changed its meaning"
    lines = [
        f"  {word}: {item.control_id} {item.title} ({' -> '.join(filter(None, (item.before, item.after)))})"
        for word in ("regressed", "fixed", "removed", "added")
        for item in getattr(comparison, word)
    ]
    for line in lines or ["  nothing changed"]:
        yield plain(line, one_line=True)  # the earlier report may come from anywhere
