"""An attacker with any SQL on brain.db and nothing else of the home: no trigger, key or file outside the database."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from sb.log.event import Subject, genesis, link_hash
from sb.store import driver

_COLUMNS = (
    "id, at, kind, run_id, trace_id, agent, tool_id, call_id, payload_digest, prev, hash, salt, payload"
)


class SqlAttacker:
    """A connection of its own to the database file, without its triggers and foreign keys."""

    def __init__(self, database: Path) -> None:
        self._connection = driver.connect(database)
        self._connection.execute("PRAGMA busy_timeout = 60000")
        self._connection.execute("PRAGMA foreign_keys = OFF")
        self._connection.execute("PRAGMA ignore_check_constraints = ON")
        for (trigger,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            self._connection.execute(f"DROP TRIGGER {trigger}")

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, parameters).fetchall()

    def run(self, sql: str, *parameters: Any) -> int:
        """Run one statement; returns how many rows it changed."""
        return int(self._connection.execute(sql, parameters).rowcount)

    def append(self, kind: str, payload: dict[str, Any], call_id: str = "", at: int = 0) -> int:
        """Append a well-formed event; returns its id."""
        (database_id,) = self.rows("SELECT value FROM meta WHERE key = 'database_id'")[0]
        newest = self.rows("SELECT id, at, hash FROM events ORDER BY id DESC LIMIT 1")
        last_id, last_at, last_hash = (*newest, (1 << 40, 0, genesis(database_id, "kernel")))[0]
        body = json.dumps(payload, separators=(",", ":"))
        salt = "00" * 16
        digest = sha256((salt + body).encode()).hexdigest()
        about, row_id, at = Subject(call_id=call_id), last_id + 1, at or last_at + 1
        hashed = link_hash("kernel", row_id & (1 << 40) - 1, at, kind, about, digest, last_hash)
        self.run(
            f"INSERT INTO events ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(row_id, at, kind, *about, digest, last_hash, hashed, salt, body),
        )
        return int(row_id)

    def delete(self, *kinds: str) -> None:
        """Delete the events of these kinds, and append something harmless."""
        for kind in kinds:
            assert self.run("DELETE FROM events WHERE kind = ?", kind)
        self.append("kernel.run.started", {"intent": "nothing happened"})

    def move(self, row_id: int, after: int) -> None:
        """Move an event behind another, and put the chain right again."""
        self.run("UPDATE events SET id = -id")
        order = [-negative for (negative,) in self.rows("SELECT id FROM events ORDER BY id DESC")]
        order.remove(row_id)
        order.insert(order.index(after) + 1, row_id)
        first = min(order)
        for number, former in enumerate(order):
            self.run("UPDATE events SET id = ? WHERE id = ?", first + number, -former)
        self.relink()

    def relink(self) -> None:
        """Compute every digest and link of the chain again, as anybody can."""
        (database_id,) = self.rows("SELECT value FROM meta WHERE key = 'database_id'")[0]
        last = genesis(database_id, "kernel")
        for row in self.rows(f"SELECT {_COLUMNS} FROM events ORDER BY id"):
            digest = sha256(f"{row[11]}{row[12]}".encode()).hexdigest() if row[12] is not None else row[8]
            seq = row[0] & (1 << 40) - 1
            hashed = link_hash("kernel", seq, row[1], row[2], Subject(*row[3:8]), digest, last)
            self.run(
                "UPDATE events SET payload_digest = ?, prev = ?, hash = ? WHERE id = ?",
                *(digest, last, hashed, row[0]),
            )
            last = hashed
