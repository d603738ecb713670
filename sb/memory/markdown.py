"""Write the memory as a Markdown document, by scope, kind and time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from sb.base.sources import iso
from sb.base.text import plain, plural
from sb.memory.bundles import chosen, exported, new_file
from sb.memory.conditions import Condition
from sb.memory.space import Space
from sb.memory.views import Memory
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.places import Place

_PAGE = 500
_PLURALS = {"raw": "raw entries"}
_BLOCK = re.compile(
    r"(?m)^([#>+*=~`|_-]|\d{1,9}(?=[.)]))"
)  # what begins a heading, a list, a fence and the like
_INLINE = re.compile(r"[\\\[\]]")  # an image that is shown would be fetched from wherever it says


def markdown(space: Space, *, stack: str, scopes: Sequence[str] = (), agent: str = "") -> Iterator[str]:
    """The active memories of a stack, part by part; what they say cannot become a part of the document's form.

    Args:
        scopes: only these; all of them if there are none.
        agent: only what this agent may read; "" for operators, who may read everything.

    Raises:
        NotFoundError: nothing is kept there.
    """
    space = space.seen_by(agent, stack)
    places = chosen(space, stack, scopes, agent)
    leaves = exported(space, tuple(places))
    yield f"# Memory of {escaped(stack)}\n\nAs of {iso(space.clock.now())}.\n"
    for number, place in sorted(places.items(), key=lambda item: (item[1].scope, item[1].owner)):
        yield from _of_place(space, number, place, leaves)


def write(space: Space, path: Path, *, stack: str, scopes: Sequence[str] = (), agent: str = "") -> None:
    """`markdown` into a new file; also raises UsageError if it is there already, or cannot be written."""
    parts = markdown(space, stack=stack, scopes=scopes, agent=agent)
    first = next(parts)  # or what is not there would leave a file
    with new_file(path) as file:
        file.write(first.encode())
        file.writelines(part.encode() for part in parts)


def _of_place(space: Space, number: int, place: Place, leaves: Condition) -> Iterator[str]:
    owner = f", private to {escaped(place.owner)}" if place.owner else ""
    heading = f"\n## {escaped(place.scope)}{owner}\n"
    for kind in DESCRIPTORS:
        where = f"r.place = ? AND r.kind = ? AND r.state = 'active' AND {leaves[0]}"
        values = (number, kind, *leaves[1])
        count = space.records.number_of(where, values)
        if not count:
            continue
        yield f"{heading}\n### {_plural(kind)} ({count:,})\n\n"
        heading = ""
        after = 0
        while rows := list(space.records.select(f"{where} AND r.id > ?", (*values, after), limit=_PAGE)):
            yield from (_item(space.whole_memory(row)) for row in rows)
            after = rows[-1]["id"]


def _plural(kind: str) -> str:
    name = _PLURALS.get(kind) or plural(kind)
    return name.replace("_", " ").capitalize()


def _item(memory: Memory) -> str:
    """A memory as an item of a list: what it says, and below it what is known of it."""
    title = memory.title
    content = escaped(memory.content)
    if memory.content != title and memory.content.startswith(title):
        content = f"**{escaped(title)}**{escaped(memory.content[len(title) :])}"
    known = [f"{iso(memory.happened_at)[:16].replace('T', ' ')}", memory.agent_id]
    known += [memory.category] if memory.category else []
    known += [f"said by {memory.speaker}"] if memory.speaker else []
    known += [f"confidence {memory.confidence:g}"] if memory.confidence is not None else []
    known += [f"tags {', '.join(memory.tags)}"] if memory.tags else []
    origins = memory.details.get("derived_from")
    known += [f"from {', '.join(origins)}"] if origins else []
    known += [f"restated as {text}" for text in memory.restated]
    return f"- {content}\n  ({escaped('; '.join(known))}; {memory.id})\n"


def escaped(text: str) -> str:
    """A text that is shown as it is, each of its lines within the item that it stands in."""
    lines = [line.strip() for line in plain(text).splitlines()]
    shown = _INLINE.sub(r"\\\g<0>", "\n".join(line for line in lines if line)).replace("<", "&lt;")
    return _BLOCK.sub(r"\\\1", shown).replace("\n", "\n  ")
