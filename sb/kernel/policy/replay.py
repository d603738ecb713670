"""What would a policy have done to the calls on record?

Arguments are on record redacted and clipped. Where a rule depends on one that is, the answer is that it cannot be told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sb.decisions.namespace import BUDGET_EXCEEDED, RUN_STARTED, TOOL_DISPATCH, TOOL_POLICY_BLOCKED
from sb.kernel.contracts import SafetyClass, ToolSpec
from sb.kernel.run_context import SafetyMode
from sb.kernel.tooling.permissions import PolicyAction, ToolPolicy
from sb.kernel.tooling.registry import ToolRegistry
from sb.sources import iso
from sb.state import Event, EventLog

UNTOLD = "cannot be told"
_ALTERED = ("[redacted:", "… (")  # what the log puts in place of a value
_NOT_ABOUT_POLICY = "other"


@dataclass(frozen=True)
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

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"at": iso(self.at / 1e6)}


@dataclass
class Replay:
    """How many calls there were, and which of them would have ended otherwise.

    Args:
        calls: (then, now) to how many. changed: the newest of those that differ. skipped: calls that were refused
            for a reason that no policy decides, such as their arguments.
    """

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    changed: list[Replayed] = field(default_factory=list)
    skipped: int = 0


def replay(
    log: EventLog,
    policy: ToolPolicy,
    registry: ToolRegistry,
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
    for event in log.events(since=since, agent=agent, tool_id=tool_id, newest_first=True):
        if progress is not None and event.seq % 1000 == 0:
            progress(total - event.seq, total)
        then = _then(event)
        if not then:
            continue
        if then == _NOT_ABOUT_POLICY:
            found.skipped += 1
            continue
        judged = _judge(event, then, policy.bound_by(mode_of(event.subject.run_id)), registry)
        found.calls[then, judged.now] += 1
        if judged.now != then and (not limit or len(found.changed) < limit):
            found.changed.append(judged)
    if progress is not None:
        progress(total, total)
    return found


def _mode(log: EventLog, run_id: str) -> SafetyMode:
    started = next(log.events(run_id=run_id, kind=RUN_STARTED, limit=1), None)
    word = ((started.payload if started else None) or {}).get("safety_mode", SafetyMode.NORMAL)
    return SafetyMode(word) if word in list(SafetyMode) else SafetyMode.NORMAL


def _then(event: Event) -> str:
    """What became of the call that this event is the first of; "" for events that are no call's first."""
    payload = event.payload
    if event.kind not in (TOOL_DISPATCH, TOOL_POLICY_BLOCKED, BUDGET_EXCEEDED):
        return ""
    if payload is None:
        return str(PolicyAction.DENY) if event.kind == TOOL_POLICY_BLOCKED else ""
    phase = payload.get("phase")
    if phase == "intent" or (phase == "outcome" and "intent" not in payload):
        approved = "approval_id" in payload or "grant_id" in payload
        return str(PolicyAction.REQUIRE_APPROVAL if approved else PolicyAction.ALLOW)
    if phase != "refused":
        return ""
    if str(payload.get("rule", "")).startswith(("requires_approval", "approval_")):
        return str(PolicyAction.REQUIRE_APPROVAL)
    return str(PolicyAction.DENY) if event.kind == TOOL_POLICY_BLOCKED else _NOT_ABOUT_POLICY


def _judge(event: Event, then: str, policy: ToolPolicy, registry: ToolRegistry) -> Replayed:
    subject = event.subject
    known = (subject.call_id, event.at, subject.agent, subject.tool_id, then)
    spec = spec_on_record(event, registry)
    if spec is None:
        return Replayed(
            *known, UNTOLD, "", "the tool is not registered and its safety class is not on record"
        )
    args = (event.payload or {}).get("args")
    doubtful = doubtful_arguments(policy, spec, subject.agent, args)
    if doubtful:
        return Replayed(*known, UNTOLD, "", f"{doubtful} is not on record as it was")
    refusal = registry.capability_refusal(spec, subject.agent)
    if refusal:
        return Replayed(*known, str(PolicyAction.DENY), "capabilities", refusal)
    decision = policy.evaluate(spec, subject.agent, args if isinstance(args, dict) else {})
    return Replayed(*known, str(decision.action), decision.rule, decision.reason)


def spec_on_record(event: Event, registry: ToolRegistry) -> ToolSpec | None:
    """The contract of a call's tool: the registered one, or one of the safety class on record."""
    spec = registry.get(event.subject.tool_id)
    if spec is not None:
        return spec
    word = (event.payload or {}).get("safety_class")
    if word not in list(SafetyClass):
        return None
    return ToolSpec(event.subject.tool_id, event.subject.tool_id, safety_class=SafetyClass(word))


def doubtful_arguments(policy: ToolPolicy, spec: ToolSpec, agent: str, args: Any) -> str:
    """The first argument that a rule depends on and that is not on record as it was, or ""."""
    if policy.rules is None:
        return ""
    for rule in policy.rules.conditional(spec.tool_id, agent, spec.effective_class):
        for name in rule.args:
            if not isinstance(args, dict) or (name in args and any(map(_altered, _leaves(args[name])))):
                return name
    return ""


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value


def _altered(text: str) -> bool:
    return any(mark in text for mark in _ALTERED)
