"""National ids of people, by form and check digits; where these are weak, words beside the number have to name it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module

from sb.base.classification import tables
from sb.base.classification.findings import NATIONAL_ID, Finding
from sb.base.classification.words import any_word, around, names_a_thing
from sb.base.values.frozen import frozen

_COMMON = (
    r"national (?:id|insurance|identification|identity)\w*|identity (?:card|number|no|code)|id (?:card|number|no)|national number"
    r"|personal (?:id|number|code|identity|identification)\w*|citizen\w*|tax(?:payer)? (?:id|number|no|file|identification)\w*"
    r"|fiscal (?:code|number|id)|identification (?:number|no|code)|social (?:security|insurance)|resident (?:id|registration)"
    r"|ssn|tin|nin|national_id|tax_id|id_number"
)


@frozen
class _Scheme:
    """One country's number, as `tables.yaml` describes it."""

    name: str
    check: str
    words: str
    alone: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


_SCHEMES = tuple(_Scheme(name, **fields) for name, fields in tables.NATIONAL_IDS.items())
_BY_FORM: dict[str, list[tuple[_Scheme, bool]]] = {}  # and whether the form needs words
for _one in _SCHEMES:
    for _form in _one.alone:
        _BY_FORM.setdefault(_form, []).append((_one, False))
    for _form in _one.named:
        _BY_FORM.setdefault(_form, []).append((_one, True))
_FORM_OF = str.maketrans(
    {
        **dict.fromkeys("0123456789", "9"),
        **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "A"),
    }
)
_TOKEN = re.compile(
    r"(?<![\w.\-/])(?=[A-Za-z.\-]{0,6}\d)[0-9A-Za-z](?:[.\-/+]?[0-9A-Za-z]){6,24}(?:\([0-9A]\))?(?![\w(])"
)
_SPACED = re.compile(
    r"(?<![\w.,\-/])(?:[A-Z]{2,6} ){0,2}\d[\dA-Z.\-]{0,16}(?: [\dA-Z]{1,13}(?![a-z])){1,6}(?![\w(]|[.\-]\d)"
)
_SEPARATORS = re.compile(r"[ .\-/()+]")
_SIGNED = ("se_personnummer", "fi_hetu")  # whose separator says the century
_MOST_GROUPS = 7


def national_ids(text: str) -> Iterator[Finding]:
    """Numbers of people whose form and check digits are a country's."""
    for match in _TOKEN.finditer(text):
        yield from _of(text, *match.span())
    if " " in text:
        for match in _SPACED.finditer(text):
            yield from _windows(text, *match.span())


def _windows(text: str, start: int, end: int) -> Iterator[Finding]:
    """The longest runs of groups, separated by spaces, that are a number."""
    starts = [start, *(at + 1 for at in range(start, end) if text[at] == " ")]
    ends = [*(at - 1 for at in starts[1:]), end]
    first = 0
    while first < len(starts):
        for last in range(min(len(ends), first + _MOST_GROUPS) - 1, first, -1):
            if found := next(_of(text, starts[first], ends[last]), None):
                yield found
                first = last
                break
        first += 1


def _of(text: str, start: int, end: int) -> Iterator[Finding]:
    """The number in a span, at most one."""
    schemes = _BY_FORM.get(text[start:end].translate(_FORM_OF))
    if schemes is None:
        return
    value = text[start:end]
    words = around(text, start, end)
    thing = names_a_thing(text, start)
    guessed: Finding | None = None
    for scheme, needs_words in schemes:
        named = any_word(scheme.words).search(words) is not None
        common = named or any_word(_COMMON).search(words) is not None
        if not named and ((needs_words and not common) or (thing and not common) or guessed):
            continue
        if (
            not named
            and not value.isupper()
            and not value.replace(" ", "").isdigit()
            and value != value.upper()
        ):
            continue
        if _is_valid(scheme, value):
            found = Finding(NATIONAL_ID, start, end, 0.97 if named else 0.9, scheme.name)
            if named:
                yield found
                return
            guessed = found
    if guessed:
        yield guessed


