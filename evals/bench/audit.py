"""Processor time of the harness audit."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

RUNS = 5
BAR = 4.0  # seconds


def seconds(command: list[str]) -> float:
    """Seconds of CPU, user and system, of one process and what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def report() -> Iterator[str]:
    audit = [sys.executable, "-m", "sb", "harness", "audit", "--json"]
    spent = median(seconds(audit) for _ in range(RUNS))
    yield f"sb harness audit {spent:>29.1f} s of CPU   bar {BAR:g} s  {'ok' if spent <= BAR else 'OVER'}"
