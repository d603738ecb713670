"""`sb demo`: watch an agent work under the kernel, in a fresh temporary folder."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from sb.commands import output
from sb.commands.console import on_terminal, show

from sb.demo import Demo, demo_config, play, try_again
from sb.errors import CheckFailed, UsageError
from sb.kernel.approvals.approval import ApprovalState
from sb.kernel.log_verification import verify
from sb.kernel.narrative import log_line
from sb.runtime import open_approvals, open_baselines, open_log
from sb.state import Event, EventLog

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
    """Let an agent work on a small folder, tell what happened, and open the console on what waits."""
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
        _tell(story, events, f"{'whole' if found.ok else 'BROKEN'}: {found.rows} rows")
        _decide(story, log)
        _look_further(story, place)
    log.close()
    if not found.ok:
        raise CheckFailed("the demo's log did not verify")


def _tell(story: Demo, events: list[Event], state: str) -> None:
    output.line(f'An agent named "clerk" tidied {story.folder}. The log says:\n')
    for event in events:
        output.line(log_line(event))
    output.line(f"\nThe log is {state}, each chained to the one before.")


def _decide(story: Demo, log: EventLog) -> None:
    """What waits for a person now: in the console, or as lines where there is no terminal."""
    config = demo_config(story.home)
    queue = open_approvals(config, log)
    contracts = open_baselines(config, log, queue.authority)
    output.line("\nWaiting for you:")
    for approval in queue.page(states=[ApprovalState.WAITING]):
        args = json.dumps(approval.request.get("args"), ensure_ascii=False)
        output.line(f"  {approval.id}  {approval.agent} wants {approval.tool_id} {args}")
    for entry in contracts.entries():
        if entry.status != "approved":
            output.line(f"  contract      {entry.tool_id} is {entry.status}")
    if on_terminal():
        output.line("\nPress enter to open the console on it; q leaves it.")
        output.flush()
        input()
        show(config)
        output.line("\nThe clerk tries again:\n")
        for event in log.events(run_id=try_again(story)):
            output.line(log_line(event))


def _look_further(story: Demo, place: Path) -> None:
    output.line("\nLook further:")
    program = _program()
    for command in (
        f"export SB_HOME={story.home}",
        f"{program} console                 # decide: an approval and a contract wait",
        f"{program} approvals list          # the same as lines, for scripts and screen readers",
        f"{program} runtime-guard mismatches  # what changed in the contract",
        f"{program} audit show {story.run_id}   # every call in full",
        f"{program} audit verify            # is every row what it was when it was written?",
        f"ls {story.folder} {story.home}/kept      # what it wrote, and what was kept of before",
        f"rm -r {place}                            # when you have seen enough",
    ):
        output.line(f"  {command}")


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
