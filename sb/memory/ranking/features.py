"""The features of a candidate, each one number.

Every feature is 0 where it does not apply, and few are above 1, so that a weight says what a feature is worth. Those
that know how people talk count for rows with a speaker only: of notes, the one before is context and no question.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from math import isnan
from typing import TYPE_CHECKING, Any, TypeAlias

from sb.base.values.numeric import np
from sb.memory.ranking.encoding import DIGIT, MOST_NAMES, NAMES
from sb.memory.ranking.roles import ASSISTANT, USER
from sb.memory.ranking.term_counts import Counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

Values: TypeAlias = "NDArray[np.float64]"
Feature = Callable[[Counted], Values]

_BEFORE = 0.8
_K1, _B = 1.2, 0.75
_BEST = 3  # of a session
_TINY = 1e-9  # an empty text has neither words nor length


def _once(feature: Feature) -> Feature:
    """The feature, computed once for all that ask for it."""

    @wraps(feature)
    def computed(counted: Counted) -> Values:
        found = counted.computed.get(feature.__name__)
        if found is None:
            found = counted.computed[feature.__name__] = feature(counted)
        return found

    return computed


@_once
def match(counted: Counted) -> Values:
    """Similarity of the nearest word of the text, or at less weight of the two before it, to each query term."""
    best = np.maximum(counted.asking, counted.telling)
    window = np.maximum(best[counted.own], _BEFORE * best[counted.before])
    window = np.maximum(window, _BEFORE * best[counted.before2])
    return _sum(window * counted.worth)


def focus(counted: Counted) -> Values:
    """Similarity of the text's words to the query: whether it is about anything else."""
    return np.asarray(counted.focus[counted.own], np.float64)


def passage(counted: Counted) -> Values:
    """Similarity of the text's best passage of some sixty words to each query term."""
    return np.asarray(counted.passages[counted.spoken.astype(np.intp), counted.own], np.float64)


def dense(counted: Counted) -> Values:
    """BM25 of the text alone, its length counting fully."""
    frequency = counted.exact[counted.own]
    norm = _K1 * (counted.length[counted.own] / counted.mean_length)[:, None]
    return _sum(counted.worth * frequency * (_K1 + 1) / (frequency + norm + _TINY))


def lex(counted: Counted) -> Values:
    """BM25F of the text and the two before it, as a share of what the best candidate has."""
    own, before, before2 = counted.own, counted.before, counted.before2
    frequency = counted.exact[own] + 0.4 * counted.exact[before] + 0.3 * counted.exact[before2]
    length = counted.length[own] + counted.length[before] + counted.length[before2]
    return _bm25(counted, frequency, length / counted.mean_window)


def several(counted: Counted) -> Values:
    """BM25 of the text alone, as a share of the best candidate's, if the question names two things or more.

    Names are like each other, so that by similarity a text on others of the same kind comes before one on these.
    """
    if not counted.query.several:
        return np.zeros(len(counted.spoken))
    return _bm25(counted, counted.exact[counted.own], counted.length[counted.own] / counted.mean_length)


@_once
def vec(counted: Counted) -> Values:
    """Cosine of the text's vector with the question's."""
    return counted.similarity


def session_match(counted: Counted) -> Values:
    """The three best `match` of the row's session: where much is about the matter, the answer probably is."""
    return _best_of_session(counted, match(counted))


def session_vec(counted: Counted) -> Values:
    """The three best `vec` of the row's session."""
    return _best_of_session(counted, vec(counted))


def information(counted: Counted) -> Values:
    """Specificity of the text, regardless of the query."""
    mean = counted.mean_information  # of those that housekeeping has not seen
    known = counted.rows.columns["information"]
    return np.where(known != 0, known, mean)


def answers(counted: Counted) -> Values:
    """1 if the text before asks the very question: every word of each is near one of the other's."""
    heard = _sum(counted.asking[counted.before] * counted.worth)
    return np.asarray(heard * counted.same_question[counted.before] * counted.spoken)


def asks_too(counted: Counted) -> Values:
    """Similarity of the row's own questions to the query: who asks does not answer."""
    return np.asarray(_sum(counted.asking[counted.own] * counted.worth) * counted.spoken)


