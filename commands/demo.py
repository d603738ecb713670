"""`sb demo`: watch an agent work under the kernel, in a fresh temporary folder."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from sb.commands import output

from sb.demo import demo_config, play
from sb.errors import CheckFailed, UsageError
from sb.kernel.log_verification import verify
from sb.kernel.narrative import log_line
from sb.runtime import open_log

app = typer.Typer(
    help="Watch an agent work under the kernel, in a fresh temporary folder.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="An empty or new folder to play in; by default a temporary one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let an agent work on a small folder, then tell from the log what happened."""
    place = _place(folder)
    story = play(place)
    log = open_log(demo_config(story.home))
    events = list(log.events(run_id=story.run_id))
    found = verify(log)
    if as_json:
        output.emit_json(
            {
                "home": str(story.home),
                "run_id": story.run_id,
                "items": [event.to_dict() for event in events],
                "verified": found.to_dict(),
            }
        )
    else:
        output.line(f'An agent named "clerk" tidied {story.folder}. The log says:\n')
        for event in events:
            output.line(log_line(event))
        output.line(
            f"\nThe log is {'whole' if found.ok else 'BROKEN'}: {found.rows} rows, each chained to the one before."
        )
        output.line("\nLook further:")
        for command in (
            f"export SB_HOME={story.home}",
            f"{_program()} audit show {story.run_id}   # every call in full",
            f"{_program()} audit verify                # is every row what it was when it was written?",
            f"{_program()} kernel tools                # what agents could call",
            f"ls {story.folder} {story.home}/kept      # what it wrote, and what was kept of before",
            f"rm -r {place}                            # when you have seen enough",
        ):
            output.line(f"  {command}")
    log.close()
    if not found.ok:
        raise CheckFailed("the demo's log did not verify")


def _program() -> str:
    """How to call this program from here: `make demo` installs it off the PATH."""
    return "sb" if shutil.which("sb") else os.path.relpath(sys.argv[0])


def _place(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="sb-demo-")).resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder", "name a new one")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder.resolve()
