"""`sb memory lesson add|list|show|confirm|retire`: what failed calls taught."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.memories import (
    MemoryOptions,
    Writing,
    required,
    typed,
    with_times,
)
from sb.commands.memory_trigger import Error, Path, Tool, Trigger, add_common, fate, show_made
from sb.commands.options import ChangeReason, group

from sb.base.text import plain

if TYPE_CHECKING:
    from sb.memory import Brain
    from sb.memory.lessons.lessons import LessonStatus

app = group("Save, list and end lessons about calls.")


@app.command(epilog='Example: sb memory lesson add "npm run biuld" "the script is called build"')
def add(
    ctx: typer.Context,
    saved: Writing,
    call: Annotated[str, typer.Argument(help='Call that it is about; "" with other conditions.')],
    lesson: Annotated[str, typer.Argument(help="What to know then; - for stdin.")],
    path: Path = "",
    tool: Tool = "",
    error: Error = "",
    cause: Annotated[str, typer.Option(help="Reason why the call failed.", metavar="TEXT")] = "",
) -> None:
    """Save a lesson; all conditions given have to hold."""
    given = {"call": call, "path": path, "tool": tool, "error": error}
    with saved.memory(ctx) as brain:
        made = brain.lesson_add(typed(lesson, "lesson"), given, cause=cause, private=saved.private)
        show_made(brain, made, brain.lesson_show, _show, saved.json_)


@app.command(epilog='Example: sb memory lesson confirm mem_7c2e91 --reason "it was so"')
def confirm(
    ctx: typer.Context,
    at: MemoryOptions,
    lesson: Trigger,
    reason: ChangeReason = "",
) -> None:
    """Confirm a lesson; its credibility rises."""
    required(reason)
    with at.memory(ctx) as brain:
        brain.lesson_show(lesson)
        brain.confirm(lesson, reason)
        _show(brain, brain.lesson_show(lesson), at.json_)


def _show(brain: Brain, item: LessonStatus, json_: bool = False) -> None:
    if json_:
        output.emit_json(with_times(item.as_json()))
        return
    output.line(plain(f"at {item.when}: {item.content}", one_line=True), one_line=True)
    state = "inert" if item.inert else item.status
    output.line(f"    {state}, credibility {item.credibility:g}; {fate(item)}", one_line=True)


add_common(app, "lesson", _show, "no lessons: failed calls make some, and sb memory lesson add saves one")
