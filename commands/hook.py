"""`sb hook`: what the host of a coding agent calls. `sb.__main__` answers it before the command line is loaded."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    help="Answer one event of a coding agent's host.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.command(no_args_is_help=True, epilog="Example: sb hook claude-code")
def hook(host: Annotated[str, typer.Argument(help="The host, such as claude-code.")]) -> None:
    """Answer one event of a coding agent's host."""
    from sb.hosts.hooks.main import main

    main([host])
