"""Tools that stand in for others: what is decided about those binds them too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sb.kernel.contracts import SafetyClass, ToolSpec

# Of a tool's metadata: the argument that names the tools that a call stands in for, and the class of each such tool.
STANDS_IN, STOOD_FOR = "stands_in", "stood_for"


def stood_for(spec: ToolSpec, args: Mapping[str, Any]) -> Sequence[tuple[str, SafetyClass]]:
    """The tools that a call stands in for, with their classes; all that its contract names if it does not say which."""
    known: Mapping[str, SafetyClass] = spec.metadata.get(STOOD_FOR) or {}
    if not known:
        return ()
    named = args.get(spec.metadata.get(STANDS_IN, ""))
    if isinstance(named, list) and named and all(item in known for item in named):
        return [(item, known[item]) for item in named]
    return list(known.items())
