"""Bounds of one call's difference, and the changed paths that are beyond them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

_GONE_TIMES = 5  # as many paths that are gone: the tree holds them, and only the record names each
_ROW = 48  # bytes of a path's row in an undo record, besides the path
_MOST_ROWS = 640 << 10  # bytes, so that the arguments of a reversal fit into max_args_bytes


class Bounds(NamedTuple):
    """The most that one difference may hold: bytes of contents, and paths that are still there."""

    max_bytes: int = 64 << 20
    max_paths: int = 2000

    @property
    def max_gone(self) -> int:
        """The most paths that are there no more."""
        return self.max_paths * _GONE_TIMES


def beyond(bounds: Bounds, blobs: Mapping[str, str], sizes: Mapping[str, int]) -> dict[str, str]:
    """The paths that are more than the bounds, with the reason: what is gone comes first, then what is the smallest.

    Args:
        blobs: each path to the id of its content, "" for none. sizes: of contents.
    """

    def weight(path: str) -> tuple[bool, int, list[str]]:
        return os.path.lexists(path), sizes.get(blobs[path], 0), path.split("/")

    total, rows, dropped, counted = 0, 0, dict[str, str](), {""}
    fitting = {True: 0, False: 0}
    for path in sorted(blobs, key=weight):
        blob, is_there = blobs[path], os.path.lexists(path)
        size, row = 0 if blob in counted else sizes.get(blob, 0), len(os.fsencode(path)) + _ROW
        is_full = fitting[is_there] >= (bounds.max_paths if is_there else bounds.max_gone)
        if is_full or (not is_there and rows + row > _MOST_ROWS):
            dropped[path] = "is one path too many for a snapshot (undo.call_max_files)"
        elif total + size > bounds.max_bytes:
            dropped[path] = "is too large for what a snapshot holds (undo.call_max_bytes)"
        else:
            fitting[is_there] += 1
            counted.add(blob)
            total, rows = total + size, rows + row
    return dropped
