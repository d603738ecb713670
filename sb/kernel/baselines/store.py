"""Approved contracts, and their comparison with what a tool declares now.

Said by the log alone: each approval is one signed event over tool ids and fingerprints. What they add up to is kept
in memory and read again when the log has a newer one, or when who may decide has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, NamedTuple

from sb.base.secrets.redaction import one_line, redact_text
from sb.base.sources import iso, iso_micros
from sb.base.text import counted, nearest, plain
from sb.base.values.frozen import mutable
from sb.errors import NotFoundError, SBError, StoreCorrupt, UsageError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, signed_statement
from sb.kernel.baselines.compare import FieldChange, changes
from sb.kernel.baselines.seen import DOCUMENT_SURFACES, SURFACES, SeenContract, SeenContracts
from sb.kernel.contracts import KERNEL_SURFACE
from sb.kernel.policy.patterns import matches
from sb.kernel.registry.registry import CONFIGURED, INSTALLED, SHIPPED, ToolRegistry
from sb.log.event import Event, Subject
from sb.log.event_log import EventLog
from sb.log.kinds import BASELINE_CHANGED
from sb.log.people_events import ABOUT, sound

RECENT_S = 1.0
_NEWEST = "SELECT max(id) FROM events WHERE call_id = ? AND substr(kind, 1, 7) <> 'kernel.'"


class BaselineStatus(StrEnum):
    """State of a tool's contract against its approved baseline."""

    APPROVED = "approved"
    NEW = "new"
    CHANGED = "changed"
    MISSING = "missing"
    UNREADABLE = "unreadable"


class Baseline(NamedTuple):
    """One approval of one contract; `at` in ISO 8601."""

    tool_id: str
    fingerprint: str
    by: str
    at: str
    reason: str


class ContractEntry(NamedTuple):
    """One tool of a surface.

    Args:
        live_fingerprint, live_document: as it is now; "" and {} for one that is missing.
        baseline: what was approved last, if anything was and still counts.
        baseline_document: {} if nothing was.
        source: who registered the tool. first_seen_at: microseconds since the epoch, of the live contract.
    """

    surface: str
    tool_id: str
    status: BaselineStatus
    live_fingerprint: str
    live_document: dict[str, Any]
    baseline: Baseline | None
    baseline_document: dict[str, Any]
    source: str
    first_seen_at: int | None

    @property
    def approvable(self) -> bool:
        """True if its tool is there, with another contract than the approved one."""
        return bool(self.live_fingerprint) and self.status is not BaselineStatus.APPROVED

    @property
    def changes(self) -> list[FieldChange]:
        """From the approved contract to the live one."""
        both = self.baseline is not None and bool(self.live_document)
        return changes(self.baseline_document, self.live_document) if both else []


@mutable
class _Known:
    """The state that the log's approvals add up to.

    Args:
        newest, last_hash: of the last event taken in. unreadable: tools whose last approval does not count, and why.
        withdrawn: tools whose approval was taken back, and that have none since.
        broken: why any older approval may have been superseded by one that cannot be read.
    """

    newest: int = 0
    last_hash: str = ""
    token: object = None
    approved: dict[str, list[Baseline]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)
    broken: str = ""


