"""The kinds of events, each a registered decision key with its meaning.

A decision record without a registered key cannot be grouped or audited: ask `require` before writing one.
Source: the kernel reference, "Decision namespaces".
"""

from __future__ import annotations

import re

from sb.base.text import nearest
from sb.errors import NotFoundError, UsageError

KEY = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")

TOOL_DISPATCH = "kernel.tool.dispatch"
TOOL_POLICY_BLOCKED = "kernel.tool.policy.blocked"
BUDGET_EXCEEDED = "kernel.budget.exceeded"
MEMORY_PUT = "kernel.memory.put"
MEMORY_GET = "kernel.memory.get"
RUN_STARTED = "kernel.run.started"
RUN_FINISHED = "kernel.run.finished"
APPROVAL_REQUESTED = "approval.requested"
APPROVAL_APPROVED = "approval.approved"
APPROVAL_DENIED = "approval.denied"
APPROVAL_REVOKED = "approval.revoked"
APPROVAL_EXPIRED = "approval.expired"
APPROVAL_USED = "approval.used"
GRANT_MADE = "grant.made"
GRANT_REVOKED = "grant.revoked"
OPERATOR_CHANGED = "operator.changed"
BASELINE_CHANGED = "contract.baseline.changed"
RECOVERY_INVALIDATED = "recovery.assumption.invalidated"
RECOVERY_DECIDED = "recovery.decided"
RECOVERY_ESCALATED = "recovery.escalated"
RECOVERY_DISMISSED = "recovery.dismissed"
RECOVERY_BEGUN = "recovery.begun"
RECOVERY_SETTLED = "recovery.settled"
RECOVERY_PURGED = "recovery.purged"
PRUNED = "audit.pruned"
WORKFLOW_IN_DOUBT = "workflow.in_doubt"
WORKFLOW_SETTLED = "workflow.settled"
KILL_THROWN = "kill.thrown"
KILL_LIFTED = "kill.lifted"
INCIDENT_OPENED = "incident.opened"
INCIDENT_CLOSED = "incident.closed"
OUTCOME_JUDGED = "outcome.judged"
OUTCOME_CHECKED = "outcome.checked"
SESSION_CONFLICT = "session.conflict"
SESSION_TOLD = "session.told"
SESSION_TURN = "session.turn"
SESSION_QUESTION = "session.question"
CLAIMS_JUDGED = "claims.judged"
ATTACK_FOUND = "attack.found"
OUTPUT_GATED = "output.gated"
TOKEN_CREATED = "token.created"
TOKEN_REVOKED = "token.revoked"
AUTONOMY_LOWERED = "autonomy.lowered"
AUTONOMY_RAISED = "autonomy.raised"
AUTONOMY_FROZEN = "autonomy.frozen"
AUTONOMY_UNFROZEN = "autonomy.unfrozen"
AUTONOMY_EVALUATED = "autonomy.evaluated"
# Decisions of people about memories, by the word that rows say.
MEMORY_DECIDED = {
    word: f"memory.{word}"
    for word in "released purged dismissed resolved accepted confirmed snoozed retired kept forgotten recovered protected"
    " unguarded".split()
} | {"quarantine": "memory.quarantined"}

