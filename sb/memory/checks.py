"""Check the memory's index, relations, vectors and records; nothing is repaired.

Up to `MOST_CHECKED` records everything is compared, of more a sample that is spread over all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sb.base.secrets.redaction import one_line
from sb.base.text import counted
from sb.kernel.review.findings import Finding, Status
from sb.memory.ranking.terms import words
from sb.memory.space import Space
from sb.store.embedding.selection import NoEmbedder
from sb.store.records.columns import ACTIVE, ERASED, Row
from sb.store.records.store import place_token

MOST_CHECKED = 20_000
_SAMPLE = 2_000
_FIRST = 8  # words of a text that are looked up
_TIDY = "sb memory tidy"


def check(space: Space) -> list[Finding]:
    """Every finding, with what to do about it; takes about a second at most, whatever there is."""
    states = Counter[str]()
    for _, _, state, count in space.records.counts():
        states[state] += count
    others = ", ".join(f"{count:,} {state}" for state, count in states.items() if state != ACTIVE)
    summary = f"{counted(states[ACTIVE], 'memory')} in {counted(len(space.places.all()), 'place')}" + (
        f"; {others}" if others else ""
    )
    return [
        Finding("memory", Status.OK, summary),
        *_records(space, states.total()),
        _relations(space),
        _vectors(space, states[ACTIVE]),
    ]


def _records(space: Space, total: int) -> Iterator[Finding]:
    """Findings on records: readable, and found by the index."""
    rows = list(space.records.spread(MOST_CHECKED if total <= MOST_CHECKED else _SAMPLE))
    looked_at = "all" if total <= MOST_CHECKED else f"a sample of {len(rows):,}"
    unreadable = [reason for row in rows if (reason := _unreadable(space, row))]
    if unreadable:
        more = f" and {len(unreadable) - 1} more" if len(unreadable) > 1 else ""
        hint = (
            "a newer version of sb may have written it; otherwise restore a backup: docs/reference/store.md"
        )
        yield Finding("memory records", Status.FAIL, f"cannot be read: {unreadable[0]}{more}", hint)
    else:
        yield Finding("memory records", Status.OK, f"{looked_at} can be read")
    if total <= MOST_CHECKED:
        sound, how = space.words.check(), "compared with every record"
    else:
        sound = all(_is_found(space, row) for row in rows)
        how = f"finds {looked_at}"
    entries = space.words.count()
    if sound and entries == total:
        yield Finding("memory index", Status.OK, f"{counted(entries, 'entry')}, {how}")
    else:
        detail = f"it differs from the records ({counted(entries, 'entry')}, {counted(total, 'record')})"
        yield Finding("memory index", Status.FAIL, detail, "sb memory tidy --rebuild")


def _unreadable(space: Space, row: Row) -> str:
    """Returns why a record cannot be read; "" if it can."""
    if row["state"] == ERASED:
        return ""
    try:
        space.record(row)
    except (ValueError, TypeError, KeyError) as error:
        return one_line(f"{row['uid']}: {error}", 200)
    return ""


def _is_found(space: Space, row: Row) -> bool:
    """True if the index finds a record by its first words, where it stands."""
    known = " AND ".join(f'"{word}"' for word in words(row["text"])[:_FIRST])
    body = f"body : ({known}) AND " if known else ""
    return space.words.finds(f'{body}place : "{place_token(row)}"', row["id"])


def _relations(space: Space) -> Finding:
    orphans = space.edges.orphans()
    if orphans:
        detail = f"{counted(orphans, 'relation')} to records that no longer exist"
        return Finding("memory relations", Status.WARN, detail, f"{_TIDY} removes them")
    return Finding("memory relations", Status.OK, f"{space.edges.count():,}, all between existing records")


def _vectors(space: Space, active: int) -> Finding:
    embedder = space.embedder
    if isinstance(embedder, NoEmbedder):
        return Finding("memory vectors", Status.OK, str(embedder))
    counts = space.vectors.counts().vectors
    behind = active - counts.get(embedder.model, 0)
    former = ", ".join(f"{count:,} of {model}" for model, count in counts.items() if model != embedder.model)
    if behind > 0:
        summary = f"{behind:,} of {counted(active, 'memory')} without a vector of {embedder.model}" + (
            f" ({former})" if former else ""
        )
        return Finding(
            "memory vectors", Status.WARN, summary, f"{_TIDY} makes them; until then words find these"
        )
    missing = space.vectors.unavailable(embedder.model) if active else ""
    if missing:
        detail = f"large places are searched by words alone: {missing}"
        return Finding("memory vectors", Status.WARN, detail, 'docs/reference/store.md, "Driver"')
    return Finding("memory vectors", Status.OK, f"{active:,} of {embedder.model}")
