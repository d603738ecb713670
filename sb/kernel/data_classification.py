"""What in a text must not be written down, and how is it masked?

One engine for the log, spans, error messages and screens: secret shapes, e-mail addresses and payment cards. A
match is replaced by a typed placeholder such as ``[redacted:github_token]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sb.canonical import encode

MASK = "[redacted:{}]"
SENSITIVE = MASK.format("sensitive")


@dataclass(frozen=True)
class Recogniser:
    """One shape of a sensitive value.

    Args:
        label: what the placeholder calls it.
        pattern: matches it; a group named `value` limits what is masked.
        hints: lower-case strings of which every match contains at least one.
    """

    label: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...]


def _shape(label: str, pattern: str, *hints: str, flags: int = 0) -> Recogniser:
    return Recogniser(label, re.compile(pattern, flags), hints)


_WORDS = r"(?:pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|credential)"
_LEFT = r"(?<![A-Za-z0-9])"

# Shapes as their issuers document them; order is priority, earlier wins where two overlap.
RECOGNISERS: tuple[Recogniser, ...] = (
    _shape(
        "private_key",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        "private key",
    ),
    _shape("url_password", r"[a-z][a-z0-9+.\-]*://[^\s/:@\"']*:(?P<value>[^\s/@\"']+)@", "://", flags=re.IGNORECASE),
    _shape("aws_key_id", _LEFT + r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Z])", "akia", "asia", "abia", "acca"),
    _shape("github_token", _LEFT + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    _shape("gitlab_token", _LEFT + r"gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_\-.]{20,}", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-"),
    _shape("slack_token", _LEFT + r"xox[abeoprs]-[A-Za-z0-9\-]{10,}|" + _LEFT + r"xapp-[A-Za-z0-9\-]{10,}", "xox", "xapp-"),
    _shape("slack_webhook", r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}", "hooks.slack.com"),
    _shape("anthropic_key", _LEFT + r"sk-ant-[A-Za-z0-9_\-]{20,}", "sk-ant-"),
    _shape("openai_key", _LEFT + r"sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_\-]{20,}", "sk-"),
    _shape("stripe_key", _LEFT + r"(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}", "k_live_", "k_test_", "whsec_"),
    _shape("google_key", _LEFT + r"AIza[0-9A-Za-z_\-]{35}|" + _LEFT + r"ya29\.[0-9A-Za-z_\-]{20,}", "aiza", "ya29."),
    _shape("npm_token", _LEFT + r"npm_[A-Za-z0-9]{30,}", "npm_"),
    _shape("pypi_token", _LEFT + r"pypi-[A-Za-z0-9_\-]{40,}", "pypi-"),
    _shape("huggingface_token", _LEFT + r"hf_[A-Za-z0-9]{30,}", "hf_"),
    _shape("sendgrid_key", _LEFT + r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}", "sg."),
    _shape("digitalocean_token", _LEFT + r"do[oprt]_v1_[a-f0-9]{64}", "_v1_"),
    _shape("telegram_token", _LEFT + r"\d{8,10}:AA[A-Za-z0-9_\-]{33}", ":aa"),
    _shape("jwt", _LEFT + r"eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*", "eyj"),
    _shape("authorization", r"\b(?:bearer|basic)\s+(?P<value>[A-Za-z0-9+/_\-.~]{16,}=*)", "bearer", "basic", flags=re.IGNORECASE),
    _shape(
        "keyed_secret",
        _WORDS + r"s?[\"']?\s*(?::=|=>|[:=]|\bis\b)\s*[\"']?(?P<value>(?![\[<{$*%(])[^\s\"',;&)}\]]{6,})",
        "pass", "pwd", "secret", "token", "key", "credential",
        flags=re.IGNORECASE,
    ),
    _shape("email", r"(?<![\w.+\-])[A-Za-z0-9._%+\-]{1,64}@(?:[A-Za-z0-9\-]{1,63}\.)+[A-Za-z]{2,24}(?![\w\-])", "@"),
)  # fmt: skip

_HINTS = tuple(dict.fromkeys(hint for recogniser in RECOGNISERS for hint in recogniser.hints))
_CARD = re.compile(r"(?<![\d.])\d(?:[ \-\u00a0\u2013]?\d){12,18}(?![\d.]?\d)")
_SECRET_KEY = re.compile(r"(?:^|[_\-. ])" + _WORDS + r"s?$", re.IGNORECASE)
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


def may_be_sensitive(text: str) -> bool:
    """Whether `text` could hold a recognised value; False is certain. A microsecond for a log row."""
    lowered = text.lower()
    for hint in _HINTS:  # a plain loop: any() with a generator takes three times as long
        if hint in lowered:
            return True
    return _CARD.search(text) is not None


def redact(value: Any) -> Any:
    """A copy of a JSON value with every string masked, keys too, and whole values under keys that name a secret."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return {redact_text(key): _redact_field(key, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and is_card_number(str(value)):
        return MASK.format("card")
    return value


def _redact_field(key: str, item: Any) -> Any:
    counted = isinstance(item, int) and (isinstance(item, bool) or abs(item) < _LEAST_SECRET_NUMBER)
    if isinstance(item, str | int) and item and not counted and _SECRET_KEY.search(key):
        return (
            item if isinstance(item, str) and item.startswith("[redacted:") else MASK.format("keyed_secret")
        )
    return redact(item)


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


def scrub(value: Any, secrets: list[str]) -> Any:
    """A copy of a JSON value in which each of the `secrets` is masked, wherever it occurs in a string or as a number."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, SENSITIVE)
        return value
    if isinstance(value, dict):
        return {scrub(key, secrets): scrub(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(item, secrets) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool) and str(value) in secrets:
        return SENSITIVE
    return value
