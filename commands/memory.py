"""`sb memory`: keep what agents learn, and find it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import (
    Agent,
    AsJson,
    Private,
    Project,
    Scope,
    Session,
    as_json,
    categories,
    entity_types,
    event_types,
    kinds,
    memory,
    note_masked,
    show,
    typed,
)
from sb.commands.memory_files import app as files_app
from sb.commands.memory_reading import app as reading_app
from sb.commands.memory_records import app as records_app
from sb.commands.memory_sessions import app as sessions_app

from sb.duration import parse_duration
from sb.text import nearest

if TYPE_CHECKING:
    from sb.memory import Brain

app = typer.Typer(
    help="Keep what agents learn, and find it again.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)
TIMES = "\N{MULTIPLICATION SIGN}"
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A word to file it under; may be repeated.")]
Source = Annotated[
    str, typer.Option(help="Where it came from, such as user-written, tool-output or derived.")
]
From = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="ID", help="A memory that it was derived from; may be repeated."),
]


@app.command()
def remember(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help="What to remember; - reads it from stdin.")],
    category: Annotated[
        str, typer.Option(help="What sort of fact it is.", autocompletion=categories)
    ] = "project",
    confidence: Annotated[float, typer.Option(help="How sure it is, from 0 to 1.")] = 0.8,
    project: Project = "",
    scope: Scope = "",
    private: Private = False,
    tags: Tags = None,
    source: Source = "agent-written",
    derived: From = None,
    agent: Agent = "",
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """Keep a fact, and print its id."""
    text = typed(content, "memory")
    with memory(ctx, agent, project=project, scope=scope, session=session, create=True) as brain:
        kept = brain.remember(
            text,
            category,
            private=private,
            confidence=confidence,
            tags=tags,
            source_type=source,
            derived_from=derived,
        )
        _kept(brain, kept, json_)


@app.command()
def decide(
    ctx: typer.Context,
    title: Annotated[str, typer.Argument(help="What was decided.")],
    rationale: Annotated[str, typer.Argument(help="Why; - reads it from stdin.")],
    project: Project = "",
    scope: Scope = "",
    private: Private = False,
    tags: Tags = None,
    source: Source = "agent-written",
    derived: From = None,
    agent: Agent = "",
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """Keep a decision and why it was taken, which cannot be changed, and print its id."""
    title, why = typed(title, "title"), typed(rationale, "rationale")
    with memory(ctx, agent, project=project, scope=scope, session=session, create=True) as brain:
        kept = brain.decide(title, why, private=private, tags=tags, source_type=source, derived_from=derived)
        _kept(brain, kept, json_)


@app.command()
def log(
    ctx: typer.Context,
    summary: Annotated[str, typer.Argument(help="What happened; - reads it from stdin.")],
    event_type: Annotated[
        str, typer.Option("--type", help="What sort of event it is.", autocompletion=event_types)
    ] = "observation",
    project: Project = "",
    scope: Scope = "",
    private: Private = False,
    tags: Tags = None,
    source: Source = "agent-written",
    derived: From = None,
    agent: Agent = "",
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """Keep an event, which cannot be changed, and print its id."""
    text = typed(summary, "summary")
    with memory(ctx, agent, project=project, scope=scope, session=session, create=True) as brain:
        kept = brain.log(
            text, event_type, private=private, tags=tags, source_type=source, derived_from=derived
        )
        _kept(brain, kept, json_)


@app.command()
def entity(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name, of which there is one in each scope.")],
    entity_type: Annotated[
        str,
        typer.Argument(
            metavar="TYPE", help="Such as person, project, service or tool.", autocompletion=entity_types
        ),
    ],
    observations: Annotated[
        list[str] | None,
        typer.Option("--observed", "-o", help="What was observed of it; may be repeated."),
    ] = None,
    project: Project = "",
    scope: Scope = "",
    private: Private = False,
    tags: Tags = None,
    source: Source = "agent-written",
    agent: Agent = "",
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """Keep an entity, or add what was observed of the one of that name, and print its id."""
    name = typed(name, "name")
    with memory(ctx, agent, project=project, scope=scope, session=session, create=True) as brain:
        seen = observations or []
        kept = brain.entity(
            name, entity_type, observations=seen, private=private, tags=tags, source_type=source
        )
        _kept(brain, kept, json_)


def _kept(brain: Brain, record: str, json_: bool) -> None:
    found = brain.look_up(record)
    if json_:
        output.emit_json(as_json(found) | {"masked": list(brain.masked)})
    else:
        output.line(record)
        note_masked(brain.masked)
        note(f"kept as {found.kind} in {found.scope}" + (", private" if found.private else ""))


@app.command()
def relate(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="ONE", help="An id, or the name of an entity.")],
    relation: Annotated[str, typer.Argument(help="What it is to the other, such as depends_on.")],
    target: Annotated[str, typer.Argument(metavar="OTHER", help="An id, or the name of an entity.")],
    weight: Annotated[float, typer.Option(help="How strong the relation is, above 0.")] = 1.0,
    project: Project = "",
    scope: Scope = "",
    agent: Agent = "",
    json_: AsJson = False,
) -> None:
    """Say what one memory is to another."""
    with memory(ctx, agent, project=project, scope=scope) as brain:
        brain.relate(source, relation, target, weight=weight)
        one, other = brain.look_up(source).id, brain.look_up(target).id
        if json_:
            output.emit_json({"source": one, "relation": relation, "target": other, "weight": weight})
        else:
            output.line(f"{one} {relation} {other}", one_line=True)


@app.command()
def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="A question, or a few words; - reads it from stdin.")],
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="At most so many.")] = 10,
    project: Project = "",
    scope: Scope = "",
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Only this kind, such as decision; may be repeated.", autocompletion=kinds),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(help="Only this category, or type; may be repeated.", autocompletion=categories),
    ] = None,
    written_by: Annotated[
        list[str] | None, typer.Option("--agent-filter", help="Only what this agent wrote; may be repeated.")
    ] = None,
    since: Annotated[str, typer.Option(help="Only what is younger, such as 2h or 30d.")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Say what made up each score.")] = False,
    fusion: Annotated[
        bool, typer.Option("--fusion", help="Order by rank fusion in place of the weighted sum.")
    ] = False,
    benchmark: Annotated[
        bool, typer.Option("--benchmark", help="Leave out how recent and how much used a memory is.")
    ] = False,
    agent: Agent = "",
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """Find the memories that answer a question best."""
    query = typed(query, "question")
    with memory(ctx, agent, project=project, scope=scope, session=session) as brain:
        now = brain.space.clock.now()
        filters: dict[str, Any] = {
            "kinds": kind or (),
            "categories": category or (),
            "agents": written_by or (),
            "since": now - parse_duration(since) if since else None,
        }
        hits = brain.search(
            query,
            k,
            project=project or None,
            scope=scope or None,
            explain=explain,
            fusion=fusion,
            benchmark=benchmark,
            **filters,
        )
        alone = brain.words_alone
        if alone:
            note(alone)
        note_masked(brain.masked)
        if json_:
            output.emit_json({"items": [as_json(hit) for hit in hits], "words_alone": alone})
            return
        for hit in hits:
            show(hit, now, query)
            if hit.explanation is not None:
                output.line(f"    {hit.score:.2f} = {_sum(hit.explanation)}")
        if not hits:
            _nothing(category or [], any(filters.values()) or bool(project or scope or agent))


def _sum(explanation: Any) -> str:
    """The stages of a score that count, as a sum."""
    used = ((name, *pair) for name, pair in explanation.items())
    return " + ".join(
        f"{name} {value:.2f} {TIMES} {weight:.3g}" for name, value, weight in used if value * weight
    )


def _nothing(asked: list[str], narrowed: bool) -> None:
    """Say what to try when nothing was found."""
    from sb.store.records.descriptors import DESCRIPTORS

    known = {word for one in DESCRIPTORS.values() for word in one.words.get(one.category or "", ())}
    for one in asked:
        if one not in known:
            note(f"no memory has the category {one!r}{nearest(one, known)}")
    fewer = ", or fewer filters" if narrowed else ""
    note(f"nothing found: try other words{fewer}; sb memory stats says what there is")


app.add_typer(sessions_app)
app.add_typer(reading_app)
app.add_typer(records_app)
app.add_typer(files_app)
