"""Wall time of `sb hook`: alone, compared with importing typer; with the resident helper, with a bare interpreter."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

RUNS = 15
BAR = 3.0
HELPED_BAR = 1.5  # of bare interpreters in the environment of the wheel
CONFINED_BAR = 4.0  # of them: a profile is made, commands that begin are looked for, and the tree is stored
SEARCH_BAR = 6.0
STARTING_S, BETWEEN_S = 2.0, 0.1
SESSION_BAR = (
    6.0  # of what comes once in a session: memory is loaded for it, at the end with what makes vectors
)
_LINE = "source /nowhere 2>/dev/null || true && eval true < /dev/null && pwd -P >| /dev/null"


def report(python: Path, folder: Path) -> Iterator[str]:
    """Ratios of whole processes.

    Args:
        python: of an environment with the installed wheel. folder: empty.
    """
    (folder / "shop" / ".git").mkdir(parents=True)
    home = {"PATH": os.environ["PATH"], "HOME": str(folder), "SB_HOME": str(folder / "home")}
    alone = home | {"SB_RESIDENT": "false"}
    use_ids = itertools.count()

    def once(
        command: list[str], payload: dict[str, object] | None = None, env: dict[str, str] = alone
    ) -> float:
        data = json.dumps(payload or {}).encode()
        started = time.perf_counter()
        subprocess.run(command, input=data, check=True, capture_output=True, env=env, cwd=folder)
        return (time.perf_counter() - started) * 1000

    def payload(event: str, use_id: int, tool: str = "Write") -> dict[str, object]:
        path = {"file_path": str(folder / "shop" / "a.txt")}
        given = {"Read": path, "Write": {**path, "content": "x"}, "Bash": {"command": "make"}}[tool]
        call = {"tool_name": tool, "tool_use_id": str(use_id), "tool_input": given, "tool_response": "ok"}
        lifecycle = {"source": "startup", "reason": "other"}
        session = {
            "session_id": f"s{use_id}",
            "transcript_path": "/t",
            "cwd": str(folder / "shop"),
            **lifecycle,
        }
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
    yield from _helped(python, hook, payload, next(use_ids), once, home)


def _repository(folder: Path) -> Path:
    """Make a folder a repository of 300 files; returns one of them."""
    for number in range(300):
        (folder / f"{number}.py").write_text(str(number), "utf-8")
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, "add", "."], check=True)
    return folder / "0.py"


def _helped(
    python: Path,
    hook: list[str],
    payload: Callable[[str, int, str], dict[str, object]],
    first: int,
    once: Callable[..., float],
    env: dict[str, str],
) -> Iterator[str]:
    """The same with the helper, a moment after each other as an agent's calls are."""
    bare, search = [str(python), "-c", "pass"], [str(python.parent / "sb"), "memory", "search", "orders"]
    for _ in range(2):  # the first one starts it, and the first search has it import what searches need
        once(hook, payload("PreToolUse", first, "Read"), env)
        once(search, None, env)
        time.sleep(STARTING_S)
    settings = json.loads((Path(env["HOME"]) / ".claude" / "settings.json").read_text("utf-8"))
    confined = env | settings["env"]  # as the host has it, which starts commands in confinement
    calls = [
        ("PreToolUse", "Read", env, 0),
        ("PreToolUse", "Bash", env, 1),
        ("PostToolUse", "Bash", env, 1),
        ("PreToolUse", "Bash", confined, 2),
        ("PostToolUse", "Bash", confined, 2),
    ]
    bars = {
        f"sb hook{' (confined)' if given is confined else ''} with the helper, {event} {tool}": (
            CONFINED_BAR if given is confined else HELPED_BAR
        )
        for event, tool, given, _ in calls
    }
    bars["sb memory search with the helper"] = SEARCH_BAR
    timed: dict[str, list[tuple[float, float]]] = {name: [] for name in bars}
    changed = _repository(Path(env["HOME"]) / "shop")
    for use_id in range(first, first + RUNS):
        for name, (event, tool, given, number) in zip(bars, calls, strict=False):
            # A command's end follows its beginning, with its id.
            timed[name].append(
                (once(hook, payload(event, 3 * use_id + number, tool), given), once(bare, None, env))
            )
            if given is confined and event == "PreToolUse":
                changed.write_text(str(use_id), "utf-8")
                once([confined["CLAUDE_CODE_SHELL_PREFIX"], _LINE], None, confined)
            time.sleep(BETWEEN_S)
        timed["sb memory search with the helper"].append((once(search, None, env), once(bare, None, env)))
        time.sleep(BETWEEN_S)
    for name, pairs in timed.items():
        ours, theirs = (median(pair[side] for pair in pairs) for side in (0, 1))
        ratio, bar = median(ours / theirs for ours, theirs in pairs), bars[name]
        verdict = f"bar {bar:g}x  {'ok' if ratio <= bar else 'OVER'}"
        yield f"{name:<44} {ours:>9.0f} ms   python -c pass {theirs:>26.0f} ms   {ratio:>5.2f}x  {verdict}"
