"""YAML values with their line numbers, and the strict YAML parser.

Anchors, tags and second documents are refused, and values are counted: an agent may have written the file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

from sb.base.text import plain, shorten


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
    """A value as it was written; its field's kind gives the meaning. `bare` is one without quotes."""

    __slots__ = ("bare",)
    bare: bool

    def __new__(cls, text: str, bare: bool = True) -> Self:
        word = super().__new__(cls, text)
        word.bare = bare
        return word

    @property
    def missing(self) -> bool:
        """True if nothing was written at all."""
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


class Unreadable(Exception):
    """Nothing after this line of a file can be read."""

    def __init__(self, line: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.hint = hint


class YamlWalk(ABC):
    """One walk over the events of a YAML file; a subclass makes values of them.

    Args:
        instead: what to do in place of anchors and aliases. most_values, deepest: bounds of the document.
    """

    def __init__(self, text: str, instead: str, most_values: int, deepest: int) -> None:
        self.text = text
        self.instead = instead
        self.most_values = most_values
        self.deepest = deepest
        self.values = 0
        self.events = self._safe_events()

    @abstractmethod
    def scalar(self, event: Any) -> Any:
        """The value of an event with `value`, and a `style` where that is quoted."""

    @abstractmethod
    def put(self, mapping: LocatedMapping, key: Any, value: Any, line: int, prefix: str) -> None:
        """Put a value into a mapping, unless its key is invalid or there already."""

    def syntax_hint(self, line: int) -> str:
        """The hint for a line that is not YAML."""
        return ""

    def document(self) -> Any:
        """The value of the one document, None without any; raises Unreadable."""
        root: Any = None
        documents = 0
        for event in self.events:
            if type(event).__name__ == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise Unreadable(line_of_event(event), "has a second document", "remove the line ---")
                root = self._node(next(self.events), "", 0)
        return root

    def _safe_events(self) -> Iterator[Any]:
        import yaml  # 20 ms, which a command without a configuration file need not pay

        # The C parser takes 0.6 ms for a file of 120 lines, the other one 8 ms.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            yield from yaml.parse(self.text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = min(mark.line + 1, self.text.count("\n") + 1) if mark else 1
            problem = shorten(plain(error.problem or "cannot be read", one_line=True), 80)
            raise Unreadable(line, f"invalid YAML: {problem}", self.syntax_hint(line)) from None
        except yaml.reader.ReaderError as error:
            line = self.text.count("\n", 0, error.position) + 1
            raise Unreadable(line, "invalid YAML: a control character") from None
        except (ValueError, OverflowError):  # of the parser in Python, at an escape beyond all characters
            raise Unreadable(0, "invalid YAML: a character or number that does not exist") from None

    def _node(self, event: Any, prefix: str, depth: int) -> Any:
        self.values += 1
        kind, line = type(event).__name__, line_of_event(event)
        if kind == "AliasEvent" or event.anchor is not None:
            raise Unreadable(line, "anchors (&) and aliases (*) are not used here", self.instead)
        if event.tag is not None:
            raise Unreadable(line, "tags (!) are not used here", "write the plain value")
        if depth > self.deepest:
            raise Unreadable(line, f"is nested deeper than {self.deepest} levels")
        if self.values > self.most_values:
            raise Unreadable(
                line, f"has more than {self.most_values:,} values", "divide it into several files"
            )
        if kind == "ScalarEvent":
            return self.scalar(event)
        if kind == "SequenceStartEvent":
            listed = LocatedList(line)
            for item in self._until("SequenceEndEvent"):
                listed.put(self._node(item, prefix, depth + 1), line_of_event(item))
            return listed
        mapping = LocatedMapping(line)
        for name in self._until("MappingEndEvent"):
            key = self._node(name, prefix, depth + 1)
            below = shorten(f"{prefix}{key if isinstance(key, str) else ''}", 80)
            value = self._node(next(self.events), f"{below}.", depth + 1)
            self.put(mapping, key, value, line_of_event(name), prefix)
        return mapping

    def _until(self, end: str) -> Iterator[Any]:
        while type(event := next(self.events)).__name__ != end:
            yield event


def line_of_event(event: Any) -> int:
    """The line of an event of YAML, from 1."""
    return int(event.start_mark.line) + 1
