"""`sb statusline` and the tokens of sessions in lists: what is known is shown, the rest is called unknown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sb.screens.state.records import Records
from sb.screens.state.runs import SESSION, Node, Tree, document

from sb.base.fitting import short_count
from sb.config import load_config
from sb.hosts.claude_code.events import ADAPTER
from sb.hosts.hooks.judging import judge
from sb.hosts.statusline import status_line
from sb.kernel.review.runs import first_events
from sb.present.usage import dollars
from sb.runtime.parts import open_log
from tests.conftest import CommandLine
from tests.hosts.transcripts import written

MODEL = {"id": "claude-x", "display_name": "Opus \x1b[31m"}
USAGE = {"input_tokens": 1_000_000, "output_tokens": 100_000}
PRICES = 'prices: {"claude-*": {input: 3, output: 15}}\n'


def configure(user: Path, text: str = "") -> None:
    (user / ".sb").mkdir(mode=0o700, exist_ok=True)
    (user / ".sb" / "config.yaml").write_text(text, encoding="utf-8")


def tell(user: Path, name: str, **fields: Any) -> None:
    """One event of the session, to the hook."""
    path = user / "s.jsonl"
    common = {
        "session_id": "s",
        "transcript_path": str(path),
        "cwd": str(user / "shop"),
        "hook_event_name": name,
    }
    config = load_config(env={"HOME": str(user)}, cwd=user, flags={})
    judge(config, ADAPTER, ADAPTER.read({**common, **fields}))


def line(user: Path, **fields: Any) -> str:
    return status_line(
        {"session_id": "s", "cwd": str(user / "shop"), "model": MODEL, **fields}, {"HOME": str(user)}
    )


def worked(user: Path) -> None:
    """A session with a call, a call that waits, and a turn that is over."""
    written.lines(user / "s.jsonl", [written.claude_response(1, "/", usage=USAGE)])
    for number, command in enumerate(("ls", "rm -rf /data/x")):
        given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"t{number}"}
        tell(user, "PreToolUse", **given)
    tell(
        user,
        "PostToolUse",
        tool_name="Bash",
        tool_input={"command": "ls"},
        tool_use_id="t0",
        tool_response={},
    )
    tell(user, "Stop")


def test_line_has_model_cost_calls_and_what_waits(user: Path) -> None:
    configure(user, PRICES)
    worked(user)
    shown = line(user)
    assert shown.endswith("· $4.50 by your prices · 2 calls · 1 approval waiting (sb console)")
    assert "\x1b" not in shown
    assert "· $0.42 by Claude Code ·" in line(user, cost={"total_cost_usd": 0.42})


def test_cap_is_shown_with_what_counts_for_it(user: Path) -> None:
    configure(user, PRICES + "budget: {session_cost_usd: 5}\n")
    worked(user)
    assert "· $0.42 by Claude Code · $4.50 of $5.00 cap ·" in line(user, cost={"total_cost_usd": 0.42})


def test_unknown_cost_is_unknown(user: Path) -> None:
    configure(user)
    worked(user)
    assert "· cost unknown ·" in line(user)


@pytest.mark.parametrize(
    "payload", [{}, {"model": 3, "cost": {"total_cost_usd": "x"}, "cwd": "\0", "session_id": []}]
)
def test_line_is_printed_whatever_the_host_says(user: Path, payload: dict[str, Any]) -> None:
    assert status_line(payload, {"HOME": str(user)}) == "sb · cost unknown · sb: no database (sb doctor)"
    configure(user, "nonsense: 1\n")
    assert "wrong configuration" in status_line(payload, {"HOME": str(user)})


def test_program_answers_without_the_command_line(user: Path) -> None:
    code = "import sys; sys.argv = ['sb', 'statusline']; from sb.__main__ import main; main(); "
    code += "print([name for name in sys.modules if name in ('typer', 'sb.cli', 'sb.runtime', 'rich')])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps({"model": {"id": "m"}}).encode(),
        capture_output=True,
        env={"HOME": str(user), "PATH": os.environ["PATH"]},
        timeout=60,
        check=False,
    )
    assert done.stdout.decode().splitlines() == ["m · cost unknown · sb: no database (sb doctor)", "[]"]


def test_runs_are_listed_with_tokens_and_cost(user: Path, sb: CommandLine) -> None:
    configure(user, PRICES)
    worked(user)
    (item,) = sb("kernel", "runs", "--json").json["items"]
    assert (item["host"], item["tokens"]["input"], item["cost_usd"]) == ("claude-code", 1_000_000, 4.5)
    assert "1M  100k  $4.50" in " ".join(sb("kernel", "runs").out.split(" ")).replace("    ", "  ")
    configure(user)
    assert sb("kernel", "runs", "--json").json["items"][0]["cost_usd"] is None
    assert "unknown" in sb("kernel", "runs").out


def test_console_shows_tokens_of_the_run_under_the_cursor(user: Path) -> None:
    configure(user, PRICES)
    worked(user)
    config = load_config(env={"HOME": str(user)}, cwd=user, flags={})
    log = open_log(config)
    node = Node(SESSION, first_events(log)[0])
    log.close()
    with closing(Records(config)) as records:
        shown = {getattr(field, "name", ""): field for field in document(records, Tree(), node)}
    assert shown["Used"].value == "1M tokens in, 100k out, cost $4.50"


def test_cap_without_prices_is_said(user: Path, sb: CommandLine) -> None:
    configure(user, "budget: {session_cost_usd: 5}\n")
    assert "budget.session_cost_usd limits nothing without prices" in sb("config", "show").err


def test_counts_are_short() -> None:
    assert [short_count(count) for count in (0, 950, 1_000, 12_345, 3_400_000, 10**10)] == [
        "0",
        "950",
        "1k",
        "12k",
        "3.4M",
        "10G",
    ]
    assert [dollars(cost) for cost in (None, 0.0, 1234.5)] == ["unknown", "$0.00", "$1,234.50"]
