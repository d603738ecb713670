"""A safer command for a command line that is asked for or denied."""

from __future__ import annotations

from sb.config import Config
from sb.hosts.hooks.event import GovernedCall, NativeCall
from sb.hosts.hooks.judging_context import JudgingContext
from sb.hosts.hooks.translation import govern
from sb.kernel.contracts import SafetyClass
from sb.kernel.policy.permissions import PolicyAction
from sb.kernel.review.explain import Judge
from sb.shell import ShellVerdict, classify
from sb.shell.advice import Advice, advice_for

RUNS, ASKS, DENIED = "runs", "asks", "denied"


def shell_call(command: str) -> NativeCall:
    """A call of a host's shell tool."""
    return NativeCall("Bash", {"command": command})


def as_kept(governed: GovernedCall, context: JudgingContext, config: Config) -> GovernedCall:
    """The call under the contract that takes a snapshot first, for a session that begins in its folder now."""
    if not config.hooks.keep:
        return governed
    from time import time

    from sb.hosts.hooks.keeping import area_of, kept_in
    from sb.hosts.hooks.project import project_of

    return kept_in(governed, lambda: area_of(context, config, project_of(str(context.cwd)), time()))


def classified(command: str, context: JudgingContext) -> ShellVerdict:
    """The parser's verdict on a line in the folder of a call."""
    return classify(
        command, cwd=context.cwd, home=context.home, protected=context.protected, guarded=context.guarded
    )


def outcome_of(judge: Judge, governed: GovernedCall, agent: str) -> tuple[str, tuple[str, ...]]:
    """What would become of a call, RUNS, ASKS or DENIED, and why; budgets and approvals are not looked at."""
    if governed.refused:
        return DENIED, (governed.refused,)
    spec = judge.registry.get(governed.tool_id)
    if spec is None:
        return DENIED, (f"no contract {governed.tool_id}",)
    decision = judge.decide(spec, agent, governed.args)
    if decision.action is PolicyAction.DENY:
        return DENIED, (decision.reason,)
    does = governed.why or str(governed.args.get("why", ""))
    asked = tuple(
        f"{does}, so a person must approve it" if rule == SafetyClass.DESTRUCTIVE and does else reason
        for rule, reason in decision.reasons
    )
    asked += tuple(reason["reason"] for reason in governed.reasons)
    return (ASKS, asked) if asked else (RUNS, ())


def safer(judge: Judge, verdict: ShellVerdict, context: JudgingContext, agent: str) -> Advice | None:
    """A safer command in place of a line, if there is one that would run without being asked for."""
    found = advice_for(verdict)
    if found is None:
        return None
    call = govern(shell_call(found.instead), context)
    outcome, _ = outcome_of(judge, call, agent)
    return found if outcome == RUNS else None


def advice_sentence(judge: Judge, governed: GovernedCall, context: JudgingContext, agent: str) -> str:
    """One sentence for an agent whose command line was not run, or ""."""
    command = governed.args.get("command")
    if governed.refused or not isinstance(command, str):
        return ""
    found = safer(judge, classified(command, context), context, agent)
    return f"Safer: `{found.instead}` {found.why}." if found else ""
