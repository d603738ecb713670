"""Weights that are fitted put what answers first."""

from __future__ import annotations

import numpy as np

from evals.retrieval.fitting import Asked, fit
from evals.retrieval.measure import NOT_FOUND, Places, place_of


def questions(count: int) -> list[Asked]:
    """Evidence has more of feature 0 and less of feature 1; feature 2 is noise, feature 3 always 0."""
    random = np.random.default_rng(7)
    asked = []
    for _ in range(count):
        values = random.normal(size=(20, 4))
        values[:, 3] = 0
        evidence = np.zeros(20, np.bool_)
        evidence[np.argmax(2 * values[:, 0] - values[:, 1] + 0.3 * random.normal(size=20))] = True
        asked.append(Asked(values, evidence))
    return asked


def test_weights_have_the_sign_and_ratio_of_what_made_the_evidence() -> None:
    weights = fit(questions(300))
    assert 1.6 < weights[0] / -weights[1] < 2.4
    assert abs(weights[2]) < 0.1 * weights[0]
    assert weights[3] == 0


def test_questions_without_evidence_among_the_candidates_teach_nothing() -> None:
    known = questions(50)
    missed = [Asked(asked.values, np.zeros(20, np.bool_)) for asked in questions(50)]
    assert np.allclose(fit(known), fit([*known, *missed]))


def test_places_are_counted_from_one() -> None:
    assert place_of(["a", "b", "c"], frozenset("bc")) == 2
    assert place_of(["a"], frozenset("b")) == NOT_FOUND
    found = Places([1, 2, 6, NOT_FOUND])
    assert (found.hit(1), found.hit(5), found.hit(10)) == (0.25, 0.5, 0.75)
    assert abs(found.mrr - (1 + 1 / 2 + 1 / 6) / 4) < 1e-12
