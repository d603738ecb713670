"""Describe an event in one line."""

from __future__ import annotations

import json
from typing import Any

from sb.base.text import human_bytes, plain, shorten
from sb.kernel.contracts import CHARTER_SURFACE, KERNEL_SURFACE, RELEASE_SURFACE
from sb.kernel.reversibility.contracts import UNDO
from sb.log.event import Event
from sb.log.kinds import (
    APPROVAL_APPROVED,
    APPROVAL_DENIED,
    APPROVAL_EXPIRED,
    APPROVAL_REQUESTED,
    APPROVAL_REVOKED,
    APPROVAL_USED,
    AUTONOMY_EVALUATED,
    AUTONOMY_FROZEN,
    AUTONOMY_LOWERED,
    AUTONOMY_RAISED,
    AUTONOMY_UNFROZEN,
    BASELINE_CHANGED,
    GRANT_MADE,
    GRANT_REVOKED,
    INCIDENT_CLOSED,
    INCIDENT_OPENED,
    KILL_LIFTED,
    KILL_THROWN,
    MEMORY_GET,
    MEMORY_PUT,
    OPERATOR_CHANGED,
    OUTCOME_JUDGED,
    PRUNED,
    RECOVERY_BEGUN,
    RECOVERY_DECIDED,
    RECOVERY_DISMISSED,
    RECOVERY_ESCALATED,
    RECOVERY_INVALIDATED,
    RECOVERY_PURGED,
    RECOVERY_SETTLED,
    RUN_FINISHED,
    RUN_STARTED,
    SESSION_CONFLICT,
    SESSION_QUESTION,
    SESSION_TOLD,
    SESSION_TURN,
    WORKFLOW_IN_DOUBT,
    WORKFLOW_SETTLED,
)

WIDEST_VALUE = 60
WIDEST_COMMAND = 120
_LARGEST = 1e15  # bytes or milliseconds; beyond it no number is meant
_DECIDED = {
    APPROVAL_APPROVED: "approved",
    APPROVAL_DENIED: "denied",
    APPROVAL_REVOKED: "revoked the approval of",
    GRANT_MADE: "granted in advance",
    GRANT_REVOKED: "revoked the grant for",
}

_SETTLED = {
    "done": "happened",
    "not-done": "did not happen",
    "compensate": "happened, and is to be undone",
}


def describe(event: Event, *, outcome: bool = True) -> str:
    """One line without control characters; what a pruned event was about is still said.

    Args:
        outcome: begin what is said of a call with the word for how it ended; False where that stands beside it.
    """
    if event.payload is None:
        return plain(f"{event.kind} {event.subject.tool_id} (details pruned)", one_line=True)
    return plain(_sentence(event, event.payload, outcome), one_line=True)


def _sentence(event: Event, payload: dict[str, Any], outcome: bool) -> str:
    agent = event.subject.agent
    if event.kind == RUN_STARTED:
        intent, drift = payload.get("intent"), payload.get("release_drift")
        parts = ", ".join(map(str, drift)) if isinstance(drift, list) else ""
        return (
            f"{agent} started a run"
            + (f": {intent}" if intent else "")
            + (f"; differs from the pinned release: {parts}" if parts else "")
        )
    if event.kind == RUN_FINISHED:
        given = payload.get("budget")
        budget = given if isinstance(given, dict) else {}
        used = (
            f", {budget.get('tool_calls_used', 0)} of {budget.get('max_tool_calls', 0)} calls used"
            if budget
            else ""
        )
        return f"{agent} finished the run{used}" + (
            f", after {payload['error']}" if payload.get("error") else ""
        )
    if event.kind == SESSION_CONFLICT:
        other = f"{payload.get('host')} {str(payload.get('session', ''))[:8]}"
        return f"{agent}: {payload.get('path')} is also being changed by {other}"
    if event.kind == SESSION_TURN:
        return f"{agent}: a turn began"
    if event.kind == SESSION_QUESTION:
        return f"{agent}: {_question(payload)} {payload.get('tool', '')}"
    if event.kind == SESSION_TOLD:
        return f"{agent} was told of sessions that change the same files: {payload.get('conflicts')}"
    if event.kind in (MEMORY_PUT, MEMORY_GET):
        verb = "wrote" if event.kind == MEMORY_PUT else "read"
        return f"{payload.get('tier', '')} memory: {verb} {payload.get('key', '')}"
    if event.kind == PRUNED:
        return f"payloads up to row {payload.get('through')} removed: {payload.get('reason', '')}"
    if event.kind == BASELINE_CHANGED:
        return _approved_contracts(payload)
    if event.kind == OPERATOR_CHANGED:
        return f"operators: {payload.get('how')} {payload.get('name')} by {payload.get('by')}" + _why(payload)
    if event.kind.startswith(("approval.", "grant.")):
        return _decision_sentence(event, payload)
    if event.kind.startswith(("kill.", "incident.", "autonomy.", "outcome.")):
        return _statement_sentence(event, payload)
    if event.kind.startswith("recovery."):
        return _recovery_sentence(event, payload)
    if event.kind in (WORKFLOW_IN_DOUBT, WORKFLOW_SETTLED):
        return _step_sentence(event, payload)
    if event.subject.tool_id:
        word, text = _call_sentence(event, payload)
        return f"{agent}: {word} {text}" if word and outcome else f"{agent}: {text}"
    return f"{event.kind} {_brief(payload)}"


