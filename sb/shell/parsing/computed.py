"""Names that a line computes: what text programs make of words that it holds, and short lists of files."""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from collections.abc import Callable, Sequence

from sb.shell.parsing.nodes import Pipeline, Script, Simple
from sb.shell.parsing.words import (
    CLOSE,
    COMMA,
    OPEN,
    OPERAND,
    STAR,
    UNKNOWN,
    compiled,
    is_literal,
)

_MOST_WORDS = 8
_MOST_ITEMS = 60  # of a list
_LONGEST = 4096  # characters of a text
_MOST_OF_A_LIST = 64 * 1024  # bytes
_MOST_NAMES = 1000
_ACTIVE = re.compile(f"[{OPEN}{COMMA}{CLOSE}?\\[\\]]")
_ESCAPE = r"\\(?:x([0-9A-Fa-f]{1,2})|0?([0-7]{1,3})|(.))"
_SET = r"(?:[\w./ -]|\\\\)*"
_SUBSTITUTES = r"s([/|#,])(\^|\$|[\w ./-]{1,200})\1([\w ./-]{0,200})\1g?"
_PART = r"cut -c(?P<first>\d{0,4})-(?P<last>\d{0,4})|(?P<end>head|tail) -c ?(?P<count>\d{1,4})"
_FORMAT = r"%-?\d{0,3}(?:\.(\d{1,3}))?([sbdcq])"
_NAMED = {"n": "\n", "t": "\t", "\\": "\\"}


def alternatives(script: Script) -> str:
    """The text of a command substitution, as alternatives of a brace expansion; "" if unknown.

    Also unknown, as a function of the line may have the program's name.
    """
    text = printed(script)
    if text is None or len(text) > _LONGEST or _ACTIVE.search(text):
        return ""
    words = text.replace("*", STAR).split()
    return "" if not 0 < len(words) <= _MOST_WORDS or "~" in words else one_of(words)


def one_of(words: Sequence[str]) -> str:
    """A word that is one of these, or unknown, as alternatives of a brace expansion.

    It is unknown first and last, so that no verdict becomes milder by what is known of it.
    """
    return OPEN + COMMA.join([UNKNOWN, *words[:_MOST_ITEMS], UNKNOWN]) + CLOSE if words else UNKNOWN


def printed(script: Script) -> str | None:
    """The output of a pipeline of text programs, from words alone; None for anything else."""
    node = script[0] if len(script) == 1 else None
    parts = node.parts if isinstance(node, Pipeline) else (node,)
    text: str | None = None
    for at, part in enumerate(parts):
        if not isinstance(part, Simple) or part.assigned or not part.words:
            return None
        words = [word.text for word in part.words]
        given = [redirect.target.text for redirect in part.redirects if redirect.operator == "<<<"]
        if len(given) != len(part.redirects) or len(given) > 1:
            return None
        begins = not at and not given
        text = printed_by(words) if begins else filtered(words, given[0] if given else text)
        if text is None:
            return None
    return text


def printed_by(words: Sequence[str]) -> str | None:
    """The output of `echo` or `printf`."""
    program, rest = words[0], list(words[1:])
    if program == "echo":
        escaped = False
        while rest and compiled("-[neE]+").fullmatch(rest[0]):
            escaped = "e" in rest.pop(0)
        text = _unescaped(" ".join(rest)) if escaped else " ".join(rest)
        return None if _is_computed(text) else text
    if program != "printf" or not rest:
        return None
    # What parts names without a line break parts them as well as one.
    return formatted([compiled(r"\\0(?![0-7])").sub(r"\\n", rest[0]), *rest[1:]])


def _is_computed(word: str) -> bool:
    return UNKNOWN in word or OPERAND in word


