"""Events and verdicts in one form for all hosts."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from sb.canonical import NotCanonical, canonical_bytes, digest
from sb.kernel.contracts import SafetyClass
from sb.shell.credentials.taints import Upload

if TYPE_CHECKING:
    from sb.kernel.calls.call import Ask
    from sb.shell.snapshots.keeping import Kept

# What an agent is told to do after a denial.
INSTEAD = "Do not work around it. If the task needs it, ask the user."


class Moment(StrEnum):
    """What an event is about; OTHER is ignored."""

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


class Server(NamedTuple):
    """The server of a tool.

    Args:
        name: as its host's settings name it, or "".
        configured: its command or address, for display; "" if it is not known.
        digest: of its configuration, without secrets; "" if it is not known.
        entries: each of its entries in full, for who approves all of them; secrets are masked.
    """

    name: str = ""
    configured: str = ""
    digest: str = ""
    entries: tuple[str, ...] = ()

    @property
    def grant_key(self) -> str:
        """What an approval of the server is about."""
        return f"mcp {self.name} {self.digest}"


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


class GovernedCall(NamedTuple):
    """A host's call under one of our contracts.

    Args:
        safety_class: of the call, before the policy is asked.
        refused: why no agent may make it, or "".
        paths: the files that it changes. why: what it would do, where the contract's name does not say.
        changes: of a command line, all that it deletes and overwrites, as far as that is known.
        secrets: why it reads credentials. flow: why these would leave this machine, or "".
        uploads: what it sends to other machines, whatever that holds.
        writes: files that a command line writes, as far as that is known; no snapshot is taken of them.
        rule: what refused it, if that is not what keeps agents from SecondBrain itself.
        asks: what a person must agree to, whatever the policy says.
        replaced: files whose content a command line may take away, each with whether it deletes them.
        scripts: files that a command line runs by their names.
        commands: of a command line, programs with their arguments, as far as they are known.
        disclosed: the existing files with credentials that it reads; "" among them for what is no file, or may be there.
        in_background: its host does not wait for it.
    """

    tool_id: str
    args: dict[str, Any]
    safety_class: SafetyClass
    refused: str = ""
    paths: tuple[str, ...] = ()
    why: str = ""
    changes: Kept | None = None
    secrets: tuple[str, ...] = ()
    flow: str = ""
    uploads: tuple[Upload, ...] = ()
    writes: tuple[str, ...] = ()
    rule: str = ""
    asks: tuple[Ask, ...] = ()
    replaced: tuple[tuple[str, bool], ...] = ()
    scripts: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    disclosed: tuple[str, ...] = ()
    in_background: bool = False


class Decision(StrEnum):
    """What the host is to do; NONE is no opinion, and leaves the call to the user's own rules and prompts."""

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
    """What the process prints, and its exit code."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0
