"""What is each feature worth?

Only their ratios matter. They were fitted on conversations, see docs/retrieval.md, by `evals.retrieval`.
"""

from __future__ import annotations

from collections.abc import Mapping

Weights = Mapping[str, float]

WITH_VECTORS: Weights = {
    "lex": 4.6,
    "vec": 5.1,
    "session3": 1.2,
    "information": 4.0,
    "answers": 2.8,
    "after_statement": -1.3,
    "speaker": 1.0,
    "date": 2.8,
    "when": 2.1,
}

WITHOUT_VECTORS: Weights = {
    "lex": 6.6,
    "vec": 0.0,
    "session3": 1.5,
    "information": 3.7,
    "answers": 3.1,
    "after_statement": -1.0,
    "speaker": 0.9,
    "date": 2.5,
    "when": 1.9,
}
