"""Classify a text: every recogniser in turn, and the most certain one where two overlap."""

from __future__ import annotations

from collections.abc import Iterator

from sb.classification.findings import Classification, Finding

LONGEST = 1_000_000  # characters that are searched
_LEAST_DIGITS = 7  # of a phone number
_LEAST_DIGITS_OF_AN_ID = 4
_LEAST_DIGITS_OF_A_DOCUMENT = 3
# One character each, so that every place in the text stays where it is.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2008\u2009\u202f\u3000", " "),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-"),
        "\uff20": "@",
        "\uff0e": ".",
        "\uff0b": "+",
        "\uff1a": ":",
        "\uff08": "(",
        "\uff09": ")",
        **{chr(zero + digit): str(digit) for zero in (0xFF10, 0x0660, 0x06F0, 0x0966) for digit in range(10)},
        **{chr(0xFF21 + at): chr(ord("A") + at) for at in range(26)},
        **{chr(0xFF41 + at): chr(ord("a") + at) for at in range(26)},
    }
)


def classify(text: str) -> Classification:
    """What a text holds of secrets, payment data and personal data.

    Texts of any length are read in linear time, the first `LONGEST` characters; `complete` is False if more is there.
    """
    read = text if len(text) <= LONGEST else text[:LONGEST]
    plain = read if read.isascii() else read.translate(_PLAIN)
    complete = len(read) == len(text)
    taken: bytearray | None = None
    found: list[Finding] = []
    for one in _candidates(plain):
        if one is None:
            complete = False
            continue
        if taken is None:
            taken = bytearray(len(read))
        if taken.find(1, one.start, one.end) < 0:
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
            found.append(one)
    found.sort(key=lambda one: one.start)
    return Classification(text, tuple(found), len(read), complete)


def _candidates(text: str) -> Iterator[Finding | None]:
    """Findings of every kind, the most certain kinds first; None where not all candidates were looked at."""
    from sb.redaction import secret_findings

    for label, start, end in secret_findings(text):
        yield Finding(label, start, end, 0.95)
    digits = sum(map(text.count, "0123456789"))
    if digits >= _LEAST_DIGITS_OF_AN_ID:
        yield from _numbers(text)
    if digits >= _LEAST_DIGITS_OF_A_DOCUMENT:
        from sb.classification.documents import documents

        yield from documents(text)
    from sb.classification.contacts import emails, ip_addresses

    yield from emails(text)
    if digits > 1:
        yield from ip_addresses(text)
    if digits >= _LEAST_DIGITS:
        from sb.classification.phones import phones

        yield from phones(text)


def _numbers(text: str) -> Iterator[Finding]:
    from sb.classification.national_ids import national_ids
    from sb.classification.payments import cards, ibans

    yield from ibans(text)
    yield from cards(text)
    yield from national_ids(text)
