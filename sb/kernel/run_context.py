"""The context of one run: ids, locale, safety mode, and budgets of effort and consequence.

Source: the kernel reference, "RunContext", "SafetyMode values" and "RunBudget"; the survival layer, section 1.
"""

from __future__ import annotations

import math
import threading
from dataclasses import asdict, field
from enum import StrEnum
from typing import Any

from sb.base.secrets.redaction import CARD, Masking
from sb.base.secrets.shapes import may_hold_secret
from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.base.values.frozen import mutable
from sb.kernel.reversibility.contracts import BlastRadius, ReversalClass


class SafetyMode(StrEnum):
    """Safety mode of a run: NORMAL all classes, SAFE read-only without network, STRICT also redacts results."""

    NORMAL = "normal"
    SAFE = "safe"
    STRICT = "strict"


class LocaleCode(StrEnum):
    EN_US = "en-US"
    EN_IN = "en-IN"
    HI_IN = "hi-IN"


_BUDGETS = threading.Lock()  # one for all, so that a budget stays a plain value that can be copied

_UNLIMITED = ("output_tokens_used", "cached_tokens_used", "eval_tokens_used", "retry_tokens_used")
MOST_SPENT = 1e15  # of tokens or cents at once


@mutable
class RunBudget:
    """Limits of one run and what it has used of them.

    Args:
        max_tool_calls: tool calls that may run.
        max_retries_per_tool: retries of one call, whatever its contract allows.
        max_prompt_tokens: tokens, as far as callers report them with `spend`.
        max_latency_ms: milliseconds spent inside tools (waiting for a person does not count).
        max_cost_usd_cents: US cents, as far as callers report them with `spend`.
        output_tokens_used, cached_tokens_used, eval_tokens_used, retry_tokens_used: as `spend` takes them; no limit.
    """

    max_tool_calls: int = 20
    max_retries_per_tool: int = 3
    max_prompt_tokens: int = 4000
    max_latency_ms: int = 30_000
    max_cost_usd_cents: float = 10.0
    tool_calls_used: int = 0
    prompt_tokens_used: int = 0
    latency_ms_used: float = 0.0
    cost_usd_cents_used: float = 0.0
    output_tokens_used: int = 0
    cached_tokens_used: int = 0
    eval_tokens_used: int = 0
    retry_tokens_used: int = 0

    def __post_init__(self) -> None:
        self._reserved = 0

    def remaining_tool_calls(self) -> int:
        return self.max_tool_calls - self.tool_calls_used

    def exceeded_cap(self) -> str:
        """The name of the first cap that is hit, or ""."""
        if self.tool_calls_used >= self.max_tool_calls:
            return "max_tool_calls"
        if self.latency_ms_used >= self.max_latency_ms:
            return "max_latency_ms"
        if self.prompt_tokens_used >= self.max_prompt_tokens:
            return "max_prompt_tokens"
        if self.cost_usd_cents_used >= self.max_cost_usd_cents:
            return "max_cost_usd_cents"
        return ""

    def budget_exceeded(self) -> bool:
        """True if any cap is hit."""
        return self.exceeded_cap() != ""

    def spend(
        self,
        *,
        prompt_tokens: int = 0,
        cost_usd_cents: float = 0.0,
        output_tokens: int = 0,
        cached_tokens: int = 0,
        eval_tokens: int = 0,
        retry_tokens: int = 0,
    ) -> None:
        """Add what a caller knows and the kernel cannot see.

        Args:
            cached_tokens: of the prompt's, those that a cache served.
            eval_tokens, retry_tokens: of evaluating the work, and of attempts that failed; beside the others.

        Raises:
            ValueError: an amount is negative, no number, or nonsensically large.
        """
        amounts = (prompt_tokens, cost_usd_cents, output_tokens, cached_tokens, eval_tokens, retry_tokens)
        if not all(0 <= amount <= MOST_SPENT for amount in amounts):
            raise ValueError(
                f"a budget cannot be given back: amounts must not be negative, nor above {MOST_SPENT:g}"
            )
        with _BUDGETS:
            self.prompt_tokens_used += prompt_tokens
            self.cost_usd_cents_used += cost_usd_cents
            self.output_tokens_used += output_tokens
            self.cached_tokens_used += cached_tokens
            self.eval_tokens_used += eval_tokens
            self.retry_tokens_used += retry_tokens

    def reserve_call(self) -> str:
        """Set one tool call aside, so that parallel calls cannot overshoot; the cap that forbids it, or ""."""
        with _BUDGETS:
            cap = self.exceeded_cap()
            if not cap and self.tool_calls_used + self._reserved >= self.max_tool_calls:
                cap = "max_tool_calls"
            if not cap:
                self._reserved += 1
            return cap

    def release_call(self) -> None:
        """Give a reserved call back: it did not run."""
        with _BUDGETS:
            self._reserved -= 1

    def settle_call(self, latency_ms: float) -> None:
        """Turn a reserved call into a used one."""
        with _BUDGETS:
            self._reserved -= 1
            self.tool_calls_used += 1
            self.latency_ms_used += latency_ms

    def to_dict(self) -> dict[str, Any]:
        """All of it; of the tokens that have no limit, those that were reported."""
        return {name: value for name, value in asdict(self).items() if value or name not in _UNLIMITED}


