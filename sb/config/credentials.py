"""Where credentials come from, by name: the environment, a file, the keyring or a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from sb.base.reading import SHOWN, Kind, Place, mapping
from sb.base.text import shorten
from sb.base.values.frozen import frozen

SOURCES = ("env", "file", "keyring", "command")
_NAME = re.compile(r"[a-z][a-z0-9_\-.]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@frozen
class CredentialSource:
    """Where a credential's value is.

    Args:
        kind: one of `SOURCES`. place: a variable, a path, SERVICE/USER, or a command line.
    """

    kind: str
    place: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.place}"


Sources = Mapping[str, CredentialSource]


def problem_with_source(kind: str, place: str) -> str:
    """The reason why a source cannot be one, or ""."""
    if kind not in SOURCES or not place.strip():
        return "must be env:VARIABLE, file:PATH, keyring:SERVICE/USER or command:LINE"
    if kind == "env" and not _VARIABLE.fullmatch(place):
        return f"env:{shorten(place, SHOWN)} names no environment variable"
    if kind == "keyring" and not all(place.partition("/")[::2]):
        return "keyring needs SERVICE/USER"
    if kind == "command":
        try:
            shlex.split(place)
        except ValueError as error:
            return f"the command cannot be read: {error}"
    return ""


def credentials_kind() -> Kind[Sources]:
    """Names, each with where its value comes from."""
    label = "a mapping of names to env:VARIABLE, file:PATH, keyring:SERVICE/USER or command:LINE"
    wrong = "is no name: lower-case letters, digits, - _ and . after a letter"
    source = Kind(_source, {"type": "string"})
    return mapping(source, label, lambda name: "" if _NAME.fullmatch(name) else wrong)


def _source(value: Any, place: Place) -> CredentialSource:
    kind, _, where = (str(value) if isinstance(value, str) else "").partition(":")
    if problem := problem_with_source(kind, where):
        raise place.refuse(problem)  # without the text: it may be the credential itself
    return CredentialSource(kind, where)