def _step_sentence(event: Event, payload: dict[str, Any]) -> str:
    args = payload.get("args")
    named = args if isinstance(args, dict) else payload
    step = f"step {named.get('step')} of workflow {named.get('workflow')}"
    if event.kind == WORKFLOW_IN_DOUBT:
        return f"the outcome of {step} is unknown: {payload.get('cause')}"
    happened = "happened" if payload.get("done") else "did not happen"
    return f"{payload.get('by') or 'its program'} says that {step} {happened}{_why(payload)}"


def _question(payload: dict[str, Any]) -> str:
    if payload.get("denied") is True:
        return "the host denied, by its own rules,"
    return (
        "the user was asked, by SecondBrain, about"
        if payload.get("ours") is True
        else "the host asked its user about"
    )


def _recovery_sentence(event: Event, payload: dict[str, Any]) -> str:
    what = f"{event.subject.tool_id} ({event.subject.call_id})"
    if event.kind == RECOVERY_PURGED:
        which = payload.get("older_than")
        return (
            f"{payload.get('by')} removed snapshots{f' older than {which}' if which else ''}{_why(payload)}"
        )
    if event.kind == RECOVERY_INVALIDATED:
        return f"assumption {payload.get('assumption')} turned false{_why(payload)}"
    if event.kind == RECOVERY_ESCALATED and payload.get("cause") == UNDO:
        return f"undo of {what}{_why(payload)}"
    if event.kind == RECOVERY_ESCALATED:
        return f"{what} needs a person{_why(payload)}"
    if event.kind == RECOVERY_DECIDED:
        return f"recovery {payload.get('action')} {what}{_why(payload)}"
    if event.kind == RECOVERY_SETTLED:
        verdict = str(payload.get("verdict"))
        return f"{payload.get('by')} says that {what} {_SETTLED.get(verdict, verdict)}{_why(payload)}"
    if event.kind == RECOVERY_BEGUN:
        return f"undoing {what} was begun: {payload.get('call')}"
    verb = "left as it is:" if event.kind == RECOVERY_DISMISSED else event.kind
    return f"{payload.get('by')} {verb} {what}{_why(payload)}"


def _statement_sentence(event: Event, payload: dict[str, Any]) -> str:
    signed = payload.get("signed")
    found = signed.get("statement") if isinstance(signed, dict) else None
    statement = found if isinstance(found, dict) else {}
    stopped = f"{statement.get('scope')} {statement.get('target', '')}".rstrip()
    levelled = f"the autonomy of {statement.get('agent')} for {statement.get('tool_id') or 'every tool'}"
    what = {
        KILL_THROWN: f"stopped {stopped}",
        KILL_LIFTED: f"lifted the kill of {stopped}",
        INCIDENT_OPENED: f"opened {statement.get('severity')} incident {statement.get('id')}, {statement.get('title')}",
        INCIDENT_CLOSED: f"closed incident {statement.get('id')}",
        AUTONOMY_LOWERED: f"lowered {levelled} to {statement.get('to')}",
        AUTONOMY_RAISED: f"raised {levelled} to {statement.get('to')}",
        AUTONOMY_FROZEN: f"froze {levelled}",
        AUTONOMY_UNFROZEN: f"unfroze {levelled}",
        AUTONOMY_EVALUATED: f"signed the evaluation of {statement.get('agent')}, {statement.get('score')}",
        OUTCOME_JUDGED: f"{'accepted' if statement.get('accepted') is True else 'rejected'} {event.subject.run_id}",
    }
    return f"{payload.get('by')} {what.get(event.kind, event.kind)}{_why(payload)}"


