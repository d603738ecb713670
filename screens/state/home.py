"""Home: what needs you, the agents, the newest calls, and what is enforced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from sb.screens.state.listing import Row, row_of
from sb.screens.state.records import Records

from sb.base.fitting import count
from sb.base.text import counted, plain
from sb.base.values.frozen import frozen
from sb.errors import SBError
from sb.hosts.install.records import installed_hosts
from sb.kernel.authority.authority import Unauthorised
from sb.kernel.review.findings import (
    Finding,
    Status,
    enforcement,
    log_standing,
    operators,
    snapshots_finding,
)
from sb.kernel.review.verification_record import VerificationState, verification_state
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.present.agents import AGENT, AgentLine
from sb.present.events import CALL, CallLine
from sb.present.home import enforced, verified_words
from sb.present.kind import Cell, Column
from sb.present.needs import NEED, Need, finding_need, kill_need
from sb.present.overview import AtWork
from sb.present.states import State
from sb.store.records.queries import RecordQueries

if TYPE_CHECKING:  # memory takes long to import, for what is read first
    from sb.operator.attention.inbox import NeedsNow

LATEST_COLUMNS = (Column(10, badges=True), *CALL.columns["latest"][1:])
NEWEST_MEMORIES = 3
NOTHING = "Nothing waits for you."
NO_AGENT = "No agents yet. sb install claude-code connects a coding agent."
NO_CALL = "No calls yet."
FIRST_SESSION = "waiting for the first session"
SECTION_OF = {
    "request": "approvals",
    "more": "approvals",
    "unknown": "recovery",
    "reversal": "recovery",
    "contract": "contracts",
    "review": "review",
}


@frozen
class Target:
    """Where `enter` on a line leads: a screen, and a record on it."""

    section: str
    record: str | int | None = None


@frozen
class HomeLine:
    """One line.

    Args:
        key: the same as long as it is about the same thing.
        need: what it is about, if that needs a person. about: whose agent or tool it is, else.
    """

    key: str
    row: Row
    target: Target | None = None
    need: Need | None = None
    about: Subject | None = None


@frozen
class Home:
    """Home's content, without the needs of a decision, which the tabs count too.

    Args:
        work, latest: None until they were read.
        findings: what is enforced. operators: who may decide, and how far that can be relied on.
        verified: how far the newest verification of the log can be relied on.
        memory: how much is remembered. newest: of that, kind and text.
    """

    work: AtWork | None = None
    latest: tuple[CallLine, ...] | None = None
    findings: tuple[Finding, ...] = ()
    installed: tuple[str, ...] = ()
    log_rows: int = 0
    verified: VerificationState = field(default_factory=VerificationState)
    memory: int = 0
    newest: tuple[tuple[str, str], ...] = ()
    kills: tuple[Need, ...] = ()
    operators: tuple[Finding, ...] = ()

    @property
    def on(self) -> str:
        """The names of what is enforced."""
        return enforced([item for item in (*self.findings, *self.operators) if item.name != "log"]).on

    def needs(self, needs_you: NeedsNow) -> list[HomeLine]:
        """Lines of kills, of needs of a decision, and of missing enforcement."""
        items = [*self.kills, *needs_you.items]
        more = needs_you.total - len(needs_you.items)
        if more:
            items.append(Need("more", "", State(""), f"and {count(more)} more"))
        off = enforced((*self.findings, *self.operators)).off
        items += [finding_need(finding) for finding in off if not _unsigned(finding)]
        return list(map(_need, items))

    def agents(self, work: AtWork) -> list[HomeLine]:
        """The agents, and the hosts that were installed and have not called yet."""
        lines = list(map(_agent, work.agents))
        known = {line.agent for line in work.agents}
        for host in self.installed:
            if host not in known:
                row = Row((Cell(f"○ {host}", "soft"), Cell(FIRST_SESSION, "soft")), columns=_SILENT)
                lines.append(HomeLine(f"host {host}", row))
        return lines

    def calls(self, latest: Sequence[CallLine], now: int) -> list[HomeLine]:
        """The newest calls; `now` in microseconds since the epoch."""
        return [_call(line, now) for line in latest]


_SILENT = (Column(13), Column())


def quickly(records: Records) -> dict[str, Any]:
    """The newest calls, what is enforced, and how much is on record."""
    from sb.store.packs import PackStore
    from sb.store.snapshots import PACKS

    log, config = records.log("home"), records.config
    with records.overview("latest") as overview:
        latest = tuple(overview.latest())
    findings = [*enforcement(config), log_standing(log)]
    size = PackStore(config.home.snapshots / PACKS, cap_bytes=config.undo.store_max_bytes).fill()
    findings += [snapshots_finding(size)] if size.packs else []
    memories, newest = _memory(log)
    return {
        "latest": latest,
        "findings": tuple(findings),
        "installed": tuple(installed_hosts(config.home)),
        "log_rows": log.head().seq,
        "verified": verification_state(log),
        "memory": memories,
        "newest": newest,
    }


def at_work(records: Records) -> dict[str, Any]:
    """The acts of agents; the first time the calls of a day are counted for it."""
    with records.overview() as overview:
        return {"work": overview.at_work()}


def thoroughly(records: Records) -> dict[str, Any]:
    """The slower facts, since signatures are checked; deciders are named even where they are unreliable."""
    from sb.runtime.parts import boundary_findings  # with all tools, for which the first rows need not wait

    try:
        found = operators(records.config, records.authority("home"))
    except Unauthorised as error:
        found = [Finding("assurance", Status.FAIL, error.message, error.hint)]
    boundaries = boundary_findings(records.config, records.log("home"), records.authority("home"))
    return {"kills": tuple(_kills(records)), "operators": (*found, *boundaries)}


def _memory(log: EventLog) -> tuple[int, tuple[tuple[str, str], ...]]:
    from sb.present.memories import (
        text_of,
    )  # loads all kinds of memory, for which the first rows need not wait

    records = RecordQueries(log.database)
    newest, _ = records.head()
    rows = records.rows(range(newest, max(newest - NEWEST_MEMORIES, 0), -1))
    return newest, tuple((row["kind"], plain(text_of(row), one_line=True)) for row in rows)


def _kills(records: Records) -> Iterable[Need]:
    """Lines of active kills, the newest first."""
    try:
        yield from map(kill_need, records.kill_switch("home").active()[::-1])
    except SBError as error:
        yield finding_need(
            Finding("stops", Status.FAIL, f"every call is denied: {error.message}", error.hint)
        )


def _need(need: Need) -> HomeLine:
    section = "log" if (need.kind, need.reference) == ("finding", "log") else SECTION_OF.get(need.kind)
    target = Target(section, need.reference or None if section != "log" else None) if section else None
    about = Subject(tool_id=need.reference) if need.kind == "contract" else None
    return HomeLine(f"{need.kind} {need.reference}", row_of(NEED, need, 0), target, need, about)


def _unsigned(finding: Finding) -> bool:
    """True if it says that nobody is enrolled, which the tabs' line says on every screen."""
    return finding.name == "assurance" and finding.status is Status.WARN


def _agent(line: AgentLine) -> HomeLine:
    about = Subject(line.run_id, agent=line.agent)
    return HomeLine(
        f"agent {line.agent} {line.project}", row_of(AGENT, line, 0), Target("runs", line.run_id), about=about
    )


def _call(line: CallLine, now: int) -> HomeLine:
    return HomeLine(f"call {line.first}", Row(CALL.cells(line, now, "latest")), Target("log", line.first))


@frozen
class Facts:
    """Enforcement and records in words; `verified` with its tone."""

    enforced: str
    log: str
    verified: tuple[str, str]
    memory: str


def facts(home: Home, now: int) -> Facts:
    """Enforcement, and the amount on record; `now` in microseconds since the epoch."""
    return Facts(
        home.on or "nothing",
        counted(home.log_rows, "event").replace(",", " "),
        verified_words(home.verified, now),
        counted(home.memory, "record").replace(",", " "),
    )
