"""Recorded runs as answers: from the log, from replay packets, from hosts' transcripts, from files of traces."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.base.values.references import full_one, is_prefix
from sb.config import Config, load_config
from sb.errors import NotFoundError, UsageError
from sb.evals.answer import Answer
from sb.evals.exchange.messages import is_conversation, read_conversation
from sb.evals.exchange.recording import Recording, read_recording
from sb.evals.exchange.spans import is_spans, read_spans
from sb.evals.exchange.transcripts import host_of, read_transcript
from sb.kernel.contracts import SafetyClass, ToolErrorCode
from sb.kernel.replay.packet import RAN, Packet, Step
from sb.kernel.review.calls import CallRecord, calls_at, run_calls
from sb.kernel.review.runs import first_event, runs_at, stated_intent
from sb.kernel.trajectory_eval.model import RecordedCall
from sb.log.event_log import EventLog
from sb.log.kinds import RUN_FINISHED
from sb.runtime.parts import open_log, open_packets, open_registry

LARGEST_FILE = 256 << 20  # bytes
NOT_RECORDED = "[not recorded]"  # the value of an argument of which the log has only the name
_SHOWN = 80  # characters of an id in a message
_MICROSECONDS = 1e6
_DONE, _FAILED = "done", "failed"


def recorded_answer(run_id: str, config: Config) -> Answer:
    """A run of the log as an answer; its arguments are those of its replay packet where it was captured whole.

    The log has arguments masked and long ones clipped; what tools returned and the agent's last message it has not.

    Args:
        run_id: the run's id, or the beginning of it.

    Raises:
        NotFoundError: nothing of the run is on record.
        StoreError: the database cannot be used.
        DeniedError: the run's packet was changed.
    """
    log = open_log(config)
    run_id = _full_id(log, run_id)
    packet = _packet(run_id, config)
    first = first_event(log, run_id)
    if first is None and packet is None:
        raise NotFoundError(f"no run {one_line(run_id, _SHOWN)}", "sb log tail shows the newest")
    steps = packet.steps if packet is not None else ()
    calls = _logged_calls(log, run_id, {step.call_id: step for step in steps}) if first is not None else ()
    if len(calls) < len(steps):  # some were pruned from the log
        calls = tuple(_captured_call(step) for step in steps)
    seconds, cost = _spent(log, run_id, first)
    calls = tuple(_classed(calls, config))
    return Answer(calls=calls, cost_cents=cost, seconds=seconds, database=config.database)


def recorded_run(run_id: str, config: Config) -> tuple[str, str]:
    """The full id of a run on record, and what it was begun for; "" where its host says only that it is a session.

    Raises:
        NotFoundError: nothing of the run is on record.
        StoreError: the database cannot be used.
    """
    log = open_log(config)
    run_id = _full_id(log, run_id)
    first = first_event(log, run_id)
    if first is None:
        raise NotFoundError(f"no run {one_line(run_id, _SHOWN)}", "sb log tail shows the newest")
    run = runs_at(log, [first])[first]
    return run_id, stated_intent(run.intent, run.host)


def refused_tools(run_id: str, config: Config) -> tuple[str, ...]:
    """The tools of whose calls in a run policy or a person refused at least one, in their order; budgets do not count.

    Args:
        run_id: the run's whole id.
    """
    log = open_log(config)
    found = calls_at(log, sorted(run_calls(log, run_id)))
    refused = (
        call.tool_id for call in found.values() if call.payload.get("code") == ToolErrorCode.PERMISSION_DENIED
    )
    return tuple(dict.fromkeys(refused))


def recorded_file(path: Path, host: str = "", config: Config | None = None) -> list[Recording]:
    """The recordings of a file.

    It holds one of these, as JSON or as lines of JSON: recordings as `sb agent eval --record` writes them, chat messages
    of OpenAI's or Anthropic's APIs, OTLP spans, or the transcript of a coding agent's session. Calls of a transcript have
    the names and arguments under which `sb hook` judges them.

    Args:
        host: whose transcript it is; by default that is told from its records.
        config: whose settings class the calls of a transcript; by default this process's.

    Raises:
        UsageError: the file cannot be read, or is none of these; with file and line.
    """
    if host:
        return [read_transcript(path, host, config or _own_config())]
    records = list(_records(path))
    lines = [value for _, value in records]
    if not records:
        return []
    if all(map(is_spans, lines)):
        with _of_line(path, records[0][0]):
            return read_spans(lines)
    if is_conversation(lines):  # a message a line
        with _of_line(path, 1):
            return [read_conversation(lines)]
    if all(map(_is_recording, lines)):
        return [_recording(path, line, value) for line, value in records]
    found = host_of(path)
    if not found:
        raise UsageError(
            f"{path}: neither recordings, chat messages, OTLP spans nor a transcript that is known",
            "docs/reference/evals-exchange.md shows each",
        )
    return [read_transcript(path, found, config or _own_config())]


def answer_to(case_id: str, recordings: Sequence[Recording]) -> Answer:
    """The recorded answer to a case: the one with its id, or the only one there is if that has no case's id."""
    for recording in recordings:
        if recording.case_id == case_id:
            return recording.answer
    if len(recordings) == 1 and not recordings[0].case_id:
        return recordings[0].answer
    return Answer(error=f"no recorded answer to {one_line(case_id, _SHOWN)}")


