"""`sb red-team`: check texts for attacks on models, and list what was found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from sb.commands import output
from sb.commands.arguments import choice
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, Limit, group
from sb.commands.session import event_log

from sb.base.sources import iso
from sb.errors import ExitCode, UsageError

app = group()
_PASSAGE = 100  # characters of a finding that are printed
_ENOUGH = 16 << 20  # bytes of a file; of its text a part is read, as the verdict says


@app.command(epilog="Example: sb red-team check page.html --origin web")
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A text file; - for stdin.")],
    origin: Annotated[
        str,
        typer.Option(help="user, operator, prompt, tool, memory, import or web."),
    ] = "tool",
    as_json: AsJson = False,
) -> None:
    """Judge a text; exit 1 if it reads like an attack."""
    from sb.kernel.red_team.detector import check as checked
    from sb.kernel.red_team.verdict import Origin

    chosen = choice("--origin", origin, Origin)
    text = _text(file)
    verdict = checked(text, origin=chosen)
    findings: list[dict[str, Any]] = [
        {
            "start": item.start,
            "end": item.end,
            "category": str(item.category),
            "rule": item.rule,
            "score": round(item.score, 3),
        }
        for item in verdict.findings
    ]
    if as_json:
        output.emit_json(
            {
                "flagged": verdict.flagged,
                "score": round(verdict.score, 3),
                "categories": [str(category) for category in verdict.categories],
                "complete": verdict.complete,
                "read": verdict.read,
                "items": findings,
            }
        )
    else:
        for finding in findings:
            output.line(
                f"{finding['start']}-{finding['end']}  {finding['category']}  {finding['score']:.2f}  "
                f"{text[finding['start'] : finding['end']][:_PASSAGE]}"
            )
        if not verdict.flagged:
            note(f"reads like no attack (score {verdict.score:.2f})")
        if not verdict.complete:
            note(f"only {verdict.read} of {len(text)} characters were read: the beginning and the end")
    raise typer.Exit(ExitCode.FAILED if verdict.flagged else ExitCode.OK)


def _text(file: Path) -> str:
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(_ENOUGH).decode(errors="replace")
        with file.open("rb") as opened:
            return opened.read(_ENOUGH).decode(errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None


@app.command(name="list", epilog="Example: sb red-team list --limit 20")
def list_found(ctx: typer.Context, limit: Limit = 50, as_json: AsJson = False) -> None:
    """List the attacks on record, newest first."""
    from sb.log.kinds import ATTACK_FOUND

    items = list[dict[str, Any]]()
    for event in event_log(ctx).events(kind=ATTACK_FOUND, newest_first=True, limit=limit):
        payload = event.payload or {}
        items.append(
            {
                "seq": event.seq,
                "at": iso(event.at / 1e6),
                "run_id": event.subject.run_id,
                "agent": event.subject.agent,
                "tool_id": event.subject.tool_id,
                "call_id": event.subject.call_id,
                "place": str(payload.get("place", "")),
                "action": str(payload.get("action", "")),
                "categories": [str(category) for category in payload.get("categories", ())],
                "score": float(payload.get("score", 0)),
                "rule": str(payload.get("rule", "")),
                "excerpt": str(payload.get("excerpt", "")),
            }
        )
    if as_json:
        output.emit_json({"items": items})
        return
    for item in items:
        what = item["tool_id"] or item["place"]
        output.line(
            f"{str(item['at'])[:19]}  {item['action']}  {', '.join(item['categories'])}  {what}  by {item['agent']}"
        )
        output.line(f"    {item['excerpt']}")
    if not items:
        note("nothing is on record: red_team.tool_results and red_team.prompts say what is read")