class ContractBaselineStore:
    """The approved contracts of one surface, for the executor to compare with and for operators to change.

    Args:
        authority: by default nobody is enrolled, and approvals are unsigned.
        surface: where the tools come from.

    Raises:
        UsageError: there is no such surface.
    """

    def __init__(
        self, log: EventLog, authority: Authority | None = None, surface: str = KERNEL_SURFACE
    ) -> None:
        if surface not in DOCUMENT_SURFACES:
            require_surface(surface)
        self._log = log
        self.authority = authority or Authority(None, log)
        self.surface = surface
        self.seen = SeenContracts(log, surface)
        self._reference = f"contracts/{surface}"
        self._known = _Known()
        self._reading = threading.Lock()
        self._read_at = -RECENT_S

    def status(self, tool_id: str, fingerprint: str, *, exact: bool = True) -> tuple[BaselineStatus, str]:
        """The contract's state, with the approved fingerprint or the reason why it cannot be told.

        Args:
            exact: as of now; False for at most RECENT_S ago, which costs no query.
        """
        try:
            known = self._current() if exact else self._recent()
        except SBError as error:
            return BaselineStatus.UNREADABLE, error.message
        if tool_id in known.unreadable:
            return BaselineStatus.UNREADABLE, known.unreadable[tool_id]
        history = known.approved.get(tool_id)
        if not history:
            return (BaselineStatus.UNREADABLE, known.broken) if known.broken else (BaselineStatus.NEW, "")
        same = history[-1].fingerprint == fingerprint
        return (BaselineStatus.APPROVED if same else BaselineStatus.CHANGED), history[-1].fingerprint

    def harmful(self, tool_id: str, fingerprint: str) -> bool:
        """True if an approved contract may change something; one that cannot be read might."""
        contract = self.seen.find(tool_id, fingerprint)
        return contract is None or contract.side_effecting

    def entries(self, registry: ToolRegistry | None = None) -> list[ContractEntry]:
        """Every tool of the surface, by id: those of `registry`, those that other processes met, those approved."""
        known = self._current()
        live, newest = self.seen.live(registry), {item.tool_id: item for item in self.seen.newest()}
        gone = {
            tool_id
            for tool_id, contract in live.items()
            if registry is not None and tool_id not in registry and _loaded_everywhere(contract.source)
        }
        found = []
        for tool_id in sorted(live.keys() | known.approved.keys()):
            history = known.approved.get(tool_id)
            baseline = history[-1] if history else None
            contract = None if tool_id in gone else live.get(tool_id)
            if baseline and tool_id in newest and _met_since(newest[tool_id], baseline):
                contract = newest[tool_id]  # some other process has it, whatever this one's registry says
            if contract is None and baseline is None:
                continue
            approved = baseline and self.seen.find(tool_id, baseline.fingerprint)
            found.append(
                ContractEntry(
                    self.surface,
                    tool_id,
                    self.status(tool_id, contract.fingerprint)[0] if contract else BaselineStatus.MISSING,
                    contract.fingerprint if contract else "",
                    contract.document if contract else {},
                    baseline,
                    approved.document if approved else {},
                    contract.source if contract else live[tool_id].source if tool_id in live else "",
                    contract.first_seen_at if contract else None,
                )
            )
        return found

    def entry(self, tool_id: str, registry: ToolRegistry | None = None) -> ContractEntry:
        """One tool of the surface; raises NotFoundError."""
        entries = {entry.tool_id: entry for entry in self.entries(registry)}
        if tool_id not in entries:
            shown = one_line(tool_id, 60)
            near = nearest(tool_id, entries)
            raise NotFoundError(
                f"no tool {shown!r} was met on surface {self.surface}{near}",
                f"sb runtime-guard tools --surface {self.surface}",
            )
        return entries[tool_id]

    def fitting(self, pattern: str, registry: ToolRegistry | None = None) -> list[ContractEntry]:
        """The new and changed contracts of tools that a pattern fits; raises NotFoundError where it fits none."""
        fitting = [entry for entry in self.entries(registry) if matches(pattern, entry.tool_id)]
        changing = [it for it in fitting if it.status in (BaselineStatus.NEW, BaselineStatus.CHANGED)]
        if not changing:
            known = f"{counted(len(fitting), 'known tool')} fit it" if fitting else "no known tool fits it"
            raise NotFoundError(
                f"no new or changed contract fits {pattern!r}: {known}",
                f"sb runtime-guard tools --surface {self.surface}",
            )
        return changing

    def history(self, tool_id: str) -> list[Baseline]:
        """Every approval of this tool's contracts that counts, oldest first."""
        return list(self._current().approved.get(tool_id, []))

    def approve(self, contracts: Mapping[str, str], by: Decider, reason: str = "") -> None:
        """Make these the approved contracts, in one signed decision.

        Args:
            contracts: tool id to the fingerprint that the person was shown; "" takes back what was approved.

        Raises:
            NotFoundError: a contract that nobody has met.
            Unauthorised: this person may not decide.
        """
        stored = self.seen.find_all(contracts)
        for tool_id, fingerprint in contracts.items():
            if not fingerprint:
                continue
            contract = stored.get(tool_id)
            if contract is not None and contract.damaged:
                raise StoreCorrupt(f"the stored contract of {tool_id} is not what its fingerprint says")
            if contract is None:
                raise NotFoundError(
                    f"no contract {one_line(fingerprint, 80)!r} of {tool_id} was ever met",
                    "sb runtime-guard show lists them",
                )
        untrusted = {"by": by.name, "reason": reason}
        with self._log.write(power=True) as write:
            statement = {
                "action": "approve_contracts",
                "database": self._log.database_id,
                "surface": self.surface,
                "contracts": dict(contracts),
                "reason": redact_text(plain(reason, one_line=True).strip()),
                "at": iso(self._log.clock.now()),
                "after": self._last_hash(),  # or an old approval could be put on the log again, as the newest
            }
            signed = signed_statement(by, statement)
            self.authority.verify(signed)
            write.append(BASELINE_CHANGED, untrusted, Subject(call_id=self._reference), {"signed": signed})

    def latest(self) -> dict[str, Baseline]:
        """The approval of each tool that counts now, by tool id; as of at most RECENT_S ago."""
        return {tool_id: history[-1] for tool_id, history in self._recent().approved.items()}

    def is_withdrawn(self, tool_id: str) -> bool:
        """True if somebody took the approval of this tool back; as of at most RECENT_S ago."""
        return tool_id in self._recent().withdrawn

    def is_empty(self) -> bool:
        """True if nothing was ever approved."""
        return self._newest() == 0

    def _last_hash(self) -> str:
        rows = self._log.database.query("SELECT hash FROM events WHERE id = ?", (self._newest(),))
        return str(rows[0][0]) if rows else ""

    def _newest(self) -> int:
        return int(self._log.database.query(_NEWEST, (self._reference,))[0][0] or 0)

    def _recent(self) -> _Known:
        recent = self._log.clock.monotonic() - self._read_at < RECENT_S
        return self._known if recent else self._current()

    def _current(self) -> _Known:
        with self._reading:  # or a thread that asks meanwhile would find nothing approved
            began = self._log.clock.monotonic()
            newest, token = self._newest(), self.authority.token()
            known = self._known
            if (known.newest, known.token) != (newest, token):
                if token != known.token or newest < known.newest:
                    known = _Known(token=token)
                self._take_in(known)
                self._known = known
            self._read_at = began
            return known

    def _take_in(self, known: _Known) -> None:
        for row in self._log.database.query(ABOUT, (self._reference,)):
            if row[0] <= known.newest:
                continue
            known.newest, before, known.last_hash = row[0], known.last_hash, row[10]
            try:
                event = sound(self._log, row)
                payload = event.payload or {}
                signed = payload["signed"]
                statement = signed["statement"]
                contracts = dict(statement["contracts"])
                place = (statement["database"], statement["surface"], statement["after"])
                if place != (self._log.database_id, self.surface, before):
                    raise StoreCorrupt("it was made for another place on the log")
            except (SBError, KeyError, TypeError, ValueError) as error:
                known.broken = f"an approval of contracts on the log cannot be read: {error}"
                known.approved.clear()  # it may have replaced any of them
                continue
            self._count(known, event, signed, contracts)

    def _count(self, known: _Known, event: Event, signed: dict[str, Any], contracts: dict[str, str]) -> None:
        statement = signed["statement"]
        try:
            name = self.authority.verify(signed, event)
        except SBError as error:
            for tool_id in contracts:
                known.unreadable[tool_id] = error.message
            return
        for tool_id, fingerprint in contracts.items():
            baseline = Baseline(tool_id, fingerprint, name, str(statement["at"]), str(statement["reason"]))
            known.approved.setdefault(tool_id, []).append(baseline)
            known.withdrawn.discard(tool_id)
            if not fingerprint:
                del known.approved[tool_id]
                known.withdrawn.add(tool_id)
            known.unreadable.pop(tool_id, None)


def require_surface(surface: str) -> None:
    """Raise UsageError unless tools come from such a surface."""
    if surface not in SURFACES:
        shown = one_line(surface, 40)
        raise UsageError(f"no surface {shown!r}{nearest(surface, SURFACES)}", "one of " + ", ".join(SURFACES))


def _met_since(contract: SeenContract, baseline: Baseline) -> bool:
    """True if an executor met another contract after this one was approved."""
    return contract.fingerprint != baseline.fingerprint and iso_micros(contract.last_seen_at) >= baseline.at


def _loaded_everywhere(source: str) -> bool:
    """True if every process of a home loads such tools; of those that a program registers itself none can say."""
    return source == SHIPPED or source.startswith((INSTALLED, CONFIGURED))