class RiskDimension(StrEnum):
    """In which way a consequence that stays can hurt (survival layer, section 1)."""

    MONEY = "money"
    COMMS = "comms"
    COMMITMENTS = "commitments"
    EXPOSURE = "exposure"
    REGULATORY = "regulatory"


# How much of a consequence counts as debt (survival layer, section 1).
DEBT_SHARE = {
    ReversalClass.REVERSIBLE: 0.0,
    ReversalClass.COMPENSABLE: 0.1,
    ReversalClass.IRREVERSIBLE: 1.0,
}


RECOVERY_AGENT = "recovery"  # whose calls undo those of other agents; no agent may have the name
OWN_PROGRAM = "python"  # the host of a run whose program opens the runtime itself
INTENT_UNSTATED = "intent_unstated"  # of a run's metadata: its host made its intent up, nobody named one
CONTINUES = "continues"  # of a run's metadata: how it goes on with a session whose calls another run has
SUBAGENT = "subagent"  # of a run's metadata: who of the host's agents makes the call
_MILLION = 1_000_000
MOST_CONSEQUENCE = 1e15  # what is larger counts as this
_NOISE = 1e-6  # what multiplying may add, in millionths


@mutable
class IrreversibilityBudget:
    """Consequence of one run that cannot be undone, by dimension. Crossing a ceiling asks a person, it never denies.

    Args:
        ceilings: dimension to the most debt without a person's agreement, in the unit of the tools' `value_arg`.
        debt: what the run has run up, calls that are running included.

    Raises:
        ValueError: a dimension is unknown, or an amount is negative.
    """

    ceilings: dict[RiskDimension, float] = field(default_factory=dict)
    debt: dict[RiskDimension, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ceilings = {RiskDimension(name): _amount(value) for name, value in self.ceilings.items()}
        given = {RiskDimension(name): _amount(value) for name, value in self.debt.items()}
        self.debt = {name: given.get(name, 0.0) for name in RiskDimension}
        # Whole numbers, since in floats a huge amount that is given back would take smaller ones with it.
        self._millionths = {name: _millionths(value) for name, value in self.debt.items()}

    def charge(
        self, dimension: RiskDimension, value: float, reversal_class: ReversalClass, ceiling: float | None
    ) -> tuple[float, bool]:
        """Add a consequence; returns what to give back if it does not happen, and whether a ceiling is crossed.

        Args:
            value: its size. ceiling: another one beside this budget's own; the lower counts.
        """
        share = value * DEBT_SHARE[reversal_class]
        own = self.ceilings.get(dimension)
        with _BUDGETS:
            debt = self._add(dimension, _millionths(share))
        crossed = (own is not None and debt > own) or (ceiling is not None and debt > ceiling)
        return share, crossed and share > 0

    def give_back(self, dimension: RiskDimension, share: float) -> None:
        """Take back what `charge` added: it did not happen."""
        with _BUDGETS:
            self._add(dimension, -_millionths(share))

    def _add(self, dimension: RiskDimension, millionths: int) -> float:
        total = self._millionths[dimension] = self._millionths[dimension] + millionths
        debt = self.debt[dimension] = total / _MILLION
        return debt

    def to_dict(self) -> dict[str, Any]:
        return {
            "ceilings": {str(name): value for name, value in self.ceilings.items()},
            "debt": {str(name): value for name, value in self.debt.items() if value},
        }


def _millionths(value: float) -> int:
    return math.ceil(min(value, MOST_CONSEQUENCE) * _MILLION - _NOISE)  # up: many small ones are not nothing


def _amount(value: float) -> float:
    if isinstance(value, bool) or not value >= 0:
        raise ValueError(f"an amount of consequence is {value!r}, must be a number from 0")
    return float(value)


_NAMES = ("run_id", "trace_id", "session_id", "user_sid", "agent_name")


@mutable
class RunContext:
    """The envelope of one run; make it with `RunContext.create`."""

    run_id: str
    trace_id: str
    session_id: str = ""
    user_sid: str = ""
    agent_name: str = "default"
    intent: str = ""
    locale: LocaleCode = LocaleCode.EN_US
    safety_mode: SafetyMode = SafetyMode.NORMAL
    budget: RunBudget = field(default_factory=RunBudget)
    metadata: dict[str, Any] = field(default_factory=dict)
    irreversibility: IrreversibilityBudget = field(default_factory=IrreversibilityBudget)

    def __post_init__(self) -> None:
        if not self.agent_name:
            raise ValueError("agent_name must not be empty: every call is somebody's")
        for name in (*_NAMES, "intent"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise TypeError(f"{name} must be a string, not {type(value).__name__}")
            value.encode()  # an unpaired surrogate has no place in a record: UnicodeEncodeError is a ValueError
        if may_hold_secret(" ".join(getattr(self, name) for name in _NAMES)):
            self._refuse_secrets()
        self._clock: Clock = SYSTEM_CLOCK
        self._started = SYSTEM_CLOCK.monotonic()
        self._reach: dict[str, tuple[int, float]] = {}

    def _refuse_secrets(self) -> None:
        """Names stand in every row as they are, and two that were masked would be one."""
        for name in _NAMES:
            masking = Masking(personal=False)
            masking.text(getattr(self, name))
            if masking.found.keys() - {CARD}:
                raise ValueError(f"{name} holds a secret ({', '.join(masking.found)}): use another name")

    @classmethod
    def create(
        cls,
        agent_name: str = "default",
        intent: str = "",
        session_id: str = "",
        user_sid: str = "",
        locale: LocaleCode = LocaleCode.EN_US,
        safety_mode: SafetyMode = SafetyMode.NORMAL,
        budget: RunBudget | None = None,
        metadata: dict[str, Any] | None = None,
        *,
        irreversibility: IrreversibilityBudget | None = None,
        trace_id: str = "",
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> RunContext:
        """A new run with ids of its own.

        Args:
            trace_id: 32 hex characters of a trace this run belongs to; a new one by default.

        Raises:
            ValueError: agent_name is empty, a name holds a secret, or locale or safety_mode is not one of the known values.
        """
        ctx = cls(
            run_id=f"run_{ids.token(8)}",
            trace_id=trace_id or ids.token(16),
            session_id=session_id,
            user_sid=user_sid,
            agent_name=agent_name,
            intent=intent,
            locale=LocaleCode(locale),
            safety_mode=SafetyMode(safety_mode),
            budget=budget if budget is not None else RunBudget(),
            metadata=dict(metadata or {}),
            irreversibility=irreversibility if irreversibility is not None else IrreversibilityBudget(),
        )
        ctx._clock = clock
        ctx._started = clock.monotonic()
        return ctx

    def extend_reach(self, tool_id: str, value: float, limit: BlastRadius) -> str:
        """Set one call of a tool aside within its blast radius; the limit that forbids it, or ""."""
        with _BUDGETS:
            calls, total = self._reach.get(tool_id, (0, 0.0))
            if limit.max_calls_per_run is not None and calls >= limit.max_calls_per_run:
                return "max_calls_per_run"
            if limit.max_value_per_run is not None and total + value > limit.max_value_per_run:
                return "max_value_per_run"
            self._reach[tool_id] = (calls + 1, total + value)
            return ""

    def withdraw_reach(self, tool_id: str, value: float) -> None:
        """Give back what `extend_reach` set aside: it did not happen."""
        with _BUDGETS:
            calls, total = self._reach[tool_id]
            self._reach[tool_id] = (calls - 1, total - value)

    def is_safe_mode(self) -> bool:
        """True for SAFE and STRICT."""
        return self.safety_mode is not SafetyMode.NORMAL

    def elapsed_ms(self) -> float:
        """Milliseconds of wall-clock time since the run was created."""
        return (self._clock.monotonic() - self._started) * 1000.0
