"""The labelled corpus of classification: texts with the values in them, made from `dev.txt` and `held_out.txt`."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import phonenumbers

_HERE = Path(__file__).parent
_SLOT = re.compile(r"\[\[([a-z_]+)([|:])([^\]]+)\]\]")
_EACH = 6  # texts made of a line that has something generated
_BANKS = {"DE": "9" * 18, "FR": "9" * 10 + "A" + "9" * 12, "GB": "AAAA" + "9" * 14, "AT": "9" * 16, "NL": "AAAA" + "9" * 10,
          "ES": "9" * 20, "IT": "A" + "9" * 10 + "9" * 12, "CH": "9" * 17, "BE": "9" * 12, "NO": "9" * 11, "PL": "9" * 24,
          "SE": "9" * 20, "MT": "AAAA" + "9" * 5 + "A" * 18, "BR": "9" * 23 + "A9", "SA": "9" * 20, "PT": "9" * 21,
          "TR": "9" * 22, "LU": "9" * 16, "IE": "AAAA" + "9" * 14, "FI": "9" * 14}  # fmt: skip
_CARDS = {"visa": ("4", 16), "mastercard": ("53", 16), "amex": ("37", 15), "unionpay": ("62", 16), "discover": ("6011", 16),
          "maestro": ("6759", 16), "jcb": ("3530", 16), "diners": ("36", 14), "mastercard2": ("2223", 16)}  # fmt: skip
_PEOPLE = (
    "anna",
    "j.smith",
    "mehmet-yilmaz",
    "lucia_perez",
    "o.connor",
    "k8n",
    "wei.zhang",
    "support",
    "r2d2",
    "fatima.z",
)
_HOSTS = (
    "corp-mail",
    "gmail",
    "posteo",
    "acme-labs",
    "uni-bonn",
    "kpn",
    "orange",
    "mailbox",
    "northwind",
    "blueriver",
)
_TOPS = ("com", "org", "de", "co.uk", "fr", "io", "net", "com.br", "jp", "museum")


@dataclass(frozen=True)
class Text:
    """A text, and the values that it holds: label, start, end."""

    text: str
    spans: tuple[tuple[str, int, int], ...]


@cache
def texts(name: str, seed: int = 7) -> tuple[Text, ...]:
    """The texts of one half, `dev` or `held_out`; the same for the same seed."""
    draw = random.Random(f"{name} {seed}")
    lines = (_HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(
        _filled(line, draw)
        for line in lines
        if line and not line.startswith("# ")
        for _ in range(_EACH if re.search(r"\[\[[a-z_]+:", line) else 1)
    )


def _filled(line: str, draw: random.Random) -> Text:
    text, spans, end = "", [], 0
    for match in _SLOT.finditer(line):
        text += line[end : match.start()]
        value = match[3] if match[2] == "|" else _made(match[1], match[3].split(" ", 1), draw)
        if match[1] != "nothing":
            spans.append((match[1], len(text), len(text) + len(value)))
        text, end = text + value, match.end()
    return Text(text + line[end:], tuple(spans))


def _made(label: str, arguments: list[str], draw: random.Random) -> str:
    makers: dict[str, Callable[[list[str], random.Random], str]] = {
        "email": _email, "ip_address": _ip, "card": _card, "iban": _iban, "phone": _phone, "national_id": _national_id,
        "nothing": _look_alike,
    }  # fmt: skip
    return makers[label](arguments, draw)


def _email(arguments: list[str], draw: random.Random) -> str:
    who, host, top = draw.choice(_PEOPLE), draw.choice(_HOSTS), draw.choice(_TOPS)
    forms = {
        "plain": f"{who}@{host}.{top}",
        "tagged": f"{who}+{draw.randrange(99)}@{host}.{top}",
        "sub": f"{who}@mx{draw.randrange(9)}.{host}.{top}",
        "upper": f"{who}@{host}.{top}".upper(),
        "encoded": f"{who}%40{host}.{top}",
        "brackets": f"{who} [at] {host} [dot] {top.split('.')[-1]}",
        "round": f"{who} (at) {host}.{top}",
        "capitals": f"{who} AT {host} DOT {top.split('.')[-1]}",
        "quoted": f'"{who} x"@{host}.{top}',
        "odd": f"{who}!x#1@{host}.{top}",
        "wide": f"{who}\uff20{host}.{top}",
        "idn": f"jürgen.{who}@{host}-köln.{top}",
    }
    return forms[arguments[0]]


def _ip(arguments: list[str], draw: random.Random) -> str:
    if arguments[0] == "v4":
        first = draw.choice([10, 172, 192, *range(11, 100), *range(128, 223)])
        return f"{first}.{draw.randrange(256)}.{draw.randrange(256)}.{draw.randrange(1, 255)}"
    groups = [f"{draw.randrange(0x1000, 0xFFFF):x}" for _ in range(8)]
    start = draw.choice(["2001", "2a00", "fe80", "fd12"])
    forms = {
        "v6": f"{start}:{groups[0]}::{groups[1]}:{groups[2]}",
        "v6full": ":".join([start, *groups[1:]]),
        "v6upper": f"{start}:{groups[0]}:{groups[1]}::{groups[2]}".upper(),
        "mapped": f"::ffff:{draw.randrange(11, 99)}.{draw.randrange(256)}.7.{draw.randrange(1, 255)}",
    }
    return forms[arguments[0]]


def _card(arguments: list[str], draw: random.Random) -> str:
    brand, form = arguments[0].split(" ")[0], arguments[1]
    prefix, length = _CARDS[brand]
    digits = prefix + "".join(draw.choice(string.digits) for _ in range(length - 1 - len(prefix)))
    total = sum(sum(divmod(int(digit) * (2 - at % 2), 10)) for at, digit in enumerate(reversed(digits)))
    digits += str(-total % 10)
    if form == "plain":
        return digits
    sizes = {15: (4, 6, 5), 14: (4, 6, 4)}.get(length, (4,) * (length // 4))
    sign = {"dash": "-", "dots": ".", "nbsp": "\u00a0", "endash": "\u2013"}.get(form, " ")
    return sign.join(_cut(digits, sizes))


def _cut(text: str, sizes: tuple[int, ...]) -> Iterator[str]:
    for size in sizes:
        yield text[:size]
        text = text[size:]


def _iban(arguments: list[str], draw: random.Random) -> str:
    country, form = arguments
    account = "".join(
        draw.choice(string.digits if bank == "9" else string.ascii_uppercase) for bank in _BANKS[country]
    )
    number = int("".join(str(int(item, 36)) for item in account + country + "00"))
    iban = f"{country}{98 - number % 97:02}{account}"
    if form == "lower":
        return iban.lower()
    sign = {"spaced": " ", "dash": "-", "nbsp": "\u00a0"}.get(form, "")
    return sign.join(iban[at : at + 4] for at in range(0, len(iban), 4))


def _phone(arguments: list[str], draw: random.Random) -> str:
    region, form = arguments
    kinds = (phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE)
    example = phonenumbers.example_number_for_type(region, draw.choice(kinds))
    if example is None:
        raise ValueError(f"no number of {region}")
    number = phonenumbers.PhoneNumber()
    number.merge_from(example)
    for _ in range(200):
        keep = len(str(example.national_number)) - 5
        number.national_number = int(str(example.national_number)[:keep] + f"{draw.randrange(10**5):05}")
        if phonenumbers.is_valid_number(number):
            break
    formats = phonenumbers.PhoneNumberFormat
    bare = phonenumbers.format_number(number, formats.E164)
    digits = str(number.national_number)
    forms = {
        "e164": bare,
        "bare": bare[1:],
        "zeros": f"00{bare[1:]}",
        "intl": phonenumbers.format_number(number, formats.INTERNATIONAL),
        "national": phonenumbers.format_number(number, formats.NATIONAL),
        "rfc": phonenumbers.format_number(number, formats.RFC3966).removeprefix("tel:"),
        "paren": f"({digits[:3]}) {digits[3:6]}-{digits[6:]}",
        "dots": f"{digits[:3]}.{digits[3:6]}.{digits[6:]}",
        "one": f"1-{digits[:3]}-{digits[3:6]}-{digits[6:]}",
        "slash": f"0{digits[:3]}/{digits[3:]}",
        "zero": f"+{number.country_code} (0) {digits[:3]} {digits[3:]}",
        "nbsp": phonenumbers.format_number(number, formats.INTERNATIONAL).replace(" ", "\u00a0"),
        "plain": digits,
    }
    return forms[form]


def _national_id(arguments: list[str], draw: random.Random) -> str:
    """A number of that form that its checker accepts; 9 and A are drawn, other characters stand for themselves."""
    is_valid = import_module(f"stdnum.{arguments[0]}").is_valid
    for _ in range(200_000):
        value = re.sub("9", lambda _: draw.choice(string.digits), arguments[1])
        value = re.sub("A", lambda _: draw.choice(string.ascii_uppercase), value)
        closed = value.replace(" ", "")
        if len(set(value)) > 3 and (is_valid(value) or (closed != value and is_valid(closed))):
            return value
    raise ValueError(f"no number of {arguments[0]} has the form {arguments[1]}")


def _look_alike(arguments: list[str], draw: random.Random) -> str:
    """A form with random digits for 9, letters for A and hexadecimal digits for X."""
    value = re.sub("9", lambda _: draw.choice(string.digits), " ".join(arguments))
    value = re.sub("A", lambda _: draw.choice(string.ascii_uppercase), value)
    return re.sub("X", lambda _: draw.choice("0123456789abcdef"), value)
