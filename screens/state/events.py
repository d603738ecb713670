"""Events of the log as rows and documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sb.screens.state.document import Field, fields_of, value_text
from sb.screens.state.listing import WIDE, Column, Row

from sb.errors import NotFoundError
from sb.kernel.calls.narrative import describe
from sb.kernel.review.runs import Run, run_of
from sb.log.event import Event
from sb.log.event_log import EventLog
from sb.log.kinds import meaning
from sb.log.search import events_at
from sb.present.times import moment
from sb.sources import iso

EVENT_COLUMNS = (Column("row", 8), Column("at (UTC)", 14), Column("run", 20, least=WIDE), Column("what"))
TIMELINE_COLUMNS = (Column("row", 8), Column("at (UTC)", 14), Column("what happened"))
_CONTRACT = "tool_contract_"
_CALL_FIELDS = {
    "state": "state",
    "code": "error code",
    "error": "error",
    "reason": "reason",
    "rule": "rule",
    "safety_class": "safety class",
    "approval_id": "approval",
    "grant_id": "grant",
    "step": "step",
    "latency_ms": "took (ms)",
    "retries": "retries",
    "policy_version": "policy",
}


def event_row(event: Event) -> Row:
    """One line about an event."""
    cells = (str(event.seq), moment(event.at), event.subject.run_id or "-", describe(event))
    return Row(cells, _tone(event))


def timeline_rows(log: EventLog, seqs: Sequence[int]) -> dict[int, Row]:
    """The same without the run."""
    rows = event_rows(log, seqs)
    return {seq: Row((*row.texts[:2], row.texts[3]), row.tone) for seq, row in rows.items()}


def event_rows(log: EventLog, seqs: Sequence[int]) -> dict[int, Row]:
    """Lines for these rows of the log; one that is gone says so."""
    found = events_at(log, seqs)
    return {
        seq: event_row(found[seq])
        if seq in found
        else Row((str(seq), "", "", "MISSING from the log: v verifies the log"), "error")
        for seq in seqs
    }


def _tone(event: Event) -> str:
    payload = event.payload
    if payload is None or payload.get("phase") in ("intent", "replayed"):
        return "muted"
    if (
        "in_doubt" in (payload.get("phase"), payload.get("state"))
        or payload.get("rule") == "requires_approval"
    ):
        return "warn"
    return "error" if payload.get("code") else ""


def event_document(event: Event) -> list[Field]:
    """One event in full."""
    subject = {name: value for name, value in event.subject._asdict().items() if value}
    fields = [Field(describe(event)), Field("row", str(event.seq)), Field("at", iso(event.at / 1e6))]
    fields += [Field("kind", f"{event.kind}: {_meaning(event.kind)}"), *fields_of(subject)]
    fields.append(Field("payload" if event.payload else "payload, pruned"))
    fields += fields_of(event.payload or {})
    fields.append(Field("its link in the chain"))
    chain = {"payload_digest": event.payload_digest, "prev": event.prev, "hash": event.hash}
    return fields + fields_of(chain)


def _meaning(kind: str) -> str:
    try:
        return meaning(kind)
    except NotFoundError:
        return "unknown to this version"


def call_document(events: Sequence[Event], run: Run | None = None) -> list[Field]:
    """Everything about one call, from its events, oldest first, and from the run that it belongs to."""
    last = events[-1]
    said: dict[str, Any] = {}
    for event in events:
        said |= event.payload or {}
    subject = last.subject
    fields = [Field(describe(last)), Field("call", subject.call_id), Field("run", subject.run_id)]
    if run is not None:
        where = {"host": run.host, "project": run.project, "session": run.session}
        fields += fields_of({name: value for name, value in where.items() if value})
    fields += [Field("tool", subject.tool_id), Field("agent", subject.agent)]
    fields += [Field(label, value_text(said[key])) for key, label in _CALL_FIELDS.items() if key in said]
    fields.append(Field("arguments, redacted"))
    args = said.get("args")
    fields += fields_of(args) if isinstance(args, dict) else [Field("args", str(args))] if args else []
    if "result" in said:
        fields += [Field("result, redacted"), *fields_of({"result": said["result"]})]
    contract = {
        key.removeprefix(_CONTRACT): value for key, value in said.items() if key.startswith(_CONTRACT)
    }
    fields += [Field("contract"), *fields_of(contract)]
    for event in events:
        fields += [Field(f"row {event.seq}"), *event_document(event)[1:]]
    return fields


def record_document(log: EventLog, reference: str | int) -> list[Field]:
    """The call (call_…), or the event with that number, in full.

    Raises:
        NotFoundError: nothing of that name is on record.
    """
    if isinstance(reference, int):
        event = events_at(log, [reference]).get(reference)
        if event is None:
            raise NotFoundError(f"no row {reference} in the log")
        return document_of(log, event)
    events = list(log.events(call_id=reference))
    if not events:
        raise NotFoundError(f"nothing in the log for {reference}")
    return call_document(events, run_of(log, events[-1].subject.run_id))


def document_of(log: EventLog, event: Event) -> list[Field]:
    """The call that an event is about, if it is about one; else the event."""
    subject = event.subject
    if subject.call_id.startswith("call_"):
        found = log.events(run_id=subject.run_id, call_id=subject.call_id)
        return call_document(list(found) or [event], run_of(log, subject.run_id))
    return event_document(event)
