"""Claims of Python runs, and what the log tells of their calls."""

from __future__ import annotations

from pathlib import Path

from sb.config import load_config
from sb.kernel.claims.model import Verdict
from sb.kernel.contracts import SafetyClass, ToolArgSchema
from sb.kernel.outcomes import Outcomes
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.review.claimed import is_grounded, last_claims, recorded_calls
from sb.kernel.run_context import RunContext
from sb.log.kinds import CLAIMS_JUDGED
from sb.runtime import Runtime, open_runtime

SUITE = ToolArgSchema("suite")
BROKEN = [""]  # the suite that fails


def opened(tmp_path: Path) -> Runtime:
    folder = str(tmp_path)
    (tmp_path / "config.yaml").write_text("contract_enforcement: off\n", encoding="utf-8")
    runtime = open_runtime(load_config(env={"SB_HOME": folder, "HOME": folder}, cwd=tmp_path, flags={}))
    register(runtime.registry)
    return runtime


def register(registry: ToolRegistry) -> None:
    def run_tests(suite: str) -> dict[str, int]:
        if suite == BROKEN[0]:
            raise RuntimeError("2 failed, 1 passed")
        return {"passed": 3, "failed": 0}

    registry.register_fn(
        "ci.run_tests", "Run the tests", run_tests, SafetyClass.READ_ONLY, args_schema=(SUITE,)
    )


def test_python_run_is_held_against_its_calls(tmp_path: Path) -> None:
    with opened(tmp_path) as runtime:
        ctx = RunContext.create("tester")
        with runtime.executor.run(ctx):
            assert runtime.executor.execute(ctx, "ci.run_tests", {"suite": "unit"}).success
        (finding,) = runtime.check_claims(ctx, "All tests pass.")
        assert (finding.verdict, is_grounded(runtime.log, ctx.run_id)) == (Verdict.SUPPORTED, True)
        BROKEN[0] = "unit"
        assert not runtime.executor.execute(ctx, "ci.run_tests", {"suite": "unit"}).success
        BROKEN[0] = ""
        (finding,) = runtime.check_claims(ctx, "All tests pass.")
        assert (finding.verdict, is_grounded(runtime.log, ctx.run_id)) == (Verdict.CONTRADICTED, False)


def test_claims_ground_the_outcome_of_their_run(tmp_path: Path) -> None:
    with opened(tmp_path) as runtime:
        outcomes = Outcomes(runtime.log, None, {})
        for broken, holds in (("", True), ("unit", False)):
            BROKEN[0] = broken
            with runtime.run("tester") as ctx:
                runtime.executor.execute(ctx, "ci.run_tests", {"suite": "unit"})
            BROKEN[0] = ""
            runtime.check_claims(ctx, "All tests pass.")
            outcomes.read()
            found = outcomes.get(ctx.run_id)
            assert found is not None
            assert found.grounded is is_grounded(runtime.log, ctx.run_id) is holds


def test_message_without_claims_leaves_no_event(tmp_path: Path) -> None:
    with opened(tmp_path) as runtime:
        ctx = RunContext.create("tester")
        assert runtime.check_claims(ctx, "The cart holds two items.") == []
        assert list(runtime.log.events(kind=CLAIMS_JUDGED)) == []
        assert is_grounded(runtime.log, ctx.run_id) is None


def test_denied_call_is_none(tmp_path: Path) -> None:
    with opened(tmp_path) as runtime:
        ctx = RunContext.create("tester")
        assert not runtime.executor.execute(
            ctx, "ci.run_tests", {"suite": 7}
        ).success  # refused by its schema
        assert recorded_calls(runtime.log, ctx.run_id) == []


def test_pruned_and_torn_payloads_are_left_out(tmp_path: Path) -> None:
    with opened(tmp_path) as runtime:
        ctx = RunContext.create("tester")
        for suite in ("a", "b", "c"):
            runtime.executor.execute(ctx, "ci.run_tests", {"suite": suite})
        assert len(recorded_calls(runtime.log, ctx.run_id)) == 3
        for (name,) in runtime.database.query("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            runtime.database.query(f'DROP TRIGGER "{name}"')
        runtime.database.query("UPDATE events SET payload = NULL, salt = NULL WHERE id % 2 = 0")
        runtime.database.query("UPDATE events SET payload = substr(payload, 1, 40) WHERE id % 3 = 0")
        recorded_calls(runtime.log, ctx.run_id)
        runtime.check_claims(ctx, "All tests pass.")
        assert len(last_claims(runtime.log, ctx.run_id)) == 1


def test_secret_in_a_claim_is_masked_on_record(tmp_path: Path) -> None:
    with opened(tmp_path) as runtime:
        ctx = RunContext.create("tester")
        secret = "ghp_" + "a1B2" * 9
        runtime.check_claims(ctx, f"I've committed {secret} to it.")
        (event,) = runtime.log.events(kind=CLAIMS_JUDGED)
        assert secret not in str(event.payload)