_meanings = {
    TOOL_DISPATCH: "Tool execution dispatch decision",
    TOOL_POLICY_BLOCKED: "Policy blocked a tool call",
    BUDGET_EXCEEDED: "Run budget consumed",
    MEMORY_PUT: "Value written to memory",
    MEMORY_GET: "Value read from memory",
    RUN_STARTED: "Agent run started",
    RUN_FINISHED: "Agent run completed",
    APPROVAL_REQUESTED: "A call waits for a person",
    APPROVAL_APPROVED: "A person approved a call",
    APPROVAL_DENIED: "A person denied a call",
    APPROVAL_REVOKED: "A person took an approval back before its use",
    APPROVAL_EXPIRED: "Nobody decided in time, which denies",
    APPROVAL_USED: "An approval was used for a call",
    GRANT_MADE: "A person approved calls of one kind in advance",
    GRANT_REVOKED: "A person took a grant back",
    OPERATOR_CHANGED: "The operators who may decide changed",
    BASELINE_CHANGED: "The approved contracts changed",
    OUTPUT_GATED: "A text that would leave a run holds secrets or personal data of another scope",
    ATTACK_FOUND: "A text that reads like an attack on a model",
    RECOVERY_INVALIDATED: "Something that justified calls turned false",
    RECOVERY_DECIDED: "The recovery loop decided about a call",
    RECOVERY_ESCALATED: "Something that a call did needs a person",
    RECOVERY_BEGUN: "A reversal of what a call did was begun",
    RECOVERY_DISMISSED: "A person decided to leave it as it is",
    RECOVERY_PURGED: "A person removed snapshots, so that what they hold cannot be undone",
    RECOVERY_SETTLED: "Whether a call in doubt happened was settled",
    PRUNED: "Payloads of old events removed",
    WORKFLOW_IN_DOUBT: "A workflow's plain step was announced, and its outcome is unknown",
    WORKFLOW_SETTLED: "Whether a workflow's step in doubt happened was settled",
    KILL_THROWN: "A person stopped calls",
    KILL_LIFTED: "A person let stopped calls go on",
    INCIDENT_OPENED: "A person opened an incident",
    INCIDENT_CLOSED: "A person closed an incident",
    OUTCOME_JUDGED: "A person accepted or rejected what a run came to",
    OUTCOME_CHECKED: "What a run says of its work was compared with evidence",
    SESSION_CONFLICT: "Two live sessions change the same file",
    SESSION_TOLD: "A session was told of a conflict",
    SESSION_TURN: "The user of a session wrote, which begins a turn",
    SESSION_QUESTION: "A host asked its own user about a call, or denied one by its own rules",
    CLAIMS_JUDGED: "The claims of a last message were held against the calls of its run",
    TOKEN_CREATED: "A person let an agent connect over HTTP",
    TOKEN_REVOKED: "A person took an agent's token back",
    AUTONOMY_LOWERED: "An agent lost autonomy for a tool, by what it did",
    AUTONOMY_RAISED: "A person signed more autonomy for an agent and tool",
    AUTONOMY_FROZEN: "No autonomy is proposed for an agent any more",
    AUTONOMY_UNFROZEN: "A person lets autonomy be proposed for an agent again",
    AUTONOMY_EVALUATED: "A person signed the score of an agent's evaluation",
    **{kind: f"A person decided about a memory: {word}" for word, kind in MEMORY_DECIDED.items()},
}


def register(key: str, meaning: str) -> None:
    """Add a decision key; registering the same pair again changes nothing.

    Raises:
        UsageError: the key is not dotted lower case, the meaning is empty, or the key has another meaning.
    """
    if not KEY.fullmatch(key):
        raise UsageError(
            f"decision key {key!r} is not dotted lower case", "an example: support.refund.approved"
        )
    if not meaning.strip():
        raise UsageError(f"decision key {key} needs a meaning")
    known = _meanings.setdefault(key, meaning)
    if known != meaning:
        raise UsageError(f"decision key {key} already means {known!r}", "choose another key")


def require(key: str) -> str:
    """The key itself, once it is sure to be registered.

    Raises:
        NotFoundError: it is not; the message names the nearest registered key.
    """
    if key not in _meanings:
        raise NotFoundError(
            f"decision key {key!r} is not registered{nearest(key, _meanings)}",
            "register it with sb.decisions.namespace.register",
        )
    return key


def meaning(key: str) -> str:
    """The meaning of a decision key; raises NotFoundError like `require`."""
    return _meanings[require(key)]


def namespaces(prefix: str = "") -> dict[str, str]:
    """Registered keys and their meanings, sorted by key.

    Args:
        prefix: leading parts of a key, such as ``kernel.tool``; "" lists all.
    """
    stem = prefix.rstrip(".")
    return {
        key: text
        for key, text in sorted(_meanings.items())
        if not stem or key == stem or key.startswith(stem + ".")
    }
