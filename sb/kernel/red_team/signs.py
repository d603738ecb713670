"""Signs of an attack in a text: words by concept, shapes such as chat templates, and which of them stand together."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from operator import itemgetter
from typing import NamedTuple

from sb.kernel.red_team.word_weights import Words

WINDOW, STEP = 64, 32  # words that are judged together, and words from one such window to the next
NEAR = 14  # words between two signs that belong together
MOST_SIGNS = 24  # that are judged together
# Signs that are judged, twice what prose has: of more, three quarters from the beginning and the rest from the end.
MOST_OF_TEXT = 3_000
_CACHED = 65_536  # words
_RARE = frozenset('<[{#|@?=!/_:(*"')
_text_of: Callable[[re.Match[str]], str] = itemgetter(0)
_WORDS = re.compile(r"[^\W_]+(?:['\u2019_\-][^\W_]+)*")
# Both begin with a set of characters, since `re` finds these fastest; what stands before the first one is looked at then.
_SENTENCE = re.compile(
    r"[.!?\u3002\uff01\uff1f\n](?:(?<=[.!?])(?=[\s\"”)\]]|$)|(?<=[\u3002\uff01\uff1f])"
    r"|(?<=\n)(?=[^\S\n]{0,40}(?:[\n\-*#>|{<\d]|$))|(?<=[:;,]\n))"
)
_QUOTED = re.compile(
    r"[\"“”«»„`'](?:(?<!')[^\"“”«»„`\n]{3,240}[\"“”«»„`]|(?<=')(?<!\w')[^'\n]{6,160}'(?!\w))"
)
_ADDRESS = re.compile(
    r"https?://[^\s\"'<>)]{1,2000}|(?<![\w.+\-])[\w.+\-]{1,64}+@[\w\-]{1,63}+(?:\.[\w\-]{1,63}+){1,8}"
)
_SCRIPT = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
# Concepts that weigh otherwise where who writes may give instructions.
_BY_WRITER = frozenset(("override", "persona", "reveal", "tooluse", "harmact", "send"))

# Shapes: what one of them stands for, a text that each match has in it, in lower case, and the expression.
_SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "template",
        ("<|", "[inst", "<<sys", "[/inst", "</s", "<system", "[system", "### ", "end of", "begin ", "<info", "{system"),
        (r"<\|[a-z_]{2,20}\|>|\[/?inst\]|<</?sys>>|</?(?:system|instructions?|user|assistant|information)>|\[system[^\]\n]{0,30}\]"
        r"|#{2,5} ?(?:end of |new |revised |updated |system )?(?:instructions?|system|prompt)\b"
        r"|-{2,}\s?(?:end|begin|start)[^\n]{0,30}-{2,}|\bend of (?:document|system prompt|instructions|prompt)\b"),
    ),
    ("turn", ("human:", "assistant:", "system:", '"system"', "user:"), r"(?m)^[^\S\n]{0,40}(?:human|system|assistant|user)[^\S\n]{0,8}:|\"role\"\s*:\s*\"system\""),
    (
        "comment",
        ("<!--", "display:none", "display: none", "font-size:0", "font-size: 0", "visibility:hidden", "opacity:0", "/*", "# ", "//"),
        r"<!--|display:\s?none|font-size:\s?0|visibility:\s?hidden|opacity:\s?0|(?m:^[^\S\n]{0,80}(?:#|//|/\*))",
    ),
    (
        "danger",
        ("rm -", "| sh", "|sh", "| bash", "|bash", "| zsh", "eval(", "authorized_keys", "drop table", "-enc", "/etc/shadow", "chmod", "/dev/tcp", "nc -e",
         "os.system", "--no-verify", "push --force", "mkfs", ".exe", "@-", "--no-preserve"),
        (r"\brm\s+-[a-z]*[rf]|\|\s?(?:ba|z)?sh\b|\beval\(|authorized_keys|\bdrop table\b|\s-enc\s|/etc/shadow|\bchmod\s+(?:-r\s+)?777|/dev/tcp|\bnc -e"
        r"|os\.system|--no-verify|push --force|\bmkfs|\.exe\b|@-|--no-preserve"),
    ),
    ("keyfile", (".env", ".ssh", "id_rsa", ".aws", "api_key", "/etc/passwd", ".netrc", ".npmrc", "_token"),
     r"(?<!\w)\.env\b|\.ssh/|\bid_rsa|\.aws/|api_key|/etc/passwd|\.netrc|\.npmrc|\b[a-z]+_token\b"),
    ("url", ("http", "www."), r"https?://[^\s\"'<>)]{4,300}|\bwww\.[^\s\"'<>)]{4,200}"),
    ("query", ("?", "=["), r"https?://[^\s\"'<>)]{4,200}[?&]\w{1,20}=(?:[\[{$A-Z]|(?=[\s\"'.)]|$))"),
    ("image", ("![",), r"!\[[^\]\n]{0,60}\]\(https?://[^)\n]{4,300}\)"),
    ("address", ("@",), r"[\w.+\-]{1,64}@[\w\-]{1,63}\.[\w.\-]{2,100}"),
    ("account", ("account", "konto", "compte", "cuenta", "iban", "card", "de0", "gb2"), r"\b(?:account|konto|iban|card)\b[^\n]{0,12}\d{2}|\b[a-z]{2}\d{12,30}\b"),
)  # fmt: skip


Phrases = dict[str, list[tuple[list[str], str]]]  # second word to the words from it on, and the concept
Entry = tuple[list[str], Phrases]  # concepts of a word, and phrases that begin with it


class _Entries(dict[str, Entry | None]):
    """The entries of words, each found when it is first asked for."""

    def __init__(self, find: Callable[[str], Entry | None]) -> None:
        self._find = find

    def __missing__(self, word: str) -> Entry | None:
        if len(self) >= _CACHED:
            self.clear()
        entry = self[word] = self._find(word)
        return entry


class Sign(NamedTuple):
    """One sign: the concept, where it stands in characters, and how many words stand before it."""

    concept: str
    start: int
    end: int
    word: int


class Window(NamedTuple):
    """A passage that is judged as one.

    Args:
        start, end: characters, from its first sign to its last.
        first, until: numbers of its words. features: what its signs give.
    """

    start: int
    end: int
    first: int
    until: int
    features: tuple[str, ...]


class Lexicon:
    """Finds the words of concepts.

    Args:
        data: concept to its words; a trailing * matches any ending, several words are a phrase, `text:` is searched
            inside writing without spaces.
    """

    def __init__(self, data: Mapping[str, Sequence[str]]) -> None:
        self._words: dict[str, list[str]] = {}
        self._stems: dict[str, list[str]] = {}
        self._phrases: dict[str, Phrases] = {}
        scripts: dict[str, str] = {}
        for concept, entries in data.items():
            for entry in entries:
                kind, _, text = entry.partition(":")
                if kind == "text" and text:
                    scripts[text] = concept
                elif len(parts := _WORDS.findall(entry)) > 1:
                    self._phrases.setdefault(parts[0], {}).setdefault(parts[1], []).append(
                        (parts[1:], concept)
                    )
                elif entry.endswith("*"):
                    self._stems.setdefault(entry[:-1], []).append(concept)
                else:
                    self._words.setdefault(entry, []).append(concept)
        for phrases in self._phrases.values():
            for known in phrases.values():
                known.sort(key=lambda item: -len(item[0]))
        self._lengths = sorted({len(stem) for stem in self._stems}, reverse=True)
        self._starts = frozenset(stem[:2] for stem in self._stems)
        self._scripts = scripts
        self._entries = _Entries(self._entry)

    @cached_property
    def _script(self) -> re.Pattern[str]:
        return re.compile("|".join(sorted(map(re.escape, self._scripts), key=len, reverse=True)))

    def _entry(self, word: str) -> Entry | None:
        """The concepts of a word and the phrases that begin with it; None for a word that means nothing here."""
        found = self._words.get(word)
        if found is None and word[:2] in self._starts:
            stems = (self._stems.get(word[:length]) for length in self._lengths if length <= len(word))
            found = next((stem for stem in stems if stem), None)
        phrases = self._phrases.get(word, {})
        return (found or [], phrases) if found or phrases else None

    def signs(self, lowered: str) -> tuple[list[Sign], Words]:
        """Every sign of a text in lower case, in order, and its words."""
        found = list[Sign]()
        prose = _ADDRESS.sub(_blank, lowered) if "://" in lowered or "@" in lowered else lowered
        words = list(_WORDS.finditer(prose))
        only = list(map(_text_of, words))
        last = len(only) - 1
        for number, entry in enumerate(map(self._entries.__getitem__, only)):
            if entry is None:
                continue
            start = words[number].start()
            concepts, phrases = entry
            following = phrases.get(only[number + 1], ()) if phrases and number < last else ()
            for rest, concept in following:
                until = number + 1 + len(rest)
                if only[number + 1 : until] == rest:
                    found.append(Sign(concept, start, words[until - 1].end(), number))
                    break
            if concepts:
                end = words[number].end()
                found += [Sign(concept, start, end, number) for concept in concepts]
        shapes = list(_shapes_of(lowered))
        script = not lowered.isascii() and _SCRIPT.search(lowered) is not None
        starts = [match.start() for match in words]
        if script:
            for place, match in enumerate(self._script.finditer(lowered)):
                number = bisect_right(starts, match.start()) + place
                found.append(Sign(self._scripts[match[0]], match.start(), match.end(), number))
        for concept, _, pattern in shapes:
            for match in _compiled(pattern).finditer(lowered):
                number = bisect_right(starts, match.start())
                found.append(Sign(concept, match.start(), match.end(), number))
        found.sort(key=lambda sign: (sign.word, sign.start))
        return found, Words(prose, only, starts)


def _by_character(hints: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The hints by a character that most texts do not have, "" for none: that is looked for in a tenth of the time."""
    groups = dict[str, list[str]]()
    for hint in hints:
        groups.setdefault(next((char for char in hint if char in _RARE), ""), []).append(hint)
    return tuple((char, tuple(group)) for char, group in groups.items())


