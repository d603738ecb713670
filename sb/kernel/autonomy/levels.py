"""Persisted levels of autonomy: statements on the log that lower by themselves and raise by a signature alone.

A level belongs to an agent and a tool. A fall counts for every intent, since agents name their intents themselves; a rise
to AUTO_EXECUTE counts for one intent and one contract. Nothing is stored beside the statements: what holds is replayed
from them, and read again once the log has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from math import isfinite
from typing import Any, NamedTuple

from sb.base.values.frozen import frozen
from sb.errors import DeniedError, NotFoundError, StoreCorrupt, UsageError
from sb.kernel.authority.authority import OPERATORS, Authority
from sb.kernel.authority.signing import Decider, Label, required
from sb.kernel.autonomy.scoring import AutonomyMode, degrade
from sb.kernel.incident_response.statements import AUTONOMY, Statement, Statements
from sb.log.event_log import EventLog, LogWrite
from sb.log.kinds import (
    APPROVAL_DENIED,
    AUTONOMY_EVALUATED,
    AUTONOMY_FROZEN,
    AUTONOMY_LOWERED,
    AUTONOMY_RAISED,
    AUTONOMY_UNFROZEN,
    OPERATOR_CHANGED,
    RECOVERY_BEGUN,
)
from sb.store import driver

INTENT = "intent_name"  # among the facts of a call
UNPROVEN = AutonomyMode.EXECUTE_WITH_APPROVAL  # the level without evidence
CORRECTED = (APPROVAL_DENIED, RECOVERY_BEGUN)  # a person said no, or what a call did was taken back
_STATED = (AUTONOMY_LOWERED, AUTONOMY_RAISED, AUTONOMY_FROZEN, AUTONOMY_UNFROZEN, AUTONOMY_EVALUATED)
# Grows with each statement, and as who may sign changes. One seek of an index a kind.
_VERSION = "SELECT " + " + ".join(
    f"ifnull((SELECT max(id) FROM events WHERE call_id = '{reference}' AND kind = '{kind}'"
    " AND substr(kind, 1, 7) <> 'kernel.'), 0)"
    for reference, kind in (*((AUTONOMY, kind) for kind in _STATED), (OPERATORS, OPERATOR_CHANGED))
)
# Corrections, oldest first; without `INDEXED BY` all rows since an old one would be read.
_CORRECTIONS = (
    "SELECT agent, tool_id, id, at FROM events {index} WHERE id > ? AND substr(kind, 1, 7) <> 'kernel.'"
    f" AND kind IN ('{CORRECTED[0]}', '{CORRECTED[1]}') ORDER BY id"
)
_BY_ITSELF = Label("sb")
_Execute = Callable[..., driver.Cursor]
_Query = Callable[[str, tuple[object, ...]], list[tuple[Any, ...]]]
Key = tuple[str, str]  # agent and tool; "" for every one


class Correction(NamedTuple):
    """A row of the log that says that a call of this agent and tool was denied or undone; `at` in microseconds."""

    key: Key
    row: int
    at: int


@frozen
class Raise:
    """A rise to AUTO_EXECUTE, of one intent and contract; `seq` is the row of the log that says so."""

    intent: str
    fingerprint: str
    seq: int
    by: str


@frozen
class Level:
    """The level of one agent for one tool.

    Args:
        mode: for every intent, but for those that were `raised`.
        why, by, at: of the last change; `at` in microseconds since the epoch.
        barred: the fall for which nothing is proposed until a person signs; "" for none.
    """

    agent: str
    tool_id: str
    mode: AutonomyMode = UNPROVEN
    why: str = ""
    by: str = ""
    at: int = 0
    barred: str = ""
    raised: Mapping[str, Raise] = field(default_factory=dict)

    def of(self, intent: str, fingerprint: str) -> AutonomyMode:
        """The mode for one intent and contract."""
        found = self.raised.get(intent)
        return self.mode if found is None or found.fingerprint != fingerprint else AutonomyMode.AUTO_EXECUTE


@frozen
class Evaluation:
    """The score of an agent in an evaluation that an operator, such as CI's key, signed for."""

    score: float
    by: str
    at: int


