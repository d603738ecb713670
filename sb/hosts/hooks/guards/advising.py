"""A safer command for a command line that is asked for or denied."""

from __future__ import annotations

from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.event import NativeCall
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.preview import Preview
from sb.shell import ShellVerdict
from sb.shell.programs.advice import Advice, advice_for


def shell_call(command: str) -> NativeCall:
    """A call of a host's shell tool."""
    return NativeCall("Bash", {"command": command})


def safer(preview: Preview, verdict: ShellVerdict, context: JudgingContext, agent: str) -> Advice | None:
    """A safer command in place of a line, if there is one that would run without being asked for.

    Args:
        verdict: the parser's on the line. context: of its folder.
    """
    advice = advice_for(verdict)
    if advice is None:
        return None
    judged = preview.judge_in(context, agent, shell_call(advice.instead))
    return advice if judged.outcome.runs else None


def advice_sentence(preview: Preview, call: JudgedCall, context: JudgingContext, agent: str) -> str:
    """One sentence for an agent whose command line was not run, or "".

    Args:
        context: of the session.
    """
    command, folder = call.governed.args.get("command"), str(call.governed.args.get("cwd", ""))
    if not isinstance(command, str):
        return ""
    there = context._replace(cwd=context.cwd / folder)
    advice = safer(preview, call.line(command, there.cwd), there, agent)
    return f"Safer: `{advice.instead}` {advice.why}." if advice else ""
