"""`sb doctor`: say what is in use and what is enforced, and check the database."""

from __future__ import annotations

import typer
from sb.commands import output
from sb.commands.options import AsJson, single
from sb.commands.session import configuration

from sb.doctor import examine
from sb.errors import ExitCode
from sb.kernel.review.findings import Status

app = single()


@app.command(epilog="Example: sb doctor --json")
def doctor(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Check the installation; exit 1 if a check fails."""
    findings = examine(configuration(ctx, quietly=True))
    failed = any(finding.status is Status.FAIL for finding in findings)
    if as_json:
        output.emit_json({"ok": not failed, "items": [vars(finding) for finding in findings]})
    else:
        output.findings("check", findings)
    raise typer.Exit(ExitCode.FAILED if failed else ExitCode.OK)
