"""The `sb` command line: its commands by name, and the exit code of every ending.

Groups are named here and imported only when one of their commands runs: help, version, completion and a usage error
load neither the kernel nor rich nor yaml.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar

import typer
from typer.completion import install_callback, show_callback
from typer.core import TyperGroup

from sb import __version__
from sb.base.text import nearest
from sb.base.values.frozen import mutable
from sb.errors import ExitCode, SBError, UsageError

# Commands in the sections of `sb --help`, with their summaries.
SECTIONS = {
    "Start": {
        "status": "Show what needs you, who is connected, what is enforced.",
        "init": "Create the database and the configuration.",
        "install": "Connect a coding agent's host to sb.",
        "run": "Start a coding agent's host in confinement.",
        "serve": "Give agents memory and governed calls over MCP.",
        "scan": "Show what sb would have done in past sessions.",
        "demo": "Watch an agent work under the kernel.",
        "console": "Watch agents and decide requests, full screen.",
        "help": "Explain a topic or a command.",
    },
    "Decide": {
        "watch": "Print what needs you, as it appears.",
        "approvals": "Show pending approval requests, and decide them.",
        "recovery": "Review reversals and calls with unknown outcomes.",
        "workflow": "List workflows, and settle steps of unknown outcome.",
        "runtime-guard": "Approve what tools declare of themselves: their contracts.",
        "kill": "Stop all agents, or one agent, tool, class or run.",
        "agent": "Show and approve agents' charters; run evals of agents.",
        "autonomy": "Show how far agents are trusted, and sign for more.",
        "release": "Pin an agent's release: its prompts, model, tools, rules.",
        "outcome": "Accept or reject what runs came to.",
        "tokenomics": "Report what trusted outcomes cost.",
        "incident": "Record incidents, and work through their runbooks.",
    },
    "Look back": {
        "log": "Read, verify, export and prune the event log.",
        "filters": "Save filters of lists and searches under names.",
        "undo": "Reverse what an agent's call did.",
        "blame": "Show which prompt and call wrote each line of a file.",
    },
    "Memory": {
        "memory": "Save what agents learn, and search it.",
        "suggestions": "Review suggested memories.",
        "quarantine": "Review memories of untrusted sources.",
        "trust": "Set and show trust scores.",
        "entity": "Work as one agent's core: the stacks that it remembers by.",
        "stack": "Manage stacks of memories.",
        "checkpoint": "Save an agent's core, and restore it.",
    },
    "Checks": {
        "doctor": "Check the installation.",
        "explain": "Explain how a command line would be judged.",
        "replay": "Capture runs, and run them again without effects.",
        "red-team": "Check texts for attacks on models, and list what was found.",
        "harness": "Grade the harness against the forty controls.",
        "sources": "List and check the registered sources of context.",
        "kernel": "Show the kernel's tools, and run one.",
    },
    "Set up": {
        "config": "Show and check settings, and trust a project's file.",
        "credentials": "List where tools' credentials come from, and try one.",
        "operator": "Enroll operators, and manage their keys.",
        "backup": "Copy the database while it is in use.",
        "commands": "List every command; --json adds options and exit codes.",
        "store": "Encrypt the database, or decrypt it.",
        "migrate": "Bring the database to this version's schema.",
        "uninstall": "Disconnect a coding agent's host from sb.",
        "hook": "Answer one event of a coding agent's host.",
        "statusline": "Print one line about a coding agent's session.",
    },
}
COMMANDS = {name: summary for section in SECTIONS.values() for name, summary in section.items()}
ALIASES = {"audit": "log"}  # older names, which help does not list
COMPLETION = {
    "--install-completion": "Install completion for your shell, or for the one named.",
    "--show-completion": "Print the completion script for your shell, or the one named.",
}
CONFINED = "SB_CONFINED"  # a variable of confined commands, as `sb.hosts.confinement.bubblewrap` sets it
HELP = ("-h", "--help")
# What help calls a value of each type.
VALUES = {"str": "TEXT", "path": "PATH", "int": "N", "int range": "N", "float": "N", "float range": "N"}
DISPLAY = ("--plain", "--no-color")
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


@mutable
class Options:
    """Options given before the command."""

    db: str | None = None
    debug: bool = False


class Group(TyperGroup):
    """A group of commands that finds the right command for a wrong word.

    PANELS has the headings of its help, each with commands; those that no heading names stand under the second.
    """

    PANELS: ClassVar[dict[str, str]] = {}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        if not self.PANELS:
            super().format_commands(ctx, formatter)
            return
        panels = {
            heading: [it for it in names.split() if it in self.commands]
            for heading, names in self.PANELS.items()
        }
        named = {name for names in panels.values() for name in names}
        panels[list(panels)[1]] += [
            name for name, it in self.commands.items() if name not in named and not it.hidden
        ]
        width = max(map(len, self.commands))
        for heading, names in panels.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(name.ljust(width), self.commands[name].get_short_help_str(100)) for name in names]
                )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not ctx.resilient_parsing and not args[0].startswith("-") and args[0] not in self.commands:
            from sb.commands.usage_errors import unknown_command

            raise unknown_command(
                ctx.command_path, args, [name for name, it in self.commands.items() if not it.hidden]
            )
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """Lists its commands from SECTIONS and imports one when it is asked for."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, summary in COMMANDS.items():
            self.commands[name] = TyperGroup(name=name, help=summary)
        for name, known in ALIASES.items():
            self.commands[name] = TyperGroup(name=name, help=COMMANDS[known], hidden=True)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = _display_first(args)
        if len(args) == 2 and args[0] in COMPLETION:  # typer's own options ignore the name of a shell
            self._complete(ctx, *args)
        return super().parse_args(ctx, args)

    def _complete(self, ctx: Any, option: str, shell: str) -> None:
        """Ends the process once it did what the option says."""
        if shell not in SHELLS:
            message = f"{option}: no shell {shell!r}{nearest(shell, SHELLS)}"
            raise UsageError(message, "one of " + ", ".join(SHELLS))
        parameter = next(parameter for parameter in self.params if option in parameter.opts)
        (show_callback if option == "--show-completion" else install_callback)(ctx, parameter, shell)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, COMMANDS))
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in commands.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        name = ALIASES.get(name or "", name)
        if name in COMMANDS:
            command = load(name)
        return name, command, rest


