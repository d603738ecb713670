"""The index of patterns of files that hold credentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

KEY = 3  # characters of a name by which patterns of names are looked up
# The components of a path, whether it is a folder with everything in it, whether it begins at the root, the component by which
# it is looked up, and its row.
Pattern: TypeAlias = tuple[tuple[str, ...], bool, bool, int, int]
SecretRow: TypeAlias = tuple[str, str, tuple[str, ...], tuple[str, ...]]
# Patterns, and their numbers by a component, by how a name begins and ends, and others.
SecretIndex: TypeAlias = tuple[
    tuple[Pattern, ...],
    dict[str, tuple[int, ...]],
    dict[str, tuple[int, ...]],
    dict[str, tuple[int, ...]],
    tuple[int, ...],
]


def index(rows: Sequence[SecretRow], first: int = 0) -> SecretIndex:
    """The patterns of files, and by what they are looked up, so that nothing has to be worked out for each line.

    Args:
        first: the number of the first row, where others stand before them.
    """
    patterns: list[Pattern] = []
    literal: dict[str, tuple[int, ...]] = {}
    begins: dict[str, tuple[int, ...]] = {}
    ends: dict[str, tuple[int, ...]] = {}
    others: list[int] = []
    for row, (_, _, paths, _) in enumerate(rows):
        for path in paths:
            number = len(patterns)
            parts = tuple(path.strip("/").split("/"))
            key = next((at for at, part in enumerate(parts) if "*" not in part), -1)
            patterns.append((parts, path.endswith("/"), path.startswith("/"), key, first + row))
            name = parts[-1]
            if key >= 0:
                literal[parts[key]] = (*literal.get(parts[key], ()), number)
            elif len(name.partition("*")[0]) >= KEY:
                begins[name[:KEY]] = (*begins.get(name[:KEY], ()), number)
            elif len(name.rpartition("*")[2]) >= KEY:
                ends[name[-KEY:]] = (*ends.get(name[-KEY:], ()), number)
            else:
                others.append(number)
    return tuple(patterns), literal, begins, ends, tuple(others)
