"""One attempt at a workflow: runs each step once, or returns its recorded result."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sb.errors import DeniedError, SBError, UsageError
from sb.kernel.calls.call import Ask
from sb.kernel.calls.intents import KnownStep, step_of
from sb.kernel.contracts import Assumption, ToolResult
from sb.kernel.durable_execution.claims import OWNED, Claim
from sb.kernel.durable_execution.errors import CallFailed, ReplayMismatch, StepInDoubt
from sb.kernel.durable_execution.seals import POSITION_BITS, Seals
from sb.kernel.durable_execution.values import frozen, recordable, require_function, require_name
from sb.kernel.error_classifier.error_codes import code_for
from sb.kernel.execution.executor import ToolExecutor, current_run
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.kernel.results import OUTCOME_UNKNOWN
from sb.kernel.run_context import RunContext
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.store import driver

LAST_POSITION = (1 << POSITION_BITS) - 1

STEP, IDEMPOTENT, CALL = "step", "idempotent", "call"
_ANNOUNCE = f"INSERT INTO workflow_steps SELECT ?, ?, ?, ?, NULL, ? WHERE {OWNED}"
_CHECKPOINT = f"UPDATE workflow_steps SET result = ?, tag = ? WHERE id = ? AND {OWNED}"


@dataclass(frozen=True)
class Limits:
    """Values of a journal, and how they are stored.

    Args:
        max_bytes: of the arguments of a workflow, and of each result, as JSON.
        power: whether what is announced survives power loss.
        kill: what is stopped. agent: who runs it, "" if nobody said.
        seals: of the journal's rows.
    """

    max_bytes: int
    power: bool
    kill: KillSwitch
    seals: Seals
    agent: str = ""


def call_step(position: int, name: str) -> str:
    """The executor's name for the call at a position of a workflow."""
    return f"{position} {name}"


@dataclass(frozen=True)
class Place:
    """Where a step is kept, and what stands there before its result."""

    id: int
    name: str
    kind: str
    args_digest: str


