"""The lines of Home: what needs a person, what is enforced, what happened last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sb.screens.state.approvals import approval_row
from sb.screens.state.events import event_row
from sb.screens.state.listing import LONGEST_CELL, Column, Row
from sb.screens.state.records import Records

from sb.duration import human_age, human_duration
from sb.errors import SBError
from sb.hosts.install.records import installed_hosts
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.authority.authority import Unauthorised
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.calls.intents import Intents
from sb.kernel.incidents.kill import Kill
from sb.kernel.incidents.kill_switch import KillSwitch
from sb.kernel.recovery.escalations import Escalation, Escalations, EscalationState
from sb.kernel.review.findings import (
    Finding,
    Status,
    enforcement,
    kill_finding,
    log_standing,
    operators,
    snapshots_finding,
)
from sb.kernel.review.host_sessions import CallCount, ConnectedAgent, calls_of, connected_agents
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.present.approvals import request_line
from sb.present.contracts import ordered
from sb.present.memories import text_of
from sb.present.recovery import UNDECIDED
from sb.sources import MICROSECONDS
from sb.store.packs import PackStore
from sb.store.records.store import RecordStore
from sb.store.snapshots import PACKS
from sb.text import shorten

HOME_COLUMNS = (Column("", 9), Column("", 14), Column(""))
LAST_EVENTS = 10
MOST_OF_A_KIND = 5
LONGEST_NAME = 20  # of a project
_NEED_A_LOOK = {
    BaselineStatus.NEW: "its contract is not approved",
    BaselineStatus.CHANGED: "its contract changed since it was approved",
    BaselineStatus.UNREADABLE: "its approval cannot be read",
}
_NOT_REVERSED = (EscalationState.FAILED, EscalationState.NO_WAY_BACK, EscalationState.EXPIRED)
NOTHING = "Nothing needs you. Requests from agents appear here."
FIRST_SESSION = "waiting for the first session"
NONE_YET = "sb install claude-code connects a coding agent"


@dataclass(frozen=True)
class Target:
    """Where `enter` on a line leads: a screen, and a record on it."""

    section: str
    record: str | int | None = None


@dataclass(frozen=True)
class HomeLine:
    """One line.

    Args:
        kill: payload is stopped.
        about: whom it is about, where its target does not say that.
    """

    row: Row
    target: Target | None = None
    kill: Kill | None = None
    about: Subject | None = None

    def same_as(self, other: HomeLine) -> bool:
        """Whether both are about the same thing, whatever is said of it by now."""
        if self.kill or other.kill:
            return bool(self.kill and other.kill and self.kill.number == other.kill.number)
        return self.target is not None and self.target == other.target


@dataclass(frozen=True)
class Home:
    """What is read at once, and what takes longer because signatures are checked."""

    kills: tuple[HomeLine, ...] = ()
    needs: tuple[HomeLine, ...] = ()
    connected: Sequence[ConnectedAgent] = ()
    installed: tuple[str, ...] = ()
    calls: Mapping[str, CallCount] = field(default_factory=dict)
    enforced: tuple[HomeLine, ...] = ()
    memory: tuple[HomeLine, ...] = ()
    last: tuple[HomeLine, ...] = ()
    contracts: tuple[HomeLine, ...] = ()
    operators: tuple[HomeLine, ...] = ()

    @property
    def waiting(self) -> int:
        """How many lines need a person."""
        return len(self.kills) + len(self.needs) + len(self.contracts)

    def lines(self, now: int) -> list[HomeLine]:
        """The screen, from top to bottom; `now` in microseconds since the epoch."""
        needs = (*self.kills, *self.needs, *self.contracts) or (HomeLine(Row(("ok", "", NOTHING), "ok")),)
        lines = [_heading("Needs you now"), *needs]
        lines += [_heading("Connected agents"), *_connected(self.connected, self.calls, now)]
        lines += _installed(self.installed, self.connected)
        lines += [_heading("Enforcement"), *self.enforced, *self.operators]
        lines += [_heading("Memory"), *self.memory] if self.memory else []
        return [*lines, _heading("Last activity"), *self.last]


def quickly(records: Records) -> dict[str, Any]:
    """What is read at once."""
    log = records.log()
    found = connected_agents(log)
    return {
        "needs": (*_needs(log), *_broken(log), *_doubtful(log)),
        "connected": found,
        "installed": installed_hosts(records.config.home),
        "calls": {one.run_id: calls_of(log, one.run_id) for one in found[:MOST_OF_A_KIND]},
        "enforced": tuple(_finding(finding) for finding in _enforced(records)),
        "memory": tuple(_memory(log)),
        "last": tuple(_last(log)),
    }


def _enforced(records: Records) -> Iterator[Finding]:
    """What binds the agents, and how full the store of snapshots is where it holds any."""
    config = records.config
    yield from enforcement(config)
    size = PackStore(config.home.snapshots / PACKS, cap_bytes=config.undo.store_max_bytes).fill()
    if size.packs:
        yield snapshots_finding(size)


def thoroughly(records: Records) -> dict[str, tuple[HomeLine, ...]]:
    """What takes longer; who may decide is said even where it cannot be relied on."""
    try:
        found = operators(records.config, records.authority("home"))
    except Unauthorised as error:
        found = [Finding("assurance", Status.FAIL, error.message, error.hint)]
    return {
        "kills": tuple(_kills(records.kill_switch("home"))),
        "contracts": tuple(_contracts(records.baselines("home"))),
        "operators": tuple(map(_finding, found)),
    }


def _heading(text: str) -> HomeLine:
    return HomeLine(Row((text,), "heading"))


def _finding(finding: Finding, target: Target | None = None) -> HomeLine:
    tone = {Status.OK: "ok", Status.WARN: "warn", Status.FAIL: "error"}[finding.status]
    hint = f" ({finding.hint})" if finding.hint else ""
    return HomeLine(Row((str(finding.status), finding.name, finding.detail + hint), tone), target)


def _connected(
    found: Sequence[ConnectedAgent], calls: Mapping[str, CallCount], now: int
) -> Iterator[HomeLine]:
    """Each program in each project, the one heard of last first."""
    for one in found[:MOST_OF_A_KIND]:
        age = human_age((now - one.last_seen_at) / MICROSECONDS)
        waits = f", {one.waiting:,} for you to decide" if one.waiting else ""
        name = f"{shorten(one.project_name, LONGEST_NAME)}: " if one.project else ""
        text = f"{name}last seen {age}, {calls[one.run_id]}{waits}" + (
            f" · {one.project}" if one.project else ""
        )
        row = Row(("waiting" if one.waiting else "ok", one.host, text), "warn" if one.waiting else "ok")
        about = Subject(one.run_id, agent=one.agent)
        yield HomeLine(row, Target("runs", one.run_id), about=about)
    if len(found) > MOST_OF_A_KIND:
        text = f"and {len(found) - MOST_OF_A_KIND:,} more"
        yield HomeLine(Row(("", "", text), "muted"), Target("runs"))


def _installed(hosts: Sequence[str], connected: Sequence[ConnectedAgent]) -> Iterator[HomeLine]:
    """Hosts that were installed and have not called yet; without any, how to connect one."""
    silent = [host for host in hosts if host not in {one.host for one in connected}]
    for host in silent:
        yield HomeLine(Row(("installed", host, FIRST_SESSION), "muted"))
    if not silent and not connected:
        yield HomeLine(Row(("-", "none yet", NONE_YET), "muted"))


def _last(log: EventLog) -> Iterator[HomeLine]:
    for event in log.events(newest_first=True, limit=LAST_EVENTS):
        row = event_row(event)
        cells = (row.texts[0], row.texts[1], row.texts[3])
        yield HomeLine(Row(cells, row.tone), Target("log", event.seq))


def _memory(log: EventLog) -> Iterator[HomeLine]:
    """How much is remembered, and the newest of it, once there is anything."""
    records = RecordStore(log.database)
    newest, _ = records.head()
    for record in records.rows([newest]):
        cells = (f"{newest:,}", record["agent"], f"{record['kind']}: {text_of(record)[:LONGEST_CELL]}")
        yield HomeLine(Row(cells), Target("memory", record["uid"]), about=Subject(agent=record["agent"]))
    suggested = records.of_category("suggestion", "pending")
    if suggested:
        text = (
            "suggested memories to accept or dismiss"
            if suggested > 1
            else "suggested memory to accept or dismiss"
        )
        yield HomeLine(Row((f"{suggested:,}", "suggested", text), "warn"), Target("memory"))


def _needs(log: EventLog) -> Iterator[HomeLine]:
    """The requests and the reversals that wait; a reversal's request is decided, and performed, on Recovery."""
    escalations = Escalations(log).page(limit=0)
    reversals = {one.approval_id for one in escalations if one.state is EscalationState.WAITING}
    yield from _reversals(escalations, int(log.clock.now() * 1e6))  # first: their window closes
    yield from _requests(ApprovalQueue(log), reversals)


