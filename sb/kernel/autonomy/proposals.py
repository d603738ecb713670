"""Proposals of higher levels: worked out from the record, signed by an operator, never made by an agent's own acts.

Evidence is what an agent cannot produce by itself: calls that an operator signed for and that went well, operators'
refusals, undos, violations, and evaluations that an operator signed. Calls that only read, calls under a grant and calls
that a host's own user permitted are none; alike calls count once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from sb.base.intervals import wilson
from sb.base.sources import MICROSECONDS, micros
from sb.base.values.canonical import canonical_bytes, digest
from sb.base.values.frozen import frozen
from sb.base.values.references import full_one
from sb.errors import NotFoundError, SBError
from sb.kernel.approvals.proof import refuse_requester, signatory
from sb.kernel.approvals.queue import SELECT_APPROVALS
from sb.kernel.authority.signing import Decider, required
from sb.kernel.autonomy.levels import INTENT, UNPROVEN, Correction, Key, Level, Levels, Standing
from sb.kernel.autonomy.scoring import AutonomyMode, AutonomySignals, compute_autonomy
from sb.kernel.autonomy.state import AutonomyState
from sb.kernel.calls.approval import Approval, approval_of
from sb.kernel.calls.intents import IntentState
from sb.kernel.contracts import SafetyClass
from sb.log.event import Event
from sb.log.kinds import APPROVAL_APPROVED, APPROVAL_DENIED, APPROVAL_USED
from sb.log.people_events import people_events

LEAST = 8  # different calls that operators approved, before anything is proposed
EVALUATION_S = 30 * 86_400  # for which an evaluation counts
_MOST = 200  # approvals of one contract that are looked at, newest first
# By class: how well its effects are undone, what it may harm, how much people notice. No other class is ever proposed.
_CLASSES = {SafetyClass.LOCAL_WRITE: (1.0, 0.1, 0.1), SafetyClass.NETWORK: (0.5, 0.2, 0.2)}
_NO_INTENT = ("unnamed", "unregistered")  # words for intents that are no name
_GROUPS = (
    "SELECT agent, tool_id, fingerprint, safety_class FROM approvals WHERE state = 'used' AND safety_class IN ('{}')"
    " GROUP BY agent, tool_id, fingerprint, safety_class HAVING count(DISTINCT args_digest) >= ?"
).format("', '".join(_CLASSES))
_IDS = (
    "SELECT id FROM approvals WHERE state = ? AND agent = ? AND (? = '' OR tool_id = ? AND fingerprint = ?)"
    f" ORDER BY number DESC LIMIT {_MOST}"
)


class Evidence(NamedTuple):
    """Evidence of one agent for one tool, contract and intent.

    Args:
        approved: different calls that operators signed for and that ran. failed: those of them that failed.
        refused: whether an operator refused the agent a call, and it kept to that.
        evaluation: the newest score that an operator signed; None without one.
    """

    approved: int
    failed: int
    refused: bool
    evaluation: float | None

    @property
    def text(self) -> str:
        score = "no evaluation" if self.evaluation is None else f"evaluation {self.evaluation:.2f}"
        obeyed = "keeps to refusals" if self.refused else "was never refused"
        return f"{self.approved} different calls approved, {self.failed} failed; {score}; {obeyed}"

    def signals(self, safety_class: SafetyClass) -> AutonomySignals:
        """The signals of a tool of this class; what is unknown is 0."""
        reversibility, risk, impact = _CLASSES[safety_class]
        return AutonomySignals(
            evidence_confidence=wilson(self.approved - self.failed, self.approved)[0],
            policy_confidence=float(self.refused),
            eval_score=self.evaluation or 0.0,
            tool_reliability=(self.approved - self.failed) / self.approved if self.approved else 0.0,
            reversibility=reversibility,
            task_risk=risk,
            user_impact=impact,
        )


@frozen
class Proposal:
    """A higher level for an agent, tool and intent.

    Args:
        intent, fingerprint: "" where the level holds for all.
        why: the evidence, or the fall that is taken back. score: of the evidence; None where none is asked for.
        lacks: why it cannot be signed yet; "" where it can.
    """

    id: str
    agent: str
    tool_id: str
    intent: str
    fingerprint: str
    before: AutonomyMode
    to: AutonomyMode
    why: str
    score: float | None = None
    lacks: str = ""
    at: int = 0


class _Used(NamedTuple):
    """A call that an operator signed for and that ran; `row` of the decision, `at` of it in microseconds."""

    row: int
    at: int
    intent: str
    args_digest: str
    failed: bool


class Proposals:
    """The proposals of one log. What was read of a decision is cached until who may decide has changed."""

    def __init__(self, levels: Levels) -> None:
        self.levels = levels
        self._log = levels.log
        self._used: dict[str, _Used] = {}
        self._denied: dict[str, bool] = {}
        self._token: object = None

    def all(self) -> list[Proposal]:
        """Proposals that can be signed now; raises SBError if the record cannot be read."""
        return [it for it in self.candidates(LEAST) if not it.lacks]

    def candidates(self, least: int = 1) -> list[Proposal]:
        """Proposals with those that lack something.

        Args:
            least: different calls that were approved, below which a promotion is left out.
        """
        now, token = self.levels.current(), self.levels.authority.token()
        if token != self._token:
            self._token, self._used, self._denied = token, {}, {}
        if now.unreadable:
            return []
        corrections = self.levels.corrections()
        now = replace(now, frozen={**_clusters(now, corrections), **now.frozen})
        corrected = {it.key: it.row for it in corrections}
        fallen = [self._restored(now, it) for it in now.levels.values() if it.mode.rank < UNPROVEN.rank]
        # While nobody is enrolled, no approval is signed.
        groups = self._log.database.query(_GROUPS, (least,)) if self.levels.authority.enrolled() else []
        earned = (it for group in groups for it in self._earned(now, corrected, *group))
        return [*fallen, *earned]

    def get(self, reference: str) -> Proposal:
        """A proposal that can be signed, by its id or the beginning of it; raises NotFoundError."""
        found = {it.id: it for it in self.all()}
        full = full_one(reference, found)
        if full not in found:
            raise NotFoundError(
                f"no proposal {reference!r} can be signed now", "sb autonomy proposals lists them"
            )
        return found[full]

    def sign(self, reference: str, by: Decider, reason: str) -> Proposal:
        """Raise a level as proposed.

        Raises:
            NotFoundError: there is no such proposal any more.
            Unauthorised, DeniedError: this person may not decide.
            UsageError: the reason is missing.
        """
        reason = required(reason)
        with self._log.write(power=True) as write:
            found = self.get(reference)
            refuse_requester(by.name, found.agent, {})
            facts = {
                "proposal": found.id,
                "agent": found.agent,
                "tool_id": found.tool_id,
                "intent": found.intent,
                "fingerprint": found.fingerprint,
                "from": str(found.before),
                "to": str(found.to),
                "evidence": found.why,
                "reason": reason,
            }
            self.levels.raise_(write, facts, by)
        return found

    def _restored(self, now: Standing, level: Level) -> Proposal:
        frozen = now.frozen_by(level.agent, level.tool_id)
        lacks = f"it is frozen: {frozen}" if frozen else ""
        why = f"it fell: {level.why}"
        return self._proposal(level, "", "", UNPROVEN, why, None, lacks, level.at)

    def _earned(
        self,
        now: Standing,
        corrected: dict[Key, int],
        agent: str,
        tool_id: str,
        fingerprint: str,
        of: str,
    ) -> Iterator[Proposal]:
        level = now.level(agent, tool_id)
        if level.mode is not UNPROVEN:
            return
        since = now.since(agent, tool_id)
        by_intent: dict[str, list[_Used]] = {}
        for used in self._used_calls(agent, tool_id, fingerprint):
            if used.row > since:
                by_intent.setdefault(used.intent, []).append(used)
        frozen, row = now.frozen_by(agent, tool_id), corrected.get((agent, tool_id), 0)
        barred = f"it is frozen: {frozen}" if frozen else level.barred
        if row > since and not barred:
            barred = f"a person denied or undid a call (row {row} of the log)"
        refused, evaluation = self._keeps_to_refusals(now, agent), self._evaluation(now, agent)
        by_intent.pop("", None)  # calls of a time when no level was looked at, and of recovery
        for intent, calls in by_intent.items():
            if level.of(intent, fingerprint) is AutonomyMode.AUTO_EXECUTE:
                continue
            failed = len({it.args_digest for it in calls if it.failed})
            found = Evidence(len({it.args_digest for it in calls}), failed, refused, evaluation)
            earned = compute_autonomy(found.signals(SafetyClass(of)))
            lacks = barred or ("its intent has no name" if intent in _NO_INTENT else "")
            if not lacks and found.approved < LEAST:
                lacks = f"{found.approved} of {LEAST} different calls were approved"
            if not lacks and earned.mode is not AutonomyMode.AUTO_EXECUTE:
                lacks = f"its score of {earned.score:.2f} earns {earned.mode}"
            to, at = AutonomyMode.AUTO_EXECUTE, max(it.at for it in calls)
            yield self._proposal(level, intent, fingerprint, to, found.text, earned.score, lacks, at)

    def _proposal(
        self,
        level: Level,
        intent: str,
        fingerprint: str,
        to: AutonomyMode,
        why: str,
        score: float | None,
        lacks: str,
        at: int,
    ) -> Proposal:
        # By the state that it would change, so that it stays the same while evidence grows, and ends with a fall.
        state = [
            self._log.database_id,
            level.agent,
            level.tool_id,
            intent,
            fingerprint,
            str(level.mode),
            str(to),
            level.at,
        ]
        name = f"prop_{digest(canonical_bytes(state))[:8]}"
        return Proposal(
            name, level.agent, level.tool_id, intent, fingerprint, level.mode, to, why, score, lacks, at
        )

    def _evaluation(self, now: Standing, agent: str) -> float | None:
        found = now.evaluations.get(agent)
        old = found is None or abs(micros(self._log.clock.now()) - found.at) > EVALUATION_S * MICROSECONDS
        return None if found is None or old else found.score

    def _keeps_to_refusals(self, now: Standing, agent: str) -> bool:
        """True if an operator refused the agent a call, and no level of it has fallen since without being signed for."""
        if any(
            level.agent == agent and (level.barred or level.mode.rank < UNPROVEN.rank)
            for level in now.levels.values()
        ):
            return False
        for (reference,) in self._log.database.query(_IDS, ("denied", agent, "", "", "")):
            if reference not in self._denied:
                self._denied[reference] = (
                    self._decision(self._approval(reference), APPROVAL_DENIED, "deny") is not None
                )
            if self._denied[reference]:
                return True
        return False

    def _used_calls(self, agent: str, tool_id: str, fingerprint: str) -> Iterator[_Used]:
        for (reference,) in self._log.database.query(_IDS, ("used", agent, tool_id, tool_id, fingerprint)):
            found = self._used.get(reference) or self._read_used(self._approval(reference))
            if found is not None:
                self._used[reference] = found
                yield found

    def _approval(self, reference: str) -> Approval:
        return approval_of(self._log.database.query(f"{SELECT_APPROVALS} WHERE a.id = ?", (reference,))[0])

    def _read_used(self, approval: Approval) -> _Used | None:
        """The call of an approval; None where no operator signed for it, or it has not ended."""
        decided = self._decision(approval, APPROVAL_APPROVED, "approve")
        if decided is None or approval.needed > 1:  # what needs two people is decided call by call
            return None
        used = next(event for event in people_events(self._log, approval.id) if event.kind == APPROVAL_USED)
        call = str((used.payload or {}).get("used_by", ""))
        facts = [it.payload or {} for it in self._log.events(run_id=used.subject.run_id, call_id=call)]
        ended = next((it for it in facts if it.get("phase") == "outcome"), None)
        if ended is None:
            return None
        intent = next((str(it[INTENT]) for it in facts if INTENT in it), "")
        failed = ended.get("state") != IntentState.DONE or "code" in ended
        return _Used(decided.seq, decided.at, intent, approval.args_digest, failed)

    def _decision(self, approval: Approval, kind: str, action: str) -> Event | None:
        """The decision of an operator on a request; None where none can be relied on."""
        try:
            events: Sequence[Event] = people_events(self._log, approval.id)
            binding = approval.binding(self._log.database_id)
            if kind == APPROVAL_APPROVED and not any(event.kind == APPROVAL_USED for event in events):
                return None
            for event in events:
                if event.kind == kind:
                    name, statement = signatory(self.levels.authority, event, action, binding)
                    refuse_requester(name, approval.agent, {})
                    return event if statement.get("key") else None
        except SBError:
            return None
        return None


def _clusters(now: Standing, corrections: Sequence[Correction]) -> dict[Key, str]:
    """Agents whose promotion is frozen by several corrections within a day, after what a person last signed for."""
    states: dict[str, AutonomyState] = {}
    for it in corrections:
        agent = it.key[0]
        if it.row > now.signed.get((agent, ""), 0):
            states.setdefault(agent, AutonomyState()).record_correction(it.at / MICROSECONDS)
    return {(agent, ""): state.frozen_by for agent, state in states.items() if state.frozen}
