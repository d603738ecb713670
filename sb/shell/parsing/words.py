"""Expand a word of a command line into the texts that it can become.

A parsed word is one string in which the characters that the shell acts on are replaced by control characters (no
command line that is parsed holds any); what was quoted stays as it was written.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

OPEN, COMMA, CLOSE = "\x01", "\x02", "\x03"  # of a brace expansion
STAR, QUESTION, BRACKET = "\x04", "\x05", "\x06"  # of a pattern
UNKNOWN = "\x07"  # what only running it would tell
OPERAND = "\x08"  # the same, but surely no option: it begins with neither "-" nor "+"
MADE = OPERAND + "\x12"  # the same, and a file or folder that is new and empty
VARIABLE, SPLIT_VARIABLE, END_VARIABLE = (
    "\x0e",
    "\x0f",
    "\x10",
)  # around a name; the second is split at blanks
_BLANK = "\x11"  # where an unquoted variable's value is split

_SHOWN = str.maketrans(
    {
        OPEN: "{",
        COMMA: ",",
        CLOSE: "}",
        STAR: "*",
        QUESTION: "?",
        BRACKET: "[",
        UNKNOWN: "…",
        OPERAND: "…",
        "\x12": "",
    }
)
_PLAIN = str.maketrans({STAR: "*", QUESTION: "?", BRACKET: "["})
# For `fnmatch`: signs that act, and those that were quoted.
AS_PATTERN = str.maketrans({STAR: "*", QUESTION: "?", "*": "[*]", "?": "[?]", "[": "[[]", BRACKET: "["})
FROM_GLOB = str.maketrans(
    {"*": STAR, "?": QUESTION, "[": BRACKET}
)  # a pattern of a language, as one of the shell
VARIABLE_NAME = f"[{VARIABLE}{SPLIT_VARIABLE}]([^{END_VARIABLE}]*){END_VARIABLE}"
_MARKED_VARIABLE = f"([{VARIABLE}{SPLIT_VARIABLE}])([^{END_VARIABLE}]*){END_VARIABLE}"
_BLANKS = r"[ \t\n]+"
_MOST_TEXTS = 64
_LONGEST = 1 << 20  # characters of all texts that a word can become: values of values double with each


@functools.cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A compiled pattern; compiled on first use, since most lines need few of them."""
    return re.compile(pattern, flags)


def fits(word: str, pattern: str) -> bool:
    """True if a word fits a file-name pattern, in its case: one without signs is compared, which costs no compiling."""
    return fnmatchcase(word, pattern) if {*"*?["} & {*pattern} else word == pattern


def is_literal(text: str) -> bool:
    """True if an expanded word is that text and nothing else: all marks are control characters."""
    return text.isprintable() or (
        is_sure(text) and STAR not in text and QUESTION not in text and BRACKET not in text
    )


def is_sure(text: str) -> bool:
    """True if an expanded word is known except for its patterns."""
    return text.isprintable() or (
        UNKNOWN not in text and OPERAND not in text and VARIABLE not in text and SPLIT_VARIABLE not in text
    )


def unmatched(text: str) -> str:
    """The text that a program gets for a word with patterns that nothing fits."""
    return text.translate(_PLAIN)


def display(text: str, most: int = 60) -> str:
    """A word or a part of it for display, on one line."""
    if VARIABLE in text or SPLIT_VARIABLE in text:
        text = compiled(_MARKED_VARIABLE).sub(r"$\2", text)
    text = text.translate(_SHOWN)
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def expand(text: str, values: Mapping[str, Sequence[str]]) -> list[str]:
    """The texts that a word can become, by its braces and the values of its variables.

    Args:
        values: of each variable what it was ever given, as expanded words.
    """
    if text.isprintable():
        return [text]
    alternatives = _braces(text) if OPEN in text else [text]
    texts: list[str] = []
    for alternative in alternatives:
        alternative = alternative.translate(_INACTIVE)
        if VARIABLE in alternative or SPLIT_VARIABLE in alternative:
            texts += _with_values(alternative, values)
        else:
            texts.append(alternative)
    if sum(map(len, texts)) > max(_LONGEST, len(text)):
        return [UNKNOWN]
    return texts if len(texts) <= _MOST_TEXTS else [*texts[:_MOST_TEXTS], UNKNOWN]


_INACTIVE = str.maketrans({OPEN: "{", COMMA: ",", CLOSE: "}"})


def _with_values(text: str, values: Mapping[str, Sequence[str]]) -> list[str]:
    pieces: list[Sequence[str]] = []
    end, count, size = 0, 1, len(text)
    for match in compiled(_MARKED_VARIABLE).finditer(text):
        pieces.append((text[end : match.start()],))
        end = match.end()
        known = values.get(match[2]) or _derived(match[2], values)
        count *= len(known)
        size = size * len(known) + count * max(map(len, known))
        if count > _MOST_TEXTS or size > _LONGEST:
            return [UNKNOWN]
        split = match[1] == SPLIT_VARIABLE
        pieces.append([compiled(_BLANKS).sub(_BLANK, value) if split else value for value in known])
    pieces.append((text[end:],))
    joined = ("".join(parts) for parts in itertools.product(*pieces))
    quoted = VARIABLE in text  # then it is a word, though an empty one
    return [
        word
        for line in joined
        for word in (line.split(_BLANK) if _BLANK in line else (line,))
        if word or (quoted and not line)
    ]


def _derived(name: str, values: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The values of a variable with an operation behind its name."""
    if not name or name.isalnum() or name.isidentifier():
        return (UNKNOWN,)
    from sb.shell.parsing.derived import base_name, derived  # most lines need none of it

    of_variable = values.get(base_name(name), ())
    return [derived(name, value) if is_literal(value) else UNKNOWN for value in of_variable] or (UNKNOWN,)


def _braces(text: str) -> list[str]:
    """Brace expansion: of the first group that has alternatives, of each of them, and of what follows."""
    if text.count(OPEN) > _MOST_TEXTS:
        return [UNKNOWN]
    group = _first_group(text)
    if group is None:
        return [text]
    start, commas, end = group
    choices = [text[a + 1 : b] for a, b in itertools.pairwise([start, *commas, end])]
    if not commas:  # a sequence such as {1..9}
        choices = [OPERAND]
    tails = _braces(text[end + 1 :])
    words: list[str] = []
    for choice in choices:
        words += [text[:start] + head + tail for head in _braces(choice) for tail in tails]
        if len(words) > _MOST_TEXTS:
            return [*words[:_MOST_TEXTS], UNKNOWN]
    return words


def _first_group(word: str) -> tuple[int, list[int], int] | None:
    """Where the first group with a comma or ".." begins, its own commas, and where it ends.

    As bash reads it: a brace that closes before there is either is text, and so is `{}` where a word begins.
    """
    start = word.find(OPEN)
    while start >= 0:
        if start or not word.startswith(OPEN + CLOSE):
            group = _group_at(word, start)
            if group is not None:
                return group
        start = word.find(OPEN, start + 1)
    return None


def _group_at(word: str, start: int) -> tuple[int, list[int], int] | None:
    level, ranged = 0, False
    commas: list[int] = []
    for at in range(start + 1, len(word)):
        char = word[at]
        if char == OPEN:
            level += 1
        elif char == CLOSE and level:
            level -= 1
        elif char == CLOSE and (commas or ranged):
            return start, commas, at
        elif char == COMMA and not level:
            commas.append(at)
        elif not level and word.startswith("..", at) and word[at + 2 : at + 3] != CLOSE:
            ranged = True
    return None