def _requests(queue: ApprovalQueue, reversals: set[str]) -> Iterator[HomeLine]:
    """The requests that wait and are no reversals, the soonest to expire first."""
    numbers, now = queue.numbers(states=[ApprovalState.WAITING]), queue.now()
    found = queue.numbered(numbers[: MOST_OF_A_KIND + len(reversals)])
    others = [found[number] for number in numbers if number in found and found[number].id not in reversals]
    for approval in others[:MOST_OF_A_KIND]:
        disclosed = queue.disclose(approval)
        line = request_line(disclosed, now)
        target = Target("approvals", approval.id)
        row = approval_row(disclosed, now)
        yield HomeLine(
            Row((line.state, f"{line.left} left", f"{line.call} · {line.agent}"), row.tone), target
        )
    more = len(numbers) - len(reversals) - MOST_OF_A_KIND
    if more > 0:
        yield HomeLine(Row(("waiting", "", f"and {more:,} more requests"), "warn"), Target("approvals"))


def _reversals(escalations: Sequence[Escalation], now: int) -> Iterator[HomeLine]:
    """One line on those that wait, and one on what else lost its reason."""
    waiting = [one for one in escalations if one.state in UNDECIDED]
    if waiting:
        first = min(waiting, key=lambda one: one.expires_at or 0)
        count = "1 reversal pending" if len(waiting) == 1 else f"{len(waiting):,} reversals pending"
        left = human_duration(((first.expires_at or 0) - now) / MICROSECONDS)
        target = Target("recovery", first.id)
        text = f"{count}: {first.why}"
        yield HomeLine(Row((str(first.state), f"{left} left", text), "warn"), target)
    failed = [one for one in escalations if one.state in _NOT_REVERSED]
    if failed:
        first, counts = failed[0], Counter(str(one.state) for one in failed)
        text = ", ".join(f"{count:,} {standing}" for standing, count in counts.items())
        text = f"{text}: {first.why}"
        yield HomeLine(Row(("failed", "reversals", text), "error"), Target("recovery", first.id))


