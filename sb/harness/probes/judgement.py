"""Probes of earned autonomy, of trusted outcomes and of what they cost, and of what agents are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from sb.errors import DeniedError, NotFoundError
from sb.harness.harness import Harness
from sb.kernel.agent_charter.charter import UNSTATED
from sb.kernel.authority.signing import Label
from sb.kernel.autonomy.scoring import (
    AutonomyCaps,
    AutonomyDecision,
    AutonomyMode,
    AutonomySignals,
    compute_autonomy,
    degrade,
    reversibility_score,
)
from sb.kernel.autonomy.state import AutonomyState
from sb.kernel.business_metrics import BusinessMetrics, BusinessOutcome, BusinessReport
from sb.kernel.harness_audit import Check
from sb.kernel.outcomes import Judgements, Outcomes, record_grounded, report_outcomes
from sb.kernel.outcomes.reporting import Grouping
from sb.kernel.reversibility.contracts import ReversalClass
from sb.kernel.tokenomics.ledger import TokenomicsLedger
from sb.kernel.tokenomics.outcomes import CostBreakdown, OutcomeRecord
from sb.kernel.tokenomics.report import TokenomicsReport
from sb.runtime.parts import open_authority

_SEVEN = ("evidence_confidence", "policy_confidence", "eval_score", "tool_reliability", "reversibility")
_SPENT = ("task_risk", "user_impact")
_GOOD = AutonomySignals(**dict.fromkeys(_SEVEN, 1.0), **dict.fromkeys(_SPENT, 0.0))
_AUTO, _DRAFT = AutonomyMode.AUTO_EXECUTE, AutonomyMode.DRAFT
_TRUSTED = OutcomeRecord(
    "shop.refund",
    CostBreakdown(
        model_cost_cents=120,
        input_tokens=100,
        output_tokens=50,
        cached_tokens=25,
        eval_tokens=40,
        retry_tokens=10,
    ),
    accepted=True,
    grounded=True,
    policy_compliant=True,
)


def autonomy_boundary(h: Harness) -> Iterator[Check]:
    """HA-40."""
    best = compute_autonomy(_GOOD)
    right = best.mode is best.earned is _AUTO and not best.capped_by and best.score == 1
    yield Check("earned", right, f"compute_autonomy: {_saw(best)}")
    capped = compute_autonomy(
        _GOOD, AutonomyCaps(policy_ceiling=AutonomyMode.EXECUTE_WITH_APPROVAL, charter_ceiling=_DRAFT)
    )
    right = (capped.mode, capped.earned, capped.capped_by) == (_DRAFT, _AUTO, "charter_ceiling")
    yield Check("capped", right, f"compute_autonomy under two ceilings: {_saw(capped)}")
    lower, least = degrade(_AUTO, policy_violation=True), degrade(_AUTO, safety_violation=True)
    right = (lower, least) == (AutonomyMode.EXECUTE_WITH_APPROVAL, AutonomyMode.READ)
    right &= degrade(AutonomyMode.READ, policy_violation=True) is AutonomyMode.READ
    yield Check("degraded", right, f"degrade: {lower} after one of policy, {least} after one of safety")
    frozen = AutonomyState(_DRAFT)
    frozen.freeze("looked into")
    yield _never_raised("frozen", frozen)
    all_, none = (compute_autonomy(_all(value)).score for value in (1.0, 0.0))
    alone = {name: compute_autonomy(replace(_all(0.0), **{name: 1.0})).score for name in _SEVEN}
    right = (round(all_, 3), none) == (0.778, 0) and round(sum(alone.values()), 6) == 1
    yield Check("weights", right, f"compute_autonomy: {all_:.3f} with all at 1, {none:g} with all at 0")
    fed = [reversibility_score(reversal) for reversal in ReversalClass]
    yield Check("reversibility", fed == [1.0, 0.5, 0.0], f"reversibility_score: {fed}")


def _never_raised(name: str, state: AutonomyState) -> Check:
    """A state frozen at DRAFT may fall, and rises only once it is unfrozen."""
    best = compute_autonomy(_GOOD)
    still = state.reconsider(best)
    lowered = state.reconsider(compute_autonomy(_all(0.0)))
    state.unfreeze()
    raised = state.reconsider(best)
    right = (still, lowered, raised) == (_DRAFT, AutonomyMode.READ, _AUTO)
    return Check(name, right, f"AutonomyState.reconsider: frozen {still}, then {lowered}; unfrozen {raised}")


def promotion(h: Harness) -> Iterator[Check]:
    """Of HA-37: an evaluation that improves promotes, and a failed replay freezes."""
    state, modes = AutonomyState(AutonomyMode.READ), list[str]()
    for score in (0.2, 0.6, 1.0):
        signals = replace(_all(score), **dict.fromkeys(_SPENT, 0.0))
        modes.append(state.reconsider(compute_autonomy(signals)))
    right = modes == [AutonomyMode.READ, _DRAFT, _AUTO]
    yield Check("promotes", right, f"AutonomyState.reconsider with better evaluations: {', '.join(modes)}")
    failed = AutonomyState(_DRAFT)
    failed.record_replay(passed=False)
    yield _never_raised("freezes", failed)


def trusted_outcomes(h: Harness) -> Iterator[Check]:
    """Of HA-18."""
    report = _report(_TRUSTED)
    yield Check("trusted", report.trusted == 1, f"TokenomicsLedger.report: {report.trusted} of 1 trusted")
    for value in (False, None):
        for outcome in (
            replace(_TRUSTED, accepted=value),
            replace(_TRUSTED, grounded=value),
            replace(_TRUSTED, policy_compliant=value),
        ):
            found = _report(outcome).trusted
            known = (outcome.accepted, outcome.grounded, outcome.policy_compliant)
            yield Check("untrusted", found == 0, f"TokenomicsLedger.report: {found} trusted of {known}")


def intents(h: Harness) -> Iterator[Check]:
    """HA-23."""
    with h.open() as runtime:
        stated, unstated = h.context("clerk", intent="refund"), h.context("clerk")
        for ctx in (stated, unstated):
            with runtime.executor.run(ctx):
                pass
        log, outcomes = runtime.log, Outcomes(runtime.log)
        outcomes.read()
        on_log = next(str((event.payload or {}).get("intent")) for event in log.events(run_id=stated.run_id))
        records = {it.run_id: it.record(None) for it in outcomes.of([stated.run_id, unstated.run_id])}
        found = records[stated.run_id].intent
        seen = f"kernel.run.started: {on_log}; Outcome.record: {found}"
        yield Check("recorded", on_log == found == "refund", seen)
        fallback = records[unstated.run_id].intent
        yield Check("fallback", fallback == UNSTATED, f"Outcome.record without an intent: {fallback}")
        groups = {
            it.name: it.report.outcomes for it in report_outcomes(log, outcomes, {}, Grouping.INTENT).groups
        }
        yield Check("grouped", groups == {"refund": 1, UNSTATED: 1}, f"report_outcomes by intent: {groups}")
        try:
            log.append("shop.nobody_registered", {})
            seen = "written"
        except NotFoundError as error:
            seen = error.kind
        yield Check("unregistered", seen == "not_found", f"EventLog.append of an unregistered key: {seen}")


def business(h: Harness) -> Iterator[Check]:
    """HA-34."""
    metrics = BusinessMetrics()
    for place, csat in enumerate((5.0, 4.0, 3.0, None)):
        metrics.record(
            BusinessOutcome(
                "refund",
                "1",
                success=place < 3,
                converted=place < 2,
                deflected=place < 1,
                csat=csat,
                revenue_cents=100 * place,
            )
        )
    before = metrics.report(version="1")
    rates = [rate.value for rate in (before.success, before.conversion, before.deflection)]
    right = (rates, before.csat, before.n) == ([0.75, 0.5, 0.25], 4.0, 4)
    right &= before.revenue_cents == {"USD": 600} and before.success.interval[0] < 0.75
    yield Check("counted", right, f"BusinessMetrics.report: {_worth(before)}")
    metrics.record(BusinessOutcome("refund", "2", success=False, csat=1.0, revenue_cents=9))
    after, other = metrics.report(version="1"), metrics.report(version="2")
    yield Check("versions", after == before and other.n == 1, f"BusinessMetrics.report: {_worth(after)}")
    nothing = _report(replace(_TRUSTED, accepted=False)).cost_per_trusted_outcome_cents
    both = _report(_TRUSTED, replace(_TRUSTED, accepted=False)).cost_per_trusted_outcome_cents
    seen = f"cost_per_trusted_outcome_cents: {nothing} of none, {both} of one among two"
    yield Check("undefined", nothing is None and both == 240, f"TokenomicsReport.{seen}")
    report = _report(_TRUSTED)
    ratios = (report.retry_token_ratio, report.eval_overhead_ratio, report.cache_hit_rate)
    yield Check("ratios", ratios == (0.05, 0.2, 0.25), f"TokenomicsReport: {ratios}")
    yield from _on_record(h)


def _on_record(h: Harness) -> Iterator[Check]:
    """Two runs of which a person accepts one, and its agent the other."""
    with h.open() as runtime:
        h.tool(runtime, "shop.find", lambda: 1)
        runs = [h.context("clerk", intent="refund") for _ in range(2)]
        for ctx in runs:
            with runtime.executor.run(ctx):
                runtime.executor.execute(ctx, "shop.find", {})
                ctx.budget.spend(cost_usd_cents=2)
        log = runtime.log
        outcomes = Outcomes(log)
        judgements = Judgements(log, open_authority(runtime.config, log))
        record_grounded(log, runs[0].run_id, grounded=True, source="probe")
        judgements.judge(runs[0].run_id, Label("ada"), accepted=True)
        with suppress(DeniedError):
            judgements.judge(runs[1].run_id, Label("clerk"), accepted=True)
        in_force = judgements.in_force()
        seen = f"Judgements.judge by the run's agent: {'counts' if runs[1].run_id in in_force else 'refused'}"
        yield Check("own", [*in_force] == [runs[0].run_id], seen)
        outcomes.read()
        report = report_outcomes(log, outcomes, in_force).whole.report
        each = report.cost_per_trusted_outcome_cents
        seen = f"report_outcomes: {report.outcomes} runs, {report.trusted} trusted at {each} cents"
        yield Check("recorded", (report.outcomes, report.trusted, each) == (2, 1, 4), seen)


def _all(value: float) -> AutonomySignals:
    return AutonomySignals(**dict.fromkeys((*_SEVEN, *_SPENT), value))


def _report(*outcomes: OutcomeRecord) -> TokenomicsReport:
    ledger = TokenomicsLedger()
    for outcome in outcomes:
        ledger.record(outcome)
    return ledger.report(workflow_id="shop.refund")


def _saw(decision: AutonomyDecision) -> str:
    by = f", capped by {decision.capped_by}" if decision.capped_by else ""
    return f"{decision.mode} of {decision.score:.3f}{by}"


def _worth(report: BusinessReport) -> str:
    rates: Mapping[str, float | None] = {
        "success": report.success.value,
        "conversion": report.conversion.value,
        "deflection": report.deflection.value,
    }
    shares = ", ".join(f"{name} {value}" for name, value in rates.items())
    return f"{shares}, csat {report.csat}, revenue {dict(report.revenue_cents)} of {report.n}"
