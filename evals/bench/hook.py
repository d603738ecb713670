"""CPU time of one `sb hook` process, compared with importing typer."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

RUNS = 15
BAR = 2.5
SESSION_BAR = (
    6.0  # of what comes once in a session: memory is loaded for it, at the end with what makes vectors
)


def report(python: Path, folder: Path) -> Iterator[str]:
    """Ratios of whole processes.

    Args:
        python: of an environment with the installed wheel. folder: empty.
    """
    (folder / "shop" / ".git").mkdir(parents=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "SB_HOME": str(folder / "home")}
    use_ids = itertools.count()

    def once(command: list[str], payload: dict[str, object] | None = None) -> float:
        data = json.dumps(payload or {}).encode()
        started = time.perf_counter()
        subprocess.run(command, input=data, check=True, capture_output=True, env=env, cwd=folder)
        return (time.perf_counter() - started) * 1000

    def payload(event: str, use_id: int) -> dict[str, object]:
        given = {"file_path": str(folder / "shop" / "a.txt"), "content": "x"}
        call = {"tool_name": "Write", "tool_use_id": str(use_id), "tool_input": given, "tool_response": "ok"}
        told = {"source": "startup", "reason": "other"}
        session = {"session_id": f"s{use_id}", "transcript_path": "/t", "cwd": str(folder / "shop"), **told}
        return {**session, **call, "hook_event_name": event}

    once([str(python), "-m", "sb", "install", "claude-code", "--yes"])
    hook = [str(folder / "home" / "bin" / "sb-hook"), "claude-code"]  # as hosts start it
    floor = [str(python), "-c", "import typer"]
    once(hook, payload("PreToolUse", next(use_ids)))
    once([str(python), "-m", "sb", "memory", "remember", "orders are numbered", "--scope", "project:shop"])
    events = {"PreToolUse": BAR, "PostToolUse": BAR, "SessionStart": SESSION_BAR, "SessionEnd": SESSION_BAR}
    rows = [
        (*(once(hook, payload(event, use_id)) for event in events), once(floor))
        for use_id in itertools.islice(use_ids, RUNS)
    ]
    theirs = median(row[-1] for row in rows)
    for column, (event, bar) in enumerate(events.items()):
        ours, ratio = median(row[column] for row in rows), median(row[column] / row[-1] for row in rows)
        verdict = f"bar {bar:g}x  {'ok' if ratio <= bar else 'OVER'}"
        yield f"sb hook, {event:<36} {ours:>9.0f} ms   import typer {theirs:>28.0f} ms   {ratio:>5.2f}x  {verdict}"
