"""The guard that looks for attacks on the model in results of calls."""

from __future__ import annotations

from sb.config.guards import QUARANTINE
from sb.kernel.calls.call import ToolCall
from sb.kernel.execution.outcome import Outcome
from sb.kernel.execution.result_guards import ResultGuard, withhold
from sb.kernel.red_team.screening import TOOL_RESULT, check_written, record_attack, sentence
from sb.log.event_log import EventLog


def attack_guard(log: EventLog, action: str) -> ResultGuard:
    """The guard that looks for attacks on the model.

    Args:
        action: of red_team.tool_results, mark or quarantine.
    """

    def guard(call: ToolCall, outcome: Outcome) -> None:
        if outcome.code is not None:
            return
        verdict, text = check_written(outcome.value)
        if not verdict.flagged:
            return
        record_attack(log, verdict, text, call.subject, place=TOOL_RESULT, action=action)
        if action == QUARANTINE:
            kinds = ", ".join(verdict.categories)
            withhold(
                outcome,
                f"the result of {call.tool_id} is withheld: it reads like an attack ({kinds}); sb red-team list",
            )
        else:
            outcome.warning = sentence(f"The result of {call.tool_id}", verdict)

    return guard
