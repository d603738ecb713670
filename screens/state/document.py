"""How is one record laid out, when a value may be a megabyte long?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len, chop_cells

from sb.text import plain

FOLDED_LINES = 6
NAME_WIDTH = 14


@dataclass(frozen=True)
class Field:
    """A name and its value; without a name, lines of their own; without a value, a heading."""

    name: str
    value: str | None = None


@dataclass(frozen=True)
class Line:
    """One line on screen.

    Args:
        indent: cells in which the name stands.
        tone: "", "heading" or "muted".
    """

    name: str
    text: str
    indent: int = 0
    tone: str = ""


def shown(value: Any) -> str:
    """A value of a payload as people read it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fields_of(values: dict[str, Any]) -> list[Field]:
    return [Field(name, shown(value)) for name, value in values.items()]


def layout(document: Sequence[Field], width: int, *, unfolded: bool) -> list[Line]:
    """The lines of a document; may take a while for long values, so it is called in a worker.

    Args:
        width: cells of a line.
        unfolded: show long values in full.
    """
    return [line for field in document for line in _lines(field, max(width, 20), unfolded)]


def _lines(field: Field, width: int, unfolded: bool) -> Iterator[Line]:
    name = plain(field.name, one_line=True)
    if field.value is None:
        yield Line("", name, tone="heading")
        return
    indent = NAME_WIDTH if name else 0
    name = name if cell_len(name) < NAME_WIDTH else name[: NAME_WIDTH - 2] + "…"
    text = plain(field.value).expandtabs(4)
    shown_text = text if unfolded else text[: width * (FOLDED_LINES + 1)]
    for number, line in enumerate(_wrapped(shown_text, width - indent)):
        if number == FOLDED_LINES and not unfolded:
            yield Line("", f"… {len(text):,} characters in all; z shows everything", tone="muted")
            return
        yield Line(name if number == 0 else "", line, indent)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Pieces that fit, cut anywhere: in arguments, spaces and line ends are part of what was asked."""
    for line in text.split("\n"):
        if line.isascii():
            yield from (line[start : start + width] for start in range(0, len(line), width))
            if not line:
                yield ""
        else:
            yield from chop_cells(line, width) or [""]
