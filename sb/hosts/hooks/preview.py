"""Judge a host's call as `sb hook` would, without recording it and without a database."""

from __future__ import annotations

import os
from enum import StrEnum
from time import time
from typing import NamedTuple

from sb.config import Config
from sb.hosts.hooks.calls.context import JudgingContext, judging_context
from sb.hosts.hooks.calls.translation import govern
from sb.hosts.hooks.confined.confining import Confining
from sb.hosts.hooks.event import GovernedCall, HookEvent, Moment, NativeCall
from sb.hosts.hooks.guards.remotes import remotes_of
from sb.hosts.hooks.guards.secrets import guard_reading, sending
from sb.hosts.hooks.project import project_of
from sb.hosts.hooks.snapshots.before_call import area_of, kept_in
from sb.kernel.calls.mutations import Reversibility
from sb.kernel.contracts import SafetyClass
from sb.kernel.policy.permissions import PolicyAction
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.reversal_contracts import ReversalClass
from sb.kernel.review.explain import Judge
from sb.kernel.run_context import SafetyMode
from sb.parts import granted_permissions, hosted_files, judging_files, open_policy, open_registry, shell_rules
from sb.shell.programs.ruleset import judged_by
from sb.shell.snapshots.area import Area
from sb.sources import SYSTEM_CLOCK
from sb.tools.hosted.guarding import guarded


class Outcome(StrEnum):
    """What becomes of a call, from the worst to the best."""

    REFUSED = "refused"  # whoever approves
    DENIED = "denied"  # by the policy
    ASKED = "asked"  # a person decides
    KEPT = "kept"  # runs, and can be undone
    RUNS = "runs"

    @property
    def runs(self) -> bool:
        return self in (Outcome.KEPT, Outcome.RUNS)


class Previewed(NamedTuple):
    """The verdict on a call.

    Args:
        reasons: what decided it; none for a call that runs.
        unconfined: of a command line, why it would not run in confinement, or "".
    """

    outcome: Outcome
    reasons: tuple[str, ...]
    governed: GovernedCall
    unconfined: str = ""

    @property
    def why(self) -> str:
        """The first reason, or ""."""
        return self.reasons[0] if self.reasons else ""


class Preview:
    """Judges calls under a configuration; nothing is written, and budgets, kills and approvals are not looked at.

    Args:
        registry: of the contracts of hosts' calls; by default a new one.
    """

    def __init__(self, config: Config, registry: ToolRegistry | None = None) -> None:
        self._config = config
        self._files = hosted_files(config)
        # Half of the time, if made for each call as the hook does.
        self._guarded = guarded(config.home, os.environ, judging_files(config))
        self.registry = registry or open_registry(config, hosted=True)[0]
        judge = Judge(open_policy(config), self.registry, granted_permissions(config))
        self._confined_in: dict[tuple[str, str], Confining] = {}  # what may be written there is listed once
        self._judge = judge.under(SafetyMode(config.safety_mode))

    def context(self, host: str, cwd: str, session: str = "") -> JudgingContext:
        """What the calls of a session are judged against.

        Args:
            cwd: the session's folder, "" if it is not known.
        """
        event = HookEvent(host, "", Moment.BEFORE, session, cwd)
        rules = shell_rules(self._config)
        return judging_context(self._config, event, self._files, rules)._replace(guarded=self._guarded)

    def judge(self, host: str, call: NativeCall, *, cwd: str, session: str = "") -> Previewed:
        """The verdict on one call, as of now; arguments as for `context`."""
        return self.judge_in(self.context(host, cwd, session), host, call)

    def judge_in(self, context: JudgingContext, host: str, call: NativeCall) -> Previewed:
        """The verdict on one call of a session that begins in its folder now."""
        governed = govern(call, context)
        confining = self._confining(context, host)
        governed, confined = confining.judge(call, governed)
        unconfined = "" if confined else confining.fault
        if self._config.hooks.keep:
            with judged_by(context.rules):
                governed = kept_in(
                    governed, lambda: self._area(context), context if confined is not None else None
                )
        if governed.refused:
            return Previewed(Outcome.REFUSED, (governed.refused,), governed)
        guard = guard_reading(governed, self._config.hooks.secrets)
        if guard.refused:
            return Previewed(Outcome.REFUSED, (guard.refused,), governed)
        tool = self.registry.tool(governed.tool_id)
        if tool is None:
            return Previewed(Outcome.DENIED, (f"no tool {governed.tool_id}",), governed)
        decision = self._judge.decide(tool.spec, host, governed.args)
        if decision.action is PolicyAction.DENY:
            return Previewed(Outcome.DENIED, (decision.reason,), governed)
        does = governed.why or str(governed.args.get("why") or governed.args.get("tool", ""))
        cwd = str(context.cwd)
        sent = (
            () if governed.flow else sending(governed, self._config.hooks.uploads, remotes_of(cwd), cwd, "")
        )
        asked = [ask.reason for ask in (*guard.asked, *sent, *governed.asks)]
        asked += [
            f"{does}, so a person must approve it" if rule == SafetyClass.DESTRUCTIVE and does else reason
            for rule, reason in decision.reasons
        ]
        reversal = tool.reversal.class_of(governed.args)
        stays = tool.spec.side_effecting and reversal is ReversalClass.IRREVERSIBLE
        enforced = self._config.reversibility == Reversibility.ENFORCE
        if not asked and (
            decision.action is PolicyAction.REQUIRE_APPROVAL
            or (stays and enforced and tool.risk_dimension is None)
        ):
            asked.append(does)
        if asked:
            return Previewed(Outcome.ASKED, tuple(asked), governed, unconfined)
        kept = tool.spec.side_effecting and reversal is ReversalClass.REVERSIBLE and _is_whole(governed)
        return Previewed(Outcome.KEPT if kept else Outcome.RUNS, (), governed, unconfined)

    def _confining(self, context: JudgingContext, host: str) -> Confining:
        key = (host, str(context.cwd))
        if key not in self._confined_in:
            self._confined_in[key] = self._opened_confining(context, host)
        return self._confined_in[key]

    def _opened_confining(self, context: JudgingContext, host: str) -> Confining:
        event = HookEvent(host, "", Moment.BEFORE, "", str(context.cwd))
        return Confining(
            self._config, event, context, project_of(str(context.cwd)), SYSTEM_CLOCK, looks_only=True
        )

    def _area(self, context: JudgingContext) -> Area:
        return area_of(context, self._config, project_of(str(context.cwd)), time())


def _is_whole(governed: GovernedCall) -> bool:
    """True for a call of which all is undone: not one that also does something elsewhere, or is known in part alone."""
    if "tree" not in governed.args:
        return "partly" not in governed.args
    named = "partly" not in governed.args and bool(governed.args["paths"])
    return named or governed.safety_class is SafetyClass.LOCAL_WRITE
