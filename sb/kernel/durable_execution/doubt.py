"""Plain steps of workflows whose outcome is unknown: list them beside calls, put them on the log, check them.

A step of a plain function has no intent, since no tool performs it. It stands in the same lists as one, with
`workflow` set.
"""

from __future__ import annotations

from sb.kernel.calls.intents import STEP_TOOL, Intent, Intents, IntentState
from sb.kernel.durable_execution.claims import is_claimed
from sb.kernel.durable_execution.seals import POSITION_BITS, Seals
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import WORKFLOW_IN_DOUBT, WORKFLOW_SETTLED

_OPEN = f"""SELECT w.id, w.run_id, w.started_at, w.owner, w.lease_until, s.id, s.name, s.args_digest
    FROM workflows AS w JOIN workflow_steps AS s
    ON s.id >= w.number << {POSITION_BITS} AND s.id < (w.number + 1) << {POSITION_BITS}
    WHERE w.result IS NULL AND s.result IS NULL AND s.kind = 'step' ORDER BY s.id"""
_SAID = f"""SELECT kind FROM events WHERE run_id = ? AND call_id = ?
    AND kind IN ('{WORKFLOW_IN_DOUBT}', '{WORKFLOW_SETTLED}') ORDER BY id DESC LIMIT 1"""


def in_doubt(log: EventLog, run_id: str = "") -> list[Intent]:
    """Calls and plain steps whose outcome is unknown, each oldest first; of one run if it is named."""
    every = [*Intents(log).in_doubt(), *steps_in_doubt(log)]
    return [intent for intent in every if intent.run_id == run_id] if run_id else every


def steps_in_doubt(log: EventLog) -> list[Intent]:
    """Plain steps that were announced, have no result, and are run by nobody."""
    now = log.clock.now()
    return [
        Intent(
            -place,  # below all numbers of events, by which calls are known
            step_id(run_id, place),
            run_id,
            "",
            STEP_TOOL,
            step,
            "",
            args_digest,
            "",
            IntentState.IN_DOUBT,
            owner,
            started_at,
            None,
            None,
            workflow_id,
        )
        for workflow_id, run_id, started_at, owner, lease_until, place, step, args_digest in log.database.query(
            _OPEN
        )
        if not is_claimed(owner, lease_until, now)
    ]


def step_id(run_id: str, place: int) -> str:
    """The id under which a plain step is listed and settled."""
    return f"step_{run_id.removeprefix('run_')}_{place & ((1 << POSITION_BITS) - 1)}"


def confirm(log: EventLog, intent: Intent) -> None:
    """Raise StoreCorrupt if the call or step was changed in the database since it was announced."""
    if not intent.workflow:
        Intents(log).announced(intent)
        return
    sql = "SELECT name, kind, args_digest, result, tag FROM workflow_steps WHERE id = ?"
    seals = Seals(log)
    for *row, tag in log.database.query(sql, (-intent.id,)):
        what = f"step {intent.step!r} of workflow {intent.workflow!r}"
        seals.require(what, tag, seals.step(intent.run_id, -intent.id, *row))


def log_doubts(log: EventLog, cause: str, run_id: str = "") -> int:
    """Put on the log which plain steps are in doubt, each once; returns how many were not there yet.

    Args:
        cause: how that became known. run_id: of one workflow only.
    """
    added = 0
    for step in steps_in_doubt(log):
        if run_id and step.run_id != run_id:
            continue
        with log.write() as write:
            last = write.execute(_SAID, (step.run_id, step.call_id)).fetchone()
            if last is None or last[0] != WORKFLOW_IN_DOUBT:
                subject = Subject(step.run_id, "", step.agent, step.tool_id, step.call_id)
                untrusted = {"args": step.named, "cause": cause}
                write.append(WORKFLOW_IN_DOUBT, untrusted, subject, {"phase": "in_doubt"})
                added += 1
    return added
