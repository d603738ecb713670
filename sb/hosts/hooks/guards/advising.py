"""A safer command for a command line that is asked for or denied."""

from __future__ import annotations

from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.event import HookVerdict, NativeCall
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.preview import Preview
from sb.hosts.hooks.session import HookSession
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


def advised(verdict: HookVerdict, call: JudgedCall, session: HookSession) -> HookVerdict:
    """The verdict on a command line that does not go on, with a safer command where there is one."""
    command = call.governed.args["command"]
    if not isinstance(command, str):
        return verdict
    folder = session.context.cwd / str(call.governed.args.get("cwd", ""))
    preview = Preview(session.config, session.runtime.registry)
    context = session.context._replace(cwd=folder)
    advice = safer(preview, call.line(command, folder), context, session.event.host)
    if advice is None:
        return verdict
    sentence = f"Safer: `{advice.instead}` {advice.why}."
    return verdict._replace(reason=f"{verdict.reason.removesuffix('.')}. {sentence}")
