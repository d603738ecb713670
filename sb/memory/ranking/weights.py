"""The weight of each feature.

Only their ratios matter. `evals.retrieval --fit` found them, on conversations and on what agents noted, alone and in one
store; docs/reference/retrieval.md says how good they are and what each one gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from sb.base.values.frozen import frozen
from sb.base.values.numeric import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@frozen
class Weights:
    """The weight of each feature, by its name; what is not there counts 0.

    Args:
        spoken: for rows that carry a speaker: turns of a conversation.
        lengthy: for such rows where texts are long, as in chats with an assistant. A row has some of both, by the
            length of what was said up to there (`Counted.short`).
        written: for all others: facts, decisions, lessons, notes.
    """

    spoken: Mapping[str, float]
    lengthy: Mapping[str, float]
    written: Mapping[str, float]

    @property
    def columns(self) -> tuple[Mapping[str, float], ...]:
        """Spoken, lengthy, written."""
        return self.spoken, self.lengthy, self.written

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Returns the features that count."""
        return tuple(name for name in self.every if any(column.get(name) for column in self.columns))

    @property
    def every(self) -> tuple[str, ...]:
        """Returns the features that the weights name, also those that count 0."""
        return tuple(dict.fromkeys(name for column in self.columns for name in column))

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """The weights of `features`, in a row for each column."""
        return self.table_of(self.features)

    def table_of(self, features: Sequence[str]) -> NDArray[np.float64]:
        """The weights of these features, in a row for each column."""
        return np.array([[column.get(name, 0.0) for name in features] for column in self.columns])

    def without(self, *features: str) -> Weights:
        """Returns the weights with these features at 0."""
        return Weights(
            *(
                {name: 0.0 if name in features else weight for name, weight in column.items()}
                for column in self.columns
            )
        )


_TABLE: dict[str, tuple[float, float, float, float, float, float]] = {
    # feature: spoken, lengthy, written; the same without vectors
    "match": (4.3, 0.0, 5.5, 3.1, 0.0, 3.6),
    "focus": (0.0, 15.6, 7.3, 0.0, 16.4, 5.6),
    "passage": (0.0, 8.6, 5.6, 0.0, 5.4, 3.9),
    "dense": (0.0, 0.0, 0.0, 0.0, 3.8, 0.0),
    "lex": (2.8, 0.0, 0.6, 3.4, 0.0, 2.9),
    "several": (0.0, 0.0, 6.0, 0.0, 0.0, 6.0),
    "vec": (1.4, 5.4, 6.5, 0.0, 0.0, 0.0),
    "session_match": (1.1, 0.0, 0.0, 1.3, 0.0, 0.0),
    "session_vec": (1.3, 0.0, 0.0, 0.0, 0.0, 0.0),
    "information": (1.8, 0.0, 2.3, 1.5, 0.0, 2.7),
    "names": (1.4, 0.0, 0.0, 1.2, 0.0, 0.0),
    "date": (3.6, 3.6, 4.0, 3.3, 3.3, 3.8),
    "when": (2.5, 0.0, 2.2, 2.4, 0.0, 1.7),
    "number": (0.8, 0.0, 1.3, 0.4, 0.0, 1.9),
    "answers": (6.7, 0.0, 0.0, 6.8, 0.0, 0.0),
    "asks_too": (-2.1, 0.0, 0.0, -3.3, 0.0, 0.0),
    "addresses": (-8.7, 0.0, 0.0, -11.1, 0.0, 0.0),
    "speaker": (1.3, 1.3, 0.0, 1.2, 1.2, 0.0),
    "party": (2.2, 0.0, 0.0, 2.0, 0.0, 0.0),
    "role": (2.6, 2.6, 0.0, 2.7, 2.7, 0.0),
}


@lru_cache(maxsize=2)
def weights(*, vectors: bool) -> Weights:
    """The fitted weights, for a store with vectors or without."""
    first = 0 if vectors else 3
    return Weights(*({name: row[first + column] for name, row in _TABLE.items()} for column in range(3)))
