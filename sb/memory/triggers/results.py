"""Set the reminders that fit a call of the executor beside its result."""

from __future__ import annotations

from sb.config import Config
from sb.kernel.calls.call import ToolCall
from sb.kernel.execution.outcome import Outcome
from sb.log.event_log import EventLog
from sb.memory.access import ScopeRefusal
from sb.memory.brain import Brain
from sb.memory.scoped_values import scope_of_project
from sb.memory.triggers.armed import fitting
from sb.memory.triggers.situations import of_call


def remind(
    config: Config, log: EventLog, refusal: ScopeRefusal | None, call: ToolCall, outcome: Outcome
) -> None:
    """Add to the warning of a result the triggers that its call fires; the result itself stays as it is.

    Args:
        refusal: why an agent may not use a scope, by its charter.
    """
    situation = of_call(call.args or {}, call.tool_id, task=call.ctx.intent)
    if not fitting(log.database, situation):
        return
    scope = scope_of_project(str(call.ctx.metadata.get("project", "")))
    brain = Brain(
        call.ctx.agent_name, database=log.database, config=config, scope=scope, session=call.ctx.run_id,
        scope_refusal=refusal, threads=False, clock=log.clock, ids=log.ids,
    )  # fmt: skip
    lines = [item.line for item in brain.triggers.check(situation)]
    outcome.warning = "\n".join(filter(None, (outcome.warning, *lines)))
