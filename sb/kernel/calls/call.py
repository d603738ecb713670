"""The state of one call on its way through the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from sb.base.secrets.redaction import one_line, scrub
from sb.kernel.calls.approval import STANDING, Approval
from sb.kernel.calls.intents import IntentState, Step
from sb.kernel.contracts import Assumption, ReversalSpec, ToolErrorCode, ToolSpec
from sb.kernel.policy.permissions import PolicyDecision
from sb.kernel.registry.arguments import LONGEST_LOGGED_VALUE, loggable, masked_args, presentable
from sb.kernel.registry.registry import RegisteredTool, ToolFunction
from sb.kernel.run_context import RiskDimension, RunContext
from sb.log.event import Subject
from sb.log.event_log import LogWrite

# The arguments in which tools of hosts name a file. Hosts name the same field differently, and take further ones without a word. A name too many is looked at for
# nothing; one too few leads to a file that nobody has judged.
PATH_FIELDS = ("file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path", "dirPath")

LONGEST_UNKNOWN_ID = 200  # characters
MOST_NAMES = 50


class Refused(Exception):
    """The call may not run.

    Args:
        code: what the agent is told.
        reason: one line, without argument values.
        rule: what decided it, for the log.
        data: facts for the agent, such as the reasons for which a person has to decide.
        opens: the request that goes into the queue when the refusal is recorded.
    """

    def __init__(
        self,
        code: ToolErrorCode,
        reason: str,
        rule: str,
        data: dict[str, Any] | None = None,
        opens: Approval | None = None,
    ) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.rule = rule
        self.data = data
        self.opens = opens

    def name_request(self, approval_id: str) -> None:
        """Name another request than the one it was about to open."""
        if self.opens is not None and self.data is not None and self.opens.id != approval_id:
            self.reason = self.reason.replace(self.opens.id, approval_id)
            self.data["approval_id"] = approval_id


class RecoveryCall(Protocol):
    """Recovery's additions to a call; each method is part of a transaction of the call.

    Args:
        reasons: why a person has to agree to it, as rule and reason; [] if nobody has to.
        people: how many have to. expires_at: until when they may, in microseconds since the epoch; None as for any
            other call.
        reverses: the number of the mutation that it undoes, 0 for a call that only looks.
        facts: what the log says of it beside what it says of every call.
        secrets: texts that may appear nowhere, longest first, beside those that its own contract names.
        undoable: whether it leaves an undo record itself.
    """

    facts: dict[str, Any]
    secrets: list[str]
    reasons: list[dict[str, str]]
    people: int
    expires_at: int | None
    reverses: int
    undoable: bool

    def queued(self, write: LogWrite, call: ToolCall, approval_id: str) -> None:
        """It waits for a person."""
        ...

    def claim(self, write: LogWrite, call: ToolCall) -> None:
        """It is about to run; raises Refused if it must not."""
        ...

    def settle(self, write: LogWrite, call: ToolCall, state: IntentState) -> None:
        """It has ended."""
        ...


class AnsweredBy(StrEnum):
    """Whose yes to an `Ask` counts."""

    QUEUED = "queued"  # a decision on the request alone
    BY_HOST = "by_host"  # also that of the host's person, where the gate takes that for the call
    PERMITTED = "permitted"  # also that of the host's person, whoever is enrolled


class Ask(NamedTuple):
    """Something about a call's arguments that a person has to agree to, whatever the policy says.

    Args:
        rule: its name, for the log. reason: for people.
        standing: what an approval of it holds for besides this call, so that a grant can settle it; "" for nothing.
            A permission of the host's person holds for it until the run ends.
        in_place: the reason where the host asks its own person; "" for the same one.
    """

    rule: str
    reason: str
    answer: AnsweredBy = AnsweredBy.QUEUED
    standing: str = ""
    in_place: str = ""

    def to_dict(self) -> dict[str, str]:
        """The reason as plain JSON."""
        return {
            "rule": self.rule,
            "reason": self.reason,
            **({STANDING: self.standing} if self.standing else {}),
        }

    def to_dict_in_place(self) -> dict[str, str]:
        """The reason as the host's own person is told it."""
        return self._replace(reason=self.in_place or self.reason).to_dict()


