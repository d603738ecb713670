"""Command groups, and the options that several of them share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sb.cli import Group

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]
As = Annotated[str, typer.Option("--as", help="The operator who signs, if this home has several keys.")]
DecisionReason = Annotated[str, typer.Option(help="Why; required, and recorded with the decision.")]
ChangeReason = Annotated[str, typer.Option(help="Why; required, and recorded with the change.")]
LogReason = Annotated[str, typer.Option(help="Why; recorded in the log.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated.")]
Limit = Annotated[int, typer.Option(min=0, help="Maximum results; 0 for no limit.")]


def group(help_text: str = "", **more: Any) -> typer.Typer:
    """A group of commands; called without one, it shows its help."""
    return single(**{"cls": Group, "help": help_text, "no_args_is_help": True} | more)


def single(**more: Any) -> typer.Typer:
    """One command, or commands that a group takes in; without rich, which takes as long to load as a command to run."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, **more)
