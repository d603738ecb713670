"""Compare two reports of the harness audit."""

from __future__ import annotations

import json
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.kernel.harness_audit.grading import FORMAT, AuditReport, ControlStatus

_RANK = {
    str(status): rank
    for rank, status in enumerate((ControlStatus.FAIL, ControlStatus.PARTIAL, ControlStatus.PASS))
}


@frozen
class Change:
    """A control whose status differs; `before` or `after` is "" where it was not graded."""

    control_id: str
    title: str
    before: str
    after: str


@frozen
class Comparison:
    """This report beside an earlier one.

    Args:
        before_version: of the program that made the earlier one.
        before_score: the earlier score, of whatever was graded then.
        same_catalogue: False when controls may have changed their meaning.
        removed: controls that this catalogue does not have any more.
        added: controls that were not graded before.
    """

    before_version: str
    before_score: float
    same_catalogue: bool
    regressed: tuple[Change, ...]
    fixed: tuple[Change, ...]
    removed: tuple[Change, ...]
    added: tuple[Change, ...]

    @property
    def lost(self) -> tuple[Change, ...]:
        """Controls that held something before and are in the catalogue no more, so that nothing checks it now."""
        return tuple(change for change in self.removed if _RANK[change.before] > 0)

    def exit_code(self, report: AuditReport) -> int:
        """Of an audit that only has to hold what the earlier one held: 2 when a control that regressed blocks, else 1
        when one regressed or was lost, or the score is below `fail_under`, else 0.

        A control that was not graded before cannot regress, whatever it says now.
        """
        if {change.control_id for change in self.regressed} & set(report.blockers):
            return 2
        return 1 if self.regressed or self.lost or report.score < report.fail_under else 0

    def to_dict(self) -> dict[str, Any]:
        lists = ("regressed", "fixed", "removed", "added")
        return vars(self) | {name: [vars(change) for change in getattr(self, name)] for name in lists}


def compare(earlier: bytes, report: AuditReport) -> Comparison:
    """Compare with a baseline, or with what `sb harness audit --json` printed before.

    Raises:
        UsageError: that is not such a document, or one of a format that this version does not read.
    """
    document = _document(earlier)
    try:
        before = _controls(document["controls"])
        version, score = str(document["version"]), _fraction(document["score"])
        same = document["catalogue"] == report.catalogue.version
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        reason = one_line(f"{type(error).__name__} {error}", LONGEST_REASON)
        raise UsageError(f"not a report of sb harness audit: {reason}", _HINT) from None
    now = {grade.control.id: (grade.control.title, str(grade.status)) for grade in report.grades}
    both = [Change(key, now[key][0], before[key][1], now[key][1]) for key in now if key in before]
    known = {control.id for control in report.catalogue.controls}
    return Comparison(
        version,
        score,
        same,
        regressed=tuple(change for change in both if _RANK[change.after] < _RANK[change.before]),
        fixed=tuple(change for change in both if _RANK[change.after] > _RANK[change.before]),
        removed=tuple(Change(key, *before[key], "") for key in before if key not in known),
        added=tuple(Change(key, now[key][0], "", now[key][1]) for key in now if key not in before),
    )


LONGEST_REASON = 100  # characters
_HINT = "sb harness audit --write-baseline FILE writes one, and so does --json"


def _document(earlier: bytes) -> Any:
    try:
        document = json.loads(earlier)
    except (ValueError, RecursionError):
        raise UsageError("not a report of sb harness audit: not JSON", _HINT) from None
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT or type(found) is not int:
        shown = one_line(repr(found), LONGEST_REASON)
        raise UsageError(f"a report of format {shown}, this version reads {FORMAT}", _HINT)
    return document


def _controls(given: Any) -> dict[str, tuple[str, str]]:
    """Title and status of each control, by id."""
    before = {str(item["id"]): (str(item["title"]), _known(item["status"])) for item in given}
    if len(before) != len(given):
        raise ValueError("a control is in it twice")
    return before


def _fraction(score: Any) -> float:
    found = float(score)
    if not 0 <= found <= 1:  # nor is it "nan", which JSON does not know
        raise ValueError(f"score {found}")
    return found


def _known(status: Any) -> str:
    if status not in _RANK:
        raise ValueError(f"status {status!r}")
    return str(status)
