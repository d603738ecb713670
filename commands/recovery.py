"""`sb recovery`: review reversals and calls with unknown outcomes."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.arguments import choice, require_reason
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, DecisionReason, Reveal, group
from sb.commands.session import decider, event_log, runtime

from sb.base.sources import micros
from sb.base.text import nearest, plain
from sb.errors import CheckFailed, ExitCode, UsageError
from sb.log.references import full_id
from sb.present.approvals import object_first
from sb.present.recovery import (
    RECOVERY,
    Item,
    argument_text,
    dismissed_sentence,
    logged_object,
    settled_sentence,
    undone_sentence,
)

if TYPE_CHECKING:
    from sb.kernel.calls.intents import Intent
    from sb.kernel.recovery_loop.answers import Undone
    from sb.kernel.recovery_loop.loop import RuntimeDecisionRecord
    from sb.kernel.recovery_loop.settling import Settlement
    from sb.runtime import Runtime

app = group()
Reference = Annotated[
    str,
    typer.Argument(metavar="ID", help="Id of a reversal (esc_…), or of its call or approval."),
]
Call = Annotated[str, typer.Argument(metavar="CALL", help="Id of a call or step of unknown outcome.")]

SettledResult = Annotated[
    str, typer.Option("--result", help="What it gave as JSON, which undoing a call may need.")
]


@app.command(name="list", epilog="Example: sb recovery list --all")
def list_recoveries(
    ctx: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Also entries that need no review any more.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List reversals to review and calls of unknown outcome."""
    from sb.kernel.durable_execution.doubt import in_doubt
    from sb.kernel.recovery_loop.escalations import Escalations

    log = event_log(ctx)
    found = Escalations(log).page(everything=everything)
    doubtful = in_doubt(log)
    if as_json:
        output.emit_json(
            {
                "items": [escalation.to_dict() for escalation in found],
                "in_doubt": [_doubt(intent) for intent in doubtful],
            }
        )
        return
    if found or doubtful:
        now = micros(log.clock.now())
        output.records(RECOVERY, [*map(Item, found), *map(Item, doubtful)], now)
    if doubtful:
        note(
            "sb recovery settle CALL asks the tool's probe; add done, not-done or compensate to settle it yourself"
        )
    if not found and not doubtful:
        note("nothing to recover")


def _doubt(intent: Intent) -> dict[str, Any]:
    names = ("call_id", "run_id", "agent", "tool_id", "step", "idempotency_key", "workflow")
    return {name: getattr(intent, name) for name in names}


@app.command(epilog="Example: sb recovery show esc_31d0")
def show(
    ctx: typer.Context,
    reference: Reference,
    reveal: Reveal = False,
    as_json: AsJson = False,
) -> None:
    """Show a reversal: what was done, why and how to reverse."""
    with runtime(ctx) as opened:
        _not_in_doubt(opened, reference)
        found = opened.recovery.escalations.get(reference)
        plan = (
            opened.recovery.plan(opened.recovery.mutations.get(found.mutation_id))
            if found.mutation_id
            else None
        )
        if as_json:
            output.emit_json(found.to_dict() | {"plan": plan.to_dict() if plan else None})
            return
        for heading, text in (
            ("escalation", f"{found.id}, {found.state}"),
            ("why", found.why),
            ("call", f"{found.tool_id} by {found.agent}, {found.call_id} in {found.run_id}"),
            ("mutation", found.mutation_id or "none"),
            ("approvals needed", str(found.people) if found.approval_id else "none"),
            (
                "approved by" if found.state == "waiting" else "decided by",
                f"{found.decided_by}: {found.reason}" if found.decided_by else "not decided yet",
            ),
        ):
            output.line(f"{heading}: {text}", one_line=True)
        if plan is not None:
            output.line(f"reversal: {plan.ref.reversal_tool or 'none'}", one_line=True)
            for argument in plan.arguments:
                output.line(f"  {argument.name} = {argument_text(argument, reveal=reveal)}", one_line=True)
            output.line(f"dry run: {'' if plan.ok else 'NO: '}{plan.detail}", one_line=True)


def _not_in_doubt(opened: Runtime, reference: str) -> None:
    from sb.kernel.durable_execution.doubt import in_doubt

    if any(intent.call_id == reference for intent in in_doubt(opened.log)):
        raise CheckFailed(f"{reference} has an unknown outcome", f"sb recovery settle {reference}")


