"""git's ignore rules, as far as it is certain what they say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple


class Rule(NamedTuple):
    """One line of a `.gitignore`.

    Args:
        fits: a pattern of paths below its folder; None where what it fits is not certain.
        again: it is to be taken again. folders: it is about folders only.
    """

    fits: re.Pattern[str] | None
    again: bool
    folders: bool


class Ignored:
    """Says which paths are surely ignored; in doubt none is.

    Args:
        text: gives the `.gitignore` of a folder ("" is the root), "" for none.
        first: patterns of a command line, which come before all others.
    """

    def __init__(self, text: Callable[[str], str], first: Sequence[str] = ()) -> None:
        self._text = text
        self._first = [rule for line in first if line == line.rstrip() and (rule := _rule(line))]
        self._rules: dict[str, list[Rule]] = {}

    def surely_taken(self, path: str, *, folder: bool) -> bool:
        """True if the command line takes a path again, and each folder above it, whatever other rules say."""
        parts = path.split("/")
        depths = range(1, len(parts) + 1)
        return all(self._takes("/".join(parts[:at]), folder=folder or at < len(parts)) for at in depths)

    def _takes(self, path: str, *, folder: bool) -> bool:
        for rule in reversed(self._first):
            if rule.folders and not folder:
                continue
            if rule.fits is None:
                return False
            if rule.fits.fullmatch(path) and not (
                rule.again and re.fullmatch(rule.fits.pattern, path, re.DOTALL) is None
            ):
                return rule.again
        return False

    def surely(self, path: str, *, folder: bool) -> bool:
        """True if a path below the root is ignored, by itself or with a folder above it."""
        parts = path.split("/")
        above = (self._matched(parts[:count], folder=True) for count in range(1, len(parts)))
        return any(above) or self._matched(parts, folder=folder)

    def _matched(self, parts: list[str], *, folder: bool) -> bool:
        """True if the last rule that fits a path ignores it."""
        found = self._found(self._first, "/".join(parts), folder=folder)
        for depth in range(len(parts) - 1, -1, -1):
            if found is None:
                here, below = "/".join(parts[:depth]), "/".join(parts[depth:])
                found = self._found(self._of(here), below, folder=folder)
        return bool(found)

    def _found(self, rules: Sequence[Rule], below: str, *, folder: bool) -> bool | None:
        """True if the last of these rules that fits a path ignores it, None if none fits."""
        for rule in reversed(rules):
            if rule.folders and not folder and not rule.again:
                continue
            if rule.fits is None:
                if rule.again:
                    return False
                continue
            if rule.fits.fullmatch(below):
                return not rule.again
        return None

    def _of(self, folder: str) -> list[Rule]:
        if folder not in self._rules:
            lines = self._text(folder).split("\n")
            self._rules[folder] = [rule for line in lines if (rule := _rule(line.removesuffix("\r")))]
        return self._rules[folder]


@lru_cache(maxsize=4096)
def _rule(line: str) -> Rule | None:
    line = line.removeprefix("\ufeff")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line or line.startswith("#"):
        return None
    again = line.startswith("!")
    line = line[1:] if again else line
    folders = line.endswith("/")
    line = line[:-1] if folders else line
    if not line or line == "/":
        return None
    anchored = "/" in line
    line = line.removeprefix("/")
    pattern = _pattern(line, anchored=anchored)
    # A file system may not tell the case of names: then more is taken again, and never more is ignored.
    fits = None if pattern is None else re.compile(pattern, re.IGNORECASE | re.DOTALL if again else re.DOTALL)
    return Rule(fits, again, folders)


def _pattern(line: str, *, anchored: bool) -> str | None:
    """A pattern of paths for a line; None where what git makes of it is not certain."""
    if "[" in line or "\\" in line or line.endswith("/") or "//" in line or "***" in line:
        return None
    if not anchored:
        # Without a slash it is compared with the name alone.
        return "(?:.*/)?" + "".join(_piece(char) for char in re.sub(r"\*+", "*", line))
    out, parts = "", line.split("/")
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**":
            out += ".+" if last else "(?:.*/)?"
            continue
        if "**" in part:
            return None
        out += "".join(_piece(char) for char in part) + ("" if last else "/")
    return out


def _piece(char: str) -> str:
    return "[^/]*" if char == "*" else "[^/]" if char == "?" else re.escape(char)
