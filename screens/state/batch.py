"""Requests that are decided together: their common parts once, then a line each with what differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from sb.base.text import revealed_line
from sb.base.values.frozen import frozen
from sb.kernel.approvals.disclosure import Disclosure
from sb.present.approvals import argument, bare, call_text, exact_object, object_argument
from sb.present.effects import BETWEEN, request_effect, request_why

SHELL, ABOVE = "host.shell.", ("cwd", "why")  # tools of which these arguments are named by Where and Why
TOOL = "tool"  # the argument with the host's name of the tool, which stands beside our own
MORE = "…"  # where the common beginning of command lines ends, and what differs goes on
_OBJECT = "Each"  # the part that says by itself what the call is about
_NAMED = (_OBJECT, "Effect", "Why", "Agent", "Where", "Tool")  # parts whose value is enough in a line


@frozen
class Batch:
    """Several requests in one dialog.

    Args:
        common: names and values that all of them have.
        lines: the rest of each, with hidden secrets. revealed: the same with the secrets.
    """

    common: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]
    revealed: tuple[str, ...]


def batch(chosen: Sequence[Disclosure]) -> Batch:
    """The common parts of several requests, and a line each that no other request of them has."""
    hidden, shown = ([_parts(item, reveal) for item in chosen] for reveal in (False, True))
    names = list(dict.fromkeys(name for parts in hidden for name in parts))
    common = {
        name: hidden[0][name]
        for name in names
        if len({parts.get(name) for parts in (*hidden, *shown)}) == 1  # a secret is no common part
    }
    if _OBJECT not in common:
        common = _beginning(hidden, shown) | common
    ids = [item.approval.id for item in chosen]
    lines = _lines(hidden, common, ids)
    return Batch(tuple(common.items()), lines, _lines(shown, common, ids))


def _parts(item: Disclosure, reveal: bool) -> dict[str, str]:
    """Everything that tells a request from another, by its name."""
    about, shell = object_argument(item), item.approval.tool_id.startswith(SHELL)
    quiet = (*ABOVE, TOOL) if shell and not item.long else ()
    parts = {}
    if item.long or about is not None:
        parts[_OBJECT] = call_text(item, reveal=reveal) if item.long else exact_object(item, reveal=reveal)
    if not item.long:
        parts |= {
            f"{entry.name} =": entry.text(reveal=reveal)
            for entry in item.arguments
            if entry is not about and entry.name not in quiet
        }
    parts |= {"Effect": request_effect(item), "Why": _why(item), "Agent": revealed_line(item.approval.agent)}
    parts |= {"Where": argument(item, "cwd") if quiet else ""}
    parts |= {"Tool": "" if shell else revealed_line(item.approval.tool_id)}
    return {name: text for name, text in parts.items() if text}


def _why(item: Disclosure) -> str:
    """The reason, without the values of arguments, which stand beside it."""
    why = revealed_line(request_why(item))
    for value in sorted({bare(entry.text()) for entry in item.arguments}, key=len, reverse=True):
        why = re.sub(rf"(?<= ){re.escape(value)}(?!\w)", MORE, why) if value else why
    return why


def _beginning(hidden: Sequence[dict[str, str]], shown: Sequence[dict[str, str]]) -> dict[str, str]:
    """The words that all objects begin with, whole ones alone, and none of a text in quotes."""
    texts = [parts.get(_OBJECT, "") for parts in (*hidden, *shown)]
    pairs = zip(min(texts), max(texts), strict=False)
    start = "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    start = start[: start.rfind(" ") + 1]
    while start.count("'") % 2 or start.count('"') % 2:
        start = start[: start.rstrip().rfind(" ") + 1]
    return {_OBJECT: start + MORE} if start.strip() and start not in texts else {}


def _lines(items: Sequence[dict[str, str]], common: dict[str, str], ids: Sequence[str]) -> tuple[str, ...]:
    lines = [BETWEEN.join(_differing(parts, common)) for parts in items]
    times = Counter(lines)
    return tuple(
        line if line and times[line] == 1 else BETWEEN.join(filter(None, (line, id)))
        for line, id in zip(lines, ids, strict=True)
    )


def _differing(parts: dict[str, str], common: dict[str, str]) -> list[str]:
    """The parts of one request that others do not share."""
    start = common.get(_OBJECT, "")
    texts = []
    for name, text in parts.items():
        if name == _OBJECT and start.endswith(MORE) and text != start:
            texts.append(f"{MORE} {text[len(start) - len(MORE) :]}")
        elif common.get(name) != text:
            texts.append(text if name in _NAMED else f"{name.removesuffix(' =')}={text}")
    return texts
