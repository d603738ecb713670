"""What in a text must not be written down, and how is it masked?

One engine for the log, spans, error messages and screens: secret shapes, e-mail addresses and payment cards. A
match is replaced by a typed placeholder such as ``[redacted:github_token]``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sb.canonical import encode

MASK = "[redacted:{}]"
SENSITIVE = MASK.format("sensitive")
EVERYTHING = ""  # stands for more secrets than can be looked for


@dataclass(frozen=True)
class Recogniser:
    """One shape of a sensitive value.

    Args:
        label: what the placeholder calls it.
        expression: matches it; a group named `value` limits what is masked.
        hints: lower-case strings of which every match contains at least one.
    """

    label: str
    expression: str
    hints: tuple[str, ...]
    flags: int = 0

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when a text has one of the hints: all of them take 4 ms, which most processes need not pay."""
        return re.compile(self.expression, self.flags)


def _shape(label: str, expression: str, *hints: str, flags: int = 0) -> Recogniser:
    return Recogniser(label, expression, hints, flags)


# Words whose value is a secret whatever it looks like, and words that also have harmless ones (a token count).
_PASS = r"(?:pass(?:word|wd|phrase)|pwd|secret(?:[_\- ]?(?:access[_\- ]?)?key)?|credential)"
_KEY = r"(?:token(?!s)|(?:api|access|account|private)[_\- ]?key)"
_GIVEN = r"[\"']?\s{0,5}(?::=|=>|[:=])\s{0,5}"
_PLAIN = r"(?![\[<{$*%(])[^\s\"',;&)}\]]"
_WITH_DIGIT = r"(?=[^\s\"',;&)}\]]{0,200}\d)"
_FREE = r"(?<![A-Za-z0-9])"

