"""Identity documents of people: passports, identity cards and driving licences beside their names, machine-readable zones.

Source: ICAO 9303 part 3 (check digits) and parts 4 to 6 (zones); for German serials BSI TR-03105 and the Federal Motor
Transport Authority's rule for licences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sb.base.classification.findings import NATIONAL_ID, Finding
from sb.base.classification.words import any_word, before

_PASSPORT = (
    r"passport(?:[ _]?(?:number|no))?|reisepass(?:nummer|nr)?|pass-?(?:nr|nummer)|passeport|pasaporte|passaporto|paspoort(?:nummer)?"
    r"|passaporte|paszport\w*|паспорт\w*"
)
_CARD = (
    r"personalausweis\w*|ausweis(?:-?(?:nummer|nr))?|perso(?:-?(?:nummer|nr))?|identity card|id[ -]card|identit[äa]tskarte"
    r"|carte d'identit[ée]|documento de identidad|carta d'identit[àa]|identiteitskaart"
)
_LICENCE = (
    r"(?:driving|driver'?s?|driver) licen[cs]e|licen[cs]e (?:is|no|number)|driver number|dvla|f[üu]hrerschein(?:nummer|nr)?|fahrerlaubnis|permis de conduire"
    r"|carnet de conducir|patente di guida|rijbewijs\w*|prawo jazdy"
)
_HINTS = ("pass", "ausweis", "perso", "card", "carte", "carta", "kaart", "karte", "licen", "führ", "fuhr", "fahrer", "dvla",
          "driver", "permis", "carnet", "patente", "rijbew", "prawo", "pasap", "paspo", "pasz", "паспорт", "documento")  # fmt: skip
_TOKEN = re.compile(r"(?<![\w.\-/$€£])[A-Z0-9]{7,16}(?![\w/]|[.,\-]\d)")
_NEAR = 28  # characters between a document's name and its number
_BETWEEN = re.compile(r"[^.;!?]*$|\b(?:no|nr|n)\.[^.;!?]*$")
_ZONE = re.compile(
    r"(?<![A-Z0-9<])(?:[A-Z0-9<]{9}\d[A-Z<]{3}\d{7}[MFX<]\d{7}[A-Z0-9<]{7,14}[0-9<]?\d"
    r"|\d{7}[MFX<]\d{7}[A-Z<]{3}[A-Z0-9<]{11}\d|[AIC][A-Z<][A-Z<]{3}[A-Z0-9<]{9}[\d<][A-Z0-9<]{15})(?![A-Z0-9<])"
)
_DE_SERIAL = re.compile(r"[CFGHJKLMNPRTVWXY][CFGHJKLMNPRTVWXYZ0-9]{8}\d?")
_GB_LICENCE = re.compile(
    r"[A-Z9]{5}\d[0156]\d[0-3]\d{2}[A-Z9]{2}[A-Z0-9][A-Z]{2}|[A-Z]{5}\d{6}[A-Z9]{2}\d[A-Z]{2}"
)
_DE_LICENCE = re.compile(r"[A-Z0-9]{9}[0-9X][0-9A-Z]")


def documents(text: str) -> Iterator[Finding]:
    """Numbers of identity documents; those without a check digit only beside the document's name."""
    if "<" in text:
        for match in _ZONE.finditer(text):
            if _is_zone(match[0]):
                yield Finding(NATIONAL_ID, *match.span(), 0.97, "mrz")
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return
    for match in _TOKEN.finditer(text):
        words = before(text, match.start(), _NEAR + 20)
        for scheme, names, fits in _KINDS:
            named = list(any_word(names).finditer(words))
            if named and len(words) - named[-1].end() <= _NEAR and fits(match[0]):
                yield Finding(NATIONAL_ID, *match.span(), 0.9, scheme)
                break


def check_digit(text: str) -> int:
    """The check digit of ICAO 9303 part 3, 4.9: weights 7, 3, 1; letters count from 10, ``<`` is 0."""
    values = (0 if item == "<" else int(item, 36) for item in text)
    return sum(value * (7, 3, 1)[at % 3] for at, value in enumerate(values)) % 10


def _is_checked(part: str, digit: str) -> bool:
    return digit.isdigit() and check_digit(part) == int(digit)


def _is_zone(line: str) -> bool:
    """True if a line of a machine-readable zone has right check digits."""
    if line[0].isdigit() and len(line) == 30:  # the second line of a card
        return _is_checked(line[:6], line[6]) and _is_checked(line[8:14], line[14])
    if len(line) in (36, 44):  # the second line of a passport or a visa
        return (
            _is_checked(line[:9], line[9])
            and _is_checked(line[13:19], line[19])
            and _is_checked(line[21:27], line[27])
        )
    return len(line) == 30 and _is_checked(line[5:14], line[14])  # the first line of a card


def _is_passport(value: str) -> bool:
    if _DE_SERIAL.fullmatch(value) and len(value) == 10:
        return _is_checked(value[:9], value[9])
    digits = sum(map(str.isdigit, value))
    if len(value) == 9 and _DE_SERIAL.fullmatch(value):
        return digits >= 3
    return (
        7 <= len(value) <= 10
        and digits >= 4
        and len(set(value)) > 2
        and (digits < len(value) or len(value) > 7)
    )


def _is_card(value: str) -> bool:
    if not _DE_SERIAL.fullmatch(value) or sum(map(str.isdigit, value)) < 3:
        return False
    return len(value) == 9 or _is_checked(value[:9], value[9])


def _is_licence(value: str) -> bool:
    if _GB_LICENCE.fullmatch(value):
        return True
    if len(value) == 11 and _DE_LICENCE.fullmatch(value):
        total = sum(int(item, 36) * weight for item, weight in zip(value, range(9, 0, -1), strict=False)) % 11
        return value[9] == ("X" if total == 10 else str(total))
    digits = sum(map(str.isdigit, value))
    return 7 <= len(value) <= 14 and digits >= 6 and len(set(value)) > 2


_KINDS: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
    ("passport", _PASSPORT, _is_passport),
    ("identity_card", _CARD, _is_card),
    ("driving_licence", _LICENCE, _is_licence),
)
