"""Count records, relations, sessions and vectors of a memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from sb.base.values.frozen import frozen
from sb.memory.space import Space
from sb.memory.views import View
from sb.store.database import database_files
from sb.store.embedding.selection import NoEmbedder
from sb.store.records.columns import ACTIVE


@frozen
class Counts(View):
    """The counts of a memory.

    Args:
        kinds, scopes: how many active records each has, the largest first; states: of all records.
        embedder: what makes vectors, or "". words_alone: why nothing does, or "".
        vectors: how many there are of each model; to_embed: active records that have none of the embedder's.
        bytes: of the database with all that it holds, the log too.
    """

    records: int
    kinds: Mapping[str, int]
    scopes: Mapping[str, int]
    states: Mapping[str, int]
    sessions: int
    relations: int
    embedder: str
    words_alone: str
    vectors: Mapping[str, int]
    to_embed: int
    bytes: int


def counted(space: Space) -> Counts:
    """Count everything; reads all records once."""
    kinds, scopes, states = Counter[str](), Counter[str](), Counter[str]()
    for number, kind, state, count in space.records.counts():
        states[state] += count
        if state == ACTIVE:
            kinds[kind] += count
            scopes[space.places.numbered(number).scope] += count
    embedder, vectors = space.embedder, space.vectors.counts().vectors
    alone = isinstance(embedder, NoEmbedder)
    model = "" if isinstance(embedder, NoEmbedder) else embedder.model
    return Counts(
        states[ACTIVE],
        dict(kinds.most_common()),
        dict(scopes.most_common()),
        dict(states.most_common()),
        space.sessions.count(),
        space.edges.count(),
        model,
        str(embedder) if alone else "",
        dict(vectors),
        0 if alone else states[ACTIVE] - vectors.get(model, 0),
        sum(file.stat().st_size for file in database_files(Path(space.database.path)) if file.exists()),
    )
