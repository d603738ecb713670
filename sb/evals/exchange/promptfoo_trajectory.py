"""promptfoo's `trajectory:*` assertions of one test, joined to one trajectory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from sb.base.secrets.redaction import one_line

PREFIX = "trajectory:"
_NOT = "not-"
_SHOWN = 120
_GLOB = re.compile(r"[*?]")


class TrajectoryDraft:
    """Joins assertions, and notes those that it cannot express.

    Args:
        where: the test, for notes. notes: a line is added for all that is not carried over as it was.
    """

    def __init__(self, where: str, notes: list[str]) -> None:
        self.matchers: list[dict[str, Any]] = []
        self._where = where
        self._notes = notes
        self._sequence: list[dict[str, Any]] = []
        self._mode = ""
        self._arguments: list[dict[str, Any]] = []
        self._counts: dict[str, tuple[int, int | None]] = {}
        self._forbidden: list[str] = []

    def add(self, at: str, kind: str, value: Any) -> None:
        """Take over an assertion.

        Args:
            at: its place, for notes.
        """
        takes = {
            "tool-used": self._add_used,
            "tool-sequence": self._add_sequence,
            "tool-args-match": self._add_arguments,
            "step-count": self._add_step_count,
        }
        take = takes.get(kind.removeprefix(_NOT).removeprefix(PREFIX))
        why = take(value, kind.startswith(_NOT)) if take is not None else "no such assertion is known"
        if why:
            self._notes.append(f"{at}: {one_line(kind, _SHOWN)}: not carried over: {why}")

    def _add_used(self, value: Any, negated: bool) -> str:
        if isinstance(value, str | list):
            names = [value] if isinstance(value, str) else value
            if not names or not all(isinstance(name, str) and name for name in names):
                return "it names no tools"
            for name in names:
                if negated:
                    self._forbidden.append(name)
                else:
                    self._count(name, 1, None)
            return ""
        name = _name(value)
        if not name:
            return "it names no tool"
        least, most = _whole(value.get("min"), 1), _whole(value.get("max"), None)
        if not negated:
            self._count(name, least or 0, most)
        elif most is not None or not least:
            return "nothing here means a number outside of a range"
        elif least == 1:
            self._forbidden.append(name)
        else:
            self._count(name, 0, least - 1)
        return ""

    def _count(self, name: str, least: int, most: int | None) -> None:
        if most == 0 and not least:
            self._forbidden.append(name)
            return
        known_least, known_most = self._counts.get(name, (0, None))
        bounds = [bound for bound in (most, known_most) if bound is not None]
        self._counts[name] = max(least, known_least), min(bounds, default=None)

    def _add_sequence(self, value: Any, negated: bool) -> str:
        if negated:
            return "nothing here means that calls must not come in an order"
        if self._mode:
            return "a case has one sequence"
        mode = value.get("mode", "in_order") if isinstance(value, dict) else "in_order"
        steps = value.get("steps") if isinstance(value, dict) else value
        names = [_name(step) for step in steps] if isinstance(steps, list) else []
        if not names or not all(names) or mode not in ("in_order", "exact"):
            return "it has no steps with names, or an unknown mode"
        self._mode = "strict" if mode == "exact" else "subsequence"
        self._sequence = [_step(name) for name in names]
        return ""

    def _add_arguments(self, value: Any, negated: bool) -> str:
        name = _name(value)
        expected = value.get("args", value.get("arguments")) if isinstance(value, dict) else None
        if not name or not isinstance(expected, dict):
            return "it has no tool, or arguments that are no object"
        if negated:
            return "nothing here means that a tool must not get some arguments; forbid the tool"
        if value.get("defaults"):
            return "defaults of arguments"
        exact = value.get("mode") == "exact"
        ignored = [value["ignore"]] if isinstance(value.get("ignore"), str) else value.get("ignore") or []
        if ignored and exact:
            return "ignored arguments together with mode exact"
        expected = {key: item for key, item in expected.items() if not _is_ignored(key, ignored)}
        step = _step(name) | {"args": expected} | ({"args_match": "exact"} if exact else {})
        if not exact and _has_objects_in_lists(expected):
            self._notes.append(
                f"{self._where}: arguments of {one_line(name, _SHOWN)}: stricter: lists are compared whole"
            )
        if step not in self._arguments:
            self._arguments.append(step)
        return ""

    def _add_step_count(self, value: Any, negated: bool) -> str:
        if negated:
            return "nothing here means a number outside of a range"
        if not isinstance(value, dict) or value.get("type") not in ("tool", ["tool"]):
            return "only calls of tools are recorded here"
        least, most = _whole(value.get("min"), None), _whole(value.get("max"), None)
        if not least and most is None:
            return "no number of calls fails it"
        if name := _name(value):
            self._count(name, least or 0, most)
        else:
            bounds = {"min": least, "max": most}
            known = {
                name: bound
                for name, bound in bounds.items()
                if bound is not None and (bound or name == "max")
            }
            self.matchers.append({"kind": "tool_calls", **known})
        return ""

    def document(self) -> dict[str, Any] | None:
        """The trajectory; None if the assertions demand none."""
        steps = [dict(step) for step in self._sequence]
        for wanted in self._arguments:
            self._place(wanted, steps)
        for name, (least, most) in self._counts.items():
            self._place_count(name, least, most, steps)
        if not steps and not self._forbidden:
            return None
        forbidden = []
        for name in dict.fromkeys(self._forbidden):
            if any(_overlaps(step, _step(name)) for step in steps):
                self._narrow(name, "expected and forbidden: only expected here")
            else:
                forbidden.append(name)
        document: dict[str, Any] = {"mode": self._mode or "unordered"}
        return document | ({"forbid": list(map(_pattern, forbidden))} if forbidden else {}) | {"steps": steps}

    def _place(self, wanted: dict[str, Any], steps: list[dict[str, Any]]) -> None:
        """Put arguments on the step of their tool, or make one of them."""
        name = wanted.get("tool") or wanted["tool_pattern"]
        same = [step for step in steps if _is_of(step, wanted)]
        if self._mode and not same:
            self._narrow(name, "its arguments: the case has a sequence without it; not carried over")
            return
        free = next((step for step in same if "args" not in step), None)
        if free is not None:
            if self._mode:
                self._narrow(name, "its arguments: stricter: they are demanded of its call in the sequence")
            free |= wanted
            return
        if any(_overlaps(step, wanted) for step in steps):
            self._narrow(name, "its arguments: stricter: each of several demands needs a call of its own")
        steps.append(dict(wanted))

    def _place_count(self, name: str, least: int, most: int | None, steps: list[dict[str, Any]]) -> None:
        """Demand this many calls of a tool, counting those that other assertions demand."""
        step = _step(name)
        same = [item for item in steps if _is_of(item, step)]
        overlapping = [item for item in steps if item not in same and _overlaps(item, step)]
        if overlapping:
            self._narrow(name, "stricter: a call serves one step, and others here may need the same call")
        if self._mode:
            if len(same) < least:
                self._narrow(name, f"at least {least} calls: the case has a sequence; not carried over")
            if most is not None:
                self._limit(name, most, steps, same)
            return
        added = [dict(step) for _ in range(least - len(same))]
        steps += added
        if most is not None:
            self._limit(name, most, steps, [*same, *added])

    def _limit(self, name: str, most: int, steps: list[dict[str, Any]], same: list[dict[str, Any]]) -> None:
        """At most so many calls of a tool: on a step that any of them fits."""
        if len(same) > most:
            self._narrow(name, f"at most {most} calls: others demand {len(same)}; not carried over")
        elif self._mode != "strict":  # whose steps are all the calls there may be
            fitting = [step for step in same if "args" not in step]
            if not fitting:
                fitting = [_step(name) | {"optional": True}]
                steps += fitting
            fitting[0]["max_calls"] = most

    def _narrow(self, name: str, what: str) -> None:
        self._notes.append(f"{self._where}: {one_line(name, _SHOWN)}: {what}")


def _name(value: Any) -> str:
    """The tool that a matcher of promptfoo names; its pattern counts before its name."""
    if isinstance(value, dict):
        if value.get("type") not in (None, "tool", ["tool"]):
            return ""
        value = value.get("pattern") or value.get("name")
    return value if isinstance(value, str) else ""


def _step(name: str) -> dict[str, Any]:
    pattern = _pattern(name)
    return {"tool": name} if pattern == name and not _GLOB.search(name) else {"tool_pattern": pattern}


def _pattern(name: str) -> str:
    """promptfoo's glob as ours: brackets have no meaning there."""
    if "[" not in name and not name.startswith("re:"):
        return name
    escaped = re.escape(name).replace(r"\*", ".*").replace(r"\?", ".")
    return f"re:{escaped}"


def _is_of(step: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(step.get(name) == other.get(name) for name in ("tool", "tool_pattern"))


def _overlaps(step: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if a call may fit both steps; what is not known to be apart may."""
    if "tool_pattern" in step and "tool_pattern" in other:
        return True
    pattern = step.get("tool_pattern") or other.get("tool_pattern")
    if pattern is None:
        return bool(step["tool"] == other["tool"])
    name = str(step.get("tool") or other.get("tool"))
    return bool(pattern.startswith("re:") or fnmatchcase(name, pattern))


def _whole(value: Any, default: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _is_ignored(key: str, ignored: list[Any]) -> bool:
    return any(isinstance(entry, str) and fnmatchcase(key, entry.replace("[", "[[]")) for entry in ignored)


def _has_objects_in_lists(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_objects_in_lists, value.values()))
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in value)
    return False
