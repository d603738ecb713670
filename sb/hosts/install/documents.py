"""Formats of hosts' settings: what can be edited in a text, whatever its format."""

from __future__ import annotations

from typing import Any, Protocol

# From the root of a document: a text is a key of an object, a number the place in a list.
Path = tuple[str | int, ...]


class Malformed(ValueError):
    """The text is not of its format, or cannot be edited without a guess.

    Args:
        line: where, counted from 1; 0 when no line is to blame.
    """

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what


class Format(Protocol):
    """Edits text and leaves the rest unchanged to the byte. All methods raise Malformed."""

    def load(self, text: str) -> Any:
        """The document as plain values."""
        ...

    def insert(self, text: str, path: Path, value: Any) -> str:
        """Put `value` last into the list or object that holds `path`; objects and lists above it are made if missing.

        Args:
            path: ends in a key that is not there, or in a list's length.
        """
        ...

    def replace(self, text: str, path: Path, value: Any) -> str: ...

    def remove(self, text: str, path: Path) -> str: ...

    def as_in(self, text: str, path: Path, source: str) -> str:
        """Give an empty container the white space that `source` has at the same place, if that is all that differs."""
        ...


def find(data: Any, path: Path) -> Any:
    """The value at a path, or None."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data
