"""The table of signals, and what each of them shows: computed when it is asked for, of what there is already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, sqrt
from typing import TYPE_CHECKING, Any

import orjson

from sb.base.text import checked_name, shorten, storable
from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.memory.access import READ
from sb.memory.knowledge import UNKNOWN, agent_knowledge, readable
from sb.memory.salience import bearing
from sb.memory.signals.affect import affect
from sb.memory.signals.moves import BOUND, MOVING
from sb.memory.signals.neuromodulation import state_of
from sb.store.records.reads import LOAD, ORIENT

if TYPE_CHECKING:
    from sb.memory.operations import Operations

Fields = dict[str, Any]
_AT_ONCE = 5_000  # of the newest records, changes or reads, that are looked at
_PART = 200  # rows whose memories are read at once
_DAY = 86_400.0
_FADES = 0.03  # of a day, of evidence and of what is thought of another agent: brainctl's
_UNSURE = 0.4  # mean confidence of what a search found, below which it met a gap
_REPLAYED = "(SELECT * FROM record_stats WHERE replay_priority > 0)"
_PERSPECTIVE = "estimated_belief estimated_confidence knowledge_gap confusion_risk".split()
_EXPERTISE = "agent topic strength evidence_count accepted corrected cited brier_score last_active".split()
_HERE = "place IN (SELECT value FROM json_each(?1))"


@frozen
class Asked:
    """A question to a signal; `places` are those that the agent sees, and `agent` is whom it is about, or ""."""

    brain: Operations
    places: Sequence[int]
    about: str
    agent: str
    limit: int

    @property
    def asker(self) -> str:
        """The name of the agent; "" for an operator, who sees what all of them did."""
        return "" if self.brain.writer.record_writer.is_operator else self.brain.agent_id

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows; ?1 in the statement are the places, as JSON."""
        return self.brain.space.database.query(sql, (orjson.dumps(list(self.places)).decode(), *values))

    def visible(self, rows: Sequence[Sequence[Any]], *names: str) -> list[Fields]:
        """Rows by name, as many as are asked for, each with the memory of its first column; those that may be read."""
        space, found = self.brain.space, list[Fields]()
        for part in (rows[at : at + _PART] for at in range(0, len(rows), _PART) if len(found) < self.limit):
            known = space.records.rows(list({row[0] for row in part}))
            read = {row["id"]: row for row in readable(space, list(known), self.places)}
            for number, *values in part:
                if number in read and self.agent in ("", read[number]["agent"]) and len(found) < self.limit:
                    memory = space.memory(read[number])
                    named = {"id": memory.id, "content": shorten(memory.title, 160)}
                    found.append(dict(zip(names, values, strict=True)) | named)
        return found


def _affect(asked: Asked) -> list[Fields]:
    rows = asked.query(
        f"SELECT id, created_at, agent, text FROM records WHERE {_HERE} AND state = 'active'"
        f" AND id > (SELECT max(id) FROM records) - {_AT_ONCE} ORDER BY id DESC"
    )
    felt = [(*row[:3], affect(row[3])) for row in rows]
    rows = [(*row, *of, of.label) for *row, of in felt if of.arousal]
    return asked.visible(rows, "at", "agent", "valence", "arousal", "label")


def _expertise(asked: Asked) -> list[Fields]:
    space, now = asked.brain.space, asked.brain.space.clock.now()
    hidden, values = space.reader.left_out(asked.places)
    right = "(e.kind = 'confirmed')"
    rows = space.database.query(
        "SELECT r.agent, r.place, r.category, r.created_at, (SELECT count(*) FROM edges WHERE target = r.id AND"
        f" relation = 'derived_from'), coalesce(sum({right}), 0), coalesce(sum(NOT {right}), 0) + (r.state = 'superseded'),"
        f" coalesce(sum((e.confidence - {right}) * (e.confidence - {right})), 0), count(e.confidence) FROM records AS r"
        " LEFT JOIN record_evidence AS e ON e.record = r.id AND e.kind <> 'restated'"
        f" WHERE r.state IN ('active', 'superseded') AND NOT ({hidden or 0})"
        f" AND r.place IN (SELECT value FROM json_each(?)) GROUP BY r.id ORDER BY r.id DESC LIMIT {_AT_ONCE}",
        (*values, orjson.dumps(list(asked.places)).decode()),
    )
    known: dict[tuple[str, str], list[list[Any]]] = {}
    for agent, place, category, *rest in rows:
        for topic in filter(None, (space.places.numbered(place).scope.partition(":")[2], category)):
            known.setdefault((agent, topic), []).append(rest)
    found = []
    for (agent, topic), evidence in known.items():
        if asked.agent in ("", agent) and asked.about.lower() in topic.lower():
            times, *columns = zip(*evidence, strict=True)
            cited, accepted, corrected, squares, judged = map(sum, columns)
            ages = [max(0.0, now - at) / _DAY for at in times]
            most = max(len(of) for (name, _), of in known.items() if name == agent)
            recency = sum(exp(-_FADES * days) for days in ages) / len(ages)
            holds = (1 + accepted + cited) / (1 + accepted + cited + corrected)
            strength = round(sqrt(len(ages) / most * recency) * holds, 4)
            brier = round(squares / judged, 4) if judged else None
            counts, last = (len(ages), accepted, corrected, cited), now - min(ages) * _DAY
            found.append(dict(zip(_EXPERTISE, (agent, topic, strength, *counts, brier, last), strict=True)))
    return sorted(found, key=lambda row: (-row["strength"], row["agent"], row["topic"]))


