"""Outcomes are made of the record: rules that held, checks, costs of calls and of hosts' sessions."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sb.config.kinds import ModelPrice
from sb.errors import NotFoundError
from sb.hosts.usage import advance
from sb.kernel import RunBudget
from sb.kernel.outcomes import Judgements, Outcome, Outcomes, record, record_grounded
from sb.kernel.review.log_pruning import prune
from sb.log.event import Subject
from sb.log.kinds import APPROVAL_DENIED, OUTPUT_GATED, RUN_FINISHED, RUN_STARTED
from tests.hosts.transcripts import written
from tests.hosts.transcripts.test_usage import event
from tests.kernel.incident_response.conftest import ADA, Plant
from tests.kernel.outcomes.conftest import made
from tests.rows import rows

SPENT = {"prompt_tokens": 800, "output_tokens": 100, "cached_tokens": 600, "cost_usd_cents": 12.5}


def outcome(plant: Plant, run: str, folder: Path | None = None, **prices: ModelPrice) -> Outcome:
    outcomes = Outcomes(plant.log, folder, prices)
    outcomes.read()
    found = outcomes.get(run)
    assert found is not None
    return found


def test_run_tells_agent_intent_times_tokens_and_reported_cost(plant: Plant) -> None:
    run = made(plant, intent="support.refund", spent=SPENT | {"retry_tokens": 10, "eval_tokens": 40})
    found = outcome(plant, run)
    assert (found.agent, found.intent, found.violations) == ("clerk", "support.refund", 0)
    assert (found.cents, found.sources, found.unpriced) == (12.5, "reported", "")
    work = found.record(None)
    assert (work.workflow_id, work.accepted, work.grounded) == ("support.refund", None, None)
    assert (work.policy_compliant, work.trusted, work.cost.tokens) == (True, False, 950)


def test_run_that_reported_no_cost_has_none(plant: Plant) -> None:
    found = outcome(plant, made(plant))
    assert (found.cents, found.sources, found.unpriced) == (None, "", "no cost was reported")
    assert found.record(None).cost.cents is None


def test_refused_denied_or_gated_call_makes_a_run_not_compliant(plant: Plant) -> None:
    fine, refused, denied, gated = (made(plant, agent) for agent in ("clerk", "courier", "a", "b"))
    plant.kill.throw("agent", "courier", ADA, "stop")
    ctx = plant.context("courier")
    plant.executor.execute(ctx, "plant.write", {})
    plant.log.append(APPROVAL_DENIED, {}, Subject(run_id=denied, call_id="apr_1"))
    plant.log.append(OUTPUT_GATED, {}, Subject(run_id=gated))
    compliant = {
        run: outcome(plant, run).violations == 0 for run in (fine, refused, denied, gated, ctx.run_id)
    }
    assert compliant == {fine: True, refused: True, denied: False, gated: False, ctx.run_id: False}


def test_asking_a_person_is_no_violation(plant: Plant) -> None:
    ctx = plant.context()
    assert not plant.executor.execute(ctx, "plant.drop", {}).success
    assert outcome(plant, ctx.run_id).violations == 0


def test_newest_check_of_each_source_counts_and_all_have_to_hold(plant: Plant) -> None:
    run = made(plant)
    grounded = []
    for source, holds in (("eval:a", True), ("claims", False), ("eval:a", True), ("claims", True)):
        record_grounded(plant.log, run, grounded=holds, source=source)
        grounded.append(outcome(plant, run).grounded)
    assert grounded == [True, False, False, True]
    with pytest.raises(NotFoundError):
        record_grounded(plant.log, "run_ffffffffffffffff", grounded=True, source="claims")


def test_accepted_grounded_and_compliant_is_trusted(plant: Plant, judgements: Judgements) -> None:
    run = made(plant, intent="a", spent=SPENT)
    record_grounded(plant.log, run, grounded=True, source="eval:a")
    judged = judgements.judge(run, ADA, accepted=True, workflow="support.refund", intent="refund")
    work = outcome(plant, run).record(judged)
    assert (work.trusted, work.workflow_id, work.intent) == (True, "support.refund", "refund")
    plant.log.append(APPROVAL_DENIED, {}, Subject(run_id=run))
    assert outcome(plant, run).record(judged).trusted is False


def test_cost_of_a_pruned_run_stays_and_its_texts_go(plant: Plant) -> None:
    run = made(plant, intent="support.refund", spent=SPENT)
    before = outcome(plant, run)
    plant.clock.sleep(100)
    assert prune(plant.log, before=plant.clock.now() - 1, reason="old", authority=plant.authority)
    later = made(plant)
    assert outcome(plant, run) == replace(before, intent="", session="")
    assert outcome(plant, later).cents is None


def test_clock_that_was_set_back_puts_no_outcome_before_its_run(plant: Plant) -> None:
    ctx = plant.context()
    with plant.executor.run(ctx):
        plant.executor.execute(ctx, "plant.write", {})
        plant.clock.time -= 86_400
    found = outcome(plant, ctx.run_id)
    assert found.ended_at is not None
    assert found.ended_at < found.started_at
    assert found.record(None).at == found.started_at / 1e6


@rows("amount", [-5, float("nan"), float("inf"), 10**18, "9", None, True, [1]])
def test_amounts_that_are_none_count_as_unknown(plant: Plant, amount: object) -> None:
    names = (
        "cost_usd_cents",
        "prompt_tokens",
        "output_tokens",
        "cached_tokens",
        "eval_tokens",
        "retry_tokens",
    )
    subject = Subject(run_id="run_00000000000000aa", agent="clerk")
    plant.log.append(RUN_STARTED, {}, subject)
    plant.log.append(RUN_FINISHED, {}, subject, {"budget": {f"{name}_used": amount for name in names}})
    found = outcome(plant, subject.run_id)
    assert (found.cents, found.unpriced) == (None, "no cost was reported")
    assert (found.input_tokens, found.retry_tokens) == (0, 0)
    if isinstance(amount, int | float) and amount is not True and not 0 <= amount < 1e15:
        with pytest.raises(ValueError, match="must not be negative"):
            RunBudget().spend(cost_usd_cents=amount)


def test_more_cached_than_read_counts_as_all_read(plant: Plant) -> None:
    run = made(plant, spent={"prompt_tokens": 5, "cached_tokens": 9, "cost_usd_cents": 1})
    assert outcome(plant, run).record(None).cost.cached_tokens == 5


def session(plant: Plant, folder: Path, run: str, *lines: object) -> None:
    path = written.lines(folder / f"{run}.jsonl", lines)
    advance(folder / "usage", run, event(path))


def response(number: int, model: str = "o3", **record: object) -> dict[str, object]:
    usage = {"input_tokens": 1_000_000, "cache_read_input_tokens": 1_000_000, "output_tokens": 10}
    line = written.claude_response(number, "/w", usage=usage, model=model)
    return line | {"timestamp": "2025-08-01T10:00:00Z"} | record


def test_cost_of_a_session_is_the_reported_one_and_says_so(plant: Plant, tmp_path: Path) -> None:
    run = made(plant, metadata={"host": "claude-code"})
    session(plant, tmp_path, run, response(1, costUSD=0.25), response(2, costUSD=0.17))
    found = outcome(plant, run, tmp_path / "usage", o3=ModelPrice(99, 99, 99, 99))
    assert found.cents == pytest.approx(42)
    assert found.sources == "reported"
    assert (found.input_tokens, found.cached_tokens, found.output_tokens) == (4_000_000, 2_000_000, 20)


def test_session_is_priced_again_when_it_goes_on_or_prices_change(plant: Plant, tmp_path: Path) -> None:
    run, usage = made(plant, metadata={"host": "claude-code"}), tmp_path / "usage"
    session(plant, tmp_path, run, response(1))
    first = outcome(plant, run, usage)
    assert first.cents == pytest.approx(250.008)
    assert first.sources == "list prices"
    session(plant, tmp_path, run, response(1), response(2))
    assert outcome(plant, run, usage).cents == pytest.approx(500.016)
    priced = outcome(plant, run, usage, o3=ModelPrice(1, 0, 0))
    assert priced.cents == pytest.approx(200)
    assert priced.sources == "configured"
    session(plant, tmp_path, run, response(1), response(2), response(3, "no-such"))
    unknown = outcome(plant, run, usage)
    assert (unknown.cents, unknown.sources, unknown.unpriced) == (None, "", "no price for no-such")
    (usage / f"{run}.json").unlink()
    assert outcome(plant, run, usage) == unknown


def test_transcripts_that_lie_about_tokens_break_nothing(plant: Plant, tmp_path: Path) -> None:
    run = made(plant, metadata={"host": "claude-code"})
    lies = [-1, float("nan"), 1e300, "many", None, True]
    lines = []
    for number, lie in enumerate(lies):
        line = json.loads(json.dumps(response(number, costUSD=lie)))
        line["message"]["usage"]["input_tokens"] = lie
        lines.append(line)
    session(plant, tmp_path, run, *lines)
    found = outcome(plant, run, tmp_path / "usage")
    assert (found.input_tokens, found.cached_tokens) == (6_000_000, 6_000_000)
    assert found.cents is not None
    assert 300 < found.cents < 301


def test_log_of_many_steps_is_read_to_its_end(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [made(plant, intent=f"work {number}", spent=SPENT) for number in range(5)]
    plant.log.append(APPROVAL_DENIED, {}, Subject(run_id=runs[0]))
    monkeypatch.setattr(record, "_STEP", 3)
    outcomes = Outcomes(plant.log)
    outcomes.read()
    found = {it.run_id: (it.intent, it.cents, it.violations) for it in outcomes.of(runs)}
    assert found == {run: (f"work {number}", 12.5, number == 0) for number, run in enumerate(runs)}


@rows("name, value", [("input", -5), ("output", 10**30), ("reported", -1.0), ("reported", float("nan"))])
def test_remembered_usage_that_was_tampered_with_breaks_no_report(
    name: str, value: float, plant: Plant, tmp_path: Path
) -> None:
    run = made(plant, metadata={"host": "claude-code"})
    session(plant, tmp_path, run, response(1, costUSD=0.25))
    path = tmp_path / "usage" / f"{run}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    (state,) = document["files"].values()
    (part,) = state["models"]
    if name == "reported":
        state["reported"][part] = value
    else:
        state["models"][part][name] = value
    path.write_text(json.dumps(document), encoding="utf-8")
    found = outcome(plant, run, tmp_path / "usage")
    assert found.record(None).cost.cents == (None if value != 10**30 else 25)


READ = """
import sys
from sb.kernel import RunBudget, RunContext, SafetyClass, ToolExecutor, ToolRegistry
from sb.kernel.outcomes import Outcomes
from sb.log.event_log import EventLog
from sb.store.database import open_database
log, registry = EventLog(open_database(sys.argv[1])), ToolRegistry()
registry.register_fn("plant.write", "Write", lambda: 1, SafetyClass.LOCAL_WRITE)
executor = ToolExecutor(registry, event_log=log)
for number in range(20):
    ctx = RunContext.create(sys.argv[2], budget=RunBudget(max_tool_calls=number % 2))
    with executor.run(ctx):
        executor.execute(ctx, "plant.write", {})
        ctx.budget.spend(cost_usd_cents=1)
    Outcomes(log).read()
"""


def test_eight_writers_that_read_too_count_each_event_once(plant: Plant) -> None:
    command = [sys.executable, "-c", READ, str(plant.folder / "brain.db")]
    children = [subprocess.Popen([*command, f"a{number}"]) for number in range(8)]
    assert [child.wait(timeout=120) for child in children] == [0] * 8
    Outcomes(plant.log).read()
    rows = plant.log.database.query(
        "SELECT agent, count(*), sum(cents), sum(violations) FROM outcomes GROUP BY 1"
    )
    assert rows == [(f"a{number}", 20, 20.0, 10) for number in range(8)]
