"""Echoes: what says again, in the same words, what was corrected; it comes in superseded.

Only case, punctuation, accents and articles are folded. What says it in other words is a new claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from sb.memory.beliefs.closure import CLAIMS
from sb.memory.ranking.terms import asked_for, words
from sb.memory.record_writer import RecordWriter
from sb.memory.space import Space
from sb.store.records.collapses import ECHO, MENTION, CollapseItem
from sb.store.records.columns import ACTIVE, SUPERSEDED, Row
from sb.store.records.places import GLOBAL, Execute

EXPERIENCES = ("event", "episode")  # one that comes after a correction may have happened after it
ECHOING = (*CLAIMS, *EXPERIENCES, "raw")
SUPERSEDE = "supersede"  # the operation in a record's history
_ARTICLES = frozenset({"a", "an", "the"})
_MOST = 1_000  # records with the same words that one correction looks for


def digest_of(row: Row) -> bytes:
    """The digest of what a record says, as far as an echo of it may differ."""
    spoken = " ".join(word for word in words(row["text"]) if word not in _ARTICLES)
    return blake2b((spoken or row["text"]).encode("utf-8", "replace"), digest_size=16).digest()


def sees(space: Space, place: int, winner: int) -> bool:
    """True if whoever reads in one place also reads in another one, whatever includes are configured."""
    here, there = space.places.numbered(place), space.places.numbered(winner)
    return (
        here.stack == there.stack and there.owner in ("", here.owner) and there.scope in (here.scope, GLOBAL)
    )


def echoes(space: Space, loser: Row) -> list[Row]:
    """The other active records of a stack that say what this one says."""
    terms = asked_for(word for word in words(loser["text"]) if word not in _ARTICLES)
    if not terms:
        return []
    tokens = " OR ".join(
        f'"p{number}"' for number in space.places.of_stack(space.places.numbered(loser["place"]).stack)
    )
    every = " AND ".join(f'"{term}"' for term in terms)
    numbers = space.words.newest(f"(body : ({every})) AND (place : ({tokens}))", _MOST)
    digest = digest_of(loser)
    return [
        row
        for row in space.records.rows([number for number in numbers if number != loser["id"]])
        if row["kind"] in ECHOING and digest_of(row) == digest
    ]


def settle_echoes(keeper: RecordWriter, execute: Execute, rows: Sequence[Row]) -> None:
    """Supersede those of these new records that say again what was corrected, within the transaction that wrote them."""
    collapses = keeper.space.collapses
    if not rows or not collapses.any:
        return
    for row in rows:
        if row["kind"] not in ECHOING or row.get("state", ACTIVE) != ACTIVE:
            continue
        for collapse, place, at, winner in collapses.echoed(digest_of(row)):
            if keeper.space.places.numbered(place).stack != keeper.space.places.numbered(row["place"]).stack:
                continue
            stands = row["kind"] in EXPERIENCES and row["created_at"] > at
            stands = stands or not sees(keeper.space, row["place"], place)
            item = CollapseItem(row["id"], MENTION if stands else ECHO, ACTIVE)
            collapses.add_items(execute, collapse, [item])
            if not stands:
                reason = f"it says what {winner} corrected"
                keeper.change(execute, row, {"state": SUPERSEDED}, SUPERSEDE, reason)
                row["state"] = SUPERSEDED
            break