def _decision_sentence(event: Event, payload: dict[str, Any]) -> str:
    agent, tool, reference = event.subject.agent, event.subject.tool_id, event.subject.call_id
    if event.kind == APPROVAL_REQUESTED:
        return f"{reference} asks a person: {agent} wants {call_of(tool, payload.get('args'))}"
    if event.kind == APPROVAL_EXPIRED:
        return f"{reference} expired, which denies: {agent} wanted {tool}"
    if event.kind == APPROVAL_USED:
        return f"{reference} is used: {agent} calls {tool}"
    by = payload.get("by", "unknown")
    return f"{reference} {by} {_DECIDED[event.kind]} {tool} by {agent}: {payload.get('reason', '')}"


_APPROVED = {KERNEL_SURFACE: "contracts", CHARTER_SURFACE: "charters", RELEASE_SURFACE: "releases"}


def _approved_contracts(payload: dict[str, Any]) -> str:
    signed = payload.get("signed")
    statement = signed.get("statement") if isinstance(signed, dict) else None
    contracts = statement.get("contracts") if isinstance(statement, dict) else None
    tools = ", ".join(contracts) if isinstance(contracts, dict) else "?"
    surface = statement.get("surface") if isinstance(statement, dict) else KERNEL_SURFACE
    what = _APPROVED.get(str(surface), "reversals")
    return f"{payload.get('by')} approved the {what} of {shorten(tools, WIDEST_VALUE)}{_why(payload)}"


def _why(payload: dict[str, Any]) -> str:
    return f": {payload['reason']}" if payload.get("reason") else ""


def _call_sentence(event: Event, payload: dict[str, Any]) -> tuple[str, str]:
    """A word for how a call ended, "" while it has not, and what is said of it."""
    call = call_of(event.subject.tool_id, payload.get("args"))
    phase = payload.get("phase")
    if phase == "intent":
        return "", call
    if phase == "replayed":
        step = payload.get("step", "")
        return "again", f"{event.subject.tool_id}: step {step} is done, nothing was run"
    if phase == "settled":
        return "settled", f"{event.subject.tool_id}: {payload.get('state')}{_way_back(payload)}"
    if phase == "in_doubt":
        return "unknown", f"{event.subject.tool_id}: {payload.get('cause', '')}"
    if phase == "refused":
        return _refusal_word(payload), f"{call}: {payload.get('reason', '')}"
    if payload.get("lapsed") is True:
        return "lapsed", f"{event.subject.tool_id}: its host's user was asked and did not allow it"
    if payload.get("state") == "unreported":
        return "unreported", f"{event.subject.tool_id}: its host did not say that it ran"
    changed = " (its contract has changed)" if payload.get("tool_contract_mismatch") else ""
    if payload.get("code"):
        word = "unknown" if payload.get("state") == "in_doubt" else "failed"
        return word, f"{_named(event, payload, call)}: {payload['code']} {payload.get('error', '')}"
    size, took = human_bytes(int(_number(payload, "result_bytes"))), _number(payload, "latency_ms")
    text = f"{_named(event, payload, call)} gave {size} in {took:.1f} ms{changed}{_way_back(payload)}"
    return "ok", text


def _number(payload: dict[str, Any], name: str) -> float:
    """A number of an event, 0 where something else stands there: a database can be edited."""
    value = payload.get(name)
    return value if isinstance(value, int | float) and abs(value) < _LARGEST else 0


def call_of(tool_id: str, args: Any) -> str:
    """A call: of a host's shell the command line, then the contract; else the tool as a function of its arguments."""
    shell = tool_id.startswith("host.shell.") and isinstance(args, dict)
    command = args.get("command") if shell else None
    if isinstance(command, str) and command.strip():
        return f"{_shortened(command, WIDEST_COMMAND)} ({tool_id})"
    return f"{tool_id}({_arguments(args)})"


def _way_back(payload: dict[str, Any]) -> str:
    """The undo of the call, or the call that it undid."""
    if payload.get("reverses"):
        return f", undoing {payload['reverses']}"
    offered = payload.get("mutation") and not payload.get("no_way_back")
    return f"; sb undo {payload['mutation']}" if offered else ""


def _refusal_word(payload: dict[str, Any]) -> str:
    return "asked" if payload.get("rule") == "requires_approval" else "refused"


def _named(event: Event, payload: dict[str, Any], call: str) -> str:
    """The call with its arguments, unless the intent before it has said them."""
    return call if "args" in payload else event.subject.tool_id


def _arguments(args: Any) -> str:
    if isinstance(args, dict):
        return ", ".join(f"{name}={_brief(value)}" for name, value in args.items())
    if isinstance(args, list):
        return ", ".join(map(str, args))
    return "" if args is None else str(args)


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _shortened(text, WIDEST_VALUE)


def _shortened(text: str, widest: int) -> str:
    return shorten(" ".join(text.split()), widest)
