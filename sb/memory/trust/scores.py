"""Arithmetic of trust: how a score fades, how an opinion passes on, and how far a memory is trusted.

Source: the core and stack notes, "trust constants" (default 0.5, 0.01 a day toward neutral, depth factor 0.85); the memory
whitepaper, "trust model between cooperating agents". Everything here is pure; docs/reference/memory-trust.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sb.protocols.types import SourceType

GENERAL = "general"  # the domain of an assessment that holds for everything
OPERATORS = "sb:operators"  # who assessed, where an operator did; no agent can have that name
NEUTRAL = 0.5  # of somebody of whom nothing is known
FADES_PER_DAY = 0.01
DEPTH = 0.85  # what is left of an opinion for each agent that it comes through
_UNKNOWN = 0.4
USER, AGENT = "user-written", "agent-written"
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
MOST = BY_SOURCE[USER]  # no agent is trusted more than a user
# What an agent says on its own account. A good name makes nothing truer that it only passes on, such as a web page.
_OWN = frozenset(
    {
        "agent-written",
        "derived",
        "consolidation-promoted",
        SourceType.DIRECT_EXPERIENCE,
        SourceType.CONSOLIDATION,
        SourceType.PROCESSING,
        SourceType.INFERENCE,
    }
)


def believed(source_type: str, *, is_person: bool = False) -> str:
    """The source type as it is believed: only a person's door may say that a user wrote something.

    Args:
        is_person: whether it comes by such a door: an operator's view of the memory.
    """
    return AGENT if source_type == USER and not is_person else source_type


class Opinion(NamedTuple):
    """One assessment of an agent.

    Args:
        by: who assessed: an agent, OPERATORS, or "" where that is not known. about: the agent.
        score: from 0 to 1. days: since it was given.
    """

    by: str
    about: str
    score: float
    days: float = 0.0


class Standing(NamedTuple):
    """Trust in an agent, and its reasons.

    Args:
        score: from 0 to 1. opinions: those that it follows from. depth: agents between the operator and it.
    """

    score: float
    opinions: tuple[Opinion, ...]
    depth: int


def decayed(score: float, days: float) -> float:
    """Returns a score after some days: nearer to NEUTRAL by FADES_PER_DAY, and never past it."""
    step = FADES_PER_DAY * max(0.0, days)
    return max(NEUTRAL, score - step) if score >= NEUTRAL else min(NEUTRAL, score + step)


def lasting(score: float, days: float) -> float:
    """Returns what still counts of a score: trust fades, distrust stays until somebody lifts it.

    Otherwise an agent that is not trusted would only have to wait.
    """
    return min(score, decayed(score, days))


def say(trust: float) -> float:
    """Returns how much somebody's opinion of others counts, from 0 to 1: nothing unless they are trusted themselves."""
    return max(0.0, trust - NEUTRAL) / (1.0 - NEUTRAL)


def passed_on(opinion: float, trust: float) -> float:
    """Returns what an opinion comes to by way of the agent that holds it, from 0 to 1.

    Args:
        trust: in that agent.
    """
    return NEUTRAL + (opinion - NEUTRAL) * DEPTH * say(trust)


def standings(opinions: Iterable[Opinion]) -> dict[str, Standing]:
    """Returns how far each agent is trusted that an operator assessed, or somebody who is trusted.

    An operator's score stands. Others are settled in rounds: each takes the lowest of what was passed on by agents settled in
    the round before, and counts in the next round. So nobody is settled by an opinion that goes back to themselves, and
    agents who only assess each other stay without a standing. An opinion of nobody in particular can lower a standing.
    """
    by: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        by.setdefault(opinion.by, []).append(opinion)
    settled = {
        item.about: Standing(lasting(item.score, item.days), (item,), 0) for item in by.pop(OPERATORS, ())
    }
    anonymous = by.pop("", [])
    last, depth = settled, 0
    while last:
        depth += 1
        fresh: dict[str, Standing] = {}
        for assessor, standing in last.items():
            if say(standing.score) <= 0:
                continue
            for opinion in by.get(assessor, ()):
                if opinion.about in settled:
                    continue
                score = passed_on(lasting(opinion.score, opinion.days), standing.score)
                if opinion.about not in fresh or score < fresh[opinion.about].score:
                    fresh[opinion.about] = Standing(score, (*standing.opinions, opinion), depth)
        settled = settled | fresh
        last = fresh
    for opinion in anonymous:
        known = settled.get(opinion.about, Standing(NEUTRAL, (), 0))
        if opinion.score < known.score:
            settled[opinion.about] = Standing(opinion.score, (opinion,), 0)
    return settled


def trust_in_memory(source_type: str, standing: float | None = None) -> float:
    """Returns the trust in a memory, from 0 to 1, by its source; it never falls with the trust in who wrote it.

    At NEUTRAL, and where nothing is known of an agent, its source alone counts.

    Args:
        standing: the trust in the agent that wrote it, if anything is known.
    """
    base = BY_SOURCE.get(source_type, _UNKNOWN)
    if standing is None:
        return base
    if standing <= NEUTRAL:
        return base * standing / NEUTRAL
    most = max(base, MOST) if source_type in _OWN else base
    return base + (most - base) * say(standing)


def weight_of_outcome(standing: float | None, former: int) -> float:
    """Returns what an outcome adds to a memory's evidence, at most 1.

    Args:
        standing: the trust in who reports it. former: outcomes of that memory from them so far: of somebody who is not
            trusted each counts half as much as the one before, so that all together stay below 2.
    """
    if standing is None or standing >= NEUTRAL:
        return 1.0
    return float(standing / NEUTRAL * 0.5 ** min(former, 50))
