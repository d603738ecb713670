"""Read the queue of approval requests and the grants."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from sb.base.secrets.redaction import one_line
from sb.base.sources import MICROSECONDS, micros
from sb.base.text import nearest
from sb.errors import NotFoundError, StoreError
from sb.kernel.approvals.disclosure import Disclosure, disclose
from sb.kernel.calls.approval import (
    APPROVAL_COLUMNS,
    GRANT_COLUMNS,
    MONEY,
    OPEN,
    Approval,
    ApprovalState,
    Grant,
    approval_of,
    grant_of,
)
from sb.log.event_log import EventLog

if TYPE_CHECKING:
    from sb.log.search import Clause

CLOCK_SLACK = 600 * MICROSECONDS  # by which a clock is corrected in everyday life

_FROM = "FROM approvals AS a JOIN events AS e ON e.id = a.event_id"
SELECT_APPROVALS = f"SELECT {APPROVAL_COLUMNS}, e.payload {_FROM}"
MOST_NUMBERED = 1_000  # requests that one query reads by their numbers
_OPEN = "('waiting', 'approved')"
# What an operator reads of a request; the fields about its contract say "enforce" and "destructive" of every one.
_READ = (
    "json_extract(e.payload, '$.args', '$.reasons', '$.intent', '$.description', '$.session_id', '$.step')"
)
_PAYLOAD = f"CASE WHEN json_valid(e.payload) THEN {_READ} ELSE coalesce(e.payload, '') END"
SEARCHED = f"a.id || ' ' || a.agent || ' ' || a.tool_id || ' ' || a.run_id || ' ' || a.decided_by || ' ' || a.reason || ' ' || {_PAYLOAD}"


# What a list of requests is ranked by, read without a look at the rest of a payload; of a command line its arguments apart.
_SHELLS = "host.shell."
_ARGS = f"""CASE WHEN substr(a.tool_id, 1, {len(_SHELLS)}) <> '{_SHELLS}' THEN json_extract(e.payload, '$.args') END"""
_ROW_FACTS = "a.number, a.id, a.agent, a.tool_id, a.safety_class, a.run_id, a.requested_at, a.expires_at"
_READ_FACTS = f"{_ARGS}, " + ", ".join(
    f"json_extract(e.payload, '$.{name}')"
    for name in ("reasons", MONEY, "args.command", "args.why", "args.cwd")
)


class RequestFacts(NamedTuple):
    """Facts about a request that never change and that lists of many rank and group it by; of a damaged one few.

    Args:
        requested_at, expires_at: microseconds since the epoch.
        reasons, args, money: JSON, None where there is none; of a command line not its arguments.
        command, does, cwd: of a command line; an agent may have given any value.
    """

    number: int
    id: str
    agent: str
    tool_id: str
    safety_class: str
    run_id: str
    requested_at: int
    expires_at: int
    args: str | None = None
    reasons: str | None = None
    money: str | None = None
    command: Any = None
    does: Any = None
    cwd: Any = None


class Order(StrEnum):
    """Order of waiting requests; ties go by expiry.

    NEWEST: those that wait by when they were asked for, the others by when they ended, the latest first.
    """

    EXPIRY = "soonest to expire"
    AGENT = "agent"
    NEWEST = "newest"


_ENDED = "a.state <> 'waiting' OR a.expires_at <= ? OR a.requested_at > ?"
_ORDERS = {
    Order.EXPIRY: "",
    Order.AGENT: " a.agent,",
    Order.NEWEST: f" CASE WHEN {_ENDED} THEN coalesce(a.decided_at, a.expires_at) ELSE a.requested_at END DESC,",
}


class ApprovalQueue:
    """Reads the queue of one log's database. Times are judged by the log's clock, and by the times of its rows."""

    def __init__(self, log: EventLog) -> None:
        self.log = log

    def now(self) -> int:
        """Microseconds since the epoch."""
        return micros(self.log.clock.now())

    def as_of_now(self, approval: Approval) -> Approval:
        """The same as it counts now, whatever was done to the clock meanwhile."""
        if approval.state in OPEN and over(self.log, approval.id, approval.requested_at, approval.expires_at):
            return approval._replace(state=ApprovalState.EXPIRED)
        return approval

    def _bounds(self) -> tuple[int, int]:
        """For lists: what expires until the first of these is expired, and so is what was asked for after the second.

        The first is now, or the time of the newest row if that is later.
        """
        now, newest = self.now(), next(self.log.events(newest_first=True, limit=1), None)
        return max(now, newest.at if newest else 0), now + CLOCK_SLACK

    @staticmethod
    def _listed(approval: Approval, bounds: tuple[int, int]) -> Approval:
        early = approval.state in OPEN and approval.requested_at > bounds[1]
        return approval._replace(state=ApprovalState.EXPIRED) if early else approval.at(bounds[0])

    def page(
        self,
        *,
        states: Collection[ApprovalState] = (),
        words: str = "",
        agent: str = "",
        before: int = 0,
        limit: int = 200,
    ) -> list[Approval]:
        """Approvals, newest first.

        Args:
            states: only those in one of these as of now; empty for all.
            words: only those in whose request or decision each of these words occurs, whatever its case.
            agent: only those of its calls; "" for all.
            before: only those with a lower number; 0 for all.
            limit: at most so many; 0 for all.
        """
        where, parameters = self._where(states, words, agent)
        if before:
            where, parameters = f"{where} AND a.number < ?", (*parameters, before)
        sql = f"{SELECT_APPROVALS} WHERE {where} ORDER BY a.number DESC LIMIT +?"
        rows = self.log.database.query(sql, (*parameters, limit or -1))
        bounds = self._bounds()
        return [self._listed(approval_of(row), bounds) for row in rows]

    def count(self, *, states: Collection[ApprovalState] = (), words: str = "", agent: str = "") -> int:
        """The number of requests that `page` would list without a limit."""
        where, parameters = self._where(states, words, agent)
        return int(self.log.database.query(f"SELECT count(*) {_FROM} WHERE {where}", parameters)[0][0])

    def numbers(
        self,
        *,
        states: Collection[ApprovalState] = (),
        words: str = "",
        order: Order = Order.EXPIRY,
        also: Clause | None = None,
    ) -> list[int]:
        """The numbers of all that `page` would list: those that wait first, in this order, then the newest.

        Args:
            also: a further condition on approvals `a` and the events `e` of their requests.
        """
        where, parameters = self._where(states, words)
        source = _FROM if words.split() or (also and "e." in also[0]) else "FROM approvals AS a"
        if also:
            where, parameters = f"{where} AND {also[0]}", (*parameters, *also[1])
        sql = (
            f"SELECT a.number {source} WHERE {where}"
            f" ORDER BY {_ENDED},{_ORDERS[order]} CASE a.state WHEN 'waiting' THEN a.expires_at END, CASE a.state WHEN 'waiting' THEN a.number END,"
            " a.number DESC"
        )
        ends = self._bounds() * (2 if order is Order.NEWEST else 1)
        return [row[0] for row in self.log.database.query(sql, (*parameters, *ends))]

    def listed(self, numbers: Sequence[int]) -> list[Approval]:
        """The approvals with these numbers, in this order."""
        found: dict[int, Approval] = {}
        for start in range(0, len(numbers), MOST_NUMBERED):
            found |= self.numbered(numbers[start : start + MOST_NUMBERED])
        return [found[number] for number in numbers if number in found]

    def numbered(self, numbers: Collection[int]) -> dict[int, Approval]:
        """The approvals with these numbers, as they count now. For a screenful, not for all."""
        marks = ", ".join("?" * len(numbers))
        rows = self.log.database.query(f"{SELECT_APPROVALS} WHERE a.number IN ({marks})", tuple(numbers))
        bounds = self._bounds()
        return {approval.number: self._listed(approval, bounds) for approval in map(approval_of, rows)}

    def facts(self, known: Collection[int] = ()) -> tuple[list[int], list[RequestFacts]]:
        """The numbers of all requests that wait, and the facts of those whose number is not known."""
        where, parameters = self._where((ApprovalState.WAITING,), "")
        found = self.log.database.query(f"SELECT a.number FROM approvals AS a WHERE {where}", parameters)
        numbers = [row[0] for row in found]
        return numbers, self.facts_of([number for number in numbers if number not in known])

    def facts_of(self, numbers: Sequence[int]) -> list[RequestFacts]:
        """The facts of the requests with these numbers, whatever their state."""
        if not numbers:
            return []
        named = (json.dumps(numbers),)
        where = f"{_FROM} WHERE a.number IN (SELECT value FROM json_each(?))"
        try:
            rows = self.log.database.query(f"SELECT {_ROW_FACTS}, {_READ_FACTS} {where}", named)
        except StoreError:  # somebody has damaged a payload, which is looked for only then
            valid = "coalesce(json_valid(e.payload), 0)"
            rows = self.log.database.query(f"SELECT {_ROW_FACTS}, {_READ_FACTS} {where} AND {valid}", named)
            rows += self.log.database.query(f"SELECT {_ROW_FACTS} {where} AND NOT {valid}", named)
        return [RequestFacts(*row) for row in rows]

    def waiting_by_run(self) -> dict[str, int]:
        """Counts of waiting requests, by the run that asked first."""
        rows = self.log.database.query(
            f"SELECT run_id, count(*) FROM approvals WHERE state IN {_OPEN} AND state = 'waiting' AND expires_at > ?"
            " AND requested_at <= ? GROUP BY run_id",
            self._bounds(),
        )
        return dict(rows)

    def _where(
        self, states: Collection[ApprovalState], words: str, agent: str = ""
    ) -> tuple[str, tuple[str | int, ...]]:
        clauses, parameters = ["1"], list[str | int]()
        if states:
            marks = ", ".join("?" * len(states))
            # An open row whose time is over is expired, whether or not anything has noted it yet.
            clauses.append(
                f"CASE WHEN a.state IN {_OPEN} AND (a.expires_at <= ? OR a.requested_at > ?) THEN 'expired'"
                f" ELSE a.state END IN ({marks})"
            )
            parameters += [*self._bounds(), *map(str, states)]
            if set(states) <= set(OPEN):
                clauses.append(f"a.state IN {_OPEN}")  # names the index
        if agent:
            clauses.append("a.agent = ?")
            parameters.append(agent)
        for word in words.split():
            clauses.append(f"instr(lower({SEARCHED}), lower(?)) > 0")
            parameters.append(word)
        return " AND ".join(clauses), tuple(parameters)

    def get(self, approval_id: str) -> Approval:
        """One approval as it counts now; raises NotFoundError."""
        rows = self.log.database.query(f"{SELECT_APPROVALS} WHERE a.id = ?", (approval_id,))
        if rows:
            return self.as_of_now(approval_of(rows[0]))
        recent = self.log.database.query("SELECT id FROM approvals ORDER BY number DESC LIMIT 200")
        near = nearest(approval_id, [row[0] for row in recent])
        lists = "grants" if approval_id.startswith("grant_") else "list"
        raise NotFoundError(
            f"no approval {shown_id(approval_id)!r}{near}", f"sb approvals {lists} shows them"
        )

    def disclose(self, approval: Approval) -> Disclosure:
        """The disclosure of a request to the person who decides it."""
        return disclose(self.log, approval)

    def grants(self, *, active: bool = False, limit: int = 0) -> list[Grant]:
        """Grants, newest first.

        Args:
            active: only those that still allow something.
            limit: at most so many; 0 for all.
        """
        where = "state = 'active' AND expires_at > ?" if active else "?"
        rows = self.log.database.query(
            f"SELECT {GRANT_COLUMNS} FROM grants WHERE {where} ORDER BY number DESC LIMIT +?",
            (self.now() if active else 1, limit or -1),
        )
        now = self.now()
        return [grant_of(row).at(now) for row in rows]


def shown_id(text: str) -> str:
    """An id that somebody typed, short enough for a message."""
    return one_line(text, 40)


def over(log: EventLog, reference: str, began_at: int, expires_at: int, *, people: bool = False) -> bool:
    """True if it does not count any more; times in microseconds since the epoch.

    The clock alone would let an expired approval count again once it is set back, and would keep what was asked for while
    it was ahead open for as long. The order of the log decides in both cases.

    Args:
        reference: the id of the request or grant.
        people: look only at rows of people's requests and decisions: for what lasts long and is asked about often.
    """
    now = micros(log.clock.now())
    in_time = began_at - CLOCK_SLACK <= now < expires_at
    return not in_time or log.reached(reference, expires_at, people=people)
