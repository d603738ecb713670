"""Values of a file that know how they stand there: mappings and lists with lines, words as written, numbers of placeholders."""

from __future__ import annotations

from typing import Any, Self


class LocatedMapping(dict[str, Any]):
    """A mapping of a file.

    Args:
        line: where it begins, from 1. lines: of its keys.
    """

    def __init__(self, line: int = 0) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}

    def put(self, key: str, value: Any, line: int) -> None:
        self[key] = value
        self.lines[key] = line


class LocatedList(list[Any]):
    """A list of a file; `lines` are those of its items."""

    def __init__(self, line: int = 0) -> None:
        super().__init__()
        self.line = line
        self.lines: list[int] = []

    def put(self, value: Any, line: int) -> None:
        self.append(value)
        self.lines.append(line)


class Word(str):
    """A value as it was written, of which its kind says what it means; `bare` is one without quotes."""

    __slots__ = ("bare",)
    bare: bool

    def __new__(cls, text: str, bare: bool = True) -> Self:
        word = super().__new__(cls, text)
        word.bare = bare
        return word

    @property
    def missing(self) -> bool:
        """Whether nothing was written at all."""
        return self.bare and not self


class FilledText(str):
    """The text of a number that a placeholder stood for: who reads a text has it, and `value` is the number."""

    __slots__ = ("value",)
    value: int | float

    @classmethod
    def of(cls, value: float, text: str) -> FilledText:
        filled = cls(text)
        filled.value = value
        return filled


def unfilled(value: Any) -> Any:
    """The number in place of its text."""
    return value.value if isinstance(value, FilledText) else value


def line_of(container: Any, key: str | int) -> int:
    """The line of a key or an item; 0 where nobody knows, as in a mapping that no file holds."""
    if isinstance(container, LocatedMapping) and isinstance(key, str):
        return container.lines.get(key, container.line)
    if isinstance(container, LocatedList) and isinstance(key, int):
        return container.lines[key]
    return 0
