"""The steps that a case expects beside the calls that were made, line by line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

OK, MISSING, WRONG, EXTRA, FORBIDDEN, ALSO = "ok", "missing", "wrong", "extra", "forbidden", "also"


class AlignedStep(NamedTuple):
    """One line: a step, a call, or both.

    Args:
        word: `ok`; `wrong`, a call of the step's tool that does not serve it; `missing`, a step without a call;
            `extra` and `forbidden`, calls that fail the case; `also`, calls that do not.
        expected: tool, args and more of the step. recorded: tool, args and success of the call. None for neither.
    """

    word: str
    expected: Mapping[str, Any] | None
    recorded: Mapping[str, Any] | None


def aligned(trajectory: Mapping[str, Any] | None, attempt: Mapping[str, Any]) -> list[AlignedStep]:
    """Expected and actual calls side by side, in order; missing steps behind the step before.

    Args:
        trajectory, attempt: of a case of a report.
    """
    calls: Sequence[Mapping[str, Any]] = attempt.get("calls") or ()
    grade: Mapping[str, Any] = attempt.get("grade") or {}
    steps: Sequence[Mapping[str, Any]] = (trajectory or {}).get("steps") or ()
    matched = [*(grade.get("matched") or ()), *[None] * len(steps)][: len(steps)]
    extra, forbidden = (set(grade.get(name) or ()) for name in (EXTRA, FORBIDDEN))
    near = _near_misses(steps, matched, calls, forbidden)
    lines: list[tuple[float, int, AlignedStep]] = []
    place = -1.0
    for number, step in enumerate(steps):
        index = near.get(number) if matched[number] is None else matched[number]
        call = calls[index] if index is not None and index < len(calls) else None
        word = OK if matched[number] is not None else WRONG if call is not None else MISSING
        place = float(index) if index is not None else place + 0.25
        if not (word == MISSING and step.get("optional")):
            lines.append((place, number, AlignedStep(word, step, call)))
    served = {index for index in (*matched, *near.values()) if index is not None}
    for index, call in enumerate(calls):
        if index not in served:
            word = FORBIDDEN if index in forbidden else EXTRA if index in extra else ALSO
            lines.append((float(index), len(steps), AlignedStep(word, None, call)))
    return [line for *_, line in sorted(lines, key=lambda line: line[:2])]


def _near_misses(
    steps: Sequence[Mapping[str, Any]],
    matched: Sequence[int | None],
    calls: Sequence[Mapping[str, Any]],
    forbidden: set[int],
) -> dict[int, int]:
    """For steps without a call, one of their tool that serves no other step."""
    taken = {index for index in matched if index is not None} | forbidden
    found: dict[int, int] = {}
    for number, step in enumerate(steps):
        if matched[number] is None:
            for index, call in enumerate(calls):
                if index not in taken and _is_of(str(step.get("tool")), str(call.get("tool"))):
                    found[number] = index
                    taken.add(index)
                    break
    return found


def _is_of(name: str, tool: str) -> bool:
    """True if a tool is the one that a step names; one that a regular expression names only if they are alike."""
    if name.startswith("re:"):
        return bool(re.match(r"re:(\w+)", name)) and tool.startswith(re.split(r"\W", name[3:], maxsplit=1)[0])
    return fnmatchcase(tool, name)
