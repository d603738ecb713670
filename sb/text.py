"""How is stored text made safe and short enough to show to a person?"""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST_NAME = 200  # characters

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|[ -/]*[0-~])?"  # two-character sequences, or a lone ESC
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)


# What takes no room, or the room of a space, without being one: a joiner, a filler, a no-break space.
_UNSEEN = re.compile(
    "[\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u202f\u205f\u2800\u3000\u3164"
    "\ufe00-\ufe0f\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
)


def plain(value: object, *, one_line: bool = False) -> str:
    """Text that cannot command a terminal: no escape sequences, controls, bidi or invisible marks.

    Args:
        value: anything; it is turned into text first.
        one_line: also replace newlines and tabs by spaces, for table cells and status lines.
    """
    text = _CONTROLS.sub("", _ESCAPES.sub("", str(value)))
    return re.sub(r"[\n\t]+", " ", text) if one_line else text


def revealed(text: str) -> str:
    """Text in which every character that `plain` would remove, and every other that cannot be seen or looks like a
    space, stands as its escape: a backslash, u and at least four digits.

    For what a person has to judge: a mark that is merely left out would make two different texts look alike.
    """
    escaped = _CONTROLS.sub(_escape, text)
    return escaped if escaped.isascii() else _UNSEEN.sub(_escape, escaped)


def revealed_line(text: str) -> str:
    """The same on one line: line breaks and tabs are escaped too."""
    return revealed(text).replace("\n", "\\u000a").replace("\t", "\\u0009")


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def storable(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair, which no file takes."""
    return text.encode("utf-8", "replace").decode()


def checked_name(what: str, name: str) -> str:
    """The name of an agent, a stack, a session or a relation, as given.

    Raises:
        ValueError: it is no text, says nothing, or is longer than `LONGEST_NAME`.
    """
    is_text = isinstance(name, str)
    if not is_text or not name.strip():
        raise ValueError(f"{what} is {name!r}, must be a text that says something")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"{what} has {len(name):,} characters, may have {LONGEST_NAME}")
    name.encode()  # half of a surrogate pair could be neither stored nor named
    return name


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, the cut marked by an ellipsis."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean "x"?)` for the closest of `known`, or an empty string."""
    import difflib  # 2 ms, for who mistyped something

    close = difflib.get_close_matches(word, list(known), n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def human_bytes(size: int) -> str:
    """A size in bytes as people read it: 512 B, 1.5 KiB, 3.2 MiB."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")
