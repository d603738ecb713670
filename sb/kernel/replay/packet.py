"""A captured run: who ran, under which rules, and every call with its arguments and outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

from sb.base.values.canonical import canonical_bytes
from sb.base.values.frozen import frozen, mutable
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.execution.outcome import Outcome
from sb.kernel.replay.packet_file import TORN

REFUSED, RAN = "refused", "ran"


@frozen
class Step:
    """One call.

    Args:
        verdict: RAN or REFUSED. asked: rules for which a person had to agree.
        rule: what refused it. code, message: of the failure; "" for none.
        value: what it returned, plain JSON. fingerprint: of the tool's contract.
        host: the program that performed it; "" for a call of this kernel. step: the caller's name of it.
        at: seconds since the epoch. latency_ms: milliseconds inside the tool.
    """

    tool_id: str
    args: Any
    verdict: str
    asked: tuple[str, ...] = ()
    rule: str = ""
    code: str = ""
    message: str = ""
    value: Any = None
    fingerprint: str = ""
    host: str = ""
    step: str = ""
    call_id: str = ""
    at: float = 0.0
    latency_ms: float = 0.0

    @property
    def key(self) -> tuple[str, bytes]:
        """The identity of a call, whatever became of it."""
        return self.tool_id, canonical_bytes(self.args)

    @property
    def became(self) -> str:
        """The verdict, with the rule that refused it."""
        return f"{self.verdict} by {self.rule}" if self.rule else self.verdict


@frozen
class Packet:
    """One run.

    Args:
        begun: who ran: run_id, agent, intent, budget, time and version of sb.
        rules: what the start of the run says beside, such as the organization's policy and the release.
        steps: its calls in the order in which they ended.
        ended: how the run ended, "" for without an error; None while it has not, or if its end is missing.
        full: later calls are missing, since the packet had reached its largest size.
        torn: a call is missing, since its process was killed while it wrote it down.
    """

    begun: dict[str, Any]
    steps: tuple[Step, ...] = ()
    ended: str | None = None
    full: bool = False
    rules: dict[str, Any] = field(default_factory=dict)
    torn: bool = False

    @property
    def run_id(self) -> str:
        return str(self.begun["run_id"])

    @property
    def missing(self) -> str:
        """The parts of the run that the packet lacks, or ""."""
        if not self.begun["from_start"]:
            return "its first calls were made before it was captured"
        if self.full:
            return "the packet had reached its largest size"
        if self.torn:
            return "a record was cut off when its process was killed"
        return "it has not ended, or its end was cut off" if self.ended is None else ""


def packet_of(records: Iterable[dict[str, Any]]) -> Packet | None:
    """The run that these records tell of; None if there is none."""
    begun: dict[str, Any] | None = None
    steps: list[Step] = []
    ended: str | None = None
    full = torn = False
    rules: dict[str, Any] = {}
    for record in records:
        kind, facts = record["kind"], record.get("facts", {})
        if kind == "begun":
            begun = facts
        elif kind == "step":
            steps.append(_step(facts))
        elif kind == "ended":
            ended = facts["error"]
        elif kind == "rules":
            rules = facts
        elif kind == TORN["kind"]:
            torn = True
        else:
            full = True
    return None if begun is None else Packet(begun, tuple(steps), ended, full, rules, torn)


def _step(facts: dict[str, Any]) -> Step:
    return Step(**facts | {"asked": tuple(facts["asked"])})


@mutable
class MemoryCapture:
    """Takes down one run in memory.

    Args:
        steps: the calls so far.
    """

    steps: list[Step] = field(default_factory=list)

    def began(self, ctx: Any, facts: dict[str, Any]) -> dict[str, Any]:
        return {}

    def refused(self, call: ToolCall, refusal: Refused) -> dict[str, Any]:
        self.steps.append(_step(refused_facts(call, refusal)))
        return {}

    def ended(self, call: ToolCall, outcome: Outcome) -> dict[str, Any]:
        self.steps.append(_step(ended_facts(call, outcome)))
        return {}

    def finished(self, ctx: Any, error: str) -> dict[str, Any]:
        return {}


def refused_facts(call: ToolCall, refusal: Refused, at: float = 0.0) -> dict[str, Any]:
    """The fields of a step, of a call that did not run."""
    facts = _facts(call, REFUSED, at)
    return facts | {"rule": refusal.rule, "code": str(refusal.code), "message": refusal.reason}


def ended_facts(call: ToolCall, outcome: Outcome, at: float = 0.0) -> dict[str, Any]:
    """The fields of a step, of a call that ran."""
    facts = _facts(call, RAN, at)
    facts["latency_ms"] = outcome.latency_ms
    if outcome.code is None:
        facts["value"] = outcome.value
    else:
        facts["code"], facts["message"] = str(outcome.code), outcome.message
    return facts


def _facts(call: ToolCall, verdict: str, at: float) -> dict[str, Any]:
    return {
        "tool_id": call.tool_id,
        "args": call.args,
        "verdict": verdict,
        "asked": [reason["rule"] for reason in call.reasons],
        "fingerprint": call.contract.get("tool_contract_fingerprint", ""),
        "host": call.performed_by,
        "step": call.step,
        "call_id": call.call_id,
        "at": at,
    }
