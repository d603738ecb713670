"""Texts that are encoded inside a text: base64, hexadecimal, percent, escapes, rot13, reversed."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

MOST = 64  # encoded parts of one text that are read
LONGEST = 16_384  # characters of one of them
_SHORTEST_BASE64, _SHORTEST_BASE32 = 16, 24  # characters without a space
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=\-])[A-Za-z0-9+/_\-]{16,16384}={0,2}(?![A-Za-z0-9+/_=])")
# Begins with a set of characters, since `re` finds these fastest: the first digit, and what may not stand before it.
_HEX = re.compile(
    r"[0-9a-fA-F](?<![0-9A-Za-z][0-9a-fA-F])(?:(?<=0)x(?:[0-9a-fA-F]{2}[ :]?){12,8192}"
    r"|[0-9a-fA-F][ :]?(?:[0-9a-fA-F]{2}[ :]?){11,8191})(?![0-9A-Za-z])"
)
_BINARY = re.compile(r"(?<![0-9])(?:[01]{8}[ ,]{0,2}){10,2048}(?![0-9])")
_BASE32 = re.compile(r"(?<![A-Za-z0-9])[A-Z2-7]{24,16384}={0,6}(?![A-Za-z0-9])")
_PERCENT = re.compile(
    r"(?:%[0-9a-fA-F]{2}|[A-Za-z0-9_.~+\-]){0,200}(?:%[0-9a-fA-F]{2}[A-Za-z0-9_.~+\-]{0,40}){3,400}"
)
_ESCAPES = re.compile(r"(?:\\\\?(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})[ ]?){6,2000}")
_STANDARD = str.maketrans("-_", "+/")
_WORD = re.compile(r"[a-zA-Z]{2,}")
_COMMON = frozenset(
    "the a an and or of to in is are you your all for with that this not it as on from be my i do any will have has".split()
)


class Hidden(NamedTuple):
    """A decoded part of a text, and where it stands there."""

    text: str
    start: int
    end: int
    how: str


def hidden_texts(text: str) -> Iterator[Hidden]:
    """The readable texts that are encoded in this one, at most `MOST`."""
    yield from islice(_candidates(text), MOST)


def from_base64(text: str) -> bytes | None:
    """The bytes that a text in base64 stands for, in either alphabet and padded or not; None where it is not base64."""
    try:
        return base64.b64decode(text.rstrip("=").translate(_STANDARD) + "==")
    except ValueError:  # one letter too many, or letters that base64 has not: a word
        return None


def _candidates(text: str) -> Iterator[Hidden]:
    longest = max(map(len, text.split()), default=0)
    for match in _BASE64.finditer(text) if longest >= _SHORTEST_BASE64 else ():
        if decoded := _prose_of_base64(match[0]):
            yield Hidden(decoded, match.start(), match.end(), "base64")
    for match in _HEX.finditer(text):
        digits = re.sub(r"0x|[ :]", "", match[0])
        if len(digits) % 2 == 0 and (decoded := _readable(bytes.fromhex(digits))):
            yield Hidden(decoded, match.start(), match.end(), "hexadecimal")
    for match in _BINARY.finditer(text) if "01" in text else ():
        bits = re.sub(r"[ ,]", "", match[0])
        if len(bits) % 8 == 0 and (decoded := _readable(int(bits, 2).to_bytes(len(bits) // 8, "big"))):
            yield Hidden(decoded, match.start(), match.end(), "binary")
    for match in _BASE32.finditer(text) if longest >= _SHORTEST_BASE32 else ():
        try:
            decoded = _readable(
                base64.b32decode(match[0].rstrip("=") + "=" * (-len(match[0].rstrip("=")) % 8))
            )
        except (binascii.Error, ValueError):
            continue
        if decoded:
            yield Hidden(decoded, match.start(), match.end(), "base32")
    if text.count("%") > 2:
        for match in _PERCENT.finditer(text):
            yield Hidden(unquote(match[0]).replace("+", " "), match.start(), match.end(), "percent-encoded")
    if "\\u" in text or "\\x" in text:
        for match in _ESCAPES.finditer(text):
            pairs = re.findall(r"(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))", match[0])
            yield Hidden(
                "".join(chr(int(a or b, 16)) for a, b in pairs), match.start(), match.end(), "escaped"
            )
    yield from _whole(text)


def _whole(text: str) -> Iterator[Hidden]:
    """The text by rot13 or backwards, where it has the common words of English only that way."""
    if len(text) > LONGEST:
        return
    words = _WORD.findall(text.lower())
    if len(words) < 4 or _commons(words) * 12 > len(words):
        return
    turned = codecs.encode(text, "rot13")
    if _commons(_WORD.findall(turned.lower())) * 9 > len(words):
        yield Hidden(turned, 0, len(text), "rot13")
    back = text[::-1]
    if _commons(_WORD.findall(back.lower())) * 9 > len(words):
        yield Hidden(back, 0, len(text), "reversed")


def _commons(words: list[str]) -> int:
    return sum(map(_COMMON.__contains__, words))


def _prose_of_base64(text: str) -> str:
    body = text.rstrip("=")
    if body.isdigit() or body.islower() or body.count("/") * 8 > len(body):
        return ""
    data = from_base64(body)
    return "" if data is None else _readable(data)


def _readable(data: bytes) -> str:
    """The text that these bytes are, if it is one that people read; else ""."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    letters = sum(char.isalpha() or char == " " for char in text)
    return text if letters >= len(text) * 0.8 else ""
