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
from sb.commands.console import on_terminal, show
from sb.commands.options import AsJson, single

from sb.errors import CheckFailed, UsageError
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.recovery_loop.escalations import Escalation, Escalations
from sb.kernel.review.log_verification import verify
from sb.log.event import Event
from sb.log.event_log import EventLog
from sb.operator.demo.story import AGENT, REFUNDED, SHIPPED, Demo, demo_config, go_on, play
from sb.present.approvals import object_first
from sb.runtime.parts import open_approvals, open_baselines, open_log

app = single()


@app.command(epilog="Example: sb demo")
def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="A new or empty folder; by default a temporary one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Watch an agent refund an order, then open the console."""
    place = _place(folder)
    story = play(place)
    log = open_log(demo_config(story.home))
    events = list(log.events(after=story.before))
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
        _wait(story, log)
        if on_terminal():
            _decide(story, log)
        _look_further(story, place, log)
    log.close()
    if not found.ok:
        raise CheckFailed("the demo's log did not verify")


def _tell(story: Demo, events: list[Event], state: str) -> None:
    output.line(
        f'An agent named "{AGENT}" worked in the shop of {story.folder}. The log says:\n', one_line=False
    )
    for event in events:
        if event.seq == story.shipped_after + 1:
            output.line(f"\n{SHIPPED}\n", one_line=False)
        output.log_event(event)
    output.line(f"\nThe log is {state}, each chained to the one before. {_ledger(story)}", one_line=False)


def _ledger(story: Demo) -> str:
    order, given = story.ledger.order(REFUNDED), story.ledger.refunded(REFUNDED)
    return f"The ledger: order {REFUNDED} is {order.state}, {given / 100:.2f} of {order.cents / 100:.2f} refunded."


def _wait(story: Demo, log: EventLog) -> None:
    """Show what waits for a person now."""
    config = demo_config(story.home)
    queue = open_approvals(config, log)
    contracts = open_baselines(config, log, queue.authority)
    recoveries = {item.approval_id: item for item in _open(log)}
    output.line("\nWaiting for you:", one_line=False)
    for approval in queue.page(states=[ApprovalState.WAITING]):
        escalation = recoveries.get(approval.id)
        why = f", since {escalation.why}" if escalation else ""
        output.line(
            f"  {escalation.id if escalation else approval.id}  {approval.agent} wants {object_first(queue.disclose(approval), 200)}{why}"
        )
    for entry in contracts.entries():
        if entry.status != "approved":
            output.line(f"  contract      {entry.tool_id} is {entry.status}")


def _decide(story: Demo, log: EventLog) -> None:
    """Let a person decide in the console, and say what became of it."""
    output.line("\nPress enter to open the console on it; q leaves it.", one_line=False)
    output.flush()
    input()
    head = log.head().seq
    show(demo_config(story.home))
    go_on(story)
    output.line("\nWhat you decided, and the clerk's next attempt:\n", one_line=False)
    for event in log.events(after=head):
        output.log_event(event)
    output.line(f"\n{_ledger(story)}", one_line=False)


def _look_further(story: Demo, place: Path, log: EventLog) -> None:
    output.line("\nLook further:", one_line=False)
    program = _program()
    output.line(f"  export SB_HOME={story.home}")
    for command, why in (
        ("console", "decide what waits"),
        ("approvals list", "decide as plain lines"),
        ("runtime-guard mismatches", "what changed in the contract"),
        *((f"undo {item.mutation_id} --dry-run", "would reversing it work?") for item in _open(log)),
        ("recovery list", "reversals to decide"),
        *((f"recovery approve {item.id} --reason shipped", "reverse it") for item in _open(log)),
        (f"log show {story.run_id}", "every call in full"),
        ("log verify", "was anything changed?"),
        ("memory search refund", "why the agent did it"),
    ):
        output.line(f"  {program} {command:<31}  # {why}")
    output.line(f"  rm -r {place}")


def _open(log: EventLog) -> list[Escalation]:
    return Escalations(log).page()


def _program() -> str:
    """The command for this program from here: `make demo` installs it off the PATH."""
    return "sb" if shutil.which("sb") else os.path.relpath(sys.argv[0])


def _place(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="sb-demo-")).resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder", "name a new one")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder.resolve()
