"""YAML and JSON Lines, read into plain values that know their lines: suites, decisions.

Values are those of YAML 1.2, which is what JSON has: `yes` and `2026-11-23` are texts. What parsers disagree about, what
could blow a small file up, and what a person would not see is refused.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from sb.base.located import LocatedMapping, Unreadable, YamlWalk, line_of_event
from sb.base.reading import Place, Report, WrongValue
from sb.base.text import human_bytes, plain, shorten, storable

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
        return _PlainValues(_decode(data, report), instead, MAX_NODES, MAX_DEPTH).document()
    except Unreadable as error:
        raise Place(report, "", error.line).refuse(error.message, error.hint) from None
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
        if len(digits) > MAX_DIGITS:
            raise place.refuse(_TOO_LONG)
        return int(digits)

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


_TOO_LONG = f"has a number of more than {MAX_DIGITS:,} digits"


class _PlainValues(YamlWalk):
    def put(self, mapping: LocatedMapping, key: Any, value: Any, line: int, prefix: str) -> None:
        if not isinstance(key, str):
            raise Unreadable(line, "a key is no text", "put it in quotes")
        if key in mapping:
            shown = shorten(plain(key, one_line=True), 80)
            raise Unreadable(line, f'the key "{shown}" is there twice')
        mapping.put(key, value, line)

    def scalar(self, event: Any) -> Any:
        text: str = event.value
        if event.style:
            return text
        if text in _NULLS:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        if text[0] not in "-+.0123456789":
            return text
        line = line_of_event(event)
        if _LEADING_ZERO.match(text) and _INTEGER.fullmatch(text):
            shown = shorten(text, 80)
            raise Unreadable(line, f"{shown}: a number with leading zeros", "put it in quotes")
        if _INTEGER.fullmatch(text):
            if len(text) > MAX_DIGITS:
                raise Unreadable(line, _TOO_LONG)
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        if _FLOAT.fullmatch(text):
            value = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
            if math.isinf(value) and "inf" not in text.lower():
                raise Unreadable(line, "a number that is too large")
            return value
        return text
