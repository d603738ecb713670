"""`sb console`: the operator's screens."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import As, single
from sb.commands.session import configuration, decider, operators_here
from sb.commands.terminal import PLAIN

from sb.base.text import nearest
from sb.base.text import plain as printable
from sb.cli import ALIASES
from sb.errors import StoreError, UsageError

if TYPE_CHECKING:
    from sb.config import Config
    from sb.kernel.authority.authority import Authority

app = single()


@app.command(epilog="Example: sb console --read-only")
def console(
    ctx: typer.Context,
    screen: Annotated[
        str,
        typer.Argument(help="View for --plain: inbox, agents, log, decisions, contracts…"),
    ] = "inbox",
    plain: Annotated[
        bool,
        typer.Option("--plain", help="Print one view as plain lines, and exit."),
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Show everything, allow no decisions.")
    ] = False,
    operator: As = "",
    web: Annotated[
        bool, typer.Option("--web", help="Serve it to a browser on this machine; prints the URL.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port for --web; 0 for any free port.")] = 0,
) -> None:
    """Watch agents and decide requests, full screen."""
    if plain or os.environ.get(PLAIN):
        _print(ctx, screen)
        return
    if web:
        _serve(ctx, read_only, operator, port)
        return
    if not on_terminal():
        raise UsageError("the console needs a terminal", "sb console --plain prints a view as lines")
    config = configuration(ctx)
    _offer_home(config)
    show(config, read_only=read_only, operator=operator)


def _offer_home(config: Config) -> None:
    """Make the database that is missing, if the person at the terminal wants it.

    Raises:
        StoreError: there is none, and none was made.
    """
    if config.database.exists() or "TEXTUAL_DRIVER" in os.environ:
        return
    note(f"no database at {config.database}: nothing has been recorded here yet")
    if not typer.confirm("Create it and open the console?", default=True, err=True):
        raise StoreError(f"no database at {config.database}", "make one with `sb init`")
    from sb.runtime import create_home

    for path in create_home(config):
        note(f"made {path}")


def on_terminal() -> bool:
    """True if the console can be shown here: on a terminal, or in the browser's tab that a server has opened."""
    if "TEXTUAL_DRIVER" in os.environ:
        return True
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))  # it draws on stderr


def show(config: Config, *, read_only: bool = False, operator: str = "") -> None:
    """Run the console until it is left."""
    gc.disable()  # nothing of what is imported now is garbage: looking for it costs a tenth of the start
    from sb.screens.app import ConsoleApp
    from sb.screens.state.records import Records

    records = Records(config)
    try:
        ConsoleApp(records, read_only=read_only, operator=operator).run()
    finally:
        records.close()


def _print(ctx: typer.Context, screen: str) -> None:
    from sb.screens.state.plain import PLAIN
    from sb.screens.state.records import Records

    screen = ALIASES.get(screen, screen)
    if screen not in PLAIN:
        shown = printable(screen, one_line=True)
        raise UsageError(f"no view {shown!r}{nearest(screen, PLAIN)}", "one of " + ", ".join(PLAIN))
    with closing(Records(configuration(ctx))) as records:
        found = PLAIN[screen](records)
    if found.rows:
        output.table(found.titles, found.rows, whole=True)
    else:
        note(f"nothing in view {screen}")
    if len(found.rows) < found.total:
        note(f"showing {len(found.rows)} of {found.total:,}")


def _asked_operator(authority: Authority) -> str:
    """The operator for whom a browser decides, asked where this home has the keys of several; "" for the only one."""
    here = operators_here(authority)
    if len(here) < 2 or not on_terminal():
        return ""
    while (
        answer := typer.prompt(f"Who decides: {', '.join(here)}?", err=True, prompt_suffix=" ")
    ) not in here:
        note(f"no key of {printable(answer, one_line=True)} is in this home")
    return str(answer)


def _serve(ctx: typer.Context, read_only: bool, operator: str, port: int) -> None:
    """Serve the console to a browser; it decides only with the key that is unlocked in this terminal now."""
    from functools import partial

    from sb.screens.web import serve

    from sb.kernel.decision_desk import DecisionDesk
    from sb.operator.attention.watching import Watcher
    from sb.runtime.parts import open_authority, open_log

    config = configuration(ctx)
    with closing(open_log(config)) as log:
        authority = open_authority(config, log)
        by = None if read_only else decider(ctx, authority, operator or _asked_operator(authority))
    if by is not None and not by.key_id:
        by = None  # an address that decides must belong to somebody who unlocked a key
        note("note: no operator is enrolled, so the browser is read-only: sb operator init")
    desk = None
    if by is not None:
        dual_control = config.kill.dual_control
        desk = DecisionDesk(partial(open_log, config), config.operators.file, by, dual_control=dual_control)
    # -P: or -m would import a folder named sb of wherever this was started, with the right to sign
    command = [sys.executable, "-P", "-m", "sb", "--db", str(config.database), "console"]
    with closing(Watcher(config)) as watcher:
        serve(
            command, home=config.home.folder, desk=desk, announce=note, waiting=watcher.count_needs, port=port
        )
