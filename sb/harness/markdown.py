"""Report an audit as Markdown, for job summaries and pull requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sb.harness.scorecard import percent
from sb.kernel.harness_audit import AuditReport
from sb.present.reports import markdown_literal, markdown_table

_READING = (
    "A control that does not pass *fails*, or is *partial* when only secondary checks of it do not hold. Without a P0"
    " the harness is not fit for use, so one that fails blocks; a P1 weakens it; a P2 only informs. *not built* names"
    " what has to be there before a check can be answered. `sb harness audit --explain ID` shows a control in full."
)


def render(report: AuditReport) -> str:
    """The report as GitHub-flavoured Markdown: the verdict, the outcomes, and each control that does not pass."""
    document = report.to_dict()
    open_controls = [control for control in document["controls"] if control["status"] != "pass"]
    about = _about(document["version"], len(document["controls"]), len(report.catalogue.controls))
    parts = ["# Harness audit", about, _verdict(document), _outcomes(document["outcomes"])]
    if open_controls:
        parts += ["## Not passing", _READING, _controls(open_controls)]
    return "\n\n".join(parts) + "\n"


def _about(version: str, graded: int, known: int) -> str:
    """The subject of the grades: CI shows them beside results about the repository."""
    return (
        f"SecondBrain {markdown_literal(version)}, as it is installed, graded against {graded} of its {known}"
        " controls by using it. Nothing of the repository that this ran in was looked at."
    )


def _verdict(document: Mapping[str, Any]) -> str:
    counts = " · ".join(f"{document[status]} {status}" for status in ("pass", "partial", "fail"))
    blockers = document["blockers"]
    blocked = (
        f" · BLOCKED by {len(blockers)} P0: {', '.join(map(markdown_literal, blockers))}" if blockers else ""
    )
    return f"**{percent(document['score'])}** · {counts}{blocked}"


def _outcomes(outcomes: Iterable[Mapping[str, Any]]) -> str:
    return markdown_table(
        ["", "Outcome", "Score", "Pass", "Partial", "Fail", "Worst open"],
        (
            [o["number"], o["title"], percent(o["score"]), o["pass"], o["partial"], o["fail"], o["worst"]]
            for o in outcomes
        ),
    )


def _controls(controls: Iterable[Mapping[str, Any]]) -> str:
    return markdown_table(
        ["Control", "Title", "Severity", "Status", "Reason"],
        ([c["id"], c["title"], c["severity"], c["status"], c["reason"]] for c in controls),
    )
