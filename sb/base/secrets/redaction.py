"""Masking: secrets, e-mail addresses and payment cards become placeholders such as ``[redacted:github_token]``.

One engine for the log, spans, error messages, screens and memory; the shapes are in `sb.base.secrets.shapes`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from sb.base.secrets.shapes import (
    EMAIL,
    EMAIL_SHAPE,
    KEY,
    PASS,
    Recogniser,
    hinted,
    is_stand_in,
    may_hold_secret,
)
from sb.base.text import plain, shorten
from sb.base.values.canonical import encode

MASK = "[redacted:{}]"
CARD = "card"  # its label; digits of an id may look like one
SENSITIVE = MASK.format("sensitive")
EVERYTHING = ""  # stands for more secrets than can be looked for


# Beside a letter from a to f it is part of an id or a digest.
_CARD = re.compile(r"(?<![\d.A-Fa-f])[0-9](?:[ \-\u00a0\u2013]?[0-9]){12,18}(?![\d.]?\d|[A-Fa-f])")
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_SHORTEST_BASE64 = 8  # characters; fewer stand in texts by chance
_URL_SAFE = "!#$%&'()*+,/:;=?@[]~"  # what clients leave as it is in a whole address
_SECRET_NAME = re.compile(r"(?:" + PASS + r"s?|" + KEY + r")$", re.IGNORECASE)
_SECRET_FLAG = re.compile(r"--?(?:[a-z0-9]{1,30}[_\-]){0,4}(?:" + PASS + r"|" + KEY + r")", re.IGNORECASE)
_IS_MASK = re.compile(r"\[redacted:[a-z0-9_]{1,40}\]")
_REFERENCE = re.compile(r"\[reference:[a-z][a-z0-9_\-.]{0,63}\]")  # names a credential, and is none
_LEAST_SECRET_NUMBER = 100_000  # below it, a number under "tokens" is a count
# Issuer ranges and their lengths (ISO/IEC 7812); Luhn alone would also take IMEI numbers.
_ISSUERS = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"6(?:011|4[4-9]|5)"), (16, 19)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 19)),
    (re.compile(r"3(?:0[0-5]|095|[689])"), (14, 16, 19)),
    (re.compile(r"62|81"), (16, 17, 18, 19)),
    (re.compile(r"5[06789]|6"), (13, 14, 15, 16, 17, 18, 19)),
)


def is_card_number(text: str) -> bool:
    """True if the digits of `text` have an issuer's prefix, its length, and a valid check digit."""
    digits = "".join(char for char in text if char.isdigit())
    if not any(prefix.match(digits) and len(digits) in lengths for prefix, lengths in _ISSUERS):
        return False
    from stdnum import luhn

    return bool(luhn.is_valid(digits))


class Masking:
    """Masks values of known shapes, and remembers by their labels which it met.

    Args:
        personal: also e-mail addresses, which are no secrets.
    """

    def __init__(self, *, personal: bool = True) -> None:
        self._personal = personal
        self.found: dict[str, None] = {}

    def text(self, text: str) -> str:
        """The text with every recognised value masked."""
        if may_hold_secret(text):
            for recogniser in hinted(text.lower()):
                if self._personal or recogniser.label != EMAIL:
                    text = self._masked(recogniser, text)
            return _CARD.sub(self._card, text)
        if self._personal and "@" in text:  # an e-mail address is all that it could hold
            return self._masked(EMAIL_SHAPE, text)
        return text

    def _masked(self, recogniser: Recogniser, text: str) -> str:
        return recogniser.pattern.sub(partial(self._match, recogniser), text)

    def value(self, value: Any) -> Any:
        """A copy of a JSON value with every string masked, keys too, and whole values that a name calls a secret."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._mapping(value)
        if isinstance(value, list | tuple):
            flags = [isinstance(item, str) and bool(_SECRET_FLAG.fullmatch(item)) for item in value]
            return [
                self._leaves(item) if number and flags[number - 1] else self.value(item)
                for number, item in enumerate(value)
            ]
        if isinstance(value, int) and not isinstance(value, bool) and is_card_number(str(value)):
            return self._mask(CARD)
        return value

    def _mask(self, label: str) -> str:
        self.found[label] = None
        return MASK.format(label)

    def _match(self, recogniser: Recogniser, match: re.Match[str]) -> str:
        whole = match.group()
        value = match["value"] if "value" in recogniser.pattern.groupindex else whole
        if _IS_MASK.fullmatch(value):
            return whole
        if recogniser.by_name and is_stand_in(value, match.string[match.end("value") :][:1]):
            return whole
        mask = self._mask(recogniser.label)
        if value is whole:
            return mask
        start, end = match.span("value")
        offset = match.start()
        return whole[: start - offset] + mask + whole[end - offset :]

    def _card(self, match: re.Match[str]) -> str:
        return self._mask(CARD) if is_card_number(match.group()) else match.group()

    def _mapping(self, value: dict[str, Any]) -> dict[str, Any]:
        masked: dict[str, Any] = {}
        for key, item in value.items():
            shown = self.text(key)
            while shown in masked:  # two masked names may be equal; neither value may be lost
                shown += "'"
            masked[shown] = self._leaves(item) if _SECRET_NAME.search(key[-100:]) else self.value(item)
        return masked

    def _leaves(self, value: Any) -> Any:
        """The value with every string and every number that is too large for a count masked."""
        if isinstance(value, dict):
            return {self.text(key): self._leaves(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._leaves(item) for item in value]
        if isinstance(value, str):
            harmless = not value or value.startswith("[redacted:") or _REFERENCE.fullmatch(value)
            return value if harmless else self._mask("keyed_secret")
        counted = isinstance(value, bool) or not isinstance(value, int) or abs(value) < _LEAST_SECRET_NUMBER
        return value if counted else self._mask("keyed_secret")


def redact_text(text: str) -> str:
    """The text with every recognised value masked."""
    return Masking().text(text)


def secret_findings(text: str, *, by_form_alone: bool = False) -> Iterator[tuple[str, int, int]]:
    """Label, start and end of each recognised secret, the surest shapes first; two may overlap.

    Addresses and card numbers are none, nor is what only stands for a secret, nor a mask.

    Args:
        by_form_alone: leave out what only the words beside it call a secret.
    """
    if not may_hold_secret(text):
        return
    for recogniser in hinted(text.lower()):
        beside_words = "value" in recogniser.pattern.groupindex
        if recogniser.label == EMAIL or (by_form_alone and beside_words):
            continue
        part = "value" if beside_words else 0
        for match in recogniser.pattern.finditer(text):
            start, end = match.span(part)
            stands_in = recogniser.by_name and is_stand_in(match[part], text[end : end + 1])
            if not stands_in and not _IS_MASK.fullmatch(match[part]):
                yield recogniser.label, start, end


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where a text holds recognised secrets, in order and without overlap; addresses and card numbers are none."""
    found = list[tuple[int, int]]()
    for recogniser in hinted(text.lower()):
        if recogniser.label != EMAIL:
            part = "value" if "value" in recogniser.pattern.groupindex else 0
            for match in recogniser.pattern.finditer(text):
                start, end = match.span(part)
                if all(end <= number or other <= start for number, other in found):
                    found.append((start, end))
    return sorted(found)


