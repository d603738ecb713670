"""Findings: one recognised value each, and the class of a text that they add up to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from sb.base.values.frozen import frozen

EMAIL, PHONE, IP_ADDRESS, NATIONAL_ID = "email", "phone", "ip_address", "national_id"
CARD, IBAN = "card", "iban"
NAME = "name"
LABELS = (EMAIL, PHONE, IP_ADDRESS, NATIONAL_ID, IBAN, CARD)  # beside those of secrets


class Sensitivity(IntEnum):
    """Sensitivity of a text: the highest of its findings."""

    INTERNAL = 0
    PERSONAL = 1
    PAYMENT = 2
    SECRET = 3


_CLASSES = {
    **dict.fromkeys((EMAIL, PHONE, IP_ADDRESS, NATIONAL_ID, NAME), Sensitivity.PERSONAL),
    **dict.fromkeys((CARD, IBAN), Sensitivity.PAYMENT),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One recognised value.

    Args:
        label: one of `LABELS`, `name`, or what a secret is called, such as `github_token`.
        start, end: where it stands in the text, in characters.
        score: from 0 to 1; 0.9 and above for a valid check digit or an unmistakable form, less where only the words
            beside it decide.
        scheme: of a national id, the country and the number, such as `us_ssn`; else "".
    """

    label: str
    start: int
    end: int
    score: float
    scheme: str = ""

    @property
    def span(self) -> tuple[int, int]:
        """Start and end."""
        return self.start, self.end

    @property
    def sensitivity(self) -> Sensitivity:
        """The class of its label; a label that is none of `LABELS` is a secret's."""
        return _CLASSES.get(self.label, Sensitivity.SECRET)


@frozen
class Classification:
    """Findings in a text.

    Args:
        findings: in the order of the text, without overlap.
        read: how many characters were searched.
        complete: whether that was all of the text, and every candidate was looked at.
    """

    text: str
    findings: tuple[Finding, ...]
    read: int
    complete: bool

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The highest class of all findings."""
        return max((finding.sensitivity for finding in self.findings), default=Sensitivity.INTERNAL)

    @cached_property
    def names(self) -> tuple[Finding, ...]:
        """Names of people, guessed by the words before them: they count for no class and are never masked."""
        from sb.base.classification.names import names

        return tuple(Finding(NAME, *span, 0.5) for span in names(self.text[: self.read]))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the findings, each once, in the order of the text."""
        return tuple(dict.fromkeys(finding.label for finding in self.findings))

    def redacted(self, mask: Callable[[str], str], labels: Collection[str] | None = None) -> str:
        """The text with its findings replaced.

        Args:
            mask: makes a placeholder of a label. labels: which to replace, by default all.
        """
        parts, end = [], 0
        for finding in self.findings:
            if labels is None or finding.label in labels:
                parts += [self.text[end : finding.start], mask(finding.label)]
                end = finding.end
        return "".join((*parts, self.text[end:]))
