"""A program's options, and what its arguments put where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sb.shell.parsing.words import compiled


class Content(NamedTuple):
    """Content that lands below a place.

    Args:
        kind: "file" is no folder; "folder", "archive" and "patch" can be looked into; "checkout" is what git has on record,
            "unknown" anything.
        source: the word that names it; "-" for what a program reads.
        strip: how many folders of each name are left away; -1 for all of them.
    """

    kind: str
    source: str = ""
    strip: int = 0


class Arrival(NamedTuple):
    """A word that names a destination, and what lands there; without `content` one plain file."""

    place: str
    content: Content | None = None


class Options(NamedTuple):
    """The arguments of a program: its operands, and the values of each option ("" for none)."""

    rest: list[str]
    values: dict[str, list[str]]

    def has(self, *names: str) -> bool:
        return any(name in self.values for name in names)

    def of(self, *names: str) -> list[str]:
        return [value for name in names for value in self.values.get(name, ()) if value]


ANYTHING = Content("unknown")
CHECKOUT = Content("checkout")
_REMOTE = r"(?!/|\.)[^/\x00-\x1f]+:(?!//).*|[a-z][a-z0-9+]*://.*"


def parsed(arguments: Sequence[str], short: str = "", long: str = "") -> Options:
    """Parse options as getopt does.

    Args:
        short: letters whose option takes a value. long: names that take one, and others that may be abbreviated ("name?").
    """
    known = {name.rstrip("?"): not name.endswith("?") for name in long.split()}
    rest: list[str] = []
    values: dict[str, list[str]] = {}
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if word == "--":
            rest += arguments[at:]
            break
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            if name not in known:
                name = next((full for full in known if len(name) > 3 and full.startswith(name)), name)
            if not equals and known.get(name) and at < len(arguments):
                value = arguments[at]
                at += 1
            values.setdefault(name, []).append(value)
        elif word[:1] == "-" and len(word) > 1:
            for index, letter in enumerate(word[1:], 2):
                if letter in short:
                    value = word[index:]
                    if not value and at < len(arguments):
                        value = arguments[at]
                        at += 1
                    values.setdefault(f"-{letter}", []).append(value)
                    break
                values.setdefault(f"-{letter}", []).append("")
        else:
            rest.append(word)
    return Options(rest, values)


def in_folder(folder: str, *words: str) -> str:
    """A path below a folder; `~` and `/` begin a path of their own."""
    for word in filter(None, words):
        beyond = folder in ("", ".") or word.startswith(("/", "~"))
        folder = word if beyond else f"{folder.rstrip('/')}/{word}"
    return folder


def entry(folder: str, name: str) -> str:
    """The path of a name in a folder."""
    return f"{folder.rstrip('/')}/{name}"


def is_remote(word: str) -> bool:
    """True if an argument of a program that copies names another host, or an address."""
    return bool(compiled(_REMOTE).fullmatch(word))
