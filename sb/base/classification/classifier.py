"""Classify a text: every recogniser in turn, and the most certain one where two overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sb.base.classification.findings import Classification, Finding

Secret = tuple[str, int, int]  # its label, where it starts and where it ends

LONGEST = 1_000_000  # characters that are searched
_LEAST_DIGITS = 7  # of a phone number
_LEAST_DIGITS_OF_AN_ID = 4
_LEAST_DIGITS_OF_A_DOCUMENT = 3
# One character each, so that every place in the text stays where it is.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2008\u2009\u202f\u3000", " "),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63", "-"),
        **{chr(zero + digit): str(digit) for zero in (0x0660, 0x06F0, 0x0966) for digit in range(10)},
        **{chr(0xFEE0 + code): chr(code) for code in range(0x21, 0x7F)},  # full width
    }
)


def may_hold_personal_data(text: str) -> bool:
    """True if `classify` could find personal or payment data, or not read all of the text; False is certain."""
    if len(text) > LONGEST:
        return True
    plain = _plain(text)
    digits = _digits(plain)
    if digits >= _LEAST_DIGITS_OF_AN_ID or (digits > 1 and plain.count(":") > 1):
        return True
    from sb.base.classification.contacts import may_hold_email

    return may_hold_email(plain)


def classify(text: str, *, secrets: Sequence[Secret] | None = None) -> Classification:
    """Classify a text: its secrets, payment data and personal data.

    Texts of any length are read in linear time, the first `LONGEST` characters; `complete` is False if more is there.

    Args:
        secrets: those of the text, as `sb.base.secrets.redaction.secret_findings` has them, for who looked already.
    """
    read = text if len(text) <= LONGEST else text[:LONGEST]
    plain = _plain(read)
    complete = len(read) == len(text)
    taken: bytearray | None = None
    found: list[Finding] = []
    for finding in _candidates(plain, secrets):
        if finding is None:
            complete = False
            continue
        if taken is None:
            taken = bytearray(len(read))
        if taken.find(1, finding.start, finding.end) < 0:
            taken[finding.start : finding.end] = b"\1" * (finding.end - finding.start)
            found.append(finding)
    found.sort(key=lambda one: one.start)
    return Classification(text, tuple(found), len(read), complete)


def _plain(text: str) -> str:
    return text if text.isascii() else text.translate(_PLAIN)


def _digits(text: str) -> int:
    octets = text.encode("utf-8", "replace")  # of which other characters hold no digits
    return len(octets) - len(octets.translate(None, b"0123456789"))


def _candidates(text: str, secrets: Sequence[Secret] | None) -> Iterator[Finding | None]:
    """Findings of every kind, the most certain kinds first; None where not all candidates were looked at."""
    from sb.base.secrets.redaction import secret_findings

    for label, start, end in secret_findings(text) if secrets is None else secrets:
        yield Finding(label, start, end, 0.95)
    digits = _digits(text)
    if digits >= _LEAST_DIGITS_OF_AN_ID:
        yield from _numbers(text)
    if digits >= _LEAST_DIGITS_OF_A_DOCUMENT:
        from sb.base.classification.documents import documents

        yield from documents(text)
    from sb.base.classification.contacts import emails, ip_addresses

    yield from emails(text)
    if digits > 1:
        yield from ip_addresses(text)
    if digits >= _LEAST_DIGITS:
        from sb.base.classification.phones import phones

        yield from phones(text)


def _numbers(text: str) -> Iterator[Finding]:
    from sb.base.classification.national_ids import national_ids
    from sb.base.classification.payments import cards, ibans

    yield from ibans(text)
    yield from cards(text)
    yield from national_ids(text)
