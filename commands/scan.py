"""`sb scan`: judge the calls in coding agents' transcripts; nothing is installed, recorded or written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note, progress
from sb.commands.options import AsJson, OnlyHost, single
from sb.commands.session import configuration

from sb.base.duration import parse_duration
from sb.base.sources import SYSTEM_CLOCK
from sb.base.text import counted
from sb.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from sb.hosts.scanning import Scan

app = single()
_WORST = 10
_TOP = 10
_MEANING = {
    "refused": "stopped: no agent may do this, whoever approves",
    "denied": "stopped by your policy",
    "asked": "a person would have been asked",
    "kept": "would run; what it changes could be undone",
    "runs": "would run",
}


@app.command(epilog="Example: sb scan --since 30d")
def scan(
    ctx: typer.Context,
    host: OnlyHost = "",
    since: Annotated[str, typer.Option(help="Only calls from the last 12h, 30d, 4w…")] = "30d",
    path: Annotated[list[Path] | None, typer.Option(help="A transcript; needs --host. Repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what sb would have done in past sessions.

    Reads transcripts that coding agents keep, and judges each call as `sb hook` would. Needs no installation, and
    writes nothing.
    """
    from sb.hosts.hooks.preview import Preview
    from sb.hosts.install.host import Places
    from sb.hosts.registry import WITH_TRANSCRIPTS
    from sb.hosts.scanning import named, scan, sources

    start = SYSTEM_CLOCK.now() - parse_duration(since)
    if path and not host:
        raise UsageError("--path needs --host: each host writes its own format", ", ".join(WITH_TRANSCRIPTS))
    if path:
        found = named(path, host)
    else:
        found = sources(Places(os.environ, Path.cwd()), [host] if host else WITH_TRANSCRIPTS, start)
    if not found:
        where = f"of {host}" if host else f"of {', '.join(WITH_TRANSCRIPTS)}"
        raise NotFoundError(f"no transcripts {where} from the last {since}", "--since 90d looks further back")
    preview = Preview(configuration(ctx))
    result = scan(preview, found, since=start, progress=progress("judging"))
    if as_json:
        output.emit_json(_facts(result))
    else:
        _print(result, since)


def _print(found: Scan, since: str) -> None:
    hosts = ", ".join(f"{name} {count:,}" for name, count in found.hosts.most_common())
    output.line(
        f"{counted(found.calls, 'call')} in {counted(len(found.sessions), 'session')} of the last {since}"
        + (f" ({hosts})" if hosts else "")
    )
    output.table(
        ["verdict", "calls", ""],
        [(name, f"{count:,}", _MEANING[name]) for name, count in _verdicts(found).items()],
    )
    daily = found.prompts_per_day
    if daily is not None:
        days = counted(len(found.days), "day")
        output.line(f"Prompts: {daily:.1f} for each day with calls ({days})")
    if found.causes:
        output.line()
        output.table(
            ["decided by", "calls"], [(name, f"{n:,}") for name, n in found.causes.most_common(_TOP)]
        )
        output.line()
        output.table(
            ["date", "session", "verdict", "call", "why"],
            [
                (
                    stopped.date or "-",
                    stopped.session or "-",
                    stopped.outcome,
                    stopped.call + (f"  (x{stopped.times})" if stopped.times > 1 else ""),
                    stopped.why,
                )
                for stopped in found.worst(_WORST)
            ],
        )
    note("Judged as of now: files and links may have been others when a call was made. Nothing was written.")
    if found.undated:
        note(f"{counted(found.undated, 'call')} without a time: --since cannot leave them out")
    if found.skipped:
        note(f"{counted(found.skipped, 'line')} could not be read")
    for problem in found.unreadable[:_TOP]:
        note(f"not read: {problem}")


def _verdicts(found: Scan) -> dict[str, int]:
    counts = {str(outcome): count for outcome, count in found.outcomes.items()}
    return {name: counts.get(name, 0) for name in _MEANING}


def _facts(found: Scan) -> dict[str, Any]:
    return {
        "calls": found.calls,
        "files": found.files,
        "sessions": len(found.sessions),
        "hosts": dict(found.hosts),
        "verdicts": _verdicts(found),
        "days": len(found.days),
        "prompts_per_day": found.prompts_per_day,
        "decided_by": [{"name": name, "calls": n} for name, n in found.causes.most_common(_TOP)],
        "worst": [{**vars(stopped), "outcome": str(stopped.outcome)} for stopped in found.worst(_WORST)],
        "skipped_lines": found.skipped,
        "unreadable": found.unreadable,
        "undated": found.undated,
        "judged_as_of": "now",
    }
