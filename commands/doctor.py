"""`sb doctor`: check the installation, and approve the contracts that an upgrade brought."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, Yes, single
from sb.commands.session import configuration, decider, event_log

from sb.base.text import counted
from sb.errors import ExitCode
from sb.kernel.review.findings import Status
from sb.operator.doctor import examine

if TYPE_CHECKING:
    from sb.kernel.baselines.seeding import OutdatedContract
    from sb.kernel.baselines.store import ContractBaselineStore
    from sb.kernel.registry.registry import ToolRegistry

app = single()
Fix = Annotated[bool, typer.Option("--fix", help="Approve changed contracts; settle interrupted writes.")]


@app.command(epilog="Example: sb doctor --json")
def doctor(
    ctx: typer.Context, fix: Fix = False, who: As = "", yes: Yes = False, as_json: AsJson = False
) -> None:
    """Check the installation; exit 1 if a check fails.

    With --fix, contracts of shipped tools that are not the approved ones are shown and approved first; an operator
    signs where one is enrolled. Tools of others are left to `sb runtime-guard`. If a
    process died before it committed a kill, lift, incident or token, this is settled: kills and incidents, which stop
    agents, are written to the log again; repeat the others by hand.
    """
    fixed = _approve_shipped(ctx, who, yes, as_json) if fix else []
    settled = _settle_interrupted(ctx, who, yes, as_json) if fix else []
    findings = examine(configuration(ctx, quietly=True))
    failed = any(finding.status is Status.FAIL for finding in findings)
    if as_json:
        items = [vars(finding) for finding in findings]
        output.emit_json(
            {"ok": not failed, "items": items} | ({"fixed": fixed, "settled": settled} if fix else {})
        )
    else:
        output.findings("check", findings)
    raise typer.Exit(ExitCode.FAILED if failed else ExitCode.OK)


def _approve_shipped(ctx: typer.Context, who: str, yes: bool, quietly: bool) -> list[dict[str, Any]]:
    """Show and approve the contracts of shipped tools that are not the approved ones; returns them.

    Args:
        who: as for `decider`. quietly: print nothing.
    """
    from sb.commands.file_changes import confirm

    from sb.kernel.baselines.seeding import approve_outdated, outdated_contracts
    from sb.runtime.parts import open_surfaces, shipped_registry

    config, log = configuration(ctx, quietly=True), event_log(ctx)
    with closing(log.database):
        shipped, stores = shipped_registry(config), open_surfaces(config, log)
        outdated = outdated_contracts(stores, shipped)
        if not outdated:
            if not quietly:
                note("nothing to fix: every contract of this release is approved")
            return []
        if not quietly:
            _print_changes(outdated, stores, shipped)
        if not yes:
            confirm(f"approve {counted(len(outdated), 'contract')} of this release?")
        by = decider(ctx, stores[0].authority, who)
        approve_outdated(stores, by, shipped)
    if not quietly:
        output.line(f"{counted(len(outdated), 'contract')} of this release approved by {by.name}")
    return [
        {"surface": contract.surface, "tool_id": contract.tool_id, "fingerprint": contract.fingerprint}
        for contract in outdated
    ]


def _settle_interrupted(ctx: typer.Context, who: str, yes: bool, quietly: bool) -> list[dict[str, Any]]:
    """Settle the statements that were never committed; returns them. The arguments are those of `_approve_shipped`."""
    from sb.commands.file_changes import confirm

    from sb.kernel.incident_response.interrupted import interrupted, settle
    from sb.runtime.parts import open_authority

    log = event_log(ctx)
    with closing(log.database):
        lines = interrupted(log)
        if lines and not yes:
            confirm(f"settle {counted(len(lines), 'statement')} that broke off?")
        authority = open_authority(configuration(ctx, quietly=True), log)
        done = settle(log, authority, lines, decider(ctx, authority, who)) if lines else []
    for settled in () if quietly else done:
        output.line(settled.sentence, one_line=True)
    return [{"kind": item.line.kind, "row": item.line.seq, "repeated": item.repeated} for item in done]


def _print_changes(
    outdated: Sequence[OutdatedContract], stores: Sequence[ContractBaselineStore], shipped: ToolRegistry
) -> None:
    by_surface = {store.surface: store for store in stores}
    for contract in outdated:
        output.line(f"{contract.status}: {contract.tool_id} ({contract.surface})")
        for change in by_surface[contract.surface].entry(contract.tool_id, shipped).changes:
            output.line(f"  {change.path}", one_line=True)
            for sign, value in (("-", change.before), ("+", change.after)):
                if value is not None:
                    output.line(f"    {sign} {value}", one_line=True)
