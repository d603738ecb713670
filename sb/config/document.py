"""Parse YAML files, with the line of every value and of every error.

Values keep their text as written, and the kind of the setting decides what it means. YAML's own guesses would
read `off` as false, `010` as eight and `1:30` as ninety. Anchors and aliases are refused, and nodes are counted:
an agent may have written the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sb.base.located import LocatedList, LocatedMapping, Unreadable, Word, YamlWalk, line_of_event
from sb.base.reading import SHOWN, Problem, Report, describe
from sb.base.text import plain, shorten

MAX_NODES = 5_000
MAX_DEPTH = 16
_QUOTE_STARS = '"*.example.org"'
_INSTEAD = f"write the value out, or, if that is what it is, in quotes: {_QUOTE_STARS}"
_EMPTY_GROUP = re.compile(r"([a-z_]+): *(?: #.*)?")
_NO_CHARACTER = re.compile("[\ufffe\uffff]")


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
        table = _Builder(text, report).settings() if empty is None else empty
    except Unreadable as error:
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
        raise Unreadable(line, "is not UTF-8 text", "save the file as UTF-8") from None
    if "\t" in text:  # parsers disagree about where one is allowed
        raise Unreadable(_first_line(text, lambda line: "\t" in line), "has a tab", "indent with spaces")
    if _hides(text):
        hint = "a person who reads the file must see what it says"
        raise Unreadable(_first_line(text, _hides), "has a control character or an invisible one", hint)
    return text


def _hides(text: str) -> bool:
    return plain(text) != text or _NO_CHARACTER.search(text) is not None


def _first_line(text: str, found: Callable[[str], bool]) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if found(line))


class _Builder(YamlWalk):
    """The values as written; keys that are none, or set twice, go to the report."""

    def __init__(self, text: str, report: Report) -> None:
        super().__init__(text, _INSTEAD, MAX_NODES, MAX_DEPTH)
        self.report = report

    def settings(self) -> LocatedMapping:
        """The mapping that the document has to be."""
        root = self.document()
        if root is None or _is_empty(root):
            return LocatedMapping()
        if not isinstance(root, LocatedMapping):
            line = root.line if isinstance(root, LocatedList) else 1
            raise Unreadable(line, f"must be a mapping of settings, not {describe(root)}", "write key: value")
        return root

    def syntax_hint(self, line: int) -> str:
        starred = re.search(r"(^|[\s\[,{:-])[*&]", self.text.split("\n")[line - 1])
        return f"in quotes: {_QUOTE_STARS}" if starred else ""

    def scalar(self, event: Any) -> Word:
        if plain(event.value, one_line=True) != event.value:
            hidden = "a value has a line break, a tab or an invisible character"
            raise Unreadable(line_of_event(event), hidden)
        return Word(event.value, not event.style)

    def put(self, mapping: LocatedMapping, key: Any, value: Any, line: int, prefix: str) -> None:
        name = str(key) if isinstance(key, Word) else ""
        if not name:
            self.report.add(line, prefix.rstrip("."), f"a key must be a name, not {describe(key)}")
        elif name not in mapping:
            mapping.put(name, value, line)
        elif not prefix and _is_empty(value):
            pass  # an empty group, as in the generated file, beside one that was pasted above it
        elif prefix or not _is_empty(mapping[name]):
            first = mapping.lines[name]
            self.report.add(line, shorten(f"{prefix}{name}", SHOWN), f"is set twice, first on line {first}")
        else:
            mapping.put(name, value, line)


def _is_empty(value: Any) -> bool:
    return isinstance(value, Word) and value.missing
