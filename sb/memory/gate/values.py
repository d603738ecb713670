"""The values in a text: numbers, dates, names and negations, and the words without them.

Two texts with other values never say the same, however alike their words are. What is no value by its form (a lower-case
name of a tool) is compared as a word, by `sb.memory.gate.likeness`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import NamedTuple

from sb.memory.ranking.terms import MONTHS, STOP_WORDS, stem

MOST_CHARACTERS = 20_000  # of a text, as ranking counts

_PLAIN_KEPT = 16_384  # tokens of which it is known whether they are plain words

_MONTHS = {name: f"month {number}" for number, name in enumerate(MONTHS, 1)}
_MONTHS |= {name[:3]: value for name, value in _MONTHS.items()} | {"sept": "month 9"}
_DAYS = {}
for _number, _name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split(), 1):
    for _short in (_name, _name + "s", _name[:3]):
        _DAYS[_short] = f"weekday {_number}"
_RELATIVE = frozenset("yesterday today tonight tomorrow".split())
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6}
_NUMBERS = {name: str(number) for number, name in enumerate(_SMALL)}
_NUMBERS |= {name: f"{number}0" for number, name in enumerate(_TENS, 2)}
_NUMBERS |= {name: str(number) for name, number in _SCALES.items()}
_NUMBERS |= {"twice": "2", "double": "2", "thrice": "3", "triple": "3", "half": "0.5"}
_ORDINALS = {
    name: number
    for number, name in enumerate("third fourth fifth sixth seventh eighth ninth tenth".split(), 3)
}
_ORDINALS |= {"first": 1, "1st": 1, "2nd": 2, "3rd": 3}
_UNITS = {}
for _unit, _names in {
    "ms": "ms msec millisecond milliseconds",
    "us": "us \N{MICRO SIGN}s microsecond microseconds",
    "s": "s sec secs second seconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "d": "d day days",
    "week": "week weeks",
    "month": "month months",
    "year": "y yr year years",
    "%": "% percent",
    "B": "b byte bytes",
    "KB": "kb kib kilobyte kilobytes",
    "MB": "mb mib megabyte megabytes",
    "GB": "gb gib gigabyte gigabytes",
    "TB": "tb tib terabyte terabytes",
    "$": "$ dollar dollars usd",
    "€": "€ euro euros eur",
    "£": "£ pound pounds gbp",
    "km": "km kilometer kilometers kilometre kilometres",
    "mile": "mile miles",
    "m": "m meter meters metre metres",
    "kg": "kg kilo kilos kilogram kilograms",
    "x": "x times",
}.items():
    for _name in _names.split():
        _UNITS[_name] = _unit
_TIME_UNITS = frozenset("second minute hour day week month year".split())
_PER = frozenset("a an per each every".split())
_NEGATIONS = frozenset(
    "not no never none nobody nothing nowhere neither without cannot cant dont doesnt didnt isnt arent wasnt werent wont"
    " wouldnt shouldnt couldnt hasnt havent hadnt mustnt aint nor hardly avoid avoids lacks lack"
    " only solely exclusively nicht kein keine keinen keinem keiner nie niemals ohne pas jamais sans aucun aucune nunca sin".split()
)
_OPPOSITE_WORDS = """
    allow,permit,let/forbid,deny,refuse,ban,prohibit,block|enable,on/disable,off|before/after|always/never|more/less,fewer
    increase,rise,grow,raise/decrease,fall,drop,shrink,lower,reduce|true/false|open/close,shut|start,begin/stop,end
    minimum,least/maximum,most|first/last|left/right|up/down|add/remove,delete,drop|accept/reject,decline|include/exclude
    required,mandatory/optional|pass,succeed/fail|success/failure|public/private|above,over/below,under|love,like,enjoy/hate,dislike
    early/late|fast,quick/slow|ascending/descending|with/without|online/offline|internal/external|buy/sell|win/lose
    encrypt/decrypt|lock/unlock|hide/show|safe/dangerous,unsafe|valid/invalid|visible/invisible,hidden|same/different
    upper/lower|synchronous/asynchronous|married/divorced|arrive/leave|import/export|push/pull|oldest/newest|north/south
    east/west|longer/shorter|larger,bigger/smaller|cheap/expensive|hot/cold|morning/evening|keep/discard|import/export
    must,shall/may,might|always,all,every/sometimes,some|accepted,approved/denied,refused,rejected|older/newer,younger
    to/from|during/before,after|until/after|most,many/few|about,around,roughly,approximately/least,most,exactly,maximum,minimum
    in,inside,into/out,outside|send/receive,get|lend/borrow|give/take|inbound,incoming/outbound,outgoing|upload/download
    primary,leader/secondary,replica,follower|parent/child|can/should,must|merge/split|upgrade/downgrade|install/uninstall|trust/distrust|signed/unsigned|known/unknown|read/write|inside/outside