class Workflow:
    """The argument of a workflow's function: runs its steps, one after the other.

    Args:
        workflow_id: the caller's name for it.
        run_id: the run under which its tool calls are made, the same in every attempt.
        recorded: how many steps are on record.
        seal: the tag of the workflow's row with this result.
    """

    def __init__(
        self,
        log: EventLog,
        claim: Claim,
        limits: Limits,
        workflow_id: str,
        run_id: str,
        recorded: int,
        seal: Callable[[str | None], str],
    ) -> None:
        self.workflow_id = workflow_id
        self.run_id = run_id
        self._seal = seal
        self._count = limits.seals.count(workflow_id)
        self._log = log
        self._claim = claim
        self._limits = limits
        self._recorded = recorded
        self._position = 0
        self._turn_lock = threading.Lock()
        self._failed = ""  # the step that ended this attempt
        self._contexts: dict[str, RunContext] = {}

    def step(
        self, name: str, fn: Callable[..., Any], /, *args: Any, idempotent: bool = False, **kwargs: Any
    ) -> Any:
        """Run `fn(*args, **kwargs)` once, or give back what it gave in an earlier attempt.

        The step is announced before `fn` runs and its result is recorded afterwards. One that was announced and has
        no result is in doubt, and is not repeated. An exception of `fn` means that nothing happened, and the next
        attempt runs it again, unless it is a timeout or a lost connection, which leave that open. It ends the
        attempt: what shall decide about the rest of the workflow has to be a result.

        Args:
            name: what the step is called; the same at this position in every attempt.
            args, kwargs: JSON values; `fn` gets a copy.
            idempotent: whether it does no harm to run it again when it is not known whether it happened.

        Returns:
            What `fn` returned, in plain JSON types.

        Raises:
            DeniedError: a kill stops it, so `fn` was not called.
            StepInDoubt: nobody knows whether it happened; `WorkflowJournal.settle` says.
            ReplayMismatch: another step, or this one with other arguments, is on record here.
            LeaseLost: somebody else runs this workflow by now.
            UsageError: arguments or result are not JSON, or too large, or the attempt is over.
        """
        require_function(fn)
        with self._turn(name):
            given, canonical = frozen({"args": args, "kwargs": kwargs}, f"the arguments of step {name!r}")
            kind = IDEMPOTENT if idempotent else STEP
            place, done = self._announce(name, kind, canonical)
            if done is not None:
                return json.loads(done)
            self._refuse_killed(place, name)
            try:
                value = fn(*given["args"], **given["kwargs"])
            except Exception as error:
                if code_for(error) not in OUTCOME_UNKNOWN:
                    self._withdraw(place, error)
                raise
            return self._checkpoint(place, name, value)

    def call(
        self,
        executor: ToolExecutor,
        ctx: RunContext,
        tool_id: str,
        args: dict[str, Any] | None = None,
        *,
        step: str = "",
        wait_s: float = 0.0,
        assumptions: Sequence[Assumption | str] = (),
        intent: str = "",
        asks: Sequence[Ask] = (),
    ) -> Any:
        """Make a tool call a step. The executor's own record of it makes it happen once, also when the process died
        between the effect and this journal's record.

        Args:
            executor: one whose log is in the journal's database.
            ctx: who calls, with which budget; the call belongs to this workflow's run, not to the context's.
            step: what the step is called; by default the tool's id.
            wait_s, assumptions, intent, asks: see `ToolExecutor.execute`.

        Returns:
            The result's data. If the process died before it was recorded here, it is what the log keeps of it:
            redacted.

        Raises:
            CallFailed: it did not succeed, and is made again by the next attempt; its `result` says why.
            StepInDoubt: nobody knows whether it happened, or its result was not kept.
            ReplayMismatch, LeaseLost, UsageError: as for `step`.
        """
        if executor.event_log.database_id != self._log.database_id:
            raise UsageError(
                "the executor keeps its log in another database than this journal",
                "give both the same event log: only then is a call known after a crash",
            )
        name = step or tool_id
        with self._turn(name):
            asked = {"tool": tool_id, "args": args or {}}
            given, canonical = frozen(asked, f"the arguments of step {name!r}")
            known_before = self._position < self._recorded
            place, done = self._announce(name, CALL, canonical)
            if done is not None:
                return json.loads(done)
            if known_before:
                executor.settle_orphans()  # a dead process's call that leaves nothing behind may be made again
            if ctx.run_id not in self._contexts:
                within = ctx.run_id == self.run_id
                self._contexts[ctx.run_id] = ctx if within else replace(ctx, run_id=self.run_id)
            step_name = call_step(self._position - 1, name)
            result = executor.execute(
                self._contexts[ctx.run_id],
                tool_id,
                given["args"],
                step=step_name,
                wait_s=wait_s,
                assumptions=assumptions,
                intent=intent,
                asks=asks,
            )
            if not result.success or result.data is None:
                self._require_usable(executor, result, place, name, step_name)
            return self._checkpoint(place, name, result.data)

    def finish(self, value: Any) -> Any:
        """Record what the workflow gave; `WorkflowJournal.run` does it when the function returns.

        Raises:
            ReplayMismatch: there are more steps on record than this attempt asked for.
            UsageError: the value cannot be kept, or a step had failed.
        """
        self._refuse_after_failure("the workflow's end")
        if self._position < self._recorded:
            raise ReplayMismatch(
                f"workflow {self.workflow_id!r} ended after {self._position} steps and {self._recorded} are on record",
                _CODE_CHANGED,
            )
        value, text = recordable(
            value, f"the result of workflow {self.workflow_id!r}", self._limits.max_bytes
        )
        self._claim.finish(text, self._seal(text))
        self._count.end()
        return value

    def close(self) -> None:
        """Let go of what is open for this attempt."""
        self._count.close()

    @contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        """One step at a time, and none after one that failed: else the next attempt could not follow."""
        require_name(name, "the name of a step")
        self._refuse_after_failure(f"step {name!r}")
        if not self._turn_lock.acquire(blocking=False):
            raise UsageError(
                f"step {name!r} was asked for while another step is running",
                "the steps of a workflow come one after the other",
            )
        try:
            yield
        except BaseException:
            self._failed = name
            raise
        finally:
            self._turn_lock.release()

    def _refuse_after_failure(self, what: str) -> None:
        if self._failed:
            raise UsageError(
                f"{what} cannot follow step {self._failed!r}, which failed",
                "let its exception end the attempt, or catch it inside the step and return what it means",
            )

    def _announce(self, name: str, kind: str, canonical: bytes) -> tuple[Place, str | None]:
        """Where the step is kept, and its result if it is done; otherwise it is on record and may run."""
        position = self._position
        if position > LAST_POSITION:
            raise UsageError(f"a workflow has at most {LAST_POSITION + 1} steps")
        at = self._claim.number << POSITION_BITS | position
        place = Place(at, name, kind, self._log.digest(canonical))
        self._position += 1
        if position < self._recorded:
            place, done = self._recall(place)
            if done is None:
                self._claim.renew()
            return place, done
        tag = self._tag(place, None)
        self._claim.change(_ANNOUNCE, (at, name, kind, place.args_digest, tag), power=self._limits.power)
        self._recorded += 1
        if kind == STEP:  # another one may be repeated, or the executor knows it
            try:
                self._count.announced(position)
            except SBError as error:
                self._withdraw(place, error)
                raise
        return place, None

    def _tag(self, place: Place, result: str | None) -> str:
        return self._limits.seals.step(
            self.run_id, place.id, place.name, place.kind, place.args_digest, result
        )

    def _recall(self, asked: Place) -> tuple[Place, str | None]:
        """The step as it is on record, with its result; None for that if it was announced and may run again."""
        name = asked.name
        sql = "SELECT name, kind, args_digest, result, tag FROM workflow_steps WHERE id = ?"
        rows = self._log.database.query(sql, (asked.id,))
        if not rows:
            raise ReplayMismatch(f"step {name!r} of workflow {self.workflow_id!r} is gone from the record")
        known, kind, known_digest, result, tag = rows[0]
        place = Place(asked.id, known, kind, known_digest)
        here = f"step {self._position} of workflow {self.workflow_id!r}"
        if known != name:
            raise ReplayMismatch(f"{here} is {known!r} on record, not {name!r}", _CODE_CHANGED)
        if known_digest != asked.args_digest:
            raise ReplayMismatch(f"{here}, {name!r}, had other arguments", _CODE_CHANGED)
        self._limits.seals.require(f"{here}, {name!r},", tag, self._tag(place, result))
        if result is None and kind == STEP:
            raise self._in_doubt(name, "was announced and its outcome is unknown: not repeated")
        return place, None if result is None else str(result)

    def _in_doubt(self, name: str, what: str) -> StepInDoubt:
        settle = f"journal.settle({self.workflow_id!r}, {name!r}"
        return StepInDoubt(
            f"step {name!r} of workflow {self.workflow_id!r} {what}",
            f"find out whether it happened, then {settle}, result) or {settle}, done=False)",
        )

    def _refuse_killed(self, place: Place, name: str) -> None:
        """Raise DeniedError if a kill stops this attempt, or if that cannot be told."""
        agents = {self._limits.agent, *(ctx.agent_name for ctx in self._contexts.values())}
        within = current_run()
        if within is not None:
            agents.add(within[1].agent_name)
        try:
            kill = self._limits.kill.check_function(agents, self.run_id)
            why = "" if kill is None else kill.sentence
        except SBError as error:
            why = f"whether a kill stops it cannot be told: {error.message}"
        if why:
            denied = DeniedError(f"step {name!r} of workflow {self.workflow_id!r} was not run: {why}")
            self._withdraw(place, denied)
            raise denied

    def _withdraw(self, place: Place, error: BaseException) -> None:
        """Take the announcement back: the step failed, so the next attempt may run it."""
        try:
            self._count.withdrawn(place.id & LAST_POSITION)
            self._claim.change(f"DELETE FROM workflow_steps WHERE id = ? AND {OWNED}", (place.id,))
        except (SBError, driver.Error) as failed:
            error.add_note(f"The step stays in doubt: {failed}")

    def _checkpoint(self, place: Place, name: str, value: Any) -> Any:
        what = f"step {name!r} of workflow {self.workflow_id!r} ran, and its result"
        hint = f"journal.settle({self.workflow_id!r}, {name!r}, result) records another; it is not repeated"
        value, text = recordable(value, what, self._limits.max_bytes, hint)
        self._claim.change(_CHECKPOINT, (text, self._tag(place, text), place.id))
        return value

    def _require_usable(
        self, executor: ToolExecutor, result: ToolResult, place: Place, name: str, step_name: str
    ) -> None:
        """Raise unless the call succeeded with data that is really None; what the executor keeps of it decides."""
        known = self._known(executor, result.tool_id, step_name)
        if known is None and result.success:
            return
        if known is None:
            failed = CallFailed(
                f"step {name!r} failed: {result.error_message}", result, "run the workflow again"
            )
            self._withdraw(place, failed)
            raise failed
        if not known.done:
            raise StepInDoubt(
                f"step {name!r} of workflow {self.workflow_id!r} is call {known.call_id}, whose outcome is unknown",
                f"find out whether it happened: sb recovery settle {known.call_id}; then run the workflow again",
            )
        if known.error:
            hint = f"it happened; journal.settle({self.workflow_id!r}, {name!r}, result) records what it gave"
            raise CallFailed(f"step {name!r} gave no usable answer: {known.error}", result, hint)
        if known.result is None:
            raise self._in_doubt(name, f"happened as call {known.call_id}, and its result was not kept")

    def _known(self, executor: ToolExecutor, tool_id: str, step_name: str) -> KnownStep | None:
        step = step_of(Subject(run_id=self.run_id, tool_id=tool_id), step_name, "")
        with self._log.database.snapshot() as connection:
            try:
                executor.intents.refuse_known_step(connection.execute, self.run_id, step)
            except KnownStep as known:
                return known
        return None


_CODE_CHANGED = (
    "a workflow asks for the same steps in every attempt: finish it with the code that began it, or forget it"
)
