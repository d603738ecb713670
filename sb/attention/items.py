"""One thing that needs a person: its line, the key that tells it from others, the command that shows it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

from sb.frozen import frozen
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.baselines.store import ContractEntry
from sb.kernel.calls.intents import Intent
from sb.kernel.incidents.kill import Kill
from sb.kernel.review.findings import Finding, kill_finding
from sb.kernel.review.needs import Need
from sb.present.needs import NeedLine, contract_need, need_line, review_need
from sb.present.states import state
from sb.redaction import one_line
from sb.sources import MICROSECONDS, iso_micros
from sb.stack.review_queue import ReviewItem, ReviewKind

LONGEST = 400  # characters of an object or a reason
BETWEEN = " · "


@frozen
class Item:
    """One thing that needs a person.

    Args:
        line: its kind is kill, request, unknown, reversal, contract, review, log or more.
        key: tells it from all others; what needs a person anew has another key.
        command: shows it, or of a kill ends it.
        since, expires_at: microseconds since the epoch, as far as they are known.
    """

    line: NeedLine
    key: str
    command: str
    since: int | None = None
    expires_at: int | None = None

    def to_dict(self) -> dict[str, Any]:
        line = self.line
        times = {"since": self.since, "expires_at": self.expires_at}
        return {
            "kind": line.kind,
            "id": line.reference,
            "state": line.state.word,
            "object": line.object,
            "why": line.why,
            "agent": line.agent,
            "project": line.project,
            **{name: None if at is None else iso_micros(at) for name, at in times.items()},
            "command": self.command,
        }

    def text(self) -> str:
        """A line of its own: state, object, why, who, time left, id."""
        line = self.line
        left = f"{line.left} left" if line.left else ""
        own = line.kind in ("kill", "contract")  # what these are about is what names them
        why = "" if line.kind == "kill" else line.why  # its sentence says it
        parts = (line.object, why, line.who, left, "" if own else line.reference)
        return f"{line.state.word:<9} {BETWEEN.join(filter(None, parts))}"

    def masked(self) -> Item:
        """The same without secrets, and with texts of bounded length: for lists by which nobody decides."""
        line = self.line
        return replace(
            self,
            line=replace(
                line,
                reference=one_line(line.reference, LONGEST),
                object=one_line(line.object, LONGEST),
                why=one_line(line.why, LONGEST),
                agent=one_line(line.agent, LONGEST),
            ),
        )


def item_of_kill(kill: Kill) -> Item:
    """What is stopped."""
    line = NeedLine(
        "kill", kill.name, state("stopped"), kill.sentence, kill_finding(kill).detail, "", "", "", ""
    )
    return Item(line, f"kill {kill.number} {len(kill.lifted_by)}", kill.lift_command)


def item_of_need(need: Need, now: int) -> Item:
    """A request, a call with an unknown outcome or a reversal; `now` in microseconds since the epoch."""
    line, about = need_line(need, now), need.about
    if isinstance(about, Intent):
        shown = (
            f"workflow show {shlex.quote(about.workflow)}" if about.workflow else f"log show {line.reference}"
        )
        return Item(line, need.key, f"sb {shown}", need.at or None)
    asked = isinstance(about, Disclosure)
    ends_at = about.approval.expires_at if isinstance(about, Disclosure) else about.expires_at
    command = f"sb {'approvals' if asked else 'recovery'} show {line.reference}"
    return Item(line, need.key, command, need.at or None, ends_at if line.left else None)


def item_of_contract(entry: ContractEntry, now: int) -> Item | None:
    """A contract that has to be approved; None for one that need not."""
    line = contract_need(entry, now)
    if line is None:
        return None
    key = f"contract {entry.tool_id} {entry.status} {entry.live_fingerprint}"
    return Item(line, key, "sb runtime-guard mismatches")


def item_of_review(item: ReviewItem, now: int) -> Item:
    """Something in memory that waits for an operator."""
    stack = shlex.quote(item.stack)
    commands = {
        ReviewKind.CONFLICT: f"sb stack conflicts {stack}",
        ReviewKind.QUARANTINE: f"sb quarantine show {item.reference}",
        ReviewKind.SUGGESTED: f"sb suggestions show {item.reference} --stack {stack}",
    }
    return Item(review_need(item, now), item.key, commands[item.kind], int(item.at * MICROSECONDS))


def broken(kind: str, name: str, found: Finding, command: str) -> Item:
    """A check that fails, as something that needs a person."""
    line = NeedLine(kind, "", state("broken"), name, found.detail, "", "", "", "")
    return Item(line, f"{kind} {found.detail}", command).masked()
