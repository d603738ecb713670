"""Claims of a sentence: entity, attribute, qualifiers and value, by a closed set of forms and without a model.

A text in none of these forms has no claim. What is asked, planned, supposed or told in the past is none either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from sb.base.values.frozen import frozen
from sb.memory.beliefs import claim_words as known
from sb.memory.beliefs.claim_words import MANY, ONE, REPLACEABLE
from sb.memory.gate.likeness import cached_values
from sb.memory.ranking.terms import MONTHS, stem, words

MOST_CHARACTERS, _MOST_SENTENCES, _MOST_CLAIMS = 400, 3, 6  # of a text that has claims
_LONGEST_SENTENCE, _LONGEST_KEY, _LONGEST_ENTITY, _LONGEST_VALUE = 30, 120, 7, 5  # tokens, characters, words
ANY = "*"  # the attribute that had a former value
BETWEEN = " · "  # the parts of a key
_SENTENCES = re.compile(r"(?<=[.!;])\s+|\n+")
_TOKENS = re.compile(r"[^\s,;!?\"“”()`]+")
_BE, _NOT = ("is", "are", "am"), ("not", "never")
_ARTICLES = frozenset(("a", "an", "the"))
_LINKS = frozenset("of for in at on to from with by as into under per every".split())
_CLAUSES = frozenset("after because while so since which but as via by using though when with".split())
_QUALIFIES = frozenset("for in on at during when within under".split())
_FILLERS = frozenset(
    "currently presently still also just recently already really officially actually been has have had got get gets".split()
)
_SHORT = {
    "i'm": "i am", "we're": "we are", "they're": "they are", "it's": "it is", "i've": "i", "we've": "we", "isn't": "is not",
    "aren't": "are not", "doesn't": "not", "don't": "not", "can't": "not can", "cannot": "not can", "hasn't": "not has",
    "won't": "will not", "does": "", "do": "", "wasn't": "was not",
}  # fmt: skip
_IN_BRACKETS = re.compile(r"\s*\([^)]*\)")
_LABEL = re.compile(r"^(?:breaking change|\*\*[^*]{1,30}\*\*|note|fyi): ")
_WHERE = re.compile(r"^(?:(?:in|on|at|for|with) [^,]{1,40}|additionally|also|finally), ")
_JOINED = re.compile(r"(?<=[^\W\d])[-_/.:](?=[^\W\d])")  # `Ctrl-A` is one word
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_CUE = re.compile(r"\b(?:" + "|".join(known.CUES) + r")\b")
_OPENER = re.compile(known.OPENERS + r"[,:]?\s+")
_ENDED = re.compile(r"\b(?:" + "|".join(known.ENDED) + r")\b")
_ANY_MORE = re.compile(r"\b(?:anymore|any more|any longer)\b")
_LEFT = re.compile(
    r"^(.{1,60}?) (?:has )?(?:left|quit|resigned(?: from)?|retired(?: from)?|stepped down(?: as| from)?)(?: (.{1,60}))?$"
)
_COMPANY = re.compile(r"^(?:(?:the|her|his|their|our) )?(?:company|firm|team|job|position|role|startup)$")
_REPLACED = re.compile(r"^(.{1,60}?) (?:has |have )?replaced (.{1,60}?) (?:with|by) (.{1,60}?)(?: for .*)?$")


@frozen
class Claim:
    """A sentence's statement about one attribute of something.

    Args:
        entity, attribute, qualifiers: folded, "" where there is none. value: the words of its value, sorted.
        denied: the sentence says that the value does not hold. holds: how many values there may be; see `claim_words`.
        cue: the sentence says that this is new. former: the value that it names as replaced, or "".
        given: somebody gave the key, so that the newer of one source wins.
        guess: the sentence leaves open which attribute it is about, so that only one that was claimed before counts. With
            the attribute ANY it is whichever had the former value.
    """

    entity: str
    attribute: str
    qualifiers: str
    value: str
    denied: bool = False
    holds: str = ONE
    cue: bool = False
    former: str = ""
    given: bool = False
    guess: bool = False

    @property
    def key(self) -> str:
        """The key: claims with equal ones are about the same."""
        parts = [self.entity, self.attribute, *([self.qualifiers] if self.qualifiers else [])]
        return BETWEEN.join(parts)

    def excludes(self, other: Claim) -> bool:
        """True if another claim of the same key cannot hold at the same time, or could not if one value is all there is."""
        here, there = set(self.value.split()), set(other.value.split())
        if self.denied or other.denied:
            ended = not here or not there
            return self.denied != other.denied and (ended or here <= there or there <= here)
        return not (here <= there or there <= here)

    def replaces(self, other: Claim) -> bool:
        """True if this one says by itself that another one, which it excludes, holds no longer."""
        if self.given:
            return True
        if not self.cue:
            return False
        if self.denied or self.holds != MANY:
            return True
        former, value = set(self.former.split()), set(other.value.split())
        return bool(former and value) and (former <= value or value <= former)

    def competes(self, other: Claim) -> bool:
        """True if only one of two claims can hold, so that somebody has to decide."""
        return self.denied or other.denied or ONE == self.holds == other.holds


class _Read(NamedTuple):
    """A sentence without its cues, in lower case."""

    tokens: list[str]
    cue: bool
    denied: bool


def given_claim(key: str, text: str) -> Claim:
    """The claim of a key that somebody gave: entity, attribute and perhaps qualifiers, with ` · `, `:` or `|` between.

    Raises:
        ValueError: it has no entity or no attribute, or is too long.
    """
    parts = [" ".join(_plain(part)) for part in re.split(r"[·|:]", key)]
    if len(key) > _LONGEST_KEY or not 2 <= len(parts) <= 3 or not all(parts):
        raise ValueError(f"not a claim key: {key[:80]!r} (try 'Alice · role')")
    found = next((item for item in claims_of(text) if item.key == BETWEEN.join(parts)), None)
    value = found.value if found else _value(text)
    denied = bool(found and found.denied)
    return Claim(parts[0], parts[1], "".join(parts[2:]), value, denied, cue=True, given=True)


def claims_of(text: str, speaker: str = "") -> list[Claim]:
    """The claims of a text, each key once; none of a long one.

    Args:
        speaker: of `I` and `my`.
    """
    if len(text) > MOST_CHARACTERS or "?" in text:
        return []
    found: dict[str, Claim] = {}
    for sentence in _SENTENCES.split(text)[:_MOST_SENTENCES]:
        for claim in _of_sentence(sentence.strip().rstrip("."), speaker):
            if len(claim.key) <= _LONGEST_KEY and len(claim.entity.split()) <= _LONGEST_ENTITY:
                found.setdefault(claim.key, claim)
    return list(found.values())[:_MOST_CLAIMS]


def _of_sentence(sentence: str, speaker: str) -> Iterator[Claim]:
    lower = sentence.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    read = _read(lower)
    tokens = read.tokens
    if not 2 <= len(tokens) <= _LONGEST_SENTENCE:
        return
    hedges = known.HEDGES - {"may"} if " May" in sentence else known.HEDGES  # the month
    plain = (*_ended(" ".join(tokens)), *_stated(tokens)) if hedges.isdisjoint(tokens) else ()
    for claim in (*_changed(tokens, hedges), *plain):
        entity = _entity(claim.entity, speaker)
        attribute = claim.attribute if claim.attribute == ANY else _folded(claim.attribute)
        if entity is not None and attribute:
            cue, denied = claim.cue or read.cue, claim.denied != read.denied
            yield replace(claim, entity=entity, attribute=attribute, cue=cue, denied=denied)


def _read(lower: str) -> _Read:
    """A sentence without openers, cues, negations and short forms."""
    cue = denied = False
    lower = _LABEL.sub("", _IN_BRACKETS.sub("", lower))
    if opened := _OPENER.match(lower):
        lower, cue = lower[opened.end() :], True
    lower = _WHERE.sub("", lower)
    plain = " ".join(_SHORT.get(token, token) for token in lower.split())
    if _ANY_MORE.search(plain):
        plain, cue = _ANY_MORE.sub("", plain), True
    if _ENDED.search(plain):
        plain, cue, denied = _ENDED.sub("", plain), True, True
    if _CUE.search(plain):
        plain, cue = _CUE.sub(" ", plain), True
    tokens = [token.strip(".:'*_") for token in _TOKENS.findall(plain.partition(", ")[0])]
    denied = denied or any(token in _NOT for token in tokens)
    return _Read(
        [token for token in tokens if token and token not in _FILLERS and token not in _NOT], cue, denied
    )


def _ended(sentence: str) -> Iterator[Claim]:
    """Somebody left, or something was replaced."""
    if found := _REPLACED.match(sentence):
        yield Claim(
            found[1], ANY, "", _value(found[3]), holds=MANY, cue=True, former=_value(found[2]), guess=True
        )
    elif found := _LEFT.match(sentence):
        who, place = found[1], found[2] or ""
        if not place or _COMPANY.match(place):
            for attribute in ("role", "employer"):
                yield Claim(who, attribute, "", "", denied=True, cue=True)
        elif place.split()[0] not in _LINKS:
            yield Claim(who, "employer", "", _value(place), denied=True, cue=True)


def _changed(tokens: Sequence[str], hedges: frozenset[str]) -> Iterator[Claim]:
    """Something changed, was moved or raised, from a value to another one."""
    at = next((at for at, token in enumerate(tokens) if token in known.CHANGES), 0)
    if not at or "to" not in tokens[at:]:
        return
    to = at + tokens[at:].index("to")
    if not hedges.isdisjoint(tokens[:to]) or not {"if", "unless"}.isdisjoint(tokens):
        return
    subject = [token for token in tokens[:at] if token not in ("was", "were", *_BE)]
    middle, new, former = list(tokens[at + 1 : to]), list(tokens[to + 1 :]), list[str]()
    for link in (
        "to",
        *sorted(_CLAUSES.intersection(new)),
    ):  # `to 15 minutes to resolve errors while it runs`
        new = new[: new.index(link)] if link in new else new
    if "from" in middle:
        cut = middle.index("from")
        middle, former = middle[:cut], middle[cut + 1 :]
    elif "from" in new:
        cut = new.index("from")
        new, former = new[:cut], new[cut + 1 :]
    new, qualifiers = _qualified(new)
    value, about = _value(" ".join(new)), middle or subject
    if not value or not about:
        return
    entity, named = _attribute(about)
    change = Claim(entity, named, "", value, cue=True, former=_value(" ".join(former)))
    if former:
        yield change
        for each in {tuple(subject): None, tuple(about): None}:
            yield replace(change, entity=" ".join(each), attribute=ANY, holds=MANY, guess=True)
        return
    if entity or about[-1] in known.ATTRIBUTES:
        yield replace(change, qualifiers=qualifiers)
    places = (
        ("residence", "location", "host", "store") if tokens[at] in ("moved", "relocated", "migrated") else ()
    )
    for attribute in ("schedule", "end", "start") if _is_value(" ".join(new)) else places:
        yield replace(change, entity=" ".join(about), attribute=attribute, guess=True)


def _stated(tokens: Sequence[str]) -> Iterator[Claim]:
    """Something is, has or does something."""
    starts = range(1 + (tokens[0] in _ARTICLES), min(len(tokens) - 1, _LONGEST_ENTITY + 2))
    for at in starts:
        for size in range(min(known.LONGEST_VERB, len(tokens) - at - 1), 0, -1):
            if (relation := known.RELATIONS.get(tuple(tokens[at : at + size]))) is not None:
                yield from _related(tokens[:at], *relation, tokens[at + size :])
                return
        if tokens[at] in known.STANCES:
            about, denied = known.STANCES[tokens[at]]
            yield Claim(" ".join(tokens[:at]), about, _value(" ".join(tokens[at + 1 :])), "yes", bool(denied))
            return
        if tokens[at] in _BE:
            yield from _is(tokens[:at], tokens[at + 1 :])
            return
    at = next((at for at in starts if tokens[at] in known.AMOUNTS), 0)
    if at:
        yield from _amount(tokens[:at], tokens[at], tokens[at + 1 :])


def _related(subject: Sequence[str], attribute: str, holds: str, rest: Sequence[str]) -> Iterator[Claim]:
    rest, qualifiers = _qualified(rest)
    if holds == MANY and qualifiers:
        holds = REPLACEABLE
    if attribute == "preference" and len(rest) > 1:  # `dark mode` is one of the modes
        holds, qualifiers, rest = ONE, f"{rest[-1]} {qualifiers}".strip(), rest[:-1]
    yield Claim(" ".join(subject), attribute, qualifiers, _value(" ".join(rest)), holds=holds)


def _is(subject: Sequence[str], rest: Sequence[str]) -> Iterator[Claim]:
    """`The port of staging is 8080`, `Alice is the CTO of Acme`, `the build is broken`."""
    spoken = [token for token in rest if token not in _ARTICLES]
    if not spoken:
        return
    text = " ".join(rest)
    title = next((token for token in spoken[:4] if token in known.TITLES), "")
    link = next((at for at, token in enumerate(spoken) if token in _LINKS), len(spoken))
    owned = _owned(subject)
    if owned is not None:
        rest, qualifiers = _qualified(rest)
        holds = REPLACEABLE if owned[1].split()[-1] in known.SHARED else ONE
        yield Claim(*owned, qualifiers, _value(" ".join(rest)), holds=holds)
    elif title and title in spoken[:link]:
        where = _folded(" ".join(spoken[link + 1 :]))
        yield Claim(" ".join(subject), "role", "", _value(" ".join(spoken[:link])), holds=REPLACEABLE)
        if link < len(spoken):
            yield Claim(" ".join(subject), "employer", "", _value(where), holds=REPLACEABLE)
        if rest[0] not in ("a", "an"):
            yield Claim(where, " ".join(spoken[:link]), "", _value(" ".join(subject)), holds=REPLACEABLE)
    elif subject[-1] in known.ATTRIBUTES or _is_value(text):
        rest, qualifiers = _qualified(rest)
        yield Claim(*_attribute(subject), qualifiers, _value(" ".join(rest)))
    elif len(spoken) == 1 and spoken[0] in _states():
        yield Claim(" ".join(subject), _states()[spoken[0]], "", spoken[0])
    elif rest[0] in _LINKS and len(rest) > 1:
        attribute, holds = ("schedule", ONE) if _is_value(text) else ("location", REPLACEABLE)
        yield Claim(" ".join(subject), attribute, "", _value(" ".join(rest[1:])), holds=holds)
    elif len(rest) > 2 and rest[1] in _LINKS and re.search(r"(?:ed|en|ught|id|ade|un|et)$", rest[0]):
        yield Claim(
            " ".join(subject), f"is {rest[0]} {rest[1]}", "", _value(" ".join(rest[2:])), holds=REPLACEABLE
        )
    elif len(rest) <= _LONGEST_VALUE:
        yield Claim(
            " ".join(subject), "is", "", _value(text), holds=REPLACEABLE if rest[0] in ("a", "an") else MANY
        )


def _amount(subject: Sequence[str], verb: str, rest: Sequence[str]) -> Iterator[Claim]:
    values = cached_values(" ".join(rest))
    if values.numbers or values.dates:
        what = [stem(word) for word in values.words if word not in _ARTICLES]
        attribute = " ".join((stem(verb), *sorted(what)))
        yield Claim(
            " ".join(subject),
            attribute,
            "",
            " ".join(sorted((*values.numbers, *values.dates))).replace(" ", "_"),
        )
    elif verb not in ("has", "have"):
        yield Claim(" ".join(subject), verb, "", _value(" ".join(rest)), holds=MANY)


def _attribute(phrase: Sequence[str]) -> tuple[str, str]:
    """The entity and the attribute that a noun phrase names."""
    owned = _owned(phrase)
    if owned is not None:
        return owned
    spoken = [token for token in phrase if token not in _ARTICLES]
    if len(spoken) > 1 and spoken[0] in ("my", "our", "your"):
        return spoken[0], " ".join(spoken[1:])
    return " ".join(spoken[:-1]), spoken[-1] if spoken else ""


def _owned(phrase: Sequence[str]) -> tuple[str, str] | None:
    """`the port of staging`, `staging's port`, `my port`: entity and attribute."""
    spoken = [token for token in phrase if token not in _ARTICLES]
    for at, token in enumerate(spoken):
        if token.endswith("'s") and at + 1 < len(spoken):
            return " ".join((*spoken[:at], token[:-2])), " ".join(spoken[at + 1 :])
        if token in ("of", "for", "in", "at") and 0 < at < len(spoken) - 1:
            return " ".join(spoken[at + 1 :]), " ".join(spoken[:at])
    if len(spoken) > 1 and spoken[0] in ("my", "our", "your"):
        return spoken[0], " ".join(spoken[1:])
    return None


def _qualified(rest: Sequence[str]) -> tuple[list[str], str]:
    """The value, and what restricts it: `Postgres for billing`."""
    for at, token in enumerate(rest):
        if at and token in _QUALIFIES:
            return list(rest[:at]), _folded(" ".join(rest[at:]))
    return list(rest), ""


def _is_value(text: str) -> bool:
    values = cached_values(text)
    return bool(values.numbers or values.dates) and len(text.split()) < 5


def _entity(phrase: str, speaker: str) -> str | None:
    """The folded entity; None for a pronoun that could be anybody."""
    plain = _plain(phrase)
    if plain and plain[0] in ("i", "my", "me", "user"):
        plain = [*(_plain(speaker) or ["user"]), *plain[1:]]
    if plain and plain[0] == "our":
        plain[0] = "we"
    return None if plain and plain[0] in known.VAGUE else " ".join(plain)


def _plain(text: str) -> list[str]:
    return [word for word in words(text.replace("'s", "")) if word not in _ARTICLES]


def _folded(text: str) -> str:
    return " ".join(_plain(text))


def _value(text: str) -> str:
    """The words of a value in one order, with numbers and dates in one spelling."""
    values = cached_values(_MONTH.sub(lambda found: found[0].capitalize(), _JOINED.sub("", text)))
    named = {item.replace(" ", "_") for item in (*values.numbers, *values.dates)}
    spoken = {stem(word) for name in (*values.names, *values.first, *values.words) for word in _plain(name)}
    return " ".join(sorted(named | spoken))


@cache
def _states() -> dict[str, str]:
    """Words of a state, and the group of opposites that each is in."""
    groups = "|".join(known.STATES.split()).split("|")
    return {word: re.sub("[/,]", " or ", group) for group in groups for word in re.split("[/,]", group)}
