"""Judge identity documents: German identity cards and passports, driving licences, passports, and machine-readable zones.

Run `python -m evals.classification.documents fit` or `judge`. Numbers are made at random with their check digits; the texts
of `judge` were written before the recogniser was, and looked at once.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator

from sb.base.classification import classify

_SLOT = re.compile(r"\[\[(\w+)\]\]")
_SERIAL = "CFGHJKLMNPRTVWXYZ0123456789"
_EACH = 5
TEXTS = {
    "fit": """
Personalausweis: [[de_card]]
Ausweisnummer [[de_card_checked]], gültig bis 2031
her identity card has the number [[de_card]]
Reisepass Nr. [[de_passport]] liegt bei
my passport number is [[us_passport]]
Passport: [[gb_passport]], issued in Leeds
passeport n° [[fr_passport]]
driving licence [[gb_licence]]
Führerschein [[de_licence]] der Klasse B
driver's license number: [[us_licence]]
[[mrz_passport]]
scan says [[mrz_card]] on the back
{"passport_no": "[[us_passport]]", "country": "US"}
pasaporte [[es_passport]] de Lucía
""",
    "judge": """
Die Perso-Nummer von Frau Braun lautet [[de_card]].
Personalausweisnummer: [[de_card_checked]]
Ausweis-Nr.: [[de_card]] / ausgestellt in Bonn
ID card no. [[de_card_checked]] (Germany)
Reisepassnummer [[de_passport]]
Pass-Nr. [[de_passport]], Stadt Köln
He lost his passport ([[us_passport]]) in Rome
Passport No: [[us_passport_letter]]
UK passport [[gb_passport]] expires in May
passport_number=[[gb_passport]]
Numéro de passeport : [[fr_passport]]
número de pasaporte [[es_passport]]
passaporto n. [[it_passport]]
paspoortnummer [[nl_passport]]
DVLA driver number [[gb_licence]]
her licence is [[gb_licence]], from 2019
Führerscheinnummer: [[de_licence]]
Fahrerlaubnis [[de_licence]] vom Landratsamt
California driver license [[us_licence]]
driving license no [[us_licence]] on file
P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\\n[[mrz_passport]]
MRZ: [[mrz_passport]]
[[mrz_card]]
| name | passport | \\n | Grace | [[us_passport]] |
""",
}
NOTHING = {
    "fit": """
the passport office opens at 0900 and closes at 1700
passport.js 0.7.0 was released, commit 8f3e21a
Der Personalausweis ist vom 12.03.2021
pass the number 123456789 to the function
driver version 535.104.05 is installed
a driving licence costs 43.40 euros since 2024
order L01X00T47 was shipped
the ID card printer HID1500 is broken
passport photos are 35 x 45 mm, 600 dpi
""",
    "judge": """
Passport strategy OAuth2 v1.7.0 needs node 18
the passport scheme began in 2004, with 27000 people
Ausweispflicht gilt seit dem 01.11.2010
ID card readers of the series ACR122U are in room 4012
her driver (nvidia 550.54.14) crashed
licence GPL-3.0-or-later, copyright 2019-2024
driver license costs $38.00 in 2025, see page 112
a driving test takes 40 minutes; call after 10:30
Reisepass: siehe Anlage 3, Seite 17
license key XK4T2-99PLM-20231 of the editor
software license 20240117-A was renewed
passport control took 45 minutes at gate B42
if (a<b && b<<2) return 0x1F << 24;
<<<<<<< HEAD 1234567 ======= >>>>>>> 89abcdef
the driver's log: 2024-05-01 120000 km
pass -n 123456789 to skip the header
identity card design 2.0 of 1 August 2021
""",
}


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
