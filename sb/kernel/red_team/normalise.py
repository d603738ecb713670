"""Undo what hides a text from a reader of words, with every character's place in the original."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import field
from html import unescape

from sb.base.text import INVISIBLE
from sb.base.values.frozen import frozen

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_TAGS = range(0xE0000, 0xE0080)  # invisible copies of ASCII
# What an invisible copy of ASCII shows, and no accents that stand alone.
_PLAIN = {code: chr(code - 0xE0000) if 0x20 <= code - 0xE0000 < 0x7F else "" for code in _TAGS}
_PLAIN |= dict.fromkeys(range(0x300, 0x370), "")
# Letters of other scripts that look like Latin ones (Unicode TR 39, the common part).
_LOOKS = dict(
    zip(
        "аесорхуіјѕԁԛԝһкмтвнАВЕКМНОРСТХУІЈЅαεικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧɑɡıӏⅼ",
        "aecopxyijsdqwhkmtbhABEKMHOPCTXYIJSaeiknoptuxwABEZHIKMNOPTYXagilll",
        strict=False,
    )
)
_LATIN = str.maketrans(_LOOKS)
_FOREIGN = re.compile("[" + "".join(_LOOKS) + "]")
_MIXED = re.compile(r"[^\W\d_]+")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});")
_TAG = re.compile(
    r"(?<=\w)</?(?:b|i|u|em|strong|span|font|a|wbr|mark|small|big|sub|sup|s)\b[^<>\n]{0,200}>(?=\w)"
)
_EMPTY_COMMENT = re.compile(r"(?<=\w)<!--[^<>]{0,40}-->(?=\w)")
# What stands in each text with letters apart, and with digits among letters: sought first, since it is found faster.
_MAYBE_SPACED = re.compile(r"[ .\-_*·|][^\W\d_][ .\-_*·|]{1,2}[^\W\d_][ .\-_*·|]")
_MAYBE_LEET = re.compile(r"[01345@$7][a-zA-Z]")
_SPACED = re.compile(r"(?<![^\W_])(?:[^\W\d_][ .\-_*·|]{1,2}){5,60}[^\W\d_](?![^\W_])")
_LEET = re.compile(r"(?<![\w.\-/])(?=\w*[a-zA-Z])(?=\w*[01345@$7])[a-zA-Z01345@$7]{4,24}(?![\w.\-/])")
_FROM_LEET = str.maketrans("01345@$7", "oieasast")
_MORE = 2  # letters than twice the characters of a run; a character may stand for eighteen

Edit = tuple[int, int, str]  # from, to, and what stands there instead


@frozen
class Plain:
    """A text without disguise.

    Args:
        text: what a reader sees. breaks, shifts: where it begins to differ from the original, and by how much.
        hidden: how many runs of invisible characters were taken out.
    """

    text: str
    breaks: list[int] = field(default_factory=list)
    shifts: list[int] = field(default_factory=list)
    hidden: int = 0

    def original(self, at: int) -> int:
        """The place in the original of a place in the text."""
        number = bisect_right(self.breaks, at) - 1
        return at if number < 0 else at + self.shifts[number]


def plain_text(text: str) -> Plain:
    """The text with invisible characters, look-alike letters, entities and tags inside words undone."""
    plain = Plain(text)
    if not text.isascii():
        plain = _edited(plain, _unicode_edits(text))
        if not plain.hidden and INVISIBLE.search(text):  # beside other letters than ASCII
            plain = Plain(plain.text, plain.breaks, plain.shifts, 1)
        if _FOREIGN.search(plain.text):
            plain = _edited(plain, _look_alikes(plain.text))
    if "&" in plain.text:
        plain = _edited(plain, [(m.start(), m.end(), unescape(m[0])) for m in _ENTITY.finditer(plain.text)])
    if "<" in plain.text:
        edits = [(m.start(), m.end(), "") for m in _TAG.finditer(plain.text)]
        edits += [(m.start(), m.end(), "") for m in _EMPTY_COMMENT.finditer(plain.text)]
        plain = _edited(plain, sorted(edits))
    if _MAYBE_SPACED.search(plain.text):
        spaced = [(m.start(), m.end(), _joined(m[0])) for m in _SPACED.finditer(plain.text)]
        plain = _edited(plain, spaced)
    return _edited(plain, _leet_edits(plain.text)) if _MAYBE_LEET.search(plain.text) else plain


def _unicode_edits(text: str) -> list[Edit]:
    """Runs of other characters than ASCII that stand for other text: each has one edit."""
    runs = [(match.start(), match.end(), match[0]) for match in _NOT_ASCII.finditer(text)]
    seen = {run: _visible(run) for run in {run for _, _, run in runs}}
    return [(start, end, seen[run]) for start, end, run in runs if seen[run] != run]


def _visible(run: str) -> str:
    shown = INVISIBLE.sub("", run.translate(_PLAIN))
    seen = unicodedata.normalize("NFKC", shown)
    return seen if len(seen) <= 2 * len(run) + _MORE else shown


def _look_alikes(text: str) -> list[Edit]:
    """Letters of another script inside words that also have Latin ones, or among a text that is Latin otherwise."""
    latin = sum(map(text.count, "etaoins"))
    foreign = len(_FOREIGN.findall(text))
    mostly_latin = latin > 4 * foreign
    edits = []
    for word in _MIXED.finditer(text):
        if word[0].isascii() or not _FOREIGN.search(word[0]):
            continue
        if any(char.isascii() for char in word[0]) or (
            mostly_latin and all(char in _LOOKS for char in word[0])
        ):
            edits.append((word.start(), word.end(), word[0].translate(_LATIN)))
    return edits


def _joined(spaced: str) -> str:
    """The words of a text whose letters stand apart; two separators or more are a space."""
    words = re.split(r"[ .\-_*·|]{2}", spaced)
    return " ".join(re.sub(r"[ .\-_*·|]", "", word) for word in words)


def _leet_edits(text: str) -> list[Edit]:
    edits = []
    for match in _LEET.finditer(text):
        word = match[0]
        digits = sum(char in "01345@$7" for char in word)
        inner = any(char in "01345@$7" for char in word[:-1])
        if inner and digits * 2 <= len(word) and not word.isupper() and _alternates(word):
            edits.append((match.start(), match.end(), word.translate(_FROM_LEET)))
    return edits


def _alternates(word: str) -> bool:
    """True if its digits stand between letters, as in no name such as `utf8` or `sha256`."""
    return re.search(r"(?:^|[a-zA-Z])[01345@$7]{1,2}[a-zA-Z]", word) is not None and not word.isdigit()


def _edited(plain: Plain, edits: list[Edit]) -> Plain:
    """The text with these parts replaced, each given as it stands in `plain`; those that overlap an earlier one are left."""
    if not edits:
        return plain
    if all(len(new) == end - start for start, end, new in edits):
        return Plain(_replaced(plain.text, edits), plain.breaks, plain.shifts, plain.hidden)
    parts = list[str]()
    breaks, shifts = list[int](), list[int]()
    at = length = 0
    hidden = plain.hidden
    for start, end, new in [*edits, (len(plain.text), len(plain.text), "")]:
        if start < at:
            continue
        inner = plain.breaks[bisect_right(plain.breaks, at) : bisect_right(plain.breaks, start)]
        for place in (at, *inner):
            breaks.append(length + place - at)
            shifts.append(plain.original(place) - breaks[-1])
        length += start - at
        same = len(new) == end - start and not plain.breaks  # one shift
        places = [min(start + offset, end - 1) for offset in range(1 if same else len(new))]
        if plain.breaks:
            places = list(map(plain.original, places))
        count = len(places)
        breaks += range(length, length + count)
        shifts += map(int.__sub__, places, range(length, length + count))
        length += len(new)
        parts += (plain.text[at:start], new)
        hidden += end > start and not new
        at = end
    return Plain("".join(parts), breaks, shifts, hidden)


def _replaced(text: str, edits: list[Edit]) -> str:
    """The text with these non-overlapping parts replaced."""
    parts, at = list[str](), 0
    for start, end, new in edits:
        parts += (text[at:start], new)
        at = end
    return "".join((*parts, text[at:]))
