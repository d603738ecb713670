"""Edit a configuration file in place: set keys of one group, and leave every other line as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sb.base.located import LocatedMapping
from sb.base.reading import Report
from sb.config.document import parse_document
from sb.errors import UsageError


def with_values(text: str, group: str, values: Mapping[str, Any]) -> str:
    """Returns the text of a configuration with other values in one group.

    Args:
        values: by key, as JSON has them; each stands on one line, and comments within the former value go.

    Raises:
        ConfigError: the text is no configuration. UsageError: the group is written on one line.
    """
    report = Report("config.yaml")
    document = parse_document(text.encode(), report)
    report.require_none()
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    groups, starts = [*document], [*document.lines.values()]
    if group not in groups:
        return "".join([*lines, f"{group}:\n", *(_line("  ", key, value) for key, value in values.items())])
    place, own = groups.index(group), document[group]
    children = own.lines if isinstance(own, LocatedMapping) else {}
    begins = [*children.values()]
    if starts[place] in begins:
        raise UsageError(f"{group} is written on one line", f"write it on several, with {', '.join(values)}")
    after = starts[place + 1] - 1 if place + 1 < len(starts) else len(lines)
    first = lines[begins[0] - 1] if begins else "  "
    indent = first[: len(first) - len(first.lstrip())]
    ends = [*(line - 1 for line in begins[1:]), after]
    known = {key: (line - 1, end) for (key, line), end in zip(children.items(), ends, strict=False)}
    new = [_line(indent, key, value) for key, value in values.items() if key not in known]
    edits = [(known[key], [_line(indent, key, value)]) for key, value in values.items() if key in known]
    for (start, end), changed in sorted(edits, key=lambda edit: -edit[0][0]):
        while end > start + 1 and lines[end - 1].lstrip()[:1] in ("", "#"):  # they belong to what follows
            end -= 1
        lines[start:end] = changed
    lines[starts[place] : starts[place]] = new
    return "".join(lines)


def _line(indent: str, key: str, value: Any) -> str:
    return f"{indent}{key}: {json.dumps(value, ensure_ascii=False)}\n"