class LevelRow(NamedTuple):
    """One level as lists show it; of every tool, or every intent, where those are ""."""

    agent: str
    tool_id: str
    intent: str
    level: str
    by: str
    at: int
    why: str
    frozen: str


@frozen
class Standing:
    """All levels as of one state of the log.

    Args:
        unreadable: why every level is READ; "" where all statements can be read.
        frozen: why promotion is frozen, by agent and tool.
        signed: the row of the last signed statement, by agent and tool.
    """

    version: int = -1
    turn: int = -1
    size: int = -1
    levels: Mapping[Key, Level] = field(default_factory=dict)
    frozen: Mapping[Key, str] = field(default_factory=dict)
    signed: Mapping[Key, int] = field(default_factory=dict)
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    unreadable: str = ""

    def level(self, agent: str, tool_id: str) -> Level:
        """The level of an agent for a tool."""
        found = self.levels.get((agent, tool_id)) or Level(agent, tool_id)
        return (
            replace(found, mode=AutonomyMode.READ, why=self.unreadable, raised={})
            if self.unreadable
            else found
        )

    def mode(self, agent: str, intent: str, tool_id: str, fingerprint: str) -> AutonomyMode:
        """The mode of a call."""
        if self.unreadable:
            return AutonomyMode.READ
        found = self.levels.get((agent, tool_id))
        return UNPROVEN if found is None else found.of(intent, fingerprint)

    def since(self, agent: str, tool_id: str) -> int:
        """The row of the log after which evidence counts: a person has signed for what came before."""
        return max(self.signed.get((agent, tool_id), 0), self.signed.get((agent, ""), 0))

    def rows(self) -> list[LevelRow]:
        """Levels that differ from the one without evidence, and what is frozen, by agent and tool."""
        found = list[LevelRow]()
        for (agent, tool_id), level in self.levels.items():
            frozen = self.frozen_by(agent, tool_id)
            if level.mode is not UNPROVEN or not level.raised:
                found.append(
                    LevelRow(agent, tool_id, "", str(level.mode), level.by, level.at, level.why, frozen)
                )
            for intent, it in level.raised.items():
                to = str(AutonomyMode.AUTO_EXECUTE)
                found.append(LevelRow(agent, tool_id, intent, to, it.by, level.at, level.why, frozen))
        bare = [key for key in self.frozen if key not in self.levels]
        found += [LevelRow(*key, "", str(UNPROVEN), "", 0, "", self.frozen[key]) for key in bare]
        return sorted(found)

    def frozen_by(self, agent: str, tool_id: str) -> str:
        """The reason why a level cannot be raised; "" if it can."""
        keys = ((agent, tool_id), (agent, ""), ("", ""))
        return next((self.frozen[key] for key in keys if key in self.frozen), "")


