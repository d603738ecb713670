"""Do the arguments of a call fit the declared schema, and what of them may be shown?"""

from __future__ import annotations

from typing import Any

from sb.kernel.contracts import ToolSpec, value_matches
from sb.kernel.data_classification import SENSITIVE, leaves
from sb.text import nearest

LONGEST_LOGGED_TEXT = 4096  # characters of one string
LONGEST_LOGGED_VALUE = 65_536  # bytes of all arguments, or of a result


def problem_with(spec: ToolSpec, args: dict[str, Any]) -> str:
    """What is wrong with the arguments, naming them but never their values; "" if nothing is.

    An empty schema is undeclared and checks nothing; a declared one refuses unknown names.
    """
    if not spec.args_schema:
        return ""
    declared = {arg.name: arg for arg in spec.args_schema}
    for name in args:
        if name not in declared:
            return f"unknown argument {name!r}{nearest(name, declared)}"
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


def shown(spec: ToolSpec, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments as they may be written down: sensitive and undeclared ones masked.

    A misspelt name of a sensitive argument is an undeclared one.
    """
    if not spec.args_schema:
        return args
    visible = {arg.name for arg in spec.args_schema if not arg.sensitive}
    return {name: value if name in visible else SENSITIVE for name, value in args.items()}


def secrets_in(spec: ToolSpec, args: dict[str, Any]) -> list[str]:
    """Texts that must not appear anywhere, longest first: the values of arguments that `shown` masks."""
    if not spec.args_schema:
        return []
    visible = {arg.name for arg in spec.args_schema if not arg.sensitive}
    found = {text for name, value in args.items() if name not in visible for text in leaves(value)}
    return sorted(found, key=len, reverse=True)


def clipped(value: Any) -> Any:
    """A copy in which long strings are cut, the cut marked.

    The cut also drops the word that it falls into: half a secret would no longer be recognised as one.
    """
    if isinstance(value, str) and len(value) > LONGEST_LOGGED_TEXT:
        kept = value[:LONGEST_LOGGED_TEXT]
        tail = kept[-512:]
        word = len(tail) - max(tail.rfind(char) for char in " \n\t\"'") - 1
        return kept[: len(kept) - word] + f"… ({len(value):,} characters)"
    if isinstance(value, dict):
        return {key: clipped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clipped(item) for item in value]
    return value


def loggable(value: Any, size: int) -> Any:
    """The value as a log row holds it: whole when small, clipped when long, only its size when it has too many parts.

    Args:
        size: bytes of its canonical form.
    """
    if size <= LONGEST_LOGGED_TEXT:
        return value
    cut = clipped(value)
    return cut if _rough_size(cut) <= LONGEST_LOGGED_VALUE else f"({size:,} bytes)"


def _rough_size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(len(key) + _rough_size(item) + 4 for key, item in value.items())
    if isinstance(value, list):
        return sum(_rough_size(item) + 1 for item in value)
    return len(value) if isinstance(value, str) else 8
