"""The parts of `sb install` and `sb uninstall` that write the section of a project's AGENTS.md."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.file_changes import confirm, described

from sb.config.home import Home
from sb.errors import UsageError
from sb.hosts import agents_md
from sb.hosts.install.files import FileChange
from sb.hosts.install.host import Places
from sb.hosts.registry import WITH_SETTINGS

NEXT = "commit it, so that every agent of the project reads it; connect yours: sb install HOST"
TARGETS = f"{', '.join(WITH_SETTINGS)}; or {agents_md.NAME}."
Project = Annotated[
    Path | None, typer.Option("--project", metavar="DIR", help="With agents-md: the project's folder.")
]
HostOrFile = Annotated[str, typer.Argument(metavar="HOST", help=TARGETS)]


def is_meant(name: str, project: Path | None, *of_hosts: bool) -> bool:
    """True if the section is meant, and no host.

    Args:
        of_hosts: the options that only hosts have, as given.

    Raises:
        UsageError: an option of the other was given.
    """
    meant = name == agents_md.NAME
    if meant and any(of_hosts):
        raise UsageError(
            f"{name} takes only --project, --dry-run, --yes and --json", "omit the other options"
        )
    if project is not None and not meant:
        raise UsageError(f"--project is for {agents_md.NAME} alone", "run it in the project's folder")
    return meant


def install(project: Path | None, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Add the section to the project's AGENTS.md, or renew it."""
    change = _carried_out(agents_md.plan_install, project, dry_run=dry_run, yes=yes, as_json=as_json)
    written = change.needed and not dry_run
    if as_json:
        more = {"next_steps": [NEXT] if written else [], "made": [], "contracts": [], "warning": None}
        output.emit_json({**described(agents_md.NAME, change, dry_run), "scope": "project", **more})
        return
    done = "would have" if dry_run else "now has"
    output.line(f"{change.current.path} {done if change.needed else 'already has'} the section of sb")
    if written:
        note(f"next: {NEXT}")


def uninstall(project: Path | None, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Take the section out of the project's AGENTS.md."""
    change = _carried_out(agents_md.plan_removal, project, dry_run=dry_run, yes=yes, as_json=as_json)
    if as_json:
        items = [described(agents_md.NAME, change, dry_run)] if change.needed else []
        output.emit_json({"items": items, "purged": []})
    elif change.needed:
        done = "removed" if change.after is None else "restored"
        output.line(f"{change.current.path} {'would be ' if dry_run else ''}{done}")
    else:
        output.line(f"no section of sb in {change.current.path}")


def _carried_out(
    plan: Callable[[Path], FileChange], project: Path | None, *, dry_run: bool, yes: bool, as_json: bool
) -> FileChange:
    change = plan(_folder(project))
    if change.needed:
        if not as_json:
            output.line(change.diff, one_line=False)
        if not dry_run:
            if not yes:
                confirm(f"write {change.current.path}?", [change.diff])
            agents_md.write(Home.locate(os.environ), change)
    return change


def _folder(project: Path | None) -> Path:
    if project is None:
        return Places(os.environ, Path.cwd()).project
    if not project.is_dir():
        raise UsageError(f"--project: no such folder: {project}", "name an existing folder")
    return Path(os.path.realpath(project))
