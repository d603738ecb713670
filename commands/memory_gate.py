"""`sb memory gate|outcome`: what is let in, and how sure it is."""

from __future__ import annotations

from typing import Annotated

import typer
from sb.commands import output
from sb.commands.memories import (
    Agent,
    Id,
    MemoryOptions,
    Private,
    Project,
    Scope,
    categories,
    memory,
    required,
    typed,
)
from sb.commands.options import AsJson, ChangeReason, single

from sb.base.text import shorten

app = single()
WIDEST = 100  # characters of a memory on one line


@app.command(epilog='Example: sb memory gate "deploys go out on Tuesdays" --project shop')
def gate(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help="The fact; - for stdin.")],
    category: Annotated[
        str, typer.Option(help="Category of the fact.", autocompletion=categories)
    ] = "project",
    source: Annotated[str, typer.Option(help="Its source, such as user-written.")] = "agent-written",
    project: Project = "",
    scope: Scope = "",
    private: Private = False,
    agent: Agent = "",
    json_: AsJson = False,
) -> None:
    """Show whether a fact would be saved or merged, and why."""
    text = typed(content, "memory")
    with memory(ctx, agent, project=project, scope=scope) as brain:
        found = brain.explain(text, category, private=private, source_type=source)
    if json_:
        output.emit_json(found.as_json())
        return
    if found.held:
        output.line("saved, and quarantined until a person releases it" if found.admitted else "not saved")
        output.line(f"reason: {found.reason}", one_line=True)
        return
    output.line("saved as a separate memory" if found.admitted else f"merged into {found.nearest}")
    output.line(f"reason: {found.reason}", one_line=True)
    if found.nearest:
        output.line(f"nearest: {shorten(found.content, WIDEST)} ({found.likeness:.2f} alike)", one_line=True)
    output.line(
        f"terms: surprise {found.surprise:.2f}, novelty {found.novelty:.2f}, importance {found.importance:.2f},"
        f" trust {found.trust:.2f}"
    )
    for other in found.others:
        what = f"{other.relation}, another {other.changed}: {other.id} {shorten(other.content, WIDEST)}"
        output.line(what, one_line=True)


@app.command(epilog='Example: sb memory outcome mem_7c2e91 --refuted --reason "the limit is 200"')
def outcome(
    ctx: typer.Context,
    at: MemoryOptions,
    record: Id,
    refuted: Annotated[
        bool, typer.Option("--refuted", help="It proved wrong; else it proved right.")
    ] = False,
    reason: ChangeReason = "",
) -> None:
    """Record that a memory proved right or wrong."""
    required(reason)
    with at.memory(ctx) as brain:
        (brain.refute if refuted else brain.confirm)(record, reason)
        found = brain.look_up(record)
    if at.json_:
        output.emit_json({"id": found.id, "confidence": found.confidence})
    else:
        output.line(f"{found.id} confidence {found.confidence:.2f}")
