"""Make stored text safe and short enough to show to a person."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

LONGEST_NAME = 200  # characters

# What begins a sequence, and of those that only colour or move, all of it. The text of a title, a link or another string
# stays: a terminal would hide it, and whatever follows it up to an end that another field may hold.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[@-~]|\x1b[()*+][0-9A-Z@]|\x1b[0-~]?|\x9b[0-?]*[@-~]")
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)

_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
)
# More marks over one letter than any language has: they would be painted over the lines above and below.
_STACKED = re.compile(f"([{_MARKS}]{{4}})[{_MARKS}]+")
# What takes no room, or the room of a space, without being one: a joiner, a filler, a no-break space.
_UNSEEN = re.compile(
    "[\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u202f\u205f\u2800\u3000\u3164"
    "\ufe00-\ufe0f\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
)
# What stands in a text and nobody sees it: fillers, joiners, direction marks, selectors of variants, tags.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_WORD = re.compile(r"[\w.:/$@-]+")
# What could carry words that nobody sees: direction marks, tags, and a row of what takes no room.
_SMUGGLED = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
    "|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u205f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufffb]{3,}"
)


def plain(value: object, *, one_line: bool = False) -> str:
    """Text that cannot command a terminal: no escape sequences, controls, bidi or invisible marks, no stacks of accents.

    Args:
        value: anything; it is turned into text first.
        one_line: also replace newlines and tabs by spaces, for table cells and status lines.
    """
    text = _CONTROLS.sub("", _ESCAPES.sub("", str(value)))
    text = text if text.isascii() else _STACKED.sub(r"\1", text)
    return re.sub(r"[\n\t]+", " ", text) if one_line else text


def revealed(text: str) -> str:
    """Text in which every character that `plain` would remove, and every other that cannot be seen or looks like a
    space, stands as its escape: a backslash, u and at least four digits.

    For what a person has to judge: a mark that is merely left out would make two different texts look alike.
    """
    escaped = _CONTROLS.sub(_escape, text)
    return escaped if escaped.isascii() else _STACKED.sub(_escape_stack, _UNSEEN.sub(_escape, escaped))


def revealed_line(text: str) -> str:
    """The same on one line: line breaks and tabs are escaped too."""
    return revealed(text).replace("\n", "\\u000a").replace("\t", "\\u0009")


def quoted_name(name: str) -> str:
    """A name that others chose: as it is where it is one word, else as JSON, with what cannot be seen as escapes."""
    return name if _WORD.fullmatch(name) else revealed_line(json.dumps(name, ensure_ascii=False))


def mark_invisible(text: str) -> str:
    """Text for a record in full, in which whatever could carry words that nobody sees stands as its escapes: direction
    marks, tags, and three or more characters in a row that take no room or look like a space.
    """
    if text.isascii():
        return text
    return _SMUGGLED.sub(lambda match: "".join(map(_escape_char, match[0])), text)


def _escape(match: re.Match[str]) -> str:
    return _escape_char(match[0])


def _escape_char(char: str) -> str:
    return f"\\u{ord(char):04x}"


def _escape_stack(match: re.Match[str]) -> str:
    return match[1] + "".join(map(_escape_char, match[0][4:]))


def json_text(value: Any, *, indent: int | None = None) -> str:
    """A value as JSON in which what could command a terminal, or cannot be seen, stands as JSON's own escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text if text.isascii() and "\x7f" not in text else _CONTROLS.sub(_json_escape, text)


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return json.dumps(match[0])[1:-1] if code > 0x7F else f"\\u{code:04x}"


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
        raise ValueError(f"{what} is {name!r}, must be a non-blank string")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"{what} has {len(name):,} characters, may have {LONGEST_NAME}")
    name.encode()  # half of a surrogate pair could be neither stored nor named
    return name


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, the cut marked by an ellipsis."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def shorten_middle(text: str, limit: int) -> str:
    """About `limit` characters: beginning and end, and between them the number left out."""
    head = (limit + 1) // 2
    shortened = f"{text[:head]} …{len(text) - limit:,} more characters… {text[len(text) - limit + head :]}"
    return text if len(text) <= max(limit, len(shortened)) else shortened


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean "x"?)` for the closest of `known`, or an empty string."""
    import difflib  # 2 ms, for who mistyped something

    close = difflib.get_close_matches(word, list(known), n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def counted(number: int, noun: str) -> str:
    """A number of things: "1 memory", "2,000 memories"."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of an English noun, by the regular rules."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def with_article(noun: str) -> str:
    """A noun with "a" or "an", by its first letter."""
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"


def human_bytes(size: int) -> str:
    """A size in bytes as people read it: 512 B, 1.5 KiB, 3.2 MiB."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def normal_name(name: str) -> str:
    """One form for all spellings that some file system takes for the same name."""
    return unicodedata.normalize("NFC", name.casefold())