# Shapes as their issuers document them; order is priority, earlier wins where two overlap. Every quantifier is
# bounded, so that no text takes more than linear time.
RECOGNISERS: tuple[Recogniser, ...] = (
    _shape(
        "private_key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[\s\S]{0,8000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s:,\-]{0,8000})",
        "private key",
    ),
    _shape("url_password", r"(?<![a-z0-9+.\-])[a-z][a-z0-9+.\-]{0,30}://[^\s/:@\"']{0,200}:(?P<value>[^\s@\"']{1,300})@", "://", flags=re.IGNORECASE),
    _shape("aws_key_id", r"(?<![0-9A-Z])(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Z])", "akia", "asia", "abia", "acca"),
    _shape("github_token", r"gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{30,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    _shape("gitlab_token", r"gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_\-.]{20,255}", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-"),
    _shape("slack_token", r"xox[abeoprs]-[A-Za-z0-9\-]{10,255}|xapp-[A-Za-z0-9\-]{10,255}", "xox", "xapp-"),
    _shape("slack_webhook", r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,255}", "hooks.slack.com"),
    _shape("anthropic_key", r"sk-ant-[A-Za-z0-9_\-]{20,255}", "sk-ant-"),
    _shape("openai_key", r"sk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_\-]{20,255}|" + _FREE + r"sk-(?=[A-Za-z_\-]{0,255}\d)[A-Za-z0-9_\-]{20,255}", "sk-"),
    _shape("stripe_key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9]{16,255}", "k_live_", "k_test_", "whsec_"),
    _shape("google_key", r"AIza[0-9A-Za-z_\-]{35}|" + _FREE + r"ya29\.[0-9A-Za-z_\-]{20,255}", "aiza", "ya29."),
    _shape("npm_token", r"npm_[A-Za-z0-9]{30,255}", "npm_"),
    _shape("pypi_token", r"pypi-[A-Za-z0-9_\-]{40,255}", "pypi-"),
    _shape("huggingface_token", _FREE + r"hf_[A-Za-z0-9]{30,255}", "hf_"),
    _shape("sendgrid_key", _FREE + r"SG\.[A-Za-z0-9_\-]{16,255}\.[A-Za-z0-9_\-]{16,255}", "sg."),
    _shape("digitalocean_token", r"do[oprt]_v1_[a-f0-9]{64}", "_v1_"),
    _shape("telegram_token", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_\-]{33}", ":aa"),
    _shape("jwt", r"(?<![_\-])eyJ[A-Za-z0-9_\-]{8,500}\.eyJ[A-Za-z0-9_\-]{8,4000}\.[A-Za-z0-9_\-]{0,1000}", "eyj"),
    _shape("authorization", r"\b(?:bearer|basic)\s{1,5}(?P<value>[A-Za-z0-9+/_\-.~]{16,4000}=*)", "bearer", "basic", flags=re.IGNORECASE),
    _shape("login", r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:(?P<value>[^\s\"']{1,200})", "curl", flags=re.IGNORECASE),
    _shape("keyed_secret", _PASS + r"s?" + _GIVEN + r"[\"'](?P<value>[^\"'\n]{1,300})[\"']", "pass", "pwd", "secret", "credential", flags=re.IGNORECASE),
    _shape("keyed_secret", _PASS + r"s?(?:" + _GIVEN + r"|\s{1,3}is\s{1,3}" + _WITH_DIGIT + r")(?P<value>" + _PLAIN + r"{5,300})", "pass", "pwd", "secret", "credential", flags=re.IGNORECASE),
    _shape("keyed_secret", _KEY + r"(?:" + _GIVEN + r"[\"']?|\s{1,3}is\s{1,3})" + _WITH_DIGIT + r"(?P<value>" + _PLAIN + r"{8,300})", "token", "key", flags=re.IGNORECASE),
    _shape(
        "email",
        r"(?<![\w.+\-])(?!git@[^\s:]{1,100}:)[A-Za-z0-9._%+\-]{1,64}@(?:[A-Za-z0-9\-]{1,63}\.){1,8}"
        r"(?!(?:png|jpe?g|gif|svg|webp|css|js|py|md|txt)\b)[A-Za-z]{2,24}(?![\w\-])",
        "@",
    ),
)  # fmt: skip

_HINTS = tuple(dict.fromkeys(hint for recogniser in RECOGNISERS for hint in recogniser.hints))
_CARD = re.compile(r"(?<![\d.])\d(?:[ \-\u00a0\u2013]?\d){12,18}(?![\d.]?\d)")
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_URL_SAFE = "!#$%&'()*+,/:;=?@[]~"  # what clients leave as it is in a whole address
_SECRET_NAME = re.compile(r"(?:" + _PASS + r"s?|" + _KEY + r")$", re.IGNORECASE)
_SECRET_FLAG = re.compile(r"--?(?:[a-z0-9]{1,30}[_\-]){0,4}(?:" + _PASS + r"|" + _KEY + r")", re.IGNORECASE)
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
    """Whether the digits of `text` have an issuer's prefix, its length, and a valid check digit."""
    digits = "".join(char for char in text if char.isdigit())
    if not any(prefix.match(digits) and len(digits) in lengths for prefix, lengths in _ISSUERS):
        return False
    from stdnum import luhn

    return bool(luhn.is_valid(digits))


def _mask_match(recogniser: Recogniser, match: re.Match[str]) -> str:
    mask = MASK.format(recogniser.label)
    if "value" not in recogniser.pattern.groupindex:
        return mask
    whole, (start, end) = match.group(), match.span("value")
    offset = match.start()
    return whole[: start - offset] + mask + whole[end - offset :]


def redact_text(text: str) -> str:
    """The text with every recognised value masked."""
    lowered = text.lower()
    for recogniser in RECOGNISERS:
        if any(hint in lowered for hint in recogniser.hints):
            text = recogniser.pattern.sub(lambda match, r=recogniser: _mask_match(r, match), text)  # type: ignore[misc]
    return _CARD.sub(
        lambda match: MASK.format("card") if is_card_number(match.group()) else match.group(), text
    )


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where a text holds recognised secrets, in order and without overlap; addresses and card numbers are none."""
    lowered, found = text.lower(), list[tuple[int, int]]()
    for recogniser in RECOGNISERS:
        if recogniser.label != "email" and any(hint in lowered for hint in recogniser.hints):
            part = "value" if "value" in recogniser.pattern.groupindex else 0
            for match in recogniser.pattern.finditer(text):
                start, end = match.span(part)
                if all(end <= one or other <= start for one, other in found):
                    found.append((start, end))
    return sorted(found)


def may_be_sensitive(text: str) -> bool:
    """Whether `text` could hold a recognised value; False is certain. A microsecond for a log row."""
    lowered = text.lower()
    for hint in _HINTS:  # a plain loop: any() with a generator takes three times as long
        if hint in lowered:
            return True
    return _CARD.search(text) is not None


def redact(value: Any) -> Any:
    """A copy of a JSON value with every string masked, keys too, and whole values that a name calls a secret."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return _redact_mapping(value)
    if isinstance(value, list | tuple):
        flags = [isinstance(item, str) and bool(_SECRET_FLAG.fullmatch(item)) for item in value]
        return [
            _mask_leaves(item) if number and flags[number - 1] else redact(item)
            for number, item in enumerate(value)
        ]
    if isinstance(value, int) and not isinstance(value, bool) and is_card_number(str(value)):
        return MASK.format("card")
    return value


def _redact_mapping(value: dict[str, Any]) -> dict[str, Any]:
    masked: dict[str, Any] = {}
    for key, item in value.items():
        shown = redact_text(key)
        while shown in masked:  # two masked names may be equal; neither value may be lost
            shown += "'"
        masked[shown] = _mask_leaves(item) if _SECRET_NAME.search(key[-100:]) else redact(item)
    return masked


def _mask_leaves(value: Any) -> Any:
    """The value with every string and every number that is too large for a count masked."""
    if isinstance(value, dict):
        return {redact_text(key): _mask_leaves(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mask_leaves(item) for item in value]
    if isinstance(value, str):
        return value if not value or value.startswith("[redacted:") else MASK.format("keyed_secret")
    counted = isinstance(value, bool) or not isinstance(value, int) or abs(value) < _LEAST_SECRET_NUMBER
    return value if counted else MASK.format("keyed_secret")


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
    an address, as in what HTTP clients say of a request that failed."""
    from html import escape
    from urllib.parse import quote, quote_plus

    forms = {text, repr(text)[1:-1], ascii(text)[1:-1], json.dumps(text)[1:-1]}
    forms |= {json.dumps(text, ensure_ascii=False)[1:-1], escape(text), escape(text, quote=False)}
    quoted = {quote(text, safe, errors="replace") for safe in ("", "/", _URL_SAFE)}
    quoted.add(quote_plus(text, errors="replace"))
    forms |= quoted | {_PERCENT.sub(lambda match: match[0].lower(), form) for form in quoted}
    return (forms | {" ".join(form.split()) for form in forms}) - {""}


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
