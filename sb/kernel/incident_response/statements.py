"""Statements of people about kills, incidents, tokens and autonomy, in order, each with whether it counts.

Each statement is an event on the log, bound to the database and to the one before it, so that none can be put on the
log again, and signed where whoever made it has a key. A home also holds each in a file outside the database, written
first: what was deleted from the log is known from there, and what only operators may state counts only if it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import Any, NamedTuple

from sb.base.sources import iso
from sb.errors import SBError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, signed_statement
from sb.log.event import Event, Subject
from sb.log.event_log import EventLog, LogWrite
from sb.log.kinds import AUTONOMY_FROZEN, AUTONOMY_LOWERED, INCIDENT_OPENED, KILL_THROWN
from sb.log.people_events import ABOUT, sound
from sb.store.anchor import AnchoredHead
from sb.store.statement_file import Recorded, StatementFile, StatementLine

KILLS = "kill"  # what the events about kills are found under
INCIDENTS = "incidents"  # and those about incidents
TOKENS = "tokens"  # and about agents' tokens
AUTONOMY = "autonomy"  # and about the levels of agents
REFERENCES = (KILLS, INCIDENTS, TOKENS, AUTONOMY)


def may_be_anybody(kind: str) -> bool:
    """True if such a statement counts whoever makes it."""
    return kind in (KILL_THROWN, INCIDENT_OPENED, AUTONOMY_LOWERED, AUTONOMY_FROZEN)


class Statement(NamedTuple):
    """One statement.

    Args:
        facts: what it says; {} when it cannot be read. by: who says so.
        signed: whether an operator's key proves that.
        doubt: why it is not the decision of somebody who may decide; "" when it is.
        lost: whether it is on record outside the database, and gone from the log.
    """

    event: Event
    facts: Mapping[str, Any]
    by: str
    signed: bool
    doubt: str
    lost: bool = False

    @property
    def text(self) -> dict[str, str]:
        """Its facts as text."""
        return {name: str(value) for name, value in self.facts.items()}


class Statements:
    """The statements about one thing.

    Args:
        authority: says who may decide.
        reference: what their events are found under, one of REFERENCES.
    """

    def __init__(self, log: EventLog, authority: Authority, reference: str) -> None:
        self._log = log
        self._authority = authority
        self._reference = reference
        self._file: StatementFile | None = None if log.anchor is None else log.anchor.statements
        self.outside = self._file is not None
        self.size: Callable[[], int] = (lambda: -1) if self._file is None else self._file.size

    def read(self) -> list[Statement]:
        """Every statement, oldest first; in the order of the file where there is one.

        Raises:
            StoreError: log or file cannot be read, or one of them is not what was written.
            Unauthorised: who may decide cannot be relied on.
        """
        recorded = self._recorded()
        lines = [line for line in recorded.lines if line.about == self._reference]
        rows = self._log.database.query(ABOUT, (self._reference,))
        if not rows and not lines:
            return []
        self._authority.roster()
        known = {line.hash for line in lines}
        on_log, before = dict[str, Statement](), ""
        for row in rows:
            event = sound(self._log, row)
            outside = None if not recorded.known else event.hash in known
            on_log[event.hash] = self._statement(event, before, outside)
            before = event.hash
        in_file = [on_log.get(line.hash) or self._lost(line) for line in lines]
        return [*in_file, *(statement for key, statement in on_log.items() if key not in known)]

    def _recorded(self) -> Recorded:
        if self._file is None:
            return Recorded()
        return self._file.read(self._log.database_id, self._log.place)

    def _statement(self, event: Event, before: str, outside: bool | None) -> Statement:
        """The statement of an event.

        Args:
            outside: whether it is on record outside the database too; None where that knows nothing of this one.
        """
        signed = (event.payload or {}).get("signed")
        facts = signed.get("statement") if isinstance(signed, dict) else None
        if not isinstance(signed, dict) or not isinstance(facts, dict):
            return Statement(event, {}, "somebody", signed=False, doubt="it cannot be read")
        by, key = str(facts.get("by", "somebody")), facts.get("key")
        place = (event.kind, self._log.database_id, before)
        if (facts.get("action"), facts.get("database"), facts.get("after")) != place:
            return Statement(event, facts, by, signed=False, doubt="it was made for another place on the log")
        if outside is False and not may_be_anybody(event.kind):
            doubt = "it was put into the database by something else"
            return Statement(event, facts, by, signed=False, doubt=doubt)
        try:
            self._authority.verify(signed, event)
        except SBError as error:
            # What the file holds was allowed when it was made: unsigned, nobody was enrolled then.
            early = not key and (self._authority.before_enrolment(event) if outside is None else outside)
            return Statement(event, facts, by, signed=False, doubt="" if early else error.message)
        return Statement(event, facts, by, signed=bool(key), doubt="")

    def _lost(self, line: StatementLine) -> Statement:
        """A statement that the log has no more; only one that anybody may make counts without it."""
        about = Subject(call_id=self._reference)
        event = Event(
            self._log.stream, line.seq, line.at, line.kind, about, "", "", line.hash, {"signed": line.signed}
        )
        facts = line.signed.get("statement") if isinstance(line.signed, dict) else None
        statement = facts if isinstance(facts, dict) else {}
        by = str(statement.get("by", "somebody"))
        return Statement(event, statement, by, signed=False, doubt="it is gone from the log", lost=True)

    def lost(self) -> list[Statement]:
        """Those that are on record outside the database and gone from the log; raises like `read`."""
        return [statement for statement in self.read() if statement.lost]

    def add(self, write: LogWrite, kind: str, facts: Mapping[str, Any], by: Decider) -> int:
        """Put a statement on the log, and on record outside the database; returns its event's id.

        Raises:
            Unauthorised: this person may not decide.
            StoreError: it could not be put on record; the transaction must not be committed.
        """
        anybody = may_be_anybody(kind)
        with (
            suppress(SBError) if anybody else nullcontext()
        ):  # stopping must not wait for what cannot be read
            self.adopt()
        rows = self._log.database.query(ABOUT, (self._reference,))
        place = {
            "database": self._log.database_id,
            "after": self._log.event(rows[-1]).hash if rows else "",
            "at": iso(self._log.clock.now()),
        }
        signed = signed_statement(by, {"action": kind, **facts, **place})
        if not anybody:
            self._authority.verify(signed)
        untrusted = {"by": by.name, "reason": facts["reason"]}
        event_id = write.append(kind, untrusted, Subject(call_id=self._reference), {"signed": signed})
        if self._file is not None:
            head = write.head
            line = StatementLine(
                *self._place(), self._reference, head.seq, head.hash, write.last_at, kind, signed
            )
            self._file.append([line])
            write.committed.append(lambda: self._anchor(write, line))
        return event_id

    def _anchor(self, write: LogWrite, line: StatementLine) -> None:
        """Anchor the row of a statement itself, where its transaction went on: so it is known to have been there."""
        if self._log.anchor is not None and write.head.hash != line.hash:
            head = AnchoredHead(line.seq, line.hash, iso(self._log.clock.now()))
            self._log.anchor.write(self._log.database_id, self._log.place, self._log.stream, head)

    def adopt(self) -> None:
        """Record outside the database what counts on the log and is not there yet.

        Of a database that the file does not know that is everything that counts, as after an update of SecondBrain;
        of one that it knows, what anybody may state.

        Raises:
            StoreError: log or file cannot be read or written.
        """
        if self._file is None:
            return
        recorded = self._recorded()
        known = {line.hash for line in recorded.lines}
        lines = [] if recorded.here else [StatementLine(*self._place())]
        for reference in (self._reference,) if recorded.known else REFERENCES:
            for statement in Statements(self._log, self._authority, reference).read():
                if statement.event.hash in known or (
                    statement.doubt and not may_be_anybody(statement.event.kind)
                ):
                    continue
                event, place = statement.event, self._place()
                signed = (event.payload or {}).get("signed")
                line = StatementLine(*place, reference, event.seq, event.hash, event.at, event.kind, signed)
                lines.append(line)
        if lines:
            self._file.append(lines)

    def _place(self) -> tuple[str, str]:
        return self._log.database_id, self._log.place