class Levels:
    """The levels of one log.

    Args:
        authority: says who may raise them; while nobody is enrolled, nobody may.
    """

    def __init__(self, log: EventLog, authority: Authority) -> None:
        self.log = log
        self.authority = authority
        self._statements = Statements(log, authority, AUTONOMY)
        self._size = self._statements.size
        self._known = self._replayed = Standing()
        self._corrected: dict[Key, int] = {}
        self._looked_until = 0

    def known(self) -> Standing:
        """The levels as they were read last, without a query; raises like `current` if they never were."""
        return self._known if self._known.version >= 0 else self.current()

    def current(self, execute: _Execute | None = None) -> Standing:
        """The levels as of now.

        Args:
            execute: of an open transaction of the log, to look within it: then nothing is read while nobody has written.

        Raises:
            SBError: they cannot be read.
        """
        known, turn, size = self._known, self.log.turn, self._size()
        if (turn, size) == (known.turn, known.size) and (execute is not None or self.log.alone):
            return known
        query = self.log.database.query if execute is None else _querying(execute)
        before, version = self._replayed, query(_VERSION, ())[0][0]
        if version < before.version:
            raise StoreCorrupt("statements about autonomy have vanished from the log", "sb log verify")
        if (version, size) != (before.version, before.size):
            self._replayed = replace(self._replay(execute), version=version, size=size)
        self._known = replace(self._replayed, turn=turn, levels=self._without_corrected(query))
        return self._known

    def _replay(self, execute: _Execute | None) -> Standing:
        found = replay(self._statements.read())
        raised = [it.seq for level in found.levels.values() for it in level.raised.values()]
        if raised and self._was_put_back(execute, min(raised)):
            why = "the database is older than its anchor: a copy was put back (sb log verify)"
            levels = {
                key: replace(level, raised={}, why=why, barred=why) if level.raised else level
                for key, level in found.levels.items()
            }
            found = replace(found, levels=levels)
        return found

    def _was_put_back(self, execute: _Execute | None, since: int) -> bool:
        if execute is not None:
            return self.log.was_put_back(execute, since)
        with self.log.database.snapshot() as connection:
            return self.log.was_put_back(connection.execute, since)

    def _without_corrected(self, query: _Query) -> Mapping[Key, Level]:
        """The levels without the rises after which a person denied a call of that tool, or one was undone."""
        levels = self._replayed.levels
        raised = [it.seq for level in levels.values() for it in level.raised.values()]
        if not raised:
            return levels
        ((head,),) = query("SELECT max(id) FROM events", ())  # first: later rows are looked at next time
        after = self._looked_until or self.log.first_id + min(raised)
        self._corrected |= {it.key: it.row for it in self.corrections(query, after)}
        self._looked_until = head
        return {key: _corrected(level, self._corrected.get(key, 0)) for key, level in levels.items()}

    def corrections(self, query: _Query | None = None, after: int = 0) -> list[Correction]:
        """Calls that a person denied, or that were undone, oldest first.

        Args:
            after: the id of the event after which they are looked for.
        """
        index = "" if after and after == self._looked_until else "INDEXED BY events_of_people"
        rows = (query or self.log.database.query)(_CORRECTIONS.format(index=index), (after,))
        first = self.log.first_id
        return [Correction((agent, tool_id), row_id - first, at) for agent, tool_id, row_id, at in rows]

    def statements(self) -> list[Statement]:
        """Every statement about autonomy, oldest first; raises like `current`."""
        return self._statements.read()

    def fall(
        self,
        write: LogWrite,
        agent: str,
        intent: str,
        tool_id: str,
        fingerprint: str,
        reason: str,
        *,
        safety: bool,
    ) -> None:
        """Lower a level in the transaction of the violation; at READ, nothing is left to lower."""
        level = self.current(write.execute).level(agent, tool_id)
        to = degrade(level.of(intent, fingerprint), policy_violation=True, safety_violation=safety)
        if to.rank < level.mode.rank or level.raised:
            facts = {"agent": agent, "tool_id": tool_id, "intent": intent, "to": str(to), "reason": reason}
            self._statements.add(write, AUTONOMY_LOWERED, facts, _BY_ITSELF)

    def raise_(self, write: LogWrite, facts: Mapping[str, object], by: Decider) -> None:
        """Put a rise on record; raises Unauthorised unless an operator signs it."""
        _require_key(by)
        self._statements.add(write, AUTONOMY_RAISED, facts, by)

    def freeze(self, agent: str, tool_id: str, by: Decider, reason: str) -> None:
        """Let nothing be proposed for an agent and tool; anybody may.

        Args:
            tool_id: "" for all of the agent's.

        Raises:
            UsageError: agent or reason is missing.
        """
        facts = {"agent": required(agent, "agent"), "tool_id": tool_id, "reason": required(reason)}
        with self.log.write(power=True) as write:
            self._statements.add(write, AUTONOMY_FROZEN, facts, by)

    def unfreeze(self, agent: str, tool_id: str, by: Decider, reason: str) -> None:
        """Let levels be proposed again, from what happens from now on.

        Raises:
            NotFoundError: nothing keeps them from it. Unauthorised: this person may not decide.
        """
        _require_key(by)
        facts = {"agent": agent, "tool_id": tool_id, "reason": required(reason)}
        with self.log.write(power=True) as write:
            now = self.current(write.execute)
            keys = {*now.levels, *now.frozen, *(it.key for it in self.corrections(_querying(write.execute)))}
            if not any(key == (agent, tool_id) or (key[0] == agent and not tool_id) for key in keys):
                what = f"nothing keeps {agent} {tool_id}".rstrip() + " from being proposed"
                raise NotFoundError(what, "sb autonomy show")
            self._statements.add(write, AUTONOMY_UNFROZEN, facts, by)

    def evaluate(self, agent: str, score: float, by: Decider, reason: str) -> None:
        """Put the score of an evaluation on record; only an operator's signature makes it evidence.

        Raises:
            UsageError: the score is no number from 0 to 1. Unauthorised: this person may not decide.
        """
        if not (isfinite(score) and 0 <= score <= 1):
            raise UsageError(f"the score is {score}: it is a number from 0 to 1")
        _require_key(by)
        facts = {
            "agent": required(agent, "agent"),
            "tool_id": "",
            "score": repr(float(score)),
            "reason": required(reason),
        }
        with self.log.write(power=True) as write:
            self._statements.add(write, AUTONOMY_EVALUATED, facts, by)


