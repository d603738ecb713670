"""Statements that a process put on record outside the database and did not live to commit.

A line of `statements.jsonl` is on the disk before its transaction commits, and its row is anchored right after. So a
line without a row was tampered with if the row was ever anchored; else its process ended in between. What stops agents
counts all the same until a person settles it; what lets them go on never did.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider
from sb.kernel.incident_response.statements import REFERENCES, Statements, may_be_anybody
from sb.log.event_log import EventLog
from sb.log.kinds import PRUNED
from sb.store.statement_file import StatementLine


class Settled(NamedTuple):
    """One interrupted statement that was settled.

    Args:
        line: as it was on record. repeated: it is on the log now; else it never took effect, and is to be made again.
    """

    line: StatementLine
    repeated: bool

    @property
    def sentence(self) -> str:
        done = (
            "is on the log now" if self.repeated else "never took effect: make it again if it is still meant"
        )
        return f"{self.line.kind}, which its process did not live to finish, {done}"


def interrupted(log: EventLog) -> list[StatementLine]:
    """The statements of a log that were never committed, oldest first.

    Raises:
        StoreError: log or file cannot be read.
    """
    if log.anchor is None:
        return []
    recorded = log.anchor.statements.read(log.database_id, log.place).lines
    open_lines = [line for line in recorded if line.database == log.database_id and line.about in REFERENCES]
    if not open_lines:
        return []
    anchored = {(head.seq, head.hash) for head in log.anchored().heads}
    on_log = hashes_of(log)
    return [line for line in open_lines if line.hash not in on_log and (line.seq, line.hash) not in anchored]


def hashes_of(log: EventLog) -> set[str]:
    """The hashes of the rows that are on record outside the database, too."""
    marks = ", ".join("?" * len(REFERENCES))
    rows = log.database.query(
        f"SELECT hash FROM events WHERE call_id IN ({marks}) OR kind = ?", (*REFERENCES, PRUNED)
    )
    return {stored for (stored,) in rows}


def settle(log: EventLog, authority: Authority, lines: Iterable[StatementLine], by: Decider) -> list[Settled]:
    """Settle interrupted statements: what anybody may state is put on the log, and their lines count no more.

    Args:
        lines: of `interrupted`. by: who settles it.

    Raises:
        StoreError: log or file cannot be written.
    """
    assert log.anchor is not None
    settled = list[Settled]()
    for line in lines:
        facts = _facts(line)
        with log.write(power=True) as write:
            if line not in interrupted(log):
                continue  # its process was at it, and has committed it by now
            repeated = may_be_anybody(line.kind) and bool(facts.get("reason"))
            if repeated:
                Statements(log, authority, line.about).add(write, line.kind, facts, by)
        # Only now: a kill has to count at each moment.
        log.anchor.statements.append([replace(line, withdrawn=True)])
        settled.append(Settled(line, repeated))
    return settled


def _facts(line: StatementLine) -> dict[str, object]:
    """The facts that a line states, without its place and its person."""
    statement = line.signed.get("statement") if isinstance(line.signed, dict) else None
    own = ("action", "database", "after", "at", "by", "key")
    return (
        {name: value for name, value in statement.items() if name not in own}
        if isinstance(statement, dict)
        else {}
    )
