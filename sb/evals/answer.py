"""Questions of cases, and agents' answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from sb.base.values.frozen import frozen
from sb.kernel.trajectory_eval.model import RecordedCall


@frozen
class Task:
    """One question to an agent.

    Args:
        case_id: the case. attempt: counted from 0, where a case runs several times.
        input: a text, or a list of messages. vars: the case's variables.
        folder: the agent's working folder, of this attempt alone. home: the SB_HOME of its kernel.
        seed: for the agent's own chance. timeout_s: seconds that it may take.
        approve: globs of tools for whose calls a person would agree; requests for others are denied.
    """

    case_id: str
    input: Any
    vars: Mapping[str, Any]
    folder: Path
    home: Path
    attempt: int = 0
    seed: int = 0
    timeout_s: float = 60.0
    approve: tuple[str, ...] = ()


@frozen
class AgentRun:
    """Return value of a Python agent, in place of a text.

    Args:
        output: its last message. cost_cents: what it cost.
        calls: tool calls that the kernel did not see, as `{"tool", "args", "success"}`; counted only if it saw none.
    """

    output: str
    cost_cents: float | None = None
    calls: Sequence[Mapping[str, Any]] = ()


@frozen
class Answer:
    """An agent's message and calls.

    Args:
        output: its last message. calls: its tool calls in the order in which they began.
        cost_cents: what it cost; None if it does not say. seconds: wall time.
        error: why the agent could not be run, in one line; "" if it could. A wrong answer is no error.
        log: what it wrote beside its answer, such as stderr, shortened.
        database: the database of its kernel, for matchers that look at its state; None if it has none.
    """

    output: str = ""
    calls: tuple[RecordedCall, ...] = ()
    cost_cents: float | None = None
    seconds: float = 0.0
    error: str = ""
    log: str = field(default="", repr=False)
    database: Path | None = None
    folder: Path | None = None
