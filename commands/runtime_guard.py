"""`sb runtime-guard`: compare and approve tool contracts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, Yes, group
from sb.commands.session import baselines, decider

from sb.base.text import counted, revealed
from sb.errors import ExitCode, UsageError
from sb.present.contracts import CONTRACT

if TYPE_CHECKING:
    from sb.kernel.baselines.compare import FieldChange
    from sb.kernel.baselines.store import ContractBaselineStore, ContractEntry

app = group("Approve what tools declare of themselves: their contracts.")
Surface = Annotated[str, typer.Option(help="kernel for tool contracts, reversal for how they reverse.")]
ApprovedBy = Annotated[str, typer.Option(help="The operator who signs; a label while none is enrolled.")]
Reason = Annotated[str, typer.Option(help="Why; recorded with the approval.")]


@app.command(epilog="Example: sb runtime-guard tools")
def tools(ctx: typer.Context, surface: Surface = "kernel", as_json: AsJson = False) -> None:
    """List known tools, and their contracts' state."""
    store, registry = baselines(ctx, surface)
    entries = store.entries(registry)
    output.listing(CONTRACT, entries, "no tools on this surface yet", as_json=as_json)


@app.command(epilog="Example: sb runtime-guard mismatches")
def mismatches(ctx: typer.Context, surface: Surface = "kernel", as_json: AsJson = False) -> None:
    """List new, changed and missing contracts; exit 1 if any."""
    store, registry = baselines(ctx, surface)
    found = [entry for entry in store.entries(registry) if entry.status != "approved"]
    if as_json:
        output.emit_json({"items": [CONTRACT.to_dict(entry) for entry in found]})
    else:
        for entry in found:
            output.line(f"{entry.status}: {entry.tool_id}")
            _print_changes(entry.changes)
        note(f"{len(found)} contracts of this surface need review" if found else "every contract is approved")
    if found:
        note(f"sb runtime-guard show {surface} TOOL; sb runtime-guard approve-contract {surface} TOOL")
        raise typer.Exit(ExitCode.FAILED)


def _print_changes(found: list[FieldChange]) -> None:
    for change in found:
        output.line(f"  {change.path}", one_line=True)
        if change.before is not None:
            output.line(f"    - {change.before}")
        if change.after is not None:
            output.line(f"    + {change.after}")


@app.command(epilog="Example: sb runtime-guard show kernel files.write")
def show(
    ctx: typer.Context,
    surface: Annotated[str, typer.Argument(help="kernel or reversal.")],
    tool: Annotated[str, typer.Argument(help="The tool's id.")],
    as_json: AsJson = False,
) -> None:
    """Show a tool's contract, its changes and approvals."""
    store, registry = baselines(ctx, surface)
    entry, history = store.entry(tool, registry), store.history(tool)
    if as_json:
        output.emit_json(CONTRACT.to_dict(entry) | {"history": [baseline._asdict() for baseline in history]})
        return
    output.line(f"{entry.tool_id}: {entry.status}, from {entry.source or 'nowhere'}")
    output.line(f"contract {entry.live_fingerprint or '(missing)'}")
    _print_document(entry)
    if entry.changes:
        output.line("changes since approval:")
        _print_changes(entry.changes)
    output.line("approvals:" if history else "never approved")
    for baseline in history:
        why = f": {baseline.reason}" if baseline.reason else ""
        output.line(f"  {baseline.at[:19]}Z {baseline.fingerprint} by {baseline.by}{why}")


def _print_document(entry: ContractEntry) -> None:
    for name, value in (entry.live_document or entry.baseline_document).items():
        output.line(f"  {name}: {revealed(json.dumps(value, ensure_ascii=False))}", one_line=True)


