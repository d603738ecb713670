"""Replay a policy over the recorded calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from typing import Any

from sb.base.sources import iso_micros
from sb.base.values.frozen import frozen, mutable
from sb.kernel.contracts import SafetyClass
from sb.kernel.policy.permissions import PolicyAction
from sb.kernel.review.explain import Judge
from sb.kernel.review.recorded_calls import spec_on_record, untold
from sb.kernel.run_context import SafetyMode
from sb.log.event import Event
from sb.log.event_log import EventLog
from sb.log.kinds import BUDGET_EXCEEDED, RUN_STARTED, TOOL_DISPATCH, TOOL_POLICY_BLOCKED

UNTOLD = "cannot be told"
_ASKED = ("requires_approval", "approval_denied", "approval_refused")
# Grounds for asking a person that no policy makes or takes away.
_NOT_OF_POLICY = {"irreversible", "irreversibility_ceiling", "recovery"}
_CALLS = (TOOL_DISPATCH, TOOL_POLICY_BLOCKED, BUDGET_EXCEEDED)
_NOT_ABOUT_POLICY = "other"
_REPORT_EVERY = 1000  # rows


@frozen
class Replayed:
    """One call on record.

    Args:
        at: microseconds since the epoch.
        then, now: allow, deny, require_approval, or UNTOLD for `now`.
        rule: what decides now.
    """

    call_id: str
    at: int
    agent: str
    tool_id: str
    then: str
    now: str
    rule: str = ""
    reason: str = ""

    def to_dict(self) -> dict[str, object]:
        return vars(self) | {"at": iso_micros(self.at)}


@mutable
class Replay:
    """Replay of a policy: the number of calls, and those that would have ended otherwise.

    Args:
        calls: (then, now) to how many.
        changed: the newest of those that differ or cannot be told.
        skipped: calls that were refused for a reason that no policy decides, such as their arguments.
        pruned: rows that no longer say what became of a call.
    """

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    changed: list[Replayed] = field(default_factory=list)
    skipped: int = 0
    pruned: int = 0

    @property
    def total(self) -> int:
        """All calls that a policy decides."""
        return self.calls.total()

    @property
    def differing(self) -> int:
        """The number of calls that would have ended otherwise."""
        return sum(n for (then, now), n in self.calls.items() if now not in (then, UNTOLD))

    @property
    def untold(self) -> int:
        """The number of calls that cannot be told."""
        return sum(n for (_, now), n in self.calls.items() if now == UNTOLD)


def replay(
    log: EventLog,
    judge: Judge,
    *,
    since: int,
    agent: str = "",
    tool_id: str = "",
    limit: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Judge each call again.

    Args:
        since: microseconds since the epoch.
        agent, tool_id: only calls of these; "" for all.
        limit: keep at most so many changed calls; 0 keeps all.
        progress: told how many rows of how many were read.
    """
    found = Replay()
    mode_of = lru_cache(maxsize=1024)(lambda run_id: _mode(log, run_id))
    total = log.head().seq
    for number, event in enumerate(
        log.events(since=since, agent=agent, tool_id=tool_id, newest_first=True), 1
    ):
        if progress is not None and number % _REPORT_EVERY == 0:
            progress(total - event.seq, total)
        if event.kind not in _CALLS:
            continue
        if event.payload is None:
            found.pruned += 1
            continue
        then = _then(event)
        if then == _NOT_ABOUT_POLICY:
            found.skipped += 1
        elif then:
            judged = _judge(event, then, judge, mode_of(event.subject.run_id))
            found.calls[then, judged.now] += 1
            if judged.now != then and (not limit or len(found.changed) < limit):
                found.changed.append(judged)
    if progress is not None:
        progress(total, total)
    return found


def _mode(log: EventLog, run_id: str) -> SafetyMode | None:
    """The safety mode of a run, None if it is not on record."""
    started = next(log.events(run_id=run_id, kind=RUN_STARTED, limit=1), None)
    word = ((started.payload if started else None) or {}).get("safety_mode")
    return SafetyMode(word) if word in list(SafetyMode) else None


def _then(event: Event) -> str:
    """The outcome of the call that this event began; "" for other events."""
    payload = event.payload or {}
    phase = payload.get("phase")
    if phase == "intent" or (phase == "outcome" and "intent" not in payload):
        approved = "approval_id" in payload or "grant_id" in payload
        return _asked(payload) if approved else str(PolicyAction.ALLOW)
    if phase != "refused":
        return ""
    if payload.get("rule") in _ASKED:
        return _asked(payload)
    return str(PolicyAction.DENY) if event.kind == TOOL_POLICY_BLOCKED else _NOT_ABOUT_POLICY


def _asked(payload: dict[str, Any]) -> str:
    """The policy's answer to a call that a person was asked about."""
    rules = payload.get("approval_rules")
    elsewhere = isinstance(rules, list) and bool(rules) and _NOT_OF_POLICY.issuperset(map(str, rules))
    return str(PolicyAction.ALLOW if elsewhere else PolicyAction.REQUIRE_APPROVAL)


def _judge(event: Event, then: str, judge: Judge, mode: SafetyMode | None) -> Replayed:
    subject = event.subject
    known = (subject.call_id, event.at, subject.agent, subject.tool_id, then)
    spec = spec_on_record(event, judge.registry)
    if spec is None:
        why = "the tool is not registered and its safety class is not on record"
        return Replayed(*known, UNTOLD, "", why)
    if mode is None and then == PolicyAction.DENY and spec.effective_class is not SafetyClass.READ_ONLY:
        return Replayed(*known, UNTOLD, "", "the safety mode of its run is not on record")
    judge = judge.under(mode or SafetyMode.NORMAL)  # what ran and could write ran in normal mode
    args = (event.payload or {}).get("args")
    decision = judge.decide(spec, subject.agent, args if isinstance(args, dict) else {})
    doubt = untold(judge.policy, spec, subject.agent, args, decision)
    if doubt:
        return Replayed(*known, UNTOLD, "", f"{doubt} is not on record as it was")
    return Replayed(*known, str(decision.action), decision.rule, decision.reason)