_HINTS = tuple((shape, _by_character(shape[1])) for shape in _SHAPES)


def _shapes_of(lowered: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """The shapes that may be in a text."""
    for shape, groups in _HINTS:
        for char, hints in groups:
            if char in lowered and any(hint in lowered for hint in hints):
                yield shape
                break


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


@lru_cache(64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _in_quotes(text: str, signs: Sequence[Sign]) -> frozenset[int]:
    """The places of the signs that stand in a quotation."""
    spans = [match.span() for match in _QUOTED.finditer(text)]
    starts = [start for start, _ in spans]
    inside = set[int]()
    for sign in signs:
        number = bisect_left(starts, sign.start) - 1
        if number >= 0 and sign.start < spans[number][1]:
            inside.add(sign.start)
    return frozenset(inside)


@cache
def _pair(first: str, second: str) -> str:
    return f"{first}>{second}"


def windows(
    text: str, signs: Sequence[Sign], words: Words, *, trusted: bool, hidden: bool
) -> Iterator[Window]:
    """The windows of a text that have signs, with their features.

    Args:
        signs: of the text, by the words that stand before them.
        trusted: whether who wrote it may give instructions. hidden: whether invisible characters were in it.
    """
    if not signs:
        return
    if len(signs) > MOST_OF_TEXT:
        signs = [*signs[: MOST_OF_TEXT * 3 // 4], *signs[-(MOST_OF_TEXT // 4) :]]
    ends = [match.end() for match in _SENTENCE.finditer(text)]
    quoted = _in_quotes(text, signs) if len(signs) > 1 else frozenset[int]()
    sentences = [bisect_right(ends, sign.start) for sign in signs]
    places = [sign.word for sign in signs]
    last = len(words.words)
    count = max(last, places[-1] + 1)  # writing without spaces has more signs than words
    for first in range(0, max(1, count - STEP), STEP):
        until = min(first + WINDOW, count)
        low, high = bisect_left(places, first), bisect_left(places, until)
        for begin in range(low, high, MOST_SIGNS):
            inside = signs[begin : min(begin + MOST_SIGNS, high)]
            features = _features(
                inside, sentences[begin : begin + len(inside)], quoted, trusted=trusted, hidden=hidden
            )
            end = max(sign.end for sign in inside)
            yield Window(inside[0].start, end, min(first, last), min(until, last), tuple(features))


def _features(
    signs: Sequence[Sign],
    sentences: Sequence[int],
    quoted: frozenset[int],
    *,
    trusted: bool,
    hidden: bool,
) -> list[str]:
    """Features of the signs found: presence, close sequences, sentence starts and quotations."""
    who = "may" if trusted else "may_not"
    found = {who}
    if hidden:
        found.add("invisible")
    quotes = 0
    before = -1
    for number, sign in enumerate(signs):
        found.add(sign.concept)
        if sign.concept in _BY_WRITER:
            found.add(f"{who}:{sign.concept}")
        if sentences[number] != before:
            found.add(f"^{sign.concept}")
            before = sentences[number]
        quotes += sign.start in quoted
        for other in signs[number + 1 :]:
            if other.word - sign.word > NEAR:
                break
            if other.concept != sign.concept:
                found.add(_pair(sign.concept, other.concept))
    if quotes * 2 > len(signs):
        found.add("quoted")
        found |= {f"quoted:{item.concept}" for item in signs if item.concept in ("attacktalk", "override")}
    return sorted(found)
