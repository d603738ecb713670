"""Roles in two texts with the same words: which word a link governs, and the order of the others.

A phrase may move as a whole ("on Tuesdays we deploy"). Three pieces in reverse order changed their parts ("Ben pays Ann").
A passive with its agent is compared as its active ("Ben is paid by Ann").
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise

from sb.memory.ranking.terms import STOP_WORDS, stem

_LINKS = frozenset(
    "from to into than over until by for via as of in on at with before after during about".split()
)
_REACH = 3  # words after a link that it may govern
# One for the other changes no role: `the mother to an actress`, `the love for a son`.
_SAME_LINKS = (frozenset(("of", "in", "on", "at")), frozenset(("of", "to", "for")))
# Each of these says something by being there.
_CONDITIONS = (
    "if when whether",
    "unless",
    "before",
    "after",
    "during",
    "about",
    "than",
    "or nor",
    "should must",
    "may might could can",
)
_NOW, _THEN = "is are am", "was were"
_BE = f"{_NOW} {_THEN}"
_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being|gets?|got)\s+(?:not\s+|also\s+|being\s+|\w+ly\s+)*(\w+(?:ed|[nt]|id|ld))\b",
    re.IGNORECASE,
)


@cache
def _stems(words: str) -> frozenset[str]:
    """Stems of words; the stemmer is loaded by the first that asks."""
    return frozenset(map(stem, words.split()))


@cache
def _unordered() -> frozenset[str]:
    """Stems of the words whose place says nothing."""
    return frozenset(map(stem, STOP_WORDS - _LINKS))


def condition_changed(stems: frozenset[str], other: frozenset[str]) -> bool:
    """True if one text has a condition, an alternative, a mode or another time that the other has not."""
    groups = map(_stems, _CONDITIONS)
    if any(stems.isdisjoint(group) is not other.isdisjoint(group) for group in groups):
        return True
    here, there = ((bool(each & _stems(_NOW)), bool(each & _stems(_THEN))) for each in (stems, other))
    return here != there and {here, there} == {(True, False), (False, True)}


def roles_changed(
    words: Sequence[str], other: Sequence[str], texts: tuple[str, str], same: Mapping[str, str]
) -> bool:
    """True if words of two texts changed their parts.

    Args:
        words, other: stems and values in their order. texts: themselves. same: words of the first by synonyms of the second.
    """
    here, links = _ordered(words, {})
    there, others = _ordered(other, same)
    actives = _made_active(here, links, there, others), _made_active(there, others, here, links)
    if not any(actives) and _voice_changed(*texts):
        return True
    _turn(here, there, links)
    _turn(there, here, others)
    common = Counter(here) & Counter(there)
    if (Counter(here) - common).keys() & set(there) and (Counter(there) - common).keys() & set(here):
        return True  # one word stands where the other stood, and both stand elsewhere too
    for link in links.keys() & others.keys():
        mine = {phrase[0] for phrase in links[link]} - _all(others[link])
        theirs = {phrase[0] for phrase in others[link]} - _all(links[link])
        if mine and theirs and common.keys() >= mine | theirs:
            return True
    governed, governs = _governed(links), _governed(others)
    for word in governed.keys() & governs.keys():
        both = governed[word] | governs[word]
        if governed[word].isdisjoint(governs[word]) and not any(both <= group for group in _SAME_LINKS):
            return True
    places = _places(here, there, common)
    fixed = governed.keys() | governs.keys() | _beside_be(words) & _beside_be(other)
    return _reversed(places) or _is_lone(places, here, fixed)


def _ordered(words: Sequence[str], same: Mapping[str, str]) -> tuple[list[str], dict[str, list[list[str]]]]:
    """The words without links and small words, and the words that each link governs, the nearest first."""
    found: list[str] = []
    links: dict[str, list[list[str]]] = defaultdict(list)
    governed: list[str] = []
    for word in words:
        if word in _LINKS:
            governed = [] if governed else governed  # `for at most 8 hours`: both govern the hours
            links[word].append(governed)
        elif word not in _unordered():
            word = same.get(word, word)
            if len(governed) < _REACH:
                governed.append(word)
            found.append(word)
    return found, {link: [each for each in phrases if each] for link, phrases in links.items()}


def _made_active(
    words: list[str],
    links: dict[str, list[list[str]]],
    other: Sequence[str],
    others: Mapping[str, Sequence[Sequence[str]]],
) -> bool:
    """Writes `Ben is paid by Ann` as `Ann pays Ben` where the other text names no one with `by`; true if it did."""
    agents = {phrase[0] for phrase in links.get("by", ())} - {phrase[0] for phrase in others.get("by", ())}
    first = {phrase[0] for phrases in links.values() for phrase in phrases}
    for at, agent in enumerate(words):
        if agent not in agents or agent not in other:
            continue
        verb = next((each for each in range(at - 1, -1, -1) if words[each] not in first), -1)
        if verb < 0 or words[verb] not in other:
            continue
        begin = next((each + 1 for each in range(verb - 1, -1, -1) if words[each] in first), 0)
        end = next((each for each in range(at + 1, len(words)) if words[each] in first), len(words))
        patient, between = words[begin:verb], words[verb + 1 : at]
        words[begin:end] = [*words[at:end], words[verb], *patient, *between]
        links["by"] = [phrase for phrase in links["by"] if phrase[0] != agent]
        return True
    return False


def _voice_changed(text: str, other: str) -> bool:
    """True if one text says of something what is done to it, and the other not with the same word."""
    passive = [
        sum(not re.search(rf"\b{form}\b", there) for form in _PASSIVE.findall(here))
        for here, there in ((text.lower(), other.lower()), (other.lower(), text.lower()))
    ]
    return passive[0] != passive[1]  # `removed` may be `deleted` there


def _turn(words: list[str], other: Sequence[str], links: Mapping[str, Iterable[Sequence[str]]]) -> None:
    """Writes `disk of the shop` as `shop disk` where the other text does."""
    pairs = set(pairwise(other))
    owners = {phrase[0] for phrase in links.get("of", ())}
    for at, (word, owner) in enumerate(pairwise(list(words))):
        if owner in owners and (owner, word) in pairs and (word, owner) not in pairs:
            words[at : at + 2] = owner, word


def _all(phrases: Iterable[Iterable[str]]) -> set[str]:
    return {word for words in phrases for word in words}


def _governed(links: Mapping[str, Iterable[Sequence[str]]]) -> dict[str, set[str]]:
    """The links that directly govern each word."""
    found: dict[str, set[str]] = defaultdict(set)
    for link, phrases in links.items():
        for words in phrases:
            found[words[0]].add(link)
    return found


def _places(here: Sequence[str], there: Sequence[str], common: Counter[str]) -> list[int]:
    """The places in the first text of the words that both have, in the order of the second."""
    at: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(here):
        if len(at[word]) < common[word]:
            at[word].append(place)
    return [at[word].pop(0) for word in there if at.get(word)]


def _beside_be(words: Sequence[str]) -> set[str]:
    """The words next to a form of `be`, which may change sides: `the winner was Ann`."""
    be = _stems(_BE)
    spoken = [word for word in words if word in be or word not in _unordered()]
    return {word for pair in pairwise(spoken) if not be.isdisjoint(pair) for word in pair}


def _is_lone(places: Sequence[int], here: Sequence[str], fixed: set[str]) -> bool:
    """True if a single word without a link went past two others: it describes something else there."""
    for at, place in enumerate(places):
        rest = [each for each in places if each != place]
        word = here[place]
        if rest == sorted(rest) and abs(sum(each < place for each in places) - at) > 1:
            return not (
                word in fixed or word.endswith("li") or word[-1].isdigit() or word.startswith("month")
            )
    return False


def _reversed(places: Sequence[int]) -> bool:
    """True if three of these are in falling order; those with none consist of two rising rows."""
    most, second = -1, -1  # the largest so far, and the largest that a larger one stands before
    for place in places:
        if place < second:
            return True
        if place < most:
            second = max(second, place)
        most = max(most, place)
    return False
