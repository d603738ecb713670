"""`sb explain`: how a command line of an agent would be judged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.options import AsJson, single
from sb.commands.session import configuration

from sb.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from sb.hosts.explaining import LineExplanation

app = single()
_OUTCOMES = {
    "runs": "would run",
    "kept": "would run",
    "asked": "would ask a person",
    "denied": "would be denied",
    "refused": "would be refused, whoever approves",
}
MOST_SHOWN = 20  # paths and commands


@app.command(epilog="Example: sb explain 'git push --force' --cwd .")
def explain(
    ctx: typer.Context,
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="The command line, in quotes.")],
    cwd: Annotated[Path | None, typer.Option(help="The folder it would run in; by default this one.")] = None,
    agent: Annotated[str, typer.Option(help="The agent whose rules apply.")] = "claude-code",
    as_json: AsJson = False,
) -> None:
    """Explain how a command line would be judged; nothing is run.

    Shows its class and why, what it would touch, whether that can be undone, what would be asked, and a safer
    command where there is one. Exits 4 unless it would run.
    """
    from sb.hosts.explaining import explain_line

    folder = (cwd or Path.cwd()).absolute()
    if not folder.is_dir():
        raise UsageError(f"--cwd: no such folder: {folder}", "name an existing folder")
    found = explain_line(configuration(ctx, quietly=as_json), command, folder, agent)
    if as_json:
        output.emit_json(found.to_dict())
    else:
        _print(found)
    raise typer.Exit(ExitCode.OK if found.outcome.runs else ExitCode.DENIED)


def _print(found: LineExplanation) -> None:
    output.line(f"{found.command}")
    output.line(f"  {_OUTCOMES[found.outcome]}" + "".join(f": {reason}" for reason in found.reasons[:1]))
    for reason in found.reasons[1:]:
        output.line(f"  and: {reason}")
    output.line(f"  class: {found.safety_class} ({found.contract})")
    output.line(f"  why: {found.why}")
    if not found.understood:
        output.line("  not known before it runs: a program, or a whole command")
    for name, items in (("commands", found.commands), ("changes", found.touches)):
        more = [f"… {len(items) - MOST_SHOWN} more"] if len(items) > MOST_SHOWN else []
        if items:
            output.line(f"  {name}: {'; '.join([*items[:MOST_SHOWN], *more])}")
    output.line(f"  confined: {found.confined}")
    output.line(f"  undo: {found.undo}")
    if found.advice:
        output.line(f"  safer: {found.advice.instead}, which {found.advice.why}")
