"""Values that stand in a text in another form: split by line breaks and markup, or in base64."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from sb.base.secrets.redaction import secret_findings
from sb.kernel.red_team.hidden_texts import from_base64

_OF_A_TOKEN = r"[A-Za-z0-9_\-+/=.]"
# Each part is bounded, so that no text takes more than linear time.
_BREAK = re.compile(
    rf"(?<={_OF_A_TOKEN})"
    r"(?:[ \t\"'`+\\|]{0,40}(?:\r?\n|<w?br ?/?>)(?:[ \t>|*#\"'`]|//){0,60}|[*`]{1,3}|~~)"
    rf"(?={_OF_A_TOKEN})"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/\-_]{20,}={0,2}")
_BINARY = 10  # of so many bytes one that is no text: an image, or a word that merely looks like base64
_DEEPEST = 2  # base64 within base64

Span = tuple[int, int]


def split_secrets(text: str) -> Iterator[tuple[str, Span]]:
    """Label and place of each secret of a known shape that line breaks, quotation or emphasis divide."""
    breaks = [match.span() for match in _BREAK.finditer(text)]
    if not breaks:
        return
    ends = [0, *(end for _, end in breaks)]
    joined = "".join(
        text[start:end] for start, end in zip(ends, [*(start for start, _ in breaks), len(text)], strict=True)
    )
    lost = [0, *accumulate(end - start for start, end in breaks)]
    places = [
        end - gone for end, gone in zip(ends, lost, strict=True)
    ]  # in the joined text, where a part begins

    def original(at: int) -> int:
        return at + lost[bisect_right(places, at) - 1]

    for label, start, end in secret_findings(joined, by_form_alone=True):
        first, last = original(start), original(end - 1) + 1
        if last - first > end - start:
            yield label, (first, last)


def encoded_texts(text: str, depth: int = 0) -> Iterator[tuple[str, Span]]:
    """Base64 texts within a text, decoded, each with its place."""
    for match in _BASE64.finditer(text):
        data = from_base64(match[0])
        if data is None:
            continue
        decoded = data.decode(errors="replace")
        if decoded.count("\ufffd") * _BINARY > len(decoded):
            continue
        yield decoded, match.span()
        if depth < _DEEPEST - 1:
            yield from ((inner, match.span()) for inner, _ in encoded_texts(decoded, depth + 1))
