"""`sb uninstall`: take our entries out of a host's configuration."""

from __future__ import annotations

from typing import Annotated

import typer
from sb.commands import output
from sb.commands.install import HostName, confirm, described, find_host, open_installer

app = typer.Typer(
    help="Disconnect a coding agent's host from sb.", add_completion=False, rich_markup_mode=None
)


@app.command(epilog="Example: sb uninstall claude-code --dry-run")
def uninstall(
    name: HostName,
    purge: Annotated[
        bool, typer.Option("--purge", help="Also remove our backups, and the unused wrapper.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change and write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Disconnect a coding agent's host from sb."""
    host, installer = find_host(name), open_installer()
    changes = installer.leaving(host)
    needed = [change for change in changes if change.needed]
    if not as_json:
        for change in needed:
            output.line(change.diff, one_line=False)
    purged: list[str] = []
    if not dry_run:
        if needed and not yes:
            confirm(f"change {', '.join(str(change.seen.path) for change in needed)}?")
        if changes:
            installer.leave(changes)
        purged = [str(path) for path in installer.retire()]
        purged += [str(path) for path in installer.purge(host)] if purge else []
    if as_json:
        items = [described(change, dry_run) for change in changes]
        output.emit_json({"items": items, "purged": purged})
        return
    for change in needed:
        gone = "removed" if change.after is None else "given back"
        output.line(f"{change.seen.path} {'would be ' if dry_run else ''}{gone}")
    if not needed:
        output.line(f"nothing of ours is in the configuration of {name}")
    for path in purged:
        output.line(f"removed {path}")
