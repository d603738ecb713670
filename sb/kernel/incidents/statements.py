"""What did people state about one thing, in which order, and does each statement count?

Said by the log alone. Each statement is bound to the database and to the one before it, so that none can be put on
the log again, and signed where whoever made it has a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sb.errors import SBError
from sb.kernel.authority.authority import OPERATORS, Authority
from sb.kernel.authority.signing import Decider, signed_statement
from sb.kernel.people_events import ABOUT, people_events, sound
from sb.sources import iso
from sb.state import Event, EventLog, LogWrite, Subject


@dataclass(frozen=True)
class Statement:
    """One statement on the log.

    Args:
        facts: what it says; {} when it cannot be read. by: who says so.
        signed: whether an operator's key proves that.
        doubt: why it is not the decision of somebody who may decide; "" when it is.
    """

    event: Event
    facts: Mapping[str, Any]
    by: str
    signed: bool
    doubt: str

    @property
    def text(self) -> dict[str, str]:
        """Its facts as text."""
        return {name: str(value) for name, value in self.facts.items()}


class Statements:
    """The statements about one thing.

    Args:
        authority: says who may decide.
        reference: what their events are found under.
    """

    def __init__(self, log: EventLog, authority: Authority, reference: str) -> None:
        self._log = log
        self._authority = authority
        self._reference = reference

    def read(self) -> list[Statement]:
        """Every statement, oldest first.

        Raises:
            StoreError: the log cannot be read, or one of them is not what was written.
            Unauthorised: who may decide cannot be relied on.
        """
        rows = self._log.database.query(ABOUT, (self._reference,))
        if not rows:
            return []
        self._authority.roster()
        found, before = [], ""
        for row in rows:
            event = sound(self._log, row)
            found.append(self._statement(event, before))
            before = event.hash
        return found

    def _statement(self, event: Event, before: str) -> Statement:
        signed = (event.payload or {}).get("signed")
        facts = signed.get("statement") if isinstance(signed, dict) else None
        if not isinstance(signed, dict) or not isinstance(facts, dict):
            return Statement(event, {}, "somebody", signed=False, doubt="it cannot be read")
        by, key = str(facts.get("by", "somebody")), facts.get("key")
        place = (event.kind, self._log.database_id, before)
        if (facts.get("action"), facts.get("database"), facts.get("after")) != place:
            return Statement(event, facts, by, signed=False, doubt="it was made for another place on the log")
        try:
            self._authority.verify(signed)
        except SBError as error:
            early = not key and self._before_enrolment(event)
            return Statement(event, facts, by, signed=False, doubt="" if early else error.message)
        return Statement(event, facts, by, signed=bool(key), doubt="")

    def _before_enrolment(self, event: Event) -> bool:
        """Whether nobody was enrolled on this log yet, so that nothing could be signed."""
        enrolment = people_events(self._log, OPERATORS)
        return bool(enrolment) and event.seq < enrolment[0].seq

    def add(
        self, write: LogWrite, kind: str, facts: Mapping[str, Any], by: Decider, *, may_be_anybody: bool
    ) -> int:
        """Put a statement on the log; returns its event's id.

        Args:
            may_be_anybody: whether it counts whoever makes it.

        Raises:
            Unauthorised: this person may not decide.
        """
        rows = self._log.database.query(ABOUT, (self._reference,))
        place = {
            "database": self._log.database_id,
            "after": self._log.event(rows[-1]).hash if rows else "",
            "at": iso(self._log.clock.now()),
        }
        signed = signed_statement(by, {"action": kind, **facts, **place})
        if not may_be_anybody:
            self._authority.verify(signed)
        said = {"by": by.name, "reason": facts["reason"]}
        return write.append(kind, said, Subject(call_id=self._reference), {"signed": signed})
