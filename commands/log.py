"""`sb log`: read, verify, export and prune the event log."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note, progress
from sb.commands.options import As, AsJson, JsonLines, Limit, LogReason, Saved, Since, Yes, group
from sb.commands.session import configuration, decider, event_log

from sb.base.duration import parse_duration
from sb.base.sources import iso, micros
from sb.base.text import counted, plain
from sb.errors import ExitCode, NotFoundError, SBError, UsageError
from sb.kernel.review.log_pruning import prunable, prune
from sb.kernel.review.log_verification import verify
from sb.kernel.review.verification_record import record_verification
from sb.log.event import Event
from sb.log.kinds import require
from sb.log.references import full_id, known_run
from sb.runtime.parts import open_authority

app = group()
Run = Annotated[str, typer.Option(help="Only events of this run.")]
Agent = Annotated[str, typer.Option(help="Only events of this agent.")]
Tool = Annotated[str, typer.Option(help="Only events of this tool.")]
Kind = Annotated[str, typer.Option(help="Only this event kind, such as kernel.tool.dispatch.")]
FOLLOW_EVERY_S = 0.5
_PAGE = 500  # events read at once


@app.command(name="verify", epilog="Example: sb log verify")
def verify_log(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Check the chain; exit 1 if a row was changed or removed."""
    log = event_log(ctx)
    authority = open_authority(configuration(ctx), log)
    found = verify(log, authority, progress=progress("checking"))
    record_verification(log, found)
    if as_json:
        output.emit_json(found.to_dict())
    elif found.ok:
        anchored = (
            f", anchored up to row {found.anchored_seq}" if found.anchored_seq else ", not anchored yet"
        )
        pruned = f", {found.pruned:,} of them pruned" if found.pruned else ""
        output.line(f"ok: {found.rows:,} rows{pruned}{anchored}; head {found.head[:16]}")
    else:
        for problem in found.problems:
            output.line(f"BROKEN: {problem}")
        if found.further_problems:
            note(f"and {found.further_problems:,} more")
    for line in () if as_json else found.interrupted:
        note(f"{line}: sb doctor --fix")
    raise typer.Exit(ExitCode.OK if found.ok else ExitCode.FAILED)


@app.command(epilog="Example: sb log tail --follow --agent clerk")
def tail(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="Maximum results; 0 for no limit.")] = 20,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep printing events as they are written.")
    ] = False,
    run: Run = "",
    agent: Agent = "",
    tool: Tool = "",
    kind: Kind = "",
    since: Since = "",
    as_json: JsonLines = False,
) -> None:
    """Show the newest events, oldest first."""
    if kind:
        require(kind)
    log = event_log(ctx)
    run = known_run(log, run)
    events = partial(log.events, run_id=run, agent=agent, tool_id=tool, kind=kind)
    newest = list(events(limit=limit, newest_first=True, since=_since(since)))
    _print(reversed(newest), as_json)
    filtered = bool(run or agent or tool or kind or since)
    if limit and len(newest) == limit and newest[-1].seq > 1:
        rows = "" if filtered else f" of {log.head().seq:,} rows"
        note(f"showing the last {limit}{rows}; --limit 0 shows all")
    if not newest:
        note("no events" + (" fit" if filtered else " yet: sb demo makes some"))
    seen = newest[0].seq if newest else log.head().seq
    while follow:
        time.sleep(FOLLOW_EVERY_S)
        for event in events(after=seen):
            _print([event], as_json)
            seen = event.seq
        sys.stdout.flush()


