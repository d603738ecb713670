"""Judgements of runs: a person accepts or rejects what a run came to.

Each is an event on the log, bound to its database, its run and the judgement before it, so that none can be put there
again, and signed where operators are enrolled. The newest that counts stands; all stay on the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.base.sources import iso, iso_micros
from sb.base.values.frozen import frozen
from sb.errors import DeniedError, NotFoundError, SBError, UsageError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.root_file import Roster
from sb.kernel.authority.signing import Decider, required, signed_statement
from sb.kernel.review.runs import RUN_FIELDS
from sb.log.event import Event, Subject
from sb.log.event_log import EventLog
from sb.log.kinds import OUTCOME_JUDGED, RUN_STARTED
from sb.log.people_events import ABOUT, sound
from sb.log.references import full_id

OUTCOMES = "outcomes"  # what the events of judgements are found under
_OF_RUN = ABOUT.replace("WHERE", "WHERE run_id = ? AND")
_SHOWN = 60  # characters of a reference in a message
_SESSIONS = (
    f"SELECT DISTINCT run_id FROM events AS e WHERE kind = '{RUN_STARTED}' AND {RUN_FIELDS['session']} = ?"
)


@frozen
class Judgement:
    """One judgement of a run.

    Args:
        run_id, agent: of the run. seq: of its event on the log. at: in ISO 8601.
        accepted: true if the person took what the run came to.
        workflow, intent: what the person says the work was; "" for what the record says.
        signed: true if an operator's key proves who judged.
        doubt: why it does not count; "" when it does.
    """

    run_id: str
    agent: str
    seq: int
    at: str
    accepted: bool
    by: str
    reason: str = ""
    workflow: str = ""
    intent: str = ""
    signed: bool = False
    doubt: str = ""


class Judgements:
    """The judgements on one log.

    Args:
        authority: says who may judge.
    """

    def __init__(self, log: EventLog, authority: Authority) -> None:
        self._log = log
        self._authority = authority

    def judge(
        self,
        run_id: str,
        by: Decider,
        *,
        accepted: bool,
        reason: str = "",
        workflow: str = "",
        intent: str = "",
    ) -> Judgement:
        """Put a judgement on the log; one that was there before no longer stands.

        Args:
            run_id: the whole id, as `judged_run` finds it.
            workflow, intent: the kind of work and its purpose, where the record has other words or none; by default
                what the judgement before it said.

        Raises:
            NotFoundError: nothing of such a run is on record.
            DeniedError: this person may not judge it: nobody judges a run of their own.
            UsageError: a text cannot be used.
            StoreCorrupt: the judgement before it was changed.
        """
        before = next((it for it in reversed(self.of_run(run_id)) if not it.doubt), None)
        if before is not None:
            workflow, intent = workflow or before.workflow, intent or before.intent
        texts = {"reason": reason, "workflow": workflow, "intent": intent}
        facts = {name: required(text, name) if text else "" for name, text in texts.items()}
        query = self._log.database.query
        with self._log.write(power=True) as write:
            agents = [
                row[0] for row in query("SELECT agent FROM events WHERE run_id = ? ORDER BY id", (run_id,))
            ]
            if not agents:
                raise _unknown(run_id)
            if _is_own(by.name, agents):
                raise DeniedError(f"{by.name} made this run and cannot judge it", "another operator has to")
            place = {
                "action": OUTCOME_JUDGED,
                "database": self._log.database_id,
                "run": run_id,
                "after": _hash_before(self._events(run_id)),
                "at": iso(self._log.clock.now()),
            }
            signed = signed_statement(by, {**place, "accepted": accepted, **facts})
            self._authority.verify(signed)
            subject = Subject(run_id=run_id, agent=agents[0], call_id=OUTCOMES)
            event_id = write.append(
                OUTCOME_JUDGED, {"by": by.name, "reason": facts["reason"]}, subject, {"signed": signed}
            )
        return next(it for it in self.of_run(run_id) if it.seq == event_id - self._log.first_id)

    def of_run(self, run_id: str) -> list[Judgement]:
        """The judgements of a run, oldest first, those that do not count included.

        Raises:
            StoreCorrupt: one of them was changed.
            Unauthorised: who may judge cannot be relied on.
        """
        return self._read(self._events(run_id))

    def all(self) -> list[Judgement]:
        """Every judgement, oldest first; raises like `of_run`."""
        rows = self._log.database.query(ABOUT, (OUTCOMES,))
        return self._read(sound(self._log, row) for row in rows)

    def in_force(self) -> dict[str, Judgement]:
        """The judgement that stands of each judged run; raises like `of_run`."""
        return {it.run_id: it for it in self.all() if not it.doubt}

    def _events(self, run_id: str) -> list[Event]:
        return [sound(self._log, row) for row in self._log.database.query(_OF_RUN, (run_id, OUTCOMES))]

    def _read(self, events: Iterable[Event]) -> list[Judgement]:
        before, judgements, roster = dict[str, str](), [], self._authority.roster()
        for event in events:
            if event.kind == OUTCOME_JUDGED:
                run_id = event.subject.run_id
                judgements.append(self._judgement(event, before.get(run_id, ""), roster))
                before[run_id] = event.hash
        return judgements

    def _judgement(self, event: Event, before: str, roster: Roster) -> Judgement:
        signed = (event.payload or {}).get("signed")
        found = signed.get("statement") if isinstance(signed, dict) else None
        facts: dict[str, Any] = found if isinstance(found, dict) else {}
        doubt = self._doubt(event, signed, facts, before, roster)
        text = {name: str(facts.get(name, "")) for name in ("reason", "workflow", "intent")}
        return Judgement(
            run_id=event.subject.run_id,
            agent=event.subject.agent,
            seq=event.seq,
            at=iso_micros(event.at),
            accepted=facts.get("accepted") is True,
            by=str(facts.get("by", "somebody")),
            signed=bool(facts.get("key")) and not doubt,
            doubt=doubt,
            **text,
        )

    def _doubt(self, event: Event, signed: Any, facts: dict[str, Any], before: str, roster: Roster) -> str:
        """The reason why a judgement does not count; "" when it does."""
        if not facts or not isinstance(facts.get("accepted"), bool):
            return "it cannot be read"
        place = (event.kind, self._log.database_id, event.subject.run_id, before)
        if tuple(facts.get(name) for name in ("action", "database", "run", "after")) != place:
            return "it was made for another place on the log"
        if _is_own(str(facts.get("by")), [event.subject.agent]):
            return "the agent judged its own run"
        try:
            self._authority.verify(signed, event, roster=roster)
        except SBError as error:
            return "" if not facts.get("key") and self._authority.before_enrolment(event) else error.message
        return ""


def _is_own(judge: str, agents: Sequence[str]) -> bool:
    """True if who judges is one of the agents that made the run."""
    return judge in agents


def _hash_before(events: list[Event]) -> str:
    judged = [event.hash for event in events if event.kind == OUTCOME_JUDGED]
    return judged[-1] if judged else ""


def judged_run(log: EventLog, reference: str) -> str:
    """The id of the run that a reference means: a run's id, the beginning of one, or its host's session.

    Raises:
        NotFoundError: there is none. UsageError: several fit.
    """
    run_id = full_id(log.database, reference)
    if run_id and log.database.query("SELECT 1 FROM events WHERE run_id = ? LIMIT 1", (run_id,)):
        return run_id
    runs = [row[0] for row in log.database.query(_SESSIONS, (reference,))] if reference else []
    if len(runs) > 1:
        some = ", ".join(runs[:3])
        raise UsageError(
            f"session {one_line(reference, _SHOWN)!r} has {len(runs)} runs: {some}", "name a run"
        )
    if not runs:
        raise _unknown(reference)
    return str(runs[0])


def _unknown(reference: str) -> NotFoundError:
    shown = one_line(reference, _SHOWN)
    return NotFoundError(f"no run or session {shown!r} in the log", "sb console --plain runs lists them")