def _uncertainty(asked: Asked) -> list[Fields]:
    space, former = asked.brain.space, "{}.former ->> '$.confidence'"
    rows = asked.query(
        f"SELECT h.record, h.at, h.actor, {former.format('h')}, coalesce((SELECT {former.format('n')} FROM"
        " record_history AS n WHERE n.record = h.record AND n.id > h.id AND json_type(n.former, '$.confidence')"
        " IS NOT NULL ORDER BY n.id LIMIT 1), r.confidence), h.operation, h.reason FROM record_history AS h"
        f" JOIN records AS r ON r.id = h.record WHERE h.id > (SELECT max(id) FROM record_history) - {_AT_ONCE}"
        f" AND json_type(h.former, '$.confidence') IS NOT NULL AND r.{_HERE} ORDER BY h.id DESC"
    )
    important = space.reads.kept_importance([row[0] for row in rows])
    energy = [(1 - (row[4] or 0.0)) * (bearing(important.get(row[0], 0)) or 0.5) for row in rows]
    rows = [(*row[:6], space.reader.mask(row[6]), round(of, 4)) for row, of in zip(rows, energy, strict=True)]
    found = asked.visible(rows, "at", "agent", "former", "confidence", "cause", "reason", "free_energy")
    names = ("at", "agent", "query", "result_count", "avg_confidence")
    gaps = space.database.query(  # nobody but an operator reads what others asked
        "SELECT b.at, b.agent, b.query, count(a.record), avg(r.confidence) AS sure FROM broadcasts AS b"
        " LEFT JOIN access_log AS a ON a.broadcast = b.id LEFT JOIN records AS r ON r.id = a.record"
        " WHERE b.operation = 'search' AND ?1 IN ('', b.agent) AND ?2 IN ('', b.agent) AND b.id >"
        f" (SELECT max(id) FROM broadcasts) - {_AT_ONCE} GROUP BY b.id HAVING count(a.record) = 0 OR sure < {_UNSURE}",
        (asked.agent, asked.asker),
    )
    found += [dict(zip(names, row, strict=True)) for row in gaps]
    return sorted(found, key=lambda row: -row["at"])


def _perspectives(asked: Asked) -> list[Fields]:
    if not asked.agent or not asked.about:
        raise UsageError("perspectives needs a topic and an agent", "give both --about and --of")
    brain, found = asked.brain, list[Fields]()
    shared = {"observer": brain.agent_id, "subject": asked.agent, "topic": asked.about}
    space, now, k = brain.space, brain.space.clock.now(), asked.limit
    for item in agent_knowledge(space, brain.searcher, asked.agent, asked.about, asked.places, k):
        days = 0.0 if item.told_at is None else max(0.0, now - item.told_at) / _DAY
        sure, fell = exp(-_FADES * days), item.outdated
        believes: tuple[Any, ...] = (item.content, sure, None, 0.1)
        if item.knows == UNKNOWN:
            believes = (None, None, item.content, 1.0)
        elif fell:
            believes = (fell.known, sure, fell.content or "it fell", 0.6)
        found.append(shared | {"id": item.id} | dict(zip(_PERSPECTIVE, believes, strict=True)))
    return sorted(found, key=lambda row: -row["confusion_risk"])


def _listed(source: str, names: str) -> Callable[[Asked], list[Fields]]:
    """The rows of a table or view of records, most of the first column first."""
    sql = f"SELECT record, {names} FROM {source} WHERE {_HERE} ORDER BY 2 DESC, 1 LIMIT {_AT_ONCE}"
    return lambda asked: asked.visible(asked.query(sql), *names.split(", "))


