"""`sb memory trigger create|list|show|check|snooze|retire`: reminders for when something comes up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

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
    memory,
    required,
    typed,
    with_times,
)
from sb.commands.options import AsJson, ChangeReason, group

from sb.base.duration import human_age, human_duration, parse_duration
from sb.base.text import counted, plain

if TYPE_CHECKING:
    from sb.memory import Brain
    from sb.memory.lessons.lessons import LessonStatus
    from sb.memory.triggers.triggers import TriggerStatus

app = group("Remind agents of something when it comes up.")
Trigger = Annotated[str, typer.Argument(metavar="ID", help="Its id (mem_…).")]
Path = Annotated[str, typer.Option(help="Files, as a glob such as src/db/**.", metavar="GLOB")]
Tool = Annotated[str, typer.Option(help="Name of a tool; may hold *.", metavar="NAME")]
Error = Annotated[str, typer.Option(help="Words of an error message.", metavar="TEXT")]
Task = Annotated[str, typer.Option(help="Words of the session's task.", metavar="TEXT")]


@app.command(epilog='Example: sb memory trigger create "billing schema" "read the runbook" --path "db/**"')
def create(
    ctx: typer.Context,
    saved: Writing,
    precondition: Annotated[str, typer.Argument(help='Words that it is about; "" with other conditions.')],
    action: Annotated[str, typer.Argument(help="What to think of then; - for stdin.")],
    path: Path = "",
    tool: Tool = "",
    error: Error = "",
    entity: Annotated[str, typer.Option(help="Name of a person, service or thing.", metavar="NAME")] = "",
    task: Task = "",
    every_session: Annotated[
        bool, typer.Option("--every-session", help="Fire once in each session, not once in all.")
    ] = False,
    expires: Annotated[str, typer.Option(help="Time until it expires, such as 30d.", metavar="TIME")] = "",
) -> None:
    """Save a reminder; all conditions given have to hold."""
    given = {
        "words": precondition,
        "entity": entity,
        "task": task,
        "path": path,
        "tool": tool,
        "error": error,
    }
    with saved.memory(ctx) as brain:
        until = _from_now(brain, expires) if expires else None
        made = brain.trigger_create(
            given,
            typed(action, "action"),
            private=saved.private,
            expires_at=until,
            every_session=every_session,
        )
        show_made(brain, made, brain.trigger_show, _show, saved.json_)


@app.command(epilog='Example: sb memory trigger check "migrate the billing schema" --agent claude-code')
def check(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="What comes up; - for stdin.")],
    path: Path = "",
    tool: Tool = "",
    error: Error = "",
    task: Task = "",
    project: Project = "",
    scope: Scope = "",
    agent: Agent = "",
    session: Session = "",
    json_: AsJson = False,
) -> None:
    """Fire the triggers that fit; without --agent only show them."""
    with memory(ctx, agent, project=project, scope=scope, session=session) as brain:
        paths = (path,) if path else ()
        fired = brain.trigger_check(typed(text, "text"), paths=paths, tool=tool, error=error, task=task)
    if json_:
        output.emit_json({"items": [item.as_json() for item in fired]})
        return
    for item in fired:
        output.line(item.line, one_line=True)
    if not fired:
        note("no trigger fits")


@app.command(epilog='Example: sb memory trigger snooze mem_7c2e91 7d --reason "after the release"')
def snooze(
    ctx: typer.Context,
    at: MemoryOptions,
    trigger: Trigger,
    time: Annotated[str, typer.Argument(metavar="TIME", help="How long, such as 2h or 7d.")],
    reason: ChangeReason = "",
) -> None:
    """Snooze a trigger."""
    required(reason)
    with at.memory(ctx) as brain:
        brain.trigger_snooze(trigger, _from_now(brain, time), reason)
        _show(brain, brain.trigger_show(trigger), at.json_)


def show_made(
    brain: Brain, made: str, read: Callable[[str], Any], show: Callable[..., None], json_: bool
) -> None:
    """Show a reminder that was just saved, or say that it is quarantined."""
    if made in brain.quarantined:
        note("quarantined: a person has to release it before it is shown to an agent")
        if json_:
            output.emit_json({"id": made, "status": "quarantined"})
        else:
            output.line(made)
        return
    item = read(made)
    if item.inert:
        note("it reads like an attack on a model: it is saved, but no agent is shown it")
    show(brain, item, json_)


def _from_now(brain: Brain, text: str) -> datetime:
    return datetime.fromtimestamp(brain.space.clock.now() + parse_duration(text), UTC)


def _show(brain: Brain, item: TriggerStatus, json_: bool = False) -> None:
    if json_:
        output.emit_json(with_times(item.as_json()))
        return
    now = brain.space.clock.now()
    until = item.snoozed_until if item.status == "snoozed" else item.expires_at
    left = f" for {human_duration(until - now)}" if until and until > now else ""
    often = ", every session" if item.every_session else ""
    ended = f" {human_age(now - item.ended_at)}: {item.why}" if item.ended_at else ""
    output.line(plain(f"when {item.when}: {item.action}", one_line=True), one_line=True)
    state = "inert" if item.inert else f"{item.status}{left}{ended}"
    output.line(f"    {state}{often}; {fate(item)}", one_line=True)


def fate(item: TriggerStatus | LessonStatus) -> str:
    """The end of a trigger's or lesson's second line."""
    seen = f"shown {counted(item.shown, 'time')}, ignored {counted(item.ignored, 'time')}"
    return f"{seen}; by {item.agent_id} in {item.scope}; {item.id}"


def add_common(app: typer.Typer, kind: str, show: Callable[..., None], none: str) -> None:
    """Add `list`, `show` and `retire` to the commands of triggers or lessons.

    Args:
        show: prints one of them. none: is noted where there are none.
    """
    example = f"Example: sb memory {kind}"

    @app.command(
        "list", epilog=f"{example} list", help=f"List {kind}s, and those that were ignored too often."
    )
    def list_(
        ctx: typer.Context,
        status: Annotated[str, typer.Option(help="Only those of this status.")] = "",
        project: Project = "",
        scope: Scope = "",
        agent: Agent = "",
        json_: AsJson = False,
    ) -> None:
        with memory(ctx, agent, project=project, scope=scope) as brain:
            items = getattr(brain, f"{kind}_list")(status)
            if json_:
                output.emit_json({"items": [with_times(item.as_json()) for item in items]})
                return
            for item in items:
                show(brain, item)
        if proposed := [item for item in items if item.proposed]:
            advice = f"sb memory {kind} retire {proposed[0].id}"
            note(f"{counted(len(proposed), kind)} ignored too often: {advice}")
        if not items:
            note(none)

    @app.command("show", epilog=f"{example} show mem_7c2e91", help=f"Show one {kind}.")
    def show_(
        ctx: typer.Context,
        id: Trigger,
        project: Project = "",
        scope: Scope = "",
        agent: Agent = "",
        json_: AsJson = False,
    ) -> None:
        with memory(ctx, agent, project=project, scope=scope) as brain:
            show(brain, getattr(brain, f"{kind}_show")(id), json_)

    @app.command(
        epilog=f'{example} retire mem_7c2e91 --reason "nobody heeds it"', help=f"Retire a {kind} for good."
    )
    def retire(
        ctx: typer.Context,
        id: Trigger,
        reason: ChangeReason = "",
        project: Project = "",
        scope: Scope = "",
        agent: Agent = "",
        json_: AsJson = False,
    ) -> None:
        required(reason)
        with memory(ctx, agent, project=project, scope=scope) as brain:
            getattr(brain, f"{kind}_retire")(id, reason)
            show(brain, getattr(brain, f"{kind}_show")(id), json_)


add_common(app, "trigger", _show, "no triggers: sb memory trigger create saves one")