@dataclass(slots=True)
class ToolCall:
    """One call. Who makes it says what it is; admission fills in the rest, step by step.

    Args:
        step: names it within its run, so that a second try is known as one.
        override_fn: what runs instead of the tool's own function.
        approval_id: the approval to use, if it has `reasons`. assumptions: what justifies it, as its caller says.
        intent: what it is for, if not what its run is for.
        recovery: set for calls that recover from others; they have rules of their own.
        performed_by: the host that makes the call itself, or "" for one that is made here.
        nonce: names the report of a host that has no id of the call; "" for none.
        summed_up: its host reports it among others, and may do so of one that its person refused.
        asked: what about the arguments a person has to agree to, whatever the policy says.
        host_asks: the host asks its own person. Their yes is a permission, and no approval is used or made.
        host_permits: the host asks its own person where a permission is enough.
        args: the caller's arguments frozen to plain JSON, so that what was judged is what runs.
        args_size: bytes of their canonical form. args_digest: of that form.
        tool, spec: set by `attach`, once the tool is `known`; `fn` once it is located.
        has_deadline: whether timeout_ms is enforced while the tool runs, rather than judged afterwards.
        contract: the audit entries about the contract's fingerprint.
        secrets: texts that may appear nowhere, longest first.
        credentials: parameters that are filled in when the tool is called, each with the name of a credential.
        boundary: facts of its record about intent and charter.
        identity: what makes it this step and no other; only calls with side effects have one.
        way_back: how it is undone; set for calls that are `bound` to one.
        reach, debt: what is set aside of the run's blast radius and irreversibility; `reserved`: also one of its calls.
        accepts_key: whether its function takes an idempotency key.
        reasons: why a person has to decide: what is `asked`, and what policy, contract and budgets say.
        grant_id: the standing decision that lets it pass although there are `reasons`.
        unshowable: why no person can be shown all of it, so that none is asked; "" where one can.
        notes: facts for its intent, which it then has even if it only reads, and for the outcome that a host reports.
        mutation_id: names what it changed.
    """

    # What it is.
    ctx: RunContext
    tool_id: str
    call_id: str
    step: str
    override_fn: ToolFunction | None = None
    approval_id: str = ""
    assumptions: Sequence[Assumption | str] = ()
    intent: str = ""
    recovery: RecoveryCall | None = None
    # Whose it is, where a host makes it.
    performed_by: str = ""
    nonce: str = ""
    summed_up: bool = False
    asked: Sequence[Ask] = ()
    host_asks: bool = False
    host_permits: bool = False
    # What it would do.
    args: dict[str, Any] = field(default_factory=dict)
    args_size: int = 0
    args_digest: str = ""
    tool: RegisteredTool = field(init=False)
    spec: ToolSpec = field(init=False)
    fn: ToolFunction = field(init=False)
    known: bool = False
    side_effecting: bool = False
    has_deadline: bool = False
    contract: dict[str, Any] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    credentials: dict[str, str] = field(default_factory=dict)
    boundary: dict[str, Any] = field(default_factory=dict)
    identity: Step | None = None
    way_back: ReversalSpec = field(init=False)
    bound: bool = False
    reach: float | None = None
    debt: tuple[RiskDimension, float] | None = None
    reserved: bool = False
    accepts_key: bool = False
    # Whether it may.
    policy: PolicyDecision | None = None
    policy_version: str = ""
    reasons: list[dict[str, str]] = field(default_factory=list)
    grant_id: str = ""
    unshowable: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    mutation_id: str = ""
    _subject: Subject | None = None

    def attach(self, tool: RegisteredTool) -> None:
        """Take the tool that the look-up gave."""
        self.tool, self.spec, self.known = tool, tool.spec, True
        self.side_effecting = tool.spec.side_effecting or self.reverses
        self.has_deadline = self.side_effecting or "timeout_ms" in tool.spec.declared

    @property
    def reverses(self) -> bool:
        """True if it undoes another; then it changes something, whatever its contract says."""
        return self.recovery is not None and self.recovery.reverses > 0

    @property
    def fingerprint(self) -> str:
        """Of the contract as it is now."""
        return str(self.contract["tool_contract_fingerprint"])

    @property
    def announced(self) -> bool:
        """True if it is put on record before it runs: it may change something, or uses a person's decision."""
        return self.side_effecting or bool(self.reasons) or bool(self.notes)

    @property
    def can_be_in_doubt(self) -> bool:
        """True if it matters that nobody knows if it happened."""
        declared = self.spec.reversal
        harmless = declared is not None and declared.leaves_nothing and not self.reverses
        return self.side_effecting and not harmless

    @property
    def subject(self) -> Subject:
        """The subject of this call's events."""
        if self._subject is None:
            ctx, tool_id = self.ctx, self.tool_id
            if not self.known:  # whatever the model wrote
                tool_id = one_line(tool_id, LONGEST_UNKNOWN_ID)
                return Subject(ctx.run_id, ctx.trace_id, ctx.agent_name, tool_id, self.call_id)
            self._subject = Subject(ctx.run_id, ctx.trace_id, ctx.agent_name, tool_id, self.call_id)
        return self._subject

    def shown_args(self, *, to_judge: bool = False) -> Any:
        """The arguments as they may be written down; only their names while the schema is unknown.

        Args:
            to_judge: whole, as far as a row of the log goes: nobody can agree to what was cut off.
        """
        if not self.known:
            return sorted(map(presentable, self.args))[:MOST_NAMES]
        args = masked_args(self.spec, self.args)
        args = scrub(args, self.secrets) if self.secrets else args
        return args if to_judge and self.args_size <= LONGEST_LOGGED_VALUE else loggable(args, self.args_size)
