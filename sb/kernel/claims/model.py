"""Claims, the calls that they are held against, and findings."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"  # a result says otherwise
    UNSUPPORTED = "unsupported"  # no call supports it
    UNKNOWN = "unknown"  # the record cannot tell


class ClaimCall(NamedTuple):
    """A call that was made.

    Args:
        text: the command line, or the tool's name and its arguments.
        is_line: it is a command line.
        ok: it succeeded; None for one whose end is not known, such as one in the background.
        output: the end of what it gave.
        writes: the files that it changed, as far as that is known; those of the project relative to it.
        edits: it is a tool that changes the files that it names.
        read_only: it changes nothing.
        delegated: another agent did work that may not be on record.
        this_turn: it was made since the user wrote last.
        known: `writes` are all the files of the project that it changed.
    """

    text: str
    is_line: bool = True
    ok: bool | None = True
    output: str = ""
    writes: tuple[str, ...] = ()
    edits: bool = False
    read_only: bool = False
    delegated: bool = False
    this_turn: bool = True
    known: bool = False


class Claim(NamedTuple):
    """A claim.

    Args:
        kind: as in the pack. sentence: that makes it. name: the file or command that it names, or "".
    """

    kind: str
    sentence: str
    name: str = ""


class ClaimFinding(NamedTuple):
    """A claim and what the record says of it; `reason` is "" where that is nothing against it."""

    claim: Claim
    verdict: Verdict
    reason: str = ""

    @property
    def is_disputed(self) -> bool:
        """True if the record contradicts the claim, or does not support it."""
        return self.verdict in (Verdict.CONTRADICTED, Verdict.UNSUPPORTED)


def grounded(findings: Sequence[ClaimFinding]) -> bool | None:
    """True if each claim is supported, False if one is contradicted, None if none was made or one is not known."""
    verdicts = {finding.verdict for finding in findings}
    if Verdict.CONTRADICTED in verdicts:
        return False
    return True if verdicts == {Verdict.SUPPORTED} else None
