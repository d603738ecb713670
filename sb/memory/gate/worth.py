"""The worth W(m) of a new memory, and what follows from it: admit it, or merge it into the nearest.

Source: the memory whitepaper, "the worthiness gate W(m)": W(m) = surprise + novelty + importance, weighted by category, where
surprise looks at recent memories of the same category and novelty at all of them. Before that stands a rule that no weight
overrides: a memory with another number, date, name or negation is none that says the same, so it is not compared at all.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sb.base.values.frozen import frozen
from sb.config.memory_gate import GateSettings
from sb.memory.decay import faded
from sb.memory.gate.likeness import Comparer
from sb.memory.ranking.encoding import NOTHING
from sb.memory.salience import bearing
from sb.memory.views import View
from sb.store.records.columns import Row
from sb.store.records.consent import difference

LONGEST = 2_000  # characters: longer texts are merged only if they are equal
AGAIN = "again"  # marks a row that has the text of the candidate as a restatement
_DAY = 86_400.0
_NEUTRAL, _TRUSTED = 0.7, 0.5  # the trust that leaves a prior as it is, and how much any other shifts it
_DISPLACES = 0.5  # the shift against a memory on which as much rests as counts
_SHARED = (
    0.4  # of the words of the longer text: with fewer in common, none of the labelled pairs say the same
)
RIVAL, NEIGHBOUR = "rival", "neighbour"
REFUSED = "refused"


@frozen
class Other(View):
    """A memory that resembles the new one and says something else, so that both stand.

    Args:
        id, content: of that memory. likeness: from 0 to 1.
        changed: in which value they differ: number, date, name, negation, order or word; or in speaker, subject or reader.
        relation: rival where both say a value of the same thing and only one can hold, else neighbour.
    """

    id: str
    content: str
    likeness: float
    changed: str
    relation: str


@frozen
class GateVerdict(View):
    """The gate's answer for one memory.

    Args:
        admitted: whether it is a record of its own. reason: why, in one line.
        worth, threshold: W(m), and what it had to reach.
        surprise, novelty, importance: the terms before they are weighted, each from 0 to 1.
        trust: in the new memory, from 0 to 1.
        nearest: the id of the memory it is merged into or nearest to, or "". content: of that. likeness: to it.
        downgraded: it was merged without any effect, since it is trusted less than that memory.
        others: memories that resemble it and say something else.
        held: "refused" or "quarantined", where what it says or its source decided that, and nothing was compared; else "".
        restatement: the id under which the text is kept as evidence of that memory; "" if it adds none.
    """

    admitted: bool
    reason: str
    worth: float = 1.0
    threshold: float = 0.0
    surprise: float = 1.0
    novelty: float = 1.0
    importance: float = 0.0
    trust: float = _NEUTRAL
    nearest: str = ""
    content: str = ""
    likeness: float = 0.0
    downgraded: bool = False
    others: tuple[Other, ...] = ()
    held: str = ""
    restatement: str = ""


@frozen
class Candidate:
    """A new memory before it is written.

    Args:
        terms: the words of the text, as ranking counts them. dated: whether somebody gave `happened_at`; trust: in it, from 0 to 1.
        fields: of its row, in JSON.
    """

    text: str
    terms: frozenset[int]
    category: str | None
    speaker: str | None
    happened_at: float
    dated: bool
    trust: float
    fields: str = "{}"


def shift(trust: float, borne: float) -> float:
    """Returns what moves a prior: trust in the new memory, less what rests on the one that it would displace."""
    return _TRUSTED * (trust - _NEUTRAL) - _DISPLACES * borne


def importance(settings: GateSettings, trust: float, borne: float = 0.0) -> float:
    """Returns the prior of a memory: that of its category, shifted; from 0 to 1, and never less for more trust."""
    return min(1.0, max(0.0, settings.prior + shift(trust, borne)))


def worth(settings: GateSettings, likeness: float, recent: float, trust: float, borne: float = 0.0) -> float:
    """Returns W(m).

    Args:
        likeness: to the most alike memory. recent: to that of the same category, faded with its age.
        borne: how much rests on that memory, from 0 to 1.
    """
    return (
        settings.surprise * (1.0 - recent)
        + settings.novelty * (1.0 - likeness)
        + settings.importance * importance(settings, trust, borne)
    )


def decide(
    candidate: Candidate,
    rows: Sequence[Row],
    settings: GateSettings,
    comparer: Comparer,
    now: float,
    important: Mapping[int, float] = MappingProxyType({}),
) -> tuple[GateVerdict, Row | None]:
    """Returns the verdict on a memory, and the row that it is merged into, if it is.

    Args:
        rows: the records that it is compared with, which share words with it; see `shares`. now: seconds since the epoch.
        important: of these, by number.
    """
    same: list[tuple[float, Row]] = []
    others: list[Other] = []
    for row in sorted(
        rows, key=lambda row: (row["text"] != candidate.text, not row.get(AGAIN))
    ):  # nothing is more alike than an equal one
        if same and (same[-1][1]["text"] == candidate.text or same[-1][1].get(AGAIN)):
            break
        likeness, changed, relation = _compared(candidate, row, settings, comparer)
        if likeness < settings.floor:
            continue
        if changed:
            others.append(Other(row["uid"], row["text"], round(likeness, 3), changed, relation))
        else:
            same.append((likeness, row))
    others.sort(key=lambda other: -other.likeness)
    if not same:
        why = "nothing says the same" if not others else f"another {others[0].changed} than {others[0].id}"
        shifted = importance(settings, candidate.trust)
        most = settings.surprise + settings.novelty + settings.importance * shifted
        return GateVerdict(
            True, why, round(most, 3), settings.threshold, importance=shifted, trust=candidate.trust,
            others=tuple(others),
        ), None  # fmt: skip
    likeness, nearest = max(same, key=lambda pair: (pair[0], -pair[1]["id"]))
    recent = max(
        (
            faded(score, (now - row["updated_at"]) / _DAY, settings.half_life_days)
            for score, row in same
            if row["category"] == candidate.category
        ),
        default=0.0,
    )
    borne = bearing(important.get(nearest["id"], 0.0))
    value = worth(settings, likeness, recent, candidate.trust, borne)
    admitted = value >= settings.threshold
    sign = "reaches" if admitted else "is below"
    verdict = GateVerdict(
        admitted,
        f"W(m) {value:.2f} {sign} {settings.threshold:g}",
        round(value, 3),
        settings.threshold,
        round(1.0 - recent, 3),
        round(1.0 - likeness, 3),
        importance(settings, candidate.trust, borne),
        candidate.trust,
        nearest["uid"],
        nearest["text"],
        round(likeness, 3),
        others=tuple(others),
    )
    return verdict, None if admitted else nearest


def _compared(
    candidate: Candidate, row: Row, settings: GateSettings, comparer: Comparer
) -> tuple[float, str, str]:
    """The similarity of a record, the value in which it differs, and its relation."""
    if row.get(AGAIN) or candidate.text.strip() == row["text"].strip():
        likeness, changed, same_frame = 1.0, "", True
    elif max(len(candidate.text), len(row["text"])) > LONGEST:
        return 0.0, "", NEIGHBOUR
    else:
        likeness, changed, same_frame = comparer.compare(candidate.text, row["text"], least=settings.floor)
        if likeness < settings.floor:
            return likeness, "", NEIGHBOUR
    if not changed and candidate.speaker != row["speaker"]:
        return likeness, "speaker", NEIGHBOUR
    if not changed and candidate.dated and candidate.happened_at != row["happened_at"]:
        return likeness, "date", NEIGHBOUR
    if not changed and (others := difference(candidate.fields, row["fields"])):
        return likeness, others, NEIGHBOUR
    rival = changed and same_frame and settings.exclusive
    return likeness, changed, RIVAL if rival else NEIGHBOUR


def terms_of(row: Row) -> frozenset[int]:
    """Returns the distinct words of a row as numbers."""
    return frozenset(array("I", row["terms"][len(NOTHING) :]))


def shares(terms: frozenset[int], counted: bytes) -> bool:
    """True if two texts have so many words in common that they may say the same.

    Args:
        terms: the words of one. counted: of the other, as ranking counts them.
    """
    others = array("I", counted[len(NOTHING) :])
    common = len(terms.intersection(others))
    if common < _SHARED * len(terms):
        return False
    return common >= _SHARED * len(set(others))