def _broken(log: EventLog) -> Iterator[HomeLine]:
    standing = log_standing(log)
    if standing.status is not Status.OK:
        yield _finding(standing, Target("log"))


def _doubtful(log: EventLog) -> Iterator[HomeLine]:
    doubtful = Intents(log).in_doubt()
    for intent in doubtful[:MOST_OF_A_KIND]:
        text = f"{intent.tool_id}: outcome unknown · {intent.agent} ({intent.call_id})"
        yield HomeLine(Row(("unknown", "call", text), "warn"), Target("recovery", intent.call_id))
    if len(doubtful) > MOST_OF_A_KIND:
        text = f"and {len(doubtful) - MOST_OF_A_KIND:,} more calls"
        yield HomeLine(Row(("unknown", "call", text), "warn"), Target("recovery"))


def _kills(switch: KillSwitch) -> Iterator[HomeLine]:
    """What is stopped, the newest first."""
    try:
        active = switch.active()[::-1]
    except SBError as error:
        yield _finding(Finding("killed", Status.FAIL, f"every call is denied: {error.message}", error.hint))
        return
    for kill in active[:MOST_OF_A_KIND]:
        yield replace(_finding(kill_finding(kill)), kill=kill)
    if len(active) > MOST_OF_A_KIND:
        text = f"and {len(active) - MOST_OF_A_KIND:,} more kills (sb kill list)"
        yield HomeLine(Row(("warn", "killed", text), "warn"))


def _contracts(store: ContractBaselineStore) -> Iterator[HomeLine]:
    amiss = [entry for entry in ordered(store.entries()) if entry.status in _NEED_A_LOOK]
    for entry in amiss[:MOST_OF_A_KIND]:
        status, text = str(entry.status), f"{entry.tool_id}: {_NEED_A_LOOK[entry.status]}"
        tone = "warn" if entry.status is BaselineStatus.NEW else "error"
        yield HomeLine(Row((status, "contract", text), tone), Target("contracts", entry.tool_id))
    if len(amiss) > MOST_OF_A_KIND:
        text = f"and {len(amiss) - MOST_OF_A_KIND:,} more contracts"
        yield HomeLine(Row(("new", "contract", text), "warn"), Target("contracts"))
