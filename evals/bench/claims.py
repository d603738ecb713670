"""Claims of a last message, judged by a session of 500 calls on record; beside reading their payloads."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from evals.bench.timing import compare
from sb.config import load_config
from sb.kernel.claims.judge import judge, made_claims
from sb.kernel.execution.external import Report
from sb.kernel.review.claimed import recorded_calls
from sb.kernel.run_context import RunContext
from sb.runtime import open_runtime

CALLS = 500
_LINES = (
    "pytest -q tests/test_{}.py | tail -3",
    "cd app && npm run build",
    "grep -rn cart{} src",
    "git commit -qm x{}",
)
_MESSAGE = (
    "## Summary\n\nI've fixed the cart and committed it. All 42 tests pass, lint is clean and the build succeeds.\n\n"
    + "- `src/cart.py` - adds totals for each line, as the issue asks.\n" * 30
    + "\nPushed to main. No other files were changed."
)


def report() -> Iterator[str]:
    """Microseconds of one message."""
    with tempfile.TemporaryDirectory() as folder:
        config = load_config(env={"SB_HOME": folder, "HOME": folder}, cwd=Path(folder), flags={})
        with open_runtime(config) as runtime:
            ctx = RunContext.create("claude-code", metadata={"host": "claude-code", "project": folder})
            for number in range(CALLS):
                args = {"tool": "Bash", "command": _LINES[number % len(_LINES)].format(number), "cwd": folder}
                shown = Report({"stdout": "x" * 500 + f"\n{number + 1} passed in 0.1s", "stderr": ""})
                runtime.executor.external.report(ctx, "host.shell.network", args, shown, step=f"t{number}")
            log = runtime.log

            def whole() -> object:
                return judge(
                    made_claims(_MESSAGE), recorded_calls(log, ctx.run_id), _MESSAGE, lambda path: False
                )

            def floor() -> object:
                rows = log.database.query(
                    "SELECT payload FROM events WHERE run_id = ? ORDER BY id", (ctx.run_id,)
                )
                return [json.loads(row[0]) for row in rows]

            yield compare(
                f"claims, {CALLS} calls", whole, "reading their payloads", floor, calls=5, bar=4
            ).line()
            yield compare(
                "a message without claims",
                lambda: made_claims("It is in the cart. " * 40),
                "reading their payloads",
                floor,
                calls=5,
                bar=0.5,
            ).line()
