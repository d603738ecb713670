"""Check arguments against the declared schema, and mask what may not be shown."""

from __future__ import annotations

from typing import Any

from sb.base.secrets.redaction import (
    EVERYTHING,
    SENSITIVE,
    leaves,
    one_line,
    redact,
    spellings,
)
from sb.base.text import nearest
from sb.kernel.contracts import ToolSpec, value_matches

LONGEST_LOGGED_TEXT = 4096  # characters of one string
LONGEST_NAME = 64  # characters of an argument's name that nobody declared
SHORTEST_SECRET = 3
MOST_SECRETS = 500
_MOST_FIELDS = 50  # of an object that is logged without some of them
LONGEST_LOGGED_VALUE = 65_536  # bytes of all arguments, or of a result


def problem_with(spec: ToolSpec, args: dict[str, Any]) -> str:
    """The fault in the arguments, by their names and never their values; "" without one.

    An empty schema is undeclared and checks nothing; a declared one refuses unknown names.
    """
    if not spec.args_schema:
        return ""
    declared = {arg.name: arg for arg in spec.args_schema}
    for name in args:
        if name not in declared:
            return f"unknown argument {presentable(name)!r}{nearest(name[:LONGEST_NAME], declared)}"
    for arg in spec.args_schema:
        if arg.name not in args:
            if arg.required:
                return f"argument {arg.name!r} is missing"
        elif not value_matches(arg.type, args[arg.name]):
            return f"argument {arg.name!r} must be {arg.type}, not {_type_name(args[arg.name])}"
    return ""


def _type_name(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
    return names.get(type(value), "null")


def masked_args(spec: ToolSpec, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments as they may be written down: sensitive and undeclared ones masked.

    A misspelt name of a sensitive argument is an undeclared one.
    """
    if not spec.args_schema:
        return args
    visible = {arg.name for arg in spec.args_schema if not arg.sensitive}
    declared = {arg.name for arg in spec.args_schema}
    return {
        name if name in declared else presentable(name): value if name in visible else SENSITIVE
        for name, value in args.items()
    }


def presentable(name: str) -> str:
    """An argument's name that nobody declared, short and without secrets."""
    return one_line(name, LONGEST_NAME)


def secrets_in(spec: ToolSpec, args: dict[str, Any]) -> list[str]:
    """Texts that must not appear anywhere, longest first: what `shown` masks, in all its spellings.

    Texts of one or two characters are masked in their own place only: elsewhere they would mangle every word.
    """
    names = hidden_names(spec, args)
    return secret_texts([args[name] for name in names]) if names else []


def hidden_names(spec: ToolSpec, args: dict[str, Any]) -> list[str]:
    """The arguments that `shown` masks."""
    if not spec.args_schema:
        return []
    visible = {arg.name for arg in spec.args_schema if not arg.sensitive}
    return [name for name in args if name not in visible]


def secret_texts(hidden: list[Any]) -> list[str]:
    """The spellings by which sensitive values could be recognised elsewhere, longest first."""
    found = {text for value in hidden for text in leaves(value) if len(text) >= SHORTEST_SECRET}
    if len(found) > MOST_SECRETS or sum(map(len, found)) > LONGEST_LOGGED_VALUE:
        return [EVERYTHING]
    return sorted({form for text in found for form in spellings(text)}, key=len, reverse=True)


def clipped(value: Any) -> Any:
    """A copy in which long strings are cut, the cut marked."""
    if isinstance(value, str) and len(value) > LONGEST_LOGGED_TEXT:
        return f"{value[:LONGEST_LOGGED_TEXT]}… ({len(value):,} characters)"
    if isinstance(value, dict):
        return {key: clipped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clipped(item) for item in value]
    return value


def loggable(value: Any, size: int) -> Any:
    """The value as a log row holds it: whole when small, clipped when long; of too many parts, the size.

    Of an object with too many parts its largest fields are left out, so that a long list hides no other field.

    Args:
        size: bytes of its canonical form.
    """
    if size <= LONGEST_LOGGED_TEXT:
        return value
    cut = clipped(redact(value))  # in this order: half a secret would no longer be recognised as one
    if isinstance(cut, dict) and len(cut) <= _MOST_FIELDS:
        for name in sorted(cut, key=lambda name: _rough_size(cut[name]), reverse=True):
            if _rough_size(cut) <= LONGEST_LOGGED_VALUE:
                break
            cut = {**cut, name: f"({_rough_size(cut[name]):,} bytes)"}
    return cut if _rough_size(cut) <= LONGEST_LOGGED_VALUE else f"({size:,} bytes)"


def _rough_size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(len(key) + _rough_size(item) + 4 for key, item in value.items())
    if isinstance(value, list):
        return sum(_rough_size(item) + 1 for item in value)
    return len(value) if isinstance(value, str) else 8