@app.command(epilog="Example: sb log search by:ada since:7d kind:approval.*")
def search(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILTER", help='Terms as agent:clerk tool:payments.* since:7d "rm -rf".'),
    ] = None,
    filtered: Annotated[str, typer.Option("--filter", help="Filter terms in one text; see FILTER.")] = "",
    saved: Saved = "",
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Search events by the terms of a filter, the newest first."""
    from sb.log.search import events_at, seqs_of
    from sb.operator.event_states import LOG
    from sb.operator.filters import filter_of
    from sb.operator.saved_filters import SavedFilters

    known = SavedFilters(configuration(ctx).home).text(saved)
    wanted = filter_of(f"{known} {filtered}", words or (), {}, LOG)
    log = event_log(ctx)
    seqs = list(islice(seqs_of(log, wanted.log(micros(log.clock.now()))), limit or None))
    pages = (seqs[start : start + _PAGE] for start in range(0, len(seqs), _PAGE))
    found = [
        events[seq] for page in pages if (events := events_at(log, page)) for seq in page if seq in events
    ]
    if as_json:
        output.emit_json({"items": [event.to_dict() for event in found]})
    else:
        _print(found, False)
    if not seqs:
        note("no events fit")
    elif limit and len(seqs) == limit:
        note(f"showing the newest {limit}; --limit 0 shows all")


@app.command(epilog="Example: sb log show call_9f21c07d")
def show(
    ctx: typer.Context,
    reference: Annotated[str, typer.Argument(help="A run (run_…), a call (call_…) or a row's number.")],
    as_json: AsJson = False,
) -> None:
    """Show a run, a call or one row in full."""
    if not reference.startswith(("run_", "call_")) and not (_is_row(reference)):
        raise UsageError(f"{reference!r} is not a run, a call or a row", "sb log tail shows them")
    log = event_log(ctx)
    reference = full_id(log.database, reference)
    events = list(log.about(reference))
    if not events or (_is_row(reference) and events[0].seq != int(reference)):
        raise NotFoundError(f"nothing in the log for {reference}", "sb log tail shows what there is")
    if as_json:
        output.emit_json({"items": [event.to_dict() for event in events]})
        return
    for event in events:
        output.log_event(event)
        details = {**event.subject._asdict(), **(event.payload or {"payload": "pruned"}), "hash": event.hash}
        for name, value in details.items():
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            output.line("    " + plain(f"{name}: {shown}", one_line=True))


@app.command(epilog="Example: sb log export --output log.jsonl --since 30d")
def export(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file instead of stdout.")
    ] = None,
    run: Run = "",
    since: Since = "",
) -> None:
    """Write events as JSON lines, hashes included."""
    log = event_log(ctx)
    events = log.events(run_id=known_run(log, run), since=_since(since))
    if file is None:
        _print(events, True)
        return
    if file.resolve().is_relative_to(Path(log.database.path).resolve().parent) and file.exists():
        raise UsageError(f"{file} exists beside the database", "choose another name")
    rows = output.write_file(
        file, (json.dumps(event.to_dict(), ensure_ascii=False) + "\n" for event in events)
    )
    note(f"{counted(rows, 'row')} written to {file}")


@app.command(name="prune", epilog="Example: sb log prune --older-than 90d --dry-run")
def prune_log(
    ctx: typer.Context,
    older_than: Annotated[
        str, typer.Option(help="Minimum age, such as 90d; else audit.retention_days.")
    ] = "",
    reason: LogReason = "retention",
    who: As = "",
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the events.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove the payloads of old events; the chain stays whole."""
    config = configuration(ctx)
    age = parse_duration(older_than) if older_than else config.audit.retention_days * 86_400
    if not (older_than or age):
        raise UsageError("no age given", "pass --older-than 90d, or set audit.retention_days")
    log = event_log(ctx)
    before = log.clock.now() - age
    count = prunable(log, before=before)
    if not dry_run and count and not yes:
        _confirm(f"remove the payloads of {counted(count, 'event')} before {iso(before)}")
    removed = count
    if not dry_run and count:
        authority = open_authority(config, log)
        by = decider(ctx, authority, who)
        removed = prune(log, before=before, reason=reason, by=by, authority=authority)
    if as_json:
        output.emit_json({"removed": removed, "before": iso(before), "dry_run": dry_run})
    else:
        output.line(
            f"{'would remove' if dry_run else 'removed'} the payloads of {counted(removed, 'event')} before {iso(before)}"
        )


def _is_row(reference: str) -> bool:
    return reference.isascii() and reference.isdecimal() and 0 < int(reference) < 1 << 40


def _confirm(question: str) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"needs a terminal, or --yes, to {question}")
    if not typer.confirm(plain(f"{question}?", one_line=True), err=True):
        raise SBError("nothing was changed")


def _since(text: str) -> int:
    return int((time.time() - parse_duration(text)) * 1e6) if text else 0


def _print(events: Iterable[Event], as_json: bool) -> None:
    for event in events:
        if as_json:
            output.emit_json_line(event.to_dict())
        else:
            output.log_event(event)
