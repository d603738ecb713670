"""`sb blame`: which prompt and call wrote each line of a file, as coding agents' transcripts tell it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note, progress
from sb.commands.options import AsJson, OnlyHost, single

from sb.base.duration import parse_duration
from sb.base.sources import SYSTEM_CLOCK, iso
from sb.base.text import counted, plain, shorten
from sb.errors import NotFoundError

if TYPE_CHECKING:
    from sb.hosts.past.blaming import Blame, BlamedLine, Origin

app = single()
_WITH_LINE = re.compile(r"(?s)(.+):([1-9][0-9]{0,8})")
_SESSION = 8  # characters of a session's id in a table
_PROMPT = 60
_LINE = 100
_MOST_PROBLEMS = 10


@app.command(epilog="Example: sb blame cart.py:12")
def blame(
    target: Annotated[
        str, typer.Argument(metavar="FILE[:LINE]", help="A file, or one line of it: cart.py:12.")
    ],
    host: OnlyHost = "",
    since: Annotated[str, typer.Option(help="Only transcripts of the last 12h, 30d, 4w…")] = "",
    as_json: AsJson = False,
) -> None:
    """Show which prompt and call wrote each line of a file.

    Reads transcripts that coding agents keep; writes nothing. Lines that a command line, a person or another program
    wrote have no call.
    """
    from sb.hosts.install.host import Places
    from sb.hosts.past.blaming import blame
    from sb.hosts.registry import WITH_TRANSCRIPTS
    from sb.hosts.scanning import sources

    file, number = _parsed(target)
    start = SYSTEM_CLOCK.now() - parse_duration(since) if since else 0.0
    found = sources(Places(os.environ, Path.cwd()), [host] if host else WITH_TRANSCRIPTS, start)
    result = blame(file, found, progress=progress("reading"))
    lines = [line for line in result.lines if number in (0, line.number)]
    if number and not lines:
        raise NotFoundError(f"{file} has no line {number}", f"it has {counted(len(result.lines), 'line')}")
    if as_json:
        output.emit_json(_facts(result, lines))
    else:
        _print(result, lines, in_full=bool(number))


def _parsed(target: str) -> tuple[Path, int]:
    """The file and the line; 0 for all of them."""
    found = _WITH_LINE.fullmatch(target)
    if found and not os.path.lexists(target):
        return Path(os.path.abspath(found[1])), int(found[2])
    return Path(os.path.abspath(target)), 0


def _print(found: Blame, lines: list[BlamedLine], *, in_full: bool) -> None:
    if in_full:
        _line_in_full(lines[0])
    else:
        output.table(
            ["line", "date", "agent", "session", "call", "prompt", "text"],
            [(str(line.number), *_cells(line.origin, line.sure), _text(line)) for line in lines],
        )
    known = sum(line.origin is not None for line in lines)
    if not in_full:
        note(
            f"{known:,} of {counted(len(lines), 'line')} from {counted(found.calls, 'call')}"
            f" in {counted(found.transcripts, 'transcript')}"
        )
    if any(not line.sure for line in lines):
        note("?: the text stands in the file more than once, or was changed since")
    if not found.complete:
        note("too many calls changed this file: only the newest were followed")
    if found.skipped:
        note(f"{counted(found.skipped, 'line')} of transcripts could not be read")
    for problem in found.unreadable[:_MOST_PROBLEMS]:
        note(f"not read: {problem}")


def _cells(origin: Origin | None, sure: bool) -> tuple[str, str, str, str, str]:
    if origin is None:
        return "-", "-", "-", "-", "-"
    date = iso(origin.at)[:10] if origin.at is not None else "-"
    call = origin.tool if sure else f"{origin.tool} ?"
    return date, _agent(origin), origin.session[:_SESSION], call, shorten(origin.prompt, _PROMPT) or "-"


def _agent(origin: Origin) -> str:
    return f"{origin.host} subagent" if origin.subagent else origin.host


def _text(line: BlamedLine) -> str:
    return shorten(plain(line.text, one_line=True), _LINE)


def _line_in_full(line: BlamedLine) -> None:
    output.line(f"{line.number}: {_text(line)}", one_line=True)
    origin = line.origin
    if origin is None:
        note("no call is known that wrote this line: a person, a command line or another program did")
        return
    for name, value in (
        ("prompt", origin.prompt),
        ("call", " ".join(filter(None, (origin.tool, origin.call)))),
        ("date", iso(origin.at)[:19] + "Z" if origin.at is not None else ""),
        ("agent", _agent(origin) + (f", {origin.model}" if origin.model else "")),
        ("session", origin.session),
        ("transcript", _below_home(origin.transcript)),
    ):
        if value:
            output.line(f"{name}: {value}", one_line=True)


def _below_home(path: str) -> str:
    home = os.path.expanduser("~")
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path


def _facts(found: Blame, lines: list[BlamedLine]) -> dict[str, Any]:
    origins = list(dict.fromkeys(line.origin for line in lines if line.origin is not None))
    numbers = {origin: number for number, origin in enumerate(origins)}
    return {
        "file": found.file,
        "lines": [
            {
                "line": line.number,
                "text": line.text,
                "origin": None if line.origin is None else numbers[line.origin],
                "sure": line.sure,
            }
            for line in lines
        ],
        "origins": [
            {**vars(origin), "at": None if origin.at is None else iso(origin.at)} for origin in origins
        ],
        "transcripts": found.transcripts,
        "calls": found.calls,
        "complete": found.complete,
        "skipped_lines": found.skipped,
        "unreadable": found.unreadable,
    }