@app.command(epilog='Example: sb recovery approve esc_31d0 --reason "the order was shipped"')
def approve(
    ctx: typer.Context,
    reference: Reference,
    reason: DecisionReason = "",
    who: As = "",
    shown: Annotated[
        str, typer.Option(metavar="DIGEST", help="Digest from `sb approvals show --full`, for a long one.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Approve a reversal, and run it."""
    require_reason(reason)
    with runtime(ctx) as opened:
        found = opened.recovery.escalations.get(reference)  # before a passphrase is asked for
        if found.approval_id:
            asked = opened.approvals.disclose(opened.approvals.get(found.approval_id))
            note(f"approving {object_first(asked, output.LONGEST_NOTED)} ({found.id})")
        by = decider(ctx, opened.approvals.authority, who)
        _say(opened.recovery.approve(reference, by, reason, displayed=shown), as_json)


@app.command(epilog='Example: sb recovery dismiss esc_31d0 --reason "settled by phone"')
def dismiss(
    ctx: typer.Context,
    reference: Reference,
    reason: DecisionReason = "",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Dismiss a reversal; the same cause does not reopen it."""
    require_reason(reason)
    with runtime(ctx) as opened:
        opened.recovery.escalations.get(reference)
        by = decider(ctx, opened.approvals.authority, who)
        found = opened.recovery.dismiss(reference, by, reason)
        if as_json:
            output.emit_json(found.to_dict())
        else:
            again = f"sb undo {found.mutation_id}"
            output.line(dismissed_sentence(logged_object(opened.log, found), again, found.id), one_line=True)


@app.command(epilog='Example: sb recovery settle call_9f21c07d not-done --reason "no such refund"')
def settle(
    ctx: typer.Context,
    call: Call,
    verdict: Annotated[
        str,
        typer.Argument(help="done, not-done or compensate; by default asks the probe."),
    ] = "",
    reason: DecisionReason = "",
    result: SettledResult = "null",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Settle a call, or a workflow's step, of unknown outcome."""
    settle_reference(ctx, call, verdict, reason, result, who, as_json)


def settle_reference(
    ctx: typer.Context, call: str, verdict: str, reason: str, result: str, who: str, as_json: bool
) -> None:
    """Settle the call or step of this id, and print what was recorded; the arguments are those of `settle`."""
    from sb.kernel.recovery_loop.settling import Settlement, Settling

    with runtime(ctx) as opened:
        call = full_id(opened.log.database, call)
        settling = Settling(opened.recovery)
        intent = settling.in_doubt(call)
        if not verdict:
            _settled(opened, intent, settling.probe(call), "its probe", as_json)
            return
        meant: Settlement = choice("verdict", verdict, Settlement)
        require_reason(reason)
        by = decider(ctx, opened.approvals.authority, who)
        undone = settling.settle(call, meant, by, reason, _json(result))
        if undone is not None:
            _say(undone, as_json)
        else:
            _settled(opened, intent, meant, by.name, as_json)


def _settled(opened: Runtime, intent: Intent, verdict: Settlement, by: str, as_json: bool) -> None:
    call = intent.call_id
    left = opened.recovery.mutations.for_call(call)
    if as_json:
        mutation_id = left.mutation_id if left else ""
        output.emit_json({"call_id": call, "verdict": str(verdict), "mutation_id": mutation_id})
        return
    output.line(settled_sentence(logged_object(opened.log, intent), verdict, by, call), one_line=True)
    if left is not None:
        note(f"no undo: {left.no_way_back}" if left.no_way_back else f"sb undo {left.mutation_id}")
        if left.assumption_refs:
            note("sb recovery watch --once checks whether its assumptions still hold")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--result is not JSON: {error}") from None


@app.command(epilog='Example: sb recovery invalidate order_not_shipped:1002 --reason "it was shipped"')
def invalidate(
    ctx: typer.Context,
    assumption: Annotated[str, typer.Argument(help="Its name, such as order_not_shipped:1002.")],
    run: Annotated[str, typer.Option(help="Only for calls of this run.")] = "",
    reason: DecisionReason = "",
    as_json: AsJson = False,
) -> None:
    """Invalidate an assumption that justified calls."""
    from sb.kernel.events import AssumptionInvalidated

    require_reason(reason)
    with runtime(ctx) as opened:
        decisions = opened.invalidate(AssumptionInvalidated(assumption, run, reason))
        _decisions(decisions, as_json)
        if not decisions:
            known = [row[0] for row in opened.database.query("SELECT DISTINCT ref FROM assumptions")]
            shown = plain(assumption, one_line=True)
            note(f"no reversible call relies on {shown!r}{nearest(assumption, known)}")
            raise typer.Exit(ExitCode.FAILED)


@app.command(epilog="Example: sb recovery watch --once")
def watch(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Check once, and exit.")] = False,
    interval: Annotated[float, typer.Option(min=1.0, max=3600.0, help="Seconds between checks.")] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Check assumptions, and reverse calls that lost theirs."""
    with runtime(ctx) as opened:
        while True:
            _look(opened, as_json)
            output.flush()
            if once:
                return
            time.sleep(interval)


def _look(opened: Runtime, as_json: bool) -> None:
    looked, decisions = opened.watch()
    for undone in looked.performed:
        if not as_json:
            output.line(undone_sentence(undone))
    for unclear in looked.unclear:
        note(f"warning: cannot check an assumption: {unclear}")
    if as_json:
        output.emit_json_line(
            {
                "checked": looked.checked,
                "items": [record.to_dict() for record in decisions],
                "unclear": looked.unclear,
                "performed": [item.to_dict() for item in looked.performed],
            }
        )
    else:
        _tell(decisions)


def _decisions(decisions: list[RuntimeDecisionRecord], as_json: bool) -> None:
    if as_json:
        output.emit_json({"items": [record.to_dict() for record in decisions]})
    else:
        _tell(decisions)


def _tell(decisions: list[RuntimeDecisionRecord]) -> None:
    for decision in decisions:
        output.line(f"{decision.action} {decision.reverses_mutation_ref}: {decision.reason}", one_line=True)
    if any(record.action == "escalated" for record in decisions):
        note("sb recovery list shows what to review")


def _say(undone: Undone, as_json: bool) -> None:
    if as_json:
        output.emit_json(undone.to_dict())
    else:
        output.line(undone_sentence(undone))
    if undone.state == "waiting":
        raise typer.Exit(ExitCode.DENIED)
    if undone.state != "reversed":
        raise typer.Exit(ExitCode.FAILED)
