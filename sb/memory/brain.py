"""Brain: one agent's view of the memory in one database.

Source: the memory whitepaper, "the Brain interface" and "retrieval in the session lifecycle".
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.base.text import checked_name
from sb.config import Config, current_config
from sb.memory.access import ScopeRefusal
from sb.memory.reader import Reader
from sb.memory.reads import Reads
from sb.memory.search import Searcher
from sb.memory.session_writer import SessionWriter
from sb.memory.sessions import Sessions
from sb.memory.space import Space
from sb.memory.writes import Writes
from sb.store.database import Database, open_database
from sb.store.embedding import native
from sb.store.records.columns import Row

if TYPE_CHECKING:
    from sb.memory.gate.worth import GateVerdict

DEFAULT_STACK = "default"


class Brain(Writes, Reads, Sessions):
    """One agent's memory; use it as a context manager, or close it.

    Args:
        agent_id: who writes, and who reads what is private.
        database: an open database, which stays open; otherwise the configured one is opened, and made if need be.
        path: another file than the configured one.
        stack: the memory container; the configured agents share `default`.
        scope: where the session starts, before `orient` names a project; by default where the session of that name
            is, or `global`.
        scope_refusal: as for `sb.memory.space.Space`.
        session: a name for the session, such as a coding agent's own id; by default one is made up.
        threads: False in a process that neither starts threads nor forks, which then loads nothing for them.

    Raises:
        ConfigError, StoreError: the configuration or the database cannot be used. ValueError: a name says nothing, or is too long.
        DeniedError: the agent may not use the scope.
    """

    _writes: type[SessionWriter] = SessionWriter
    _is_operator = False

    def __init__(
        self,
        agent_id: str,
        *,
        database: Database | None = None,
        path: str | Path | None = None,
        config: Config | None = None,
        stack: str = DEFAULT_STACK,
        scope: str | None = None,
        session: str | None = None,
        threads: bool = True,
        scope_refusal: ScopeRefusal | None = None,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> None:
        checked_name("agent_id", agent_id)
        checked_name("stack", stack)
        self.config = config if config is not None else current_config()
        self._owned = database is None
        self.database = database or open_database(path or self.config.database, clock=clock, ids=ids)
        self.agent_id = agent_id
        self.stack = stack
        self.space = Space(
            self.database, self.config.memory, scope_refusal=scope_refusal, clock=clock, ids=ids
        )
        self.writer = self._writes(self.space, agent_id, stack, scope=scope, session=session)
        self.writer.record_writer.is_person = self._is_operator
        self.searcher = Searcher(self.space)
        if not self._is_operator:
            self.space.reader = Reader(self.space, (agent_id,), stack=stack, handoffs=self._handoff_refusal)
        if threads and self.config.memory.embedder == "static":
            native.load_early()
        self._closed = False
        self._named = session  # by whoever made this Brain, until that session ends

    def _handoff_refusal(self, row: Row) -> str:
        return self.handoffs.refusal(row)

    @property
    def scope(self) -> str:
        """The session's scope: what is written without one goes there, and it is read with what it includes."""
        return self.writer.scope

    @property
    def vector_search_disabled_reason(self) -> str:
        """The reason why searches use words alone, or the last one did, in one line; else ""."""
        return self.searcher.vector_search_disabled_reason

    @property
    def masked(self) -> tuple[str, ...]:
        """The labels of the secrets that the last write or query masked."""
        return tuple(self.writer.masked)

    @property
    def verdict(self) -> GateVerdict | None:
        """The gate's answer to the last `remember`; None before the first."""
        verdict = self.writer.verdict
        return None if verdict is None else self.space.shown_verdict(verdict)

    @property
    def quarantined(self) -> tuple[str, ...]:
        """The ids of what the last write quarantined."""
        return tuple(self.writer.record_writer.held)

    def close(self) -> None:
        """Close the database, if this Brain opened it; a second time does nothing."""
        if self._owned and not self._closed:
            self.database.close()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
