"""Judge a host's call as `sb hook` would, without recording it and without a database."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import NamedTuple

from sb.config import Config
from sb.hosts.hooks.event import GovernedCall, HookEvent, Moment, NativeCall
from sb.hosts.hooks.judging import judging_context
from sb.hosts.hooks.translation import govern
from sb.kernel.calls.mutations import Reversibility
from sb.kernel.policy.permissions import PolicyAction
from sb.kernel.reversal_contracts import ReversalClass
from sb.kernel.review.explain import Judge
from sb.kernel.run_context import SafetyMode
from sb.parts import granted_permissions, hosted_files, open_policy, open_registry
from sb.tools.hosted.guarding import guarded


class Outcome(StrEnum):
    """What becomes of a call, from the worst to the best."""

    REFUSED = "refused"  # whoever approves
    DENIED = "denied"  # by the policy
    ASKED = "asked"  # a person decides
    KEPT = "kept"  # runs, and can be undone
    RUNS = "runs"


class Previewed(NamedTuple):
    """The verdict on a call.

    Args:
        why: what decided it; "" for a call that runs.
    """

    outcome: Outcome
    why: str
    governed: GovernedCall


class Preview:
    """Judges calls under a configuration; nothing is written."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._files = hosted_files(config)
        self._guarded = guarded(
            config.home, os.environ
        )  # half of the time, if made for each call as the hook does
        self._registry, _ = open_registry(config, hosted=True)
        judge = Judge(open_policy(config), self._registry, granted_permissions(config))
        self._judge = judge.under(SafetyMode(config.safety_mode))

    def judge(self, host: str, call: NativeCall, *, cwd: str, session: str = "") -> Previewed:
        """The verdict on one call.

        Args:
            cwd: the session's folder, "" if it is not known.
        """
        event = HookEvent(host, "", Moment.BEFORE, session, cwd, (call,))
        context = judging_context(self._config, event, self._files)._replace(guarded=self._guarded)
        governed = govern(call, context)
        why = governed.why or str(governed.args.get("why") or governed.args.get("tool", ""))
        if governed.refused:
            return Previewed(Outcome.REFUSED, governed.refused, governed)
        tool = self._registry.tool(governed.tool_id)
        if tool is None:
            return Previewed(Outcome.DENIED, f"no tool {governed.tool_id}", governed)
        decision = self._judge.decide(tool.spec, host, governed.args)
        if decision.action is PolicyAction.DENY:
            return Previewed(Outcome.DENIED, decision.reason, governed)
        reversal = tool.reversal.class_of(governed.args)
        stays = tool.spec.side_effecting and reversal is ReversalClass.IRREVERSIBLE
        enforced = self._config.reversibility == Reversibility.ENFORCE
        if decision.action is PolicyAction.REQUIRE_APPROVAL or (
            stays and enforced and tool.risk_dimension is None
        ):
            return Previewed(Outcome.ASKED, why, governed)
        kept = tool.spec.side_effecting and reversal is ReversalClass.REVERSIBLE
        return Previewed(Outcome.KEPT if kept else Outcome.RUNS, "", governed)
