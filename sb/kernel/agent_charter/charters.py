"""Approved charters: whether an agent's charter is valid and approved, and what it says of a run or call."""

from __future__ import annotations

from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from sb.base.secrets.redaction import one_line
from sb.errors import ConfigError, NotFoundError
from sb.kernel.agent_charter.charter import AgentCharter, version_key
from sb.kernel.agent_charter.charter_files import AGENT_NAME, CharterFiles
from sb.kernel.authority.signing import Decider
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.boundaries.owners import Owners
from sb.log.event_log import EventLog


class CharterState(StrEnum):
    """State of an agent's charter."""

    APPROVED = "approved"
    NEW = "new"
    CHANGED = "changed"
    INVALID = "invalid"
    MISSING = "missing"
    OWNER_LEFT = "owner left"
    UNREADABLE = "unreadable"


class CharterEntry(NamedTuple):
    """The charter of one agent.

    Args:
        charter: None where there is no valid one. problem: why it does not count, as one line; "" where it does.
        approved: the fingerprint that was approved, or "".
    """

    agent: str
    state: CharterState
    charter: AgentCharter | None
    problem: str
    approved: str


class Charters:
    """The charters of one home, with their approvals.

    Args:
        store: the approvals, of the surface CHARTER_SURFACE.
    """

    def __init__(self, folder: Path, log: EventLog, store: ContractBaselineStore) -> None:
        self.files = CharterFiles(folder)
        self._log = log
        self._store = store
        self._owners = Owners(store.authority)

    def today(self) -> date:
        """The day in UTC, by the log's clock."""
        return datetime.fromtimestamp(self._log.clock.now(), UTC).date()

    def entry(self, agent: str, *, exact: bool = True) -> CharterEntry:
        """State of an agent's charter.

        Args:
            exact: as for `ContractBaselineStore.status`.
        """
        charter, report = (
            self.files.read(agent, self.today()) if AGENT_NAME.fullmatch(agent) else (None, None)
        )
        if report is not None:
            return CharterEntry(agent, CharterState.INVALID, None, str(report.in_order()[0]), "")
        if charter is None:
            named = f"agent {one_line(agent, 80)}" if agent else "who names no agent"
            return CharterEntry(agent, CharterState.MISSING, None, f"{named} has no charter", "")
        status, detail = self._store.status(agent, charter.fingerprint, exact=exact)
        if status is BaselineStatus.UNREADABLE:
            why = f"whether the charter of {agent} is approved cannot be told: {detail}"
            return CharterEntry(agent, CharterState.UNREADABLE, charter, why, "")
        if status is not BaselineStatus.APPROVED:
            changed = status is BaselineStatus.CHANGED
            what = "changed since it was approved" if changed else "was never approved"
            why = (
                f"the charter of {agent} {what}; an operator can approve it: sb agent charter approve {agent}"
            )
            state = CharterState.CHANGED if changed else CharterState.NEW
            return CharterEntry(agent, state, charter, why, detail if changed else "")
        left = self._owners.refusal(charter.owner)
        if left:
            return CharterEntry(
                agent, CharterState.OWNER_LEFT, charter, f"the charter of {agent}: {left}", detail
            )
        return CharterEntry(agent, CharterState.APPROVED, charter, "", detail)

    def entries(self) -> list[CharterEntry]:
        """Every agent that has a charter file, sorted."""
        return [self.entry(agent) for agent in self.files.agents()]

    def approve(self, agent: str, fingerprint: str, by: Decider, reason: str = "") -> AgentCharter:
        """Approve the charter of an agent as its files are now.

        Args:
            fingerprint: of the charter that the person was shown; "" for whichever it is.

        Raises:
            NotFoundError: it has no charter.
            ConfigError: its charter is invalid, has changed since it was shown, or changed without a higher version.
            Unauthorised: this person may not decide.
        """
        self.files.path(agent)
        charter = self.files.load(agent, self.today())
        if fingerprint and charter.fingerprint != fingerprint:
            raise ConfigError(f"the charter of {agent} has changed since it was shown", "look at it again")
        self._require_newer(charter)
        with self._log.write() as write:
            self._store.seen.keep_document(
                write.execute, agent, charter.document(), str(self.files.path(agent))
            )
        self._store.approve({agent: charter.fingerprint}, by, reason)
        return charter

    def approved_document(self, agent: str, fingerprint: str) -> dict[str, object]:
        """The document approved under a fingerprint; {} if none is on record."""
        contract = self._store.seen.find(agent, fingerprint)
        return {} if contract is None else contract.document

    def _require_newer(self, charter: AgentCharter) -> None:
        status, approved = self._store.status(charter.agent, charter.fingerprint)
        if status is not BaselineStatus.CHANGED:
            return
        before = str(self.approved_document(charter.agent, approved).get("version", ""))
        if before and version_key(charter.version) <= version_key(before):
            raise ConfigError(
                f"the charter of {charter.agent} changed, and its version is {charter.version} as before"
                if charter.version == before
                else f"the charter of {charter.agent} changed from version {before} to {charter.version}",
                f"raise version above {before}",
            )


class CharteredScopes:
    """Judge of agents' memory scopes, by their charters as they are at each question."""

    def __init__(self, charters: Charters) -> None:
        self._charters = charters

    def __call__(self, agent: str, scope: str) -> str:
        """The reason why an agent may not use a scope, or ""."""
        entry = self._charters.entry(agent, exact=False)
        return entry.problem or ("" if entry.charter is None else entry.charter.scope_refusal(scope))

    def rules(self, agent: str) -> str:
        """The rules it goes by, as text."""
        entry = self._charters.entry(agent, exact=False)
        return entry.problem or repr(entry.charter and sorted(entry.charter.data_scopes))


def require_charter(charters: Charters, agent: str) -> CharterEntry:
    """The entry of an agent that has a file; raises NotFoundError."""
    entry = charters.entry(agent)
    if entry.state is CharterState.MISSING:
        charters.files.load(agent, charters.today())
        raise NotFoundError(entry.problem)
    return entry