def _is_valid(scheme: _Scheme, value: str) -> bool:
    digits = value.upper() if scheme.name in _SIGNED else _SEPARATORS.sub("", value).upper()
    if len(set(digits)) < 3:
        return False
    return _check(scheme.check)(digits)


@cache
def _check(name: str) -> Callable[[str], bool]:
    """The function that checks one country's numbers; loaded when a text has one of that form."""
    if name.startswith("_"):
        function: Callable[[str], bool] = globals()[name]
        return function
    valid: Callable[[str], bool] = import_module(f"stdnum.{name}").is_valid
    return valid


def _gb_nino(value: str) -> bool:
    """No check digit: prefixes that are never given out (HMRC, National Insurance Manual NIM39110)."""
    return value[:2] not in ("BG", "GB", "NK", "KN", "TN", "NT", "ZZ") and bool(
        re.fullmatch(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]|QQ\d{6}[A-D]", value)
    )


def _de_pension(value: str) -> bool:
    """Check digit of the insurance number (VKVV, section 2): digits weighted, their digits summed, modulo 10."""
    digits = value[:8] + f"{ord(value[8]) - 64:02}" + value[9:11]
    weighted = (
        int(digit) * weight
        for digit, weight in zip(digits, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=True)
    )
    return sum(number // 10 + number % 10 for number in weighted) % 10 == int(value[11])


def _lv_pk(value: str) -> bool:
    """Latvia's code: of those with a date of birth the last digit checks the others; newer ones begin with 32."""
    if value.startswith("32"):
        return True
    weights = (1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return (1101 - sum(int(item) * weight for item, weight in zip(value, weights, strict=False))) % 11 == int(
        value[10]
    )


def _tw_id(value: str) -> bool:
    """Taiwan's id: a letter that stands for two digits, then nine digits."""
    order = "ABCDEFGHJKLMNPQRSTUVXYWZIO".index(value[0]) + 10
    digits = (order // 10, order % 10, *map(int, value[1:]))
    return (
        sum(digit * weight for digit, weight in zip(digits, (1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1), strict=True))
        % 10
        == 0
    )


def _hk_id(value: str) -> bool:
    """Hong Kong's identity card: letters count from 10, a missing first one 36; modulo 11."""
    known = [36] * (9 - len(value)) + [int(item, 36) for item in value[:-1]]
    last = 10 if value[-1] == "A" else int(value[-1], 36)
    return (
        sum(number * weight for number, weight in zip(known, range(9, 1, -1), strict=True)) + last
    ) % 11 == 0


def _sg_nric(value: str) -> bool:
    """Singapore's NRIC and FIN: seven digits weighted, and a table of letters for each series."""
    tables = {
        "S": (0, "JZIHGFEDCBA"),
        "T": (4, "JZIHGFEDCBA"),
        "F": (0, "XWUTRQPNMLK"),
        "G": (4, "XWUTRQPNMLK"),
    }
    if value[0] not in tables:
        return False
    offset, letters = tables[value[0]]
    total = offset + sum(
        int(item) * weight for item, weight in zip(value[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True)
    )
    return letters[total % 11] == value[8]


def _au_medicare(value: str) -> bool:
    """Medicare card number: the ninth digit checks the first eight; modulo 10."""
    weights = (1, 3, 7, 9, 1, 3, 7, 9)
    total = sum(int(item) * weight for item, weight in zip(value, weights, strict=False))
    return value[0] in "23456" and total % 10 == int(value[8])


def _ru_snils(value: str) -> bool:
    """Russia's insurance number: nine digits weighted, modulo 101."""
    total = sum(int(item) * (9 - at) for at, item in enumerate(value[:9])) % 101
    return total % 100 == int(value[9:])
