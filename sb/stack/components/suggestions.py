"""Suggest memories from raw entries; nothing becomes one before it is accepted.

Each entry is looked through once. Its words decide; what they say nothing of, a bound model is asked about.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from sb.protocols.types import MemorySuggestion, RawEntry
from sb.stack.components.component import Component
from sb.stack.components.prompts import asked, number_within
from sb.stack.storage import StackStorage

_AT_ONCE = 50  # raw entries
_SHORTEST = 10  # characters of an entry that may say something
_THRESHOLD = 0.4  # score from which something is suggested
_TASK = (
    "Each memory is something captured as it came. Say which of them are worth keeping, and as what: an episode has"
    ' "objective" and "outcome", a belief has "statement", a note has "content". Answer with [{"number": its number,'
    ' "memory_type": "episode", "belief" or "note", "content": {…}, "confidence": 0 to 1}], or [].'
)
_NEEDED = {"episode": ("objective", "outcome"), "belief": ("statement",), "note": ("content",)}


class _Family:
    """Expressions that speak for a kind of memory, each with its weight."""

    def __init__(self, **weights: float) -> None:
        self._expressions = [
            (re.compile(rf"\b(?:{_FAMILIES[name]})", re.IGNORECASE), weight)
            for name, weight in weights.items()
        ]
        self._half = sum(weights.values()) / 2

    def score(self, text: str) -> float:
        """Scores a proposal from 0 to 1: half of all possible signals is enough for 1."""
        matched = sum(weight for expression, weight in self._expressions if expression.search(text))
        return min(1.0, matched / self._half)


_FAMILIES = {
    "done": r"(?:completed|finished|shipped|deployed|released|fixed|resolved|implemented|built|migrated|merged|tried)\b",
    "came_of_it": r"(?:failed|broke|crashed|succeeded|worked|(?:did not|didn't) work|rolled back|passed)\b",
    "learned": r"(?:learned|lesson|realized|realised|turned out|next time)\b",
    "when": r"(?:today|yesterday|this (?:morning|afternoon|week)|last (?:night|week)|just now)\b",
    "held": r"(?:i (?:think|believe)|i am (?:sure|convinced)|in my experience|in general)\b",
    "often": r"(?:always|never|every time|whenever|tends? to|usually|rarely)\b",
    "ought": r"(?:should|must|ought to|needs? to)\b",
    "why": r"(?:because|causes?|leads? to|means that|depends on)\b",
    "better": r"(?:(?:better|worse|faster|slower|safer) than|prefers?)\b",
    "mind": r"(?:note|remember|todo|fyi|important|don't forget|reminder)\b",
    "said": r"(?:said|told|asked|mentioned|wrote|according to)\b",
    "seen": r"(?:idea|insight|noticed|observed|interesting|found out)\b",
    "chosen": r"(?:decided|decision|chose|agreed)\b",
    "where": r"https?://",
}
_EPISODE = _Family(done=0.4, came_of_it=0.3, learned=0.3, when=0.2)
_BELIEF = _Family(held=0.5, often=0.4, ought=0.3, why=0.2, better=0.3)
_NOTE = _Family(mind=0.4, said=0.3, seen=0.3, chosen=0.4, where=0.2)
_NOTE_TYPES = (("decision", "chosen"), ("quote", "said"), ("insight", "seen"), ("reference", "where"))
_FAILED = re.compile(r"\b(?:failed|broke|crashed|did not work|didn't work|rolled back)\b", re.IGNORECASE)
_SUCCEEDED = re.compile(r"\b(?:succeeded|worked|fixed|resolved|passed|shipped|completed)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class Proposal(NamedTuple):
    """A proposed memory."""

    memory_type: str
    content: dict[str, Any]
    confidence: float


class SuggestionComponent(Component):
    """Suggests memories of what was captured."""

    name = "suggestions"
    needs_inference = True

    def _maintain(self, storage: StackStorage) -> dict[str, Any]:
        raws = storage.select("raw", limit=_AT_ONCE, where={"processed": False})
        found = {item.id: proposed(item.blob or "") for item in raws}
        for some in storage.by_visibility([item for item in raws if not found[item.id]]):
            for uid, more in self._asked(some):
                found[uid] = [more]
        made = [_suggestion(raw, proposal) for raw in raws for proposal in found[raw.id]]
        known = {suggestion.id for suggestion in made if storage.get("suggestion", suggestion.id) is not None}
        fresh = {suggestion.id: suggestion for suggestion in made if suggestion.id not in known}
        storage.save("suggestion", list(fresh.values()))
        for raw in raws:  # only now: what was suggested already is recognised by its id
            storage.amend("raw", raw.id, {"processed": True}, component=self.name)
        return {
            "raw_entries_processed": len(raws),
            "suggestions_extracted": len(fresh),
            "deduplicated_suggestions": len(made) - len(fresh),
            "inference_available": self._inference is not None,
        }

    def _asked(self, raws: Sequence[RawEntry]) -> Iterable[tuple[str, Proposal]]:
        """Asks the model about entries whose words suggest nothing."""
        worth = [raw_entry for raw_entry in raws if len(raw_entry.blob or "") >= _SHORTEST]
        if self._inference is None or not worth:
            return
        shown = [{"number": at, "text": raw_entry.blob} for at, raw_entry in enumerate(worth)]
        for item in asked(self._inference, _TASK, shown) or ():
            at, proposal = item.get("number"), _read(item)
            if type(at) is int and 0 <= at < len(worth) and proposal:
                yield worth[at].id, proposal


def proposed(text: str) -> list[Proposal]:
    """Proposes memories from a text; a note only if nothing else fits."""
    text = text.strip()
    if len(text) < _SHORTEST:
        return []
    found = []
    if (score := _EPISODE.score(text)) >= _THRESHOLD:
        found.append(Proposal("episode", _episode(text), round(score, 2)))
    if (score := _BELIEF.score(text)) >= _THRESHOLD:
        statement = max(_SENTENCE.split(text), key=_BELIEF.score)
        found.append(Proposal("belief", {"statement": statement.strip()}, round(score, 2)))
    if not found and (score := _NOTE.score(text)) >= _THRESHOLD:
        kind = next(
            (kind for kind, name in _NOTE_TYPES if re.search(_FAMILIES[name], text, re.IGNORECASE)), "note"
        )
        found.append(Proposal("note", {"content": text, "note_type": kind}, round(score, 2)))
    return found


def _episode(text: str) -> dict[str, Any]:
    first, _, rest = text.partition("\n")
    sentences = _SENTENCE.split(first if rest else text, maxsplit=1)
    outcome = (rest or (sentences[1] if len(sentences) > 1 else "")).strip() or text
    failed, worked = bool(_FAILED.search(text)), bool(_SUCCEEDED.search(text))
    kind = {(True, True): "partial", (True, False): "failure", (False, True): "success"}.get(
        (failed, worked), "unknown"
    )
    return {"objective": sentences[0].strip(), "outcome": outcome, "outcome_type": kind}


def _read(answer: Mapping[str, Any]) -> Proposal | None:
    """Returns a model's proposal, if it is one."""
    kind, content, sure = (
        answer.get("memory_type"),
        answer.get("content"),
        number_within(answer.get("confidence"), 0, 1),
    )
    needed = _NEEDED.get(kind) if isinstance(kind, str) else None
    if not needed or not isinstance(content, dict) or sure is None:
        return None
    texts = {name: content.get(name) for name in needed}
    if not all(isinstance(text, str) and text.strip() for text in texts.values()):
        return None
    return Proposal(str(kind), texts, sure)


def _suggestion(raw: RawEntry, proposal: Proposal) -> MemorySuggestion:
    """About the same people, and under an id that the same entry and content always has."""
    kind, content, confidence = proposal
    identity = orjson.dumps([raw.id, kind, content], option=orjson.OPT_SORT_KEYS)
    known = f"sug_{hashlib.blake2b(identity, digest_size=12).hexdigest()}"
    return MemorySuggestion(
        known, "", kind, content, confidence, [raw.id], subject_ids=raw.subject_ids,
        access_grants=raw.access_grants, consent_grants=raw.consent_grants,
    )  # fmt: skip
