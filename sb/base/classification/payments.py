"""Payment cards and bank accounts, by their check digits.

Source: ISO/IEC 7812 (cards), ISO 13616 and its registry (IBAN).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sb.base.classification.findings import CARD, IBAN, Finding
from sb.base.classification.words import any_word, around, names_a_thing
from sb.base.secrets.redaction import is_card_number

_CARD = re.compile(r"(?<![\w.])[0-9](?:[ \-.]?[0-9]){11,18}(?![\d]|[.\-]\d|[a-zA-Z])")
_CARD_WORDS = (
    r"cards?|credit|debit|visa|mastercard|amex|american express|maestro|diners|discover|jcb|unionpay|pan|cc|cvv|cvc|carte"
    r"|tarjeta|kreditkarte|karte|kartennummer|carta|cart[ãa]o|kaart|kort|expir\w+"
)
_SURE = {14, 15, 16}  # digits of a card that needs no words beside it
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[ \-]?\d{2}(?=[ \-.]?[A-Za-z0-9])")
_IBAN_SEPARATORS = " -."
_LENGTHS = {
    code: int(length)
    for length, codes in {
        15: "NO", 16: "BE", 18: "DK FO FI GL NL SD FK", 19: "MK SI", 20: "AT BA EE KZ LT LU XK MN",
        21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM TL SO",
        24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "PT ST LY", 26: "IS TR BI", 27: "FR GR IT MC MR SM DJ",
        28: "AL AZ BY CY DO GT HU LB PL SV NI", 29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC",
        33: "RU",
    }.items()
    for code in codes.split()
}  # fmt: skip


def cards(text: str) -> Iterator[Finding]:
    """Card numbers with an issuer's prefix, its length and a valid check digit."""
    for match in _CARD.finditer(text):
        groups = re.split(r"[ \-.]", match[0])
        digits = sum(map(len, groups))
        if (
            min(map(len, groups)) < 3
            or len(set(re.sub(r"\d", "", match[0]))) > 1
            or not is_card_number(match[0])
        ):
            continue
        named = any_word(_CARD_WORDS).search(around(text, *match.span())) is not None
        sure = digits in _SURE and (digits == 16 or match[0][0] == "3")
        if named or (sure and not names_a_thing(text, match.start())):
            yield Finding(CARD, *match.span(), 0.98 if named else 0.9)


def ibans(text: str) -> Iterator[Finding]:
    """Account numbers with their country's length and valid check digits."""
    for match in _IBAN.finditer(text):
        end = _iban_end(text, match.start(), _LENGTHS.get(match[0][:2].upper(), 0))
        if end:
            yield Finding(IBAN, match.start(), end, 0.99)


def _iban_end(text: str, start: int, length: int) -> int:
    """Where a valid account number of that length ends; 0 if there is none."""
    found: list[str] = []
    position = start
    while len(found) < length and position < len(text):
        char = text[position]
        if char.isascii() and char.isalnum():
            found.append(char)
        elif char not in _IBAN_SEPARATORS or text[position - 1] in _IBAN_SEPARATORS:
            return 0
        position += 1
    if not length or len(found) < length or text[position : position + 1].isalnum():
        return 0
    number = "".join(found).upper()
    return position if int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1 else 0
