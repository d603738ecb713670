"""`sb memory`: save and search memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import (
    Agent,
    MemoryOptions,
    Project,
    Scope,
    Session,
    Writing,
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
from sb.commands.memory_access import app as access_app
from sb.commands.memory_beliefs import app as beliefs_app
from sb.commands.memory_calibrate import app as calibrate_app
from sb.commands.memory_conflicts import app as conflicts_app
from sb.commands.memory_files import app as files_app
from sb.commands.memory_gate import app as gate_app
from sb.commands.memory_lesson import app as lesson_app
from sb.commands.memory_pending import app as pending_app
from sb.commands.memory_privacy import app as privacy_app
from sb.commands.memory_reading import app as reading_app
from sb.commands.memory_records import app as records_app
from sb.commands.memory_sessions import app as sessions_app
from sb.commands.memory_signals import app as signals_app
from sb.commands.memory_trigger import app as trigger_app
from sb.commands.options import AsJson, Query, Results, Since, Tags, group

from sb.base.duration import parse_duration
from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.cli import Group

if TYPE_CHECKING:
    from sb.memory import Brain
    from sb.memory.views import Hit, Memory

USER = "user-written"


class MemoryGroup(Group):
    """The commands of memory: those of every day first."""

    PANELS: ClassVar[dict[str, str]] = {
        "Everyday": "remember search show history correct forget gate stats",
        "Upkeep": "",
        "Privacy": "erase pii denied retention forget-subject prune",
        "Exchange": "export import",
    }


app = group(cls=MemoryGroup)
TIMES = "\N{MULTIPLICATION SIGN}"
Source = Annotated[str, typer.Option(help="Its source, such as user-written, tool-output or derived.")]
From = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="ID", help="A memory it was derived from; may be repeated."),
]


@frozen
class Saved(Writing):
    """The same of a memory."""

    tags: Tags = None
    source: Source = "agent-written"

    @property
    def values(self) -> dict[str, Any]:
        """Fields that are saved beside the words."""
        return {"private": self.private, "tags": self.tags, "source_type": self.source}


@frozen
class Derived(Saved):
    """The same of one that may rest on others."""

    derived: From = None

    @property
    def values(self) -> dict[str, Any]:
        return {**super().values, "derived_from": self.derived}


@app.command(epilog='Example: sb memory remember "the office is in Bonn" --project shop')
def remember(
    ctx: typer.Context,
    saved: Derived,
    content: Annotated[str, typer.Argument(help="The fact; - for stdin.")],
    category: Annotated[
        str, typer.Option(help="Category of the fact.", autocompletion=categories)
    ] = "project",
    confidence: Annotated[float | None, typer.Option(help="Confidence, from 0 to 1.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Save it even if a memory says the same.")] = False,
    replaces: Annotated[str, typer.Option(metavar="ID", help="A memory whose place it takes.")] = "",
    claim: Annotated[str, typer.Option(metavar="KEY", help="Key of its claim, such as 'Alice · role'.")] = "",
) -> None:
    """Save a fact, or merge it into the one that says the same."""
    text = typed(content, "memory")
    more: dict[str, Any] = {} if confidence is None else {"confidence": confidence}
    with saved.memory(ctx) as brain:
        record = brain.remember(
            text,
            category,
            force=force,
            replaces=replaces,
            claim=claim,
            **saved.values,
            **more,
        )
        if saved.agent and saved.source == USER:
            note("saved as agent-written: only an operator says what a user wrote, without --agent")
        merged = not replaces and brain.verdict is not None and not brain.verdict.admitted
        text_id = brain.verdict.restatement if brain.verdict is not None else ""
        apart = f"sb memory split {text_id} takes it out" if text_id else "--force saves it apart"
        _kept(brain, record, saved.json_, f"merged: a memory says the same; {apart}" if merged else "")


@app.command(epilog='Example: sb memory decide "use SQLite" "one file, no server"')
def decide(
    ctx: typer.Context,
    saved: Derived,
    title: Annotated[str, typer.Argument(help="The decision.")],
    rationale: Annotated[str, typer.Argument(help="The reason; - for stdin.")],
) -> None:
    """Save a decision and its rationale, which never change."""
    title, why = typed(title, "title"), typed(rationale, "rationale")
    with saved.memory(ctx) as brain:
        record = brain.decide(title, why, **saved.values)
        _kept(brain, record, saved.json_)


@app.command(epilog='Example: sb memory log "deployed 1.4 to production"')
def log(
    ctx: typer.Context,
    saved: Derived,
    summary: Annotated[str, typer.Argument(help="What happened; - for stdin.")],
    event_type: Annotated[
        str, typer.Option("--type", help="Type of event.", autocompletion=event_types)
    ] = "observation",
) -> None:
    """Save an event, which never changes."""
    text = typed(summary, "summary")
    with saved.memory(ctx) as brain:
        record = brain.log(text, event_type, **saved.values)
        _kept(brain, record, saved.json_)


@app.command(epilog='Example: sb memory entity shop project --observed "runs on Python 3.12"')
def entity(
    ctx: typer.Context,
    saved: Saved,
    name: Annotated[str, typer.Argument(help="Its name, unique within a scope.")],
    entity_type: Annotated[
        str,
        typer.Argument(
            metavar="TYPE",
            help="Type of entity, such as person, project or service.",
            autocompletion=entity_types,
        ),
    ],
    observations: Annotated[
        list[str] | None,
        typer.Option("--observed", "-o", help="An observation; may be repeated."),
    ] = None,
) -> None:
    """Save an entity, or add observations to it."""
    name = typed(name, "name")
    with saved.memory(ctx) as brain:
        record = brain.entity(name, entity_type, observations=observations or [], **saved.values)
        _kept(brain, record, saved.json_)


def _kept(brain: Brain, record: str, json_: bool, outcome: str = "") -> None:
    found = brain.look_up(record)
    if json_:
        output.emit_json(as_json(found) | {"masked": list(brain.masked)})
    else:
        output.line(record)
        note_masked(brain.masked)
        if found.superseded_by:
            note(
                f"superseded by {found.superseded_by}, which corrected it: searches leave it out; sb memory collapses"
            )
        for line in brain.consequences(record):
            note(line)
        note(outcome or f"kept as {found.kind} in {found.scope}" + (", private" if found.private else ""))
        if record in brain.quarantined:
            note("quarantined: no agent finds it until a person releases it; sb quarantine list says why")


@app.command(epilog="Example: sb memory relate shop depends_on postgres")
def relate(
    ctx: typer.Context,
    at: MemoryOptions,
    source: Annotated[str, typer.Argument(metavar="ONE", help="An id, or the name of an entity.")],
    relation: Annotated[str, typer.Argument(help="The relation, such as depends_on.")],
    target: Annotated[str, typer.Argument(metavar="OTHER", help="An id, or the name of an entity.")],
    weight: Annotated[float, typer.Option(help="Strength of the relation, above 0.")] = 1.0,
) -> None:
    """Relate one memory to another."""
    with at.memory(ctx) as brain:
        brain.relate(source, relation, target, weight=weight)
        source_id, other = brain.look_up(source).id, brain.look_up(target).id
        if at.json_:
            output.emit_json({"source": source_id, "relation": relation, "target": other, "weight": weight})
        else:
            output.line(f"{source_id} {relation} {other}", one_line=True)


@app.command(epilog='Example: sb memory search "which database do we use" -k 5')
def search(
    ctx: typer.Context,
    query: Query,
    k: Results = 10,
    project: Project = "",
    scope: Scope = "",
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Only this kind, such as decision; may be repeated.", autocompletion=kinds),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(help="Only this category or type; may be repeated.", autocompletion=categories),
    ] = None,
    written_by: Annotated[
        list[str] | None,
        typer.Option("--agent-filter", help="Only memories this agent wrote; may be repeated."),
    ] = None,
    since: Since = "",
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score is made of.")] = False,
    fusion: Annotated[
        bool, typer.Option("--fusion", help="Order by rank fusion instead of the weighted sum.")
    ] = False,
    planning: Annotated[
        bool, typer.Option("--planning", help="Leave out what is not sure enough to plan by.")
    ] = False,
    min_trust: Annotated[
        float, typer.Option(min=0, max=1, help="Leave out what is trusted less, from 0 to 1.")
    ] = 0.0,
    benchmark: Annotated[
        bool, typer.Option("--benchmark", help="Ignore how recent and how much used a memory is.")
    ] = False,
    context: Annotated[
        int, typer.Option(min=0, max=10, help="Memories to show before and after each result.")
    ] = 0,
    history: Annotated[bool, typer.Option("--history", help="Also show what was superseded, last.")] = False,
    agent: Agent = "",
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """Search memories."""
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
            planning=planning,
            min_trust=min_trust,
            context=context,
            history=history,
            **filters,
        )
        alone = brain.vector_search_disabled_reason
        if alone:
            note(alone)
        note_masked(brain.masked)
        if json_:
            output.emit_json({"items": [as_json(hit) for hit in hits], "words_alone": alone})
            return
        for hit in hits:
            _print(hit, now, query)
        if not hits:
            _nothing(category or [], any(filters.values()) or bool(project or scope or agent))


def _print(hit: Hit, now: float, query: str) -> None:
    """A hit with its neighbours, and what its score is made of."""
    for item in hit.before:
        output.line(_beside(item))
    show(hit, now, query)
    for item in hit.after:
        output.line(_beside(item))
    if hit.explanation is not None:
        output.line(f"    {hit.score:.2f} = {_sum(hit.explanation)}")


def _beside(neighbour: Memory) -> str:
    """A neighbour of a hit, in one line."""
    speaker = f"{neighbour.speaker}: " if neighbour.speaker else ""
    return f"    | {speaker}{neighbour.title}"


def _sum(explanation: Any) -> str:
    """The stages of a score that count, as a sum."""
    used = ((name, *pair) for name, pair in explanation.items())
    return " + ".join(
        f"{name} {value:.2f} {TIMES} {weight:.3g}" for name, value, weight in used if value * weight
    )


def _nothing(asked: list[str], narrowed: bool) -> None:
    """Say what to try when nothing was found."""
    from sb.store.records.descriptors import DESCRIPTORS

    known = {
        word
        for descriptor in DESCRIPTORS.values()
        for word in descriptor.words.get(descriptor.category or "", ())
    }
    for item in asked:
        if item not in known:
            note(f"no memory has the category {item!r}{nearest(item, known)}")
    fewer = ", or fewer filters" if narrowed else ""
    note(f"nothing found: try other words{fewer}; sb memory stats says what there is")


app.add_typer(sessions_app)
app.add_typer(reading_app)
app.add_typer(beliefs_app)
app.add_typer(records_app)
app.add_typer(gate_app)
app.add_typer(access_app)
app.add_typer(calibrate_app)
app.add_typer(files_app)
app.add_typer(privacy_app)
app.add_typer(trigger_app, name="trigger")
app.add_typer(conflicts_app, name="conflicts")
app.add_typer(lesson_app, name="lesson")
app.add_typer(pending_app, name="pending")
app.add_typer(signals_app, name="signals")
