"""Signals that move the hits of a search, each by a bounded share of the best hit's score, and the log of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from sb.memory.ranking.rank import Ranked
from sb.memory.signals.affect import affect
from sb.memory.signals.neuromodulation import NORMAL, state_of
from sb.memory.space import Space
from sb.memory.views import Hit
from sb.store.records.places import Execute
from sb.store.records.store import NEVER

BOUND = 0.02  # of the best hit's score, that one signal adds or takes at most
MOVING = ("affect", "neuromodulation", "replay")
LOGGED = 10_000  # rows of the log that stay
_FULL = 10.0  # of replay_priority, from which on it no longer grows
_GROWS, _RIPPLES = 0.1, 0.8  # of a salience: the part that priority grows by; above it a retrieval is tagged
_UNSURE = 0.5  # of what has no confidence

Found = list[tuple[Ranked, Hit]]


class Moves:
    """The moves of one search by the signals that are on."""

    def __init__(self, space: Space, agent: str, places: Sequence[int], on: Sequence[str]) -> None:
        self._space, self._agent, self._places, self._on = space, agent, places, on
        self._entries: list[tuple[Any, ...]] = []  # signal, record, former, current, cause

    def applied(self, found: Found) -> Found:
        """The hits that are shown, in their order once the signals count: none comes or goes; ties stay."""
        if not self._on or not found or found[0][0].score <= 0:
            return found
        worth = BOUND * found[0][0].score
        values = {name: self._values(name, found) for name in self._on}
        moved = []
        for at, (ranked, hit) in enumerate(found):
            score = ranked.score + worth * sum(of[at] for of in values.values())
            given = {f"signal.{name}": (of[at], worth) for name, of in values.items()}
            shown = None if hit.explanation is None else {**hit.explanation, **given}
            moved.append((at, (ranked, replace(hit, score=score, explanation=shown))))
        moved.sort(key=lambda item: -item[1][1].score)
        self._entries += [
            (name, ranked.id, str(former + 1), str(at), f"score {worth * values[name][former]:+.4f}")
            for at, (former, (ranked, _)) in enumerate(moved, 1)
            if at != former + 1
            for name in self._on
            if values[name][former]
        ]
        if self._entries or "replay" in self._on:
            with self._space.database.write() as execute:
                self._keep(execute, found)
        return [pair for _, pair in moved]

    def _keep(self, execute: Execute, found: Found) -> None:
        """Write what changed."""
        for entry in self._entries:
            sql = "INSERT INTO signal_log (at, agent, signal, record, former, current, cause) VALUES (?, ?, ?, ?, ?, ?, ?)"
            execute(sql, (self._space.clock.now(), self._agent, *entry))
        execute(f"DELETE FROM signal_log WHERE id <= (SELECT max(id) FROM signal_log) - {LOGGED}")
        for ranked, hit in found if "replay" in self._on else ():
            sure = _UNSURE if hit.confidence is None else hit.confidence
            salience = sure * max(0.0, ranked.score / found[0][0].score)
            execute(
                "INSERT INTO record_stats (record, place, accessed, last_accessed, replay_priority, ripple_tags)"
                " SELECT id, place, 0, ?, ?, ? FROM records WHERE id = ? ON CONFLICT (record) DO UPDATE SET"
                f" replay_priority = min({_FULL}, replay_priority + excluded.replay_priority),"
                " ripple_tags = ripple_tags + excluded.ripple_tags",
                (NEVER, round(_GROWS * salience, 4), salience > _RIPPLES, ranked.id),
            )

    def _values(self, name: str, found: Found) -> list[float]:
        """The value of a signal for each hit, from -1 to 1."""
        if name == "affect":
            return [affect(hit.content).priority for _, hit in found]
        if name == "replay":
            rows = self._space.database.query(
                "SELECT record, replay_priority FROM record_stats WHERE record IN (SELECT value FROM json_each(?))",
                (orjson.dumps([ranked.id for ranked, _ in found]).decode(),),
            )
            priorities: dict[int, float] = dict(rows)
            return [priorities.get(ranked.id, 0.0) / _FULL for ranked, _ in found]
        state, now = state_of(self._space, self._places), self._space.clock.now()
        rows = self._space.database.query(
            "SELECT current FROM signal_log WHERE record IS NULL AND agent = ? ORDER BY id DESC LIMIT 1",
            (self._agent,),
        )
        if state.state != (former := rows[0][0] if rows else NORMAL):
            self._entries.append((name, None, former, state.state, state.reason))
        return [state.recency(now - hit.happened_at) for _, hit in found]
