"""Preconditions of triggers: their one shape, the keys that find them, and the test against a situation.

Only text is handled here, so that a hook can match calls without opening a memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from typing import Any

from sb.base.text import plain, shorten
from sb.base.values.frozen import frozen
from sb.memory.ranking.terms import STOP_WORDS, stem, words

PARTS = ("words", "entity", "task", "path", "tool", "error", "call")
LONGEST_PART, LONGEST_ACTION = 300, 500  # characters
LEAST_WORDS = (
    0.43  # of a precondition's words, by rarity; fitted on one half of evals/triggers, judged on the other
)
LEAST_ERROR = 0.75  # of an error's words: numbers and paths in it differ from one time to the next
_MOST_WORDS = 400  # of a situation
_NO_WORD = "[*?./\\[\\]{}!-]+"
_TOKEN = re.compile(r"[^\s'\"`;|&<>()]+")
_ROUTE = re.compile(
    r"^\s*(?:cd\s+[^\s;&|]+\s*(?:&&|;)\s*|timeout\s+(?:-\S+\s+)*\d\S*\s+|time\s+|nohup\s+)+"
)  # where a command is run
_VIEW = re.compile(r"(?:\s*2>&1|\s*\|\s*(?:tail|head)\b[^|;&]*)+\s*$")  # how much of its output is read
Rarity = Callable[[str], float]
Spec = dict[str, Any]


@frozen
class Situation:
    """A call that an agent is about to make, or a question of its session.

    Args:
        text: the words of a query, or of a call with its purpose. task: what the session is about.
        paths: files that a call reads or changes. tool: of a call. error: that a call ended with.
        call: the call in one line, by which it is known when it is tried again.
    """

    text: str = ""
    task: str = ""
    paths: tuple[str, ...] = ()
    tool: str = ""
    error: str = ""
    call: str = ""
    is_call: bool = False
    _stems: dict[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)
    _call_key: list[str] = field(default_factory=list, compare=False, repr=False)

    def stems(self, part: str) -> frozenset[str]:
        """The stems of a part, made once."""
        if part not in self._stems:
            texts = {"words": f"{self.text} {' '.join(self.paths)}", "task": self.task, "error": self.error}
            texts["entity"] = f"{texts['words']} {self.task}"
            self._stems[part] = frozenset(map(stem, words(texts[part])[:_MOST_WORDS]))
        return self._stems[part]

    def call_key(self) -> str:
        """The key of the call, made once."""
        if not self._call_key:
            self._call_key.append(call_key(self.call))
        return self._call_key[0]

    def keys(self) -> Iterator[str]:
        """The keys under which triggers that may fit are stored."""
        yield from self.stems("entity")
        for part in ("task", "error") if self.task or self.error else ():
            yield from (f"{part}:{item}" for item in self.stems(part))
        if self.call:
            yield self.call_key()
        if self.tool:
            yield from (f"tool:{self.tool.casefold()}", "tool:*")
        for path in self.paths:
            parts = path.split("/")
            yield from (f"path:{item}" for item in (*parts, f".{parts[-1].rpartition('.')[2]}", "*"))


def checked(precondition: str | Mapping[str, str]) -> dict[str, str]:
    """The parts of a precondition: free text is `words`; of several parts all have to hold; an empty one is left out.

    Raises:
        ValueError: a part is unknown, says nothing, is too long, or fits everything.
    """
    given = {"words": precondition} if isinstance(precondition, str) else dict(precondition)
    given = {name: value for name, value in given.items() if value != ""}
    if unknown := [name for name in given if name not in PARTS]:
        raise ValueError(f"precondition: no such part: {shorten(str(unknown[0]), 40)!r} ({', '.join(PARTS)})")
    if not given:
        raise ValueError("precondition: empty; give words, or a path, tool, error, entity or task")
    found = {}
    for name in PARTS:
        if name not in given:
            continue
        value = plain(str(given[name]), one_line=True).strip()
        if len(value) > LONGEST_PART:
            raise ValueError(f"precondition: {name} has {len(value)} characters, at most {LONGEST_PART}")
        if name in ("path", "tool"):
            if not re.sub(_NO_WORD, "", value):
                raise ValueError(f"precondition: {name} {value!r} fits everything; name a part of it")
        elif name == "call":
            if not any(re.sub(_NO_WORD, "", token) for token in call_tokens(value)):
                raise ValueError(f"precondition: call {value!r} fits everything; give the call")
        elif not _content(value):
            raise ValueError(
                f"precondition: {name} {shorten(value, 40)!r} has no word that tells situations apart"
            )
        found[name] = value
    return found


def described(parts: Mapping[str, str]) -> str:
    """A precondition in one line."""
    return "; ".join(value if name == "words" else f"{name} {value}" for name, value in parts.items())


def prepared(parts: Mapping[str, str], rarity: Rarity) -> tuple[Spec, dict[str, float]]:
    """The spec that a trigger is matched by, and the keys that find it with their share of its weight.

    Args:
        rarity: how much a word tells.
    """
    spec: Spec = {"parts": dict(parts)}
    for name in ("words", "error", "entity", "task"):
        if name in parts:
            weights = {stem(word): rarity(word) for word in _content(parts[name])}
            total = sum(weights.values())
            spec[name] = {item: weight / total for item, weight in weights.items()}
    if "call" in parts:
        spec["call"] = call_key(parts["call"])
        return spec, {spec["call"]: 1.0}
    for name in (
        "path",
        "error",
        "entity",
        "words",
        "task",
        "tool",
    ):  # the part that fits the fewest situations
        if name in parts:
            return spec, _keys(name, parts[name], spec)
    return spec, {}


def _keys(name: str, value: str, spec: Spec) -> dict[str, float]:
    if name in spec:
        prefix = f"{name}:" if name in ("task", "error") else ""
        return {f"{prefix}{item}": share for item, share in spec[name].items()}
    if name == "tool":
        return {"tool:*" if re.search(r"[*?\[]", value) else f"tool:{value.casefold()}": 1.0}
    fixed = [part for part in value.split("/") if part and not re.search(r"[*?\[]", part)]
    if fixed:
        return {f"path:{fixed[-1]}": 1.0}
    ending = re.fullmatch(r".*\.(\w+)", value)
    return {f"path:.{ending[1]}" if ending else "path:*": 1.0}


def score(spec: Spec, situation: Situation) -> float:
    """Score of a situation, from 0 to 1; 0 where a part does not hold. Of words it is the share that is there."""
    parts = spec["parts"]
    if "tool" in parts and not fnmatchcase(situation.tool.casefold(), parts["tool"].casefold()):
        return 0.0
    if "path" in parts and not any(path_fits(parts["path"], path) for path in situation.paths):
        return 0.0
    if "entity" in parts and not spec["entity"].keys() <= situation.stems("entity"):
        return 0.0
    if "call" in parts and (
        spec["call"] != situation.call_key() or spec.get("worked") == bare_call(situation.call)
    ):
        return 0.0
    for name, least in (("error", LEAST_ERROR), ("task", LEAST_WORDS)):
        if name in parts and _share(spec[name], situation.stems(name)) < least:
            return 0.0
    return _share(spec["words"], situation.stems("words")) if "words" in parts else 1.0


def path_fits(pattern: str, path: str) -> bool:
    """True if a path, or its end from one of its folders on, fits a pattern with `*`, `?` and `**`."""
    wanted = (f"{pattern}**" if pattern.endswith("/") else pattern).removeprefix("./").split("/")
    parts = path.split("/")
    if pattern.startswith("/"):
        return _segments_fit(wanted, parts)
    return any(_segments_fit(wanted, parts[start:]) for start in range(len(parts)))


def _segments_fit(wanted: list[str], parts: list[str]) -> bool:
    """Match folder by folder: `**` stands for any number of them. Takes the product of both lengths at most."""
    reached = {0}
    for pattern in wanted:
        if pattern == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], pattern)}
        if not reached:
            return False
    return len(parts) in reached


def bare_call(line: str) -> str:
    """A call's line without where it is run, how long it may take, and how much of its output is read."""
    return " ".join((_VIEW.sub("", _ROUTE.sub("", line)) or line).split())


def call_tokens(line: str) -> frozenset[str]:
    """The tokens of a call."""
    return frozenset(token.removeprefix("./") for token in _TOKEN.findall(bare_call(line))) - {""}


def call_key(line: str) -> str:
    """The key of a call: the same where it is tried again, in whatever order its tokens are."""
    return f"call:{' '.join(sorted(call_tokens(line)))}"


def overlap(one: str, other: str) -> float:
    """The share of the tokens of two calls that both have."""
    first, second = call_tokens(one), call_tokens(other)
    return len(first & second) / len(first | second) if first or second else 0.0


def _share(wanted: Mapping[str, float], there: Iterable[str]) -> float:
    known = frozenset(there)
    return sum(share for item, share in wanted.items() if item in known)


def _content(text: str) -> list[str]:
    """The words of a text that tell situations apart, each once."""
    found = {stem(word): word for word in reversed(words(text)) if word not in STOP_WORDS and len(word) > 1}
    return list(found.values())