def _querying(execute: _Execute) -> _Query:
    return lambda sql, parameters: execute(sql, parameters).fetchall()


def replay(statements: Iterable[Statement]) -> Standing:
    """The levels after these statements; a fall counts whoever states it, anything else only signed."""
    levels: dict[Key, Level] = {}
    frozen: dict[Key, str] = {}
    signed: dict[Key, int] = {}
    evaluations: dict[str, Evaluation] = {}
    unreadable = ""
    for statement in statements:
        event, facts = statement.event, statement.text
        key = agent, tool_id = facts.get("agent", ""), facts.get("tool_id", "")
        level = levels.get(key) or Level(agent, tool_id)
        changed = replace(level, why=facts.get("reason", ""), by=statement.by, at=event.at)
        if event.kind == AUTONOMY_LOWERED:
            to = _mode(facts.get("to", ""))
            if to is None or not agent or not tool_id:
                unreadable = f"row {event.seq} of the log is a fall that cannot be read"
                continue
            lowest = min(level.mode, to, key=lambda mode: mode.rank)
            levels[key] = replace(changed, mode=lowest, raised={}, barred=changed.why)
        elif event.kind == AUTONOMY_FROZEN:  # one that cannot be read has no agent, and freezes everything
            frozen[key] = changed.why or "it is frozen"
        elif statement.doubt or not statement.signed:
            continue
        elif event.kind == AUTONOMY_RAISED:
            levels[key] = _raised(replace(changed, barred=""), facts, event.seq)
            signed[key] = event.seq
        elif event.kind == AUTONOMY_UNFROZEN:
            frozen.pop(key, None)
            signed[key] = event.seq
            for each in [known for known in levels if known[0] == agent and tool_id in ("", known[1])]:
                levels[each] = replace(levels[each], barred="")
        elif event.kind == AUTONOMY_EVALUATED and (score := _score(facts.get("score", ""))) is not None:
            evaluations[agent] = Evaluation(score, statement.by, event.at)
    return Standing(
        levels=levels, frozen=frozen, signed=signed, evaluations=evaluations, unreadable=unreadable
    )


def _raised(level: Level, facts: Mapping[str, str], seq: int) -> Level:
    to = _mode(facts.get("to", ""))
    if to is AutonomyMode.AUTO_EXECUTE and level.mode is UNPROVEN:
        intent = facts.get("intent", "")
        found = Raise(intent, facts.get("fingerprint", ""), seq, level.by)
        return replace(level, raised={**level.raised, intent: found})
    return level if to is None or not level.mode.rank < to.rank <= UNPROVEN.rank else replace(level, mode=to)


def _corrected(level: Level, row: int) -> Level:
    """The level without the rises from before a correction."""
    left = {intent: it for intent, it in level.raised.items() if it.seq > row}
    if len(left) == len(level.raised):
        return level
    why = f"a person denied or undid a call after it was raised (row {row} of the log)"
    return replace(level, raised=left, why=why, by=_BY_ITSELF.name, barred=why)


def _mode(text: str) -> AutonomyMode | None:
    return AutonomyMode(text) if text in list(AutonomyMode) else None


def _score(text: str) -> float | None:
    try:
        score = float(text)
    except ValueError:
        return None
    return score if 0 <= score <= 1 else None


def _require_key(by: Decider) -> None:
    if not by.key_id:
        raise DeniedError("a level rises only by an operator's signature", "sb operator init enrolls you")
