"""An operator's assessment of an agent: signed, logged, and written where nothing else writes."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from sb.base.sources import iso
from sb.base.text import checked_name
from sb.errors import DeniedError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, signed_statement
from sb.log import kinds
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.memory.personal_data import KEEP, Screened
from sb.memory.record_writer import RecordWriter
from sb.memory.space import Space
from sb.memory.trust.authority import with_authority
from sb.memory.trust.store import KIND, place_of_operators
from sb.memory.writer import Batch, Writer
from sb.protocols.types import TrustAssessment
from sb.store.records.rows import to_moment

TRUST_SET = "memory.trust_set"
kinds.register(TRUST_SET, "A person said how far an agent is trusted")


class TrustDesk:
    """Where operators say how far agents are trusted.

    Args:
        log: of the same database; it records what was said. authority: who may say it.
    """

    def __init__(self, space: Space, log: EventLog, authority: Authority) -> None:
        if log.database is not space.database:
            raise ValueError("the log belongs to another database")
        self._space, self._log, self._authority = space, log, authority

    def assess(
        self,
        stack: str,
        agent: str,
        domain: str,
        score: float,
        *,
        by: Decider,
        reason: str,
        evidence: Sequence[str] = (),
    ) -> str:
        """Set the trust in an agent for one domain; other domains stay. Returns the assessment's id.

        Args:
            score: from 0 to 1. evidence: ids of episodes, added to those before.

        Raises:
            ValueError: a name is empty, or the score is not from 0 to 1. DeniedError: `by` is that agent.
            Unauthorised: `by` may not decide. Nothing was changed then.
        """
        checked_name("entity", agent)
        checked_name("domain", domain)
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            raise ValueError(f"score is {score!r}, must be a number from 0 to 1")
        if by.name == agent:
            raise DeniedError(f"{agent} cannot say how far it is trusted itself", "another operator has to")
        space, now = self._space, self._log.clock.now()
        place = place_of_operators(stack)
        with self._log.write() as write:
            facts = {
                "stack": stack,
                "agent": agent,
                "domain": domain,
                "score": str(score),
                "at": iso(now),
            }
            signed = signed_statement(by, facts)
            self._authority.verify(signed)
            number = space.places.make(write.execute, place, reserved=True)
            former = space.records.keyed(number, KIND, agent)
            known = orjson.loads(former["fields"]).get("authority") if former is not None else None
            origins = {domain: {"domain": domain, "by": by.name, "at": now}}
            moment = to_moment(now)
            record = TrustAssessment(
                "", stack, agent, {domain: {"score": float(score)}}, with_authority(known, origins),
                list(evidence) or None, moment, moment,
            )  # fmt: skip
            keeper = RecordWriter(space, by.name)
            writer = Writer(keeper)
            batch = Batch(pairs=keeper.pairs([record]), screened=[Screened((), KEEP)])  # a person's own words
            row = batch.rows[0]
            row["place"], row["session"] = number, None
            writer.hold(batch)
            writer.keep(write.execute, batch)
            subject = Subject(agent=agent, call_id=row["uid"])
            write.append(TRUST_SET, {"by": by.name, "reason": reason, **signed}, subject, {"stack": stack})
        return str(row["uid"])
