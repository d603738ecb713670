"""Judge a host's call as `sb hook` would, without recording it and without a database."""

from __future__ import annotations

import os
from enum import StrEnum
from time import time
from typing import NamedTuple

from sb.base.sources import SYSTEM_CLOCK
from sb.config import Config
from sb.hosts.hooks.calls.context import JudgingContext, judging_context
from sb.hosts.hooks.confined.confining import Confining
from sb.hosts.hooks.event import Finding, GovernedCall, HookEvent, Moment, NativeCall
from sb.hosts.hooks.guards.remotes import remotes_of
from sb.hosts.hooks.guards.secrets import reading, sending
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.project import project_of
from sb.hosts.hooks.snapshots.before_call import area_of, kept_in
from sb.kernel.contracts import SafetyClass
from sb.kernel.policy.permissions import PolicyAction
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.reversibility.contracts import ReversalClass
from sb.kernel.reversibility.mutations import Reversibility
from sb.kernel.review.explain import Judge
from sb.kernel.run_context import SafetyMode
from sb.runtime.parts import (
    granted_permissions,
    hosted_files,
    judging_files,
    open_policy,
    open_registry,
    shell_rules,
)
from sb.shell.programs.ruleset import judged_by
from sb.shell.snapshots.area import Area
from sb.tools.hosted.guarding import guarded


class Outcome(StrEnum):
    """Outcomes of a call, from the worst to the best."""

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
        governed: the call as it would be put on record.
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
        """The context that the calls of a session are judged in.

        Args:
            cwd: the session's folder, "" if it is not known.
        """
        event = HookEvent(host, "", Moment.BEFORE, session, cwd)
        rules = shell_rules(self._config)
        return judging_context(self._config, event, self._files, rules)._replace(guarded=self._guarded)

    def judge(self, host: str, call: NativeCall, *, cwd: str, session: str = "") -> Previewed:
        """The verdict on one call, as of now; arguments as for `context`."""
        return self.judge_in(self.context(host, cwd, session), host, call)

    def judge_in(self, context: JudgingContext, host: str, native: NativeCall) -> Previewed:
        """The verdict on one call of a session that begins in its folder now."""
        call, confining = JudgedCall.of(native, context), self._confining(context, host)
        governed = call.governed.after(confining.finding(call))
        rights = confining.rights(call)
        unconfined = confining.fault if rights is None else ""
        cwd = str(context.cwd)
        if self._config.hooks.keep:
            with judged_by(context.rules):

                def area() -> Area:
                    return area_of(context, self._config, project_of(cwd), time())

                governed = kept_in(
                    call,
                    governed,
                    area,
                    confined=rights is not None,
                    may_run_own=rights is not None and rights.may_run_own,
                )
        credentials = reading(call, self._config.hooks.secrets) or Finding()
        if refused := governed.refused or credentials.refused:
            return Previewed(Outcome.REFUSED, (refused,), governed)
        tool = self.registry.tool(governed.tool_id)
        if tool is None:
            return Previewed(Outcome.DENIED, (f"no tool {governed.tool_id}",), governed)
        decision = self._judge.decide(tool.spec, host, governed.args)
        if decision.action is PolicyAction.DENY:
            return Previewed(Outcome.DENIED, (decision.reason,), governed)
        does = governed.why or str(governed.args.get("why") or governed.args.get("tool", ""))
        uploads = "" if call.effects.flow else self._config.hooks.uploads
        sent = sending(call, uploads, remotes_of(cwd), cwd, "")
        asked = [ask.reason for ask in (*credentials.asks, *sent, *governed.asks)]
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
        restorable = tool.spec.side_effecting and reversal is ReversalClass.REVERSIBLE and _is_whole(governed)
        return Previewed(Outcome.KEPT if restorable else Outcome.RUNS, (), governed, unconfined)

    def _confining(self, context: JudgingContext, host: str) -> Confining:
        cwd = str(context.cwd)
        if (host, cwd) not in self._confined_in:
            event = HookEvent(host, "", Moment.BEFORE, "", cwd)
            self._confined_in[host, cwd] = Confining(
                self._config, event, context, project_of(cwd), SYSTEM_CLOCK, looks_only=True
            )
        return self._confined_in[host, cwd]


def _is_whole(governed: GovernedCall) -> bool:
    """True for a call that is undone whole: not one with effects elsewhere, or known only in part."""
    if "tree" not in governed.args:
        return "partly" not in governed.args
    named = "partly" not in governed.args and bool(governed.args["paths"])
    return named or governed.safety_class is SafetyClass.LOCAL_WRITE
