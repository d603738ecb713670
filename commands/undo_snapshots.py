"""`sb undo show` and `sb undo --purge`: look into snapshots, and remove them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.session import anybody, configuration, event_log

from sb.base.duration import parse_duration
from sb.base.sources import SYSTEM_CLOCK
from sb.base.text import counted, human_bytes, shorten
from sb.errors import ExitCode, NotFoundError, UsageError
from sb.kernel.recovery_loop.purging import purge
from sb.kernel.recovery_loop.variants import snapshot_of
from sb.present.undo import about, entry_row, not_restored
from sb.runtime.parts import open_authority, open_snapshots, open_trees
from sb.tools.roots import absolute

if TYPE_CHECKING:
    from sb.kernel.contracts import MutationRef
    from sb.runtime import Runtime
    from sb.store.snapshots import SnapshotStore


def show_snapshot(opened: Runtime, ref: MutationRef, path: str, *, as_json: bool) -> None:
    """Print what a snapshot holds, or the content of one of its files."""
    snapshots = open_snapshots(opened.config)
    snapshot = snapshot_of(ref)
    has_pack = snapshot is not None and snapshots.packs.has(snapshot[0])
    if path:
        if snapshot is None or not has_pack:
            raise NotFoundError(f"{ref.mutation_id} has no snapshot", "sb undo --list")
        _content(snapshots, snapshot[0], absolute(path))
        return
    pack = snapshots.packs.get(snapshot[0]) if snapshot is not None and has_pack else None
    lines = about(ref, opened.log, snapshots, opened.recovery.mutations.now())
    entries = [*pack.entries, *pack.extra.values()] if pack else []
    if as_json:
        rows = [
            {
                "path": entry.path,
                "kind": entry.kind,
                "mode": entry.mode,
                "bytes": entry.size,
                "sha256": entry.sha256,
            }
            for entry in entries
        ]
        output.emit_json({"mutation": ref.to_dict(), "about": lines, "entries": rows})
    else:
        for line in lines:
            output.line(line)
        if pack is not None:
            output.line(f"snapshot: {human_bytes(pack.size)}, {human_bytes(pack.stored_bytes)} on disk")
            output.table(["kind", "mode", "size", "path"], [entry_row(entry) for entry in entries])
        elif snapshot is None:
            note("it has no snapshot")
    if not_restored(ref, opened.log):  # named above
        raise typer.Exit(ExitCode.IN_PART)


def _content(snapshots: SnapshotStore, key: str, path: str) -> None:
    with snapshots.packs.open(key) as reader:
        for entry in reader.pack.entries:
            if entry.path == path:
                sys.stdout.buffer.write(reader.content(entry))
                return
    raise NotFoundError(f"the snapshot does not hold {shorten(path, 80)}", "sb undo show ID lists its paths")


def purge_snapshots(
    ctx: typer.Context, older_than: str, who: str, reason: str, *, yes: bool, as_json: bool
) -> None:
    """Remove snapshots and stored trees, after a confirmation."""
    config = configuration(ctx)
    snapshots = open_snapshots(config)
    before = SYSTEM_CLOCK.now() - parse_duration(older_than) if older_than else None
    size = snapshots.size()
    if size.packs and not yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("needs a terminal, or --yes, to remove snapshots", "pass --yes")
        which = f"older than {older_than}, of" if older_than else "all of"
        amount = f"{counted(size.packs, 'snapshot')} ({human_bytes(size.stored)})"
        if not typer.confirm(f"remove the snapshots {which} {amount}? What they hold cannot be undone then."):
            raise typer.Exit(ExitCode.FAILED)
    log = event_log(ctx)
    try:
        by = anybody(ctx, open_authority(config, log), who).name
        number, stored = purge(log, snapshots, by=by, reason=reason, older_than=older_than, before=before)
        projects, _ = open_trees(config).purge(before)
    finally:
        log.close()
    if as_json:
        output.emit_json({"removed": number, "bytes": stored})
    else:
        trees = f", and the trees of {counted(projects, 'project')}" if projects else ""
        output.line(f"removed {counted(number, 'snapshot')} ({human_bytes(stored)}){trees}")
