"""How does an audit look on a page for people: a job summary, a pull request, a wiki?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sb.audit.scorecard import percent
from sb.kernel.harness_audit import AuditReport
from sb.text import plain, revealed

_MARKUP = re.compile(r"[\\`*_\[\]<>|~!&$@]|(?<=[:/])/|(?<=www)\.", re.IGNORECASE)


def render(report: AuditReport) -> str:
    """The report as GitHub-flavoured Markdown: the verdict, the outcomes, and each control that does not pass."""
    document = report.to_dict()
    open_controls = [control for control in document["controls"] if control["status"] != "pass"]
    parts = ["# Harness audit", _verdict(document), _outcomes(document["outcomes"])]
    if open_controls:
        parts += ["## Not passing", _controls(open_controls)]
    return "\n\n".join(parts) + "\n"


def _verdict(document: Mapping[str, Any]) -> str:
    counts = " · ".join(f"{document[status]} {status}" for status in ("pass", "partial", "fail"))
    blockers = document["blockers"]
    blocked = f" · BLOCKED by {len(blockers)} P0: {', '.join(map(_cell, blockers))}" if blockers else ""
    return f"**{percent(document['score'])}** · {counts}{blocked}"


def _outcomes(outcomes: Iterable[Mapping[str, Any]]) -> str:
    return _table(
        ["", "Outcome", "Score", "Pass", "Partial", "Fail", "Worst"],
        (
            [o["number"], o["title"], percent(o["score"]), o["pass"], o["partial"], o["fail"], o["worst"]]
            for o in outcomes
        ),
    )


def _controls(controls: Iterable[Mapping[str, Any]]) -> str:
    return _table(
        ["Control", "Title", "Severity", "Status", "Reason"],
        ([c["id"], c["title"], c["severity"], c["status"], c["reason"]] for c in controls),
    )


def _table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [headers, ["---"] * len(headers), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    """One line that renders as the text it is: no markup, HTML, link or further column."""
    return _MARKUP.sub(r"\\\g<0>", plain(revealed(str(value)), one_line=True))
