"""Lines of code by room, under the ceilings of `[tool.house]` in pyproject.toml: `python -m evals.house` prints them.

A room is a folder of `sb`, or one of `commands`, `screens` and `evals`. Its ceiling goes down with it; who raises one says
why in the line of pyproject.toml.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
WHOLE = "whole"
_TOPS = ("sb", "commands", "screens", "evals")


def lines_by_room() -> dict[str, int]:
    """Lines of Python in each room; loose files of `sb` are one room, `sb`."""
    lines = Counter[str]()
    for top in _TOPS:
        for path in (ROOT / top).rglob("*.py"):
            inside = path.relative_to(ROOT).parts
            room = "/".join(inside[:2]) if top == "sb" and len(inside) > 2 else top
            lines[room] += len(path.read_bytes().splitlines())
    return {**lines, WHOLE: lines.total()}


def ceilings() -> dict[str, int]:
    """The ceiling of each room, and of all of them together."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return dict(tomllib.load(file)["tool"]["house"])


def above() -> list[str]:
    """A sentence for each room that has no ceiling, or more lines than that."""
    most = ceilings()
    rooms = lines_by_room()
    missing = [
        f"{room}: no ceiling in [tool.house] ({count} lines)"
        for room, count in rooms.items()
        if room not in most
    ]
    gone = [f"{room}: no such room; remove it from [tool.house]" for room in most.keys() - rooms.keys()]
    return [*missing, *gone] + [
        f"{room}: {count} lines, {count - most[room]} above the ceiling of {most[room]}"
        for room, count in rooms.items()
        if count > most.get(room, count)
    ]


def main() -> int:
    """Print the rooms, the largest first; 1 if one is above its ceiling."""
    most = ceilings()
    for room, count in sorted(lines_by_room().items(), key=lambda entry: -entry[1]):
        print(f"{count:>8,} {most.get(room, 0):>8,}  {room}")
    for sentence in (faults := above()):
        print(sentence, file=sys.stderr)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
