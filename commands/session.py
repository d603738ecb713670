"""Opens what commands start from: configuration, log, runtime, approvals, the deciding operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from sb.commands.diagnostics import note

from sb.cli import Options

if TYPE_CHECKING:
    from sb.config import Config
    from sb.kernel.approvals.decisions import Approvals
    from sb.kernel.authority.authority import Authority
    from sb.kernel.authority.keys import KeyFolder
    from sb.kernel.authority.signing import Decider
    from sb.kernel.baselines.store import ContractBaselineStore
    from sb.kernel.incident_response.kill_switch import KillSwitch
    from sb.kernel.registry.registry import ToolRegistry
    from sb.log.event_log import EventLog
    from sb.runtime import Runtime


def configuration(
    ctx: typer.Context,
    *,
    in_full: bool = False,
    quietly: bool = False,
    with_project: bool = True,
    tolerant: bool = False,
) -> Config:
    """The configuration of this process; what was ignored of it is said on stderr.

    Args:
        in_full: say all of it, rather than the first and how many more.
        quietly: say nothing of it; the command reports it itself.
        with_project, tolerant: as for `load_config`.
    """
    from sb.config import current_config

    options = ctx.find_object(Options) or Options()
    config = current_config({"database": options.db}, with_project=with_project, tolerant=tolerant)
    notes = () if quietly else config.notes if in_full else config.notes[:1]
    for line in notes:
        more = len(config.notes) - len(notes)
        note(f"note: {line}" + (f" (and {more} more: sb config show)" if more else ""))
    return config


def runtime(ctx: typer.Context) -> Runtime:
    """Everything, wired; tools that could not be loaded and calls found in doubt are said on stderr."""
    from sb.runtime import open_runtime

    opened = open_runtime(configuration(ctx))
    for failure in opened.load_failures:
        note(f"warning: {failure}")
    if opened.orphans:
        calls = (
            "call of a process that ended is" if opened.orphans == 1 else "calls of processes that ended are"
        )
        note(f"warning: {opened.orphans} unfinished {calls} now in doubt: sb recovery list")
    return opened


def event_log(ctx: typer.Context) -> EventLog:
    """The log of the existing database."""
    from sb.runtime.parts import open_log

    return open_log(configuration(ctx))


def approval_queue(ctx: typer.Context) -> Approvals:
    """The calls that wait in the existing database."""
    from sb.runtime.parts import open_approvals, open_log

    config = configuration(ctx)
    return open_approvals(config, open_log(config))


def kill_switch(ctx: typer.Context, *, tolerant: bool = False) -> KillSwitch:
    """The kill switch of the existing database.

    A project file that cannot be read is left out: else whoever can write it could keep people from stopping agents.

    Args:
        tolerant: as for `load_config`.
    """
    from sb.errors import ConfigError
    from sb.runtime.parts import open_kill_switch, open_log

    try:
        config = configuration(ctx, tolerant=tolerant)
    except ConfigError as error:
        config = configuration(ctx, with_project=False, tolerant=tolerant)
        note(f"warning: project file ignored: {error.message}")
    return open_kill_switch(config, open_log(config))


def registry(config: Config) -> ToolRegistry:
    """The tools of this process; those that could not be loaded are named on stderr."""
    from sb.runtime.parts import open_registry

    opened, failures = open_registry(config)
    for failure in failures:
        note(f"warning: {failure}")
    return opened


def baselines(ctx: typer.Context, surface: str) -> tuple[ContractBaselineStore, ToolRegistry]:
    """The approved contracts of a surface of the existing database, and the tools of this process."""
    from sb.runtime.parts import open_authority, open_baselines, open_log

    config = configuration(ctx)
    log = open_log(config)
    tools = registry(config)
    store = open_baselines(config, log, open_authority(config, log), surface)
    store.seen.note_all(tools)
    return store, tools


def operators_here(authority: Authority) -> list[str]:
    """The names of the operators whose keys lie in this home."""
    from sb.kernel.authority.enrolment import operators_here as find

    return find(authority, _keys())


def decider(ctx: typer.Context, authority: Authority, name: str, option: str = "--as") -> Decider:
    """The decider here; a passphrase is asked for on the terminal.

    Args:
        name: "" for the only one that fits.
        option: of the command, by which a person names one.
    """
    from sb.kernel.authority.enrolment import decider as find

    by = find(authority, _keys(), name, ask_secret, option=option)
    if not by.key_id:
        note(f"note: no operator is enrolled, so this is unsigned, recorded as {by.name}: sb operator init")
    return by


def anybody(ctx: typer.Context, authority: Authority, name: str) -> Decider:
    """The decider where anybody may act; only a named operator is asked for a passphrase.

    Args:
        name: an operator or a label; "" for whoever is there.
    """
    from sb.kernel.authority.enrolment import anybody as find

    return find(authority, _keys(), name, ask_secret)


def _keys() -> KeyFolder:
    """The private keys of this home, whatever a configuration says."""
    import os

    from sb.config.home import Home
    from sb.kernel.authority.keys import KeyFolder

    return KeyFolder(Home.locate(os.environ).keys)


def ask_secret(prompt: str) -> str:
    """Read a secret on the terminal, unseen; never from stdin, so that no program can answer."""
    import getpass
    import os

    from sb.errors import DeniedError

    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        raise DeniedError(
            "a passphrase is needed, and there is no terminal to ask for it", "run this in a terminal"
        ) from None
    return getpass.getpass(prompt)