@app.command(epilog='Example: sb runtime-guard snapshot --surface kernel --reason "first setup"')
def snapshot(
    ctx: typer.Context,
    surface: Surface = "kernel",
    approved_by: ApprovedBy = "",
    reason: Reason = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Approve every current contract of a surface.

    Approvals of missing tools are withdrawn.
    """
    store, registry = baselines(ctx, surface)
    entries = store.entries(registry)
    changing = [entry for entry in entries if entry.status != "approved"]
    if not as_json:
        for entry in changing:
            output.line(f"{entry.status}: {entry.tool_id}")
            _print_changes(entry.changes)
            if entry.status == "new":
                _print_document(entry)
    _confirm(f"approve {len(entries)} contracts, {len(changing)} of them new, changed or missing?", yes)
    by = decider(ctx, store.authority, approved_by, "--approved-by")
    store.approve({entry.tool_id: entry.live_fingerprint for entry in entries}, by, reason)
    if as_json:
        items = [CONTRACT.to_dict(entry) for entry in store.entries(registry)]
        output.emit_json({"approved": len(entries), "items": items})
    else:
        output.line(
            f"{len(entries)} contracts of surface {surface} are approved, {len(changing)} of them newly"
        )


@app.command(
    name="approve-contract",
    epilog='Example: sb runtime-guard approve-contract kernel files.write --reason "new field"',
)
def approve_contract(
    ctx: typer.Context,
    surface: Annotated[str, typer.Argument(help="kernel or reversal.")],
    tool: Annotated[str, typer.Argument(help="The tool's id, or a pattern such as 'shop.*'.")],
    fingerprint: Annotated[str, typer.Option(help="Approve this contract instead of the current one.")] = "",
    approved_by: ApprovedBy = "",
    reason: Reason = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Approve one tool's current or an earlier contract.

    For a missing tool, its approval is withdrawn. A pattern approves all new and changed contracts that it fits, and
    shows each first.
    """
    store, registry = baselines(ctx, surface)
    several = bool(set(tool) & set("*?["))
    if several and fingerprint:
        raise UsageError("--fingerprint names one contract, and a pattern several")
    chosen = store.fitting(tool, registry) if several else [store.entry(tool, registry)]
    wanted = {entry.tool_id: fingerprint or entry.live_fingerprint for entry in chosen}
    for entry in () if as_json else chosen:
        output.line(f"{entry.tool_id}: {entry.status}, contract {wanted[entry.tool_id] or '(missing)'}")
        _print_changes(_changes_to(store, entry, fingerprint))
        if entry.status == "new" and wanted[entry.tool_id] == entry.live_fingerprint:
            _print_document(entry)
    _confirm(
        f"approve these {counted(len(chosen), 'contract')}?" if several else "approve this contract?", yes
    )
    by = decider(ctx, store.authority, approved_by, "--approved-by")
    store.approve(wanted, by, reason)
    if as_json:
        items = [{"tool_id": name, "fingerprint": shown} for name, shown in wanted.items()]
        approved_items = (
            {"fingerprint": "", "items": items} if several else {"fingerprint": items[0]["fingerprint"]}
        )
        output.emit_json({"surface": surface, "tool_id": tool, "by": by.name} | approved_items)
    elif several:
        output.line(f"{counted(len(chosen), 'contract')} approved by {by.name}")
    else:
        entry, (approved,) = chosen[0], wanted.values()
        output.line(f"{entry.tool_id} is {'approved' if approved else 'taken back'} by {by.name}")
        if fingerprint and fingerprint != entry.live_fingerprint:
            what = "the tool stays denied" if surface == "kernel" else "its reversals need approval"
            note(f"the current contract differs, so {what} until it matches")


def _changes_to(store: ContractBaselineStore, entry: ContractEntry, fingerprint: str) -> list[FieldChange]:
    """The fields that change from the approved contract, or from the live one where none is, to the one that is about to be approved."""
    from sb.kernel.baselines.compare import changes

    other = store.seen.find(entry.tool_id, fingerprint) if fingerprint else None
    if other is None:
        return entry.changes
    return changes(entry.baseline_document or entry.live_document, other.document)


def _confirm(question: str, yes: bool) -> None:
    """Ask a person who is there; a script has said what it wants by calling the command."""
    if not yes and sys.stdin.isatty() and sys.stdout.isatty() and not typer.confirm(question):
        raise typer.Abort
