"""The topics of `sb help`, which docs/reference/cli.md shows too; `topics.md` has their texts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from sb.base.values.frozen import frozen


@frozen
class Topic:
    """One page of help.

    Args:
        title: its heading in the documentation. summary: its line in the list of topics.
        before, after: paragraphs around the rows, with a blank line between two.
        columns: headings of the rows.
    """

    title: str
    summary: str
    before: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[tuple[str, str]] = ()
    after: str = ""

    def lines(self, width: int) -> Iterator[str]:
        """The topic for a terminal of that width."""
        yield self.title
        for paragraph in paragraphs(self.before):
            yield from ("", *textwrap.wrap(paragraph, width))
        if self.rows:
            yield ""
        first = max((len(name) for name, _ in self.rows), default=0)
        for name, meaning in self.rows:
            indent = " " * (first + 4)
            yield from textwrap.wrap(
                f"{name:<{first}}  {meaning}", width, initial_indent="  ", subsequent_indent=indent
            )
        for paragraph in paragraphs(self.after):
            yield from ("", *textwrap.wrap(paragraph, width))

    def table(self) -> str:
        """The rows as a Markdown table."""
        rows = [self.columns, ["---"] * len(self.columns), *([f"`{name}`", text] for name, text in self.rows)]
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)

    def markdown(self) -> str:
        """The topic as a section of a page."""
        parts = [f"## {self.title}\n", *map(_wrapped, paragraphs(self.before))]
        parts += [self.table()] if self.rows else []
        return "\n".join([*parts, *map(_wrapped, paragraphs(self.after))])


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each on one line."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, 120, break_on_hyphens=False) + "\n"


def _topics(text: str) -> Iterator[tuple[str, Topic]]:
    """The sections of topics.md, by the names of their topics."""
    for section in text.split("\n## ")[1:]:
        heading, *parts = section.strip().split("\n\n")
        name, title, summary = heading.split(" | ")
        at = next((number for number, part in enumerate(parts) if part.startswith("| ")), len(parts))
        cells = [line[2:-2].split(" | ", 1) for line in "".join(parts[at : at + 1]).splitlines()]
        columns = tuple(cells[0]) if cells else ()
        rows = [(first.strip("`"), second) for first, second in cells[2:]]
        yield (
            name,
            Topic(title, summary, "\n\n".join(parts[:at]), columns, rows, "\n\n".join(parts[at + 1 :])),
        )


TOPICS = dict(_topics(Path(__file__).with_name("topics.md").read_text(encoding="utf-8")))
