"""`sb memory show|fading|knows|why|history|graph`: one memory, its history and its provenance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import Id, MemoryOptions, as_json, typed, with_times
from sb.commands.memories import show as show_in_list
from sb.commands.options import Results, single

from sb.base.duration import human_age
from sb.base.sources import iso
from sb.base.text import counted, plain, shorten
from sb.present.memories import evidence_text, memory_heading

if TYPE_CHECKING:
    from sb.memory.neighbourhood import Neighbour
    from sb.memory.provenance import Change, Dossier, Origin
    from sb.memory.views import Memory

app = single()
WIDEST = 100  # characters of a memory on one line
Branch: TypeAlias = "tuple[str, Sequence[Branch]]"  # a line, and what hangs below it


@app.command(epilog="Example: sb memory show mem_7c2e91")
def show(
    ctx: typer.Context,
    at: MemoryOptions,
    record: Id,
) -> None:
    """Show a memory in full.

    Operators also see neighbours, evidence, history and readers.
    """
    from sb.memory.operator_view import Overseer

    with at.memory(ctx) as brain:
        now = brain.space.clock.now()
        found = brain.show(record) if isinstance(brain, Overseer) else None
        item = found.memory if found else brain.get(record)
        if at.json_:
            output.emit_json(with_times(found.as_json()) if found else as_json(item))
            return
        output.line(memory_heading(item, now), one_line=True)
        output.passage(item.content, "    ")
        for name, value in _further(item, now):
            output.line(f"{name}: {value}", one_line=True)
        for text in () if found else item.restated:
            output.line(f"restated as: {shorten(text, WIDEST)}", one_line=True)
        if found:
            _about(found, now)


def _further(item: Memory, now: float) -> Iterator[tuple[str, object]]:
    """The fields of a memory beyond its text, by name."""
    yield "happened", iso(item.happened_at)
    yield "source", item.source_type
    yield "confidence", "unknown" if item.confidence is None else f"{item.confidence:.2f}"
    yield "strength", f"{item.strength:.2f}{_course(item, now)}"
    for name, value in (("session", item.session), ("speaker", item.speaker), ("tags", ", ".join(item.tags))):
        if value:
            yield name, value
    for name, value in item.details.items():
        if value and not (isinstance(value, str) and value in item.content):
            yield name.replace("_", " "), value


def _course(item: Memory, now: float) -> str:
    """When a memory is marked for review, and when it fades, unless it is recalled before."""
    if not item.fades_at:
        return ""
    marked = "marked for review since" if item.review_at <= now else "marked for review on"
    fades = "faded since" if item.fades_at <= now else "fades on"
    return f", {marked} {iso(item.review_at)[:10]}, {fades} {iso(item.fades_at)[:10]}"


def _about(found: Dossier, now: float) -> None:
    state = f"{found.state}, protected" if found.protected else found.state
    output.line(f"state: {state}, version {found.version}, stack {found.stack}", one_line=True)
    for text in found.before:
        output.line(f"after: {shorten(text, WIDEST)}", one_line=True)
    for other in found.neighbours:
        output.line(f"related: {_name(other)}", one_line=True)
    for uid in found.made_of_it:
        output.line(f"made of it: {uid}")
    for restated in found.restatements:
        output.line(f"restated as: {shorten(restated.content, WIDEST)}  {restated.id}", one_line=True)
    if found.restatement_count > len(found.restatements):
        output.line(f"restated in {found.restatement_count} texts in all")
    for item in found.evidence:
        output.line(f"evidence: {human_age(now - item['at'])} {evidence_text(item)}", one_line=True)
    if found.evidence_count > len(found.evidence):
        output.line(f"evidence: {counted(found.evidence_count, 'time')} in all")
    for read in found.reads:
        asked = shorten(read["query"], WIDEST)
        output.line(
            f"read: {human_age(now - read['at'])} by {read['agent']}, {read['operation']} {asked!r}",
            one_line=True,
        )
    if found.read > len(found.reads):
        output.line(f"read: {counted(found.read, 'time')} in all")
    _changes(found.changes)


@app.command(epilog="Example: sb memory fading --limit 5")
def fading(
    ctx: typer.Context,
    at: MemoryOptions,
    limit: Annotated[int, typer.Option(min=0, help="Maximum results; 0 for no limit.")] = 20,
) -> None:
    """List memories that nobody recalled for long.

    Each is marked for review: recall, protect or forget it. Searches find it as before.
    """
    with at.memory(ctx) as brain:
        found, now = brain.fading(limit or -1), brain.space.clock.now()
    if at.json_:
        output.emit_json({"items": [as_json(item) for item in found]})
        return
    for item in found:
        output.line(f"{item.id}  {item.strength:.2f}{_course(item, now)}", one_line=True)
        output.line(f"    {shorten(item.title, WIDEST)}", one_line=True)
    if not found:
        note("nothing is marked for review")


@app.command(epilog='Example: sb memory knows bob "which port is the gateway on"')
def knows(
    ctx: typer.Context,
    at: MemoryOptions,
    whom: Annotated[str, typer.Argument(metavar="AGENT", help="The agent whose knowledge is asked for.")],
    question: Annotated[str, typer.Argument(help="Words or a question; - for stdin.")],
    k: Results = 10,
) -> None:
    """Show what an agent knows of memories, and what is outdated.

    It knows what it wrote and what it was told. Asking counts as no read.
    """
    question = typed(question, "question")
    with at.memory(ctx) as brain:
        found, now = brain.knows(whom, question, k), brain.space.clock.now()
    if at.json_:
        output.emit_json({"items": [as_json(item) for item in found]})
        return
    for item in found:
        show_in_list(item, now, question)
        last = "" if item.told_at is None else f", told {human_age(now - item.told_at)}"
        known = {"wrote": f"wrote it{last}", "told": last.removeprefix(", "), "unknown": "does not know it"}
        output.line(f"    {whom}: {known[item.knows]}", one_line=True)
        if instead := item.outdated:
            holds = f"; now {shorten(instead.content, WIDEST)}  {instead.now}" if instead.now else ""
            output.line(f"    {instead.since} since: {shorten(instead.known, WIDEST)}{holds}", one_line=True)
    if not any(item.knows != "unknown" for item in found):
        note(f"{whom} neither wrote nor was told any of this")


@app.command(epilog="Example: sb memory history mem_7c2e91")
def history(
    ctx: typer.Context,
    at: MemoryOptions,
    record: Id,
) -> None:
    """Show every change to a memory, and why."""
    with at.memory(ctx) as brain:
        found = brain.history(record)
    if at.json_:
        output.emit_json({"items": [with_times(change.as_json()) for change in found]})
    else:
        _changes(found)


def _changes(found: Sequence[Change]) -> None:
    for change in found:
        why = f": {change.reason}" if change.reason else ""
        output.line(
            f"{iso(change.at)[:19]}Z  {change.operation} by {change.actor}, version {change.version}{why}",
            one_line=True,
        )
        for name, (before, after) in change.changed.items():
            output.line(f"    {name}: {_value(before)} → {_value(after)}", one_line=True)


def _value(value: Any) -> str:
    return shorten("nothing" if value is None else repr(value), WIDEST)


@app.command(epilog="Example: sb memory why mem_7c2e91")
def why(
    ctx: typer.Context,
    at: MemoryOptions,
    record: Id,
) -> None:
    """Show what a memory was derived from."""
    with at.memory(ctx) as brain:
        found = brain.why(record)
    if at.json_:
        output.emit_json(with_times(found.as_json()))
        return
    _draw(_origins(found))
    if found.memory and not found.origins:
        item = found.memory
        note(
            f"derived from nothing: {item.source_type}, by {item.agent_id} in {item.session or 'no session'}"
        )


def _origins(origin: Origin) -> Branch:
    named = (
        f"{origin.memory.kind} {shorten(origin.memory.content, WIDEST)}  {origin.reference}"
        if origin.memory
        else origin.reference
    )
    standing = "" if origin.standing == "active" else f" ({origin.standing})"
    again = ", as above" if origin.again else ""
    relation = f"{origin.relation} → " if origin.relation else ""
    below = [_origins(other) for other in origin.origins]
    return f"{relation}{named}{standing}{again}", [*below, *_more(origin.left_out)]


@app.command(epilog="Example: sb memory graph shop --depth 2")
def graph(
    ctx: typer.Context,
    at: MemoryOptions,
    record: Id,
    depth: Annotated[int, typer.Option(min=1, max=5, help="How many relations to follow.")] = 1,
) -> None:
    """Show a memory's relations as a tree."""
    with at.memory(ctx) as brain:
        found = brain.graph(record, depth)
    if at.json_:
        output.emit_json(with_times(found.as_json()))
        return
    _draw(_neighbours(found))
    if not found.neighbours:
        note("it is related to nothing: sb memory relate ONE RELATION OTHER")


def _neighbours(neighbour: Neighbour) -> Branch:
    return _name(neighbour), [
        *(_neighbours(other) for other in neighbour.neighbours),
        *_more(neighbour.left_out),
    ]


def _name(neighbour: Neighbour) -> str:
    label = f"{neighbour.memory.kind} {shorten(neighbour.memory.content, WIDEST)}  {neighbour.memory.id}"
    if not neighbour.relation:
        return label
    return f"{neighbour.relation} → {label}" if neighbour.outwards else f"← {neighbour.relation} {label}"


def _more(left_out: int) -> list[Branch]:
    return [(f"… and {left_out} more", [])] if left_out else []


def _draw(tree: Branch, before: str = "", joint: str = "", inner: str = "") -> None:
    """A tree, each branch on a line of its own."""
    text, below = tree
    output.line(f"{before}{joint}{plain(text, one_line=True)}")
    for number, branch in enumerate(below, 1):
        last = number == len(below)
        _draw(branch, before + inner, "└─ " if last else "├─ ", "   " if last else "│  ")
