"""Is what stands beside the log about undo and recovery what the log says, no more and no less?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from sb.decisions.namespace import RECOVERY_DISMISSED, RECOVERY_ESCALATED, RECOVERY_SETTLED, TOOL_DISPATCH
from sb.kernel.reversal_contracts import MutationState
from sb.kernel.reversibility import MutationStore, mutation_number
from sb.state import EventLog
from sb.store import driver

Report = Callable[[str], object]


class RecoveryTables:
    """Follows the events of one log, then compares mutations, assumptions and escalations with them."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._states: dict[int, str] = {}
        self._digests: dict[int, str] = {}
        self._escalated: dict[
            tuple[str, str], tuple[int, str]
        ] = {}  # call and cause to its event and approval
        self._dismissed: Counter[str] = Counter()  # how often something about a call was
        self._settled: set[str] = set()  # calls of which everything was

    def follow(self, row_id: int, kind: str, call_id: str, payload: dict[str, Any]) -> None:
        """Take in one event; a damaged one says nothing."""
        if kind == RECOVERY_ESCALATED:
            key = (call_id, str(payload.get("cause")))
            self._escalated[key] = (row_id, str(payload.get("approval_id")))
        elif kind == RECOVERY_DISMISSED:
            self._dismissed[call_id] += 1
        elif kind == RECOVERY_SETTLED:
            self._settled.add(call_id)
        elif kind == TOOL_DISPATCH:
            self._follow_call(row_id, payload)

    def _follow_call(self, row_id: int, payload: dict[str, Any]) -> None:
        phase, state = payload.get("phase"), payload.get("state")
        if "mutation" in payload:
            self._states[row_id] = MutationState.COMMITTED
            self._digests[row_id] = str(payload.get("mutation_digest"))
        number = mutation_number(self._log, str(payload.get("reverses", "")))
        if number is None:
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
        kept = dict(execute("SELECT id, state FROM mutations"))
        first = self._log.first_id
        for row_id, state in self._states.items():
            found = kept.pop(row_id, None)
            if found is None:
                report(f"the way back that row {row_id - first} bound is gone")
            elif found != state:
                report(f"what row {row_id - first} did is {found}, and the log says {state}")
        for row_id in kept:
            if row_id > pruned_through:
                report(f"row {row_id - first} has a way back that the log does not know")
        if self._log.keyed:
            self._check_digests(execute, report)
        self._check_escalations(execute, report, pruned_through)

    def _check_digests(self, execute: Callable[..., driver.Cursor], report: Report) -> None:
        store = MutationStore(self._log)
        for row_id, bound in self._digests.items():
            if store.kept_digest(execute, row_id) != bound:
                number = row_id - self._log.first_id
                report(f"the way back of row {number} is not what was bound, or digest.key was replaced")

    def _check_escalations(
        self, execute: Callable[..., driver.Cursor], report: Report, pruned_through: int
    ) -> None:
        columns = "call_id, cause, event_id, approval_id, state"
        dismissed: Counter[str] = Counter()
        for call_id, cause, event_id, approval_id, state in execute(f"SELECT {columns} FROM escalations"):
            said = self._escalated.pop((call_id, cause), None)
            if event_id > pruned_through and said != (event_id, approval_id):
                report(f"what a person has to look at of call {call_id} is not what the log says")
            if event_id > pruned_through and state == "dismissed":
                dismissed[call_id] += 1
        for call_id, _ in self._escalated:
            report(f"what a person has to look at of call {call_id} is gone")
        for call_id in (dismissed - self._dismissed).keys() - self._settled:
            report(f"what a person has to look at of call {call_id} was put aside by nobody")