def _full_id(log: EventLog, reference: str) -> str:
    if not is_prefix(reference):
        return reference
    rows = log.database.query(
        "SELECT DISTINCT run_id FROM events WHERE run_id >= ? AND run_id < ? LIMIT 8",
        (reference, reference + "\U0010ffff"),
    )
    return full_one(reference, [row[0] for row in rows])


def _packet(run_id: str, config: Config) -> Packet | None:
    """The run's packet if it was captured whole."""
    if not config.home.packets.exists():
        return None
    try:
        packet = open_packets(config).read(run_id)
    except NotFoundError:
        return None
    return packet if not packet.missing else None


def _logged_calls(log: EventLog, run_id: str, captured: dict[str, Step]) -> tuple[RecordedCall, ...]:
    firsts = sorted(run_calls(log, run_id))
    found = calls_at(log, firsts)
    return tuple(_logged_call(found[first], captured) for first in firsts if first in found)


def _logged_call(call: CallRecord, captured: dict[str, Step]) -> RecordedCall:
    step = captured.get(call.call_id)
    args = step.args if step is not None else call.args
    if isinstance(args, list):  # of a tool that was not known: only names are on record
        args = dict.fromkeys(map(str, args), NOT_RECORDED)
    word = call.payload.get("safety_class")
    return RecordedCall(
        call.tool_id,
        args if isinstance(args, dict) else {},
        _success(call.payload),
        SafetyClass(word) if word in list(SafetyClass) else None,
        call.took_ms,
        call.call_id,
    )


def _success(payload: dict[str, Any]) -> bool | None:
    """True if a call succeeded, by its newest event; None without an outcome, or with an unknown one."""
    if payload.get("phase") == "refused" or payload.get("state") == _FAILED:
        return False
    return True if payload.get("state") == _DONE else None


def _captured_call(step: Step) -> RecordedCall:
    args = step.args if isinstance(step.args, dict) else {}
    return RecordedCall(
        step.tool_id, args, step.verdict == RAN and not step.code, None, step.latency_ms, step.call_id
    )


def _classed(calls: Sequence[RecordedCall], config: Config) -> Iterator[RecordedCall]:
    """The calls, with the class of the tool's contract of now where the record has none, as of refused calls."""
    if all(call.safety_class is not None for call in calls):
        return iter(calls)
    registry, _ = open_registry(config)
    specs = {call.tool: registry.get(call.tool) for call in calls}
    return (
        call
        if call.safety_class is not None or (spec := specs[call.tool]) is None
        else replace(call, safety_class=spec.effective_class)
        for call in calls
    )


def _spent(log: EventLog, run_id: str, first: int | None) -> tuple[float, float | None]:
    """Seconds from a run's first event to its last, and its cost in cents if one was charged."""
    if first is None:
        return 0.0, None
    run = runs_at(log, [first])[first]
    finished = next(log.events(run_id=run_id, kind=RUN_FINISHED, newest_first=True, limit=1), None)
    payload = (finished.payload if finished is not None else None) or {}
    cost = (payload.get("budget") or {}).get("cost_usd_cents_used")
    return (run.last_at - run.started_at) / _MICROSECONDS, float(cost) if cost else None


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """The JSON values of a file, each with its line: one a line, or a single document, or the items of its list."""
    content = _content(path)
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        yield from _lines(path, content)
        return
    several = isinstance(whole, list) and not is_conversation(whole)
    yield from ((1, value) for value in (whole if several else [whole]))


def _lines(path: Path, content: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(content.split("\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UsageError(
                    f"{path}:{number}: not JSON: {one_line(str(error), _SHOWN)}", "one JSON value a line"
                ) from None


def _content(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise UsageError(f"{path}: {size:,} bytes, more than {LARGEST_FILE:,}", "split it")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8") from None


def _is_recording(value: Any) -> bool:
    return is_conversation(value) or (
        isinstance(value, dict)
        and (isinstance(value.get("calls"), list) or _conversation_in(value) is not None)
    )


def _conversation_in(record: dict[str, Any]) -> Any:
    """The list of messages in a record: under `messages`, or a response's under `output`."""
    return next((record[name] for name in ("messages", "output") if is_conversation(record.get(name))), None)


def _recording(path: Path, line: int, value: Any) -> Recording:
    with _of_line(path, line):
        messages = value if isinstance(value, list) else _conversation_in(value)
        if messages is None:
            return read_recording(value)
        found = read_conversation(messages)
        if isinstance(value, list):
            return found
        case_id = value.get("id", value.get("case_id", ""))
        return replace(found, case_id=str(case_id or ""), input=value.get("input", found.input))


@contextmanager
def _of_line(path: Path, line: int) -> Iterator[None]:
    """Report what cannot be read as an error of this line."""
    try:
        yield
    except (ValueError, TypeError, AttributeError) as error:  # records of others may have anything anywhere
        raise UsageError(f"{path}:{line}: {one_line(str(error), _SHOWN)}") from None


def _own_config() -> Config:
    return load_config(env=os.environ, cwd=Path.cwd(), flags={})
