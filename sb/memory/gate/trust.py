"""How far the gate trusts a memory: by its source, and by what is known of the agent that writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from sb.store.records.columns import ACTIVE
from sb.store.records.store import RecordStore
from sb.types import SourceType

GENERAL = "general"  # the domain of a trust assessment that holds for everything
USER, AGENT = "user-written", "agent-written"
_UNKNOWN = 0.4
BY_SOURCE: Mapping[str, float] = {
    USER: 0.9,
    AGENT: 0.7,
    "derived": 0.6,
    "consolidation-promoted": 0.7,
    "ingested-document": 0.5,
    "tool-output": 0.4,
    SourceType.SEED: 0.8,
    SourceType.DIRECT_EXPERIENCE: 0.7,
    SourceType.CONSOLIDATION: 0.7,
    SourceType.PROCESSING: 0.6,
    SourceType.INFERENCE: 0.6,
    SourceType.EXTERNAL: 0.5,
    SourceType.OBSERVATION: 0.4,
}


def believed(source_type: str, *, is_person: bool = False) -> str:
    """The source type as it is believed: only a person's door may say that a user wrote something.

    Args:
        is_person: whether it comes by such a door: an operator's view of the memory.
    """
    return AGENT if source_type == USER and not is_person else source_type


def trust_of(source_type: str, assessed: float | None = None) -> float:
    """Returns the trust in a memory, from 0 to 1: that of its source, and no more than its agent is trusted.

    Args:
        assessed: the trust in the agent, if somebody assessed it.
    """
    trust = BY_SOURCE.get(source_type, _UNKNOWN)
    return trust if assessed is None else min(trust, assessed)


def assessed_trust(records: RecordStore, places: Sequence[int], agent: str) -> float | None:
    """Returns the general score of the trust assessment of an agent in these places, the lowest; None without one."""
    scores = []
    for place in places:
        row = records.keyed(place, "trust_assessment", agent)
        if row is not None and row["state"] == ACTIVE:
            score = orjson.loads(row["fields"]).get("dimensions", {}).get(GENERAL, {}).get("score")
            scores += [float(score)] if isinstance(score, int | float) else []
    return min(scores, default=None)
