"""List what needs a person now: kills, requests, unknown outcomes, reversals, contracts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from sb.config import Config
from sb.errors import SBError
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.authority.authority import Authority
from sb.kernel.baselines.store import ContractBaselineStore, ContractEntry
from sb.kernel.calls.intents import Intent
from sb.kernel.contracts import KERNEL_SURFACE
from sb.kernel.incidents.kill import Kill
from sb.kernel.review.findings import Finding, Status, kill_finding
from sb.kernel.review.needs import Need, needs
from sb.log.event_log import EventLog
from sb.parts import open_kill_switch
from sb.present.contracts import ordered
from sb.present.needs import NeedLine, contract_need, need_line
from sb.present.states import state
from sb.redaction import one_line
from sb.sources import MICROSECONDS, iso_micros

LONGEST = 400  # characters of an object or a reason
BETWEEN = " · "
# What can need a person: its name in JSON, and what one of it is called.
NOUNS = {
    "kills": "kill",
    "requests": "request",
    "unknown": "unknown outcome",
    "reversals": "reversal",
    "contracts": "contract",
}


@dataclass(frozen=True)
class Item:
    """One thing that needs a person; its texts are masked, since nobody decides by them.

    Args:
        line: its kind is kill, request, unknown, reversal, contract, log or more.
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


@dataclass(frozen=True)
class NeedsNow:
    """What needs a person.

    Args:
        counts: by kind, true ones, where `items` has only the first of each.
        problems: what could not be read.
        numbers: of all requests that wait.
    """

    counts: dict[str, int]
    items: tuple[Item, ...]
    problems: tuple[Finding, ...]
    numbers: frozenset[int]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())


def needs_now(
    config: Config, log: EventLog, authority: Authority, most: int, known: Collection[int] = ()
) -> NeedsNow:
    """What needs a person: kills, then what waits in the order of Home, then contracts.

    Args:
        most: of each kind, that are described.
        known: numbers of requests that are not described again.

    Raises:
        StoreError: the database cannot be read.
    """
    now = int(log.clock.now() * MICROSECONDS)
    found = needs(log, most, known)
    problems: list[Finding] = []
    kills = _kills(config, log, problems)
    entries = ordered(ContractBaselineStore(log, authority, KERNEL_SURFACE).entries())
    contracts = [item for entry in entries if (item := _of_contract(entry, now))]
    waiting = [_of_need(need, now) for need in found.first]
    numbers = (len(kills), found.requests, found.unknown, found.reversals, len(contracts))
    return NeedsNow(
        dict(zip(NOUNS, numbers, strict=True)),
        (*map(_of_kill, kills), *waiting, *contracts[:most]),
        tuple(problems),
        found.numbers,
    )


def _kills(config: Config, log: EventLog, problems: list[Finding]) -> list[Kill]:
    """What is stopped, the newest first; that it cannot be read is a problem, not the end."""
    try:
        return open_kill_switch(config, log).active()[::-1]
    except SBError as error:
        problems.append(Finding("killed", Status.FAIL, f"every call is denied: {error.message}", error.hint))
        return []


def _of_kill(kill: Kill) -> Item:
    line = NeedLine(
        "kill", kill.name, state("stopped"), kill.sentence, kill_finding(kill).detail, "", "", "", ""
    )
    return Item(_masked(line), f"kill {kill.number} {len(kill.lifted_by)}", kill.lift_command)


def _of_need(need: Need, now: int) -> Item:
    line, about = _masked(need_line(need, now)), need.about
    if isinstance(about, Intent):
        return Item(line, about.call_id, f"sb log show {line.reference}", need.at or None)
    asked = isinstance(about, Disclosure)
    key = str(about.approval.number) if isinstance(about, Disclosure) else f"{about.id} {about.state}"
    ends_at = about.approval.expires_at if isinstance(about, Disclosure) else about.expires_at
    command = f"sb {'approvals' if asked else 'recovery'} show {line.reference}"
    return Item(line, key, command, need.at or None, ends_at if line.left else None)


def _of_contract(entry: ContractEntry, now: int) -> Item | None:
    line = contract_need(entry, now)
    if line is None:
        return None
    key = f"{entry.tool_id} {entry.status} {entry.live_fingerprint}"
    return Item(_masked(line), key, "sb runtime-guard mismatches")


def broken(kind: str, name: str, found: Finding, command: str) -> Item:
    """A check that fails, as something that needs a person."""
    line = NeedLine(kind, "", state("broken"), name, found.detail, "", "", "", "")
    return Item(_masked(line), f"{kind} {found.detail}", command)


def _masked(line: NeedLine) -> NeedLine:
    return replace(
        line,
        reference=one_line(line.reference, LONGEST),
        object=one_line(line.object, LONGEST),
        why=one_line(line.why, LONGEST),
        agent=one_line(line.agent, LONGEST),
    )
