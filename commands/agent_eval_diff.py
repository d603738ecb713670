"""`sb agent eval diff`, and the run that another one is compared with."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.options import AsJson
from sb.commands.session import configuration

from sb.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from sb.evals.shelf import EvalShelf
    from sb.evals.summary import RunSummary

LAST = "last"


def diff(
    ctx: typer.Context,
    before: Annotated[
        str, typer.Argument(metavar="BEFORE", help="A report, a baseline, a saved run's id, or last.")
    ],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The run to compare with it.")],
    as_json: AsJson = False,
) -> None:
    """Compare two runs of evals; exit 1 if the second is worse."""
    from sb.commands.agent_eval_output import comparison_document, print_comparison

    from sb.evals.comparison import compare
    from sb.evals.shelf import EvalShelf

    shelf = EvalShelf(configuration(ctx).home.evals)
    compared = compare(_summary(before, shelf), _summary(after, shelf))
    if as_json:
        output.emit_json(comparison_document(compared))
    else:
        print_comparison(compared)
    raise typer.Exit(bool(compared.regressed or compared.removed or compared.after.interrupted))


def _summary(reference: str, shelf: EvalShelf) -> RunSummary:
    """A run by its file, by its id on the shelf, or the newest one."""
    from sb.evals.summary import summary_of

    if Path(reference).is_file():
        return _read(Path(reference))
    if reference == LAST:
        runs = shelf.summaries()
        if not runs:
            raise NotFoundError("no run of evals is saved", "sb agent eval SUITE saves one")
        return runs[0]
    return summary_of(shelf.report(reference), reference)


def baseline_run(baseline: str, shelf: EvalShelf, names: Collection[str], agent: str) -> RunSummary | None:
    """The run to compare with; raises UsageError if there is none, or it is of other suites."""
    if not baseline:
        return None
    if baseline == LAST:
        try:
            return shelf.last(names, agent)
        except NotFoundError as error:
            raise UsageError(f"--baseline last: {error.message}", error.hint) from None
    found = _read(Path(baseline))
    if found.suites and not found.suites.keys() & names:
        other = ", ".join(sorted(found.suites)[:3])
        raise UsageError(
            f"{baseline} is of other suites: {other}", "save one of these suites with --save-baseline"
        )
    return found


def _read(path: Path) -> RunSummary:
    from sb.evals.summary import LONGEST, read_summary

    try:
        with path.open("rb") as file:
            return read_summary(file.read(LONGEST + 1), str(path))
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", "--save-baseline FILE writes a baseline"
        ) from None