"""
# Words that are more than a word, whatever stands beside them.
_SPECIAL = frozenset({*_MONTHS, *_DAYS, *_RELATIVE, *_NUMBERS, *_ORDINALS, *_TIME_UNITS, *_NEGATIONS})
_PERSON_WORDS = (
    "i me my mine myself",
    "you your yours",
    "he him his",
    "she her hers",
    "we us our ours",
    "they them their",
)

_TOKEN = re.compile(
    r"[a-z]+(?=[ ,;)]|$)"  # most words; the alternative for words would find the same, in twice the time
    r"|`[^`\n]{1,200}`"  # code
    r"|(?:https?://|~?/|\./)[^\s,;)\"'<>]+"  # addresses and paths
    r"|[$€£](?=\d)"
    r"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?!\w|\.\d)"  # a date, or a version
    r"|\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b)?"
    r"|\d{1,2}\s?[ap]\.?m\b"
    r"|(?<![\w.])[-\u2212]?(?:\d[\d,_]*(?:\.\d+)*|\.\d+)|\d[\d,_]*(?:\.\d+)*"
    r"|(?<!\w)--?[a-zA-Z][\w-]*"  # an option
    r"|[CF]\+\+|[CFJ]#|[<>]=?|[!=]=|->|[=+]"
    r"|[^\W\d_][\w'\u2019]*(?:[._/@:\\-]+\w[\w'\u2019]*)*"
    r"|%|[.!?:](?=\s|$)|\n|[\"“(•*]"
)
_TIME = re.compile(r"(\d{1,2})(?::(\d\d))?(?::\d\d)?\s?([ap])?")
_INNER = re.compile(r"[a-z][A-Z]|[_/@\\:+#<>=]|\w\.\w|[^\W\d_]\d|^-")
_UNSPACED = "\u0590"  # from here on are scripts whose words are compared whole: some do not part them
_BREAKS = frozenset('.!?:\n"“(•*')
_MARKS = frozenset("ADN")  # that stand in a frame for names, dates and numbers
_MOST_NUMBER = 30  # digits: longer ones are names


class Values(NamedTuple):
    """The values and words of a text.

    Args:
        numbers, dates, names: each in one spelling, so that `5s` is `five seconds`.
        first: capitalised words that begin a sentence, which may be names.
        negations: how many there are.
        words: the stems of the others, by word in lower case, in their order.
        stems: of all words.
        sequence: stems and values in their order.
        frame: the same with each value as one mark, to see whether two texts say a value of the same thing.
    """

    numbers: frozenset[str]
    dates: frozenset[str]
    names: frozenset[str]
    first: frozenset[str]
    negations: int
    words: Mapping[str, str]
    stems: frozenset[str]
    sequence: tuple[str, ...]
    frame: tuple[str, ...]


@cache  # and not of the module: only the gate needs it
def _opposites() -> dict[str, frozenset[str]]:
    """Stems of words, and the stems of those that say the opposite."""
    opposites: dict[str, frozenset[str]] = {}
    for pair in _OPPOSITE_WORDS.replace("\n", "|").split("|"):
        side, _, other = pair.strip().partition("/")
        for left, right in ((side, other), (other, side)):
            against = {stem(word) for word in right.split(",") if word}
            for key in map(stem, filter(None, left.split(","))):
                opposites[key] = opposites.get(key, frozenset()) | against
    return opposites


@cache
def _persons() -> dict[str, int]:
    """Stems of pronouns, and the person that they stand for."""
    return {stem(word): number for number, group in enumerate(_PERSON_WORDS) for word in group.split()}


def values_of(text: str) -> Values:
    """Returns the values of a text; of a very long one, of its beginning."""
    return _Reader(text[:MOST_CHARACTERS]).read()


def changed(values: Values, other: Values) -> str:
    """Returns in which value two texts differ: number, date, name or negation; "" if in none."""
    if _counted(values, other) != _counted(other, values):
        return "number"
    if values.dates != other.dates:
        return "date"
    if (
        _unmentioned(values, other)
        or _unmentioned(other, values)
        or _other_person(values.sequence, other.sequence)
    ):
        return "name"
    if values.negations != other.negations or _opposed(values.stems, other.stems):
        return "negation"
    return ""


def is_negation(word: str) -> bool:
    return word.replace("'", "") in _NEGATIONS


def _counted(values: Values, other: Values) -> frozenset[str]:
    """The numbers of a text, without the units that the other leaves out; `one` is read as a word, and so is a bare 1."""
    found = {
        number.partition(" ")[0] if number.partition(" ")[0] in other.numbers else number
        for number in values.numbers
    }
    return frozenset(found - {"1"})


def _unmentioned(values: Values, other: Values) -> bool:
    """True if one text names something that the other does not mention."""
    there = other.names | other.first
    return any(
        name not in there and (name in STOP_WORDS or stem(name) not in other.stems) for name in values.names
    )


def _other_person(words: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """True if both speak of persons by pronouns, and of none in common."""
    persons = _persons()
    here, there = ({persons[word] for word in each if word in persons} for each in (words, other))
    return bool(here and there) and here.isdisjoint(there)


def _opposed(stems: frozenset[str], other: frozenset[str]) -> bool:
    """True if a word here stands against its opposite there, and neither text has both."""
    opposites = _opposites()
    for word in stems - other:
        against = opposites.get(word)
        if against and not against.isdisjoint(other - stems) and against.isdisjoint(stems):
            return True
    return False


@lru_cache(maxsize=_PLAIN_KEPT)
def _plain(token: str) -> str:
    """Returns the stem of a token that is a lower-case word and nothing else, as most are; "" of any other."""
    if token.isascii() and token.isalpha() and token.islower() and token not in _SPECIAL:
        return _root(token)
    return ""


def _root(word: str) -> str:
    """The stem of a word, but that of `one` is not `on`."""
    return word if word == "one" else stem(word)


class _Reader:
    """Reads one text token by token."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = _TOKEN.findall(text)
        self._at = 0
        self._numbers: set[str] = set()
        self._dates: set[str] = set()
        self._names: set[str] = set()
        self._first: set[str] = set()
        self._words: dict[str, str] = {}
        self._named: set[str] = set()  # the stems of names
        self._sequence: list[str] = []
        self._marks: list[tuple[int, str]] = []  # what stands for values in a frame, and where
        self._negations = 0
        self._unit = ""  # of the number that comes, as in $5

    def read(self) -> Values:
        begins = True
        sequence, words = self._sequence, self._words
        for at, token in enumerate(self._tokens):
            if at < self._at:  # read with the one before it
                continue
            if root := _plain(token):
                sequence.append(root)
                if token not in STOP_WORDS:
                    words[token] = root
                begins = False
                continue
            self._at = at + 1
            if token in _BREAKS:
                begins = True
                if token == "?":
                    self._name(token)
                continue
            self._token(token, begins)
            begins = False
        frame = sequence.copy()
        for place, mark in self._marks:
            frame[place] = mark
        return Values(
            frozenset(self._numbers),
            frozenset(self._dates),
            frozenset(self._names),
            frozenset(self._first),
            self._negations,
            words,
            frozenset(frame).union(self._named).difference(_MARKS),
            self._ordered(frame),
            tuple(frame),
        )

    def _ordered(self, frame: Sequence[str]) -> tuple[str, ...]:
        """The sequence, with the parts of each date in one order: `3 March` is `March 3`."""
        if "D" not in frame:
            return tuple(self._sequence)
        found: list[str] = []
        runs = groupby(zip(frame, self._sequence, strict=True), key=lambda pair: pair[0] == "D")
        for is_date, run in runs:
            values = [value for _, value in run]
            found += sorted(values) if is_date else values
        return tuple(found)

    def _token(self, token: str, begins: bool) -> None:
        if token[0] in "$€£%":
            self._unit_before(token)
        elif token.lstrip("-\N{MINUS SIGN}.")[:1].isdigit():
            self._digits(token, token.lower())
        else:
            for put, value in _steps(token, begins):
                put(self, value)

    def _digits(self, token: str, lower: str) -> None:
        parts = re.split(r"[-/.]", lower)
        if ":" in lower or lower.endswith("m"):
            self._date(_clock(lower))
        elif len(parts) == 3 and len(parts[0]) == 4:  # an ISO date
            self._date(f"month {int(parts[1])}")
            self._dates.update((f"{int(parts[0])}", f"{int(parts[2])}"))
        elif len(parts) >= 3 or len(lower) > _MOST_NUMBER:
            self._name(lower)
        else:
            value = lower.replace(",", "").replace("_", "").replace("\N{MINUS SIGN}", "-")
            after = self._tokens[self._at] if self._at < len(self._tokens) else ""
            if after.lower() in ("st", "nd", "rd", "th"):
                near = self._near_month()
                self._at += 1
                return self._date(value) if near else self._ordinal(value)
            if self._near_month() or (len(value) == 4 and "1900" <= value <= "2100"):
                return self._date(value.lstrip("0"))
            self._number(value)
        return None

    def _near_month(self) -> bool:
        near = (self._tokens[each] for each in (self._at - 2, self._at) if 0 <= each < len(self._tokens))
        return any(each.lower() in _MONTHS and each[0].isupper() for each in near)

    def _number(self, value: str) -> None:
        unit = self._unit
        after = self._tokens[self._at].lower() if self._at < len(self._tokens) else ""
        if after in _SCALES and value.isdigit():
            value = str(int(value) * _SCALES[after])
            self._at += 1
            after = self._tokens[self._at].lower() if self._at < len(self._tokens) else ""
        if after in _UNITS:
            self._at += 1
            unit = _UNITS[after]
        self._put(self._numbers, f"{value} {unit}".strip(), "N")

    def _unit_before(self, token: str) -> None:
        self._unit = _UNITS[token]
        if self._at < len(self._tokens) and self._tokens[self._at][0].isdigit():
            token = self._tokens[self._at]
            self._at += 1
            self._digits(token, token.lower())
        self._unit = ""

    def _date(self, value: str) -> None:
        self._put(self._dates, value, "D")

    def _ordinal(self, value: str) -> None:
        self._put(self._numbers, f"#{value}", "N")

    def _name(self, value: str) -> None:
        self._put(self._names, value, "A")

    def _capital(self, word: str) -> None:
        self._name(word)
        self._named.add(stem(word))

    def _beginning(self, word: str) -> None:
        self._first.add(word)
        self._word(word)

    def _negation(self, word: str) -> None:
        self._negations += 1
        self._word(word)

    def _put(self, into: set[str], value: str, mark: str) -> None:
        into.add(value)
        self._marks.append((len(self._sequence), mark))
        # A name may be written as a word in the other text, unless it is code: to stem that takes long, and each is new.
        self._sequence.append(stem(value) if mark == "A" and value.isalpha() else value)

    def _word(self, word: str) -> None:
        if word in _TIME_UNITS and self._at > 1 and self._tokens[self._at - 2].lower() in _PER:
            return self._put(self._numbers, f"per {_UNITS[word]}", "N")  # a rate
        root = _root(word)
        self._sequence.append(root)
        if word not in STOP_WORDS:
            self._words[word] = root
        return None


