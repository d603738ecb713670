"""Severity of an incident by impact and reach."""

from __future__ import annotations

from enum import StrEnum


class Impact(StrEnum):
    """Impact of an incident, in rising order."""

    STOPPED = "stopped"
    REVERSIBLE = "reversible"
    IRREVERSIBLE = "irreversible"
    EXPOSED = "exposed"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


class Reach(StrEnum):
    """Reach of an incident, in rising order."""

    RUN = "run"
    AGENT = "agent"
    FLEET = "fleet"


class Severity(StrEnum):
    """Severity of an incident; sev1 is the worst."""

    SEV1 = "sev1"
    SEV2 = "sev2"
    SEV3 = "sev3"
    SEV4 = "sev4"

    @property
    def answer_within_min(self) -> int:
        """Minutes within which somebody has to be working on it."""
        return _ANSWER_WITHIN_MIN[self]


_MEANINGS = {
    Impact.STOPPED: "it was stopped before it did anything",
    Impact.REVERSIBLE: "what it did can be taken back",
    Impact.IRREVERSIBLE: "what it did cannot be taken back",
    Impact.EXPOSED: "secrets or personal data left",
}
_ANSWER_WITHIN_MIN = {Severity.SEV1: 5, Severity.SEV2: 30, Severity.SEV3: 240, Severity.SEV4: 1440}
SEVERITY_MATRIX = {
    Impact.STOPPED: {Reach.RUN: Severity.SEV4, Reach.AGENT: Severity.SEV4, Reach.FLEET: Severity.SEV3},
    Impact.REVERSIBLE: {Reach.RUN: Severity.SEV4, Reach.AGENT: Severity.SEV3, Reach.FLEET: Severity.SEV2},
    Impact.IRREVERSIBLE: {Reach.RUN: Severity.SEV3, Reach.AGENT: Severity.SEV2, Reach.FLEET: Severity.SEV1},
    Impact.EXPOSED: {Reach.RUN: Severity.SEV2, Reach.AGENT: Severity.SEV1, Reach.FLEET: Severity.SEV1},
}


def severity_of(impact: Impact, reach: Reach) -> Severity:
    """The severity of an impact and a reach, by the matrix."""
    return SEVERITY_MATRIX[impact][reach]
