"""Processor time of the harness audit, compared with importing typer."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

RUNS = 5
BAR = 40  # times importing typer: 2 s of CPU on a machine where that takes 0.05 s


def seconds(command: list[str]) -> float:
    """Seconds of CPU, user and system, of one process and what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def report() -> Iterator[str]:
    audit = [sys.executable, "-m", "sb", "harness", "audit", "--json"]
    floor = [sys.executable, "-c", "import typer"]
    seconds(audit)
    pairs = [(seconds(audit), seconds(floor)) for _ in range(RUNS)]
    ours, theirs = (median(pair[side] for pair in pairs) for side in (0, 1))
    ratio = median(mine / other for mine, other in pairs)
    verdict = f"bar {BAR}x  {'ok' if ratio <= BAR else 'OVER'}"
    yield f"sb harness audit {1000 * ours:>29.0f} ms   import typer {1000 * theirs:>28.0f} ms   {ratio:>5.1f}x  {verdict}"
