"""The first searches of a process: CPU time at once and some time after opening, and how the next 200 spread.

`python -m evals.bench.first_search` measures each in a process of its own, over 5 000 records.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from evals.bench.memory import Texts, configured, fill
from evals.retrieval.agent_records import load_questions
from sb.memory import Brain

_RECORDS, _SEARCHES = 5_000, 200
_PAUSES_S = (0.0, 0.3)  # between opening and the first search
_FIRST_MS, _SPREAD = 40.0, 3.0


def report() -> Iterator[str]:
    """One line for each pause."""
    with tempfile.TemporaryDirectory() as folder:
        with Brain("bench", config=configured(Path(folder)), scope="project:bench", warm=False) as brain:
            fill(brain, _RECORDS, Texts(), "project:bench")
        for pause in _PAUSES_S:
            command = [sys.executable, "-m", "evals.bench.first_search", folder, str(pause)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            yield from done.stdout.splitlines()


def _measured(folder: Path, pause_s: float) -> str:
    questions = [question.question for question in load_questions()][: _SEARCHES + 1]
    with Brain("bench", config=configured(folder), scope="project:bench") as brain:
        time.sleep(pause_s)
        spent = []
        for question in questions:
            clock, cpu = time.perf_counter(), time.thread_time()
            brain.search(question)
            spent.append(((time.thread_time() - cpu) * 1e3, (time.perf_counter() - clock) * 1e3))
    cpu_ms, first_ms = spent[0]
    later = [wall for _, wall in spent[1:]]
    middle, slow = median(later), _slowest(later)
    of_cpu = [own for own, _ in spent[1:]]
    verdict = ""
    if pause_s:
        passed = first_ms <= _FIRST_MS and slow <= _SPREAD * middle
        verdict = f"  bars {_FIRST_MS:g} ms and {_SPREAD:g}x  {'ok' if passed else 'OVER'}"
    return (
        f"first search {pause_s:g} s after opening {first_ms:.1f} ms ({cpu_ms:.1f} of CPU);"
        f" the next {len(later)}: p50 {middle:.1f}, p99 {slow:.1f} ms, {slow / middle:.2f}x,"
        f" of CPU {_slowest(of_cpu) / median(of_cpu):.2f}x{verdict}"
    )


def _slowest(times: list[float]) -> float:
    """The 99th percentile."""
    return sorted(times)[len(times) * 99 // 100]


if __name__ == "__main__":
    if sys.argv[1:]:
        print(_measured(Path(sys.argv[1]), float(sys.argv[2])))
    else:
        for line in report():
            print(line, flush=True)
