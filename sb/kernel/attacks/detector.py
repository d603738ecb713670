"""The red-team detector: `check` says whether a text reads like an attack, of which class, and where.

A text is freed of its disguise, its signs are found (`signs`), and a linear model weighs which of them stand together. Lexicon
and weights are data, `model.json`, which `python -m evals.redteam fit` writes; docs/reference/red-team.md has what it finds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from sb.kernel.attacks.hidden_texts import hidden_texts
from sb.kernel.attacks.normalise import Plain, plain_text
from sb.kernel.attacks.signs import Lexicon, Window, windows
from sb.kernel.attacks.verdict import MAY_INSTRUCT, AttackFinding, AttackVerdict, Category

LONGEST = 1_000_000  # characters that are read, of a longer text three quarters from its beginning and the rest from its end
_TAIL = LONGEST // 4
_DEEPEST = 3  # encodings inside one another
_MOST_FINDINGS = 20
_SIGNS_NAMED = 2
_NAMED_FROM = 0.3  # score


class Model(NamedTuple):
    """Lexicon and weights.

    Args:
        weights: of a feature, for being an attack. classes: of a feature, for each class. bias: of the sum.
        threshold: the score from which a text is flagged, by whether its writer may give instructions.
    """

    lexicon: Lexicon
    weights: Mapping[str, float]
    classes: Mapping[str, Mapping[str, float]]
    bias: float
    threshold: Mapping[bool, float]


@cache
def load_model() -> Model:
    """The model of this version."""
    data = json.loads(files(__package__).joinpath("model.json").read_text(encoding="utf-8"))
    threshold = {True: data["threshold"]["may"], False: data["threshold"]["may_not"]}
    return Model(Lexicon(data["lexicon"]), data["weights"], data["classes"], data["bias"], threshold)


def check(text: str, *, origin: str = "tool") -> AttackVerdict:
    """Judge a text.

    Args:
        origin: where it comes from, one of `Origin`; any other name counts as one that may give no instructions.

    Returns:
        The verdict; `complete` is False where the text is too long to be read whole.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}")
    trusted = origin in MAY_INSTRUCT
    model = load_model()
    found = list[AttackFinding]()
    highest = 0.0
    for part, offset in _parts(text):
        for one in judge_part(model, part, trusted, 0):
            highest = max(highest, one.score)
            if one.score >= model.threshold[trusted]:
                found.append(_moved(one, offset))
    found.sort(key=lambda one: -one.score)
    kept = sorted(_apart(found), key=lambda one: one.start)
    categories = tuple(dict.fromkeys(one.category for one in sorted(kept, key=lambda one: -one.score)))
    read = min(len(text), LONGEST)
    return AttackVerdict(bool(kept), highest, categories, tuple(kept), read == len(text), read)


def _parts(text: str) -> Iterator[tuple[str, int]]:
    if len(text) <= LONGEST:
        yield text, 0
        return
    yield text[: LONGEST - _TAIL], 0
    yield text[-_TAIL:], len(text) - _TAIL


def judge_part(model: Model, text: str, trusted: bool, depth: int) -> Iterator[AttackFinding]:
    """What a text and the texts encoded in it score, window by window."""
    plain = plain_text(text)
    for window in text_windows(model, plain, trusted):
        score, rule = _weighed(model, window)
        if score > 0:
            start, end = plain.original(window.start), plain.original(max(window.end - 1, 0)) + 1
            yield AttackFinding(start, end, rule, _category(model, window), score)
    if depth == _DEEPEST:
        return
    for one in hidden_texts(plain.text):
        start, end = plain.original(one.start), plain.original(max(one.end - 1, 0)) + 1
        for inner in judge_part(model, one.text, trusted, depth + 1):
            yield AttackFinding(start, end, f"{one.how}: {inner.rule}", inner.category, inner.score)


def text_windows(model: Model, plain: Plain, trusted: bool) -> Iterator[Window]:
    """The windows of a text without disguise."""
    lowered = plain.text.lower()
    if len(lowered) != len(plain.text):  # a few letters of Turkish and others have two in lower case
        lowered = "".join(char if len(char.lower()) != 1 else char.lower() for char in plain.text)
    signs = model.lexicon.signs(plain.text, lowered)
    return windows(lowered, signs, trusted=trusted, hidden=plain.hidden > 0)


def _weighed(model: Model, window: Window) -> tuple[float, str]:
    """The score of a window, and the signs that weighed most."""
    weight = model.weights.get
    total = model.bias + sum(weight(name, 0.0) for name in window.features)
    score = 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
    if score < _NAMED_FROM:
        return score, ""
    strongest = sorted(((weight(name, 0.0), name) for name in window.features), reverse=True)[:_SIGNS_NAMED]
    return score, "+".join(name for _, name in strongest)


def _category(model: Model, window: Window) -> Category:
    sums = {
        name: weights.get("", 0.0) + sum(weights.get(feature, 0.0) for feature in window.features)
        for name, weights in model.classes.items()
    }
    return Category(max(sums, key=lambda name: sums[name]))


def _moved(one: AttackFinding, offset: int) -> AttackFinding:
    if not offset:
        return one
    return AttackFinding(one.start + offset, one.end + offset, one.rule, one.category, one.score)


def _apart(found: list[AttackFinding]) -> list[AttackFinding]:
    """The findings of highest score that do not overlap, at most `_MOST_FINDINGS`."""
    kept = list[AttackFinding]()
    for one in found:
        if len(kept) == _MOST_FINDINGS:
            break
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return kept
