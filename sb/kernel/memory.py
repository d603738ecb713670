"""Key-value memory of an agent in three tiers: process, trace, durable.

Source: the kernel reference, "MemoryBundle". Reads and writes are events of the log, when one is wired; the values of
working and durable memory stay out of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.base.values.canonical import NotCanonical, freeze
from sb.base.values.frozen import mutable
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import MEMORY_GET, MEMORY_PUT
from sb.store.database import Database


@runtime_checkable
class MemoryProtocol(Protocol):
    def put(self, key: str, value: Any, *, source: str = "", ttl_s: float | None = None) -> None:
        """Keep a value under `key`, for `ttl_s` seconds (None: without end)."""
        ...

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or `default` when there is none or it has expired."""
        ...

    def delete(self, key: str) -> bool:
        """Remove a key; True if it existed."""
        ...

    def list_keys(self) -> list[str]:
        """The keys that have not expired, sorted."""
        ...


@mutable
class MemoryEntry:
    """One value and where it came from.

    Args:
        tier: "working", "episodic" or "durable".
        created_at_s: seconds since the epoch.
        ttl_s: seconds it lives; None without end.
    """

    key: str
    value: Any
    tier: str
    source: str = ""
    confidence: float = 1.0
    created_at_s: float = field(default_factory=SYSTEM_CLOCK.now)
    ttl_s: float | None = None

    def __post_init__(self) -> None:
        if not self.key:
            raise ValueError("a memory key must not be empty")
        if self.ttl_s is not None and not self.ttl_s > 0:
            raise ValueError(f"ttl_s must be positive, not {self.ttl_s}")

    def is_expired(self) -> bool:
        return self.expired_at(SYSTEM_CLOCK.now())

    def expired_at(self, now: float) -> bool:
        """True if it has expired at `now`, in seconds since the epoch."""
        return self.ttl_s is not None and now >= self.created_at_s + self.ttl_s

    @property
    def entry_id(self) -> str:
        return f"mem_{self.tier[:3]}_{self.key}"


class _DictBackend:
    """Entries of one process."""

    def __init__(self) -> None:
        self._entries: dict[str, MemoryEntry] = {}

    def save(self, entry: MemoryEntry) -> None:
        self._entries[entry.key] = entry

    def load(self, key: str) -> MemoryEntry | None:
        return self._entries.get(key)

    def remove(self, key: str) -> bool:
        return self._entries.pop(key, None) is not None

    def all(self) -> list[MemoryEntry]:
        return list(self._entries.values())


class MemoryStore:
    """Durable entries of one agent, in the `memory` table.

    Args:
        database: an open database.
        agent_name: who owns the entries; another agent's store does not see them.
    """

    def __init__(self, database: Database, agent_name: str) -> None:
        if not agent_name:
            raise ValueError("agent_name must not be empty: durable memory has an owner")
        self._database = database
        self._agent = agent_name
        self.session_id = ""
        self.trace_id = ""

    def save(self, entry: MemoryEntry) -> None:
        """Insert or replace; raises ValueError when the value is not JSON."""
        try:
            value, _ = freeze(entry.value)
        except NotCanonical as error:
            raise ValueError(f"memory {entry.key!r} cannot be kept: {error}") from None
        with self._database.write() as execute:
            execute(
                "INSERT OR REPLACE INTO memory VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self._agent,
                    entry.key,
                    json.dumps(value, ensure_ascii=False),
                    entry.source,
                    entry.confidence,
                    entry.created_at_s,
                    entry.ttl_s,
                    self.session_id,
                    self.trace_id,
                ),
            )

    def load(self, key: str) -> MemoryEntry | None:
        found = self._select(" AND key = ?", key)
        return found[0] if found else None

    def remove(self, key: str) -> bool:
        with self._database.write() as execute:
            cursor = execute("DELETE FROM memory WHERE agent = ? AND key = ?", (self._agent, key))
            return bool(cursor.rowcount)

    def all(self) -> list[MemoryEntry]:
        return self._select("")

    def _select(self, where: str, *parameters: str) -> list[MemoryEntry]:
        rows = self._database.query(
            f"SELECT key, value, source, confidence, created_at, ttl_s FROM memory WHERE agent = ?{where}",
            (self._agent, *parameters),
        )
        return [
            MemoryEntry(key, json.loads(value), "durable", source, confidence, created_at, ttl_s)
            for key, value, source, confidence, created_at, ttl_s in rows
        ]


