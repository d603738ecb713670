"""`sb uninstall`: disconnect a coding agent."""

from __future__ import annotations

from typing import Annotated

import typer
from sb.commands import agents_md, output
from sb.commands.file_changes import confirm, described
from sb.commands.install import DryRun, open_installer
from sb.commands.options import AsJson, Yes, single

from sb.hosts.registry import host_settings

app = single()


@app.command(epilog="Example: sb uninstall claude-code --dry-run")
def uninstall(
    name: agents_md.HostOrFile,
    purge: Annotated[
        bool, typer.Option("--purge", help="Also remove backups, and the wrapper if unused.")
    ] = False,
    project: agents_md.Project = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove sb's entries from the settings of a coding agent.

    A file unchanged since the install is restored byte for byte; from any other only our entries are removed.
    """
    if agents_md.is_meant(name, project, purge):
        agents_md.uninstall(project, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    host, installer = host_settings(name), open_installer()
    changes = installer.plan_uninstall(host)
    needed = [change for change in changes if change.needed]
    if not as_json:
        for change in needed:
            output.line(change.diff, one_line=False)
    purged: list[str] = []
    if not dry_run:
        if needed and not yes:
            paths = ", ".join(str(change.current.path) for change in needed)
            confirm(f"change {paths}?", [change.diff for change in needed])
        if changes:
            installer.uninstall(changes)
        purged = [str(path) for path in installer.remove_runtimes()]
        purged += [str(path) for path in installer.purge(host)] if purge else []
    if as_json:
        items = [described(name, change, dry_run) for change in changes]
        output.emit_json({"items": items, "purged": purged})
        return
    for change in needed:
        done = "removed" if change.after is None else "restored"
        output.line(f"{change.current.path} {'would be ' if dry_run else ''}{done}")
    if not needed:
        output.line(f"no entries of sb in the settings of {name}")
    for path in purged:
        output.line(f"removed {path}")
