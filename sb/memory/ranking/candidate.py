"""The candidate: a record that a search named."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from sb.store.index.full_text import RankedRow


class Candidate(NamedTuple):
    """A record that the index or the vectors named.

    Args:
        record: what is known of it whatever is asked; its texts are encoded, see `encoding`.
        similarity: cosine of its vector with the question's, None without vectors.
        ranks: its place, from 1, in each of the searches that named it.
    """

    record: RankedRow
    similarity: float | None = None
    ranks: Mapping[str, int] = MappingProxyType({})

    @property
    def id(self) -> int:
        """The number of the record."""
        return self.record.id
