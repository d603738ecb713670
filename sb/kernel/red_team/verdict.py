"""Verdicts of the red-team detector, and the origins of texts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Category(StrEnum):
    """The four classes of attacks."""

    INJECTION = "injection"  # instructions in place of those that count
    TOOL_ABUSE = "tool_abuse"  # calls that nobody asked for
    LEAKAGE = "leakage"  # prompts, credentials or private data are to be given away
    JAILBREAK = "jailbreak"  # rules of the model are to be switched off


class Origin(StrEnum):
    """Where a text comes from; the user and the operator may give instructions, all others may not."""

    USER = "user"
    OPERATOR = "operator"
    PROMPT = "prompt"
    TOOL = "tool"
    MEMORY = "memory"
    IMPORT = "import"
    WEB = "web"


MAY_INSTRUCT = frozenset((Origin.USER, Origin.OPERATOR, Origin.PROMPT))


@dataclass(frozen=True, slots=True)
class AttackFinding:
    """A passage that reads like an attack.

    Args:
        start, end: where it stands in the text as it was given, in characters.
        rule: the signs that weighed most, such as `override>instruction`; for an encoded passage the encoding in front.
        category: the class that fits best.
        score: from 0 to 1.
    """

    start: int
    end: int
    rule: str
    category: Category
    score: float

    @property
    def span(self) -> tuple[int, int]:
        """Start and end."""
        return self.start, self.end


@dataclass(frozen=True, slots=True)
class AttackVerdict:
    """The verdict on one text.

    Args:
        flagged: whether it reads like an attack. score: of its worst passage, from 0 to 1.
        categories: the classes of what was found, each once.
        findings: the passages, in order.
        complete: whether all of it was read. read: how many of its characters were.
    """

    flagged: bool
    score: float
    categories: tuple[Category, ...]
    findings: tuple[AttackFinding, ...]
    complete: bool = True
    read: int = 0
