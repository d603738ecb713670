"""The weight of each feature.

Only their ratios matter. `evals.retrieval --fit` found them, on conversations and on what agents noted, alone and in one
store; docs/reference/retrieval.md says how good they are and what each one gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Weights:
    """The weight of each feature, by its name; what is not there counts 0.

    Args:
        spoken: for rows that carry a speaker: turns of a conversation.
        written: for all others: facts, decisions, lessons, notes.
    """

    spoken: Mapping[str, float]
    written: Mapping[str, float]

    def without(self, *features: str) -> Weights:
        """Returns the weights with these features at 0."""
        return Weights(
            *(
                {name: 0.0 if name in features else weight for name, weight in column.items()}
                for column in (self.spoken, self.written)
            )
        )


_TABLE: dict[str, tuple[float, float, float, float]] = {
    # feature: (spoken, spoken without vectors, written, written without vectors). The records' questions name no day, so
    # nothing could be fitted for `date` of written rows: it is as for spoken ones.
    "match": (4.7, 3.4, 9.3, 6.7),
    "focus": (0.0, 0.0, 6.1, 4.8),
    "lex": (2.5, 3.4, 1.0, 3.1),
    "vec": (1.9, 0.0, 6.8, 0.0),
    "session_match": (1.0, 1.4, 0.0, 0.0),
    "session_vec": (1.3, 0.0, 0.0, 0.0),
    "information": (1.5, 1.7, 1.4, 2.0),
    "names": (1.7, 1.3, 0.0, 0.0),
    "date": (4.0, 3.8, 4.0, 3.8),
    "when": (2.4, 2.4, 2.6, 2.0),
    "number": (2.4, 2.3, 2.0, 2.1),
    "answers": (6.2, 6.4, 0.0, 0.0),
    "asks_too": (-2.2, -2.4, 0.0, 0.0),
    "addresses": (-10.5, -12.1, 0.0, 0.0),
    "speaker": (1.2, 1.1, 0.0, 0.0),
    "party": (2.0, 2.0, 0.0, 0.0),
}


def weights(*, vectors: bool) -> Weights:
    """The fitted weights, for a store with vectors or without."""
    spoken, written = (0, 2) if vectors else (1, 3)
    return Weights(
        {name: row[spoken] for name, row in _TABLE.items()},
        {name: row[written] for name, row in _TABLE.items()},
    )
