"""Contracts that any process has met."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from sb.base.secrets.redaction import one_line
from sb.base.sources import micros
from sb.base.values.canonical import canonical_bytes, digest
from sb.errors import ConfigError
from sb.kernel.contracts import CHARTER_SURFACE, KERNEL_SURFACE, RELEASE_SURFACE, REVERSAL_SURFACE
from sb.kernel.registry.registry import RegisteredTool, ToolRegistry
from sb.log.event_log import EventLog, LogWrite
from sb.store import driver

SURFACES = (KERNEL_SURFACE, REVERSAL_SURFACE)  # of tools
DOCUMENT_SURFACES = (CHARTER_SURFACE, RELEASE_SURFACE)  # of what is written down about agents
LARGEST_DOCUMENT = 64 * 1024  # bytes; a larger contract cannot be shown, and so not approved


class SeenContract(NamedTuple):
    """One contract as some process met it; times in microseconds since the epoch."""

    surface: str
    tool_id: str
    fingerprint: str
    document: dict[str, Any]
    source: str
    first_seen_at: int
    last_seen_at: int

    @property
    def damaged(self) -> bool:
        """True if the stored text is not what its fingerprint says."""
        return "damaged" in self.document

    @property
    def side_effecting(self) -> bool:
        """True if the contract may change something; a damaged one might."""
        level = (self.document.get("metadata") or {}).get("side_effect_level")
        return self.document.get("safety_class") != "read_only" or level == "external_write"


_COLUMNS = "surface, tool_id, fingerprint, document, source, first_seen_at, last_seen_at"
_INSERT = f"INSERT INTO contracts_seen ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO"
_MET_AGAIN = "UPDATE SET last_seen_at = excluded.last_seen_at"


def _document(text: str, fingerprint: str) -> dict[str, Any]:
    """The parsed contract text; {} where it does not match its fingerprint."""
    if "sha256:" + digest(text.encode()) != fingerprint:
        return {"damaged": text[:200]}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {"damaged": text[:200]}
    return document if isinstance(document, dict) else {"damaged": text[:200]}


class SeenContracts:
    """Keeps the whole contract of each tool that this process meets, once, in a transaction that is open anyway."""

    def __init__(self, log: EventLog, surface: str = KERNEL_SURFACE) -> None:
        self._log = log
        self._surface = surface
        self._kept: set[tuple[str, str]] = set()

    def _has(self, tool: RegisteredTool) -> bool:
        return self._surface == KERNEL_SURFACE or tool.spec.reversal is not None

    def fingerprint(self, tool: RegisteredTool) -> str:
        """Of what the tool has on this surface, as it is now; raises ContractError."""
        current = tool.current_fingerprint()
        return current if self._surface == KERNEL_SURFACE else tool.reversal_fingerprint

    def _document(self, tool: RegisteredTool) -> dict[str, Any]:
        spec = tool.spec
        return spec.contract_document() if self._surface == KERNEL_SURFACE else spec.reversal_document()

    def fingerprints(self, registry: ToolRegistry) -> dict[str, str]:
        """Tool id to fingerprint, for every registered tool that has something on this surface."""
        return self.fingerprints_of(map(registry.tool, registry.list_ids()))

    def fingerprints_of(self, tools: Iterable[RegisteredTool | None]) -> dict[str, str]:
        """`fingerprints` of some tools."""
        return {tool.spec.tool_id: self.fingerprint(tool) for tool in tools if tool and self._has(tool)}

    def note(self, write: LogWrite, tool: RegisteredTool, fingerprint: str) -> None:
        """Keep this tool's contract, of this fingerprint, unless this process did so before."""
        key = (tool.spec.tool_id, fingerprint)
        if key in self._kept:
            return
        self._kept.add(key)
        write.undo.append(lambda: self._kept.discard(key))
        self._keep(write.execute, tool)

    def note_all(self, registry: ToolRegistry) -> None:
        """Keep the contract of every registered tool, in one transaction; that is not the same as meeting it."""
        tools = [tool for tool in map(registry.tool, registry.list_ids()) if tool and self._has(tool)]
        rows = [row for row in map(self._row, tools) if row]
        with self._log.database.write():
            self._log.database.write_each(f"{_INSERT} NOTHING", rows)

    def _keep(self, execute: Callable[..., driver.Cursor], tool: RegisteredTool) -> None:
        if row := self._row(tool):
            execute(f"{_INSERT} {_MET_AGAIN}", row)

    def _row(self, tool: RegisteredTool) -> tuple[Any, ...]:
        """The stored row of a tool's contract; () for one that is too large."""
        document = canonical_bytes(self._document(tool))
        if len(document) > LARGEST_DOCUMENT:
            return ()
        now = micros(self._log.clock.now())
        name, fingerprint = tool.spec.tool_id, self.fingerprint(tool)
        return self._surface, name, fingerprint, document.decode(), tool.source, now, now

    def keep_document(
        self, execute: Callable[..., driver.Cursor], name: str, document: dict[str, Any], source: str
    ) -> str:
        """Store a document without a tool, such as a charter; returns its fingerprint.

        Raises:
            ConfigError: it is larger than LARGEST_DOCUMENT.
        """
        content = canonical_bytes(document)
        if len(content) > LARGEST_DOCUMENT:
            raise ConfigError(f"{one_line(name, 80)}: more than {LARGEST_DOCUMENT} bytes cannot be approved")
        fingerprint, now = "sha256:" + digest(content), micros(self._log.clock.now())
        execute(
            f"{_INSERT} {_MET_AGAIN}",
            (self._surface, name, fingerprint, content.decode(), source, now, now),
        )
        return fingerprint

    def every(self) -> list[SeenContract]:
        """Every contract or document that was met, the last met first."""
        rows = self._log.database.query(
            f"SELECT {_COLUMNS} FROM contracts_seen WHERE surface = ? ORDER BY last_seen_at DESC, rowid DESC",
            (self._surface,),
        )
        return [self._seen(row) for row in rows]

    def newest(self) -> list[SeenContract]:
        """The contract of each tool that was met last, by tool id."""
        rows = self._log.database.query(
            f"SELECT {_COLUMNS} FROM contracts_seen WHERE surface = ? ORDER BY tool_id, last_seen_at, rowid",
            (self._surface,),
        )
        return list({row[1]: self._seen(row) for row in rows}.values())

    def live(self, registry: ToolRegistry | None) -> dict[str, SeenContract]:
        """The contract of each tool as it is now, by tool id; nothing is written.

        Args:
            registry: the tools of this process, which knows them best.
        """
        found = {contract.tool_id: contract for contract in self.newest()}
        for tool_id in registry.list_ids() if registry else ():
            tool = registry.tool(tool_id) if registry else None
            if tool is None or not self._has(tool):
                continue
            fingerprint = self.fingerprint(tool)
            known = found.get(tool_id)
            if known is None or known.fingerprint != fingerprint:
                now = micros(self._log.clock.now())
                document = self._document(tool)
                found[tool_id] = SeenContract(
                    self._surface, tool_id, fingerprint, document, tool.source, now, now
                )
        return found

    def find(self, tool_id: str, fingerprint: str) -> SeenContract | None:
        """One contract by its fingerprint."""
        rows = self._log.database.query(
            f"SELECT {_COLUMNS} FROM contracts_seen WHERE surface = ? AND tool_id = ? AND fingerprint = ?",
            (self._surface, tool_id, fingerprint),
        )
        return self._seen(rows[0]) if rows else None

    def find_all(self, contracts: Mapping[str, str]) -> dict[str, SeenContract]:
        """Contracts by tool id, of those that were met.

        Args:
            contracts: tool id to fingerprint.
        """
        rows = self._log.database.query(
            f"SELECT {_COLUMNS} FROM json_each(?) AS wanted CROSS JOIN contracts_seen"  # in this order, by its key
            " WHERE surface = ? AND tool_id = wanted.key AND fingerprint = wanted.value",
            (json.dumps(dict(contracts)), self._surface),
        )
        return {row[1]: self._seen(row) for row in rows}

    @staticmethod
    def _seen(row: tuple[Any, ...]) -> SeenContract:
        return SeenContract(row[0], row[1], row[2], _document(row[3], row[2]), *row[4:])


def check_documents(execute: Callable[..., driver.Cursor], report: Callable[[str], object]) -> None:
    """Name every contract whose stored text is not what its fingerprint says."""
    for row in execute(f"SELECT {_COLUMNS} FROM contracts_seen").fetchall():
        if "damaged" in _document(row[3], row[2]):
            report(f"contracts_seen: the contract of {row[1]!r} is not what its fingerprint says")
