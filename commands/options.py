"""Command groups, and the options that several of them share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from sb.cli import Group

_Function = TypeVar("_Function", bound=Callable[..., Any])
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]
As = Annotated[str, typer.Option("--as", help="The operator who signs, if this home has several keys.")]
DecisionReason = Annotated[str, typer.Option(help="Why; required, and recorded with the decision.")]
ChangeReason = Annotated[str, typer.Option(help="Why; required, and recorded with the change.")]
LogReason = Annotated[str, typer.Option(help="Why; recorded in the log.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.")]
Limit = Annotated[int, typer.Option(min=0, help="Maximum results; 0 for no limit.")]
AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's name.")]
ApprovalReason = Annotated[str, typer.Option(help="Why; recorded with the approval.")]
ApprovedBy = Annotated[str, typer.Option(help="The operator who signs; a label while none is enrolled.")]
Args = Annotated[str, typer.Option(help="Arguments as a JSON object; @FILE, or - for stdin.")]
HostName = Annotated[str, typer.Argument(help="The host, such as claude-code.")]
Interval = Annotated[float, typer.Option(min=0.1, max=3600.0, help="Seconds between checks.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Mode = Annotated[str, typer.Option(help="Safety mode: normal, safe or strict.")]
NewFile = Annotated[Path, typer.Argument(help="A new file.")]
OnlyHost = Annotated[str, typer.Option(help="Only this host, such as claude-code.")]
Replace = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write this report; - is stdout.")]
Reveal = Annotated[bool, typer.Option("--reveal", help="Print hidden secrets too.")]
Saved = Annotated[str, typer.Option(metavar="NAME", help="A saved filter too; see sb filters list.")]
Since = Annotated[str, typer.Option(help="Only events from the last 2h, 30d…")]
ToolId = Annotated[str, typer.Argument(help="The tool's id.")]
MinConfidence = Annotated[float | None, typer.Option(help="Minimum confidence, from 0 to 1.")]
Query = Annotated[str, typer.Argument(help="A question, or a few words; - for stdin.")]
Results = Annotated[int, typer.Option("-k", min=1, max=100, help="Maximum results.")]
Tokens = Annotated[int, typer.Option(min=100, max=50_000, help="Token budget.")]
Work = Annotated[str, typer.Option(help="Context of the work, whose memories come first.")]


def group(help_text: str = "", **more: Any) -> typer.Typer:
    """A group of commands; called without one, it shows its help."""
    return single(**{"cls": Group, "help": help_text, "no_args_is_help": True} | more)


def single(**more: Any) -> typer.Typer:
    """One command, or commands that a group takes in; without rich, which takes as long to load as a command to run."""
    return _Commands(add_completion=False, rich_markup_mode=None, **more)


class _Commands(typer.Typer):
    """Commands, each of which may take bundles of options."""

    def command(self, *names: str | None, **more: Any) -> Callable[[_Function], _Function]:
        register = super().command(*names, **more)

        def add(function: _Function) -> _Function:
            register(_unbundled(function))
            return function

        return add


def _unbundled(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with the fields of each dataclass that it takes as options of its own, behind the others."""
    signature = inspect.signature(command, eval_str=True)
    bundles: dict[str, Any] = {
        name: it.annotation for name, it in signature.parameters.items() if is_dataclass(it.annotation)
    }

    if not bundles:
        return command

    def run(**given: Any) -> None:
        for name, bundle in bundles.items():
            given[name] = bundle(**{field.name: given.pop(field.name) for field in fields(bundle)})
        command(**given)

    own = [it for name, it in signature.parameters.items() if name not in bundles]
    options = [option for bundle in bundles.values() for option in _options(bundle)]
    shown = signature.replace(parameters=[it.replace(kind=it.KEYWORD_ONLY) for it in (*own, *options)])
    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__annotations__ = {it.name: it.annotation for it in shown.parameters.values()}
    run.__signature__ = shown  # type: ignore[attr-defined]  # which Typer reads
    return run


def _options(bundle: Any) -> list[inspect.Parameter]:
    """The fields of a bundle, as parameters of a command."""
    hints = get_type_hints(bundle, include_extras=True)
    return [
        inspect.Parameter(
            it.name, inspect.Parameter.KEYWORD_ONLY, default=it.default, annotation=hints[it.name]
        )
        for it in fields(bundle)
    ]
