"""`sb watch`: a line for each thing that needs a person."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import Interval, JsonLines, single
from sb.commands.session import configuration

from sb.base.sources import SYSTEM_CLOCK, iso_micros, micros
from sb.present.needs import NEED
from sb.present.states import tone_of

app = single()


@app.command(epilog="Example: sb watch --notify desktop")
def watch(
    ctx: typer.Context,
    notify: Annotated[
        str, typer.Option(metavar="CMD", help="desktop, or a command that gets each item.")
    ] = "",
    once: Annotated[bool, typer.Option("--once", help="Print what needs you now, and exit.")] = False,
    interval: Interval = 1.0,
    as_json: JsonLines = False,
) -> None:
    """Print what needs you, as it appears.

    The command of --notify gets the fields as JSON on stdin and as
    SB_WATCH_KIND, _STATE, _OBJECT, _WHY, _AGENT, _ID, _EXPIRES_AT and
    _COMMAND. Secrets are masked.
    """
    from sb.operator.attention.notifying import notifier
    from sb.operator.attention.watching import Watcher

    tell = notifier(notify) if notify else None
    trouble = ""
    with closing(Watcher(configuration(ctx))) as watcher:
        first = True
        while True:
            for need in watcher.news():
                now, word = iso_micros(micros(SYSTEM_CLOCK.now())), need.state.word
                fields = {"at": now, **NEED.to_dict(need)}
                if as_json:
                    output.emit_json_line(fields)
                else:
                    output.line(f"{now[11:19]}Z {need.text()}", tones={word: tone_of(word)})
                output.flush()
                if tell and (problem := tell(fields)):
                    note(f"warning: {problem}")
            if watcher.trouble and first:
                raise watcher.trouble
            now_wrong = watcher.trouble.message if watcher.trouble else ""
            if now_wrong != trouble:
                note(f"warning: {now_wrong}; trying again" if now_wrong else "the database can be read again")
            trouble = now_wrong
            if once:
                return
            first = False
            time.sleep(interval)
