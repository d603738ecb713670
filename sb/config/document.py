"""Parse YAML files, with the line of every value and of every error.

Values keep their text as written, and the kind of the setting decides what it means. YAML's own guesses would
read `off` as false, `010` as eight and `1:30` as ninety. Anchors and aliases are refused, and nodes are counted:
an agent may have written the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NoReturn

from sb.base.located import LocatedList, LocatedMapping, Word
from sb.base.reading import SHOWN, Problem, Report, describe
from sb.text import plain, shorten

MAX_NODES = 5_000
MAX_DEPTH = 16
_QUOTE_STARS = '"*.example.org"'
_EMPTY_GROUP = re.compile(r"([a-z_]+): *(?: #.*)?")
_NO_CHARACTER = re.compile("[\ufffe\uffff]")


class _Unreadable(Exception):
    """Nothing after this place can be read."""

    def __init__(self, line: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.hint = hint


def parse_document(data: bytes, report: Report) -> LocatedMapping:
    """The mapping that the bytes of a YAML file hold, its values as `Word`s; what is wrong goes to `report`."""
    table, problems = _parsed(data)
    for problem in problems:
        report.add(problem.line, problem.key, problem.message, problem.hint)
    return table


@lru_cache(maxsize=4)  # a process that waits to be asked has parsed the files that the next event needs
def _parsed(data: bytes) -> tuple[LocatedMapping, tuple[Problem, ...]]:
    report = Report("")
    try:
        text = _readable_text(data)
        empty = _empty_groups(text)
        table = _Builder(text, report).document() if empty is None else empty
    except _Unreadable as error:
        report.add(error.line, "", error.message, error.hint)
        table = LocatedMapping()
    return table, tuple(report.problems)


def _empty_groups(text: str) -> LocatedMapping | None:
    """The mapping of a file in which nothing is set, as the generated one; None for any other.

    Nothing else has to be read then, which takes 20 ms of each hook.
    """
    if not text.isascii():  # YAML has line breaks of its own
        return None
    table = LocatedMapping()
    for number, line in enumerate(text.split("\n"), 1):
        if group := _EMPTY_GROUP.fullmatch(line):
            if group[1] not in table:
                table.put(group[1], Word(""), number)
        elif line.strip(" ") and line.lstrip(" ")[0] != "#":
            return None
    return table


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

    def document(self) -> LocatedMapping:
        root: Any = Word("")
        documents, line = 0, 0
        for event in self.events:
            if type(event).__name__ != "DocumentStartEvent":
                continue
            documents += 1
            if documents > 1:
                raise _Unreadable(_line(event), "has a second document", "remove the line ---")
            first = next(self.events)
            root, line = self.node(first, "", 0), _line(first)
        if isinstance(root, Word) and root.missing:
            return LocatedMapping()
        if not isinstance(root, LocatedMapping):
            raise _Unreadable(
                line, f"must be a mapping of settings, not {describe(root)}", "write key: value"
            )
        return root

    def node(self, event: Any, prefix: str, depth: int) -> Any:
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
            return self.word(event, line)
        if kind == "MappingStartEvent":
            return self.table(line, prefix, depth)
        listed = LocatedList(line)
        for item in self.until("SequenceEndEvent"):
            listed.put(self.node(item, prefix, depth + 1), _line(item))
        return listed

    def until(self, end: str) -> Iterator[Any]:
        while type(event := next(self.events)).__name__ != end:
            yield event

    def word(self, event: Any, line: int) -> Word:
        if plain(event.value, one_line=True) != event.value:
            raise _Unreadable(line, "a value has a line break, a tab or an invisible character")
        return Word(event.value, not event.style)

    def table(self, line: int, prefix: str, depth: int) -> LocatedMapping:
        table = LocatedMapping(line)
        for event in self.until("MappingEndEvent"):
            key, at = self.node(event, prefix, depth + 1), _line(event)
            name = str(key) if isinstance(key, Word) else ""
            dotted = shorten(f"{prefix}{name}", SHOWN)
            value = self.node(next(self.events), f"{dotted}.", depth + 1)
            if not name:
                self.report.add(at, prefix.rstrip("."), f"a key must be a name, not {describe(key)}")
            elif name not in table:
                table.put(name, value, at)
            elif not prefix and _is_empty(value):
                continue  # an empty group, as in the generated file, beside one that was pasted above it
            elif prefix or not _is_empty(table[name]):
                self.report.add(at, dotted, f"is set twice, first on line {table.lines[name]}")
            else:
                table.put(name, value, at)
        return table


def _is_empty(value: Any) -> bool:
    return isinstance(value, Word) and value.missing


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
