"""A governed call written by hand, for one tool, with nothing but the standard library: the floor.

The floor that the executor is measured against: policy look-up, budget, digest of the arguments, and the hash-chained
record; the durable one commits an intent before the tool and the outcome with its audit row after it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import redact_json
from sb.store import driver

Arguments = dict[str, Any]
POLICY = {("bench.read", "agent"): True, ("bench.write", "agent"): True}


def _dumps(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class MemoryReference:
    """One argument digest, one chain link, and the same redactor over what the log would hold."""

    def __init__(self, tool: Callable[..., Any]) -> None:
        self._tool = tool
        self._head = "0" * 64
        self._used = 0
        self.rows: list[tuple[str, str]] = []

    def call(self, args: Arguments) -> Any:
        digest = sha256(_dumps(args)).hexdigest()
        if not POLICY["bench.read", "agent"] or self._used >= 10**9:
            raise PermissionError
        result = self._tool(**args)
        self._used += 1
        body = redact_json({"args": args, "result": result})
        self._head = sha256(_dumps([self._head, "bench.read", "agent", digest, body])).hexdigest()
        self.rows.append((body, self._head))
        return result


class DurableReference:
    """Two commits in WAL mode, synchronous NORMAL: the intent, then the outcome with a chained audit row."""

    def __init__(self, path: Path, tool: Callable[..., Any]) -> None:
        self._tool = tool
        self._head = "0" * 64
        self._used = 0
        path.touch()
        connection = driver.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE intents (id INTEGER PRIMARY KEY, run TEXT, tool TEXT, digest TEXT, args TEXT, state TEXT)"
        )
        connection.execute("CREATE TABLE audit (id INTEGER PRIMARY KEY, body TEXT, prev TEXT, hash TEXT)")
        self.execute = connection.execute

    def call(self, args: Arguments) -> Any:
        encoded = _dumps(args)
        digest = sha256(encoded).hexdigest()
        if not POLICY["bench.write", "agent"] or self._used >= 10**9:
            raise PermissionError
        execute = self.execute
        execute("BEGIN IMMEDIATE")
        row = execute(
            "INSERT INTO intents (run, tool, digest, args, state) VALUES (?, ?, ?, ?, 'started')",
            ("run_0123456789abcdef", "bench.write", digest, encoded.decode()),
        ).lastrowid
        execute("COMMIT")
        result = self._tool(**args)
        self._used += 1
        body = _dumps({"intent": row, "digest": digest, "result": result, "latency_ms": 0.1})
        head = sha256(self._head.encode() + body).hexdigest()
        execute("BEGIN IMMEDIATE")
        execute("UPDATE intents SET state = 'done' WHERE id = ?", (row,))
        execute("INSERT INTO audit (body, prev, hash) VALUES (?, ?, ?)", (body.decode(), self._head, head))
        execute("COMMIT")
        self._head = head
        return result
