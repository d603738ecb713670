"""Figures that a decision leans on: the day's cost against its budget, the log's verification, an agent's trust."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from sb.config import current_config
from sb.evals.report import report_document
from sb.evals.results import EvalRun
from sb.evals.shelf import EvalShelf
from sb.evals.summary import summary
from sb.kernel.review.session_usage import SessionUsage, TranscriptState, save_usage
from sb.kernel.review.usage import Tokens
from sb.protocols.types import TrustAssessment
from sb.stack import SQLiteStack
from tests.conftest import CommandLine
from tests.screens.conftest import Agents, Console
from tests.screens.eval_runs import RIGHT, WRONG, attempt, case

PRICES = "prices: {big: {input: 2}}\nbudget: {daily_cost_usd: 20}\n"


@pytest.fixture
def settings() -> str:
    return f"database: brain.db\nfiles: {{roots: []}}\n{PRICES}"


def test_the_inbox_shows_what_the_day_cost_of_its_budget_and_the_log_when_it_was_verified(
    agents: Agents, console: Console, sb: CommandLine
) -> None:
    run_id = agents.session().run_id
    state = TranscriptState(models={"big": Tokens(input=3_205_000)})
    save_usage(current_config().home.usage, run_id, SessionUsage({"x": state}))

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "$6.41 of $20.00 ━━━───────")
        await console.visit(pilot, "log")
        await console.shows(pilot, "never verified")
        await console.press(pilot, "v")
        await console.shows(pilot, "verified just now")
        agents.clock.time += 7300
        await console.press(pilot, "r")
        await console.shows(pilot, "verified 2h ago")

    console(script)
    assert "log (verified " in sb("status").out


def test_an_agents_page_has_its_cost_by_the_hour_and_its_evals_where_there_are_some(
    agents: Agents, console: Console
) -> None:
    agents.session("codex", session="without", calls=1)
    agents.clock.time += 7200
    ctx = agents.session(calls=2)
    state = TranscriptState(models={"big": Tokens(input=3_000_000)})
    save_usage(current_config().home.usage, ctx.run_id, SessionUsage({"x": state}))
    agents.clock.time += 3600
    agents.runtime.executor.execute(ctx, "notes.append", {"text": "one more"})

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "agents")
        await console.shows(pilot, "Cost an hour, $")
        assert "alls an hour" in console.text(), "a title that does not fit is left out whole"
        await console.until(pilot, lambda: "claude-code" in console.detail())
        page = console.app.section.handler.item  # type: ignore[union-attr]
        assert [round(cost, 2) for cost in page.cost if cost] == [4.0, 2.0]
        assert "Evals" not in console.detail()
        for number, agent in enumerate(("claude-code", f"run:{ctx.run_id}", "somebody")):
            results = (case("pays", agent, attempt(RIGHT)), case("waits", agent, attempt(WRONG)))
            run = EvalRun(f"eval_{number:06}", agents.clock.time - 60, agent, results, {agent: "digest"})
            EvalShelf(current_config().home.evals).save(summary(run), report_document(run))
        await console.press(pilot, "r")
        await console.until(pilot, lambda: "claude-code: 1 of 2 hold" in console.detail())
        assert f"run:{ctx.run_id}: 1 of 2 hold" in console.detail()
        assert "somebody" not in console.detail()
        await console.press(pilot, "j")
        await console.until(pilot, lambda: "codex" in console.detail())
        assert "Cost an hour" not in console.text()
        assert "Evals" not in console.detail()

    console(script, (160, 48))


def test_trust_on_record_stands_beside_an_agent_and_in_its_request(agents: Agents, console: Console) -> None:
    agents.pay()
    log = agents.runtime.log
    stack = SQLiteStack(
        "main", database=log.database, config=current_config(), clock=agents.clock, ids=agents.ids
    )
    stack.save_trust_assessment(TrustAssessment("t1", "main", "clerk", {"general": {"score": 0.74}}))

    async def script(pilot: Pilot[None]) -> None:
        assert "Trust medium, 0.74 of 1" in console.detail()
        await console.visit(pilot, "agents")
        assert "Trust medium, 0.74 of 1" in console.detail()

    console(script, (120, 36))


def test_the_chart_says_whose_calls_it_counts_in_whole_numbers_and_nothing_covers_its_bars(
    agents: Agents, console: Console
) -> None:
    agents.work(9)

    async def script(pilot: Pilot[None]) -> None:
        await console.visit(pilot, "agents")
        await console.settle(pilot)
        shown = console.text()
        assert "clerk: calls an hour" in shown
        assert "9┤" in shown
        assert "0┤" in shown
        assert ".0┤" not in shown
        assert "asked" not in shown.split("clerk: calls an hour")[1].split("now")[0]
        agents.pay()
        await console.shows(pilot, "clerk: calls an hour, 1 asked")

    console(script, (120, 36))