_Step = tuple[Callable[[_Reader, str], None], str]


@lru_cache(maxsize=_PLAIN_KEPT)
def _steps(token: str, begins: bool) -> tuple[_Step, ...]:
    """The steps of a reader for a token without digits.

    Args:
        begins: whether it begins a sentence.
    """
    lower = token.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if token[0] == "`":
        return (_code(token.strip("`").strip()),)
    if not begins and lower in ("may", "mar", "sun", "sat", "dec", "jan", "oct") and token.islower():
        return ((_Reader._word, lower),)
    if lower.rstrip(".") in _MONTHS and (token[0].isupper() or len(lower) > 4):
        is_verb = lower == "may" and begins
        return ((_Reader._word, lower) if is_verb else (_Reader._date, _MONTHS[lower.rstrip(".")]),)
    if lower in _DAYS and (token[0].isupper() or len(lower) > 3):
        return ((_Reader._date, _DAYS[lower]),)
    if lower in _RELATIVE:
        return ((_Reader._date, lower),)
    return tuple(_written(token, lower, begins))


def _written(token: str, lower: str, begins: bool) -> Iterator[_Step]:
    plain = lower.removesuffix("'s").removesuffix("'")
    tens, _, small = plain.partition("-")
    if plain in _NUMBERS and plain != "one":
        yield _Reader._number, _NUMBERS[plain]
    elif plain in _ORDINALS:
        yield _Reader._ordinal, str(_ORDINALS[plain])
    elif tens in _TENS and small in _NUMBERS:
        yield _Reader._number, str(int(_NUMBERS[tens]) + int(_NUMBERS[small]))
    elif is_negation(plain):
        yield _Reader._negation, plain
    elif _INNER.search(token) or token >= _UNSPACED:
        yield _code(token)
    elif "-" in plain:
        for part in filter(None, token.split("-")):
            yield from _written(part, part.lower(), begins)
    elif token[0].isupper() and plain not in ("i", "i'm", "i've", "i'd", "i'll", "ok"):
        yield _capital(token, plain, begins)
    else:
        yield _Reader._word, plain


def _capital(token: str, plain: str, begins: bool) -> _Step:
    if begins and not (len(plain) > 1 and token[: len(plain)].isupper()):
        return _Reader._beginning, plain
    if plain in STOP_WORDS and not (token.isupper() and plain != "i"):  # `team S` and `IT` are names
        return _Reader._word, plain
    return _Reader._capital, plain


def _code(token: str) -> _Step:
    return _Reader._name, token.rstrip(".:").lower().removesuffix("()")


def _clock(text: str) -> str:
    found = _TIME.match(text)
    assert found is not None  # whoever calls has seen such a text
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{hour:02}:{minute:02}"
