"""Texts of others inside Markdown and XML reports: as they are, and never as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sb.base.text import plain, revealed

_MARKUP = re.compile(r"[\\`*_\[\]<>|~!&$@]|(?<=[:/])/|(?<=www)\.", re.IGNORECASE)
# What XML 1.0 forbids beyond the characters that `revealed` writes out.
_NOT_XML = re.compile("[\ufffe\uffff]")


def markdown_literal(value: object) -> str:
    """One line that renders as the text it is: no markup, HTML, link or further column."""
    return _MARKUP.sub(r"\\\g<0>", plain(revealed(str(value)), one_line=True))


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of literal cells."""
    lines = [headers, ["---"] * len(headers), *([markdown_literal(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def xml_line(text: str) -> str:
    """One line of characters that XML can hold; the others stand as their escapes."""
    shown = _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", revealed(text))
    return plain(shown, one_line=True)
