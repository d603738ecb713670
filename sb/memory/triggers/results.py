"""Set the triggers and lessons that fit a call of the executor beside its result, and learn from how it ended."""

from __future__ import annotations

from functools import cache

from sb.config import Config
from sb.kernel.calls.call import ToolCall
from sb.kernel.execution.outcome import Outcome
from sb.log.event_log import EventLog
from sb.memory.access import ScopeRefusal
from sb.memory.brain import Brain
from sb.memory.scoped_values import scope_of_project
from sb.memory.triggers.reminding import reminders
from sb.memory.triggers.situations import of_call
from sb.store.armed_triggers import learns_from


def remind(
    config: Config, log: EventLog, refusal: ScopeRefusal | None, call: ToolCall, outcome: Outcome
) -> None:
    """Add to the warning of a result what its call fires; the result itself stays as it is.

    Args:
        refusal: why an agent may not use a scope, by its charter.
    """
    ctx = call.ctx

    @cache
    def brain() -> Brain:
        scope = scope_of_project(str(ctx.metadata.get("project", "")))
        return Brain(
            ctx.agent_name, database=log.database, config=config, scope=scope, session=ctx.run_id,
            scope_refusal=refusal, threads=False, clock=log.clock, ids=log.ids,
        )  # fmt: skip

    situation = of_call(call.args or {}, call.tool_id, task=ctx.intent, error=outcome.message)
    lines = reminders(log.database, situation, brain)
    outcome.warning = "\n".join(filter(None, (outcome.warning, *lines)))
    if outcome.code is not None or learns_from(log.database, ctx.run_id):
        from sb.memory.lessons.learning import learn

        learn(brain(), log, ctx.run_id)
