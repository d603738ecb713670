"""Grade the checks of an audit: a status for each control, a score, an exit code.

Source: the survival layer, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from enum import StrEnum
from functools import cached_property
from typing import Any

from sb.base.values.frozen import frozen
from sb.kernel.harness_audit.catalogue import Catalogue, Control, ControlSeverity, Criterion

FORMAT = 1  # of the JSON document
NO_PROBE = "no probe"
UNANSWERED = "the probe gave no answer"


class ControlStatus(StrEnum):
    PASS = "pass"
    PARTIAL = "partial"
    FAIL = "fail"


@frozen
class Check:
    """The observation of one probe.

    Args:
        name: the criterion that it answers.
        observed: evidence, as ``module.symbol: observed value``, without times, ids and paths.
    """

    name: str
    ok: bool
    observed: str


@frozen
class Finding:
    """A criterion and its answer; what is not built, or was not answered, is not ok."""

    criterion: Criterion
    ok: bool
    observed: str

    def to_dict(self) -> dict[str, Any]:
        asked = self.criterion
        return {
            "name": asked.name,
            "kind": str(asked.kind),
            "says": asked.says,
            "ok": self.ok,
            "observed": self.observed,
            "waits": asked.waits,
        }


@frozen
class Grade:
    """The grade of a control.

    Args:
        trouble: why its probe did not come to an end, or ""; then the control fails.
    """

    control: Control
    findings: tuple[Finding, ...]
    trouble: str = ""

    @property
    def status(self) -> ControlStatus:
        missed = [finding.criterion.core for finding in self.findings if not finding.ok]
        if self.trouble or any(missed) or not self.findings:
            return ControlStatus.FAIL
        return ControlStatus.PARTIAL if missed else ControlStatus.PASS

    @property
    def only_waits(self) -> bool:
        """True if it does not pass for the sole reason that something is not built."""
        return not self.trouble and all(finding.ok or finding.criterion.waits for finding in self.findings)

    @property
    def reason(self) -> str:
        """The reason why it does not pass, one line; "" when it does."""
        missed = [finding for finding in self.findings if not finding.ok]
        missing = list(dict.fromkeys(item.criterion.waits for item in missed if item.criterion.waits))
        broken = [item for item in missed if not item.criterion.waits]
        if self.trouble:
            return self.trouble
        if broken:
            first = min(broken, key=lambda finding: not finding.criterion.core)
            return f"{first.criterion.kind} {first.criterion.name}: {first.observed}"
        return f"not built: {', '.join(missing)}" if missing else ""

    @property
    def flip(self) -> list[str]:
        """The criteria that would flip the status: those that must not fail, or that must become ok."""
        passing = self.status is ControlStatus.PASS
        relevant = [finding.criterion for finding in self.findings if finding.ok == passing]
        ahead = ["the probe has to come to its end"] if self.trouble else []
        return ahead + [f"{item.kind} {item.name}: {item.says}" for item in relevant]

    def to_dict(self) -> dict[str, Any]:
        control = self.control
        return {
            "id": control.id,
            "ref": control.ref,
            "title": control.title,
            "outcome": control.outcome,
            "upstream_outcome": control.upstream_outcome,
            "severity": str(control.severity),
            "status": str(self.status),
            "reason": self.reason,
            "question": control.question,
            "modules": list(control.modules),
            "owasp": list(control.owasp),
            "nist": list(control.nist),
            "checks": [finding.to_dict() for finding in self.findings],
            "flip": self.flip,
        }


def grade(control: Control, checks: Iterable[Check] | None, trouble: str = "") -> Grade:
    """Join what a probe saw to what the catalogue asks.

    Args:
        checks: None when the control has no probe. A criterion that is answered several times is ok if each answer is.
        trouble: why the probe did not come to an end, or "".
    """
    given: dict[str, Check] = {}
    for check in checks or ():
        known = given.get(check.name)
        if known is None or known.ok:  # of several answers the first that is not ok counts
            given[check.name] = check
    unknown = sorted(given.keys() - {criterion.name for criterion in control.criteria if not criterion.waits})
    if unknown:
        trouble = trouble or f"the probe answers what nobody asked: {', '.join(unknown)}"
    missing = NO_PROBE if checks is None else UNANSWERED
    return Grade(
        control, tuple(_finding(criterion, given, missing) for criterion in control.criteria), trouble
    )


def _finding(criterion: Criterion, given: dict[str, Check], missing: str) -> Finding:
    if criterion.waits:
        return Finding(criterion, False, f"not built: {criterion.waits}")
    check = given.get(criterion.name)
    return Finding(criterion, check.ok, check.observed) if check else Finding(criterion, False, missing)


@frozen
class AuditReport:
    """All grades of an audit, in the order of the catalogue.

    Args:
        version: of the program that was audited.
        strict: a partial P0 blocks too.
        fail_under: the least score, 0 to 1.
        seconds: CPU seconds by control id; in no report, since they differ from run to run.
    """

    catalogue: Catalogue
    grades: tuple[Grade, ...]
    version: str
    strict: bool = False
    fail_under: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict, compare=False)

    def count(self, status: ControlStatus) -> int:
        return sum(grade.status is status for grade in self.grades)

    @cached_property
    def score(self) -> float:
        """(pass + half of partial) / all that was graded."""
        return _score(self.grades)

    @cached_property
    def blockers(self) -> list[str]:
        """Ids of P0 controls that must not ship: those that fail, and if strict those that are partial."""
        bad = (ControlStatus.FAIL, ControlStatus.PARTIAL) if self.strict else (ControlStatus.FAIL,)
        return [item.control.id for item in self.grades if _is_p0(item) and item.status in bad]

    @property
    def exit_code(self) -> int:
        """2 when something blocks, else 1 when the score is below `fail_under`, else 0."""
        if self.blockers:
            return 2
        return 0 if self.score >= self.fail_under else 1

    @cached_property
    def queue(self) -> list[Grade]:
        """The failing grades, in the order in which to mend them."""
        place = {control_id: number for number, control_id in enumerate(self.catalogue.fix_order)}
        open_ = [item for item in self.grades if item.status is not ControlStatus.PASS]
        return sorted(open_, key=lambda item: place[item.control.id])

    def to_dict(self) -> dict[str, Any]:
        """The JSON document, the same bytes for the same answers."""
        return {
            "format": FORMAT,
            "version": self.version,
            "catalogue": self.catalogue.version,
            "score": round(self.score, 4),
            **{str(status): self.count(status) for status in ControlStatus},
            "strict": self.strict,
            "fail_under": self.fail_under,
            "exit_code": self.exit_code,
            "blockers": self.blockers,
            "queue": [item.control.id for item in self.queue],
            "outcomes": self._roll_up(lambda control: control.outcome),
            "upstream_outcomes": self._roll_up(lambda control: control.upstream_outcome),
            "controls": [grade.to_dict() for grade in self.grades],
        }

    def _roll_up(self, outcome_of: Callable[[Control], str]) -> list[dict[str, Any]]:
        rows = []
        for outcome in self.catalogue.outcomes:
            grades = [item for item in self.grades if outcome_of(item.control) == outcome.id]
            if grades:
                rows.append({**vars(outcome), **_summary(grades)})
        return rows


def _summary(grades: list[Grade]) -> dict[str, Any]:
    open_ = [str(item.control.severity) for item in grades if item.status is not ControlStatus.PASS]
    return {
        **{str(status): sum(item.status is status for item in grades) for status in ControlStatus},
        "score": round(_score(grades), 4),
        "worst": min(open_, default=""),
        "controls": [item.control.id for item in grades],
    }


def _score(grades: Iterable[Grade]) -> float:
    worth = {ControlStatus.PASS: 1.0, ControlStatus.PARTIAL: 0.5, ControlStatus.FAIL: 0.0}
    values = [worth[item.status] for item in grades]
    return sum(values) / len(values) if values else 0.0


def _is_p0(grade: Grade) -> bool:
    return grade.control.severity is ControlSeverity.P0
