"""Paths as the kernel will resolve them: links followed one by one, and patterns expanded as bash does."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase

from sb.shell.parsing.words import AS_PATTERN, BRACKET, STAR, compiled, is_literal

MOST_NAMES = 4000  # that the patterns of one word may look at
_MOST_LINKS = 40  # as Linux follows at most
_MOST_PATHS = 2000  # that one pattern may become
# What a path through this leads to depends on the process that follows it; `/dev/fd` and `/dev/stdin` lead there.
_OF_A_PROCESS = ("/proc",)
# Ranges and classes depend on the locale, but for digits.
_PLAIN_SET = f"[^{BRACKET}]*(?:{BRACKET}(?:0-9|[A-Za-z0-9_.])+\\][^{BRACKET}]*)*"


def resolved(path: str) -> str | None:
    """The real path of an absolute one, existing or not; None where it depends on who follows it."""
    waiting = [part for part in reversed(path.split("/")) if part]
    here, links = "", 0
    while waiting:
        part = waiting.pop()
        if part == ".":
            continue
        if part == "..":
            here = here.rpartition("/")[0]
            continue
        here = f"{here}/{part}"
        if here in _OF_A_PROCESS:
            return None
        try:
            target = os.readlink(here) if stat.S_ISLNK(os.lstat(here).st_mode) else ""
        except OSError:
            continue  # absent, or it cannot be searched
        if target:
            links += 1
            if links > _MOST_LINKS:
                return None
            here = "" if target.startswith("/") else here.rpartition("/")[0]
            waiting += [name for name in reversed(target.split("/")) if name]
    return here or "/"


def located(folder: str, text: str) -> str | None:
    """The entry that a path names, its last component not followed; None where that is not a name in a folder."""
    if not text:
        return None
    head, _, name = (text if text.startswith("/") else f"{folder}/{text}").rstrip("/").rpartition("/")
    if name in ("", ".", ".."):
        return None
    above = resolved(head or "/")
    return None if above is None else f"{above.rstrip('/')}/{name}"


def alone(folder: str) -> str:
    """The path by which a folder is named without anything in it."""
    return os.path.join(folder, ".")


def lies_below(place: str, folder: str) -> bool:
    """True if an absolute path lies in a folder, at any depth."""
    return place.startswith(f"{folder.rstrip('/')}/")


def matches(folder: str, text: str) -> tuple[list[str], list[str]] | None:
    """The expansion of a word with patterns, and the folders that bash looks into.

    Returns:
        The names that fit as the word spells them, sorted; none if nothing fits. None if that cannot be told.
    """
    parts = text.split("/")
    if any(part.count(STAR) > 1 and STAR * 2 in part for part in parts):
        return None  # `**` looks into all folders in some shells
    if not all(compiled(_PLAIN_SET).fullmatch(part) for part in parts if BRACKET in part):
        return None
    found, looked = [""], []
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        following: list[str] = []
        for head in found:
            if is_literal(part):
                following.append(f"{head}{part}" + ("" if last else "/"))
                continue
            place = head if head.startswith("/") else f"{folder}/{head}"
            looked.append(place)
            names = _names(place, part)
            if names is None:
                return None
            following += [f"{head}{name}" + ("" if last else "/") for name in names]
        if len(following) > _MOST_PATHS:
            return None
        found = following
    return [path for path in found if os.path.lexists(os.path.join(folder, path))], looked


def _names(folder: str, part: str) -> list[str] | None:
    pattern = part.translate(AS_PATTERN)
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(_named(entries)):
                if count >= MOST_NAMES:
                    return None
                if fnmatchcase(entry, pattern) and (part.startswith(".") or not entry.startswith(".")):
                    names.append(entry)
    except OSError:
        return []
    return sorted(names)


def _named(entries: Iterator[os.DirEntry[str]]) -> Iterator[str]:
    return (entry.name for entry in entries)
