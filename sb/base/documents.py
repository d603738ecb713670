"""YAML and JSON Lines, read into plain values that know their lines: suites, decisions.

Values are those of YAML 1.2, which is what JSON has: `yes` and `2026-11-23` are texts. What parsers disagree about, what
could blow a small file up, and what a person would not see is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from sb.base.located import LocatedList, LocatedMapping
from sb.base.reading import Place, Report, WrongValue
from sb.text import human_bytes, plain, shorten, storable

MAX_BYTES = 16 * 1024 * 1024
MAX_NODES = 2_000_000
MAX_DEPTH = 64
MAX_DIGITS = 1_000  # of a number

_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")


def parse_yaml(data: bytes, report: Report, instead: str = "write the value out") -> Any:
    """The value of the one document in a YAML file; raises WrongValue.

    Args:
        instead: what to do in place of anchors and aliases.
    """
    try:
        return _Builder(report, instead).document(_decode(data, report))
    except RecursionError:
        raise Place(report).refuse(f"is nested deeper than {MAX_DEPTH} levels") from None


def parse_json_lines(data: bytes, report: Report) -> list[LocatedMapping]:
    """The objects of a JSON Lines file, one on a line, empty lines aside; raises WrongValue."""
    found, complete = [], True
    for number, line in enumerate(_decode(data, report).split("\n"), 1):
        if line.strip():
            try:
                found.append(_json_object(line, Place(report, "", number)))
            except WrongValue:
                complete = False
                if len(report.problems) >= 20:
                    break
    if not complete:
        raise WrongValue
    return found


def _decode(data: bytes, report: Report) -> str:
    if len(data) > MAX_BYTES:
        raise Place(report).refuse(f"is larger than {human_bytes(MAX_BYTES)}", "divide it into several files")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Place(report, "", line).refuse("is not UTF-8 text", "save the file as UTF-8") from None


def _json_object(line: str, place: Place) -> LocatedMapping:
    def mapping(pairs: list[tuple[str, Any]]) -> LocatedMapping:
        out = LocatedMapping(place.line)
        for key, value in pairs:
            if key in out:
                raise place.refuse(f'has the key "{shorten(plain(key, one_line=True), 80)}" twice')
            out.put(key, value, place.line)
        return out

    def constant(word: str) -> NoReturn:
        raise place.refuse(f"has {word}, which is not JSON")

    def whole(digits: str) -> int:
        return int(_few_digits(digits, place))

    def real(digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            raise place.refuse("has a number that is too large")
        return value

    try:
        value = json.loads(
            line, object_pairs_hook=mapping, parse_constant=constant, parse_int=whole, parse_float=real
        )
    except json.JSONDecodeError as error:
        raise place.refuse(f"is not JSON: {error.msg}, column {error.colno}") from None
    except RecursionError:
        raise place.refuse("is nested too deeply") from None
    if "\\u" in line and not _is_storable(value):
        raise place.refuse("has half of a surrogate pair, which no file takes", "write the character itself")
    if not isinstance(value, LocatedMapping):
        raise place.refuse("must be a JSON object", 'write {"id": …}')
    return value


def _is_storable(value: Any) -> bool:
    text = json.dumps(value, ensure_ascii=False)
    return storable(text) == text


def _few_digits(digits: str, place: Place) -> str:
    if len(digits) > MAX_DIGITS:
        raise place.refuse(f"has a number of more than {MAX_DIGITS:,} digits")
    return digits


class _Builder:
    """One walk over the events of a YAML file."""

    def __init__(self, report: Report, instead: str) -> None:
        self.report = report
        self.instead = instead
        self.nodes = 0
        self.events: Iterator[Any] = iter(())

    def document(self, text: str) -> Any:
        self.events = self._safe_events(text)
        value: Any = None
        documents = 0
        for event in self.events:
            if type(event).__name__ == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise self._place(event).refuse("has a second document", "remove the line ---")
                value = self._node(next(self.events), 0)
        return value

    def _safe_events(self, text: str) -> Iterator[Any]:
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            yield from yaml.parse(text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = shorten(plain(error.problem or "cannot be read", one_line=True), 80)
            raise Place(self.report, "", mark.line + 1 if mark else 0).refuse(
                f"invalid YAML: {problem}"
            ) from None
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise Place(self.report, "", line).refuse("invalid YAML: a control character") from None
        except (ValueError, OverflowError):  # of the parser in Python, at an escape beyond all characters
            raise Place(self.report).refuse("invalid YAML: a character that does not exist") from None

    def _place(self, event: Any) -> Place:
        return Place(self.report, "", event.start_mark.line + 1)

    def _node(self, event: Any, depth: int) -> Any:
        self.nodes += 1
        kind = type(event).__name__
        if kind == "AliasEvent" or event.anchor is not None:
            raise self._place(event).refuse("anchors (&) and aliases (*) are not used here", self.instead)
        if event.tag is not None:
            raise self._place(event).refuse("tags (!) are not used here", "write the plain value")
        if depth > MAX_DEPTH:
            raise self._place(event).refuse(f"is nested deeper than {MAX_DEPTH} levels")
        if self.nodes > MAX_NODES:
            raise self._place(event).refuse(
                f"has more than {MAX_NODES:,} values", "divide it into several files"
            )
        if kind == "ScalarEvent":
            return event.value if event.style else self._plain_scalar(event)
        if kind == "SequenceStartEvent":
            listed = LocatedList(event.start_mark.line + 1)
            while type(item := next(self.events)).__name__ != "SequenceEndEvent":
                listed.put(self._node(item, depth + 1), item.start_mark.line + 1)
            return listed
        return self._mapping(event, depth)

    def _mapping(self, event: Any, depth: int) -> LocatedMapping:
        mapping = LocatedMapping(event.start_mark.line + 1)
        while type(key := next(self.events)).__name__ != "MappingEndEvent":
            name = self._node(key, depth + 1)
            if not isinstance(name, str):
                raise self._place(key).refuse("a key is no text", "put it in quotes")
            value = self._node(next(self.events), depth + 1)
            if name in mapping:
                shown = shorten(plain(name, one_line=True), 80)
                raise self._place(key).refuse(f'the key "{shown}" is there twice')
            mapping.put(name, value, key.start_mark.line + 1)
        return mapping

    def _plain_scalar(self, event: Any) -> Any:
        text: str = event.value
        if text in _NULLS:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        if text[0] not in "-+.0123456789":
            return text
        if _LEADING_ZERO.match(text) and _INTEGER.fullmatch(text):
            raise self._place(event).refuse(
                f"{shorten(text, 80)}: a number with leading zeros", "put it in quotes"
            )
        if _INTEGER.fullmatch(text):
            digits = _few_digits(text, self._place(event))
            return int(digits, 0) if digits[:2] in ("0o", "0x") else int(digits)
        if _FLOAT.fullmatch(text):
            value = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
            if math.isinf(value) and "inf" not in text.lower():
                raise self._place(event).refuse("a number that is too large")
            return value
        return text
