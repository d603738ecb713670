"""The matcher that compares meanings by the embedder that is installed with SecondBrain."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sb.base.reading import Field, Place, number, text
from sb.evals.answer import Answer
from sb.evals.matchers.kinds import Judge, MatcherKind, quote
from sb.evals.suite import Match

if TYPE_CHECKING:
    from sb.store.embedding.static import StaticEmbedder

LONGEST = 100_000  # characters that are compared


@cache
def _embedder() -> StaticEmbedder:
    from sb.store.embedding.static import StaticEmbedder, StaticModel

    return StaticEmbedder(StaticModel.load())


def _similarity(values: dict[str, Any], place: Place) -> Judge:
    def judge(answer: Answer) -> Match:
        embedder = _embedder()
        wanted, actual = embedder.embed([values["text"], answer.output[:LONGEST]])
        score = float(wanted @ actual)
        line = f"{score:.3f}, expected at least {values['threshold']:g} ({embedder.model}): {quote(answer.output)}"
        return Match(score >= values["threshold"], "" if score >= values["threshold"] else line)

    return judge


KINDS = (
    MatcherKind(
        "similarity",
        "The answer means about the same as a text, by the cosine of their vectors.",
        (
            Field("text", text(), "The text.", required=True),
            Field("threshold", number(0, 1, above=True), "The lowest cosine that passes.", required=True),
        ),
        _similarity,
    ),
)
