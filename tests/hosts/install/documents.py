"""Texts of configuration files as people and programs leave them, made by hypothesis."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

_PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 99),
    st.text("aé\u2028\"\\/*#'\n", max_size=4),
    st.just({}),
    st.just([]),
)
VALUES = st.recursive(
    _PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("ab/", max_size=2), inner, max_size=3)
    ),
)
THEIRS = {"hooks": [{"type": "command", "command": "./theirs"}], "matcher": "Bash"}


def settings(events: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    """A host's file as it may be before we come, with hooks of the person's own and empty places among it."""
    group = st.sampled_from([THEIRS, {"hooks": []}, {"hooks": [{"type": "command", "command": "x"}]}])
    hooks = st.dictionaries(st.sampled_from(events), st.lists(group, max_size=2), max_size=3)
    return st.tuples(st.dictionaries(st.text("ab", max_size=2), VALUES, max_size=3), st.none() | hooks).map(
        lambda parts: parts[0] if parts[1] is None else {**parts[0], "hooks": parts[1]}
    )


@st.composite
def written(draw: st.DrawFn, value: Any, *, relaxed: bool) -> str:
    """That value as text, with any white space, and if `relaxed` with comments and trailing commas."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    gaps = ["", "", " ", newline, newline + "  ", newline + "\t", newline * 2]
    if relaxed:
        gaps += [f"// a, ]}}  {newline}", "/* b, { */", f" /* {newline} */ ", f"{newline}  // c{newline}  "]
    gap = st.sampled_from(gaps)

    def text(part: Any) -> str:
        if isinstance(part, dict):
            members = [
                f"{json.dumps(key)}{draw(gap)}:{draw(gap)}{text(inner)}" for key, inner in part.items()
            ]
            return "{" + listed(members) + "}"
        if isinstance(part, list):
            return "[" + listed([text(inner) for inner in part]) + "]"
        return json.dumps(part, ensure_ascii=draw(st.booleans()))

    def listed(parts: list[str]) -> str:
        joined = ",".join(f"{draw(gap)}{part}{draw(gap)}" for part in parts)
        trailing = "," + draw(gap) if parts and relaxed and draw(st.booleans()) else ""
        return (joined or draw(gap)) + trailing

    return f"{draw(gap)}{text(value)}{draw(gap)}"
