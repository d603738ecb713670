"""`sb install`: let a coding agent's host call `sb` before and after each tool call."""

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
from sb.errors import NotFoundError, SBError, UsageError
from sb.hosts.install.environment import Environment
from sb.hosts.install.host import Host, Places
from sb.hosts.install.hosts import HOSTS
from sb.hosts.install.installing import Change, Installer
from sb.text import nearest, plain

app = typer.Typer(
    help="Connect a coding agent's host to sb.",
    add_completion=False,
    rich_markup_mode=None,
)


class Scope(StrEnum):
    USER = "user"
    PROJECT = "project"


HostName = Annotated[str, typer.Argument(metavar="HOST", help=", ".join(HOSTS) + ".")]


@app.command(epilog="Example: sb install claude-code --dry-run")
def install(
    name: HostName,
    scope: Annotated[Scope, typer.Option(help="For all of your projects, or this one.")] = Scope.USER,
    fail_closed: Annotated[
        bool, typer.Option("--fail-closed", help="Let the host refuse tool calls when a hook fails.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change and write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Connect a coding agent's host to sb."""
    host = find_host(name)
    installer = open_installer()
    change = installer.joining(host, scope=scope, fail_closed=fail_closed)
    if change.needed and not as_json:
        output.line(change.diff, one_line=False)
    if change.needed and not host.hooks:
        note(
            f"{name} calls no hooks: this is the entry of the MCP server, sb serve, which comes with a later version; "
            "until then the host says that it cannot start it, and none of its calls is seen"
        )
    if not dry_run:
        if change.needed and not yes:
            confirm(f"write this to {change.seen.path}?")
        installer.join(change)
    steps = _next_steps(host) if change.needed and not dry_run else []
    if as_json:
        output.emit_json({**described(change, dry_run), "scope": str(scope), "next_steps": steps})
        return
    told = "would be changed" if dry_run else "calls sb" if host.hooks else "names the server to come"
    output.line(f"{change.seen.path} {told if change.needed else 'is as it should be'}")
    for step in steps:
        note(f"next: {step}")


def _next_steps(host: Host) -> list[str]:
    home = Home.locate(os.environ)
    steps = [] if home.database.exists() else ["sb init makes the database"]
    shown = ["sb console shows its calls"] if host.hooks else []
    advice = Environment().advice if host.hooks else ""
    return [
        *steps,
        *host.steps,
        "sb doctor says whether all is in place",
        *shown,
        *([advice] if advice else []),
    ]


def find_host(name: str) -> Host:
    """The host of that name.

    Raises:
        NotFoundError: there is none.
    """
    if name not in HOSTS:
        raise NotFoundError(f"no host {plain(name, one_line=True)}{nearest(name, HOSTS)}", ", ".join(HOSTS))
    return HOSTS[name]


def open_installer() -> Installer:
    return Installer(Home.locate(os.environ), Places(os.environ, Path.cwd()))


def described(change: Change, dry_run: bool) -> dict[str, object]:
    """A change, for JSON."""
    return {
        "host": change.host.name,
        "file": str(change.seen.path),
        "changed": change.needed and not dry_run,
        "would_change": change.needed,
        "diff": change.diff,
    }


def confirm(question: str) -> None:
    """Ask a person.

    Raises:
        UsageError: nobody is there to ask.
        SBError: they said no.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            f"not asked on a terminal: {question}", "--dry-run shows the change; --yes writes it"
        )
    if not typer.confirm(plain(question, one_line=True), err=True):
        raise SBError("nothing was changed")
