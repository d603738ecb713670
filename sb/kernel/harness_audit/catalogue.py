"""The catalogue of the forty controls and what each asks.

Source: the survival layer, section 5; the controls are data, in catalogue.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import Any

from sb.base.shipped import shipped_table
from sb.base.values.frozen import frozen


class ControlSeverity(StrEnum):
    """Severity of a control: without a P0 the harness is not fit for use, a P2 only informs."""

    P0 = "P0"
    P1 = "P1"
    P2 = "P2"


class CheckKind(StrEnum):
    """Kind of a criterion: something passes, something is stopped, or a further quality."""

    ALLOW = "allow"
    DENY = "deny"
    ALSO = "also"


@frozen
class Criterion:
    """One thing that must hold for a control to pass.

    Args:
        says: what must hold, one sentence.
        waits: the module, or the name in one, that has to be built first; "" when a probe answers it.
    """

    name: str
    kind: CheckKind
    says: str
    waits: str = ""

    @property
    def core(self) -> bool:
        """True if the control fails without it; without a secondary one it is partial."""
        return self.kind != CheckKind.ALSO


@frozen
class Control:
    """One of the forty.

    Args:
        ref: its number in the original checklist, 1 to 40.
        outcome, upstream_outcome: the outcome that it belongs to here, and in the original checklist.
        modules: full names of what it is about; some may not be built yet.
        owasp: risks of the OWASP Top 10 for Agentic Applications 2026, such as ASI02.
        nist: subcategories of the NIST AI RMF 1.0, such as "GV 1.2".
    """

    id: str
    ref: int
    title: str
    outcome: str
    upstream_outcome: str
    severity: ControlSeverity
    question: str
    modules: tuple[str, ...]
    owasp: tuple[str, ...]
    nist: tuple[str, ...]
    criteria: tuple[Criterion, ...]


@frozen
class HarnessOutcome:
    """The outcome that several controls bring about together; `number` is Roman."""

    id: str
    number: str
    title: str


@frozen
class Catalogue:
    """Everything that is asked.

    Args:
        version: rises when a control or criterion is added, removed or changes its meaning.
        fix_order: ids of all controls, those first on which others rest.
    """

    version: int
    outcomes: tuple[HarnessOutcome, ...]
    controls: tuple[Control, ...]
    fix_order: tuple[str, ...]


@cache
def load_catalogue() -> Catalogue:
    """The catalogue of this version."""
    document = shipped_table(__file__, "catalogue.yaml")
    outcomes = document["outcomes"]
    return Catalogue(
        document["version"],
        tuple(HarnessOutcome(outcome["id"], outcome["number"], outcome["title"]) for outcome in outcomes),
        tuple(_control(control, outcome["id"]) for outcome in outcomes for control in outcome["controls"]),
        tuple(document["fix_order"]),
    )


def _control(data: dict[str, Any], outcome: str) -> Control:
    return Control(
        id=data["id"],
        ref=data["ref"],
        title=data["title"],
        outcome=outcome,
        upstream_outcome=data.get("upstream", outcome),
        severity=ControlSeverity(data["severity"]),
        question=data["question"],
        modules=tuple(data["modules"]),
        owasp=tuple(data["owasp"]),
        nist=tuple(data["nist"]),
        criteria=tuple(_criteria(data["checks"])),
    )


def _criteria(checks: list[dict[str, str]]) -> Iterator[Criterion]:
    for check in checks:
        kind = next(kind for kind in CheckKind if kind in check)
        yield Criterion(check[kind], kind, check["says"], check.get("waits", ""))