def _display_first(args: list[str]) -> list[str]:
    """The arguments with what says how output looks in front, since every command takes it at any place."""
    end = args.index("--") if "--" in args else len(args)
    given = [arg for arg in args[:end] if arg in DISPLAY]
    return [*given, *(arg for arg in args[:end] if arg not in DISPLAY), *args[end:]]


@cache
def load(name: str) -> Any:
    """The real command or group of that name."""
    command = typer.main.get_command(import_module(f"sb.commands.{name.replace('-', '_')}").app)
    command.name, command.help = name, command.help or COMMANDS[name]
    _name_values(command)
    return command


def _name_values(command: Any) -> None:
    """Name in help what options and arguments take, where the command itself does not."""
    for parameter in command.params:
        if parameter.metavar is None and parameter.param_type_name == "argument":
            parameter.metavar = parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
        elif parameter.metavar is None and not parameter.is_flag:
            parameter.metavar = VALUES.get(parameter.type.name)
    for inner in getattr(command, "commands", {}).values():
        _name_values(inner)


@cache
def root_command() -> Any:
    """`sb` itself, with every command."""
    command = typer.main.get_command(app)
    _name_values(command)
    for parameter in command.params:
        for name in parameter.opts:
            if name in COMPLETION:
                setattr(parameter, "help", COMPLETION[name])  # noqa: B010 - the base class declares none
    return command


app = typer.Typer(
    cls=LazyGroup,
    help="Govern what AI agents do, and keep what they learn.",
    epilog="`sb COMMAND -h` shows a command with an example, `sb help` the topics.",
    invoke_without_command=True,
    context_settings={"help_option_names": list(HELP)},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sb {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    db: Annotated[
        str | None, typer.Option(metavar="FILE", help="Database file, instead of the configured one.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback for an internal error.")] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="On a terminal too, neither fit nor colour the output.")
    ] = False,
    no_color: Annotated[
        bool, typer.Option("--no-color", help="Print without colour, as NO_COLOR=1 does.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Without a command, what `sb status` prints."""
    ctx.obj = Options(db, debug)
    if plain:
        os.environ["SB_PLAIN"] = "1"
    if plain or no_color:
        os.environ["NO_COLOR"] = "1"
    if ctx.invoked_subcommand is None:
        status = load("status")
        status.invoke(status.make_context("status", [], parent=ctx))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; no exception of a command leaves it."""
    _prepare_streams()
    as_json, debug = "--json" in arguments, "--debug" in arguments
    try:
        outcome = root_command().main(arguments, prog_name="sb", standalone_mode=False)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else ExitCode.OK
    except SBError as error:
        return _fail(error, as_json)
    except typer.TyperException as error:
        if is_help(error):
            typer.echo(error.format_message())
            return ExitCode.OK
        from sb.commands.usage_errors import usage_error

        return _fail(usage_error(error) or SBError(error.format_message()), as_json)
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("sb: interrupted\n")
        return ExitCode.INTERRUPTED
    except (BrokenPipeError, SystemExit):  # typer itself exits when the reader of its output has gone
        _silence()
        return ExitCode.OK
    except Exception as error:  # the edge of the process: one line for the person, the traceback in a file
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _silence()
            return _fail(SBError(f"cannot write the output: {error.strerror}"), False)
        if CONFINED in os.environ and isinstance(error, OSError):
            return _fail(SBError(f"{error.filename}: {error.strerror}"), as_json)
        if debug:
            raise
        from sb.commands.diagnostics import internal_error

        return _fail(internal_error(error), as_json, ExitCode.INTERNAL)


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # whatever the locale says


def _silence() -> None:
    """Nobody takes our output any more: let what is still buffered go nowhere, or Python complains as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def is_help(error: typer.TyperException) -> bool:
    """True if a group was called without a command, which shows its help."""
    context = getattr(error, "ctx", None)
    return context is not None and error.message == context.get_help()


def _fail(error: SBError, as_json: bool, code: int | None = None) -> int:
    from sb.commands.diagnostics import report

    if CONFINED in os.environ and error.exit_code != ExitCode.USAGE:
        error.hint = (
            "it runs in confinement, where SB_HOME cannot be written: ask the user to run it in a terminal"
        )
    try:
        report(error, as_json=as_json)
        sys.stdout.flush()
    except OSError:  # not even this can be written: the exit code still says it
        _silence()
    return error.exit_code if code is None else code
