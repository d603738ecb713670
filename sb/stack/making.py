"""Make playbooks, epochs, summaries, self-narratives and entity models of a stack's memories, by rules and without a model.

Each is made when somebody asks for it. The memories of one place are never mixed with another's, and relations name the
sources: with one of these it falls, is withheld and is erased.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from sb.base.text import counted
from sb.errors import NotFoundError, UsageError
from sb.memory.ranking.terms import STOP_WORDS, stem, words
from sb.protocols.types import EntityModel, Epoch, Playbook, SelfNarrative, Summary
from sb.protocols.types.vocabulary import ITEM_CHARACTERS
from sb.stack.container import Container
from sb.stack.provenance import check_writable
from sb.stack.queries import StackReader
from sb.stack.saver import Saver
from sb.store.records.columns import ACTIVE
from sb.store.records.consent import inherited
from sb.store.records.edges import DERIVED_FROM, Edge
from sb.store.records.places import Execute, Place

_READ = 2_000  # memories of a kind, the newest, that are looked at
_LISTED = 10  # of a kind, in a text
_MASTERY = ((10, 0.9, "expert"), (5, 0.75, "proficient"), (2, 0.5, "competent"), (0, 0.0, "novice"))
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_MODELS = tuple(  # the first that a sentence matches
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("preference", r"\b(?:prefers?|likes|loves?|hates?|wants?|dislikes?|enjoys?|favou?rite)\b"),
        ("capability", r"\b(?:can|can't|cannot|able|unable|knows|speaks|skilled|expert|good at|supports)\b"),
        ("behavioral", ""),
    )
)
_PERIODS: Sequence[tuple[str, re.Pattern[str], int]] = (  # scope, as it is written, months
    ("month", re.compile(r"([12]\d{3})-(0[1-9]|1[0-2])"), 1),
    ("quarter", re.compile(r"([12]\d{3})-Q([1-4])"), 3),
    ("year", re.compile(r"([12]\d{3})()"), 12),
    ("decade", re.compile(r"([12]\d{2}0)s()"), 120),
)
# The text of a memory by its kind, in the order in which kinds are told.
_TEXTS = {
    "episode": ("objective", "outcome"),
    "belief": ("statement",),
    "note": ("content",),
    "goal": ("title", "status"),
    "value": ("statement",),
    "drive": ("drive_type", "focus_areas"),
}
_SUMMARISED = ("episode", "belief", "note", "goal")
_NARRATED = {"identity": ("value", "drive", "belief"), "aspirational": ("goal", "value")}
_KEYS = {  # the field of an epoch in which memories of a kind are named
    "key_belief_ids": "belief",
    "key_relationship_ids": "relationship",
    "key_goal_ids": "goal",
    "dominant_drive_ids": "drive",
}
_TYPES: Mapping[str, Callable[..., Any]] = {
    "playbook": Playbook,
    "summary": Summary,
    "self_narrative": SelfNarrative,
    "entity_model": EntityModel,
}
_Made = Iterable[tuple[str, Mapping[str, Any], Sequence[Any]]]  # what it is about, fields, sources


class _Period(NamedTuple):
    scope: str
    begin: datetime
    end: datetime
    epoch: str | None = None


class Maker:
    """Makes the memories of one stack that are made of others by rules."""

    def __init__(self, container: Container, reader: StackReader, saver: Saver) -> None:
        self._container, self._reader, self._saver = container, reader, saver

    def make(self, kind: str, about: str = "") -> list[str]:
        """Make a memory of others, or make it anew; returns ids, one for each scope and, of entity models, type.

        Args:
            kind: playbook, epoch, summary, self_narrative or entity_model.
            about: the objective of a playbook's episodes; the name of the epoch that begins now, and ends the open one; the
                period of a summary (2026-11, 2026-Q4, 2026, 2020s, or an epoch's name or id); the type of a self-narrative,
                identity (the default) or aspirational; the name that an entity model is about.

        Raises:
            UsageError: there is no such kind, or `about` is none of the above. NotFoundError: nothing is remembered of it.
            MaintenanceModeError, StoreReadOnly: nothing may be written now.
        """
        makers: Mapping[str, Callable[[str], _Made]] = {
            "playbook": self._playbooks,
            "summary": self._summaries,
            "self_narrative": self._narratives,
            "entity_model": self._models,
        }
        if kind not in (*makers, "epoch"):
            raise UsageError(f"{kind!r} is not made by rules", f"one of: epoch, {', '.join(makers)}")
        check_writable(self._container)
        about = about.strip() or ("identity" if kind == "self_narrative" else "")
        if not about:
            raise UsageError(f"{kind}: say what it is about", "sb stack make --help")
        if kind == "epoch":
            return self._epoch(about)
        made = [self._save(kind, *parts) for parts in makers[kind](about)]
        if not made:
            raise NotFoundError(f"nothing is remembered of {about!r} that a {kind} could be made of")
        return made

    def _save(self, kind: str, about: str, fields: Mapping[str, Any], sources: Sequence[Any]) -> str:
        """Save a memory where its sources are, in place of what was made of the same before."""
        ids = [source.id for source in sources]
        (place,) = self._container.by_place(ids)
        known = self._container.space.records.known(ids)
        uid = self._id(kind, about, place)
        record = _TYPES[kind](uid, self._container.stack_id, **fields, **inherited(known.values()))
        return self._saver.save(kind, [record], place=place, also=partial(self._relate, ids))[0]

    def _relate(self, sources: Sequence[str], execute: Execute, made: Sequence[str]) -> None:
        """Relate a memory to its sources; former ones stay, since its history repeats them."""
        space = self._container.space
        known = space.records.known([*sources, *made])
        for row in (known[uid] for uid in made):
            for source in sources:
                edge = Edge(row["id"], DERIVED_FROM, known[source]["id"])
                space.edges.add(execute, edge, place=row["place"], agent=row["agent"], at=space.clock.now())

    def _id(self, kind: str, about: str, place: Place) -> str:
        """The same id each time; another one once that fell, was forgotten or erased."""
        identity = f"{self._container.stack_id}\0{place.scope}\0{place.owner}\0{kind}\0{about.casefold()}"
        digest = hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=12).hexdigest()
        uid, number = f"made_{digest}", 1
        while (row := self._container.space.records.find(uid)) is not None and row["state"] != ACTIVE:
            number += 1
            uid = f"made_{digest}_{number}"
        return uid

    def _read(self, kind: str, period: _Period | None = None) -> list[Any]:
        """The memories of a kind, the newest first."""
        query = self._reader.query(kind, include_weak=True)
        if period is not None:
            bounds = period.begin.timestamp(), period.end.timestamp()
            query.add("r.happened_at >= ? AND r.happened_at < ?", *bounds)
        return self._reader.read(query, limit=_READ)

    def _by_place(self, records: Iterable[Any]) -> list[list[Any]]:
        known = {record.id: record for record in records}
        return [[known[uid] for uid in ids] for ids in self._container.by_place(known).values()]

    def _playbooks(self, about: str) -> _Made:
        """The episodes with an objective of the same words tell how it is done."""
        wanted = _content(about)
        alike = [item for item in reversed(self._read("episode")) if _content(item.objective) == wanted]
        for episodes in self._by_place(alike):
            yield about, _playbook(about, episodes), episodes

    def _models(self, name: str) -> _Made:
        """The sentences that name an entity tell what it prefers, can do or does."""
        named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
        for records in self._by_place(item for kind in _SUMMARISED for item in self._read(kind)):
            by_type: dict[str, list[tuple[str, Any]]] = {}
            for record in records:
                for sentence in filter(named.search, _SENTENCE.split(_text(record))):
                    model_type = next(kind for kind, pattern in _MODELS if pattern.search(sentence))
                    by_type.setdefault(model_type, []).append((sentence.strip(), record))
            for model_type, quoted in sorted(by_type.items()):
                sources = list({record.id: record for _, record in quoted}.values())
                fields = {
                    "entity_name": name,
                    "model_type": model_type,
                    "observation": _short(" ".join(_each(text for text, _ in quoted)[:_LISTED])),
                    "confidence": min(0.9, 0.5 + 0.1 * len(sources)),
                    "source_episodes": [item.id for item in sources if hasattr(item, "objective")] or None,
                }
                yield f"{model_type}\0{name}", fields, sources

    def _summaries(self, about: str) -> _Made:
        """The number of memories of a period, and the strongest of each kind, tell of it."""
        period = self._period(about)
        begin, end = (at.date().isoformat() for at in (period.begin, period.end))
        known = {item.id: (item.period_start, item.period_end) for item in self._read("summary")}
        inside = [uid for uid, (a, z) in known.items() if begin <= a < z <= end and (a, z) != (begin, end)]
        for records in self._by_place(item for kind in _SUMMARISED for item in self._read(kind, period)):
            (place,) = self._container.by_place([records[0].id])
            tags = Counter(tag for item in records for tag in getattr(item, "tags", None) or ())
            fields = {
                "scope": period.scope,
                "period_start": begin,
                "period_end": end,
                "content": _summed(records),
                "epoch_id": period.epoch,
                "key_themes": sorted(tags, key=lambda tag: (-tags[tag], tag))[:5] or None,
                "supersedes": self._container.by_place(inside).get(place),
            }
            yield about, fields, records

    def _narratives(self, about: str) -> _Made:
        """Values, drives, beliefs about oneself and goals tell of oneself."""
        if about not in _NARRATED:
            raise UsageError(f"not made by rules: {about!r}", f"one of: {', '.join(_NARRATED)}")
        every = (item for kind in _NARRATED[about] for item in self._read(kind))
        for records in self._by_place(
            item for item in every if getattr(item, "belief_scope", "self") == "self"
        ):
            paused = [item.title for item in records if getattr(item, "status", "") == "paused"]
            fields = {
                "content": _short("\n".join(map(_text, records)), 4 * ITEM_CHARACTERS),
                "narrative_type": about,
                "unresolved_tensions": paused or None,
            }
            yield about, fields, records

    def _epoch(self, name: str) -> list[str]:
        """End the open epoch, name what is new since it began, and begin the next."""
        container, now = self._container, self._now()
        known = self._read("epoch")
        number = max((epoch.epoch_number for epoch in known), default=0) + 1
        records = [Epoch("", container.stack_id, number, name, started_at=now)]
        for epoch in (item for item in known if item.ended_at is None):
            period = _Period("epoch", epoch.started_at or epoch.created_at, now)
            epoch.ended_at = now
            for field, kind in _KEYS.items():
                here = container.by_place(item.id for item in self._read(kind, period))
                named = here.get(container.place, [])[:_LISTED]  # an epoch is everybody's
                setattr(epoch, field, getattr(epoch, field) or named or None)
            records.insert(0, epoch)
        return self._saver.save("epoch", records)[-1:]

    def _period(self, about: str) -> _Period:
        for scope, pattern, months in _PERIODS:
            if match := pattern.fullmatch(about):
                first = 12 * int(match[1]) + months * (int(match[2] or 1) - 1)
                begin, end = (
                    datetime(at // 12, at % 12 + 1, 1, tzinfo=UTC) for at in (first, first + months)
                )
                return _Period(scope, begin, end)
        for epoch in self._read("epoch"):
            if about in (epoch.id, epoch.name):
                begin = epoch.started_at or epoch.created_at
                return _Period("epoch", begin, epoch.ended_at or self._now(), epoch.id)
        raise UsageError(f"not a period: {about!r}", "2026-11, 2026-Q4, 2026, 2020s, or an epoch's name")

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._container.space.clock.now(), UTC)


def _playbook(about: str, episodes: Sequence[Any]) -> Mapping[str, Any]:
    done, failed = (
        [item for item in episodes if item.outcome_type == outcome] for outcome in ("success", "failure")
    )
    steps: dict[str, dict[str, Any]] = {}
    for action, why in ((action, item.outcome) for item in done for action in item.repeat or ()):
        steps.setdefault(action, {"action": action, "details": why, "adaptations": []})
    avoided = (text for item in episodes for text in item.avoid or ())
    rate = len(done) / len(episodes)
    return {
        "name": _short(about),
        "description": f"From {counted(len(episodes), 'episode')}, {len(done)} of them successful.",
        "trigger_conditions": [about],
        "steps": list(steps.values()),
        "failure_modes": _each([*(item.outcome for item in failed), *avoided]),
        "recovery_steps": _each(text for item in episodes for text in item.lessons or ()) or None,
        "mastery_level": next(level for n, least, level in _MASTERY if len(episodes) >= n and rate >= least),
        "times_used": len(episodes),
        "success_rate": rate,
        "source_episodes": [item.id for item in episodes],
        "last_used": episodes[-1].created_at,
    }


def _summed(records: Sequence[Any]) -> str:
    lines = []
    for kind in _SUMMARISED:
        of_kind = [item for item in records if hasattr(item, _TEXTS[kind][0])]
        strongest = sorted(of_kind, key=lambda item: -item.strength)[:_LISTED]
        if of_kind:
            lines.append(f"{counted(len(of_kind), kind)}: {'; '.join(_short(_text(it)) for it in strongest)}")
    return "\n".join(lines)


def _text(record: Any) -> str:
    """The words of a memory; the values of its fields, after colons."""
    fields = next(names for names in _TEXTS.values() if hasattr(record, names[0]))
    values = (getattr(record, name) for name in fields)
    return ": ".join(", ".join(it) if isinstance(it, list) else it for it in values if it)


def _content(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS)


def _each(texts: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(filter(None, texts)))


def _short(text: str, most: int = ITEM_CHARACTERS) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
