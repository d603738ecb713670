"""Fit the red-team detector: weights on the texts to fit, the threshold on those to choose with; writes `model.json`.

Run `REDTEAM_TEXTS=FOLDER python -m evals.redteam.fit`, where FOLDER is what `evals.redteam.gather` made. The same texts give the
same model; a test fits it again.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from evals.redteam.corpus import BENIGN, Text, digest_of_texts, gathered, part_of
from sb.kernel.red_team.detector import Model, check_with, read_windows, share_of_words
from sb.kernel.red_team.hidden_texts import hidden_texts
from sb.kernel.red_team.normalise import plain_text
from sb.kernel.red_team.signs import Lexicon
from sb.kernel.red_team.verdict import MAY_INSTRUCT, Category
from sb.kernel.red_team.word_weights import WordWeights, features_of

MODEL = Path(__file__).parents[2] / "sb" / "kernel" / "red_team" / "model.json"
FALSE_ALARMS = 0.01  # of each kind of benign texts to choose the threshold with, at most
_LEAST_OF_KIND = 100  # texts that say anything of a kind
_LOOK_ALIKES = ("own", "bastioncorpus")  # sources of benign texts that were written to look like attacks
_LEAST_TEXTS = 2  # that have a sign
_LEAST_WORD_TEXTS, _LEAST_SOURCES = (
    3,
    2,
)  # that have a word or a pair: one of a single source says what that is about
_ROUNDS = 2  # of fitting: the second takes of each attack the window that the first thinks worst
_STEPS = 60
_PENALTY, _CLASS_PENALTY = 5e-5, 3e-3
_SIGN = 0.35  # what a sign counts where one of sixty words counts an eighth
_SOURCE_POWER = 0.3  # a source of a thousand texts counts as much as eight, not ten, of a hundred
_NEAREST = {
    "own": 8.0,
    "bastioncorpus": 8.0,
    "dhvaniguard": 3.0,
    "spikee": 3.0,
}  # what a look-alike of these counts
# What a benign text of a kind counts: those that people write are hardest to tell from attacks.
_OF_KIND = {"chatlog": 3.0, "chat": 2.0, "people": 2.0, "security": 2.0, "code": 2.0}
# What an attack in `languages.txt` counts, since benign texts of its language outnumber it by far.
_OF_LANGUAGE = 12.0
_WINDOW_POWER = 0.3  # a benign text of a thousand windows counts as much as eight
_CARRIED_SHARE, _CARRIED_LANGUAGES = (
    0.6,
    2,
)  # of attacks in data that are also put into a benign text, and how often one of languages.txt
_LEADS = ("", "# ", "// ", "> ", "- ", "<!-- ", "")  # what stands before an attack in it
_LEAST_WEIGHT, _LEAST_PAIR, _LEAST_CLASS_WEIGHT = 0.09, 0.2, 0.05
_DIGITS = 2
_WORD, _PAIR = "word ", "pair "  # before the name of a feature of words
Features = Mapping[str, float]  # with what each counts in a window


class Table:
    """Windows by features, sparse, by rows and by columns.

    Args:
        rows: of each window, the features with a number and what they count. names: feature to number.
    """

    def __init__(self, rows: Sequence[Features], names: Mapping[str, int]) -> None:
        known = [
            [(names[name], value) for name, value in features.items() if name in names] for features in rows
        ]
        sizes = np.fromiter(map(len, known), np.int64, len(rows))
        entries = np.array(list(chain.from_iterable(known)), dtype=np.float64).reshape(-1, 2)
        self._rows = np.repeat(np.arange(len(rows)), sizes)
        self._columns, self._values = entries[:, 0].astype(np.int64), entries[:, 1].copy()
        self.height, self.width = len(rows), len(names)

    def times(self, weights: Any) -> Any:
        """The sum of each window."""
        return np.bincount(self._rows, self._values * weights[self._columns], self.height)

    def back(self, errors: Any) -> Any:
        """The sum of each feature over the windows that have it."""
        return np.bincount(self._columns, self._values * errors[self._rows], self.width)


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


def windows_of(signs: Lexicon, sample: Text) -> list[Features]:
    """The features of each window of a text, and of the texts that are encoded in it."""
    plain = plain_text(sample.text)
    texts = [plain, *(plain_text(hidden.text) for hidden in hidden_texts(plain.text))]
    return list(chain.from_iterable(_windows(signs, text, sample.origin in MAY_INSTRUCT) for text in texts))


def _windows(signs: Lexicon, plain: Any, trusted: bool) -> Iterator[Features]:
    words, parts = read_windows(signs, plain, trusted)
    starts = {number for number, _ in words.sentence_starts()}
    for window in parts:
        share = share_of_words(window)
        features = defaultdict[str, float](float, dict.fromkeys(window.features, _SIGN))
        before = ""
        for number in range(window.first, window.until):
            word = words.words[number]
            for name in features_of(word, first=number in starts):
                features[_WORD + name] += share
            if before:
                features[f"{_PAIR}{before} {word}"] += share
            before = word
        yield dict(features)


def feature_names(texts: Sequence[Text], rows: Sequence[tuple[int, Features]]) -> dict[str, int]:
    """The features that get a weight, each with its number."""
    seen = Counter[str]()
    sources = defaultdict[str, set[str]](set)
    for owner, features in rows:
        for name in features:
            seen[name] += 1
            sources[name].add(texts[owner].source)
    chosen = [
        name
        for name, count in sorted(seen.items())
        if (count >= _LEAST_WORD_TEXTS and len(sources[name]) >= _LEAST_SOURCES)
        or (count >= _LEAST_TEXTS and not name.startswith((_WORD, _PAIR)))
    ]
    return {name: number for number, name in enumerate(chosen)}


def logistic(table: Table, wanted: Any, weights: Any, penalty: float, steps: int) -> tuple[Any, float]:
    """Coefficients and bias of a logistic regression with an L2 penalty, by L-BFGS with ten steps remembered.

    Args:
        wanted: 1 or 0 for each row. weights: what the rows count, one together.
    """
    value = np.zeros(table.width + 1)
    past = list[tuple[Any, Any, float]]()

    def loss(value: Any) -> tuple[float, Any]:
        total = np.clip(table.times(value[:-1]) + value[-1], -30, 30)
        error = (1 / (1 + np.exp(-total)) - wanted) * weights
        slope = np.append(table.back(error) + penalty * value[:-1], error.sum())
        cost = weights @ (np.logaddexp(0, total) - wanted * total) + penalty / 2 * (value[:-1] @ value[:-1])
        return float(cost), slope

    cost, slope = loss(value)
    for _ in range(steps):
        way = _way_down(slope, past)
        length, promised = 1.0 if past else 1 / np.abs(slope).sum(), float(slope @ way)
        for _ in range(20):
            new_cost, new_slope = loss(value + length * way)
            if new_cost <= cost + 1e-4 * length * promised:
                break
            length /= 2
        moved, turned = length * way, new_slope - slope
        if (curve := float(moved @ turned)) > 1e-12:
            past = [*past[-9:], (moved, turned, 1 / curve)]
        value, cost, slope = value + moved, new_cost, new_slope
    return value[:-1], float(value[-1])


def _way_down(slope: Any, past: Sequence[tuple[Any, Any, float]]) -> Any:
    """The direction that L-BFGS takes from here."""
    way, shares = -slope, list[float]()
    for moved, turned, inverse in reversed(past):
        shares.append(inverse * float(moved @ way))
        way = way - shares[-1] * turned
    if past:
        moved, turned, inverse = past[-1]
        way = way / (inverse * float(turned @ turned))
    for (moved, turned, inverse), share in zip(past, reversed(shares), strict=True):
        way = way + (share - inverse * float(turned @ way)) * moved
    return way


def fit(texts: Sequence[Text]) -> dict[str, Any]:
    """The model's data but for its threshold.

    Of an attack the worst window is taken in the end, of a look-alike each. Both kinds count the same together.
    """
    words = lexicon()
    signs = Lexicon(words)
    rows = [(owner, features) for owner, text in enumerate(texts) for features in windows_of(signs, text)]
    names = feature_names(texts, rows)
    table = Table([features for _, features in rows], names)
    owners = np.array([owner for owner, _ in rows])
    attacks = np.array([text.attacks for text in texts])[owners]
    counts = _counts(texts)[owners]
    taken = np.ones(len(rows), dtype=bool)
    for _ in range(_ROUNDS):
        inside = np.maximum(np.bincount(owners[taken], minlength=len(texts))[owners], 1)
        weights = counts * taken / np.where(attacks, inside, inside**_WINDOW_POWER)
        weights *= np.where(attacks, 1 / (weights @ attacks), 1 / (weights @ ~attacks)) / 2
        value, bias = logistic(table, attacks.astype(float), weights, _PENALTY, _STEPS)
        scores = table.times(value)
        worst = np.full(len(texts), -np.inf)
        np.maximum.at(worst, owners, scores)
        taken = ~attacks | (scores >= worst[owners])
    chosen = [(rows[row][1], texts[owners[row]].label) for row in np.flatnonzero(taken & attacks)]
    return {
        "bias": round(bias, _DIGITS),
        "weights": _rounded(names, value * _SIGN, "", _LEAST_WEIGHT * _SIGN),
        "words": _rounded(names, value, _WORD, _LEAST_WEIGHT),
        "pairs": _rounded(names, value, _PAIR, _LEAST_PAIR),
        "classes": _classes(chosen),
        "lexicon": words,
    }


def _counts(texts: Sequence[Text]) -> Any:
    """The weight of each text: less where its source has many, more for a look-alike of the nearest kind."""
    sizes = Counter((text.source, text.attacks) for text in texts)
    return np.array(
        [sizes[text.source, text.attacks] ** -_SOURCE_POWER * _importance(text) for text in texts]
    )


def _importance(sample: Text) -> float:
    if sample.attacks:
        return _OF_LANGUAGE if sample.source == "languages-fit" else 1.0
    return _NEAREST.get(sample.source, 1.0) * _OF_KIND.get(sample.kind, 1.0)


def _classes(attacks: Sequence[tuple[Features, str]]) -> dict[str, dict[str, float]]:
    """The weights of signs for each class, against the other classes."""
    rows = [
        {name: 1.0 for name in features if not name.startswith((_WORD, _PAIR))} for features, _ in attacks
    ]
    seen = Counter(chain.from_iterable(rows))
    numbers = {
        name: number
        for number, name in enumerate(name for name in sorted(seen) if seen[name] >= _LEAST_TEXTS)
    }
    table = Table(rows, numbers)
    classes = {}
    for category in Category:
        right = np.array([label == category for _, label in attacks], dtype=np.float64)
        even = np.full(len(attacks), 1 / len(attacks))
        value, base = logistic(table, right, even, _CLASS_PENALTY, _STEPS)
        classes[str(category)] = {"": round(base, _DIGITS)} | _rounded(
            numbers, value, "", _LEAST_CLASS_WEIGHT
        )
    return classes


def _rounded(names: Mapping[str, int], value: Any, kind: str, least: float) -> dict[str, float]:
    """The weights of the features of one kind, without those that count for little."""
    others = tuple(prefix for prefix in (_WORD, _PAIR) if prefix != kind)
    return {
        name.removeprefix(kind): round(float(value[number]), _DIGITS)
        for name, number in names.items()
        if abs(value[number]) >= least and name.startswith(kind) and not name.startswith(others)
    }


def for_both(texts: Sequence[Text]) -> list[Text]:
    """The texts, and those that are the same thing from the other side.

    Who may give no instructions gives none of these either; what a tool may say, a user may.
    """
    more = [text._replace(origin="tool") for text in texts if text.attacks and text.origin == "user"]
    more += [
        text._replace(origin="user")
        for text in texts
        if text.origin != "user" and text.label in (BENIGN, Category.INJECTION)
    ]
    return [*texts, *more]


def model_of(data: Mapping[str, Any], threshold: float) -> Model:
    """The detector's model with this threshold."""
    both = {True: threshold, False: threshold}
    words = WordWeights(data["words"], data["pairs"])
    return Model(Lexicon(data["lexicon"]), data["weights"], words, data["classes"], data["bias"], both)


