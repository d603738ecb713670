"""National ids of people, by form and check digits; where these are weak, words beside the number have to name it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module

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
    """One country's number.

    Args:
        check: the module of stdnum that checks it, or one of the functions below.
        alone: forms that need no words beside them, 9 for a digit and A for a letter. named: those that do.
        words: what it is called, as an expression in lower case.
    """

    name: str
    check: str
    alone: tuple[str, ...]
    named: tuple[str, ...]
    words: str


def _scheme(name: str, check: str, alone: str, named: str, words: str) -> _Scheme:
    return _Scheme(
        name, check, tuple(alone.split("|") if alone else ()), tuple(named.split("|") if named else ()), words
    )


_N8, _N9, _N10, _N11, _N12, _N13 = ("9" * length for length in range(8, 14))
_SCHEMES = (
    _scheme("us_ssn", "us.ssn", "999-99-9999", f"{_N9}|999 99 9999|999.99.9999", r"ssn|social(?: security)?|soc sec"),
    _scheme("us_itin", "us.itin", "999-99-9999", f"{_N9}|999 99 9999", r"itin|taxpayer"),
    _scheme("gb_nino", "_gb_nino", "AA999999A|AA 99 99 99 A|AA 999999 A|AA-99-99-99-A", "", r"nino|ni number"),
    _scheme("gb_nhs", "gb.nhs", "", f"{_N10}|999 999 9999|999-999-9999", r"nhs"),
    _scheme("ca_sin", "ca.sin", "", f"{_N9}|999 999 999|999-999-999", r"sin|nas|social insurance"),
    _scheme("de_tax", "de.idnr", "", f"{_N11}|99 999 999 999|99/999/999/999", r"steuer\S*|idnr|tin|steuerliche"),
    _scheme("de_pension", "_de_pension", "99999999A999|99 999999 A 999", "", r"rentenversicherung\S*|sozialversicherung\S*"),
    _scheme("fr_nir", "fr.nir", f"9 99 99 99 999 999 99|{'9' * 15}|{_N13} 99|9 99 99 9A 999 999 99|999999A99999999|9.99.99.99.999.999.99|9-99-99-99-999-999-99", "", r"nir|s[ée]curit[ée] sociale|insee"),
    _scheme("es_dni", "es.dni", f"{_N8}A|{_N8}-A|99.999.999-A|{_N8} A", "", r"dni|nif"),
    _scheme("es_nie", "es.nie", "A9999999A|A-9999999-A|A9999999-A", "", r"nie"),
    _scheme("it_cf", "it.codicefiscale", "AAAAAA99A99A999A|AAA AAA 99A99 A999A", "", r"codice fiscale"),
    _scheme("nl_bsn", "nl.bsn", "", f"{_N9}|9999.99.999|999 999 999|{_N8}|9999 99 999", r"bsn|burgerservicenummer|sofi\S*"),
    _scheme("be_nn", "be.nn", "99.99.99-999.99|99.99.99-999-99", f"{_N11}|99 99 99 999 99", r"rijksregister\S*|nationa\S*|insz|niss|registre"),
    _scheme("se_personnummer", "se.personnummer", "99999999-9999|999999+9999", f"999999-9999|{_N10}|{_N12}", r"personnummer|personnr|personal number"),
    _scheme("fi_hetu", "fi.hetu", "999999-9999|999999-999A|999999A999A|999999A9999|999999+999A|999999+9999", "", r"hetu|henkil\S*"),
    _scheme("no_fnr", "no.fodselsnummer", "999999 99999", _N11, r"f[øo]dselsnummer|fnr|personnummer|d-nummer"),
    _scheme("dk_cpr", "dk.cpr", "", f"999999-9999|{_N10}|999999 9999", r"cpr\S*|personnummer"),
    _scheme("is_kt", "is_.kennitala", "", f"999999-9999|{_N10}", r"kennitala|kt"),
    _scheme("pl_pesel", "pl.pesel", "", _N11, r"pesel\S*"),
    _scheme("cz_rc", "cz.rc", "999999/9999|999999/999", f"{_N10}|{_N9}", r"rodn[ée]\S*|birth number|rč|rc"),
    _scheme("ro_cnp", "ro.cnp", "", _N13, r"cnp\S*|numeric personal"),
    _scheme("bg_egn", "bg.egn", "", _N10, r"egn|егн"),
    _scheme("hr_oib", "hr.oib", "", _N11, r"oib\S*"),
    _scheme("si_emso", "si.emso", "", _N13, r"em[šs]o|jmbg|матични|јмбг"),
    _scheme("ee_ik", "ee.ik", "", _N11, r"isikukood\S*|personal code"),
    _scheme("lt_ak", "lt.asmens", "", _N11, r"asmens\S*|personal code"),
    _scheme("lv_pk", "_lv_pk", "", f"999999-99999|{_N11}", r"personas\S*|personal code"),
    _scheme("gr_amka", "gr.amka", "", _N11, r"amka|αμκα"),
    _scheme("pt_nif", "pt.nif", "", f"{_N9}|999 999 999", r"nif|contribuinte"),
    _scheme("pt_cc", "pt.cc", "", "999999999AA9|99999999 9 AA9|99999999-9-AA9", r"cart[ãa]o de cidad\S*|cc"),
    _scheme("ie_pps", "ie.pps", "9999999AA", "9999999A", r"pps\S*|personal public"),
    _scheme("at_vnr", "at.vnr", "", f"9999 999999|{_N10}|9999-999999", r"svnr|sv-nummer|sozialversicherung\S*|versicherungsnummer"),
    _scheme("ch_ahv", "ch.ssn", f"999.9999.9999.99|{_N13}|999 9999 9999 99", "", r"ahv\S*|avs"),
    _scheme("tr_tckn", "tr.tckimlik", "", f"{_N11}|999 999 999 99", r"t\.?c\.?|kimlik\S*|tckn"),
    _scheme("il_id", "il.idnr", "", f"{_N9}|{_N8}-9|9-{_N8[:-1]}-9", r"teudat\S*|israeli?|mispar zehut|ת\"ז|תז"),
    _scheme("in_aadhaar", "in_.aadhaar", "9999 9999 9999|9999-9999-9999", _N12, r"aadhaa?r|uidai|uid"),
    _scheme("in_pan", "in_.pan", "AAAAA9999A", "", r"pan"),
    _scheme("cn_ric", "cn.ric", f"{'9' * 18}|{'9' * 17}A", "", r"身份证\S*|resident"),
    _scheme("jp_mynumber", "jp.in_", "", f"{_N12}|9999 9999 9999|9999-9999-9999", r"my number|マイナンバー\S*|個人番号\S*"),
    _scheme("kr_rrn", "kr.rrn", "999999-9999999", _N13, r"rrn|주민\S*|resident"),
    _scheme("tw_id", "_tw_id", "", "A999999999", r"taiwan\w*|身分證\S*|統一編號"),
    _scheme("hk_id", "_hk_id", "A999999(9)|A999999(A)|AA999999(9)", "A9999999|A999999A", r"hkid|hong kong"),
    _scheme("sg_nric", "_sg_nric", "A9999999A", "", r"nric|fin"),
    _scheme("my_nric", "my.nric", "999999-99-9999", _N12, r"mykad|nric|ic|kad pengenalan"),
    _scheme("th_pin", "th.pin", "9-9999-99999-99-9|9 9999 99999 99 9", _N13, r"thai\w*|บัตร\S*|เลข\S*"),
    _scheme("id_nik", "id.nik", "", "9" * 16, r"nik|ktp"),
    _scheme("pk_cnic", "pk.cnic", "99999-9999999-9", _N13, r"cnic|nadra"),
    _scheme("au_tfn", "au.tfn", "", f"{_N9}|{_N8}|999 999 999|99 999 999", r"tfn|tax file"),
    _scheme("au_medicare", "_au_medicare", "", f"{_N10}|9999 99999 9|9999-99999-9", r"medicare"),
    _scheme("nz_ird", "nz.ird", "", f"{_N9}|{_N8}|999-999-999|99-999-999", r"ird"),
    _scheme("br_cpf", "br.cpf", "999.999.999-99", f"{_N11}|999 999 999 99|999999999-99", r"cpf|cadastro"),
    _scheme("mx_curp", "mx.curp", "AAAA999999AAAAAA99|AAAA999999AAAAAAA9|AAAA999999AAAAAA9A", "", r"curp"),
    _scheme("mx_rfc", "mx.rfc", "", "AAAA999999AAA|AAAA999999AA9|AAAA999999A99|AAAA9999999A9|AAAA999999999|AAAA9999999AA|AAAA99999999A|AAAA999999A9A", r"rfc"),
    _scheme("ar_cuit", "ar.cuit", "99-99999999-9", _N11, r"cuit|cuil"),
    _scheme("ar_dni", "ar.dni", "", "99.999.999|9.999.999|99999999", r"dni|documento"),
    _scheme("cl_rut", "cl.rut", "99.999.999-9|99.999.999-A|9.999.999-9|9.999.999-A", f"{_N8}-9|{_N8}-A|9999999-9|9999999-A", r"rut|run"),
    _scheme("pe_cui", "pe.cui", "", f"{_N8}-9|{_N8}-A|{_N9}|99999999", r"dni|cui"),
    _scheme("ec_ci", "ec.ci", "", f"{_N10}|999999999-9", r"c[ée]dula|ecuador\w*"),
    _scheme("do_cedula", "do.cedula", "", f"999-9999999-9|{_N11}", r"c[ée]dula"),
    _scheme("za_id", "za.idnr", "999999 9999 99 9", f"{_N13}|999999 9999 999", r"id|south africa\w*|rsa id|sa id"),
    _scheme("ru_snils", "_ru_snils", "999-999-999 99|999-999-999-99", _N11, r"snils|снилс"),
    _scheme("ru_inn", "ru.inn", "", _N12, r"inn|инн"),
    _scheme("ua_rntrc", "ua.rntrc", "", _N10, r"рнокпп|rntrc|tax number|іпн"),
    _scheme("eg_nid", "eg.tn", "", "999-999-999", r"egypt\w*"),
)  # fmt: skip
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
