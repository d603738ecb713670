"""Findings about boundaries: whether charters and context sources can be read, and refuse calls."""

from __future__ import annotations

from sb.base.text import counted
from sb.errors import SBError
from sb.kernel.agent_charter.charters import Charters
from sb.kernel.context_sources.source_files import SourceFile
from sb.kernel.review.findings import Finding, Status


def charters_finding(charters: Charters, *, enforced: bool) -> Finding:
    """Finding on the charters of all agents.

    Args:
        enforced: calls of an agent whose charter does not count are refused.
    """
    try:
        entries = charters.entries()
    except SBError as error:
        return Finding("charters", Status.FAIL if enforced else Status.WARN, error.message, error.hint)
    amiss = [entry.problem for entry in entries if entry.problem]
    if not amiss:
        return Finding("charters", Status.OK, f"{counted(len(entries), 'charter')} approved")
    more = f" (and {len(amiss) - 1} more)" if len(amiss) > 1 else ""
    refused = "; its calls are refused" if enforced else ""
    return Finding("charters", Status.WARN, f"{amiss[0]}{more}{refused}", "sb agent charter check")


def sources_finding(sources: SourceFile, *, enforced: bool) -> Finding:
    """Finding on the registered sources of context.

    Args:
        enforced: calls that read from anywhere else are refused, all of them where the file cannot be read.
    """
    try:
        found = list(sources.load())
    except SBError as error:
        refused = "; calls that bring context in are refused" if enforced else ""
        status = Status.FAIL if enforced else Status.WARN
        return Finding("sources", status, f"{error.message}{refused}", error.hint)
    return Finding("sources", Status.OK, f"{counted(len(found), 'registered source')} of context")