def _phi(asked: Asked) -> list[Fields]:
    """Integration of the agents: the share of what one was shown of others that it then asked for, or made something of."""
    now = asked.brain.space.clock.now()
    rows = asked.query(
        "SELECT r.agent, b.agent, EXISTS (SELECT 1 FROM access_log AS x JOIN broadcasts AS y ON y.id = x.broadcast"
        f" WHERE x.record = a.record AND y.agent = b.agent AND y.id > b.id AND y.operation NOT IN ('{ORIENT}', '{LOAD}'))"
        " OR EXISTS (SELECT 1 FROM edges AS e JOIN records AS m ON m.id = e.source WHERE e.target = a.record"
        " AND e.relation = 'derived_from' AND m.agent = b.agent AND e.created_at >= b.at) FROM broadcasts AS b"
        " JOIN access_log AS a ON a.broadcast = b.id JOIN records AS r ON r.id = a.record AND r.agent <> b.agent"
        f" WHERE b.id > (SELECT max(id) FROM broadcasts) - {_AT_ONCE} AND b.at >= ?2"
        f" AND b.operation IN ('{ORIENT}', '{LOAD}') AND r.{_HERE}",
        now - _DAY,
    )
    rate = round(sum(row[2] for row in rows) / len(rows), 4) if rows else 0.0
    shown = {"window_start": now - _DAY, "window_end": now, "phi_org": rate, "broadcast_count": len(rows)}
    return [{**shown, "ack_rate": rate, "agent_pair_count": len({row[:2] for row in rows})}]


# By name: what it shows, and what computes that, the most telling first.
SIGNALS: Mapping[str, tuple[str, Callable[[Asked], list[Fields]]]] = {
    "affect": ("valence and arousal of the newest memories", _affect),
    "neuromodulation": (
        "the state of work",
        lambda asked: [state_of(asked.brain.space, asked.places)._asdict()],
    ),
    "replay": (
        "how much memories mattered to the searches that found them",
        _listed(_REPLAYED, "replay_priority, ripple_tags"),
    ),
    "expertise": ("agents by topic: what was accepted, corrected and cited", _expertise),
    "uncertainty": ("changes of confidence with their cause, and searches that met a gap", _uncertainty),
    "perspectives": ("what an agent believes of a topic, and what it lacks", _perspectives),
    "decoherence": (
        "memories in force that lost support or are contradicted",
        _listed("decoherent_memories", "decoherence_rate, coherence_syndrome, confidence"),
    ),
    "recovery": ("memories that can come back", _listed("recovery_candidates", "since, state, cause, way")),
    "phi": ("the share of what agents were shown of others that they used", _phi),
}


class Signals:
    """The signals as one agent may see them."""

    def __init__(self, brain: Operations) -> None:
        self._brain = brain
        self._on = brain.space.settings.signals

    def listed(self) -> list[Fields]:
        """Lists all signals: whether each is on, by what share it moves a hit at most, and what it shows."""
        names, on = ("signal", "enabled", "bound", "shows"), self._on
        rows = [(it, on.get(it, False), BOUND * (it in MOVING), shows) for it, (shows, _) in SIGNALS.items()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def show(self, name: str, *, about: str = "", of: str = "", limit: int = 20) -> list[Fields]:
        """Lists what a signal says now, the most telling first.

        Args:
            about: a topic, for expertise and perspectives. of: the agent that it is about. limit: the most rows.

        Raises:
            UsageError: there is no such signal, or it is off. DeniedError: this agent may not read here.
        """
        self._check(name)
        if not self._on.get(name):
            raise UsageError(f"{name} is off", f"set memory.signals: {{{name}: true}}")
        agent = checked_name("agent", of) if of else ""
        found = SIGNALS[name][1](self._asked(storable(about), agent, limit))
        self._brain.space.reader.note_denied()
        return found[:limit]

    def log(self, name: str = "", limit: int = 20) -> list[Fields]:
        """Lists what signals changed, the newest first: an operator sees all of it, an agent its own searches.

        Args:
            name: of a signal; "" for all. limit: the most rows.
        """
        self._check(name or next(iter(SIGNALS)))
        asked, names = self._asked(limit=limit), ("at", "signal", "agent", "former", "current", "cause")
        rows = self._brain.space.database.query(
            "SELECT record, at, signal, agent, former, current, cause FROM signal_log"
            " WHERE ?1 IN ('', signal) AND ?2 IN ('', agent) ORDER BY id DESC",
            (name, asked.asker),
        )
        found = [dict(zip(names, row[1:], strict=True)) for row in rows if row[0] is None]
        found += asked.visible([row for row in rows if row[0] is not None], *names)
        return sorted(found, key=lambda row: -row["at"])[:limit]

    def _asked(self, about: str = "", agent: str = "", limit: int = 0) -> Asked:
        self._brain.writer.check_right(READ)
        return Asked(self._brain, self._brain.writer.places(), about, agent, limit)

    def _check(self, name: str) -> None:
        if name not in SIGNALS:
            raise UsageError(f"no signal {name!r}", f"one of {', '.join(SIGNALS)}")
