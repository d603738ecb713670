"""`sb help`: explain a topic, or a command."""

from __future__ import annotations

import shutil
from typing import Annotated, Any

import typer
from sb.commands import output
from sb.commands.options import single
from sb.commands.topics import TOPICS
from sb.commands.usage_errors import meant

from sb.base.text import nearest, plain
from sb.cli import ALIASES, COMMANDS, load
from sb.errors import UsageError

app = single()
WIDEST = 100  # characters of a line


@app.command(epilog="Example: sb help exit-codes")
def help_on(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC", help="A topic, or the words of a command.")
    ] = None,
) -> None:
    """Explain a topic or a command; without one, list the topics."""
    width = min(shutil.get_terminal_size().columns, WIDEST)
    if not words:
        _list_topics()
    elif topic := _topic(words):
        for line in TOPICS[topic].lines(width):
            output.line(line)
    else:
        output.text(_command_help(ctx, words) + "\n")


def _list_topics() -> None:
    first = max(map(len, TOPICS))
    output.line("Topics of `sb help TOPIC`:")
    for name, topic in TOPICS.items():
        output.line(f"  {name:<{first}}  {topic.summary}")
    output.line()
    output.line("`sb help COMMAND`, or `sb COMMAND -h`, shows a command; `sb -h` lists the commands.")


def _topic(words: list[str]) -> str:
    """The topic of that name, in any spelling; "" if it is none."""
    name = "-".join(words).lower().replace("_", "-").replace(" ", "-")
    return next((known for known in (name, f"{name}s") if known in TOPICS), "")


def _command_help(ctx: typer.Context, words: list[str]) -> str:
    """The help of a command, as `-h` prints it.

    Raises:
        UsageError: there is neither such a command nor such a topic.
    """
    context: Any = ctx.find_root()
    for number, word in enumerate(words):
        below = getattr(context.command, "commands", {})
        name = ALIASES.get(word, word)
        command = load(name) if number == 0 and name in COMMANDS else below.get(word)
        if command is None:
            close = nearest(word, TOPICS) if number == 0 else ""
            others = [] if close else meant(word, " ".join(words[:number]), [*below])
            hint = f"sb help {others[0]}" if others else "sb help lists the topics, sb -h the commands"
            shown = plain(" ".join(words), one_line=True)
            raise UsageError(f"no topic or command {shown!r}{close}", hint)
        context = typer.Context(command, info_name=word, parent=context)
    return str(context.command.get_help(context))
