"""Compare the tables of undo and recovery with the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from sb.kernel.reversibility.contracts import MutationState
from sb.kernel.reversibility.mutations import MutationStore, mutation_number
from sb.log.event_log import EventLog
from sb.log.kinds import RECOVERY_DISMISSED, RECOVERY_ESCALATED, RECOVERY_SETTLED, TOOL_DISPATCH
from sb.store import driver

Report = Callable[[str], object]


class RecoveryTables:
    """Follows the events of one log, then compares mutations, assumptions and escalations with them."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._states: dict[int, str] = {}
        self._digests: dict[int, str] = {}
        self._owners: dict[int, tuple[str, str]] = {}  # call and run of each mutation
        self._in_part: set[str] = set()  # calls that undid a part, so that their mutation stays as it was
        self._escalated: dict[tuple[str, str], dict[str, Any]] = {}  # by call and cause, in order
        self._put_aside: set[str] = set()  # escalations that somebody dismissed
        self._dismissed: Counter[str] = Counter()  # how often something about a call was
        self._settled: set[str] = set()  # calls of which everything was

    def follow(self, row: tuple[Any, ...], payload: dict[str, Any]) -> None:
        """Take in one row of the log; a damaged one says nothing."""
        row_id, kind, call_id = row[0], row[2], row[7]
        if kind == RECOVERY_ESCALATED:
            self._follow_escalation(row, payload)
        elif kind == RECOVERY_DISMISSED:
            self._dismissed[call_id] += 1
            self._put_aside.add(str(payload.get("escalation")))
        elif kind == RECOVERY_SETTLED:
            self._settled.add(call_id)
        elif kind == TOOL_DISPATCH:
            self._follow_call(row_id, row, payload)

    def _follow_escalation(self, row: tuple[Any, ...], payload: dict[str, Any]) -> None:
        known = {"event_id": row[0], "approval_id": str(payload.get("approval_id"))}
        known |= {"run_id": row[3], "agent": row[5], "tool_id": row[6]}
        if "escalation" in payload:  # of an older one neither is said
            number = payload.get("mutation_row")
            known["id"] = str(payload["escalation"])
            known["mutation_id"] = None if number is None else self._log.first_id + int(number)
        key = (row[7], str(payload.get("cause")))
        before = self._escalated.get(key)
        if before is not None:  # asked about again: the row keeps the id of the first time
            known.pop("id", None)
            known |= {"id": before["id"]} if "id" in before else {}
        self._escalated[key] = known

    def _follow_call(self, row_id: int, row: tuple[Any, ...], payload: dict[str, Any]) -> None:
        phase, state = payload.get("phase"), payload.get("state")
        if "mutation" in payload:
            self._owners[row_id] = (row[7], row[3])
            self._states[row_id] = MutationState.COMMITTED
            self._digests[row_id] = str(payload.get("mutation_digest"))
        number = mutation_number(self._log, str(payload.get("reverses", "")))
        if payload.get("in_part"):
            self._in_part.add(row[7])
        if number is None or row[7] in self._in_part:
            return
        if phase == "intent":
            self._states[number] = MutationState.REVERSING
        elif phase in ("outcome", "settled") and state != "in_doubt":
            self._states[number] = MutationState.REVERSED if state == "done" else MutationState.COMMITTED

    def check(self, execute: Callable[..., driver.Cursor], report: Report, pruned_through: int) -> None:
        """Compare, in the snapshot that was walked.

        Args:
            pruned_through: the key of the last event whose payload may have been pruned.
        """
        mutations = dict(execute("SELECT id, state FROM mutations"))
        self._check_owners(execute, report)
        first = self._log.first_id
        for row_id, state in self._states.items():
            found = mutations.pop(row_id, None)
            if found is None:
                report(f"the undo record that row {row_id - first} bound is gone")
            elif found != state:
                report(f"what row {row_id - first} did is {found}, and the log says {state}")
        for row_id in mutations:
            if row_id > pruned_through:
                report(f"row {row_id - first} has an undo record that the log does not know")
        if self._log.keyed:
            self._check_digests(execute, report)
        self._check_escalations(execute, report, pruned_through)

    def _check_owners(self, execute: Callable[..., driver.Cursor], report: Report) -> None:
        for row_id, call_id in execute("SELECT id, call_id FROM mutations"):
            if row_id in self._owners and self._owners[row_id][0] != call_id:
                report(f"mutations: call_id of row {row_id - self._log.first_id} is not what the log says")
        for row_id, run_id in execute("SELECT mutation_id, run_id FROM assumptions"):
            if row_id in self._owners and self._owners[row_id][1] != run_id:
                report(f"assumptions: run_id of row {row_id - self._log.first_id} is not what the log says")

    def _check_digests(self, execute: Callable[..., driver.Cursor], report: Report) -> None:
        store = MutationStore(self._log)
        for row_id, bound in self._digests.items():
            if store.kept_digest(execute, row_id) != bound:
                number = row_id - self._log.first_id
                report(f"the undo record of row {number} is not what was bound, or digest.key was replaced")

    def _check_escalations(
        self, execute: Callable[..., driver.Cursor], report: Report, pruned_through: int
    ) -> None:
        cursor = execute("SELECT * FROM escalations ORDER BY number")
        columns = [column[0] for column in cursor.description]
        numbers = {key: number for number, key in enumerate(self._escalated, 1)}
        dismissed: Counter[str] = Counter()
        for values in cursor.fetchall():
            found = dict(zip(columns, values, strict=True))
            key = (found["call_id"], found["cause"])
            record = self._escalated.pop(key, None)
            if record is None:
                if not self._log.first_id < found["event_id"] <= pruned_through:
                    report(f"what a person has to look at of call {key[0]} is not what the log says")
                continue
            if (
                pruned_through > self._log.first_id
            ):  # an earlier event of it, which gave the id, may be pruned
                wanted = {name: value for name, value in record.items() if name != "id"}
            else:
                wanted = record | {"number": numbers[key]}
            for name in wanted:
                if found[name] != wanted[name]:
                    report(f"escalations {found['id']}: {name} is not what the log says")
            if found["state"] == "dismissed":
                dismissed[key[0]] += 1
            elif found["state"] != "open":
                report(f"escalations {found['id']}: state is not what the log says")
            elif found["id"] in self._put_aside:
                report(f"escalations {found['id']}: state is open, and the log says that it was put aside")
        for call_id, _ in self._escalated:
            report(f"what a person has to look at of call {call_id} is gone")
        for call_id in (dismissed - self._dismissed).keys() - self._settled:
            report(f"what a person has to look at of call {call_id} was put aside by nobody")
