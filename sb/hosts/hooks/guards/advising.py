"""A safer command for a command line that is asked for or denied."""

from __future__ import annotations

from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.event import GovernedCall, NativeCall
from sb.hosts.hooks.preview import Preview
from sb.shell import ShellVerdict, classify
from sb.shell.programs.advice import Advice, advice_for


def shell_call(command: str) -> NativeCall:
    """A call of a host's shell tool."""
    return NativeCall("Bash", {"command": command})


def classified(command: str, context: JudgingContext) -> ShellVerdict:
    """The parser's verdict on a line in the folder of a call."""
    return classify(
        command,
        cwd=context.cwd,
        home=context.home,
        protected=context.protected,
        guarded=context.guarded,
        rules=context.rules,
    )


def safer(preview: Preview, verdict: ShellVerdict, context: JudgingContext, agent: str) -> Advice | None:
    """A safer command in place of a line, if there is one that would run without being asked for."""
    found = advice_for(verdict)
    if found is None:
        return None
    judged = preview.judge_in(context, agent, shell_call(found.instead))
    return found if judged.outcome.runs else None


def advice_sentence(preview: Preview, governed: GovernedCall, context: JudgingContext, agent: str) -> str:
    """One sentence for an agent whose command line was not run, or ""."""
    command = governed.args.get("command")
    if governed.refused or not isinstance(command, str):
        return ""
    found = safer(preview, classified(command, context), context, agent)
    return f"Safer: `{found.instead}` {found.why}." if found else ""
