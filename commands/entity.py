"""`sb entity`: save memories through an agent's core."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.entity_reading import app as reading_app
from sb.commands.memories import not_blank, note_masked, scopes, typed
from sb.commands.options import AsJson, Tags, group
from sb.commands.stacks import GLOBAL, OPERATOR, OfCore, Whose, opened_core

from sb.base.values.frozen import frozen
from sb.errors import ExitCode

if TYPE_CHECKING:
    from sb.entity import Entity

app = group()
Foundational = Annotated[bool, typer.Option("--foundational", help="Never forget it.")]
_SUGGESTED = "suggestion:"


def words_of(name: str) -> Callable[[str], list[str]]:
    """Completes the words of a vocabulary of `sb.protocols.types.vocabulary`."""

    def complete(incomplete: str) -> list[str]:
        from sb.protocols.types import vocabulary

        return sorted(item for item in getattr(vocabulary, name) if item.startswith(incomplete))

    return complete


Source = Annotated[
    str,
    typer.Option(
        help="Its source, such as observation, inference or external.",
        autocompletion=words_of("VALID_SOURCE_TYPE_VALUES"),
    ),
]
From = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="TYPE:ID", help="A memory it was derived from; may be repeated."),
]
Sees = Annotated[
    str,
    typer.Option(
        "--scope",
        help="Scope of the memories in --from, if not global.",
        autocompletion=scopes,
        callback=not_blank,
    ),
]
Context = Annotated[str, typer.Option(help="Context it belongs to, such as project:shop.")]
DIRECT = "direct_experience"


@frozen
class Origin:
    """The origin of a memory, the core that saves it, and how its id is printed."""

    context: Context = ""
    source: Source = DIRECT
    derived: From = None
    agent: Whose = OPERATOR
    scope: Sees = ""
    stack: OfCore = ""
    json_: AsJson = False

    @property
    def values(self) -> dict[str, Any]:
        """The origin, as a core takes it."""
        return {
            "source_type": self.source,
            "derived_from": self.derived,
            "context": self.context or None,
        }


def _keep(ctx: typer.Context, origin: Origin, keep: Callable[[Entity], str]) -> None:
    """Save a memory of the command's kind through a core, and print its id; exit 1 if it became a suggestion."""
    kind, agent = str(ctx.info_name), origin.agent  # each of these commands is named for its kind
    with opened_core(ctx, agent, origin.stack, create=True, scope=origin.scope or GLOBAL) as opened:
        uid = keep(opened)
        active = opened.active_stack
        masked = getattr(active, "masked", ())
    where = active.stack_id if active is not None else ""
    rejected = uid.startswith(_SUGGESTED)
    if origin.json_:
        output.emit_json(
            {
                "id": uid,
                "kind": "suggestion" if rejected else kind,
                "stack": where,
                "core": agent,
                "masked": list(masked),
            }
        )
    else:
        output.line(uid, one_line=True)
        note_masked(masked)
    if rejected:
        note(
            f"this makes no {kind}: sb suggestions show {uid.removeprefix(_SUGGESTED)} --stack {where} says why"
        )
        raise typer.Exit(ExitCode.FAILED)
    if not origin.json_:
        note(f"kept as {kind} in stack {where}, from core {agent}")


@app.command(epilog='Example: sb entity episode "moved to uv" "builds take half as long"')
def episode(
    ctx: typer.Context,
    origin: Origin,
    objective: Annotated[str, typer.Argument(help="What was tried; - for stdin.")],
    outcome: Annotated[str, typer.Argument(help="What came of it; - for stdin.")],
    lessons: Annotated[
        list[str] | None, typer.Option("--lesson", help="A lesson learned; may be repeated.")
    ] = None,
    repeat: Annotated[
        list[str] | None, typer.Option("--repeat", help="What to do again; may be repeated.")
    ] = None,
    avoid: Annotated[
        list[str] | None, typer.Option("--avoid", help="What not to do again; may be repeated.")
    ] = None,
    tags: Tags = None,
) -> None:
    """Save something that was tried, and its outcome."""
    texts = typed(objective, "objective"), typed(outcome, "outcome")
    more: dict[str, Any] = {"lessons": lessons, "repeat": repeat, "avoid": avoid, "tags": tags}
    more |= origin.values
    _keep(ctx, origin, lambda core: core.episode(*texts, **more))


@app.command(
    epilog='Example: sb entity belief "the staging database is shared" --confidence 0.9 --from note:ID'
)
def belief(
    ctx: typer.Context,
    origin: Origin,
    statement: Annotated[str, typer.Argument(help="The belief; - for stdin.")],
    type_: Annotated[
        str,
        typer.Option("--type", help="Type of belief.", autocompletion=words_of("BELIEF_TYPES")),
    ] = "fact",
    confidence: Annotated[float, typer.Option(help="Confidence, from 0 to 1.")] = 0.8,
    foundational: Foundational = False,
) -> None:
    """Save a belief."""
    text = typed(statement, "statement")
    more: dict[str, Any] = {"type": type_, "confidence": confidence, "foundational": foundational}
    more |= origin.values
    _keep(ctx, origin, lambda core: core.belief(text, **more))