def carried(texts: Sequence[Text]) -> list[Text]:
    """Attacks in data once more, each at the end of a line of a benign text in its language."""
    chance = random.Random(1)
    hosts = defaultdict[str, list[str]](list)
    for item in texts:
        if item.kind and not item.attacks and item.origin not in MAY_INSTRUCT and 300 < len(item.text) < 3000:
            hosts[item.lang].append(item.text)
    more = list[Text]()
    for item in texts:
        if not item.attacks or len(item.text) > 1500 or not hosts[item.lang]:
            continue
        wanted = item.origin not in MAY_INSTRUCT and chance.random() < _CARRIED_SHARE
        for _ in range(_CARRIED_LANGUAGES if item.source == "languages-fit" else int(wanted)):
            host, lead = chance.choice(hosts[item.lang]), chance.choice(_LEADS)
            at = host.find("\n", chance.randrange(len(host)))
            at = at if at > 0 else len(host)
            text = f"{host[:at]}\n{lead}{item.text}{' -->' * (lead == '<!-- ')}\n{host[at:]}"
            more.append(item._replace(text=text, origin="tool", how="carried"))
    return more


def chosen_threshold(data: Mapping[str, Any], texts: Iterable[Text], *, may_instruct: bool) -> float:
    """The lowest score, in thousandths, that at most `FALSE_ALARMS` of each kind of benign texts reach.

    Args:
        may_instruct: of texts by those who may give instructions, which are chats and look-alikes.
    """
    model = model_of(data, 1.0)
    scores = defaultdict[str, list[float]](list)
    for text in texts:
        kind = text.kind or ("look-alike" if text.source in _LOOK_ALIKES else "doc")
        if not text.attacks and (text.origin in MAY_INSTRUCT) is may_instruct:
            scores[kind].append(check_with(model, text.text, text.origin).score)
    several = {
        kind: sorted(group, reverse=True) for kind, group in scores.items() if len(group) >= _LEAST_OF_KIND
    }
    highest = {kind: group[int(FALSE_ALARMS * len(group))] for kind, group in several.items()}
    print(f"1 % of each kind reach: {highest}")
    return math.floor(max(highest.values()) * 1000 + 1) / 1000


def fitted() -> dict[str, Any]:
    """The model's data, as it is written."""
    texts, choosing = [*part_of("fit"), *gathered("fit")], [*part_of("choose"), *gathered("choose")]
    if not any(text.kind for text in texts):
        raise SystemExit("REDTEAM_TEXTS: no texts (make them by python -m evals.redteam.gather FOLDER OUT)")
    data = fit(for_both([*texts, *carried(texts)]))
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
        f"{len(data['weights'])} weights of signs, {len(data['words'])} of words, {len(data['pairs'])} of pairs, threshold {data['threshold']}"
    )


if __name__ == "__main__":
    main()
