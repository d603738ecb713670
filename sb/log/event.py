"""Events of the log: what one is, and how its hash is made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from sb.base.sources import iso_micros
from sb.base.values.canonical import encode

STREAM_BITS = 40
SEQ_MASK = (1 << STREAM_BITS) - 1
KERNEL_STREAM = "kernel"
EVENT_COLUMNS = (
    "id, at, kind, run_id, trace_id, agent, tool_id, call_id, payload_digest, prev, hash, salt, payload"
)

_DAMAGED = "damaged"  # under which the text of a payload is that cannot be read


class Subject(NamedTuple):
    """Subject of an event; empty where it does not apply."""

    run_id: str = ""
    trace_id: str = ""
    agent: str = ""
    tool_id: str = ""
    call_id: str = ""


NOBODY = Subject()


class Event(NamedTuple):
    """One row of the log; `payload` is None once it was pruned. `at` is in microseconds since the epoch."""

    stream: str
    seq: int
    at: int
    kind: str
    subject: Subject
    payload_digest: str
    prev: str
    hash: str
    payload: dict[str, Any] | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "stream": self.stream,
            "seq": self.seq,
            "at": iso_micros(self.at),
            "kind": self.kind,
            **self.subject._asdict(),
            "payload": self.payload,
            "hash": self.hash,
        }


class Head(NamedTuple):
    """The last event of a stream; seq 0 before the first."""

    seq: int
    hash: str


def genesis(database_id: str, stream: str) -> str:
    """The first event's `prev`: it binds the chain to its database and stream."""
    return sha256(f"{database_id}/{stream}".encode()).hexdigest()


def link_hash(
    stream: str, seq: int, at: int, kind: str, subject: Subject, payload_digest: str, prev: str
) -> str:
    """SHA-256 hex of one link (docs/reference/event-log.md, "Algorithm")."""
    return sha256(encode((1, stream, seq, at, kind, *subject, payload_digest, prev))).hexdigest()


def link_of(event: Event) -> str:
    """The hash that an event should have."""
    return link_hash(
        event.stream, event.seq, event.at, event.kind, event.subject, event.payload_digest, event.prev
    )


def payload_of(body: str | None) -> dict[str, Any] | None:
    """The payload of an event; damaged text is shown as it is."""
    if body is None:
        return None
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        payload = None
    return payload if isinstance(payload, dict) else {_DAMAGED: body[:200]}


def is_damaged(payload: Mapping[str, Any]) -> bool:
    """True if what an event says could not be read."""
    return list(payload) == [_DAMAGED]
