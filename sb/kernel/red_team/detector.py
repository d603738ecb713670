"""The red-team detector: `check` tells texts that read like attacks, with class and position.

A text is freed of its disguise, its signs are found (`signs`), and a linear model weighs which of them stand together, and which
words and pairs of words (`word_weights`). Lexicon and weights are data, `model.json`, which `python -m evals.redteam.fit` writes; docs/reference/red-team.md has what it finds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import repeat
from typing import NamedTuple

from sb.kernel.red_team.hidden_texts import hidden_texts
from sb.kernel.red_team.normalise import Plain, plain_text
from sb.kernel.red_team.signs import Lexicon, Window, windows
from sb.kernel.red_team.verdict import MAY_INSTRUCT, AttackFinding, AttackVerdict, Category
from sb.kernel.red_team.word_weights import Words, WordWeights

# Characters that are read, so that the worst text takes a tenth of a second: of a longer text three quarters from its
# beginning and the rest from its end.
LONGEST = 100_000
_DEEPEST = 3  # encodings inside one another
_MOST_FINDINGS = 20
_SIGNS_NAMED = 2
_LEAST_WORDS = 8  # that a window counts as: a text of two words proves little


class Model(NamedTuple):
    """Lexicon and weights.

    Args:
        weights: of a feature, for being an attack. words: of words, for the same. bias: of the sum.
        classes: of a feature, for each class.
        threshold: the score from which a text is flagged, by whether its writer may give instructions.
    """

    lexicon: Lexicon
    weights: Mapping[str, float]
    words: WordWeights
    classes: Mapping[str, Mapping[str, float]]
    bias: float
    threshold: Mapping[bool, float]


@cache
def load_model() -> Model:
    """The model of this version."""
    data = json.loads(files(__package__).joinpath("model.json").read_text(encoding="utf-8"))
    threshold = {True: data["threshold"]["may"], False: data["threshold"]["may_not"]}
    words = WordWeights(data["words"], data["pairs"])
    return Model(Lexicon(data["lexicon"]), data["weights"], words, data["classes"], data["bias"], threshold)


def check(text: str, *, origin: str = "tool") -> AttackVerdict:
    """Judge a text.

    Args:
        origin: where it comes from, one of `Origin`; any other name counts as one that may give no instructions.

    Returns:
        The verdict; `complete` is False where the text is too long to be read whole.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}")
    return check_with(load_model(), text, origin)


def check_with(model: Model, text: str, origin: str) -> AttackVerdict:
    """Judge a text by another model, see `check`."""
    trusted = origin in MAY_INSTRUCT
    found = list[AttackFinding]()
    highest = 0.0
    for part, offset in _parts(text):
        for score, finding in _judged(model, part, trusted, 0):
            highest = max(highest, score)
            if finding is not None:
                found.append(_moved(finding, offset))
    found.sort(key=lambda one: -one.score)
    findings = sorted(_apart(found), key=lambda item: item.start)
    categories = tuple(
        dict.fromkeys(item.category for item in sorted(findings, key=lambda item: -item.score))
    )
    read = min(len(text), _longest(text))
    return AttackVerdict(bool(findings), highest, categories, tuple(findings), read == len(text), read)


def _longest(text: str) -> int:
    """The number of characters that are read: fewer of a text with others than ASCII, which take longer."""
    return LONGEST if text.isascii() else LONGEST * 2 // 3


def _parts(text: str) -> Iterator[tuple[str, int]]:
    longest = _longest(text)
    if len(text) <= longest:
        yield text, 0
        return
    tail = longest // 4
    yield text[: longest - tail], 0
    yield text[-tail:], len(text) - tail


def _judged(
    model: Model, text: str, trusted: bool, depth: int
) -> Iterator[tuple[float, AttackFinding | None]]:
    """The score of each window of a text and of texts encoded in it, with a finding from the threshold on."""
    plain = plain_text(text)
    threshold = model.threshold[trusted]
    words, parts = read_windows(model.lexicon, plain, trusted)
    sums = model.words.running_sums(words)
    for window in parts:
        score = _score(model, window, (sums[window.until] - sums[window.first]) * share_of_words(window))
        finding = None
        if score >= threshold:
            start, end = plain.original(window.start), plain.original(max(window.end - 1, 0)) + 1
            finding = AttackFinding(start, end, _rule(model, window), _category(model, window), score)
        yield score, finding
    if depth == _DEEPEST:
        return
    for hidden in hidden_texts(plain.text):
        for score, inner in _judged(model, hidden.text, trusted, depth + 1):
            finding = None
            if inner is not None:
                start = plain.original(hidden.start)
                end = plain.original(max(hidden.end - 1, 0)) + 1
                finding = AttackFinding(start, end, f"{hidden.how}: {inner.rule}", inner.category, score)
            yield score, finding


def read_windows(lexicon: Lexicon, plain: Plain, trusted: bool) -> tuple[Words, Iterator[Window]]:
    """The words of a text without disguise, and its windows."""
    lowered = plain.text.replace("\u0130", "I").lower()  # the one letter that has two in lower case
    signs, words = lexicon.signs(lowered)
    return words, windows(lowered, signs, words, trusted=trusted, hidden=plain.hidden > 0)


def share_of_words(window: Window) -> float:
    """By what the weights of a window's words are multiplied, so that many words count more than few, but not by as much."""
    return 1 / math.sqrt(max(window.until - window.first, _LEAST_WORDS))


def _score(model: Model, window: Window, words: float) -> float:
    total = model.bias + words + sum(map(model.weights.get, window.features, repeat(0.0)))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def _rule(model: Model, window: Window) -> str:
    """The signs that weighed most."""
    strongest = sorted(((model.weights.get(name, 0.0), name) for name in window.features), reverse=True)
    return "+".join(name for _, name in strongest[:_SIGNS_NAMED])


def _category(model: Model, window: Window) -> Category:
    sums = {
        name: weights.get("", 0.0) + sum(map(weights.get, window.features, repeat(0.0)))
        for name, weights in model.classes.items()
    }
    return Category(max(sums, key=lambda name: sums[name]))


def _moved(finding: AttackFinding, offset: int) -> AttackFinding:
    if not offset:
        return finding
    return AttackFinding(
        finding.start + offset, finding.end + offset, finding.rule, finding.category, finding.score
    )


def _apart(found: list[AttackFinding]) -> list[AttackFinding]:
    """The findings of highest score that do not overlap, at most `_MOST_FINDINGS`."""
    findings = list[AttackFinding]()
    for item in found:
        if len(findings) == _MOST_FINDINGS:
            break
        if all(item.end <= other.start or other.end <= item.start for other in findings):
            findings.append(item)
    return findings
