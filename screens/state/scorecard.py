"""A harness audit's document as a scorecard, rows and one control in full."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sb.screens.state.document import Field
from sb.screens.state.listing import Row

from sb.base.text import shorten
from sb.base.values.frozen import frozen
from sb.errors import CheckFailed
from sb.harness.scorecard import percent
from sb.kernel.harness_audit.grading import FORMAT
from sb.operator.filters import CONTROLS, Filter
from sb.present.kind import WIDE, Cell, Column

CONTROL_COLUMNS = (
    Column(width=7),
    Column(),
    Column(width=44, least=WIDE, most=100, enough=40),
    Column(width=2, least=40),
    Column(width=5, least=52),
)
LONGEST_HEADING = 400
_TONES = {"pass": "soft", "partial": "warn", "fail": "danger"}
_TEXTS = ("id", "title", "question", "outcome", "upstream_outcome", "severity", "status", "reason")
_LISTS = ("flip", "modules", "owasp", "nist")


@frozen
class Answer:
    """A probe's answer to one check.

    Args:
        kind: allow, deny or also.
        waits: what does not exist yet; "" when it could be asked.
    """

    name: str
    kind: str
    says: str
    ok: bool
    observed: str
    waits: str

    @property
    def word(self) -> str:
        return "ok" if self.ok else "not built" if self.waits else "NOT OK"


@frozen
class Graded:
    """One control and its grade.

    Args:
        outcome: the id of its group; upstream_outcome: of the one that the original catalogue has it in.
        place: in the order of fixing, from 1; 0 when there is nothing to fix.
        flip: the checks that would change its status.
    """

    id: str
    ref: int
    title: str
    question: str
    outcome: str
    upstream_outcome: str
    severity: str
    status: str
    reason: str
    checks: tuple[Answer, ...]
    flip: tuple[str, ...]
    modules: tuple[str, ...]
    owasp: tuple[str, ...]
    nist: tuple[str, ...]
    place: int

    @property
    def terms(self) -> dict[str, str]:
        """The values that terms of a filter name."""
        return {"status": self.status, "severity": self.severity, "outcome": self.outcome}

    @property
    def text(self) -> str:
        """The text in which words are looked for."""
        checks = (text for check in self.checks for text in (check.name, check.says, check.observed))
        texts = (self.id, self.title, self.question, *self.terms.values(), self.reason)
        return "\n".join((*texts, *self.modules, *self.owasp, *self.nist, *checks))


@frozen
class Outcome:
    """A group of controls, and what it came to.

    Args:
        worst: the severity of the worst control that does not pass, or "".
    """

    id: str
    title: str
    score: float
    worst: str

    @property
    def row(self) -> Row:
        worst = f" · {self.worst} open" if self.worst else ""
        return Row((f"{self.title} · {percent(self.score)}{worst}",), heading=True)


@frozen
class Scorecard:
    """All controls, in the order of their outcomes."""

    score: float
    counts: Mapping[str, int]
    blockers: int
    outcomes: tuple[Outcome, ...]
    controls: tuple[Graded, ...]

    @property
    def line(self) -> str:
        """The score in one line, as `sb harness audit` begins."""
        counted = " · ".join(f"{number} {status}" for status, number in self.counts.items())
        blocked = f" · BLOCKED by {self.blockers} P0" if self.blockers else ""
        return f"{percent(self.score)}  {counted}{blocked}"

    @property
    def tone(self) -> str:
        return "danger" if self.blockers else "warn" if self.score < 1 else "ok"

    def rows(self, text: str) -> dict[int, Row]:
        """The controls that fit a filter by their numbers from 1, below their outcomes by numbers below 0.

        Raises:
            UsageError: the text is no filter of controls.
        """
        fits = Filter.parse(text).records(CONTROLS)
        rows: dict[int, Row] = {}
        for group, outcome in enumerate(self.outcomes, 1):
            fitting = {
                number: control_row(control)
                for number, control in enumerate(self.controls, 1)
                if control.outcome == outcome.id and fits(control.terms, control.text)
            }
            rows |= {-group: outcome.row, **fitting} if fitting else {}
        return rows


def scorecard(text: str) -> Scorecard:
    """From what `sb harness audit --json` printed.

    Raises:
        CheckFailed: it is no such document.
    """
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise CheckFailed(f"the audit's document has format {document['format']}, not {FORMAT}")
        outcomes = tuple(_outcome(outcome) for outcome in document["outcomes"])
        controls = tuple(_graded(control, document["queue"]) for control in document["controls"])
        counts = {status: int(document[status]) for status in _TONES}
        return Scorecard(float(document["score"]), counts, len(document["blockers"]), outcomes, controls)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckFailed(f"the audit's document cannot be read: {type(error).__name__}: {error}") from error


def _outcome(outcome: Mapping[str, Any]) -> Outcome:
    title = f"{outcome['number']}. {outcome['title']}"
    return Outcome(str(outcome["id"]), title, float(outcome["score"]), outcome["worst"] or "")


def _graded(control: Mapping[str, Any], queue: Sequence[str]) -> Graded:
    values: dict[str, Any] = {name: str(control[name]) for name in _TEXTS}
    values |= {name: tuple(map(str, control[name])) for name in _LISTS}
    checks = tuple(
        Answer(**{name: check[name] for name in Answer.__annotations__}) for check in control["checks"]
    )
    place = queue.index(control["id"]) + 1 if control["id"] in queue else 0
    return Graded(**values, ref=int(control["ref"]), checks=checks, place=place)


def control_row(control: Graded) -> Row:
    tone = _TONES.get(control.status, "danger")
    about = Cell(control.reason or control.question, "soft")
    cells = (control.title, about, Cell(control.severity, "soft"), Cell(control.id, "soft"))
    return Row((Cell(control.status, tone), *cells))


def control_document(control: Graded) -> list[Field]:
    """Everything about a control, what it asks first."""
    fields = [Field(shorten(control.title, LONGEST_HEADING)), Field("Asks", control.question)]
    fields.append(Field("Status", control.status, tone=_TONES.get(control.status, "danger")))
    if control.reason:
        fields.append(Field("Why not", control.reason))
    if control.place:
        fields.append(Field("To be fixed", f"number {control.place} of the queue"))
    fields += [Field("Checks"), *_check_fields(control.checks)]
    if control.flip:
        passes = control.status == "pass"
        fields.append(Field("It stays passed while each holds" if passes else "It passes once these hold"))
        fields += [Field("", line) for line in control.flip]
    fields += [
        Field("Where it belongs"),
        Field("Severity", control.severity),
        Field("Outcome", control.outcome),
    ]
    if control.upstream_outcome != control.outcome:
        fields.append(Field("Originally", control.upstream_outcome))
    fields += [Field("OWASP", ", ".join(control.owasp)), Field("NIST", ", ".join(control.nist))]
    return [
        *fields,
        Field("Id", control.id),
        Field("Modules", "\n".join(control.modules), folded=True),
        Field("Original number", str(control.ref), folded=True),
    ]


def _check_fields(checks: Sequence[Answer]) -> Iterator[Field]:
    for check in checks:
        tone = "" if check.ok else "warn" if check.waits else "danger"
        yield Field(f"{check.word}, {check.kind}", f"{check.name}: {check.says}", tone=tone)
        yield Field("  waits for", check.waits) if check.waits else Field("  observed", check.observed or "-")
