"""Fit the red-team detector: weights on the texts to fit, the threshold on those to choose with; writes `model.json`.

Run `python -m evals.redteam.fit`. The same texts give the same model; a test fits it again.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from evals.redteam.corpus import BENIGN, Text, digest_of_texts, part_of
from sb.kernel.attacks.detector import Model, check_with, read_windows
from sb.kernel.attacks.hidden_texts import hidden_texts
from sb.kernel.attacks.normalise import plain_text
from sb.kernel.attacks.signs import Lexicon
from sb.kernel.attacks.verdict import MAY_INSTRUCT, Category, Origin
from sb.kernel.attacks.word_weights import WordWeights, features_of

MODEL = Path(__file__).parents[2] / "sb" / "kernel" / "attacks" / "model.json"
FALSE_ALARMS = 0.01  # of the look-alikes to choose the threshold with, and of the documentation, at most
_LOOK_ALIKES = ("own", "bastioncorpus")  # sources of benign texts that were written to look like attacks
_LEAST_TEXTS = 2  # that have a sign
_LEAST_WORD_TEXTS, _LEAST_SOURCES = 4, 3  # that have a word: one of a single source says what that is about
_STEPS, _RATE = 200, 0.5
_PENALTY, _CLASS_PENALTY = 1e-3, 3e-3
_OWN = 5.0  # what a written look-alike counts, since these are the nearest
_LEAST_WEIGHT, _LEAST_CLASS_WEIGHT = 0.02, 0.05
_DIGITS = 3
_WORD = "word "  # before the name of a word's feature
Features = Mapping[str, int]  # with how often each stands in a window


class Table(NamedTuple):
    """Windows by features, sparse: for each entry its row, its column and its value."""

    rows: Any
    columns: Any
    values: Any
    height: int
    width: int


def lexicon() -> dict[str, list[str]]:
    """Concept to its words, from lexicon.yaml."""
    document = yaml.safe_load((Path(__file__).parent / "lexicon.yaml").read_text(encoding="utf-8"))
    return {concept: list(dict.fromkeys(_entries(lines))) for concept, lines in document.items()}


def _entries(lines: Iterable[Any]) -> Iterable[str]:
    for line in lines:
        if isinstance(line, dict):
            yield from (f"text:{entry}".lower() for entry in line["text"])
        else:
            yield from (entry.strip().lower() for entry in str(line).split(",") if entry.strip())


def windows_of(signs: Lexicon, one: Text) -> list[Features]:
    """The features of each window of a text, and of the texts that are encoded in it."""
    plain = plain_text(one.text)
    texts = [plain, *(plain_text(hidden.text) for hidden in hidden_texts(plain.text))]
    return list(chain.from_iterable(_windows(signs, text, one.origin in MAY_INSTRUCT) for text in texts))


def _windows(signs: Lexicon, plain: Any, trusted: bool) -> Iterator[Features]:
    words, parts = read_windows(signs, plain, trusted)
    first = {number for number, _ in words.sentence_starts()}
    for window in parts:
        inside = range(len(words.words))[words.between(window.start, window.end)]
        names = (features_of(words.words[number], first=number in first) for number in inside)
        yield Counter(window.features) + Counter(_WORD + name for name in chain.from_iterable(names))


def feature_names(texts: Sequence[Text], windows: Sequence[Sequence[Features]]) -> dict[str, int]:
    """The features that get a weight, each with its number."""
    seen = Counter[str]()
    sources = defaultdict[str, set[str]](set)
    for one, parts in zip(texts, windows, strict=True):
        for name in set(chain.from_iterable(parts)):
            seen[name] += 1
            sources[name].add(one.source)
    chosen = [
        name
        for name, count in sorted(seen.items())
        if (count >= _LEAST_WORD_TEXTS and len(sources[name]) >= _LEAST_SOURCES)
        or (count >= _LEAST_TEXTS and not name.startswith(_WORD))
    ]
    return {name: number for number, name in enumerate(chosen)}


def table_of(windows: Sequence[Features], names: Mapping[str, int]) -> Table:
    """The windows as a table; features without a number are left out."""
    entries = [
        (row, names[name], count)
        for row, features in enumerate(windows)
        for name, count in features.items()
        if name in names
    ]
    rows, columns, values = (np.array(list(column)) for column in zip(*entries, strict=True))
    return Table(rows, columns, values.astype(np.float64), len(windows), len(names))


def logistic(table: Table, wanted: Any, weights: Any, penalty: float) -> tuple[Any, float]:
    """Coefficients and bias of a logistic regression with an L2 penalty, by Adam on all rows at once."""
    value, first, second = (np.zeros(table.width + 1) for _ in range(3))
    for step in range(1, _STEPS + 1):
        products = table.values * value[table.columns]
        total = np.bincount(table.rows, products, table.height) + value[-1]
        error = (1 / (1 + np.exp(-np.clip(total, -30, 30))) - wanted) * weights
        slope = np.bincount(table.columns, table.values * error[table.rows], table.width)
        slope = np.append(slope + penalty * value[:-1], error.sum())
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        corrected = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        value -= _RATE * corrected / math.sqrt(step)
    return value[:-1], float(value[-1])


def fit(texts: Sequence[Text]) -> dict[str, Any]:
    """The model's data but for its threshold.

    Of an attack the window with most features is taken, of a look-alike each. Both kinds count the same together.
    """
    words = lexicon()
    windows = [windows_of(Lexicon(words), one) for one in texts]
    names = feature_names(texts, windows)
    rows = list[tuple[Features, str, float]]()
    for one, parts in zip(texts, windows, strict=True):
        if one.attacks and parts:
            rows.append((max(parts, key=len), one.label, 1.0))
        elif not one.attacks:
            weight = (_OWN if one.source == "own" else 1.0) / math.sqrt(len(parts) or 1)
            rows += [(features, BENIGN, weight) for features in parts]
    table = table_of([features for features, _, _ in rows], names)
    wanted = np.array([label != BENIGN for _, label, _ in rows], dtype=np.float64)
    weights = np.array([weight for _, _, weight in rows])
    weights *= np.where(wanted == 1, 1 / (weights @ wanted), 1 / (weights @ (1 - wanted)))
    value, bias = logistic(table, wanted, weights / 2, _PENALTY)
    attacks = [(features, label) for features, label, _ in rows if label != BENIGN]
    return {
        "bias": round(bias, _DIGITS),
        "weights": _rounded(names, value, _LEAST_WEIGHT, words=False),
        "words": _rounded(names, value, _LEAST_WEIGHT, words=True),
        "classes": _classes(attacks),
        "lexicon": words,
    }


def _classes(attacks: Sequence[tuple[Features, str]]) -> dict[str, dict[str, float]]:
    """The weights of signs for each class, against the other classes."""
    seen = Counter(name for features, _ in attacks for name in features if not name.startswith(_WORD))
    names = [name for name, count in sorted(seen.items()) if count >= _LEAST_TEXTS]
    numbers = {name: number for number, name in enumerate(names)}
    table = table_of([features for features, _ in attacks], numbers)
    classes = {}
    for category in Category:
        right = np.array([label == category for _, label in attacks], dtype=np.float64)
        value, base = logistic(table, right, np.full(len(attacks), 1 / len(attacks)), _CLASS_PENALTY)
        kept = _rounded(numbers, value, _LEAST_CLASS_WEIGHT, words=False)
        classes[str(category)] = {"": round(base, _DIGITS)} | kept
    return classes


def _rounded(names: Mapping[str, int], value: Any, least: float, *, words: bool) -> dict[str, float]:
    return {
        name.removeprefix(_WORD): round(float(value[number]), _DIGITS)
        for name, number in names.items()
        if abs(value[number]) >= least and name.startswith(_WORD) is words
    }


def for_both(texts: Sequence[Text]) -> list[Text]:
    """The texts, and those that are the same thing from the other side.

    Who may give no instructions gives none of these either; what a tool may say, a user may.
    """
    more = [one._replace(origin="tool") for one in texts if one.attacks and one.origin == "user"]
    more += [
        one._replace(origin="user")
        for one in texts
        if one.origin != "user" and one.label in (BENIGN, Category.INJECTION)
    ]
    return [*texts, *more]


def model_of(data: Mapping[str, Any], threshold: float) -> Model:
    """The detector's model with this threshold."""
    both = {True: threshold, False: threshold}
    words = WordWeights(data["words"])
    return Model(Lexicon(data["lexicon"]), data["weights"], words, data["classes"], data["bias"], both)


