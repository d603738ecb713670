"""Parse a query: terms, speakers and dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sb.memory.ranking.roles import USER, is_generic, meant, role_by_name, without_frame
from sb.memory.ranking.terms import MONTHS, MOST_CHARACTERS, STOP_WORDS, words

_WHEN = re.compile(
    r"\s*(?:when|how long|what (?:date|day|year|month|time)|which (?:year|month|day))\b", re.IGNORECASE
)
_HOW_MANY = re.compile(r"\s*how (?:many|much|old|often|far|big|large)\b", re.IGNORECASE)
_NAMES = "|".join(MONTHS)
# A day counts only beside its month, and "may" and "march" are months only with a capital.
_DATE = re.compile(
    rf"(?:\b(?P<before>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?\b(?P<month>{_NAMES})\b"
    r"(?: (?:the )?(?P<after>\d{1,2})(?:st|nd|rd|th)?\b)?",
    re.IGNORECASE,
)
_ISO_DATE = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-3]\d))?\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_AMBIGUOUS = ("may", "march")
_NAME = re.compile(r"(?<=[a-z,] )[A-ZÀ-Þ]\w[^\s,;]*(?: [A-ZÀ-Þ\d][^\s,;]*)*")  # capitals in a row are one
_NO_ROLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Query:
    """A question, taken apart once for all candidates.

    Args:
        text: as it was asked.
        words: what it is about, without stop words and without the names in `names`.
        names: the words that name a known speaker.
        speakers: the known speakers who are named.
        when: whether it asks for a time.
        how_many: whether it asks for a number.
        days: the days it names, as (month, day or None).
        years: the years it names.
        role: whom it is about, the user ("I") or the assistant ("you"); "" for neither.
        users: the speakers who are users.
        several: whether it names two things or more.
    """

    text: str
    words: tuple[str, ...]
    names: tuple[str, ...] = ()
    speakers: frozenset[str] = frozenset()
    when: bool = False
    how_many: bool = False
    days: tuple[tuple[int, int | None], ...] = ()
    years: frozenset[int] = frozenset()
    role: str = ""
    users: frozenset[str] = frozenset()
    several: bool = False

    def terms(self, *, spoken: bool) -> tuple[str, ...]:
        """The words to look for in rows that carry a speaker (`spoken`), or in others.

        In the former a name says who speaks, and stands in few of the texts; in the latter it is a word.
        """
        if spoken:
            return self.words or self.names or tuple(dict.fromkeys(words(self.text)))
        return self.words + self.names or tuple(dict.fromkeys(words(self.text)))


def understand(text: str, speakers: Iterable[str] = (), roles: Mapping[str, str] = _NO_ROLES) -> Query:
    """Take a question apart.

    Args:
        text: in English; of other languages the words count, and nothing else is recognised.
        speakers: everybody who is known to speak in what is searched.
        roles: of those whose role is known by other means than their name.
    """
    text = without_frame(text[:MOST_CHARACTERS])
    known = {speaker: roles.get(speaker) or role_by_name(speaker) for speaker in speakers}
    terms = [word for word in dict.fromkeys(words(text)) if word not in STOP_WORDS]
    named: dict[str, set[str]] = {}
    for speaker in known:
        for word in () if is_generic(speaker) else words(speaker):
            named.setdefault(word, set()).add(speaker)
    of_speakers = frozenset(speaker for word in terms for speaker in named.get(word, ()))
    days, years = _dates(text)
    return Query(
        text,
        tuple(word for word in terms if word not in named),
        tuple(word for word in terms if word in named),
        of_speakers,
        _WHEN.match(text) is not None,
        _HOW_MANY.match(text) is not None,
        days,
        years,
        meant(text, {speaker: known[speaker] for speaker in of_speakers}),
        frozenset(speaker for speaker, role in known.items() if role == USER),
        len(_NAME.findall(text)) > 1,
    )


def _dates(text: str) -> tuple[tuple[tuple[int, int | None], ...], frozenset[int]]:
    days: dict[tuple[int, int | None], None] = {}
    for found in _DATE.finditer(text):
        name = found["month"]
        if name not in _AMBIGUOUS:
            day = found["before"] or found["after"]
            days[MONTHS.index(name.lower()) + 1, int(day) if day else None] = None
    for found in _ISO_DATE.finditer(text):
        days[int(found["month"]), int(found["day"]) if found["day"] else None] = None
    return tuple(days), frozenset(int(year) for year in _YEAR.findall(text))
