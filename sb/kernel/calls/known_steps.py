"""Named steps as the log knows them: announced, done or free to be run.

The tables `intents` and `steps` are for finding; a row of them can be edited. What decides whether a step is repeated is
read from the events of its run: those that name it, while a process asks for one step, as a hook does; else all of
them, and from then on only what is new.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

from sb.base.values.canonical import digest
from sb.base.values.frozen import mutable
from sb.errors import StoreCorrupt
from sb.log.event import EVENT_COLUMNS, SEQ_MASK
from sb.log.event_log import EventLog
from sb.log.kinds import PRUNED, TOOL_DISPATCH
from sb.log.people_events import sound
from sb.store import driver

Execute = Callable[..., driver.Cursor]
_MOST_RUNS = 64  # of which the steps are remembered
_OF_RUN = (
    f"SELECT {EVENT_COLUMNS} FROM events WHERE run_id = ? AND id > ? AND kind = '{TOOL_DISPATCH}' ORDER BY id"
)
# The events that announce a step, and blanked ones. Before announcements had a key they had a name.
_NAMING = f"""
SELECT {EVENT_COLUMNS} FROM events WHERE run_id = ? AND kind = '{TOOL_DISPATCH}' AND (payload IS NULL
  OR instr(payload, ?) OR (instr(payload, '"step"') AND instr(payload, '"phase":"intent"')
    AND NOT instr(payload, '"step_key"'))) ORDER BY id
"""
_OF_CALL = f"SELECT {EVENT_COLUMNS} FROM events WHERE run_id = ? AND call_id = ? AND kind = '{TOOL_DISPATCH}' ORDER BY id"


def step_key(run_id: str, tool_id: str, name: str) -> str:
    """The key of a named step of a run."""
    return digest(f"{run_id}\n{tool_id}\n{name}".encode())


class LoggedStep(NamedTuple):
    """A named step that was announced and has not failed.

    Args:
        step_digest: of what is kept of it; "" where nothing is.
    """

    call_id: str
    args_digest: str
    done: bool = False
    step_digest: str = ""


@mutable
class _Run:
    last_id: int = 0
    steps: dict[str, LoggedStep] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)  # of named calls, by call


class KnownSteps:
    """The named steps of one log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._runs: dict[str, _Run] = {}
        self._first: dict[str, str] = {}  # the step of a run that was asked for first
        self._lock = threading.Lock()

    def find(self, execute: Execute, run_id: str, key: str) -> LoggedStep | None:
        """The step as the log has it; None if it may be run as far as the log says, or what it said was pruned.

        Args:
            execute: of the transaction or snapshot in which that holds.

        Raises:
            StoreCorrupt: an event of the run was changed, or blanked and not by pruning.
        """
        if self._first.setdefault(run_id, key) == key and run_id not in self._runs:
            return self._find_alone(execute, run_id, key)
        run = self._runs.get(run_id) or _Run()
        rows = execute(_OF_RUN, (run_id, run.last_id)).fetchall()
        with self._lock:  # never while asking the database
            for row in rows:
                if row[0] > run.last_id:
                    self._take_in(execute, run, row)
                    run.last_id = row[0]
            if run_id not in self._runs and len(self._runs) >= _MOST_RUNS:
                del self._runs[next(iter(self._runs))]
            self._runs[run_id] = run
            while len(self._first) > _MOST_RUNS:
                del self._first[next(iter(self._first))]
        return run.steps.get(key)

    def _find_alone(self, execute: Execute, run_id: str, key: str) -> LoggedStep | None:
        """The step from the events that name it, for a process that asks for no other: a run may have thousands."""
        run = _Run()
        for row in execute(_NAMING, (run_id, key)).fetchall():
            self._take_in(execute, run, row)
        for call_id in list(run.keys):
            for row in execute(_OF_CALL, (run_id, call_id)).fetchall():
                self._take_in(execute, run, row)
        return run.steps.get(key)

    def _take_in(self, execute: Execute, run: _Run, row: tuple[Any, ...]) -> None:
        call_id, body = row[7], row[12]
        if body is None:
            if row[0] > self._pruned_through(execute):
                seq = row[0] - self._log.first_id
                raise StoreCorrupt(f"row {seq} of the log was blanked", "sb log verify")
            return
        if call_id not in run.keys and '"step' not in body:
            return
        event = sound(self._log, row)
        payload = event.payload or {}
        if payload.get("phase") == "intent":
            name, about = payload.get("step"), event.subject
            key = payload.get("step_key") or (name and step_key(about.run_id, about.tool_id, str(name)))
            if key:
                run.keys[call_id] = key
                run.steps[key] = LoggedStep(call_id, str(payload.get("args_digest", "")))
        elif payload.get("phase") in ("outcome", "settled") and call_id in run.keys:
            self._end(run, run.keys[call_id], call_id, payload)

    @staticmethod
    def _end(run: _Run, key: str, call_id: str, payload: dict[str, Any]) -> None:
        known = run.steps.get(key)
        if known is None or known.call_id != call_id or payload.get("state") == "in_doubt":
            return
        if payload.get("state") == "done":
            step_digest = str(payload.get("step_digest", ""))
            run.steps[key] = LoggedStep(call_id, known.args_digest, done=True, step_digest=step_digest)
        else:
            del run.steps[key]

    def _pruned_through(self, execute: Execute) -> int:
        rows = execute(
            "SELECT payload FROM events WHERE id BETWEEN ? AND ? AND kind = ? AND payload IS NOT NULL",
            (self._log.first_id, self._log.first_id + SEQ_MASK, PRUNED),
        ).fetchall()
        through = [json.loads(body).get("through", 0) for (body,) in rows]
        return self._log.first_id + max((int(item) for item in through), default=0)
