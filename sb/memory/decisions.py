"""Decisions of people about memories, as events: who, why, and about which text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from sb.base.sources import iso
from sb.base.values.canonical import digest
from sb.errors import NotFoundError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, required, signed_statement
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import MEMORY_DECIDED
from sb.store.records.columns import Row
from sb.store.records.queries import RecordQueries


@contextmanager
def decision_about(
    log: EventLog, authority: Authority, word: str, uid: str, by: Decider, reason: str
) -> Iterator[None]:
    """Log the decision that is made inside, once it is made; the memory's history keeps its change.

    Args:
        word: as rows say it, of `MEMORY_DECIDED`.

    Raises:
        NotFoundError: there is no such memory. Unauthorised: `by` may not decide, so nothing is done.
    """
    row = RecordQueries(log.database).find(uid)
    if row is None:
        raise NotFoundError(f"no memory {uid!r}", "sb memory search finds ids")
    event = signed_decision(log, authority, row, word, by, required(reason))
    yield
    log.append(*event)


def signed_decision(
    log: EventLog, authority: Authority, row: Row, verdict: str, by: Decider, reason: str, kind: str = ""
) -> tuple[str, dict[str, Any], Subject, dict[str, Any]]:
    """The event of a decision about a memory as it is, signed and verified; the text itself is in no event.

    Args:
        kind: of the event; that of the verdict, where it is "".
    """
    facts = {
        "memory": row["uid"],
        "verdict": verdict,
        "content": digest(orjson.dumps([row["text"], row["fields"]])),
        "at": iso(log.clock.now()),
    }
    signed = signed_statement(by, facts)
    authority.verify(signed)
    untrusted = {"by": by.name, "reason": reason, **signed}
    subject = Subject(agent=row["agent"], call_id=row["uid"])
    return kind or MEMORY_DECIDED[verdict], untrusted, subject, {"kind": row["kind"]}
