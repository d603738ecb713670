"""The trust floor: leave out what is trusted less, with whatever was derived from it.

Source: the memory whitepaper, "trust model between cooperating agents": a retrieval can apply a floor to the provenance chain. A
memory is trusted no more than the least trusted one that it was derived from, in any number of steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sb.memory.conditions import NEVER, Condition
from sb.memory.trust.scores import BY_SOURCE, trust_in_memory
from sb.memory.trust.store import TrustStore
from sb.store.database import Database
from sb.store.records.edges import DERIVED_FROM

_OTHER = "?"  # stands for every source type that is not in BY_SOURCE


def below(trust: TrustStore, stack: str, floor: float) -> Condition:
    """Returns the condition that a record, or something that it was derived from, is trusted less than a floor.

    Args:
        floor: from 0 to 1; at 0 nothing is below it, and nothing is read.
    """
    if floor <= 0:
        return NEVER
    by_agent = {name: _low(standing.score, floor) for name, standing in trust.standings(stack).items()}
    others = _low(None, floor)
    itself, values = _itself("r", by_agent, others)
    if not itself:
        return NEVER
    source, more = _itself("x", by_agent, others)
    chain = (
        f"WITH RECURSIVE up(id) AS (SELECT e.target FROM edges AS e WHERE e.source = r.id AND e.relation = '{DERIVED_FROM}'"
        f" UNION SELECT e.target FROM edges AS e JOIN up ON e.source = up.id WHERE e.relation = '{DERIVED_FROM}')"
        f" SELECT 1 FROM up JOIN records AS x ON x.id = up.id WHERE {source}"
    )
    return f"({itself} OR EXISTS ({chain}))", (*values, *more)


def numbers_where(database: Database, numbers: Iterable[int], condition: Condition) -> frozenset[int]:
    """Returns those of these records that a condition holds for."""
    sql, values = condition
    if not sql:
        return frozenset()
    listed = "[" + ",".join(map(str, numbers)) + "]"
    where = f"r.id IN (SELECT value FROM json_each(?)) AND ({sql})"
    return frozenset(
        item for (item,) in database.query(f"SELECT r.id FROM records AS r WHERE {where}", (listed, *values))
    )


def _low(standing: float | None, floor: float) -> tuple[str, ...]:
    """The source types of an agent that are trusted less than the floor, _OTHER among them."""
    return tuple(item for item in (*BY_SOURCE, _OTHER) if trust_in_memory(item, standing) < floor)


def _itself(alias: str, by_agent: dict[str, tuple[str, ...]], others: tuple[str, ...]) -> Condition:
    """The condition that a record by itself is below the floor."""
    cases = {name: low for name, low in by_agent.items() if low != others}
    rest, values = _among(alias, others)
    if not cases:
        return NEVER if rest == "0" else (rest, values)
    parts: list[str] = []
    given: list[Any] = []
    for name, low in cases.items():
        condition, sources = _among(alias, low)
        parts.append(f"WHEN ? THEN {condition}")
        given += (name, *sources)
    return f"CASE {alias}.agent {' '.join(parts)} ELSE {rest} END", (*given, *values)


def _among(alias: str, low: Sequence[str]) -> Condition:
    """The condition that the source type of a record is one of these."""
    if _OTHER in low:
        named = tuple(item for item in BY_SOURCE if item not in low)
        word = "NOT IN"
    else:
        named, word = tuple(low), "IN"
    if not named:
        return ("1" if word == "NOT IN" else "0"), ()
    return f"{alias}.source_type {word} ({', '.join('?' * len(named))})", named
