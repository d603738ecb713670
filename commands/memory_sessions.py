"""`sb memory orient|think|wrap-up|handoff|resume`: an agent's session from a shell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import (
    MemoryOptions,
    Project,
    Scope,
    Session,
    as_json,
    memory,
    note_masked,
    show,
    typed,
    with_times,
)
from sb.commands.options import AsJson, Query, Results, single

from sb.errors import CheckFailed

if TYPE_CHECKING:
    from sb.memory.handoffs import HandoffPacket

app = single()
OPERATOR = "operator"
Whose = Annotated[str, typer.Option("--agent", metavar="NAME", help="The agent whose session this is.")]
Loops = Annotated[list[str] | None, typer.Option("--open-loop", help="An unfinished task; may be repeated.")]
To = Annotated[
    str, typer.Option("--to", metavar="AGENT", help="Hand over to this agent only; by default to any.")
]


@app.command(epilog="Example: sb memory orient --agent scribe --project shop")
def orient(
    ctx: typer.Context,
    project: Project = "",
    scope: Scope = "",
    query: Annotated[str, typer.Option(help="Topic of the session, to find memories about it.")] = "",
    tokens: Annotated[int, typer.Option(min=100, max=100_000, help="Token budget.")] = 2000,
    agent: Whose = OPERATOR,
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """Start a session, and print what the agent should know."""
    with memory(ctx, agent, session=session, create=True) as brain:
        found = brain.orient(
            project or None,
            scope=scope or None,
            query=query or None,
            token_budget=tokens,
        )
        if query and brain.vector_search_disabled_reason:
            note(brain.vector_search_disabled_reason)
        note_masked(brain.masked)
        if json_:
            output.emit_json(with_times(found.as_json()))
            return
        output.line(found.as_text().rstrip("\n"), one_line=False)
        note(f"continue this session with --agent {agent} --scope {found.scope} --session {found.session}")


@app.command(epilog='Example: sb memory think "why SQLite" --hops 2')
def think(
    ctx: typer.Context,
    at: MemoryOptions,
    query: Query,
    hops: Annotated[int, typer.Option(min=0, max=5, help="How many relations to follow.")] = 2,
    decay: Annotated[float, typer.Option(help="Share of the score kept per relation, above 0 to 1.")] = 0.6,
    k: Results = 20,
) -> None:
    """Search memories, and follow their relations."""
    query = typed(query, "question")
    with at.memory(ctx) as brain:
        found = brain.think(query, hops=hops, decay=decay, k=k)
        alone = brain.vector_search_disabled_reason
        if alone:
            note(alone)
        note_masked(brain.masked)
        if at.json_:
            output.emit_json({"items": [as_json(item) for item in found], "words_alone": alone})
            return
        for activated in found:
            show(activated, brain.space.clock.now(), query)
            output.line(f"    activation {activated.activation:.2f}{_way(activated)}", one_line=True)
        if not found:
            note("nothing found: try other words")


def _way(hit: Any) -> str:
    steps = (
        f"{'' if step.outgoing else '← '}{step.relation}{' →' if step.outgoing else ''}" for step in hit.path
    )
    return f", from {hit.seed} by {' '.join(steps)}" if hit.path else ""


@app.command(name="wrap-up", epilog='Example: sb memory wrap-up "tests pass" --agent scribe')
def wrap_up(
    ctx: typer.Context,
    summary: Annotated[str, typer.Argument(help="Where things stand now; - for stdin.")],
    project: Project = "",
    scope: Scope = "",
    goal: Annotated[str, typer.Option(help="Goal of the session; by default derived from it.")] = "",
    open_loops: Loops = None,
    next_step: Annotated[
        str, typer.Option(help="What to do first; by default derived from the session.")
    ] = "",
    recipient: To = "",
    agent: Whose = OPERATOR,
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """End a session, and hand over to the next."""
    text = typed(summary, "summary")
    with memory(ctx, agent, project=project, scope=scope, session=session, create=True) as brain:
        made = brain.wrap_up(
            text,
            project=project or None,
            goal=goal or None,
            open_loops=open_loops,
            next_step=next_step or None,
            recipient=recipient,
        )
        _packet(made, json_, brain.masked)


@app.command(epilog='Example: sb memory handoff "ship it" "tests pass" "tag it" --agent scribe')
def handoff(
    ctx: typer.Context,
    goal: Annotated[str, typer.Argument(help="What is to be reached.")],
    current_state: Annotated[str, typer.Argument(metavar="STATE", help="Where things stand.")],
    next_step: Annotated[str, typer.Argument(help="What to do first.")],
    open_loops: Loops = None,
    recipient: To = "",
    project: Project = "",
    scope: Scope = "",
    agent: Whose = OPERATOR,
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """Hand work over without ending the session."""
    texts = typed(goal, "goal"), typed(current_state, "state")
    with memory(ctx, agent, project=project, scope=scope, session=session, create=True) as brain:
        made = brain.handoff(*texts, open_loops or [], next_step, recipient=recipient)
        _packet(made, json_, brain.masked)


@app.command(epilog="Example: sb memory resume --agent scribe")
def resume(
    ctx: typer.Context,
    project: Project = "",
    scope: Scope = "",
    agent: Whose = OPERATOR,
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """Take over the newest open handoff; exit 1 if none.

    A handoff that cannot be relied on does not count.
    """
    with memory(ctx, agent, project=project, scope=scope, session=session) as brain:
        found = brain.resume(project or None, scope=scope or None)
    if found is None:
        raise CheckFailed("no open handoff", "sb memory orient shows the rest")
    if not found.verified:
        raise CheckFailed(f"handoff {found.id} is not reliable: {found.problem}")
    _packet(found, json_)


def _packet(found: HandoffPacket, json_: bool, masked: Sequence[str] = ()) -> None:
    if json_:
        output.emit_json(with_times(found.as_json()) | ({"masked": list(masked)} if masked else {}))
        return
    note_masked(masked)
    for title, text in (
        (
            "handoff",
            f"{found.id} from {found.sender} to {found.recipient or 'any agent'}, {found.scope}",
        ),
        ("goal", found.goal),
        ("state", found.current_state),
        *(("open", loop) for loop in found.open_loops),
        ("next", found.next_step),
        *(line.split(": ", 1) for line in found.lines),
        *(("stale", f"{item.title} ({item.id}) is {item.now}") for item in found.stale),
    ):
        output.line(f"{title}: {text}", one_line=True)