def chosen_threshold(data: Mapping[str, Any], texts: Iterable[Text], *, may_instruct: bool) -> float:
    """The lowest score, in thousandths, that at most `FALSE_ALARMS` of the look-alikes and of the documentation reach.

    Args:
        may_instruct: of texts by those who may give instructions; they paste documentation too.
    """
    model = model_of(data, 1.0)
    origin = Origin.USER if may_instruct else Origin.TOOL
    scores: tuple[list[float], list[float]] = ([], [])
    for one in texts:
        written = one.source in _LOOK_ALIKES
        if not one.attacks and not (written and (one.origin in MAY_INSTRUCT) is not may_instruct):
            scores[written].append(check_with(model, one.text, origin).score)
    highest_allowed = max(sorted(group, reverse=True)[round(FALSE_ALARMS * len(group))] for group in scores)
    return math.floor(highest_allowed * 1000 + 1) / 1000


def fitted() -> dict[str, Any]:
    """The model's data, as it is written."""
    data = fit(for_both(part_of("fit")))
    choosing = part_of("choose")
    threshold = {
        "may": chosen_threshold(data, choosing, may_instruct=True),
        "may_not": chosen_threshold(data, choosing, may_instruct=False),
    }
    return {"threshold": threshold, "made_of": digest_of_texts()} | data


def main() -> None:
    """Fit and write the model."""
    data = fitted()
    MODEL.write_text(json.dumps(data, ensure_ascii=False, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    print(
        f"{len(data['weights'])} weights of signs, {len(data['words'])} of words, threshold {data['threshold']}"
    )


if __name__ == "__main__":
    main()
