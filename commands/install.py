"""`sb install`: connect a coding agent, so that its host calls `sb` before and after each tool call."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note

from sb.config.home import Home
from sb.errors import SBError, UsageError
from sb.hosts.install.environment import Environment
from sb.hosts.install.host import Host, Places
from sb.hosts.install.installing import Change, Installer
from sb.hosts.registry import host_settings, installable
from sb.hosts.server_approvals import server_steps
from sb.text import plain

app = typer.Typer(
    help="Connect a coding agent: its host calls sb for each tool call.",
    add_completion=False,
    rich_markup_mode=None,
)


class Scope(StrEnum):
    USER = "user"
    PROJECT = "project"


DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change; write nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(epilog="Example: sb install claude-code --dry-run")
def install(
    name: Annotated[str, typer.Argument(metavar="HOST", help=", ".join(installable()) + ".")],
    scope: Annotated[Scope, typer.Option(help="All of your projects, or this one.")] = Scope.USER,
    fail_closed: Annotated[
        bool, typer.Option("--fail-closed", help="Have the host deny calls when a hook fails.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Add sb's hooks to the settings of a coding agent.

    Shows the change and asks first. Your own entries stay, and the file is backed up.
    """
    host, installer = host_settings(name), open_installer()
    change = installer.plan_install(host, scope=scope, fail_closed=fail_closed)
    if change.needed and not as_json:
        output.line(change.diff, one_line=False)
    if not dry_run:
        if change.needed and not yes:
            confirm(f"write {change.current.path}?")
        installer.install(change)
    steps = _next_steps(host) if change.needed and not dry_run else []
    if as_json:
        output.emit_json({**described(change, dry_run), "scope": str(scope), "next_steps": steps})
        return
    done = "would be changed" if dry_run else "now calls sb"
    output.line(f"{change.current.path} {done if change.needed else 'already calls sb'}")
    for step in steps:
        note(f"next: {step}")


def _next_steps(host: Host) -> list[str]:
    create = [] if Home.locate(os.environ).database.exists() else ["create the database: sb init"]
    advice = Environment().advice
    return [
        *create,
        *host.steps,
        "check the installation: sb doctor",
        *server_steps(host.name, os.environ, Path.cwd()),
        "watch its calls: sb console",
        *([advice] if advice else []),
    ]


def open_installer() -> Installer:
    return Installer(Home.locate(os.environ), Places(os.environ, Path.cwd()))


def described(change: Change, dry_run: bool) -> dict[str, object]:
    """A change, for JSON."""
    return {
        "host": change.host.name,
        "file": str(change.current.path),
        "changed": change.needed and not dry_run,
        "would_change": change.needed,
        "diff": change.diff,
    }


def confirm(question: str) -> None:
    """Ask the user at the terminal.

    Raises:
        UsageError: there is no terminal.
        SBError: the answer was no.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            f"needs a terminal, or --yes, to {question.removesuffix('?')}", "--dry-run shows the change"
        )
    if not typer.confirm(plain(question, one_line=True), err=True):
        raise SBError("nothing was changed")
