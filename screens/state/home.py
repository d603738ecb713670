"""What needs a person now, what holds, and what happened last?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sb.screens.state.events import event_row
from sb.screens.state.listing import Column, Row
from sb.screens.state.records import Records

from sb.kernel.assurance import Finding, Status, enforcement, log_standing
from sb.kernel.tooling.intents import Intents
from sb.state import EventLog

HOME_COLUMNS = (Column("", 9), Column("", 14), Column(""))
LAST_EVENTS = 10
MOST_OF_A_KIND = 5
NOTHING = "Nothing needs you. What agents ask of a person appears here."


@dataclass(frozen=True)
class Target:
    """Where `enter` on a line leads: a screen, and a record on it."""

    section: str
    record: str | int | None = None


@dataclass(frozen=True)
class HomeLine:
    row: Row
    target: Target | None = None


def home_lines(records: Records) -> list[HomeLine]:
    """The screen, from top to bottom."""
    log = records.log()
    needs = list(_needs(log))
    lines = [_heading("Needs you now"), *(needs or [HomeLine(Row(("ok", "", NOTHING), "ok"))])]
    lines.append(_heading("What is enforced"))
    lines += [_finding(finding) for finding in enforcement(records.config)]
    lines.append(_heading("Last activity"))
    for event in log.events(newest_first=True, limit=LAST_EVENTS):
        row = event_row(event)
        lines.append(
            HomeLine(Row((row.cells[0], row.cells[1], row.cells[3]), row.tone), Target("audit", event.seq))
        )
    return lines


def _heading(text: str) -> HomeLine:
    return HomeLine(Row((text,), "heading"))


def _finding(finding: Finding, target: Target | None = None) -> HomeLine:
    tone = {Status.OK: "ok", Status.WARN: "warn", Status.FAIL: "error"}[finding.status]
    hint = f" ({finding.hint})" if finding.hint else ""
    return HomeLine(Row((str(finding.status), finding.name, finding.detail + hint), tone), target)


def _needs(log: EventLog) -> Iterator[HomeLine]:
    standing = log_standing(log)
    if standing.status is not Status.OK:
        yield _finding(standing, Target("audit"))
    doubtful = Intents(log).in_doubt()
    for intent in doubtful[:MOST_OF_A_KIND]:
        text = f"{intent.agent}: nobody knows whether {intent.tool_id} happened ({intent.call_id})"
        yield HomeLine(Row(("in doubt", "call", text), "warn"), Target("runs", intent.call_id))
    if len(doubtful) > MOST_OF_A_KIND:
        text = f"and {len(doubtful) - MOST_OF_A_KIND:,} more calls"
        yield HomeLine(Row(("in doubt", "call", text), "warn"), Target("audit"))
