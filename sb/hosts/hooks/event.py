"""Events and verdicts in one form for all hosts."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from sb.kernel.contracts import SafetyClass


class Moment(StrEnum):
    """What an event is about; OTHER needs nothing."""

    BEFORE = "before"  # a call is about to be made
    AFTER = "after"  # it was made
    FAILED = "failed"
    BATCH = "batch"  # all calls of one turn of the model have ended
    PROMPT = "prompt"  # the person said something: the turn before is over
    SESSION_STARTED = "session_started"
    SESSION_ENDED = "session_ended"
    STOP = "stop"  # the turn is over
    OTHER = "other"


class NativeCall(NamedTuple):
    """A call as the host tells of it.

    Args:
        use_id: the host's own id of the call; "" where it has none.
        response: what the call gave; None where it is not told.
        error: why it failed, or "". interrupted: it was cut short.
        ms: milliseconds that it took, 0 where it is not told.
        cwd: the folder that it is made in, if that is not the session's.
        folder_unknown: of a command line, that it may run in another folder than `cwd`: its shell is the one of earlier
            commands, or its host keeps the folder to itself.
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


class HookEvent(NamedTuple):
    """One event of a host's session.

    Args:
        host: who sent it. name: as the host calls it.
        agent_id: the subagent, "" for the session's own agent.
        note: what the session's record says of it, such as why it started.
    """

    host: str
    name: str
    moment: Moment
    session_id: str
    cwd: str
    calls: tuple[NativeCall, ...] = ()
    agent_id: str = ""
    note: str = ""


class GovernedCall(NamedTuple):
    """A host's call under one of our contracts.

    Args:
        safety_class: what is thought of it before anything is judged.
        refused: why no agent may make it at all, or "".
        paths: the files that it changes. why: what a person should know who decides, where the contract's name does not tell.
    """

    tool_id: str
    args: dict[str, Any]
    safety_class: SafetyClass
    refused: str = ""
    paths: tuple[str, ...] = ()
    why: str = ""


class Decision(StrEnum):
    """NONE is no opinion: the host goes on as it would without us, with the person's own rules and prompts."""

    NONE = "none"
    ASK = "ask"
    DENY = "deny"


class Verdict(NamedTuple):
    """What the host is told.

    Args:
        reason: for the model and the person; without a decision it is what went wrong, for whoever reads stderr.
        context: what a session should know when it starts, for hosts that take it.
    """

    decision: Decision = Decision.NONE
    reason: str = ""
    context: str = ""


class Answer(NamedTuple):
    """What the process prints, and its exit code."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0
