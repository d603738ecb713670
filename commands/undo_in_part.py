"""Undo records of which a part does not come back: it is named, and the exit code says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer
from sb.commands.diagnostics import note

from sb.errors import ExitCode
from sb.present.undo import not_restored

if TYPE_CHECKING:
    from sb.kernel.contracts import MutationRef
    from sb.runtime import Runtime


def exit_in_part(refs: Sequence[MutationRef], opened: Runtime) -> None:
    """Name what calls changed beside what undo restores, and exit as for a part; return if there is nothing."""
    lines = [line for ref in refs for line in not_restored(ref, opened.log)]
    for line in lines:
        note(line)
    if lines:
        raise typer.Exit(ExitCode.IN_PART)
