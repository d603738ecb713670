"""Salience: how much a memory matters regardless of the query, and what fits a token budget.

Source: the memory whitepaper, "salience routing"; docs/guides/memory.md. Every term is a number from 0 to 1, and salience is their
weighted mean. What is asked for by an agent counts as use; what it is shown when a session starts does not, since what
is shown once would otherwise be shown for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from types import MappingProxyType
from typing import Any, TypeVar

from sb.memory.ranking.rank import Ranked
from sb.memory.views import tokens_of
from sb.store.records.descriptors import DESCRIPTORS

Weights = Mapping[str, float]

WEIGHTS: Weights = {
    "relevance": 3.0,  # to what was asked, as a share of the best hit
    "recency": 2.0,  # since it was kept or asked for: half after the half-life of its kind
    "frequency": 2.0,  # of being asked for
    "confidence": 1.0,
    "strength": 1.0,
    "protected": 2.0,
}
# Of a search: what the words and the meaning say comes first, and relevance is in it already.
IN_SEARCH: Weights = {name: weight for name, weight in WEIGHTS.items() if name != "relevance"}
JUDGED_BY = (
    "kind",
    "created_at",
    "confidence",
    "strength",
    "protected",
)  # columns of a record; its strength by now
SHARE_OF_SEARCH = 0.05  # of the best hit's score, that a salience of 1 adds; 0 switches the stage off

_SHIFTS = frozenset({"trust", "importance"})
_DAY = 86_400.0
_OFTEN = 5.0  # log2 of how often (32 times) something is asked for until more no longer counts
_BEARS = 10.0  # log2 of the importance (1,023) from which on more no longer counts
_UNSURE = 0.5  # of what has no confidence
TRUST = 3.0  # weight of how far the trust in a memory is from that in what an agent writes
ORDINARY_TRUST = 0.7  # the trust that moves nothing
IMPORTANCE = 1.0  # weight of what was made of a memory; added, since as a term it weakened all others where nothing was made

T = TypeVar("T")


def configured(weights: Weights, settings: Weights) -> Weights:
    """Returns weights with those that `memory.salience` sets; those of trust and importance may be among them then."""
    return {**weights, **settings} if settings else weights


@dataclass(frozen=True, slots=True)
class Salience:
    """The salience of one memory.

    Args:
        value: from 0 to 1. terms: name to value and weight; `value` is their weighted mean, shifted by those of trust and importance.
    """

    value: float
    terms: Mapping[str, tuple[float, float]]


def salience(
    row: Mapping[str, Any],
    reads: tuple[int, float] | None,
    now: float,
    *,
    relevance: float = 0.0,
    weights: Weights = WEIGHTS,
    trust: float = ORDINARY_TRUST,
) -> Salience:
    """Returns the salience of a record.

    Args:
        row: its columns `JUDGED_BY`.
        reads: how often it was asked for, and when last, in seconds since the epoch. now: likewise.
        relevance: to what was asked, from 0 to 1.
        trust: in it, from 0 to 1: more than in what agents write raises it, less lowers it.
    """
    values = _values(row, reads, now, relevance)
    terms = {name: (values[name], weight) for name, weight in weights.items() if name not in _SHIFTS}
    if trust != ORDINARY_TRUST:
        terms["trust"] = (trust - ORDINARY_TRUST, weights.get("trust", TRUST))
    if values["importance"]:
        terms["importance"] = (values["importance"], weights.get("importance", IMPORTANCE))
    return Salience(_Mean(weights).of(values, trust), terms)


def bearing(ewc_importance: float) -> float:
    """Returns how much rests on a memory, from 0 to 1, by its importance: recalls times steps of what was made of it."""
    return min(1.0, log2(1 + ewc_importance) / _BEARS)


def _values(
    row: Mapping[str, Any], reads: tuple[int, float] | None, now: float, relevance: float
) -> dict[str, float]:
    times, last = reads or (0, 0.0)
    confidence, days = row["confidence"], max(0.0, now - max(row["created_at"], last)) / _DAY
    return {
        "relevance": relevance,
        "recency": 0.5 ** (days / DESCRIPTORS[row["kind"]].half_life_days),
        "frequency": min(1.0, log2(1 + times) / _OFTEN),
        "confidence": _UNSURE if confidence is None else confidence,
        "strength": row["strength"],
        "protected": float(row["protected"]),
        "importance": bearing(row.get("importance", 0.0)),
    }


class _Mean:
    """The weighted mean of values, shifted by trust and importance; its weights are added up once for many memories."""

    def __init__(self, weights: Weights) -> None:
        self._terms = [(name, weight) for name, weight in weights.items() if name not in _SHIFTS]
        self.total = sum(weight for _, weight in self._terms) or 1.0
        self._of_trust = weights.get("trust", TRUST)
        self._of_importance = weights.get("importance", IMPORTANCE)

    def of(self, values: Mapping[str, float], trust: float) -> float:
        mean = 0.0
        for name, weight in self._terms:
            mean += values[name] * weight
        mean /= self.total
        borne = values["importance"]
        if trust == ORDINARY_TRUST and not borne:
            return mean
        moved = self._of_trust * (trust - ORDINARY_TRUST) + self._of_importance * borne
        return min(1.0, max(0.0, mean + moved / self.total))


def in_reach(hits: Sequence[Ranked], k: int) -> Sequence[Ranked]:
    """Returns the hits that salience could move among the k best."""
    if not hits:
        return hits
    least = hits[min(k, len(hits)) - 1].score - SHARE_OF_SEARCH * max(0.0, hits[0].score)
    return [ranked for ranked in hits if ranked.score >= least]


def salient(
    hits: Sequence[Ranked],
    rows: Mapping[int, Mapping[str, Any]],
    reads: Mapping[int, tuple[int, float]],
    now: float,
    *,
    trust: Mapping[int, float] = MappingProxyType({}),
    weights: Weights = IN_SEARCH,
    explain: bool = False,
) -> list[Ranked]:
    """Hits of a search in their order once it counts, a little, how much they matter; ties by id.

    Args:
        rows, reads, trust: what `salience` takes, by id.
        explain: also say what each term gave, as `salience.recency` and so on.
    """
    if not hits or hits[0].score <= 0:
        return list(hits)
    unit = SHARE_OF_SEARCH * hits[0].score
    mean = _Mean(weights)
    moved = []
    for ranked in hits:
        row, times, known = rows[ranked.id], reads.get(ranked.id), trust.get(ranked.id, ORDINARY_TRUST)
        shown = ranked.features
        if explain:
            terms = salience(row, times, now, weights=weights, trust=known).terms
            share = unit / mean.total
            given = {f"salience.{name}": (value, weight * share) for name, (value, weight) in terms.items()}
            shown = {**(shown or {}), **given}
        value = mean.of(_values(row, times, now, 0.0), known)
        moved.append(Ranked(ranked.id, ranked.score + unit * value, shown, ranked.restatement))
    moved.sort(key=lambda one: (-one.score, one.id))
    return moved


def within(budget_tokens: int, items: Iterable[tuple[T, str]]) -> list[T]:
    """The items whose texts fit into a budget together, in their order; one that does not fit is passed over.

    Args:
        items: each with the line that shows it.
    """
    selection: list[T] = []
    characters = 0
    for item, line in items:
        if tokens_of(characters + len(line) + 1) <= budget_tokens:
            characters += len(line) + 1
            selection.append(item)
    return selection
