"""The candidate: what ranking knows of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from sb.memory.ranking.encoding import Stored


class Candidate(NamedTuple):
    """A record that the index or the vectors named.

    Args:
        id: of the record.
        text: what is searchable of it, encoded.
        previous: the same of the one or two records before it in its session, the nearest first.
        speaker: who said it, None if it is not a thing said.
        previous_speaker: who said the text before it.
        session: in which it was made, None if in none.
        happened_at: seconds since 1970, None if unknown.
        information: of the text, see `statistics.information`.
        similarity: cosine of its vector with the question's, None without vectors.
        ranks: its place, from 1, in each of the searches that named it.
    """

    id: int
    text: Stored
    previous: Sequence[Stored] = ()
    speaker: str | None = None
    previous_speaker: str | None = None
    session: int | str | None = None
    happened_at: float | None = None
    information: float = 0.0
    similarity: float | None = None
    ranks: Mapping[str, int] = MappingProxyType({})
