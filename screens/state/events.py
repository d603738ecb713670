"""Events of the log as rows and documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sb.screens.state.document import Field, fields_of, value_text
from sb.screens.state.listing import Row, row_of

from sb.base.fitting import count
from sb.base.sources import MICROSECONDS, iso_micros
from sb.base.text import shorten_middle
from sb.errors import NotFoundError
from sb.kernel.review.calls import calls_at
from sb.kernel.review.runs import project_name, run_of
from sb.log.event import Event
from sb.log.event_log import EventLog
from sb.log.kinds import meaning
from sb.log.search import events_at
from sb.present.calls import call_object
from sb.present.events import (
    EVENT,
    SIGNED,
    EventLine,
    call_line,
    event_line,
    event_lines,
    took_text,
)
from sb.present.states import DANGER, State
from sb.present.times import date_and_time

LONGEST_HEADING = 400
MISSING = "missing from the log: v verifies the log"

_CONTRACT = "tool_contract_"
_CALL_FIELDS = {
    "rule": "Rule",
    "code": "Error code",
    "safety_class": "Safety class",
    "step": "Step",
    "retries": "Retries",
    "approval_id": "Request",
    "grant_id": "Grant",
    "policy_version": "Policy",
}
_LATER = ("code", "step", "approval_id", "grant_id", "policy_version")


def event_rows(log: EventLog, seqs: Sequence[int], face: str = "list") -> dict[int, Row]:
    """Lines for these rows of the log, with the columns of a face; one that is gone says so."""
    found, now = event_lines(log, seqs), int(log.clock.now() * MICROSECONDS)
    return {seq: row_of(EVENT, found.get(seq) or _missing(seq), now, face) for seq in seqs}


def _missing(seq: int) -> EventLine:
    return EventLine(seq, State("missing", DANGER), MISSING, "", None, "")


def event_document(event: Event, line: EventLine) -> list[Field]:
    """One event in full: what it is about first, its ids, its link in the chain and what was signed folded.

    Args:
        line: the event as lists show it.
    """
    fields = [_heading(line.object), *_verdict(line), *_who(event, line)]
    folded = (SIGNED, "statement", "signature")
    signed = {name: value for name, value in (event.payload or {}).items() if name in folded}
    others = {name: value for name, value in (event.payload or {}).items() if name not in folded}
    if event.payload is None:
        fields.append(Field("Payload", "pruned"))
    elif others:
        fields += [Field("Payload"), *fields_of(others)]
    fields += _folded("Signed", fields_of(signed))
    return [*fields, *_folded("Row", _ids(event))]


def _heading(text: str) -> Field:
    """The object of an event; all of a longer one stands below."""
    return Field(shorten_middle(text, LONGEST_HEADING))


def _verdict(line: EventLine) -> list[Field]:
    word = line.verdict.word
    known = [] if word == "event" else [Field("State", word, tone=line.verdict.tone)]
    return [*known, *([Field("Why", line.why)] if line.why else [])]


def _who(event: Event, line: EventLine) -> list[Field]:
    when = Field("When", date_and_time(event.at))
    return [
        *([Field("By", line.by)] if line.by else []),
        *([Field("Agent", line.agent)] if line.agent and line.agent != line.by else []),
        when,
        Field("Kind", f"{event.kind}: {_meaning(event.kind)}"),
    ]


def _ids(event: Event) -> list[Field]:
    subject = {name: value for name, value in event.subject._asdict().items() if value}
    chain = {"payload_digest": event.payload_digest, "prev": event.prev, "hash": event.hash}
    return [Field("row", str(event.seq)), *fields_of(subject), *fields_of(chain)]


def _folded(title: str, fields: Sequence[Field]) -> list[Field]:
    """A group that is left out until the record is unfolded."""
    return [replace(field, folded=True) for field in (Field(title), *fields)] if fields else []


def _meaning(kind: str) -> str:
    try:
        return meaning(kind)
    except NotFoundError:
        return "unknown to this version"


def call_document(log: EventLog, events: Sequence[Event]) -> list[Field]:
    """Everything about one call, from its events, oldest first, its request and the run that it belongs to."""
    last = events[-1]
    payload: dict[str, Any] = {}
    for event in events:
        payload |= event.payload or {}
    subject, args = last.subject, payload.get("args")
    line = event_line(last, args)
    run, call = run_of(log, subject.run_id), calls_at(log, [events[0].seq]).get(events[0].seq)
    if call is not None and line.verdict.word == "asked":
        shown = call_line(call)  # as lists have it: what was decided
        line = replace(line, verdict=shown.verdict, why=shown.why)
    fields = [_heading(call_object(subject.tool_id, args)), *_verdict(line)]
    fields += [
        Field(label, value_text(payload[key]), folded=key in _LATER)
        for key, label in _CALL_FIELDS.items()
        if payload.get(key)
    ]
    took = took_text(payload.get("latency_ms"))
    values = {
        "Agent": line.agent,
        "Project": project_name(run.project) if run else "",
        "When": date_and_time(last.at),
    }
    values |= {"Took": took, "Tool": subject.tool_id}
    fields += [Field(name, value) for name, value in values.items() if value]
    if args:
        fields.append(Field("Arguments, redacted"))
        fields += fields_of(args) if isinstance(args, dict) else [Field("args", str(args))]
    if "result" in payload:
        fields += [Field("Result, redacted"), *fields_of({"result": payload["result"]})]
    ids = {"call": subject.call_id, "run": subject.run_id}
    if run is not None:
        ids |= {"host": run.host, "project": run.project, "session": run.session}
    fields += _folded("Ids", fields_of({name: value for name, value in ids.items() if value}))
    contract = {
        key.removeprefix(_CONTRACT): value for key, value in payload.items() if key.startswith(_CONTRACT)
    }
    fields += _folded("Contract", fields_of(contract))
    for event in events:
        about = [Field("at", iso_micros(event.at)), *_ids(event), *fields_of(event.payload or {})]
        fields += _folded(f"Row {event.seq}, {event.kind}", about)
    return fields


def event_record(log: EventLog, seq: int) -> list[Field]:
    """The call that a row of the log is about, or its event, in full; one that is missing says so."""
    try:
        return record_document(log, seq)
    except NotFoundError:
        return [Field(f"Row {count(seq)} is {MISSING}")]


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
    return call_document(log, events)


def document_of(log: EventLog, event: Event) -> list[Field]:
    """The call that an event is about, if it is about one; else the event."""
    subject = event.subject
    if subject.call_id.startswith("call_"):
        found = log.events(run_id=subject.run_id, call_id=subject.call_id)
        return call_document(log, list(found) or [event])
    line = event_lines(log, [event.seq]).get(event.seq) or event_line(event)
    return event_document(event, line)
