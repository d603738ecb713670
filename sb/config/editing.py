"""Edit a configuration file in place: set keys of one mapping, and leave every other line as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sb.base.located import LocatedMapping
from sb.base.reading import Report
from sb.config.document import parse_document
from sb.errors import UsageError

_PLAIN = re.compile(r"[a-z_]+")
_EMPTY = re.compile(r":\s*\{\s*\}")


def with_values(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """Returns the text of a configuration with other values in one mapping.

    Args:
        path: the keys that lead to the mapping, such as `memory`; those that are missing are written.
        values: by key, as JSON has them; each stands on one line, and comments within the former value go.

    Raises:
        ConfigError: the text is no configuration. UsageError: a mapping on the path is written on one line.
    """
    report = Report("config.yaml")
    own = parse_document(text.encode(), report)
    report.require_none()
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    begin = end = len(lines)
    indent = ""
    for depth, name in enumerate(path):
        if name not in own:
            missing = [f"{indent}{'  ' * step}{_key(key)}:\n" for step, key in enumerate(path[depth:])]
            inner = indent + "  " * len(missing)
            lines[begin:begin] = [*missing, *(_line(inner, key, value) for key, value in values.items())]
            return "".join(lines)
        start, end = _spans(own, end)[name]
        begin, inside = start + 1, own[name]
        own = inside if isinstance(inside, LocatedMapping) else LocatedMapping()
        if begin in own.lines.values():
            raise UsageError(
                f"{name} is written on one line", f"write it on several, with {', '.join(values)}"
            )
        if not own:
            lines[start] = _EMPTY.sub(":", lines[start], count=1)
        first = lines[min(own.lines.values()) - 1] if own else f"{indent}  "
        indent = first[: len(first) - len(first.lstrip())]
    known = _spans(own, end)
    new = [_line(indent, key, value) for key, value in values.items() if key not in known]
    edits = [(known[key], [_line(indent, key, value)]) for key, value in values.items() if key in known]
    for (start, end), changed in sorted(edits, key=lambda edit: -edit[0][0]):
        while end > start + 1 and lines[end - 1].lstrip()[:1] in ("", "#"):  # they belong to what follows
            end -= 1
        lines[start:end] = changed
    lines[begin:begin] = new
    return "".join(lines)


def _spans(mapping: LocatedMapping, end: int) -> dict[str, tuple[int, int]]:
    """The lines of each key, the first and the one after the last, counted from 0."""
    starts = [line - 1 for line in mapping.lines.values()]
    return dict(zip(mapping.lines, zip(starts, [*starts[1:], end], strict=True), strict=True))


def _line(indent: str, key: str, value: Any) -> str:
    return f"{indent}{_key(key)}: {json.dumps(value, ensure_ascii=False)}\n"


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name)
