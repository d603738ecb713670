"""Undo: a tool's declaration, the record that each call leaves, and limits of lasting effects in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.errors import ContractError, NotFoundError, StoreCorrupt
from sb.kernel import RunContext, SafetyClass, ToolErrorCode, ToolExecutor, ToolRegistry, ToolSpec
from sb.kernel.authority.signing import Label
from sb.kernel.contracts import (
    Assumption,
    BlastRadius,
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
)
from sb.kernel.reversibility.contracts import Unresolved, filled_in, resolved
from sb.kernel.review.log_pruning import prune
from sb.kernel.review.log_verification import verify
from sb.kernel.run_context import DEBT_SHARE, IrreversibilityBudget, RiskDimension
from sb.log.event_log import EventLog
from sb.store.database import open_database
from tests.rows import rows

PAY = ReversalSpec(
    ReversalClass.COMPENSABLE,
    "bank.return",
    reversal_window_ms=60_000,
    reversal_args={"payment": "result.id", "why": "=returned", "note": "args.note?", "whole": True},
    external_handle="result.id",
)


class Bank:
    """An executor over a real file with one tool, `bank.pay`."""

    def __init__(
        self, path: Path, clock: SteeredClock, spec: ReversalSpec | None = PAY, **settings: Any
    ) -> None:
        self.clock, self.ran = clock, 0
        self.registry = ToolRegistry()
        metadata = settings.pop("metadata", {"risk_dimension": "money", "value_arg": "amount"})
        safety_class = settings.pop("safety_class", SafetyClass.NETWORK)
        self.spec = self.registry.register_fn(
            "bank.pay", "Pay", self.pay, safety_class, reversal=spec, metadata=metadata
        )
        self.log = EventLog(open_database(path, clock=clock), clock=clock)
        settings.setdefault("reversibility", "enforce")
        self.executor = ToolExecutor(self.registry, event_log=self.log, clock=clock, **settings)
        self.mutations = self.executor.mutations

    def pay(
        self, amount: Any, note: str = "", fail: bool = False, idempotency_key: str = ""
    ) -> dict[str, Any]:
        self.ran += 1
        if fail:
            raise ValueError("the bank said no")
        return {"id": f"p{self.ran}"}

    def call(self, ctx: RunContext | None = None, assumptions: Any = (), **args: Any) -> Any:
        ctx = ctx or RunContext.create("agent", clock=self.clock)
        return self.executor.execute(ctx, "bank.pay", args, assumptions=assumptions)


@pytest.fixture
def bank(tmp_path: Path, clock: SteeredClock) -> Bank:
    return Bank(tmp_path / "brain.db", clock)


def test_a_tool_that_declares_nothing_is_taken_for_what_its_class_says() -> None:
    derived = {
        safety_class: ToolSpec("a.b", "A", safety_class=safety_class).resolved_reversal().reversal_class
        for safety_class in SafetyClass
    }
    assert derived == {
        SafetyClass.READ_ONLY: ReversalClass.REVERSIBLE,
        SafetyClass.LOCAL_WRITE: ReversalClass.REVERSIBLE,
        SafetyClass.NETWORK: ReversalClass.COMPENSABLE,
        SafetyClass.DESTRUCTIVE: ReversalClass.IRREVERSIBLE,
    }
    sneaky = ToolSpec("a.b", "A", metadata={"side_effect_level": "external_write"})
    assert sneaky.resolved_reversal().reversal_class is ReversalClass.COMPENSABLE
    assert ToolSpec("a.b", "A", reversal=PAY).resolved_reversal() is PAY


def test_a_reversal_has_a_fingerprint_of_its_own_and_is_no_part_of_the_contract() -> None:
    plain = ToolSpec("a.b", "A", safety_class=SafetyClass.NETWORK)
    declared = ToolSpec("a.b", "A", safety_class=SafetyClass.NETWORK, reversal=PAY)
    assert plain.contract_fingerprint() == declared.contract_fingerprint()
    assert plain.reversal_fingerprint() != declared.reversal_fingerprint()
    declared.metadata = {"value_arg": "other"}
    assert declared.reversal_fingerprint() != ToolSpec("a.b", "A", reversal=PAY).reversal_fingerprint()


@rows(
    "wrong",
    [
        {"reversal_class": "magical"},
        {"recovery_approval_mode": "nobody"},
        {"reversal_window_ms": 0},
        {"reversal_window_ms": True},
        {"reversal_window_ms": 10**15},
        {"reversal_class": "irreversible", "compensation_capability": "a.c"},
        {"reversal_args": {"id": "nowhere.id"}},
        {"reversal_args": {"id": ["result.id"]}},
        {"external_handle": "id"},
        {"assumptions_from": "x"},
        {"blast_radius": 3},
    ],
)
def test_a_wrong_declaration_is_refused_when_it_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ContractError):
        ReversalSpec(**{"reversal_class": "compensable", **wrong})


def test_wrong_parts_of_a_declaration_are_refused_too() -> None:
    for make in (
        lambda: BlastRadius(max_calls_per_run=-1),
        lambda: BlastRadius(max_value_per_run=float("nan")),
        lambda: Assumption(""),
        lambda: Assumption("a:{b}"),
        lambda: Assumption("a", args={"x": "y"}),
        lambda: ToolSpec("a.b", "A", reversal="undo it"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ContractError):
            make()
    registry = ToolRegistry()
    with pytest.raises(ContractError, match="risk_dimension"):
        registry.register_fn("a.b", "A", lambda: 1, metadata={"risk_dimension": "fame"})


def test_a_mapping_takes_values_from_arguments_result_and_call() -> None:
    sources = {"args": {"a": {"b": [1, 2]}}, "result": "text", "call": {"call_id": "c"}}
    assert resolved({"x": "args.a.b.1", "y": "=z", "n": None, "o": "args.none?"}, sources) == {
        "x": 2,
        "y": "z",
        "n": None,
    }
    assert filled_in("a:{args.a.b.0}/{call.call_id}", sources) == "a:1/c"
    with pytest.raises(Unresolved, match=r"result\.id"):
        resolved({"x": "result.id"}, sources)


def test_a_call_that_changed_something_leaves_its_way_back(bank: Bank, clock: SteeredClock) -> None:
    result = bank.call(amount=5, note="n")
    ref = bank.mutations.get(result.mutation_id)
    assert (ref.call_id, ref.agent, ref.tool_id) == (result.call_id, "agent", "bank.pay")
    assert ref.reversal_tool == "bank.return"
    assert ref.reversal_args == {"payment": "p1", "why": "returned", "note": "n", "whole": True}
    assert (ref.external_handle, ref.recovery_approval_mode) == ("p1", RecoveryApprovalMode.HUMAN)
    assert ref.idempotency_key.startswith("idem_")
    assert (ref.window_ends_at or 0) - ref.bound_at == 60_000_000
    assert bank.mutations.for_call(result.call_id) == ref
    assert bank.mutations.last() == ref
    outcome = list(bank.log.events(call_id=result.call_id))[-1]
    assert (outcome.payload or {})["mutation"] == ref.mutation_id
    assert ref.in_window(bank.mutations.now())
    clock.time += 60
    assert not ref.in_window(bank.mutations.now())


def test_a_failed_call_and_one_that_only_reads_leave_nothing(bank: Bank) -> None:
    bank.registry.register_fn("bank.look", "Look", lambda: 1)
    assert bank.call(amount=1, fail=True).mutation_id == ""
    assert bank.executor.execute(RunContext.create("agent"), "bank.look").mutation_id == ""
    assert bank.mutations.newest() == []
    with pytest.raises(NotFoundError):
        bank.mutations.last()


def test_without_reversibility_nothing_is_bound_and_nothing_is_counted(
    tmp_path: Path, clock: SteeredClock
) -> None:
    bank = Bank(tmp_path / "brain.db", clock, reversibility="off")
    ctx = RunContext.create("agent")
    assert bank.call(ctx, amount=10**6).mutation_id == ""
    assert ctx.irreversibility.to_dict() == {"ceilings": {}, "debt": {}}


def test_a_way_back_that_cannot_be_made_is_said_to_be_none(tmp_path: Path, clock: SteeredClock) -> None:
    broken = ReversalSpec(ReversalClass.COMPENSABLE, "bank.return", reversal_args={"x": "result.nothing"})
    bank = Bank(tmp_path / "brain.db", clock, broken)
    ref = bank.mutations.get(bank.call(amount=1).mutation_id)
    assert (ref.reversal_tool, ref.no_way_back) == (
        "",
        "the arguments of its reversal could not be made: there is no result.nothing",
    )


def test_an_assumption_that_cannot_be_filled_in_does_not_cost_the_way_back(bank: Bank) -> None:
    bank.registry.register_fn("bank.look", "Look", lambda id: {"ok": True})
    odd = Assumption("seen:{args.nothing}", "bank.look", {"id": "args.nothing"}, "ok", True)
    ref = bank.mutations.get(bank.call(amount=1, assumptions=[odd]).mutation_id)
    assert (ref.reversal_tool, ref.assumption_refs) == ("bank.return", ("seen:{args.nothing}",))


@pytest.mark.parametrize("assumptions", ["prices", Assumption("prices"), [1], [""], [None]])
def test_what_is_no_list_of_assumptions_is_refused_before_the_call(bank: Bank, assumptions: Any) -> None:
    refused = bank.call(amount=1, assumptions=assumptions)
    assert (refused.error_code, bank.ran) == (ToolErrorCode.VALIDATION_ERROR, 0)
    with pytest.raises(ContractError):
        ReversalSpec(ReversalClass.COMPENSABLE, assumptions=assumptions)


@rows(
    "fields",
    [
        {"holds_for_ms": 0},
        {"holds_for_ms": -5},
        {"holds_for_ms": "1h"},
        {"holds_for_ms": True},
        {"tool_id": "a.b"},
    ],
)
def test_an_assumption_that_could_never_hold_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ContractError):
        Assumption("prices", **fields)


def test_a_bare_name_may_justify_every_call_of_a_tool() -> None:
    spec = ReversalSpec(ReversalClass.COMPENSABLE, assumptions=["prices"])  # type: ignore[arg-type]
    assert spec.assumptions == (Assumption("prices"),)


def test_an_unknown_mutation_is_named(bank: Bank) -> None:
    real = bank.call(amount=1).mutation_id
    wrong = real[:-1] + ("0" if real[-1] != "0" else "1")
    for name in ("", "mut_1_ab", wrong, "mut_99_abcd", "\x1b[31m"):
        with pytest.raises(NotFoundError):
            bank.mutations.get(name)


def test_a_way_back_that_was_changed_in_the_database_is_found_out(bank: Bank) -> None:
    ref = bank.mutations.get(bank.call(amount=1).mutation_id)
    with bank.log.write() as write:
        bank.mutations.unaltered(write.execute, ref)
        write.execute("UPDATE mutations SET ref = replace(ref, 'p1', 'p9')")
        with pytest.raises(StoreCorrupt, match="changed in the database"):
            bank.mutations.unaltered(write.execute, ref)
    assert verify(bank.log).ok  # the log itself is whole
    with bank.log.database.write() as execute:
        execute("DELETE FROM mutations")
    assert "the undo record that row" in verify(bank.log).problems[0]


def test_pruning_takes_the_reversals_arguments_too(bank: Bank, clock: SteeredClock) -> None:
    ref = bank.mutations.get(bank.call(amount=1, note="very private").mutation_id)
    clock.time += 1
    prune(bank.log, before=clock.time, reason="old")
    assert "removed" in bank.mutations.get(ref.mutation_id).no_way_back
    assert bank.log.database.query("SELECT count(*) FROM mutations WHERE ref IS NOT NULL") == [(0,)]
    assert verify(bank.log).ok


def test_the_blast_radius_of_a_run_is_hard(tmp_path: Path, clock: SteeredClock) -> None:
    limit = BlastRadius(max_calls_per_run=3, max_value_per_run=100)
    bank = Bank(tmp_path / "brain.db", clock, ReversalSpec(ReversalClass.REVERSIBLE, "x", blast_radius=limit))
    ctx = RunContext.create("agent")
    assert bank.call(ctx, amount=60).success
    refused = bank.call(ctx, amount=60)
    assert (refused.error_code, bank.ran) == (ToolErrorCode.BUDGET_EXCEEDED, 1)
    assert "max_value_per_run = 100" in refused.error_message
    assert not bank.call(ctx, amount=1, fail=True).success  # what failed does not count
    assert bank.call(ctx, amount=20).success
    assert bank.call(ctx, amount=20).success
    assert "max_calls_per_run = 3" in bank.call(ctx, amount=0).error_message
    assert bank.call(amount=60).success  # another run


@pytest.mark.parametrize("amount", ["5", None, True, -1])
def test_a_call_is_refused_whose_size_cannot_be_told(bank: Bank, amount: Any) -> None:
    refused = bank.call(amount=amount)
    assert (refused.error_code, bank.ran) == (ToolErrorCode.VALIDATION_ERROR, 0)


def test_debt_is_counted_by_class_and_crossing_a_ceiling_asks_a_person(
    tmp_path: Path, clock: SteeredClock
) -> None:
    bank = Bank(tmp_path / "brain.db", clock, irreversibility_ceilings={"money": 50})
    ctx = RunContext.create("agent", irreversibility=IrreversibilityBudget({RiskDimension.MONEY: 10}))
    assert bank.call(ctx, amount=100).success
    assert ctx.irreversibility.debt[RiskDimension.MONEY] == pytest.approx(10)
    asked = bank.call(ctx, amount=1)
    assert [reason["rule"] for reason in asked.data["reasons"]] == ["irreversibility_ceiling"]
    assert ctx.irreversibility.debt[RiskDimension.MONEY] == pytest.approx(10)  # it did not run
    bank.executor.approvals.approve(asked.data["approval_id"], Label("ada"), "it is right")
    assert bank.call(ctx, amount=1).success
    assert ctx.irreversibility.debt[RiskDimension.MONEY] == pytest.approx(10.1)
    assert bank.call(RunContext.create("agent"), amount=500).success  # 50 of the executor's 50
    assert not bank.call(RunContext.create("agent"), amount=501).success


def test_what_cannot_be_undone_asks_unless_a_ceiling_says_how_much_is_fine(
    tmp_path: Path, clock: SteeredClock
) -> None:
    final = ReversalSpec(ReversalClass.IRREVERSIBLE)
    bank = Bank(tmp_path / "a.db", clock, final)
    assert [reason["rule"] for reason in bank.call(amount=1).data["reasons"]] == ["irreversible"]
    free = Bank(tmp_path / "b.db", clock, final, irreversibility_ceilings={"money": 5})
    ctx = RunContext.create("agent")
    assert free.call(ctx, amount=5).success
    assert not free.call(ctx, amount=1).success
    watched = Bank(
        tmp_path / "c.db", clock, final, reversibility="observe", irreversibility_ceilings={"money": 5}
    )
    assert watched.call(ctx := RunContext.create("agent"), amount=50).success
    assert ctx.irreversibility.debt[RiskDimension.MONEY] == 50
    ref = watched.mutations.newest()[0]
    assert (ref.reversal_class, ref.no_way_back) == (
        ReversalClass.IRREVERSIBLE,
        "bank.pay cannot be undone",
    )


def test_a_destructive_call_is_asked_for_once(tmp_path: Path, clock: SteeredClock) -> None:
    bank = Bank(tmp_path / "brain.db", clock, None, safety_class=SafetyClass.DESTRUCTIVE, metadata={})
    assert [reason["rule"] for reason in bank.call(amount=1).data["reasons"]] == ["destructive"]


def test_arguments_can_make_a_call_irreversible(tmp_path: Path, clock: SteeredClock) -> None:
    spec = ReversalSpec(ReversalClass.REVERSIBLE, "x", irreversible_when={"note": "for good"})
    bank = Bank(tmp_path / "brain.db", clock, spec, metadata={})
    assert bank.call(amount=1).success
    asked = bank.call(amount=1, note="for good")
    assert asked.data["reasons"][0]["rule"] == "irreversible"
    bank.executor.approvals.approve(asked.data["approval_id"], Label("ada"), "yes")
    ref = bank.mutations.get(bank.call(amount=1, note="for good").mutation_id)
    assert ref.no_way_back == "bank.pay cannot be undone with these arguments"


@given(
    st.lists(st.tuples(st.sampled_from(list(ReversalClass)), st.floats(0, 1e6), st.booleans()), max_size=30),
    st.floats(0, 1e6),
)
def test_the_debt_is_the_sum_of_what_happened(
    charges: list[tuple[ReversalClass, float, bool]], ceiling: float
) -> None:
    budget = IrreversibilityBudget({RiskDimension.COMMS: ceiling})
    expected = 0.0
    for reversal_class, value, happens in charges:
        share, crossed = budget.charge(RiskDimension.COMMS, value, reversal_class, None)
        assert share == value * DEBT_SHARE[reversal_class]
        assert crossed == (share > 0 and budget.debt[RiskDimension.COMMS] > ceiling)
        if happens:
            expected += share
        else:
            budget.give_back(RiskDimension.COMMS, share)
        assert budget.debt[RiskDimension.COMMS] == pytest.approx(expected, abs=1e-3)


def test_a_budget_of_consequence_knows_its_dimensions() -> None:
    for wrong in ({"fame": 1.0}, {"money": -1.0}, {"money": float("nan")}):
        with pytest.raises(ValueError, match=r"fame|amount"):
            IrreversibilityBudget(wrong)  # type: ignore[arg-type]


def test_nobody_else_can_have_recoverys_name(bank: Bank) -> None:
    refused = bank.call(RunContext.create("recovery"), amount=1)
    assert (refused.error_code, bank.ran) == (ToolErrorCode.PERMISSION_DENIED, 0)
