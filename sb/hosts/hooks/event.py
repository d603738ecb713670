"""Events and verdicts in one form for all hosts."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from sb.base.values.canonical import NotCanonical, canonical_bytes, digest
from sb.kernel.contracts import SafetyClass
from sb.shell import ShellVerdict

if TYPE_CHECKING:
    from sb.kernel.calls.call import Ask

NO_EFFECTS = ShellVerdict(SafetyClass.READ_ONLY, "")
# What an agent is told to do after a denial.
INSTEAD = "Do not work around it. If the task needs it, ask the user."


class Moment(StrEnum):
    """Subjects of events; OTHER is ignored."""

    BEFORE = "before"  # a call is about to be made
    AFTER = "after"  # it was made
    FAILED = "failed"
    BATCH = "batch"  # all calls of one turn of the model have ended
    PROMPT = "prompt"  # the user wrote: the turn before is over
    SESSION_STARTED = "session_started"
    SESSION_ENDED = "session_ended"
    STOP = "stop"  # the turn is over
    QUESTION = "question"  # the host asks its own user about a call
    DENIED = "denied"  # the host's own rules deny a call
    OTHER = "other"


class NativeCall(NamedTuple):
    """A call as its host reports it.

    Args:
        use_id: the host's own id of the call; "" where it has none.
        response: the result; None if it is not reported.
        error: why it failed, or "". interrupted: it was cut short.
        ms: milliseconds that it took, 0 if it is not reported.
        cwd: the folder that it is made in, if that is not the session's.
        folder_unknown: of a command line, that it may run in another folder than `cwd`: its shell is the one of earlier
            commands, or its host keeps the folder to itself.
        server: of an MCP server's tool, the server's name as the host tells it, or "".
        address: the server's command or address as the host tells it, or "".
        separator: what stands between a server's name and its tool's, where the host marks tools of servers by nothing
            else; "" where it does.
    """

    tool: str
    args: dict[str, Any]
    use_id: str = ""
    response: Any = None
    error: str = ""
    interrupted: bool = False
    ms: float = 0.0
    cwd: str = ""
    folder_unknown: bool = False
    server: str = ""
    address: str = ""
    separator: str = ""

    @property
    def step(self) -> tuple[str, bool]:
        """The name of the call in its run, and whether equal calls have that name too.

        For hosts that give a call no id, what it is names it, so that its report is found.
        """
        if self.use_id:
            return self.use_id, False
        try:
            return f"{self.tool}:{digest(canonical_bytes(self.args))[:32]}", True
        except NotCanonical:
            return self.tool, True

    @property
    def in_background(self) -> bool:
        """True for a command that its host does not wait for."""
        return bool(self.args.get("run_in_background") or self.args.get("is_background"))


class HookEvent(NamedTuple):
    """One event of a host's session.

    Args:
        host: who sent it. name: as the host calls it.
        agent_id: the subagent, "" for the session's own agent.
        note: what the session's record says of it, such as why it started.
        mode: in which the host asks its person for permissions, as it calls it; "" where it does not say.
        nonce: names this event, so that judging it twice has one effect; "" for none.
        again: it may have been judged under its nonce before, and nobody received the answer.
        transcript: the path of the session's transcript, "" if the host names none.
        text: what the user wrote, of a prompt; what the model said last, at the end of its turn; "" if the host does not say.
        may_go_on: the turn ends, and its host lets the agent go on with it.
        run: the run of `sb run` that the host belongs to; "" for none.
    """

    host: str
    name: str
    moment: Moment
    session_id: str
    cwd: str
    calls: tuple[NativeCall, ...] = ()
    agent_id: str = ""
    note: str = ""
    mode: str = ""
    transcript: str = ""
    nonce: str = ""
    again: bool = False
    text: str = ""
    may_go_on: bool = False
    run: str = ""


class Finding(NamedTuple):
    """The result of one guard.

    Args:
        refused: why no agent may make the call, or "". rule: what refused it, if that is not what keeps agents from
            SecondBrain itself.
        asks: what a person must agree to, whatever the policy says. notes: for the call's record.
        context: what the model is told beside the verdict.
    """

    refused: str = ""
    rule: str = ""
    asks: tuple[Ask, ...] = ()
    notes: dict[str, Any] | None = None
    context: str = ""


class GovernedCall(NamedTuple):
    """A host's call under one of our contracts.

    Args:
        safety_class: of the call, before the policy is asked.
        refused, rule, asks: as of a finding.
        paths: the files that it changes. why: what it would do, where the contract's name does not say.
        effects: of a command line, all that is known of it; of other calls, the credentials that they read and send.
        part: paths that are stored although a person is asked about the call.
    """

    tool_id: str
    args: dict[str, Any]
    safety_class: SafetyClass
    refused: str = ""
    paths: tuple[str, ...] = ()
    why: str = ""
    rule: str = ""
    asks: tuple[Ask, ...] = ()
    effects: ShellVerdict = NO_EFFECTS
    part: tuple[str, ...] = ()

    @property
    def is_line(self) -> bool:
        """True for a command line of a host's shell tool."""
        return {"command", "cwd"} <= self.args.keys() and self.tool_id.startswith("host.shell.")

    def after(self, finding: Finding | None) -> GovernedCall:
        """The call with what a guard found; the first refusal stays."""
        if finding is None:
            return self
        asks = (*self.asks, *finding.asks)
        if self.refused:
            return self._replace(asks=asks)
        return self._replace(refused=finding.refused, rule=finding.rule, asks=asks)


class Decision(StrEnum):
    """Instructions to the host; NONE leaves the call to the user's own rules and prompts."""

    NONE = "none"
    ASK = "ask"
    DENY = "deny"


class HookVerdict(NamedTuple):
    """The decision on an event, and what goes with it.

    Args:
        reason: for the model and the user; without a decision it is what went wrong, for stderr.
        context: what the model is told, for hosts that take it: memory, and other sessions that change the same files.
    """

    decision: Decision = Decision.NONE
    reason: str = ""
    context: str = ""


def cannot_judge(why: str) -> HookVerdict:
    """The denial of a call that could not be judged."""
    return HookVerdict(Decision.DENY, f"SecondBrain: not run: `sb` cannot judge this call: {why}. {INSTEAD}")


class HookAnswer(NamedTuple):
    """Output of the process, and its exit code."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0
