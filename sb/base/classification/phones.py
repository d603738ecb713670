"""Phone numbers: those with a country's prefix, and national ones by their form or the words beside them.

Source: the numbering plans of `phonenumbers`, which is loaded by the first text with seven digits in a row of groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from sb.base.classification.findings import PHONE, Finding
from sb.base.classification.words import any_word, around, names_a_thing

_LEAST_UNNAMED = 9  # digits of a number that nothing beside it calls a phone's
MOST_LOOKED_UP = 2_000  # numbers of one text: each takes up to a millisecond
_CANDIDATE = re.compile(
    r"(?<![\w.,:\-/+$€£#])(?:\+ ?|\()?\(?\+?\d(?:[ .\-/]{0,2}\(?\d|\)[ .\-/]{0,2}\(?\d| \(0\) ?\d|[ ]?-[ ]?\d){5,17}(?![\w]|[.,:/\-]\d|%)"
)
_PREFIXED = re.compile(
    r"(?<=[:/=(,])(?:\+|00)\d(?:[ .\-]?\d){7,15}(?!\w)|(?<=wa\.me/)\d{8,15}(?!\w)"
)  # in a link, or behind a sign
_NAMED = (
    r"phones?|tel|telephone|mobile|mob|cell|cellphone|fax|sms|whatsapp|telegram|hotline|landline|ph|wa\.me|msisdn|pager|voicemail"
    r"|\w{0,20}phone(?:_?(?:no|number))?|telefon\w*|handy\w*|mobil\w*|rufnummer|t[ée]l[ée]phone|t[ée]l|portable|tel[ée]fono|m[óo]vil"
    r"|celular|telefone|telem[óo]vel|cellulare|telefoon\w*|gsm|puhelin\w*|puh|telefonn[íi]|kom[óo]rka|tlf|sími|telepon|tlp|hp|sđt|điện thoại"
    r"|cep tel\w*|тел\w*|моб\w*|τηλ\w*|κιν\w*|טלפון|נייד|هاتف|جوال|تلفن|फ़?ोन|โทร\S*|電話\S*|电话\S*|手机\S*|携帯\S*|전화\S*|휴대폰\S*"
)
_CALLED = (  # words that other things are near to, too
    r"call(?:ing| me| us| him| her| back)?|ring|dial|text(?: me| us)?|signal|reach(?: me| us| him| her)?|contact(?: me| us)?|number is"
    r"|anruf\w*|ruf(?:en)?|appele[rz]|llama\w*|ligue|chiama\w*|bel|zadzwo\S*|dzwo\S*|звон\w*|ext|extension|emergency"
)
_NEAR, _NEAR_AFTER = 36, 14  # characters
_COUNTED = re.compile(
    r"\s?(?:times|ms|ns|us|s|sec|seconds|bytes|kb|mb|gb|rows|records|users|requests|items|lines|tokens|points|votes|people|eur|usd|x|%)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\(?(?:(?:19|20)\d\d[.\-/ ]\d{1,2}[.\-/ ]\d{1,2}|\d{1,2}[.\-/]\d{1,2}[.\-/](?:19|20)\d\d)(?:\D.*)?$"
)
_DECIMAL = re.compile(r"\+\d+\.\d{1,2}")
_RANGE = re.compile(r"\d{5}[ \-]\d{5}")  # written as India's mobile numbers are
_RANGED = r"ranges?|between|ports?|ids?|uids?|gids?|pages?|from|lines?|rows?"
_ISBN = re.compile(r"97[89][ \-]?\d(?:[ \-]?\d){8}[ \-]?[\dXx]$|\d{1,5}-\d{1,7}-\d{1,7}-[\dXx]$")
_NORTH_AMERICAN = re.compile(r"(?:1[ .\-]?)?(?:\(\d{3}\) ?|\d{3}([.\- ]))\d{3}[.\- ]\d{4}$")
# National forms that hardly anything else has, and the countries that write so.
_FORMS = (
    (re.compile(r"\(?0[\d ]{1,5}\)?[ \-/.]{1,3}\d[\d \-.]{4,12}$"), (
        "GB", "DE", "FR", "IT", "NL", "AU", "JP", "BE", "CH", "AT", "SE", "ZA", "IN", "KR", "NZ", "IE", "FI", "UA", "TR",
        "RO", "BR", "TH", "ID", "PH", "EG", "NG", "KE", "MY", "VN", "PK", "IL", "TW", "AR", "RS", "HR", "BG", "SK", "SI")),
    (re.compile(r"[6-9]\d{4}[ \-]\d{5}$"), ("IN",)),
    (re.compile(r"1\d{2}[ \-]\d{4}[ \-]\d{4}$"), ("CN",)),
    (re.compile(r"\(\d{2}\) ?\d{4,5}[ \-]\d{4}$"), ("BR", "MX", "AR")),
    (re.compile(r"8[ \-]?\(?\d{3}\)?[ \-]?\d{3}[ \-]\d{2}[ \-]\d{2}$"), ("RU", "KZ")),
)  # fmt: skip
# Where a number that is called a phone's is looked up, besides.
_REGIONS = (
    "US", "GB", "DE", "FR", "ES", "IT", "NL", "PL", "IN", "BR", "MX", "AU", "PT", "CH", "AT", "BE", "SE", "NO", "DK", "FI",
    "CZ", "GR", "HU", "RO", "RU", "UA", "TR", "JP", "CN", "KR", "SG", "HK", "TW", "TH", "ID", "PH", "VN", "ZA", "NG", "KE",
    "EG", "IL", "AE", "SA", "AR", "CL", "CO", "PE", "NZ", "IE",
)  # fmt: skip


def phones(text: str) -> Iterator[Finding | None]:
    """Phone numbers; None, as the last, where there were more candidates than are looked up."""
    looked_up = 0
    for pattern in (_CANDIDATE, _PREFIXED):
        for match in pattern.finditer(text):
            written = match[0]
            digits = sum(char.isdigit() for char in written)
            if digits < 7 or digits > 16:
                continue
            looked_up += 1
            if looked_up > MOST_LOOKED_UP:
                yield None
                return
            if score := _score(text, match):
                start = match.start() + (written[0] == "(" and ")" not in written)
                yield Finding(PHONE, start, match.end(), score)


def _score(text: str, match: re.Match[str]) -> float:
    """The confidence that a run of digits is a phone number; 0 for certainly not."""
    written = match[0]
    bare = written.lstrip("( ")
    if bare.startswith(("+", "00")) or text.startswith("wa.me/", match.start() - 6):
        if _DECIMAL.fullmatch(written):
            return 0
        number = "+" + bare.lstrip("+0 ")
        return {2: 0.95, 1: 0.7}.get(_state(number, ""), 0) or 0
    if _DATE.match(written) or _ISBN.match(bare):
        return 0
    if names_a_thing(text, match.start()) or _COUNTED.match(text, match.end()):
        return 0
    words = around(text, *match.span(), _NEAR, _NEAR_AFTER)
    if _RANGE.fullmatch(written) and int(written[:5]) < int(written[6:]) and any_word(_RANGED).search(words):
        return 0
    length = sum(char.isdigit() for char in written)
    if any_word(_NAMED).search(words):
        return 0.9 if any(_state(bare, region) for region in _REGIONS) else 0
    enough = length >= _LEAST_UNNAMED
    if (enough or not written.isdigit()) and any_word(_CALLED).search(words):
        return 0.8 if any(_state(bare, region) == 2 for region in _REGIONS) else 0
    if written.isdigit() or not enough:
        return 0
    if _NORTH_AMERICAN.match(written):
        return 0.8 if _state(written, "US") == 2 else 0
    for form, regions in _FORMS:
        if form.match(written):
            return 0.7 if any(_state(written, region) == 2 for region in regions) else 0
    return 0


@lru_cache(maxsize=4096)
def _state(number: str, region: str) -> int:
    """2 for a number of the numbering plan, 1 for one with a length that it allows, else 0."""
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, region or None)
    except phonenumbers.NumberParseException:
        return 0
    if (
        phonenumbers.is_valid_number(parsed)
        if not region
        else phonenumbers.is_valid_number_for_region(parsed, region)
    ):
        return 2
    if not phonenumbers.is_possible_number(parsed):
        return 0
    return 1 if not region or region in ("US", "GB") else 0
