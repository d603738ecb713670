"""Values of `${…}`: an item of a list, a part of a text, a text with another in it."""

from __future__ import annotations

import re

_TEXT = r"[\w./ ,+@=-]{0,60}"
_PART = re.compile(r":\s?(-?\d{1,4})(?::(\d{1,4}))?")
_TRIMMED = re.compile(rf"(%%?|##?)({_TEXT})")
_REPLACED = re.compile(rf"(//?)([\w. ,+@=-]{{1,60}})(?:/({_TEXT}))?")
_CASE = re.compile(r",,?|\^\^?")
_ITEM = re.compile(r"\[([^]]{1,60})\]")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def operation(text: str) -> str | None:
    """The operation on a variable, without the index of a list; None if it is not followed.

    Args:
        text: what stands behind the name in `${…}`.
    """
    item = _ITEM.match(text)
    rest = text[item.end() :] if item else text
    if item and item[1] in "@*" and _PART.fullmatch(rest):
        return ""  # some of the items
    known = not rest or any(shape.fullmatch(rest) for shape in (_PART, _TRIMMED, _REPLACED, _CASE))
    return rest if known else None


def base_name(name: str) -> str:
    """The variable of a name that may have an operation behind it."""
    found = _NAME.match(name)
    return found[0] if found else name


def derived(name: str, value: str) -> str:
    """The variable's value after the operation behind its name.

    Args:
        value: known text.
    """
    done = name[len(base_name(name)) :]
    if found := _TRIMMED.fullmatch(done):
        return value.removesuffix(found[2]) if found[1][0] == "%" else value.removeprefix(found[2])
    if found := _REPLACED.fullmatch(done):
        return value.replace(found[2], found[3] or "", 1 if found[1] == "/" else -1)
    if found := _PART.fullmatch(done):
        first = int(found[1])
        value = "" if -first > len(value) else value
        return value[first:][: int(found[2])] if found[2] else value[first:]
    if _CASE.fullmatch(done):
        return value.lower() if done[0] == "," else value.upper()
    return value
