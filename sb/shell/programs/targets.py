"""Targets of a line's writes that nothing in the line identifies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.shell.parsing.words import UNKNOWN, compiled, display
from sb.shell.programs.rules import DESTROY, QUIET, Finding

if TYPE_CHECKING:
    from sb.shell.places.paths import Paths

_NO_FOLDER = r"(?:\.{0,2}/|~/)*"
_ENDING = r"[^/]*\.[A-Za-z]\w{0,9}"


def unresolved_target(paths: Paths, targets: Sequence[str], by: str) -> Finding:
    """Judge what a redirection or `tee` writes to, if nothing tells which file that is.

    Args:
        targets: the texts that its word can become; one that is known is enough.
    """
    if not targets or not all(_is_unresolved(paths, target) for target in targets):
        return QUIET
    return Finding(DESTROY, f"{by} {display(targets[0])}: which file it writes is unknown until it runs")


def _is_unresolved(paths: Paths, path: str) -> bool:
    """True if a path may be any file: nothing is known of its folder, and its name has no ending such as `.html`.

    In a home any name may be a login file, whatever ends it.
    """
    head, unknown, rest = path.partition(UNKNOWN)
    if not unknown:
        return False
    if head[:1] in ("/", "~") and head[-1:] == "/" and any(map(paths.is_home, paths.places(head))):
        return True
    known = compiled(_NO_FOLDER).sub("", head, count=1)
    return not known and compiled(_ENDING).fullmatch(rest.rpartition(UNKNOWN)[2]) is None
