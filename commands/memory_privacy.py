"""`sb memory pii|denied|retention|forget-subject|prune`: what may not stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import overseer, required, with_times
from sb.commands.memory_records import erase_found
from sb.commands.options import As, AsJson, ChangeReason, Limit, OnlyHost, Yes, group, single

from sb.base.duration import parse_duration
from sb.base.sources import iso
from sb.base.text import counted
from sb.errors import UsageError

if TYPE_CHECKING:
    from sb.log.event_log import EventLog
    from sb.memory.operator_view import Overseer

app = single()
pii = group("List and erase personal data in memories.")
app.add_typer(pii, name="pii")
Label = Annotated[str, typer.Option(help="Only this kind, such as phone, email or national_id.")]
Pattern = Annotated[str, typer.Option(help="Only scopes of this pattern, such as project:*.")]


@pii.command(name="list", epilog="Example: sb memory pii list --label phone --scope 'project:*'")
def list_pii(
    ctx: typer.Context,
    label: Label = "",
    action: Annotated[
        str, typer.Option(help="Only where this was done: keep, redact, drop or escalate.")
    ] = "",
    scope: Pattern = "",
    limit: Limit = 50,
    json_: AsJson = False,
) -> None:
    """List the kinds of personal data in memories, not the values."""
    from sb.memory.personal_data import detections

    brain, _ = overseer(ctx)
    found = detections(brain.database, label=label, action=action, scope=scope, limit=limit)
    if json_:
        output.emit_json({"items": [with_times(item.as_json()) for item in found]})
        return
    output.table(
        ("LABEL", "ACTION", "SCOPE", "AGENT", "WHEN", "MEMORY"),
        [
            (item.label, item.action, item.scope, item.agent, iso(item.at), item.record or "-")
            for item in found
        ],
    )


@pii.command(name="erase", epilog='Example: sb memory pii erase --label national_id --reason "not needed"')
def erase_pii(
    ctx: typer.Context,
    label: Label = "",
    scope: Pattern = "",
    reason: ChangeReason = "",
    who: As = "",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Erase memories that hold personal data, for good."""
    from sb.memory.personal_data import holders

    required(reason)
    brain, log = overseer(ctx)
    found = holders(brain.database, label=label, scope=scope)
    _erase(ctx, brain, log, found, reason, who=who, yes=yes, json_=json_)


@app.command(epilog="Example: sb memory denied --agent support-bot")
def denied(
    ctx: typer.Context,
    agent: Annotated[str, typer.Option(metavar="NAME", help="Only what this agent was not given.")] = "",
    limit: Limit = 100,
    json_: AsJson = False,
) -> None:
    """List memories that the reading policy withheld."""
    from sb.kernel.memory_read_policy import denied_reads

    brain, _ = overseer(ctx)
    found = denied_reads(brain.database, agent=agent, limit=limit)
    if json_:
        output.emit_json({"items": [with_times(read.as_json()) for read in found]})
        return
    rows = [
        (
            iso(read.at)[:16],
            read.agent,
            read.scope,
            read.purpose or "-",
            read.record or f"{read.memories} of a search",
            read.reason,
        )
        for read in found
    ]
    if rows:
        output.table(["at", "agent", "scope", "purpose", "memory", "reason"], rows)
    else:
        note("nothing was withheld: memory.scopes holds the rules")


@app.command(name="forget-subject", epilog='Example: sb memory forget-subject grace --reason "asked for it"')
def forget_subject(
    ctx: typer.Context,
    subject: Annotated[str, typer.Argument(help="A person, as `subject_ids` of memories name them.")],
    reason: ChangeReason = "",
    who: As = "",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Erase every memory about one person, for good."""
    from sb.memory.consent import about

    required(reason)
    brain, log = overseer(ctx)
    _erase(ctx, brain, log, about(brain.database, subject), reason, who=who, yes=yes, json_=json_)


@app.command(epilog="Example: sb memory prune --older-than 90d")
def prune(
    ctx: typer.Context,
    session: Annotated[str, typer.Option(metavar="ID", help="Only this session of a host.")] = "",
    older_than: Annotated[str, typer.Option(help="Only what happened longer ago: 90d, 52w…")] = "",
    host: OnlyHost = "",
    reason: ChangeReason = "pruned",
    who: As = "",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Erase imported past sessions, for good.

    Only what `sb memory import --from claude-code` and the other hosts brought. Transcripts stay.
    """
    from sb.memory.foreign.past import past_memories

    if not (session or older_than or host):
        raise UsageError("name what to erase", "--session ID, --older-than 90d or --host NAME")
    brain, log = overseer(ctx)
    limits = {"before": log.clock.now() - parse_duration(older_than)} if older_than else {}
    found = past_memories(brain.space, session=session, host=host, **limits)
    _erase(ctx, brain, log, found, required(reason), who=who, yes=yes, json_=json_)


def _erase(
    ctx: typer.Context,
    brain: Overseer,
    log: EventLog,
    ids: list[str],
    reason: str,
    *,
    who: str,
    yes: bool,
    json_: bool,
) -> None:
    found = [brain.look_up(fromkey) for fromkey in dict.fromkeys(ids)]
    if not found and not json_:
        note("no memories; nothing was erased")
        return
    erase_found(ctx, brain, log, found, reason, with_handoffs=False, who=who, yes=yes, json_=json_)


@app.command(epilog="Example: sb memory retention --apply")
def retention(
    ctx: typer.Context,
    apply: Annotated[
        bool, typer.Option("--apply", help="Erase them; without it they are only listed.")
    ] = False,
    who: As = "",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """List memories past their retention, or erase them."""
    from sb.memory.retention import overdue

    brain, log = overseer(ctx)
    found = overdue(brain.space, brain.config.memory, log.clock.now())
    due = [item.id for item in found if not item.protected]
    if json_ and not apply:
        output.emit_json({"items": [with_times(item.as_json()) for item in found]})
        return
    if not json_:
        output.table(
            ("MEMORY", "KIND", "SCOPE", "RULE", "SINCE", "PROTECTED"),
            [
                (item.id, item.kind, item.scope, item.rule, iso(item.due_at), "yes" if item.protected else "")
                for item in found
            ],
        )
    if apply:
        _erase(ctx, brain, log, due, "past its retention", who=who, yes=yes, json_=json_)
    else:
        advice = "; --apply erases them" if due else ""
        note(f"{counted(len(due), 'memory')} past retention{advice}")
