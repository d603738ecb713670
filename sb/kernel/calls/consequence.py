"""Reserve and settle a call's irreversible consequence within the run's limits.

Source: the survival layer, section 1: blast radius is hard, a ceiling of irreversibility asks a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from sb.kernel.calls.approval import IRREVERSIBLE, MONEY, OVER_CEILING, STANDING
from sb.kernel.calls.call import Refused, ToolCall
from sb.kernel.contracts import ToolErrorCode
from sb.kernel.registry.arguments import masked_args
from sb.kernel.reversibility.contracts import ReversalClass
from sb.kernel.reversibility.mutations import Reversibility
from sb.kernel.run_context import RiskDimension

Ceilings = Mapping[RiskDimension, float]

_LONGEST_CURRENCY = 8


class Consequences(NamedTuple):
    """The limits of consequence that one executor holds calls to.

    Args:
        mode: in "observe" debt is only counted.
        ceilings: of every run, beside its own.
        undeclared: under "enforce" a governed function without undo asks a person, as what is irreversible does.
    """

    mode: Reversibility
    ceilings: Ceilings
    undeclared: bool = False

    def reserve(self, call: ToolCall) -> None:
        """Set aside what the call may do, and note why a person has to agree to it.

        Raises:
            Refused: BUDGET_EXCEEDED for the blast radius, VALIDATION_ERROR for an amount that is no number.
        """
        if self.mode is Reversibility.OFF or not call.can_be_in_doubt:
            return
        if call.recovery is not None:
            if call.recovery.undoable:
                self.bind(call)
            return
        self.bind(call)
        enforced = self.mode is Reversibility.ENFORCE
        value = _value(call, strict=enforced)
        limit = call.way_back.blast_radius
        if enforced and (limit.max_calls_per_run is not None or limit.max_value_per_run is not None):
            exceeded = call.ctx.extend_reach(call.tool_id, value, limit)
            if exceeded:
                reason = f"the blast radius of {call.tool_id} is used up: {exceeded} = {getattr(limit, exceeded):g}"
                raise Refused(ToolErrorCode.BUDGET_EXCEEDED, reason, "blast_radius")
            call.reach = value
        self._charge(call, value, asks=enforced)

    def bind(self, call: ToolCall) -> None:
        """Let the outcome of the call keep its way back."""
        if self.mode is not Reversibility.OFF and call.can_be_in_doubt:
            call.way_back = call.tool.reversal
            call.bound = True

    def _charge(self, call: ToolCall, value: float, *, asks: bool) -> None:
        reversal_class = call.way_back.class_of(call.args)
        dimension = call.tool.risk_dimension
        stays = reversal_class is ReversalClass.IRREVERSIBLE or (self.undeclared and _declares_no_undo(call))
        if dimension is None:
            if asks and stays:
                _add_reason(call, IRREVERSIBLE, _stays(call))
            return
        budget = call.ctx.irreversibility
        ceiling = self.ceilings.get(dimension)
        share, crossed = budget.charge(dimension, value, reversal_class, ceiling)
        call.debt = (dimension, share)
        if not asks:
            return
        if crossed:
            limit = min(item for item in (ceiling, budget.ceilings.get(dimension)) if item is not None)
            debt = budget.debt[dimension]
            reason = f"the run would have done {debt:g} of {dimension} that stays, more than {limit:g}"
            _add_reason(call, OVER_CEILING, reason)
        elif stays and ceiling is None and dimension not in budget.ceilings:
            _add_reason(
                call,
                IRREVERSIBLE,
                f"{_stays(call)}, and {dimension} has no ceiling",
            )


def give_back(call: ToolCall) -> None:
    """Return a reservation: its call did not happen."""
    if call.reach is not None:
        call.ctx.withdraw_reach(call.tool_id, call.reach)
        call.reach = None
    if call.debt is not None:
        call.ctx.irreversibility.give_back(*call.debt)
        call.debt = None


def _declares_no_undo(call: ToolCall) -> bool:
    """True for a governed function that names no tool which undoes it."""
    return not call.way_back.compensation_capability and hasattr(call.tool.fn, "governed")


def _stays(call: ToolCall) -> str:
    if call.way_back.class_of(call.args) is not ReversalClass.IRREVERSIBLE:
        return f"{no_undo(call.tool_id)}: it declares no reversal"
    always = call.way_back.reversal_class is ReversalClass.IRREVERSIBLE
    return f"{call.tool_id} cannot be undone" + ("" if always else " with these arguments")


def no_undo(tool_id: str) -> str:
    """The question where a tool declares no undo, asked once for each agent and contract."""
    return f"{tool_id} cannot be undone"


def _add_reason(call: ToolCall, rule: str, reason: str) -> None:
    declared = rule != IRREVERSIBLE or call.way_back.class_of(call.args) is ReversalClass.IRREVERSIBLE
    once = {} if declared else {STANDING: no_undo(call.tool_id)}
    call.reasons.append({"rule": rule, "reason": reason, **once})


def _value(call: ToolCall, *, strict: bool) -> float:
    """The size of the consequence; 1 for a tool that does not say which argument tells."""
    name = call.spec.metadata.get("value_arg")
    if not name:
        return 1.0
    value = call.args.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    if strict:
        reason = (
            f"{call.tool_id}: argument {name!r} has to be a number from 0: it is what the call is limited by"
        )
        raise Refused(ToolErrorCode.VALIDATION_ERROR, reason, "value_arg")
    return 0.0


def money(call: ToolCall) -> dict[str, Any]:
    """The amount that a call moves, as its events record it, where its contract declares one; else {}."""
    if call.tool.risk_dimension is not RiskDimension.MONEY:
        return {}
    declared, args = call.spec.metadata, masked_args(call.spec, call.args)
    amount = args.get(str(declared.get("value_arg")))
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not isfinite(amount):
        return {}
    currency = args.get(str(declared.get("currency_arg"))) or declared.get("currency")
    if not isinstance(currency, str) or len(currency) > _LONGEST_CURRENCY:
        currency = ""
    return {MONEY: {"amount": amount, "currency": currency.upper()}}
