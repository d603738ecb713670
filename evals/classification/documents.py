"""Judge identity documents: German identity cards and passports, driving licences, passports, and machine-readable zones.

Run `python -m evals.classification.documents fit` or `judge`. Numbers are made at random with their check digits; the texts
of `judge` were written before the recogniser was, and looked at once.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from sb.base.classification import classify

_SLOT = re.compile(r"\[\[(\w+)\]\]")
_SERIAL = "CFGHJKLMNPRTVWXYZ0123456789"
_EACH = 5
_SECTIONS = re.findall(
    r"(?m)^# (\w+) (\w+)\n((?:(?!# ).*\n)*)",
    Path(__file__).with_name("documents.txt").read_text(encoding="utf-8"),
)
TEXTS, NOTHING = (
    {half: lines for kind, half, lines in _SECTIONS if kind == wanted} for wanted in ("numbers", "nothing")
)


def main(half: str) -> None:
    """Print the figures of one half."""
    random.seed(11)
    wanted = hits = raised = 0
    for line in filter(None, TEXTS[half].splitlines()):
        for _ in range(_EACH):
            text, spans = _made(line.replace("\\n", "\n"))
            found = {finding.span for finding in classify(text).findings if finding.label == "national_id"}
            near = {span for span in spans if any(abs(span[0] - a) + abs(span[1] - b) < 3 for a, b in found)}
            wanted, hits, raised = wanted + len(spans), hits + len(near), raised + len(found) - len(near)
            if near != set(spans) or len(found) != len(near):
                print(f"{text!r}: {[text[a:b] for a, b in found]}")
    lines = list(filter(None, NOTHING[half].splitlines()))
    alarms = [line for line in lines if classify(line.replace("\\n", "\n")).findings]
    print("\n".join(alarms))
    print(f"precision {hits / (hits + raised or 1):.3f} recall {hits / wanted:.3f} of {wanted}")
    print(f"false alarms {len(alarms)} of {len(lines)}")


def _made(line: str) -> tuple[str, list[tuple[int, int]]]:
    parts, spans, at = list[str](), list[tuple[int, int]](), 0
    end = 0
    for match in _SLOT.finditer(line):
        parts.append(line[end : match.start()])
        at += len(parts[-1])
        value = _MAKERS[match[1]]()
        spans.append((at, at + len(value)))
        parts.append(value)
        at += len(value)
        end = match.end()
    return "".join((*parts, line[end:])), spans


def checked(text: str) -> str:
    """The check digit of ICAO 9303, part 3: weights 7, 3, 1; letters count from 10, `<` is 0."""
    values = (0 if item == "<" else int(item, 36) for item in text)
    return str(sum(value * (7, 3, 1)[at % 3] for at, value in enumerate(values)) % 10)


def _of(form: str) -> Callable[[], str]:
    """Makes a value: 9 for a digit, A for a letter, anything else as it is."""

    def made() -> str:
        kinds: dict[str, Callable[[], str]] = {
            "9": lambda: random.choice("0123456789"),
            "A": lambda: random.choice("ABCDEFGHJKLMNPRSTUVWXYZ"),
        }
        return "".join(kinds[item]() if item in kinds else item for item in form)

    return made


def _serial(first: str) -> str:
    return (
        random.choice(first)
        + "".join(random.choices(_SERIAL, k=5))
        + "".join(random.choices("0123456789", k=3))
    )


def _de_licence() -> str:
    number = _of("A999")() + "".join(random.choices(_SERIAL, k=5))
    total = sum(int(item, 36) * weight for item, weight in zip(number, range(9, 0, -1), strict=True)) % 11
    return number + ("X" if total == 10 else str(total)) + random.choice("123")


def _mrz_passport() -> str:
    number, born, until = _of("A99999999")(), "740812", "320415"
    first = (
        number
        + checked(number)
        + "UTO"
        + born
        + checked(born)
        + "F"
        + until
        + checked(until)
        + "<" * 14
        + "0"
    )
    return first + checked(first[:10] + first[13:20] + first[21:43])


def _mrz_card() -> str:
    born, until = "640812", "311031"
    return (
        born + checked(born) + "M" + until + checked(until) + "D<<" + "<" * 11 + random.choice("0123456789")
    )


def _numbers(forms: str) -> Iterator[tuple[str, Callable[[], str]]]:
    for word in forms.split():
        name, _, form = word.partition("=")
        yield name, _of(form)


_MAKERS: dict[str, Callable[[], str]] = {
    "de_card": lambda: _serial("LMNPRTVWXY"),
    "de_card_checked": lambda: (made := _serial("LMNPRTVWXY")) + checked(made),
    "de_passport": lambda: _serial("CFGHJK"),
    "de_licence": _de_licence,
    "mrz_passport": _mrz_passport,
    "mrz_card": _mrz_card,
    **dict(
        _numbers(
            "us_passport=999999999 us_passport_letter=A99999999 gb_passport=999999999 fr_passport=99AA99999"
            " es_passport=AAA999999 it_passport=AA9999999 nl_passport=AA99999A9 us_licence=A9999999"
            " gb_licence=AAAAA999999AA9AA"
        )
    ),
}

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "fit")