@app.command(epilog='Example: sb entity value care "never delete without a backup" --from note:ID')
def value(
    ctx: typer.Context,
    origin: Origin,
    name: Annotated[str, typer.Argument(help="Its name.")],
    statement: Annotated[str, typer.Argument(help="What it demands; - for stdin.")],
    priority: Annotated[int, typer.Option(min=0, max=100, help="Its importance.")] = 50,
    type_: Annotated[
        str, typer.Option("--type", help="Type of value; core values are never forgotten.")
    ] = "core_value",
    foundational: Foundational = False,
) -> None:
    """Save a value."""
    texts = typed(name, "name"), typed(statement, "statement")
    more: dict[str, Any] = {"priority": priority, "type": type_, "foundational": foundational}
    more |= origin.values
    _keep(ctx, origin, lambda core: core.value(*texts, **more))


@app.command(epilog='Example: sb entity goal "ship the importer" --priority high --from note:ID')
def goal(
    ctx: typer.Context,
    origin: Origin,
    title: Annotated[str, typer.Argument(help="What to reach; - for stdin.")],
    description: Annotated[str, typer.Option(help="Details.")] = "",
    type_: Annotated[
        str, typer.Option("--type", help="Type of goal.", autocompletion=words_of("GOAL_TYPES"))
    ] = "task",
    priority: Annotated[str, typer.Option(help="Priority, such as low, medium or high.")] = "medium",
) -> None:
    """Save a goal."""
    text = typed(title, "title")
    more: dict[str, Any] = {"description": description or None, "goal_type": type_, "priority": priority}
    more |= origin.values
    _keep(ctx, origin, lambda core: core.goal(text, **more))


@app.command(name="note", epilog='Example: sb entity note "Ana reviews every migration" --tag review')
def note_(
    ctx: typer.Context,
    origin: Origin,
    content: Annotated[str, typer.Argument(help="The note; - for stdin.")],
    type_: Annotated[
        str, typer.Option("--type", help="Type of note.", autocompletion=words_of("NOTE_TYPES"))
    ] = "note",
    speaker: Annotated[str, typer.Option(help="The speaker.")] = "",
    reason: Annotated[str, typer.Option(help="The reason, for a decision.")] = "",
    protect: Annotated[bool, typer.Option("--protect", help="Never forget it.")] = False,
    tags: Tags = None,
) -> None:
    """Save a note, word for word."""
    text = typed(content, "note")
    more: dict[str, Any] = {"type": type_, "speaker": speaker or None, "reason": reason or None}
    more |= {"protect": protect, "tags": tags} | origin.values
    _keep(ctx, origin, lambda core: core.note(text, **more))


@app.command(epilog="Example: sb entity drive curiosity --intensity 0.7 --from note:ID")
def drive(
    ctx: typer.Context,
    origin: Origin,
    drive_type: Annotated[
        str,
        typer.Argument(
            metavar="TYPE",
            help="Type of drive, such as curiosity or growth.",
            autocompletion=words_of("DRIVE_TYPES"),
        ),
    ],
    intensity: Annotated[
        float | None, typer.Option(help="Strength from 0 to 1; 0.5 for a new drive.")
    ] = None,
    focus: Annotated[
        list[str] | None, typer.Option("--focus", help="An area of focus; may be repeated.")
    ] = None,
) -> None:
    """Save or update a drive."""
    more: dict[str, Any] = {"intensity": intensity, "focus_areas": focus}
    more |= origin.values
    _keep(ctx, origin, lambda core: core.drive(drive_type, **more))


@app.command(epilog="Example: sb entity relationship Ana --trust 0.8 --type person --from note:ID")
def relationship(
    ctx: typer.Context,
    origin: Origin,
    name: Annotated[str, typer.Argument(help="Name of the person, agent or service.")],
    trust: Annotated[float | None, typer.Option(help="Trust score, from 0 to 1.")] = None,
    notes: Annotated[str, typer.Option(help="Notes on the relationship.")] = "",
    interaction: Annotated[str, typer.Option(help="Type of interaction.")] = "",
    type_: Annotated[
        str, typer.Option("--type", help="Type of entity, such as person, agent or service.")
    ] = "",
) -> None:
    """Save or update a relationship; counts one interaction."""
    who = typed(name, "name")
    more: dict[str, Any] = {"trust_level": trust, "notes": notes or None, "entity_type": type_ or None}
    more |= {"interaction_type": interaction or None} | origin.values
    _keep(ctx, origin, lambda core: core.relationship(who, **more))


@app.command(epilog='Example: sb entity raw "met Ana, talked about the importer"')
def raw(
    ctx: typer.Context,
    blob: Annotated[str, typer.Argument(help="The text; - for stdin.")],
    agent: Whose = OPERATOR,
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """Save raw text for later."""
    text = typed(blob, "text")
    _keep(ctx, Origin(agent=agent, stack=stack, json_=json_), lambda core: core.raw(text))


app.add_typer(reading_app)
