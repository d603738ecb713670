"""A first suite from a recorded run: what it changed becomes steps, what it was denied becomes forbidden."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sb.base.files import write_atomic
from sb.base.secrets.redaction import one_line, redact, redact_text
from sb.base.values.frozen import frozen
from sb.config import Config
from sb.errors import UsageError
from sb.evals.exchange.recording import Recording
from sb.evals.exchange.yaml_text import yaml_text
from sb.evals.recorded import NOT_RECORDED, recorded_answer, recorded_file, recorded_run, refused_tools
from sb.kernel.contracts import SafetyClass
from sb.kernel.trajectory_eval.arguments import CallArguments
from sb.kernel.trajectory_eval.model import RecordedCall, TrajectoryStep

LONGEST_VALUE = 200  # characters of an argument that is compared; a model words longer ones anew each time
_LONGEST_INPUT = 4_000
_LONGEST_ID = 40
_MARKS = ("[redacted:", "… (", NOT_RECORDED, "[unreadable arguments]")
# Arguments of hosts' calls that say where and why, which is another on the next machine.
_OF_THE_MACHINE = frozenset(("cwd", "why", "let_go", "stands_for", "partly", "keep", "lost"))
EXAMPLE = "python:my_agent:run"
_EDIT_ME = "EDIT: what the agent is asked"
_HEADER = """\
# A first suite, written from {source}.
# Edit before you rely on it:
#   input       what the agent is asked; it has to lead to these calls
#   args        keep what matters: a call may have more arguments, and lists are compared whole
#   max_calls   how often a call like this may happen in a run
#   forbid      tools that must not be called, whatever the task is
#   matchers    what the answer must say, such as  - {{kind: contains, text: "refund issued"}}
# Reading is free (extras: read_only); any other call beside the steps fails the case.
# Run it: sb agent eval {path} --agent {agent}
"""


@frozen
class Draft:
    """Draft of a case.

    Args:
        source: where it was recorded, for the header. refused: tools that policy or a person refused.
        tools: functions that register tools, as `tools:` of the configuration has them.
    """

    source: str
    recording: Recording
    refused: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def draft_of_run(run_id: str, config: Config) -> Draft:
    """The draft of a case from a run on record.

    Raises:
        NotFoundError: nothing of the run is on record.
        StoreError, DeniedError: the database or the run's packet cannot be used.
    """
    full_id, intent = recorded_run(run_id, config)
    recording = Recording(recorded_answer(full_id, config), input=intent)
    return Draft(f"run {full_id}", recording, refused_tools(full_id, config), config.tools)


def drafts_of_file(path: Path) -> list[Draft]:
    """The drafts of a file's recordings; they do not tell which calls were refused.

    Raises:
        UsageError: it cannot be read.
    """
    return [Draft(path.name, recording) for recording in recorded_file(path)]


def first_suite(drafts: Sequence[Draft], path: Path, agent: str = "") -> str:
    """The suite as YAML. Whatever looks like a secret or personal is left out, never written.

    Args:
        path, agent: of the suite and the agent, for the command in its header.

    Raises:
        UsageError: there is nothing to write it from.
    """
    if not drafts:
        raise UsageError("no recorded run to write a suite from", "sb log tail shows the newest")
    lines = _HEADER.format(
        source=one_line(drafts[0].source, 200),
        path=one_line(path, 200),
        agent=one_line(shlex.quote(agent or EXAMPLE), 200),
    ).splitlines()
    lines.append("version: 1")
    tools = list(dict.fromkeys(tool for draft in drafts for tool in draft.tools))
    if tools:
        lines += _yaml({"config": {"tools": tools}})
    lines.append("cases:")
    ids: set[str] = set()
    for draft in drafts:
        case_id = _case_id(draft, ids)
        ids.add(case_id)
        lines += _case(draft, case_id)
    return "\n".join(lines) + "\n"


def write_first_suite(drafts: Sequence[Draft], path: Path, agent: str = "", *, force: bool = False) -> None:
    """Write a first suite.

    Args:
        agent: to run it, for its header. force: replace a file that is there.

    Raises:
        UsageError: the file exists, or cannot be written.
    """
    content = first_suite(drafts, path, agent).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content, replace=force)
    except OSError as error:
        if isinstance(error, FileExistsError) and path.parent.is_dir():
            raise UsageError(f"{path} exists", "--force replaces it; nothing was written") from None
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def _case(draft: Draft, case_id: str) -> Iterator[str]:
    calls = draft.recording.answer.calls
    steps = [call for call in calls if call.success and call.safety_class is not SafetyClass.READ_ONLY]
    yield from _yaml({"id": case_id}, 1, item=True)
    yield from _yaml({"input": _input(draft.recording.input)}, 2)
    approved = {step.tool for step in steps if step.safety_class is SafetyClass.DESTRUCTIVE}
    if approved:
        yield "    # a person agreed to these calls; without it they are denied"
        yield from _yaml({"setup": {"approve": sorted(approved)}}, 2)
    yield "    trajectory:"
    yield from _yaml({"mode": "subsequence", "extras": "read_only"}, 3)
    yield from _forbidden(draft, {step.tool for step in steps})
    if not steps:
        why = (
            "the run changed nothing, and must not"
            if calls
            else "no call was seen: add matchers on the answer"
        )
        yield f"      steps: []  # {why}"
        return
    yield "      steps:"
    done = [call for call in calls if call.success]
    arguments = CallArguments([call.args for call in done])
    for step in steps:
        same_tool = sum(1 << index for index, call in enumerate(done) if call.tool == step.tool)
        wanted = TrajectoryStep(step.tool, args=_comparable(step)[0])
        yield from _step(step, arguments.fitting(wanted, same_tool).bit_count())


def _step(call: RecordedCall, times: int) -> Iterator[str]:
    args, left_out = _comparable(call)
    step: dict[str, Any] = {"tool": one_line(call.tool, LONGEST_VALUE)}
    step |= {"args": args} if args else {}
    yield from _yaml(step | {"require_success": True, "max_calls": times}, 3, item=True)
    if left_out:
        yield f"        # not compared (secret, personal, long or cut): {one_line(', '.join(left_out), 200)}"


def _forbidden(draft: Draft, used: set[str]) -> Iterator[str]:
    """The refused tools; one that was also used cannot be forbidden by its name."""
    refused = [one_line(tool, LONGEST_VALUE) for tool in draft.refused if tool not in used]
    if refused:
        yield from _yaml({"forbid": refused}, 3)
    if also := [one_line(tool, LONGEST_VALUE) for tool in draft.refused if tool in used]:
        yield f"      # refused once, with other arguments: {', '.join(also)}"


def _comparable(call: RecordedCall) -> tuple[dict[str, Any], list[str]]:
    """The arguments that another run can be expected to have, and the names of the others."""
    masked = redact(dict(call.args))
    host = call.tool.startswith("host.")
    given = {name: value for name, value in masked.items() if not (host and name in _OF_THE_MACHINE)}
    comparable = {
        name: value for name, value in given.items() if _is_comparable(name) and _is_comparable(value)
    }
    return comparable, [name if _is_comparable(name) else "…" for name in given if name not in comparable]


def _is_comparable(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_VALUE and not any(mark in value for mark in _MARKS)
    if isinstance(value, Mapping):
        return all(_is_comparable(name) and _is_comparable(item) for name, item in value.items())
    return all(map(_is_comparable, value)) if isinstance(value, list) else True


def _input(value: Any) -> Any:
    masked = redact(value) if value else _EDIT_ME
    return masked if len(str(masked)) <= _LONGEST_INPUT else _EDIT_ME


def _case_id(draft: Draft, taken: set[str]) -> str:
    """A word or two of what was asked, made unique."""
    recording = draft.recording
    asked = recording.case_id or (recording.input if isinstance(recording.input, str) else "")
    words = re.sub(r"[^a-z0-9]+", "-", redact_text(asked).lower()).strip("-")
    base = words[:_LONGEST_ID].rstrip("-") or "case"
    names = (base, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _yaml(value: Any, depth: int = 0, *, item: bool = False) -> list[str]:
    """A mapping in block style, indented by this many steps of two; as an item of a list with its dash."""
    text = yaml_text(value)
    indent = "  " * depth + ("  " if item else "")
    lines = [f"{indent}{line}" if line else "" for line in text.rstrip("\n").split("\n")]
    if item:
        lines[0] = f"{'  ' * depth}- {lines[0][len(indent) :]}"
    return lines