AccessLogger = Callable[[str, MemoryEntry], None]


class _Tier:
    """Base of the three tiers: expiry, and events for the log."""

    tier = ""

    def __init__(
        self,
        backend: _DictBackend | MemoryStore | None = None,
        *,
        log_access: AccessLogger | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._backend = backend if backend is not None else _DictBackend()
        self._log_access = log_access
        self._clock = clock

    def put(self, key: str, value: Any, *, source: str = "", ttl_s: float | None = None) -> None:
        entry = MemoryEntry(key, value, self.tier, source=source, created_at_s=self._clock.now(), ttl_s=ttl_s)
        self._backend.save(entry)
        if self._log_access:
            self._log_access(MEMORY_PUT, entry)

    def entry(self, key: str) -> MemoryEntry | None:
        """The entry with its source and age; an expired one is removed."""
        entry = self._backend.load(key)
        if entry is not None and entry.expired_at(self._clock.now()):
            self._backend.remove(key)
            return None
        return entry

    def get(self, key: str, default: Any = None) -> Any:
        entry = self.entry(key)
        if entry is None:
            return default
        if self._log_access:
            self._log_access(MEMORY_GET, entry)
        return entry.value

    def delete(self, key: str) -> bool:
        return self._backend.remove(key)

    def list_keys(self) -> list[str]:
        return sorted(self._live())

    def _live(self) -> dict[str, Any]:
        now = self._clock.now()
        return {entry.key: entry.value for entry in self._backend.all() if not entry.expired_at(now)}


class WorkingMemory(_Tier):
    """In this process, lost on exit."""

    tier = "working"

    def snapshot(self) -> dict[str, Any]:
        """All live values by key."""
        return self._live()


class EpisodicMemory(_Tier):
    """Of one trace; each write is an event of the log, with its value redacted."""

    tier = "episodic"

    def snapshot(self) -> dict[str, Any]:
        """All live values by key."""
        return self._live()


class DurableMemory(_Tier):
    """Survives restarts when backed by a MemoryStore."""

    tier = "durable"


@mutable
class MemoryBundle:
    """The three tiers of one run; make it with `MemoryBundle.create`."""

    working: WorkingMemory
    episodic: EpisodicMemory
    durable: DurableMemory

    @classmethod
    def create(
        cls,
        trace_id: str = "",
        session_id: str = "",
        event_log: EventLog | None = None,
        memory_store: MemoryStore | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> MemoryBundle:
        """The tiers of one trace.

        Args:
            event_log: makes reads and writes events of the log.
            memory_store: keeps the durable tier in the database; session and trace are noted as provenance.
        """
        if memory_store is not None:
            memory_store.session_id, memory_store.trace_id = session_id, trace_id
        log_access = None if event_log is None else _access_logger(event_log, trace_id)
        return cls(
            WorkingMemory(log_access=log_access, clock=clock),
            EpisodicMemory(log_access=log_access, clock=clock),
            DurableMemory(memory_store, log_access=log_access, clock=clock),
        )


def _access_logger(log: EventLog, trace_id: str) -> AccessLogger:
    def log_access(kind: str, entry: MemoryEntry) -> None:
        untrusted = {"key": entry.key, "source": entry.source}
        if entry.tier == EpisodicMemory.tier and kind == MEMORY_PUT:
            untrusted["value"] = entry.value
        log.append(kind, untrusted, Subject(trace_id=trace_id), {"tier": entry.tier})

    return log_access
