"""`sb autonomy`: how far agents are trusted by themselves, and the signatures that let them do more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from sb.commands import output
from sb.commands.arguments import require_reason
from sb.commands.diagnostics import note
from sb.commands.options import AgentName, As, AsJson, DecisionReason, group
from sb.commands.session import anybody, configuration, decider

from sb.base.sources import iso_micros
from sb.present.autonomy import EVERY_TOOL, LEVEL, PROPOSAL
from sb.present.kind import time_cell

if TYPE_CHECKING:
    from sb.kernel.autonomy.proposals import Proposals
    from sb.kernel.incident_response.statements import Statement

app = group()
_Row = TypeVar("_Row")
OnlyAgent = Annotated[str, typer.Option("--agent", help="Only this agent.")]
OnlyTool = Annotated[str, typer.Option("--tool", help="Only this tool.")]
ToolOrAll = Annotated[
    str, typer.Argument(metavar="TOOL", help="The tool's id; without it, all of the agent's.")
]


@app.command(epilog="Example: sb autonomy show --agent clerk")
def show(ctx: typer.Context, agent: OnlyAgent = "", tool: OnlyTool = "", as_json: AsJson = False) -> None:
    """Show levels that differ from asking a person."""
    mode, now = configuration(ctx).autonomy.mode, opened(ctx).levels.current()
    rows = _only(now.rows(), agent, tool)
    if as_json:
        items = [LEVEL.to_dict(it, 0) for it in rows]
        output.emit_json({"mode": mode, "unreadable": now.unreadable, "items": items})
        return
    nothing = "no agent's level differs from asking a person"
    output.listing(LEVEL, rows, nothing, as_json=False)
    if now.unreadable:
        note(f"warning: every level counts as read: {now.unreadable}")
    if mode != "enforce":
        note(f"autonomy.mode is {mode}: no call is held to its level")


@app.command(epilog="Example: sb autonomy history --agent clerk --json")
def history(ctx: typer.Context, agent: OnlyAgent = "", tool: OnlyTool = "", as_json: AsJson = False) -> None:
    """List what raised, lowered and froze levels."""
    items = _only([_stated(it) for it in opened(ctx).levels.statements()], agent, tool, read=dict.__getitem__)
    if as_json:
        output.emit_json({"items": items})
    elif items:
        headers = ["row", "at", "what", "agent", "tool", "to", "by", "why"]
        output.table(headers, [_history_row(it) for it in items])
    else:
        note("nothing was raised, lowered or frozen yet")


@app.command(epilog="Example: sb autonomy proposals --all")
def proposals(
    ctx: typer.Context,
    agent: OnlyAgent = "",
    tool: OnlyTool = "",
    everything: Annotated[bool, typer.Option("--all", help="Also those that lack something.")] = False,
    as_json: AsJson = False,
) -> None:
    """List higher levels that the record speaks for."""
    proposed = opened(ctx)
    rows = _only(proposed.candidates() if everything else proposed.all(), agent, tool)
    nothing = "nothing is proposed; sb autonomy proposals --all says what is missing"
    output.listing(PROPOSAL, rows, nothing, as_json=as_json, face="all" if everything else "table")


@app.command(epilog='Example: sb autonomy sign prop_4f2a --reason "routine"')
def sign(
    ctx: typer.Context,
    proposal: Annotated[str, typer.Argument(metavar="PROPOSAL", help="Its id, or the beginning of it.")],
    reason: DecisionReason = "",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Raise a level as it is proposed; an operator signs."""
    require_reason(reason)
    proposed = opened(ctx)
    shown = proposed.get(proposal)
    note(
        f"signing: {shown.agent} may {shown.to} {shown.tool_id} ({shown.why})"
    )  # before a passphrase is asked for
    by = decider(ctx, proposed.levels.authority, who)
    signed = proposed.sign(shown.id, by, reason)
    if as_json:
        output.emit_json(PROPOSAL.to_dict(signed, 0) | {"by": by.name})
    else:
        output.line(f"{signed.tool_id} of {signed.agent} is {signed.to}, signed by {by.name}", one_line=True)


@app.command(epilog='Example: sb autonomy freeze clerk --reason "an audit runs"')
def freeze(
    ctx: typer.Context,
    agent: AgentName,
    tool: ToolOrAll = "",
    reason: DecisionReason = "",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Propose no more autonomy for an agent; anybody may."""
    require_reason(reason)
    levels = opened(ctx).levels
    by = anybody(ctx, levels.authority, who)
    levels.freeze(agent, tool, by, reason)
    _changed("is frozen", agent, tool, by.name, as_json=as_json)


@app.command(epilog='Example: sb autonomy unfreeze clerk files.write --reason "it was my mistake"')
def unfreeze(
    ctx: typer.Context,
    agent: AgentName,
    tool: ToolOrAll = "",
    reason: DecisionReason = "",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Let autonomy be proposed again, on new evidence."""
    require_reason(reason)
    levels = opened(ctx).levels
    by = decider(ctx, levels.authority, who)
    levels.unfreeze(agent, tool, by, reason)
    _changed("can be proposed again", agent, tool, by.name, as_json=as_json)


@app.command(epilog='Example: sb autonomy evaluate clerk 0.93 --as ci --reason "CI run 812"')
def evaluate(
    ctx: typer.Context,
    agent: AgentName,
    score: Annotated[float, typer.Argument(metavar="SCORE", help="Of the evaluation, from 0 to 1.")],
    reason: DecisionReason = "",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Sign the score of an evaluation, as evidence."""
    require_reason(reason)
    levels = opened(ctx).levels
    by = decider(ctx, levels.authority, who)
    levels.evaluate(agent, score, by, reason)
    if as_json:
        output.emit_json({"agent": agent, "score": score, "by": by.name})
    else:
        output.line(f"the evaluation of {agent} is {score:g}, signed by {by.name}", one_line=True)


def opened(ctx: typer.Context) -> Proposals:
    """The proposals of this home's log."""
    from sb.runtime.parts import open_log, open_proposals

    config = configuration(ctx)
    return open_proposals(config, open_log(config))


def _only(
    rows: Sequence[_Row], agent: str, tool: str, read: Callable[[Any, str], object] = getattr
) -> list[_Row]:
    """The rows of an agent and a tool, where these are named."""
    return [row for row in rows if agent in ("", read(row, "agent")) and tool in ("", read(row, "tool_id"))]


def _stated(statement: Statement) -> dict[str, Any]:
    event, facts = statement.event, statement.text
    named = {name: facts.get(name, "") for name in ("agent", "tool_id", "intent", "to", "score", "reason")}
    place = {"number": event.seq, "at": iso_micros(event.at), "kind": event.kind.partition(".")[2]}
    return place | named | {"by": statement.by, "signed": statement.signed, "doubt": statement.doubt}


def _history_row(it: dict[str, Any]) -> tuple[object, ...]:
    ignored = it["doubt"] and it["kind"] not in ("lowered", "frozen")
    why = f"{it['reason']} (does not count: {it['doubt']})" if ignored else it["reason"]
    at, to = time_cell(f"{it['at'][:19]}Z", it["at"]), it["to"] or it["score"] or "-"
    return it["number"], at, it["kind"], it["agent"], it["tool_id"] or EVERY_TOOL, to, it["by"], why


def _changed(what: str, agent: str, tool: str, by: str, *, as_json: bool) -> None:
    if as_json:
        output.emit_json({"agent": agent, "tool_id": tool, "by": by})
    else:
        output.line(f"the autonomy of {agent} for {tool or EVERY_TOOL} {what}, says {by}", one_line=True)
