"""Parse YAML files, with the line of every value and of every error.

Values keep their text as written, and the kind of the setting decides what it means. YAML's own guesses would
read `off` as false, `010` as eight and `1:30` as ninety. Anchors and aliases are refused, and nodes are counted:
an agent may have written the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from sb.errors import ConfigError
from sb.text import plain, shorten

MAX_NODES = 5_000
MAX_DEPTH = 16
SHOWN = 80  # characters of a foreign value in a message
_MOST_NAMED = 4  # further problems in a hint
_QUOTE_STARS = '"*.example.org"'
_EMPTY_GROUP = re.compile(r"([a-z_]+): *(?: #.*)?")
_NO_CHARACTER = re.compile("[\ufffe\uffff]")


class Problem(NamedTuple):
    """One thing that is wrong; `str` makes it `file:line: key: message`.

    Args:
        line: counted from 1; 0 when the problem is not on a line.
        key: of the setting, with dots, or "".
    """

    source: str
    line: int
    key: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line else self.source
        return ": ".join(part for part in (place, self.key, self.message) if part)


class Report:
    """The problems of one source: a file, a flag or an environment variable."""

    def __init__(self, source: str) -> None:
        self.source = plain(source, one_line=True)
        self.problems: list[Problem] = []

    def add(self, line: int, key: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self.source, line, key, message, hint))

    def in_order(self) -> tuple[Problem, ...]:
        return tuple(sorted(self.problems, key=lambda problem: problem.line))

    def require_none(self, listing: str = "sb config check") -> None:
        """Raise ConfigError with the first problem, and the number of the others, if there is any.

        Args:
            listing: the command that lists the problems of this source; "" where none does: then the hint names them.
        """
        if self.problems:
            first, *others = self.in_order()
            if others:
                rest = "; ".join(
                    str(problem._replace(source=f"line {problem.line}", line=0))
                    for problem in others[:_MOST_NAMED]
                )
                lists = f"{listing} lists all" if listing else f"also {rest}"
                raise ConfigError(f"{first} (and {len(others)} more)", first.hint or lists)
            raise ConfigError(str(first), first.hint)


class Scalar(NamedTuple):
    """One value as it was written; `bare` means without quotes."""

    line: int
    text: str
    bare: bool = True

    @property
    def missing(self) -> bool:
        return self.bare and not self.text


class Listing(NamedTuple):
    line: int
    items: tuple[Node, ...]


class Entry(NamedTuple):
    line: int
    key: str
    value: Node


class Table(NamedTuple):
    line: int
    entries: tuple[Entry, ...] = ()


Node = Scalar | Listing | Table


def describe(node: Node) -> str:
    """What a node is, for "must be …, not …"."""
    if isinstance(node, Listing):
        return "a list"
    if isinstance(node, Table):
        return "a mapping"
    if node.missing:
        return "nothing"
    return shorten(node.text, SHOWN) if node.bare else f'"{shorten(node.text, SHOWN)}"'


class _Unreadable(Exception):
    """Nothing after this place can be read."""

    def __init__(self, line: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.hint = hint


def parse_document(data: bytes, report: Report) -> Table:
    """The mapping that the bytes of a YAML file hold; what is wrong goes to `report`."""
    table, problems = _parsed(data)
    for problem in problems:
        report.add(problem.line, problem.key, problem.message, problem.hint)
    return table


@lru_cache(maxsize=4)  # a process that waits to be asked has parsed the files that the next event needs
def _parsed(data: bytes) -> tuple[Table, tuple[Problem, ...]]:
    report = Report("")
    try:
        text = _readable_text(data)
        table = _empty_groups(text) or _Builder(text, report).document()
    except _Unreadable as error:
        report.add(error.line, "", error.message, error.hint)
        table = Table(0)
    return table, tuple(report.problems)


def _empty_groups(text: str) -> Table | None:
    """The mapping of a file in which nothing is set, as the generated one; None for any other.

    Nothing else has to be read then, which takes 20 ms of each hook.
    """
    if not text.isascii():  # YAML has line breaks of its own
        return None
    entries: dict[str, Entry] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if group := _EMPTY_GROUP.fullmatch(line):
            entries.setdefault(group[1], Entry(number, group[1], Scalar(number, "")))
        elif line.strip(" ") and line.lstrip(" ")[0] != "#":
            return None
    first = next(iter(entries.values()), None)
    return Table(first.line if first else 0, tuple(entries.values()))


def _readable_text(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _Unreadable(line, "is not UTF-8 text", "save the file as UTF-8") from None
    if "\t" in text:  # parsers disagree about where one is allowed
        raise _Unreadable(_first_line(text, lambda line: "\t" in line), "has a tab", "indent with spaces")
    if _hides(text):
        hint = "a person who reads the file must see what it says"
        raise _Unreadable(_first_line(text, _hides), "has a control character or an invisible one", hint)
    return text


def _hides(text: str) -> bool:
    return plain(text) != text or _NO_CHARACTER.search(text) is not None


def _first_line(text: str, found: Callable[[str], bool]) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if found(line))


class _Builder:
    """One walk over the events of a document."""

    def __init__(self, text: str, report: Report) -> None:
        self.text = text
        self.report = report
        self.nodes = 0
        self.events = self._safe_events()

    def _safe_events(self) -> Iterator[Any]:
        import yaml  # 20 ms, which a command without a configuration file need not pay

        # The C parser takes 0.6 ms for a file of 120 lines, the other one 8 ms.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            yield from yaml.parse(self.text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self._syntax(mark.line + 1 if mark else 1, error.problem or "cannot be read")
        except (ValueError, OverflowError):  # the parser in Python, at an escape beyond all characters
            raise _Unreadable(0, "invalid YAML: a character or number that does not exist") from None

    def _syntax(self, line: int, problem: str) -> NoReturn:
        lines = self.text.split("\n")
        line = min(line, len(lines))
        starred = re.search(r"(^|[\s\[,{:-])[*&]", lines[line - 1])
        hint = f"in quotes: {_QUOTE_STARS}" if starred else ""
        raise _Unreadable(line, f"invalid YAML: {shorten(plain(problem, one_line=True), SHOWN)}", hint)

    def document(self) -> Table:
        root: Node = Table(0)
        documents = 0
        for event in self.events:
            if type(event).__name__ != "DocumentStartEvent":
                continue
            documents += 1
            if documents > 1:
                raise _Unreadable(_line(event), "has a second document", "remove the line ---")
            root = self.node(next(self.events), "", 0)
        if isinstance(root, Scalar) and root.missing:
            return Table(0)
        if not isinstance(root, Table):
            raise _Unreadable(
                root.line, f"must be a mapping of settings, not {describe(root)}", "write key: value"
            )
        return root

    def node(self, event: Any, prefix: str, depth: int) -> Node:
        self.nodes += 1
        line = _line(event)
        kind = type(event).__name__
        if kind == "AliasEvent" or event.anchor is not None:
            hint = f"write the value out, or, if that is what it is, in quotes: {_QUOTE_STARS}"
            raise _Unreadable(line, "anchors (&) and aliases (*) are not used here", hint)
        if event.tag is not None:
            raise _Unreadable(line, "tags (!) are not used here", "write the plain value")
        if depth > MAX_DEPTH:
            raise _Unreadable(line, f"is nested deeper than {MAX_DEPTH} levels")
        if self.nodes > MAX_NODES:
            raise _Unreadable(line, f"has more than {MAX_NODES} values")
        if kind == "ScalarEvent":
            return self.scalar(event, line)
        if kind == "SequenceStartEvent":
            items = self.until("SequenceEndEvent")
            return Listing(line, tuple(self.node(item, prefix, depth + 1) for item in items))
        return self.table(line, prefix, depth)

    def until(self, end: str) -> Iterator[Any]:
        while type(event := next(self.events)).__name__ != end:
            yield event

    def scalar(self, event: Any, line: int) -> Scalar:
        if plain(event.value, one_line=True) != event.value:
            raise _Unreadable(line, "a value has a line break, a tab or an invisible character")
        return Scalar(line, event.value, not event.style)

    def table(self, line: int, prefix: str, depth: int) -> Table:
        entries: dict[str, Entry] = {}
        for event in self.until("MappingEndEvent"):
            key = self.node(event, prefix, depth + 1)
            name = key.text if isinstance(key, Scalar) else ""
            dotted = shorten(f"{prefix}{name}", SHOWN)
            value = self.node(next(self.events), f"{dotted}.", depth + 1)
            if not isinstance(key, Scalar) or not name:
                self.report.add(key.line, prefix.rstrip("."), f"a key must be a name, not {describe(key)}")
            elif name in entries and not prefix and isinstance(value, Scalar) and value.missing:
                continue  # an empty group, as in the generated file, beside one that was pasted above it
            elif name in entries and (prefix or not _is_empty(entries[name].value)):
                self.report.add(key.line, dotted, f"is set twice, first on line {entries[name].line}")
            elif isinstance(value, Scalar) and value.missing:
                entries[name] = Entry(key.line, name, Scalar(key.line, ""))  # its own mark is further down
            else:
                entries[name] = Entry(key.line, name, value)
        return Table(line, tuple(entries.values()))


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.missing


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
