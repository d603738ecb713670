"""Scratch: folders that a build makes, and that may go without a snapshot."""

from __future__ import annotations

from collections.abc import Callable


def scratch(project: str, begun: float) -> Callable[[str], str]:
    """Says why a folder of a project is no scratch, or "".

    Args:
        project: real path. begun: when the session began, in seconds since the epoch.
    """
    return lambda path: "it is not scratch"