def may_be_sensitive(text: str) -> bool:
    """True if `text`, or a JSON of it, could hold a recognised value; False is certain. Microseconds for a log row."""
    return "@" in text or may_hold_secret(text)


def redact(value: Any) -> Any:
    """A copy of a JSON value with every string masked, keys too, and whole values that a name calls a secret."""
    return Masking().value(value)


def one_line(text: object, limit: int) -> str:
    """Text of somebody else for one line of a record or a message: printable, masked, at most `limit` characters.

    In this order: of a secret that was cut first, its beginning would no longer be recognised.
    """
    return shorten(redact_text(plain(text, one_line=True)), limit)


def redact_json(value: Any) -> str:
    """Compact JSON of a redacted value: what a log row stores."""
    body = encode(value).decode()
    return encode(redact(value)).decode() if may_be_sensitive(body) else body


def leaves(value: Any) -> Iterable[str]:
    """The texts by which a sensitive value could be recognised elsewhere: its strings and numbers."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif not isinstance(value, bool) and value is not None and str(value):
        yield str(value)


def spellings(text: str) -> set[str]:
    """The forms in which a text turns up in messages: as it is, on one line, escaped by repr, ascii, JSON, HTML or for
    an address, as in what HTTP clients say of a request that failed, or in base64, as in a header of theirs."""
    from html import escape
    from urllib.parse import quote, quote_plus

    forms = {text, repr(text)[1:-1], ascii(text)[1:-1], json.dumps(text)[1:-1]}
    forms |= {json.dumps(text, ensure_ascii=False)[1:-1], escape(text), escape(text, quote=False)}
    quoted = {quote(text, safe, errors="replace") for safe in ("", "/", _URL_SAFE)}
    quoted.add(quote_plus(text, errors="replace"))
    forms |= quoted | {_PERCENT.sub(lambda match: match[0].lower(), form) for form in quoted}
    return (forms | {" ".join(form.split()) for form in forms} | set(_in_base64(text))) - {""}


def _in_base64(text: str) -> Iterator[str]:
    """The parts of a text's base64 that do not depend on its neighbors, for each place it can begin at."""
    from base64 import b64encode, urlsafe_b64encode

    data = text.encode(errors="replace")
    for before in range(3):
        first, last = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        if last - first >= _SHORTEST_BASE64:
            for in_base64 in (b64encode, urlsafe_b64encode):
                yield in_base64(b"\0" * before + data)[first:last].decode()


def scrub(value: Any, secrets: list[str]) -> Any:
    """A copy of a JSON value in which each of the `secrets` is masked, wherever it occurs in a string or as a number.

    Args:
        secrets: longest first; EVERYTHING alone masks every text whole.
    """
    if not secrets:
        return value
    pattern = re.compile(".+" if secrets == [EVERYTHING] else "|".join(map(re.escape, secrets)), re.DOTALL)
    return _scrubbed(value, pattern)


def _scrubbed(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return pattern.sub(SENSITIVE, value)
    if isinstance(value, dict):
        return {pattern.sub(SENSITIVE, key): _scrubbed(item, pattern) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(item, pattern) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool) and pattern.fullmatch(str(value)):
        return SENSITIVE
    return value
