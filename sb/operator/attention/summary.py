"""The summary of an installation: what waits for a person, who is connected, what is enforced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from sb.base.duration import human_age
from sb.base.fitting import Cut, cell_width, fit, padded
from sb.base.sources import MICROSECONDS, iso_micros
from sb.base.text import counted, plain
from sb.base.values.frozen import frozen
from sb.config import Config
from sb.hosts.install.records import installed_hosts
from sb.kernel.authority.authority import Authority, Unauthorised
from sb.kernel.review.findings import (
    Finding,
    Status,
    enforcement,
    log_standing,
    operators,
    snapshots_finding,
)
from sb.kernel.review.host_sessions import MCP_HOST, ConnectedAgent, connected_agents
from sb.kernel.review.verification_record import verification_state
from sb.log.event_log import EventLog
from sb.operator.attention.inbox import NOUNS, InboxReader
from sb.present.home import verified_words
from sb.present.needs import NEED, Need
from sb.present.states import tone_of
from sb.runtime.parts import boundary_findings, open_authority, open_log
from sb.store.packs import PackStore
from sb.store.records.queries import RecordQueries
from sb.store.snapshots import PACKS

MOST_NEEDS, MOST_PROBLEMS, MOST_AGENTS = 4, 2, 3  # lines, lines, and agents on their line: ten lines in all
RELIED_ON = ("killed", "log", "assurance")  # findings without which no decision counts
MOST_LISTED = 50  # of each kind, in JSON
LABEL = 11  # cells
BADGE, WHEN, WHO, ID = 9, 9, 22, 12
NOTHING = "Nothing needs you."
BROAD, LATE = 130, 30  # columns from which on a line says in words how late it is, and cells for that
WIDE = 100  # columns from which there is room for who asks


@frozen
class Summary:
    """The summary that `sb status` prints.

    Args:
        counts: what needs a person, by kind; true ones, where `items` has only the first of each kind.
        suggestions: memories that wait to be accepted or dismissed; they are among the reviews.
        installed: hosts that an install connected, whether or not they have called since.
        findings: what binds the agents, and whether the log and the operators can be relied on.
        verified: when the log was, in words.
        groups: the key of each thing that needs a person to that of its alike ones.
        now: microseconds since the epoch.
    """

    database: str
    exists: bool
    counts: dict[str, int]
    items: tuple[Need, ...] = ()
    suggestions: int = 0
    connected: tuple[ConnectedAgent, ...] = ()
    installed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    verified: str = ""
    groups: dict[str, str] = field(default_factory=dict)
    now: int = 0

    @property
    def total(self) -> int:
        """The number of things that need a person."""
        return sum(self.counts.values())

    @property
    def problems(self) -> list[Finding]:
        """Findings on what is not enforced or unreliable."""
        return [finding for finding in self.findings if finding.status is not Status.OK]

    @property
    def next_step(self) -> str:
        """The next step, mostly a command; "" without one. Faults of log or operators come first."""
        if not self.exists:
            return "sb init"
        lost = [
            problem
            for problem in self.problems
            if problem.name in RELIED_ON and problem.status is Status.FAIL
        ]
        steps = [item.hint for item in lost] + [item.command for item in self.items]
        steps += [problem.hint for problem in self.problems]
        if not self.connected and not self.installed:
            steps.append("sb install claude-code")
        return next(filter(None, steps), "")

    def to_dict(self) -> dict[str, Any]:
        return {
            "database": self.database,
            "exists": self.exists,
            "total": self.total,
            "counts": self.counts,
            "items": [NEED.to_dict(item) for item in self.items],
            "suggestions": self.suggestions,
            "connected": [
                {
                    "host": item.host,
                    "project": item.project,
                    "agent": item.agent,
                    "run_id": item.run_id,
                    "last_seen_at": iso_micros(item.last_seen_at),
                    "waiting": item.waiting,
                }
                for item in self.connected
            ],
            "installed": list(self.installed),
            "enforcement": [vars(finding) | {"status": str(finding.status)} for finding in self.findings],
            "next": self.next_step,
        }

    def tones(self) -> dict[str, str]:
        """The words with which lines begin that a terminal sets off, each with the name of its tone."""
        words = {item.state.word for item in self.items} | {str(problem.status) for problem in self.problems}
        return {word: tone_of(word) for word in sorted(words)}

    def lines(self, width: int = 0) -> Iterator[str]:
        """Ten lines at most, in so many cells; 0 for lines that are not cut."""
        if not self.exists:
            yield f"No database at {plain(self.database, one_line=True)}."
            yield _labelled(
                "Next", "sb init makes it; sb install claude-code also connects a coding agent", width
            )
            return
        yield from self._needs(width)
        yield _labelled("Connected", self._connected(), width)
        names = [finding.name for finding in self.findings if finding.status is Status.OK]
        good = [f"log ({self.verified})" if name == "log" else name for name in names]
        yield _labelled("Enforced", ", ".join(good) or "nothing", width)
        yield from self._problems(width)
        if self.next_step:
            yield _labelled("Next", self.next_step, width)

    def _needs(self, width: int) -> Iterator[str]:
        yield fit(self._headline(), width) if width else self._headline()
        sizes = Counter(self.groups.values())
        firsts: dict[str, Need] = {}
        for item in self.items:
            firsts.setdefault(self.groups[item.key], item)
        listed = list(firsts)
        if len(listed) > MOST_NEEDS:
            stops = [group for group in listed if firsts[group].kind == "kill"][
                :1
            ]  # last, and never out of sight
            listed = [*listed[: MOST_NEEDS - 1 - len(stops)], *stops]
        for group in listed:
            yield _item_line(firsts[group], width, sizes[group] - 1)
        if more := self.total - sum(sizes[group] for group in listed):
            yield f"  and {more:,} more: sb console"

    def _headline(self) -> str:
        """Counts of what needs a person, kind by kind."""
        kinds = ", ".join(counted(count, NOUNS[kind]) for kind, count in self.counts.items() if count)
        return f"{self.total:,} need{'s' if self.total == 1 else ''} you: {kinds}" if kinds else NOTHING

    def _connected(self) -> str:
        parts = [
            f"{item.name}{_place(item)}, {human_age((self.now - item.last_seen_at) / MICROSECONDS)}"
            for item in self.connected[:MOST_AGENTS]
        ]
        silent = [host for host in self.installed if host not in {item.name for item in self.connected}]
        parts += [f"{host} waits for its first session" for host in silent]
        if len(self.connected) > MOST_AGENTS:
            parts.append(f"and {len(self.connected) - MOST_AGENTS:,} more")
        return (
            plain("; ".join(parts), one_line=True)
            or "none yet: sb install claude-code connects a coding agent"
        )

    def _problems(self, width: int) -> Iterator[str]:
        problems = self.problems
        listed = problems[: MOST_PROBLEMS if len(problems) <= MOST_PROBLEMS else MOST_PROBLEMS - 1]
        for item in listed:
            hint = f" ({item.hint})" if item.hint else ""
            text = plain(f"{item.name}: {item.detail}", one_line=True)
            room = width - LABEL - cell_width(hint)
            yield padded(str(item.status), LABEL) + (fit(text, room) if width else text) + hint
        if len(problems) > len(listed):
            yield _labelled("", f"and {len(problems) - len(listed)} more: sb doctor", width)


def summary(config: Config) -> Summary:
    """Read what `sb status` says; nothing is written.

    Raises:
        StoreError: the database cannot be used.
    """
    path = config.database
    if not path.is_file() or not path.stat().st_size:
        return Summary(str(path), False, dict.fromkeys(NOUNS, 0), installed=installed_hosts(config.home))
    log = open_log(config)
    try:
        return _read(config, log)
    finally:
        log.database.close()


def _read(config: Config, log: EventLog) -> Summary:
    now = int(log.clock.now() * MICROSECONDS)
    authority = open_authority(config, log)
    found = InboxReader(log).all_needs(config, authority, most=MOST_LISTED)
    return Summary(
        str(config.database),
        True,
        found.counts,
        found.items,
        RecordQueries(log.database).of_category("suggestion", "pending"),
        tuple(connected_agents(log)),
        installed_hosts(config.home),
        (*found.problems, *findings(config, log, authority)),
        verified_words(verification_state(log), now)[0],
        found.groups,
        now,
    )


def findings(config: Config, log: EventLog, authority: Authority) -> Iterator[Finding]:
    """Findings on what binds the agents, and on whether the log and the operators can be relied on."""
    yield from enforcement(config)
    size = PackStore(config.home.snapshots / PACKS, cap_bytes=config.undo.store_max_bytes).fill()
    if size.packs:
        yield snapshots_finding(size)
    yield from boundary_findings(config, log, authority)
    yield log_standing(log)
    try:
        yield from operators(config, authority)
    except Unauthorised as error:
        yield Finding("assurance", Status.FAIL, error.message, error.hint)


def _place(connected: ConnectedAgent) -> str:
    """Where it works; over MCP the folder is that of the server, which says nothing."""
    if connected.host == MCP_HOST:
        return " over MCP"
    return f" in {connected.project_name}" if connected.project else ""


def _item_line(item: Need, width: int, alike: int) -> str:
    """A badge, the object, who, when, and the id; on a terminal its beginning, which names it as well."""
    badge, text = padded(item.state.word, BADGE), plain(item.object, one_line=True)
    text += f" (and {alike:,} alike)" if alike else ""
    if not width:
        cells = (badge, text, item.reason, item.who, item.lateness or item.when, item.id)
        return "  " + "  ".join(cell for cell in cells if cell)
    late = (item.lateness or item.when) if width >= BROAD else item.when
    end = f"{padded(late, LATE if width >= BROAD else WHEN)}  {padded(item.id[:ID], ID)}"
    who = f"{padded(fit(item.who, WHO), WHO)}  " if width >= WIDE else ""
    room = width - len("  ") - BADGE - len("  ") - len("  ") - cell_width(who) - cell_width(end)
    return f"  {badge}  {padded(fit(text, room, Cut.MIDDLE), room)}  {who}{end}".rstrip()


def _labelled(label: str, text: str, width: int) -> str:
    return padded(label, LABEL) + (fit(text, width - LABEL) if width else text)
