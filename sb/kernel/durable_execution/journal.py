"""The workflow journal: begin, resume, finish and list workflows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from typing import Any

from sb.base.sources import micros
from sb.base.values.canonical import canonical_bytes
from sb.base.values.frozen import frozen
from sb.errors import NotFoundError, SBError, UsageError
from sb.kernel.calls.intents import STEP_TOOL, Intents, step_name
from sb.kernel.durable_execution import doubt
from sb.kernel.durable_execution.claims import Claim, Execute, is_claimed, refuse_claimed
from sb.kernel.durable_execution.errors import WorkflowConflict
from sb.kernel.durable_execution.seals import POSITION_BITS, Seals
from sb.kernel.durable_execution.values import recordable, require_function, require_name
from sb.kernel.durable_execution.workflow import CALL, LAST_POSITION, STEP, Limits, Workflow, call_step
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import WORKFLOW_SETTLED
from sb.store import driver


@frozen
class UnfinishedWorkflow:
    """A workflow that was begun and has no result.

    Args:
        started_at: microseconds since the epoch.
        steps: how many are done.
        claimed: whether somebody may be running it now.
        in_doubt: the step of which nobody knows whether it happened, or "". Of a tool call the executor knows:
            `executor.in_doubt()` lists it under this run.
    """

    workflow_id: str
    name: str
    run_id: str
    args: dict[str, Any] = field(repr=False)
    started_at: int
    steps: int
    claimed: bool
    in_doubt: str


@frozen
class Decision:
    """An operator's decision about a step.

    Args:
        said: verdict, name and reason. signed: the signed statement.
    """

    said: dict[str, str]
    signed: dict[str, Any]


class WorkflowJournal:
    """Runs workflows that survive their process: each finished step is on record, and none runs twice.

    Arguments of workflows and results of steps are kept as they were given, since a resumed workflow needs them;
    they are in the journal's own tables and in no event. `forget` removes them.

    Args:
        log: whose database keeps the journal; its clock and ids are used.
        lease_s: seconds for which a process that cannot be seen from here (in another container) keeps its claim
            after its last step began: more than its longest step takes. On one host the process itself counts.
        max_bytes: of the arguments of a workflow, and of each result, as JSON.
        power: whether an announced step survives power loss (one fsync each), not only the death of the process.
        kill_switch: what is stopped; by default as the log says where nobody is enrolled.
    """

    def __init__(
        self,
        log: EventLog,
        *,
        lease_s: float = 300.0,
        max_bytes: int = 1 << 20,
        power: bool = False,
        kill_switch: KillSwitch | None = None,
    ) -> None:
        if not lease_s > 0:
            raise UsageError(f"a lease is {lease_s!r} seconds, must be more than 0")
        self._log = log
        self._lease_s = lease_s
        self._seals = Seals(log)
        self._limits = Limits(max_bytes, power, kill_switch or KillSwitch(log), self._seals)

    def run(
        self,
        name: str,
        workflow_id: str,
        fn: Callable[..., Any],
        args: dict[str, Any] | None = None,
        *,
        agent: str = "",
    ) -> Any:
        """Begin a workflow, or go on with it where an earlier attempt ended.

        Args:
            name: which workflow it is.
            workflow_id: which of them; one id is one workflow for good.
            fn: called as `fn(workflow, **args)`; asks for the same steps in every attempt.
            args: a JSON object, the same in every attempt.
            agent: who runs it: a kill of this agent stops its steps, as one of the run that it is inside of does.

        Returns:
            What `fn` returned, in plain JSON types; of a finished workflow the recorded result, without calling it.

        Raises:
            WorkflowConflict: the id has another name, or other arguments.
            WorkflowClaimed: somebody else is running it.
            ReplayMismatch, StepInDoubt, CallFailed, LeaseLost: see `Workflow`.
            StoreCorrupt: what is on record of it was changed or removed by something else.
            UsageError: something cannot be recorded.
            Exception: whatever `fn` raises; the workflow can be run again.
        """
        require_function(fn)
        require_name(name, "the name of a workflow")
        require_name(workflow_id, "the id of a workflow")
        if args is not None and not isinstance(args, dict):
            raise UsageError(f"the arguments of a workflow are an object, not {type(args).__name__}")
        given, text = recordable(
            args or {}, f"the arguments of workflow {workflow_id!r}", self._limits.max_bytes
        )
        claim = Claim(self._log, self._lease_s)
        begun = self._claim(claim, name, workflow_id, text, replace(self._limits, agent=agent))
        if isinstance(begun, str):
            return json.loads(begun)
        try:
            return begun.finish(fn(begun, **given))
        except BaseException as error:
            try:
                claim.release()
            except (SBError, driver.Error) as failed:
                error.add_note(f"The claim could not be released: {failed}")
            else:
                self._log_doubt(begun.run_id, error)
            raise
        finally:
            begun.close()

    def unfinished(self) -> list[UnfinishedWorkflow]:
        """Unfinished workflows, oldest first: `run` each again unless it is claimed or in doubt."""
        rows = self._log.database.query(
            "SELECT w.id, w.name, w.run_id, w.args, w.started_at, w.owner, w.lease_until, w.number,"
            " s.id, s.name, s.kind, s.result IS NOT NULL"
            " FROM workflows AS w LEFT JOIN workflow_steps AS s ON s.id ="
            " (SELECT max(id) FROM workflow_steps WHERE id >= w.number << ? AND id < (w.number + 1) << ?)"
            " WHERE w.result IS NULL ORDER BY w.number",
            (POSITION_BITS, POSITION_BITS),
        )
        now = self._log.clock.now()
        found = []
        for row in rows:
            claimed = is_claimed(row[5], row[6], now)
            last, name, kind, done = row[8:]
            steps = 0 if last is None else last - (row[7] << POSITION_BITS) + bool(done)
            doubt = name if last is not None and not done and kind == STEP and not claimed else ""
            workflow_id, named, run_id, args, started_at = row[:5]
            found.append(
                UnfinishedWorkflow(
                    workflow_id, named, run_id, json.loads(args), started_at, steps, claimed, doubt
                )
            )
        return found

    def settle(
        self,
        workflow_id: str,
        step: str,
        result: Any = None,
        *,
        done: bool = True,
        decision: Decision | None = None,
    ) -> None:
        """Record, on the log too, whether the step in doubt happened, so that the workflow can go on.

        Args:
            step: its name.
            result: what it gave, if it happened.
            done: False if it did not happen: the next attempt runs it.
            decision: who says so, where an operator does.

        Raises:
            NotFoundError: there is no such workflow, or this step of it is not in doubt.
            WorkflowClaimed: somebody is running it.
            StoreCorrupt: what is on record of the step was changed by something else.
            UsageError: the result cannot be kept, or it is a tool call, which is settled where calls are.
        """
        if not done and result is not None:
            raise UsageError("a step that did not happen has no result")
        _, text = recordable(result, f"the result of step {step!r}", self._limits.max_bytes)
        with self._log.write(power=True) as write:
            number, run_id = self._free(write.execute, workflow_id)
            place = self._open_step(write.execute, number, run_id, step, done)
            if place is None:
                raise NotFoundError(
                    f"step {step!r} of workflow {workflow_id!r} is not in doubt",
                    "WorkflowJournal.unfinished() names those that are",
                )
            sql = "SELECT name, kind, args_digest, result, tag FROM workflow_steps WHERE id = ?"
            *row, result_before, tag = write.execute(sql, (place,)).fetchone()
            sealed = self._seals.step(run_id, place, *row, result_before)
            self._seals.require(f"step {step!r} of workflow {workflow_id!r}", tag, sealed)
            if done:
                tag = self._seals.step(run_id, place, *row, text)
                write.execute(
                    "UPDATE workflow_steps SET result = ?, tag = ? WHERE id = ?", (text, tag, place)
                )
            else:
                self._seals.count(workflow_id).withdrawn(place & LAST_POSITION)
                write.execute("DELETE FROM workflow_steps WHERE id = ?", (place,))
            subject = Subject(run_id, "", "", STEP_TOOL, doubt.step_id(run_id, place))
            untrusted = {"workflow": workflow_id, "step": step} | (decision.said if decision else {})
            facts = {"done": done} | ({"signed": decision.signed} if decision else {})
            write.append(WORKFLOW_SETTLED, untrusted, subject, facts)

    def forget(self, workflow_id: str) -> None:
        """Remove a workflow, its arguments and results, or what is left of it; run again, it would begin anew.

        Raises:
            NotFoundError: there is none of that id.
            WorkflowClaimed: somebody is running it.
        """
        with self._log.database.write() as execute:
            try:
                number, _ = self._free(execute, workflow_id)
            except NotFoundError:
                if self._seals.count(workflow_id).remove():
                    return
                raise
            self._seals.count(workflow_id).remove()
            bounds = (number << POSITION_BITS, (number + 1) << POSITION_BITS)
            execute("DELETE FROM workflow_steps WHERE id >= ? AND id < ?", bounds)
            execute("DELETE FROM workflows WHERE number = ?", (number,))

    def _claim(self, claim: Claim, name: str, workflow_id: str, args: str, limits: Limits) -> Workflow | str:
        """The workflow, now this claim's; or the result of one that is finished."""
        with self._log.database.write() as execute:
            row = execute(
                "SELECT number, name, run_id, started_at, args, owner, lease_until, result, tag"
                " FROM workflows WHERE id = ?",
                (workflow_id,),
            ).fetchone()
            recorded = 0
            count = self._seals.count(workflow_id)
            if row is None:
                self._seals.require_complete(workflow_id, 0, count)
                run_id = f"run_{self._log.ids.token(8)}"
                now = micros(self._log.clock.now())
                seal = partial(self._seals.workflow, workflow_id, name, run_id, now, args)
                values = (workflow_id, name, run_id, now, claim.owner, claim.lease_until(), args, seal(None))
                number = int(execute(_BEGIN, values).lastrowid or 0)
            else:
                number, known, run_id, started_at, known_args, owner, lease_until, result, tag = row
                _refuse_conflict(workflow_id, name, args, known, known_args)
                seal = partial(self._seals.workflow, workflow_id, name, run_id, started_at, known_args)
                self._seals.require(f"workflow {workflow_id!r}", tag, seal(result))
                if result is not None:
                    return str(result)
                refuse_claimed(workflow_id, owner, lease_until, self._log.clock.now())
                claim.take(execute, number)
                bounds = (number << POSITION_BITS, (number + 1) << POSITION_BITS)
                sql = "SELECT count(*) FROM workflow_steps WHERE id >= ? AND id < ?"
                recorded = execute(sql, bounds).fetchone()[0]
                self._seals.require_complete(workflow_id, recorded, count)
            claim.hold(number)
        return Workflow(self._log, claim, limits, workflow_id, run_id, recorded, seal)

    def _log_doubt(self, run_id: str, error: BaseException) -> None:
        """Put a step on the log that this attempt leaves in doubt; what fails here fails nothing else."""
        try:
            doubt.log_doubts(self._log, f"the attempt ended with {type(error).__name__}", run_id)
        except (SBError, driver.Error) as failed:
            error.add_note(f"A step in doubt could not be logged: {failed}")

    def _free(self, execute: Execute, workflow_id: str) -> tuple[int, str]:
        """Number and run of a workflow that nobody runs."""
        sql = "SELECT number, run_id, owner, lease_until FROM workflows WHERE id = ?"
        row = execute(sql, (workflow_id,)).fetchone()
        if row is None:
            raise NotFoundError(f"no workflow {workflow_id!r} is on record")
        refuse_claimed(workflow_id, row[2], row[3], self._log.clock.now())
        return row[0], row[1]

    def _open_step(self, execute: Execute, number: int, run_id: str, step: str, done: bool) -> int | None:
        """Where the announced step of this name is kept, if it is the one without a result."""
        bounds = (number << POSITION_BITS, (number + 1) << POSITION_BITS)
        sql = "SELECT id, name, kind FROM workflow_steps WHERE id >= ? AND id < ? AND result IS NULL"
        row = execute(sql, bounds).fetchone()
        if row is None or row[1] != step:
            return None
        if row[2] == CALL:
            known_as = step_name(call_step(row[0] - bounds[0], step))
            for intent in Intents(self._log).in_doubt():
                if (intent.run_id, intent.step) == (run_id, known_as):
                    raise UsageError(
                        f"step {step!r} is call {intent.call_id}", f"sb recovery settle {intent.call_id}"
                    )
            if not done:
                raise UsageError(f"step {step!r} is a tool call: run the workflow, and the executor decides")
        return int(row[0])


_BEGIN = (
    "INSERT INTO workflows (id, name, run_id, started_at, owner, lease_until, args, tag)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def _refuse_conflict(workflow_id: str, name: str, args: str, known: str, known_args: str) -> None:
    if known != name:
        raise WorkflowConflict(
            f"workflow {workflow_id!r} is {known!r} on record, not {name!r}", "use another id"
        )
    if known_args != args and canonical_bytes(json.loads(known_args)) != canonical_bytes(json.loads(args)):
        raise WorkflowConflict(f"workflow {workflow_id!r} was begun with other arguments", "use another id")
