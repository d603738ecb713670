"""Signals that move the hits of a search, each by a bounded share of the best hit's score, and the log of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from sb.memory.ranking.rank import Ranked
from sb.memory.signals.affect import affect
from sb.memory.signals.neuromodulation import NORMAL, State, state_of
from sb.memory.space import Space
from sb.store.records.places import Execute
from sb.store.records.store import NEVER

BOUND = 0.02  # of the best hit's score, that one signal adds or takes at most
MOVING = ("affect", "neuromodulation", "replay")
LOGGED = 10_000  # rows of the log that stay
_FULL = 10.0  # of replay_priority, from which on it no longer grows
_GROWS, _RIPPLES = 0.1, 0.8  # of a salience: the part that priority grows by; above it a retrieval is tagged
_UNSURE = 0.5  # of what has no confidence

_Entry = tuple[str, int | None, str, str, str]  # signal, record, former, current, cause


def moves_of(space: Space, agent: str, places: Sequence[int]) -> Moves | None:
    """Returns the moves of one search; None where no signal that moves hits is on."""
    on = [name for name in MOVING if space.settings.signals.get(name)]
    return Moves(space, agent, places, on) if on else None


class Moves:
    """The moves of one search by the signals that are on."""

    def __init__(self, space: Space, agent: str, places: Sequence[int], on: Sequence[str]) -> None:
        self._space, self._agent, self._places, self._on = space, agent, places, on
        self._entries: list[_Entry] = []
        self._found: list[tuple[Ranked, float]] = []
        self.reach = (
            2 * BOUND * len(on)
        )  # share of the best score, that two hits can come nearer to each other

    def applied(
        self, hits: Sequence[Ranked], rows: Mapping[int, Mapping[str, Any]], k: int, explain: bool
    ) -> list[Ranked]:
        """The hits in their order once the signals count; ties by id.

        Args:
            rows: the columns `JUDGED_BY` of each, by number. k: how many of them are shown.
        """
        if not hits or hits[0].score <= 0:
            return list(hits)
        worth, former = BOUND * hits[0].score, {hit.id: place for place, hit in enumerate(hits, 1)}
        values = {name: self._values(name, [*rows]) for name in self._on}
        moved = []
        for hit in hits:
            given = {name: values[name].get(hit.id, 0.0) for name in self._on}
            shown = {**(hit.features or {}), **{f"signal.{n}": (v, worth) for n, v in given.items()}}
            score = hit.score + worth * sum(given.values())
            moved.append(Ranked(hit.id, score, shown if explain else hit.features, hit.restatement))
        moved.sort(key=lambda item: (-item.score, item.id))
        for place, hit in enumerate(moved[:k], 1):
            if place != former[hit.id]:
                causes = {name: worth * values[name].get(hit.id, 0.0) for name in self._on}
                self._entries += [
                    (name, hit.id, str(former[hit.id]), str(place), f"score {by:+.4f}")
                    for name, by in causes.items()
                    if by
                ]
        self._found = [(hit, rows[hit.id]["confidence"] or _UNSURE) for hit in moved[:k]]
        return moved

    def keep(self, execute: Execute) -> None:
        """Write what changed, in the transaction that logs the search."""
        at, database = self._space.clock.now(), self._space.database
        if self._entries:
            database.write_each(
                "INSERT INTO signal_log (at, agent, signal, record, former, current, cause) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(at, self._agent, *entry) for entry in self._entries],
            )
            execute(f"DELETE FROM signal_log WHERE id <= (SELECT max(id) FROM signal_log) - {LOGGED}")
        if "replay" in self._on and self._found:
            best = max(hit.score for hit, _ in self._found)
            salience = [(hit.id, max(0.0, hit.score / best) * sure) for hit, sure in self._found]
            database.write_each(
                "INSERT INTO record_stats (record, place, accessed, last_accessed, replay_priority, ripple_tags)"
                " SELECT id, place, 0, ?, ?, ? FROM records WHERE id = ? ON CONFLICT (record) DO UPDATE SET"
                f" replay_priority = min({_FULL}, replay_priority + excluded.replay_priority),"
                " ripple_tags = ripple_tags + excluded.ripple_tags",
                [
                    (NEVER, round(_GROWS * value, 4), int(value > _RIPPLES), number)
                    for number, value in salience
                ],
            )

    def _values(self, name: str, numbers: Sequence[int]) -> dict[int, float]:
        """The value of a signal for each record, from -1 to 1; what it has none for is left out."""
        space, listed = self._space, orjson.dumps(list(numbers)).decode()
        if name == "replay":
            rows = space.database.query(
                "SELECT record, replay_priority FROM record_stats WHERE record IN (SELECT value FROM json_each(?))"
                " AND replay_priority > 0",
                (listed,),
            )
            return {record: priority / _FULL for record, priority in rows}
        column = "text" if name == "affect" else "created_at"
        rows = space.database.query(
            f"SELECT id, {column} FROM records WHERE id IN (SELECT value FROM json_each(?))", (listed,)
        )
        if name == "affect":
            return {number: affect(text).priority for number, text in rows}
        state = state_of(space, self._places)
        self._note(state)
        if state.state == NORMAL:
            return {}
        now = space.clock.now()
        return {number: state.recency(now - created_at) for number, created_at in rows}

    def _note(self, state: State) -> None:
        """Log a state that is another one than that of the agent's last search."""
        rows = self._space.database.query(
            "SELECT current FROM signal_log WHERE record IS NULL AND signal = 'neuromodulation' AND agent = ?"
            " ORDER BY id DESC LIMIT 1",
            (self._agent,),
        )
        former = rows[0][0] if rows else NORMAL
        if state.state != former:
            self._entries.append(("neuromodulation", None, former, state.state, state.reason))