def formatted(words: Sequence[str]) -> str | None:
    """The output of `printf` for a format and its arguments; None if unknown."""
    if not words or words[0][:1] == "-" or any(map(_is_computed, words)) or not is_literal(words[0]):
        return None
    rest = list(words[1:])

    def value(match: re.Match[str]) -> str:
        word = rest.pop(0) if rest else ""
        word = _unescaped(word) if match[2] == "b" else word[:1] if match[2] == "c" else word
        return word[: int(match[1])] if match[1] else word

    shape = _unescaped(words[0])
    if "%" in compiled(_FORMAT).sub("", shape):
        return None
    text = compiled(_FORMAT).sub(value, shape)
    while (
        rest and compiled(_FORMAT).search(shape) and len(text) < _LONGEST
    ):  # the format is used again for what is left
        text += compiled(_FORMAT).sub(value, shape)
    return text


def _unescaped(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        code = int(match[1], 16) if match[1] else int(match[2], 8) & 0xFF if match[2] else 0
        return chr(code) if 32 <= code < 127 else _NAMED.get(match[3] or "", match[0])

    return compiled(_ESCAPE).sub(value, text)


def filtered(words: Sequence[str], text: str | None) -> str | None:
    """The output of a filter for a known text."""
    if text is None or not all(map(is_literal, (*words, text))):
        return None
    program, rest = words[0], list(words[1:])
    if program in ("cat", "tac", "sort", "uniq") and not rest:
        return text
    if program == "rev" and not rest:
        return text[::-1]
    if program == "tr":
        return _translated(rest, text)
    if part := compiled(_PART).fullmatch(" ".join(words)):
        return _part(text.rstrip("\n"), part)
    if program == "sed" and (found := compiled(_SUBSTITUTES).fullmatch(rest[-1] if rest else "")):
        return _substituted(text, found[2], found[3]) if len(rest) == 1 or rest[:-1] == ["-e"] else None
    decode: Callable[[str], bytes] | None = None
    if (program in ("base64", "gbase64") and rest and rest[0] in ("-d", "-D", "--decode", "-di")) or (
        program == "openssl" and "-d" in rest and {"base64", "-base64", "-a"} & set(rest)
    ):
        decode = base64.b64decode
    elif program == "base32" and rest[:1] in (["-d"], ["--decode"]):
        decode = base64.b32decode
    elif program == "xxd" and set("".join(rest)) == set("-rp"):
        decode = bytes.fromhex
    try:
        decoded = decode(text.strip()).decode() if decode else None
    except (ValueError, binascii.Error):
        return None
    return decoded if decoded is None or decoded.replace("\n", " ").isprintable() else None


def _substituted(text: str, what: str, by: str) -> str:
    lines = text.split("\n")
    if what in ("^", "$"):
        return "\n".join(line and (by + line if what == "^" else line + by) for line in lines)
    return text.replace(what, by)


def _part(text: str, part: re.Match[str]) -> str:
    """The characters that `cut -c`, `head -c` or `tail -c` leave."""
    first, count = part["first"] or "1", part["count"]
    if count:
        return text[: int(count)] if part["end"] == "head" else f"{text}\n"[-int(count) :]
    return text[int(first) - 1 : int(part["last"]) if part["last"] else None]


def _translated(rest: Sequence[str], text: str) -> str | None:
    if len(rest) != 2 or not all(compiled(_SET).fullmatch(item) for item in rest):
        return None
    if rest[0] == "-d":
        return "".join(char for char in text if char not in _set(rest[1]))
    before, after = map(_set, rest)
    return text.translate(
        {ord(a): b for a, b in zip(before, after.ljust(len(before), after[-1:]), strict=False)}
    )


def _set(text: str) -> str:
    """The characters of a set of `tr`, with its ranges."""

    def spread(match: re.Match[str]) -> str:
        return "".join(map(chr, range(ord(match[1]), ord(match[2]) + 1)))

    return compiled(r"(\w)-(\w)").sub(spread, text)


def short_text(path: str) -> str:
    """The text of a regular file, its first 64 KiB; "" if there is none that can be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return ""
            return opened.read(_MOST_OF_A_LIST).decode(errors="replace")
    except (OSError, ValueError):
        return ""


def names_in(path: str) -> list[str]:
    """The names that a file lists, each on a line of its own; none of a file that holds anything else."""
    lines = [line for line in short_text(path).replace("\0", "\n").split("\n") if line]
    return lines[:_MOST_NAMES] if not any(compiled(r"\s").search(line) for line in lines) else []
