"""`sb agent charter`: list, show, check and approve agents' charters."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import confirmed
from sb.commands.options import AgentName, ApprovalReason, ApprovedBy, AsJson, Yes, group
from sb.commands.session import configuration, decider

from sb.base.text import counted, revealed
from sb.errors import ExitCode
from sb.present.rules import CHARTER

if TYPE_CHECKING:
    from sb.config import Config
    from sb.kernel.agent_charter.charters import CharterEntry, Charters
    from sb.kernel.authority.authority import Authority

app = group("List, show, check and approve agents' charters.")
_SOON = timedelta(days=30)


def _opened(ctx: typer.Context) -> tuple[Charters, Authority, Config]:
    from sb.runtime.parts import open_authority, open_charters, open_log

    config = configuration(ctx)
    log = open_log(config)
    authority = open_authority(config, log)
    return open_charters(config, log, authority), authority, config


@app.command(name="list", epilog="Example: sb agent charter list")
def list_charters(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List charters, with their state and owner."""
    charters, _, config = _opened(ctx)
    entries = charters.entries()
    if as_json:
        output.emit_json(
            {"mode": config.agent_charters, "items": [CHARTER.to_dict(entry) for entry in entries]}
        )
        return
    if not entries:
        note(f"no charters yet; write {charters.files.folder}/AGENT.yaml")
    else:
        output.records(CHARTER, entries)
    off = "; observe or enforce in config.yaml switches charters on"
    note(f"agent_charters is {config.agent_charters}{off if config.agent_charters == 'off' else ''}")


@app.command(epilog="Example: sb agent charter show clerk")
def show(ctx: typer.Context, agent: AgentName, as_json: AsJson = False) -> None:
    """Show an agent's charter, and what changed since approval."""
    from sb.kernel.agent_charter.charters import require_charter

    charters, _, _ = _opened(ctx)
    entry = require_charter(charters, agent)
    changes = _changes(charters, entry)
    if as_json:
        output.emit_json(CHARTER.to_dict(entry) | {"changes": [change._asdict() for change in changes]})
        return
    output.line(f"{agent}: {entry.state}")
    if entry.problem:
        output.line(entry.problem)
    _print(entry, changes)


def _changes(charters: Charters, entry: CharterEntry) -> list[Any]:
    from sb.kernel.baselines.compare import changes

    if entry.charter is None or not entry.approved:
        return []
    before = charters.approved_document(entry.agent, entry.approved)
    return changes(before, entry.charter.document()) if before else []


def _print(entry: CharterEntry, changes: list[Any]) -> None:
    document = {} if entry.charter is None else entry.charter.document()
    for name, value in document.items():
        if value not in ("", []):
            output.line(f"  {name}: {revealed(json.dumps(value, ensure_ascii=False))}")
    if changes:
        output.line("changes since approval:")
    for change in changes:
        output.line(f"  {change.path}: {change.before or 'nothing'} -> {change.after or 'nothing'}")


@app.command(epilog="Example: sb agent charter check clerk --intent refund.issue")
def check(
    ctx: typer.Context,
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="Only this agent; by default every one.")
    ] = "",
    intent: Annotated[str, typer.Option(help="Also say whether AGENT may act for this intent.")] = "",
    as_json: AsJson = False,
) -> None:
    """Check charters; exit 1 if one does not count.

    With --intent, exit 4 if the charter refuses it.
    """
    from sb.errors import UsageError
    from sb.kernel.agent_charter.charters import require_charter

    if intent and not agent:
        raise UsageError("--intent needs an agent", "name the agent before it")
    charters, _, _ = _opened(ctx)
    entries = [require_charter(charters, agent)] if agent else charters.entries()
    problems = [line for entry in entries for line in _problems(charters, entry)]
    due = [line for entry in entries for line in _due(charters, entry)]
    charter = entries[0].charter if intent else None
    refused = charter.intent_refusal(intent) if charter is not None else ""
    if as_json:
        output.emit_json(
            {"ok": not problems and not refused, "items": problems, "due": due, "refused": refused}
        )
    else:
        for line in (*problems, *due):
            output.line(line)
        if intent and charter is not None:
            output.line(refused or f"the charter of {agent} allows intent {intent}")
        if not problems and not intent:
            output.line(f"ok: {counted(len(entries), 'charter')}")
    if refused:
        raise typer.Exit(ExitCode.DENIED)
    raise typer.Exit(ExitCode.FAILED if problems else ExitCode.OK)


def _problems(charters: Charters, entry: CharterEntry) -> list[str]:
    """Each problem on a line, with file and line where it has one."""
    _, report = charters.files.read(entry.agent, charters.today())
    if report is not None:
        return [str(problem) for problem in report.in_order()]
    return [entry.problem] if entry.problem else []


def _due(charters: Charters, entry: CharterEntry) -> list[str]:
    review = entry.charter.review_by if entry.charter is not None else None
    if review is None or review > charters.today() + _SOON:
        return []
    if review < charters.today():
        return [
            f"the charter of {entry.agent} should have been reviewed by {review}; 30 days later it is invalid"
        ]
    return [f"the charter of {entry.agent} has to be reviewed by {review}"]


@app.command(epilog='Example: sb agent charter approve clerk --reason "reviewed with finance"')
def approve(
    ctx: typer.Context,
    agent: AgentName,
    approved_by: ApprovedBy = "",
    reason: ApprovalReason = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Approve an agent's charter as it is now."""
    from sb.kernel.agent_charter.charters import require_charter

    charters, authority, _ = _opened(ctx)
    entry = require_charter(charters, agent)
    charters.files.load(agent, charters.today())
    if not as_json:
        output.line(f"{agent}: {entry.state}")
        _print(entry, _changes(charters, entry))
    confirmed("approve this charter?", yes=yes)
    by = decider(ctx, authority, approved_by, "--approved-by")
    shown = entry.charter.fingerprint if entry.charter is not None else ""
    charter = charters.approve(agent, shown, by, reason)
    if as_json:
        output.emit_json({"agent": agent, "fingerprint": charter.fingerprint, "by": by.name})
    else:
        output.line(f"the charter of {agent} is approved by {by.name}")