def addresses(counted: Counted) -> Values:
    """Share of words that address the listener instead of the speaker."""
    return np.asarray(counted.addressing[counted.own] / (counted.length[counted.own] + 3) * counted.spoken)


def speaker(counted: Counted) -> Values:
    """1 if the question names one known speaker, and this is theirs."""
    return _says(counted, "speaker")


def party(counted: Counted) -> Values:
    """1 if the question names one known speaker, and this is theirs or addressed to them."""
    return _says(counted, "speaker", "previous_speaker")


def role(counted: Counted) -> Values:
    """For texts of a user: 1 if the question is about its asker ("I"), -1 if about the assistant ("you")."""
    query = counted.query
    sign = {USER: 1.0, ASSISTANT: -1.0}.get(query.role, 0.0)
    if not sign:
        return np.zeros(len(counted.spoken))
    return np.asarray(sign * counted.rows.is_said_by(query.users), np.float64)


@_once
def date(counted: Counted) -> Values:
    """Agreement with a date in the query: 1 for the month, 1 for the day of it, 0.3 for the year."""
    query = counted.query
    values = np.zeros(len(counted.spoken))
    if not (query.days or query.years):
        return values
    for row, happened_at in enumerate(counted.rows.columns["happened_at"].tolist()):
        if not isnan(happened_at):
            day = datetime.fromtimestamp(happened_at, UTC)
            named = [number for month, number in query.days if month == day.month]
            values[row] = len(named) + (day.day in named) + 0.3 * (day.year in query.years)
    return values


def when(counted: Counted) -> Values:
    """1 if the question asks for a time, and the text holds a word of time."""
    if not counted.query.when:
        return np.zeros(len(counted.spoken))
    return np.asarray(counted.timed[counted.own] > 0, np.float64)


def number(counted: Counted) -> Values:
    """1 if the question asks for a number, and the text holds a digit."""
    if not counted.query.how_many:
        return np.zeros(len(counted.spoken))
    return np.asarray(counted.heads[counted.own] & DIGIT > 0, np.float64)


def names(counted: Counted) -> Values:
    """Number of names in the text, up to four: most answers mention one."""
    ndarray = counted.heads[counted.own] % DIGIT >> NAMES
    return np.asarray(ndarray / MOST_NAMES, np.float64)


FEATURES: dict[str, Feature] = {
    feature.__name__: feature
    for feature in (
        match,
        focus,
        passage,
        dense,
        lex,
        several,
        vec,
        session_match,
        session_vec,
        information,
        names,
        date,
        when,
        number,
        answers,
        asks_too,
        addresses,
        speaker,
        party,
        role,
    )
}


def _bm25(
    counted: Counted, frequency: NDArray[np.floating[Any]], length: NDArray[np.floating[Any]]
) -> Values:
    """BM25 as a share of what the best candidate has; `length` is that of each text, as a share of the mean."""
    norm = _K1 * (1 - _B + _B * length)[:, None]
    found = _sum(counted.worth * frequency * (_K1 + 1) / (frequency + norm))
    return np.asarray(found / (found.max(initial=0.0) or 1.0))


def _sum(values: NDArray[np.floating[Any]]) -> Values:
    return np.asarray(values.sum(axis=1), np.float64)


def _best_of_session(counted: Counted, values: Values) -> Values:
    """The sum of the three greatest values of each candidate's session; 0 for one of none."""
    sessions, first = counted.sessions, counted.first_of_session
    order = np.lexsort((-values, sessions))
    rank = np.arange(len(order)) - first[sessions[order]]
    best = order[rank < _BEST]
    sums = np.bincount(sessions[best], values[best], minlength=len(first))
    sums[0] = 0.0
    return np.asarray(sums[sessions])


def _says(counted: Counted, *columns: str) -> Values:
    """1 if one of these columns is the only speaker that the question names."""
    named = counted.query.speakers
    found = np.zeros(len(counted.spoken), np.bool_)
    if len(named) == 1:
        for column in columns:
            found |= counted.rows.is_said_by(named, column)
    return found.astype(np.float64)
