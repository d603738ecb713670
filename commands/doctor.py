"""`sb doctor`: say what is in use and what is enforced, and check the database."""

from __future__ import annotations

from typing import Annotated

import typer
from sb.commands import output
from sb.commands.session import configuration

from sb.doctor import examine
from sb.errors import ExitCode
from sb.kernel.review.findings import Status

app = typer.Typer(
    help="Say what is in use and what is enforced, and check the database.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.command()
def doctor(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Check everything without changing anything; exit 1 if something fails."""
    findings = examine(configuration(ctx, quietly=True))
    failed = any(finding.status is Status.FAIL for finding in findings)
    if as_json:
        output.emit_json({"ok": not failed, "items": [vars(finding) for finding in findings]})
    else:
        output.findings("check", findings)
    raise typer.Exit(ExitCode.FAILED if failed else ExitCode.OK)
