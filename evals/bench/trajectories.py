"""Time to grade calls against trajectories, beside comparing each call with each step once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from statistics import median

from sb.kernel.trajectory_eval import Mode, RecordedCall, Trajectory, TrajectoryStep, grade

SIZE = 200  # steps, and calls
MOST_MS = 50  # for one case of that size, of processor time
RECORDED, MOST_S = 1_000, 3  # trajectories as runs have them, and seconds for all

Case = tuple[tuple[TrajectoryStep, ...], list[RecordedCall]]


def one_tool() -> Case:
    """Every call fits every step: the most pairs to compare and to choose from."""
    args = {"path": "src/app.py", "mode": "w", "lines": {"from": 1, "to": 20}}
    step = TrajectoryStep("files.write", args={"mode": "w", "lines": {"from": 1}})
    return (step,) * SIZE, [RecordedCall("files.write", {**args, "number": n}, True) for n in range(SIZE)]


def staircase() -> Case:
    """Step n fits the first calls but n, and the last step one alone: who takes the first that fits takes all back."""
    steps = tuple(TrajectoryStep(tool_pattern="t" * (n + 1) + "*") for n in range(SIZE))
    return steps, [RecordedCall("t" * (n + 1), {}, True) for n in reversed(range(SIZE))]


def halves() -> Case:
    """Two optional steps for each call, and calls every other one of which fits nothing."""
    steps = tuple(TrajectoryStep(f"t{n // 2}", args={"n": n // 2}, optional=n % 3 == 0) for n in range(SIZE))
    return steps, [RecordedCall(f"t{n // 2}", {"n": n // 2 + n % 2}, True) for n in range(SIZE)]


def all_optional() -> Case:
    """The first half of the steps is optional and would take all calls of the second."""
    steps = [TrajectoryStep("a", optional=n < SIZE // 2, require_success=n % 2 == 0) for n in range(SIZE)]
    return tuple(steps), [RecordedCall("a", {"n": n}, n % 3 != 0) for n in range(SIZE)]


CASES = (one_tool, staircase, halves, all_optional)


def floor(steps: Sequence[TrajectoryStep], calls: Sequence[RecordedCall]) -> int:
    """The floor of an alignment: each call is compared with each step."""
    fitting = 0
    for step in steps:
        wanted = step.args or {}
        for call in calls:
            named = fnmatchcase(call.tool, step.tool_pattern) if step.tool_pattern else call.tool == step.tool
            fitting += named and wanted.items() <= call.args.items()
    return fitting


def cpu_ms(action: Callable[[], object], rounds: int = 9) -> float:
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        action()
        taken.append((time.process_time() - started) * 1000)
    return median(taken)


def recorded() -> list[tuple[Trajectory, list[RecordedCall]]]:
    """Runs of 20 calls, a quarter of them beside the steps unless they are strict; one run in four does not pass."""
    runs = []
    for run in range(RECORDED):
        mode = tuple(Mode)[run % 3]
        calls = [
            RecordedCall(f"tool.{n % 7}", {"id": run, "n": n, "text": "x" * 50}, True) for n in range(20)
        ]
        wanted = [{"n": n if n != 9 or run % 4 else 10} for n in range(20)]
        steps = tuple(
            TrajectoryStep(call.tool, args=args, require_success=True)
            for n, (call, args) in enumerate(zip(calls, wanted, strict=True))
            if n % 4 or mode is Mode.STRICT
        )
        runs.append((Trajectory(steps, mode, ("admin.*", "wipe")), calls))
    return runs


def report() -> Iterator[str]:
    for make in CASES:
        steps, calls = make()
        least = cpu_ms(lambda s=steps, c=calls: floor(s, c))  # type: ignore[misc]
        for mode in Mode:
            trajectory = Trajectory(steps, mode)
            took = cpu_ms(lambda t=trajectory, c=calls: grade(t, c))  # type: ignore[misc]
            verdict = "ok" if took <= MOST_MS else "OVER"
            name = f"{make.__name__}, {mode.value}, {SIZE} x {SIZE}"
            yield f"{name:<44} {took:>7.1f} ms   each pair once {least:>5.1f} ms   {took / least:>5.2f}x  bar {MOST_MS} ms  {verdict}"
    runs = recorded()
    took = cpu_ms(lambda: [grade(trajectory, calls) for trajectory, calls in runs], 3) / 1000
    yield f"{RECORDED:,} recorded runs of 20 calls {took:>22.2f} s    bar {MOST_S} s  {'ok' if took <= MOST_S else 'OVER'}"
