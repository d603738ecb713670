"""Propose settings of the gate and of ranking from outcomes: fitted on half of the memories, judged on the other half.

Brier score: Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78 (1950). Concordance: the
share of pairs of a confirmed and a refuted outcome that a score puts in that order (the area under the ROC curve).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sb.memory.salience import ORDINARY_TRUST, TRUST, WEIGHTS

ENOUGH = 10  # outcomes of a category in each half before anything is proposed for it
_STRENGTH = 2.0  # observations that a starting confidence counts for
_CAUTION = 10  # observations that a prior counts for
_GRID = tuple(number / 20 for number in range(1, 20))
_STEPS = (0.0, 0.5, 1.0, 2.0, 4.0)


class Outcome(NamedTuple):
    """One outcome of a fact.

    Args:
        record: its id. confidence: before the outcome. trust: in it, from 0 to 1. good: whether it proved right.
    """

    record: str
    category: str
    confidence: float
    trust: float
    good: bool


class Proposal(NamedTuple):
    """A number that would have forecast the outcomes of one category better.

    Args:
        setting: of the gate: confidence or prior. before, after: its value now, and the one that is proposed.
        fitted, judged: outcomes of each half. brier_before, brier_after: on the half that it was not fitted on.
    """

    category: str
    setting: str
    before: float
    after: float
    fitted: int
    judged: int
    brier_before: float
    brier_after: float


class Ranking(NamedTuple):
    """Weights of salience that put more confirmed memories before refuted ones.

    Args:
        weights: of `memory.salience`, by term. pairs: of the half that they were not fitted on.
        before, after: the concordance there, from 0 to 1.
    """

    weights: Mapping[str, float]
    pairs: int
    before: float
    after: float


def is_fitted_on(record: str) -> bool:
    """True if a memory is in the half for fitting; all outcomes of one memory are in the same half."""
    return hashlib.blake2b(record.encode("utf-8", "replace"), digest_size=1).digest()[0] % 2 == 0


def proposals(
    outcomes: Sequence[Outcome], setting_of: Callable[[str], tuple[float, float, float]]
) -> list[Proposal]:
    """Returns what would have forecast better, by category; only what does so on the half it was not fitted on.

    Args:
        setting_of: the confidence and the prior of a category now, and the prior that is built in, from which it is moved.
    """
    found = []
    for category in sorted({outcome.category for outcome in outcomes}):
        halves = [
            _by_record(
                [
                    outcome
                    for outcome in outcomes
                    if outcome.category == category and is_fitted_on(outcome.record) == half
                ]
            )
            for half in (True, False)
        ]
        sizes = [sum(map(len, half)) for half in halves]
        if min(sizes) < ENOUGH:
            continue
        fit, holdout = halves
        confidence, prior, built_in = setting_of(category)
        confirmed = sum(good for record in fit for good in record)
        wanted = {
            "confidence": (confidence, min(_GRID, key=lambda value: _forecast(fit, value)), _forecast),
            "prior": (prior, round((built_in * _CAUTION + confirmed) / (_CAUTION + sizes[0]), 2), _constant),
        }
        for name, (before, after, score) in wanted.items():
            scores = score(holdout, before), score(holdout, after)
            if after != before and scores[1] < scores[0]:
                found.append(Proposal(category, name, before, after, sizes[0], sizes[1], *scores))
    return found


def ranking(outcomes: Sequence[Outcome], now: Mapping[str, float]) -> Ranking | None:
    """Returns better weights of confidence and trust in salience; None where there are too few outcomes or none are better.

    Args:
        now: the weights that are set, by term.
    """
    fit, holdout = (
        [outcome for outcome in outcomes if is_fitted_on(outcome.record) == half] for half in (True, False)
    )
    if any(
        min(sum(outcome.good for outcome in half), sum(not outcome.good for outcome in half)) < ENOUGH
        for half in (fit, holdout)
    ):
        return None
    known = {"confidence": WEIGHTS["confidence"], "trust": TRUST, **now}
    current = known["confidence"], known["trust"]
    options = [
        (confidence, trust) for confidence in _STEPS for trust in _STEPS if (confidence, trust) != (0.0, 0.0)
    ]
    best = max(options, key=lambda weights: _concordance(fit, weights)[0])
    before, pairs = _concordance(holdout, current)
    after, _ = _concordance(holdout, best)
    if after <= before:
        return None
    return Ranking(dict(zip(("confidence", "trust"), best, strict=True)), pairs, before, after)


def _by_record(outcomes: Sequence[Outcome]) -> list[list[bool]]:
    """The outcomes of each memory, in their order."""
    found: dict[str, list[bool]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.record, []).append(outcome.good)
    return list(found.values())


def _forecast(records: Sequence[Sequence[bool]], start: float) -> float:
    """The Brier score of confidence, had each memory begun with this one and followed its outcomes."""
    squares = []
    for outcomes in records:
        alpha, n = start * _STRENGTH, _STRENGTH
        for good in outcomes:
            squares.append((alpha / n - good) ** 2)
            alpha, n = alpha + good, n + 1
    return sum(squares) / len(squares)


def _constant(records: Sequence[Sequence[bool]], prior: float) -> float:
    """The Brier score of one number for all outcomes."""
    squares = [(prior - good) ** 2 for outcomes in records for good in outcomes]
    return sum(squares) / len(squares)


def _concordance(outcomes: Sequence[Outcome], weights: tuple[float, float]) -> tuple[float, int]:
    """The share of pairs in the right order, half for ties; and how many pairs there are."""
    confidence, trust = weights
    scored = [
        (confidence * outcome.confidence + trust * (outcome.trust - ORDINARY_TRUST), outcome.good)
        for outcome in outcomes
    ]
    good, bad = ([round(score, 9) for score, right in scored if right == wanted] for wanted in (True, False))
    pairs = len(good) * len(bad)
    right = sum((value > other) + 0.5 * (value == other) for value in good for other in bad)
    return right / pairs, pairs
