"""Hold calls to the level of their agent: refuse, ask a person, or only record what would have been done.

It only adds a reason to ask, never takes one away: what policy, arguments and consequences ask for stays asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from sb.errors import SBError
from sb.kernel.autonomy.levels import INTENT, Levels, Standing
from sb.kernel.autonomy.scoring import AutonomyMode
from sb.kernel.boundaries.boundaries import intent_name, stated_intent
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.contracts import SafetyClass, ToolErrorCode
from sb.kernel.policy.permissions import PolicyAction
from sb.kernel.policy.standing_in import STOOD_FOR, stood_for
from sb.log.event_log import LogWrite
from sb.store import driver

RULE = "autonomy"  # of its refusals and questions; and the facts on the record of a call
# Refusals that are violations, beside those of the policy; that of what decides about agents is one of safety.
_VIOLATIONS = ("capabilities", "requires_permission", "approval_denied")
_SAFETY = ("operators_own",)
_RAISED_BY = "an operator raises it: sb autonomy proposals"


class Autonomy:
    """The levels of a log, consulted for each call that may change something.

    Args:
        enforced: calls are held to them; else what would have been done is only recorded.
    """

    def __init__(self, levels: Levels, *, enforced: bool) -> None:
        self.levels = levels
        self.enforced = enforced
        self._judged: tuple[object, Standing | None] = (None, None)

    def judge(self, call: ToolCall) -> None:
        """Note the level on the call's record; where it is enforced, refuse the call or add a reason to ask a person.

        Raises:
            Refused: the level lets only read-only calls run.
        """
        if call.recovery is not None or not _changes_something(call):
            return
        named = call.boundary.get(INTENT) or intent_name(call.intent or stated_intent(call.ctx))
        mode, standing, problem = self._mode(self.levels.known, call, named)
        if self.enforced and mode is not AutonomyMode.AUTO_EXECUTE and not problem:
            mode, standing, problem = self._mode(
                self.levels.current, call, named
            )  # it may have been raised since
        does = _does(mode)
        facts: dict[str, object] = {"level": str(mode), "does": does}
        if not self.enforced:
            facts["observed"] = True
        call.boundary = {**call.boundary, INTENT: named, RULE: facts}
        self._judged = facts, standing
        if self.enforced and does == "refuse":
            raise Refused(ToolErrorCode.PERMISSION_DENIED, self._refusal(call, mode, problem), RULE)
        if self.enforced and does == "ask":
            reason = f"the autonomy of {call.ctx.agent_name} for {call.tool_id} is {mode}, so what changes something asks"
            call.reasons.append({"rule": RULE, "reason": reason})

    def hold(self, call: ToolCall, execute: Callable[..., driver.Cursor]) -> None:
        """Look again in the transaction of the call's intent; raises Refused if the level fell since it was judged."""
        facts = call.boundary.get(RULE)
        if facts is None or self._unchanged(facts, execute):
            return
        mode, _, problem = self._mode(lambda: self.levels.current(execute), call, call.boundary[INTENT])
        if self.enforced and mode.rank < AutonomyMode(str(facts["level"])).rank:
            reason = self._refusal(call, mode, problem)
            if _does(mode) != "refuse":
                reason = f"the autonomy of {call.ctx.agent_name} for {call.tool_id} fell meanwhile: repeat the call"
            raise Refused(ToolErrorCode.PERMISSION_DENIED, reason, RULE)

    def _unchanged(self, facts: object, execute: Callable[..., driver.Cursor]) -> bool:
        """True if no level has changed since the call of these facts was judged, the last of this process."""
        judged, standing = self._judged
        try:
            return judged is facts and standing is not None and standing is self.levels.current(execute)
        except (SBError, driver.Error):
            return False

    def refused(self, write: LogWrite, call: ToolCall, refusal: Refused) -> None:
        """Lower the level in the transaction of a refusal that is a violation."""
        denied = call.policy is not None and call.policy.action is PolicyAction.DENY
        safety = refusal.rule in _SAFETY
        if (
            not call.known
            or call.recovery is not None
            or not (denied or safety or refusal.rule in _VIOLATIONS)
        ):
            return
        named = call.boundary.get(INTENT) or intent_name(call.intent or stated_intent(call.ctx))
        fingerprint = str(call.contract.get("tool_contract_fingerprint", ""))
        why = f"{call.call_id} was refused by {refusal.rule}"
        agent = call.subject.agent
        with suppress(SBError):  # levels that cannot be read are READ, and the refusal has to be recorded
            self.levels.fall(write, agent, named, call.tool_id, fingerprint, why, safety=safety)

    def _mode(
        self, read: Callable[[], Standing], call: ToolCall, intent: str
    ) -> tuple[AutonomyMode, Standing | None, str]:
        """The mode of a call, and why it cannot be told; then it is READ."""
        try:
            found = read()
        except (SBError, driver.Error) as error:
            return AutonomyMode.READ, None, f"it cannot be read: {error}"
        return found.mode(call.ctx.agent_name, intent, call.tool_id, call.fingerprint), found, ""

    def _refusal(self, call: ToolCall, mode: AutonomyMode, problem: str) -> str:
        who = f"the autonomy of {call.ctx.agent_name} for {call.tool_id}"
        why = problem or self.levels.known().level(call.ctx.agent_name, call.tool_id).why
        return f"{who} is {mode}{f' ({why})' if why else ''}: only read-only calls run; {_RAISED_BY}"


def _changes_something(call: ToolCall) -> bool:
    """True if a call, or one that it stands in for, may change something."""
    if call.side_effecting or STOOD_FOR not in call.spec.metadata:
        return call.side_effecting
    return any(of is not SafetyClass.READ_ONLY for _, of in stood_for(call.spec, call.args))


def _does(mode: AutonomyMode) -> str:
    if mode is AutonomyMode.AUTO_EXECUTE:
        return "run"
    return "ask" if mode is AutonomyMode.EXECUTE_WITH_APPROVAL else "refuse"
