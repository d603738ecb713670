"""Delay of the console's search among a hundred thousand memories, or a million.

`python -m evals.bench.memory_screen 100000 1000000` says which sizes; `make bench` takes the first. Vectors are made of
the first size only: making a million takes longer than all that is measured.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles

from evals.bench.console import KEYS, Figure, Terminal, key_ms
from evals.bench.memory import Texts, fill
from sb.memory import Brain

SIZES = (100_000,)
WITH_VECTORS = 100_000  # up to so many records
TRIES = 7
BELOW = 200  # memories that are newer than the newest hit, so that it is not on screen before
_HITS = {
    "newest": ("xyl", "Xylophones for everybody"),
    "oldest": ("zyg", "Zygotes instead of MySQL"),
}


def remember(home: Path, size: int) -> None:
    """So many memories in twenty projects, with a decision the first of all, and another among the last."""
    embedder = "static" if size <= WITH_VECTORS else "none"
    home.mkdir()
    (home / "config.yaml").write_text(
        f"database: brain.db\nmemory: {{embedder: {embedder}}}\n", encoding="utf-8"
    )
    os.environ["SB_HOME"] = str(home)
    with Brain("bench") as brain:
        brain.decide(_HITS["oldest"][1], "it is to be found")
        text = Texts()
        for project in range(20):
            fill(brain, size // 20, text, f"project:p{project}")
        brain.decide(_HITS["newest"][1], "it is to be found")
        fill(brain, BELOW, text, "project:last")


def typed_ms(terminal: Terminal, before: str, last: str, shown: str) -> float:
    """From the last keystrokes to what is to be shown; the interval of the console's debounce is in it.

    Args:
        before: what is typed, and shown, before that.
    """
    terminal.press("/")
    terminal.settle()
    terminal.press(before)
    terminal.settle(0.35)
    pressed = terminal.press(last)
    ready = terminal.wait(shown)
    terminal.settle(0.35)
    terminal.press("\x1b")
    terminal.settle(0.35)
    return (ready - pressed) * 1000


def figures(home: Path, size: int) -> Iterator[Figure]:
    """The figures for this many memories in a home."""
    os.environ["SB_HOME"] = str(home)
    of = f", {size:,} memories"
    terminal = Terminal(home)
    terminal.wait("Last activity")
    terminal.settle()
    pressed = terminal.press("7")
    ready = terminal.wait("project:last")
    yield Figure(f"key to the first visit of Memory{of}", (ready - pressed) * 1000, 100, 200)
    terminal.settle(0.35)
    moves = key_ms(terminal, ("jjkGkkgjGgjj" * KEYS)[:KEYS])
    yield Figure(f"key to paint, 95th percentile{of}", quantiles(moves, n=20)[-1], 50, 100)
    for where, (typed, shown) in _HITS.items():
        times = median(typed_ms(terminal, typed[:-1], typed[-1], shown) for _ in range(TRIES))
        yield Figure(
            f"last keystroke to its row, hit the {where}{of}", times, 150, 300 if size <= 100_000 else 1_500
        )
    times = median(typed_ms(terminal, "", "MySQL or zygotes", shown) for _ in range(TRIES))
    yield Figure(f"last keystroke of a question to its answer{of}", times, 300, 600)
    terminal.close()


def report(sizes: Sequence[int] = SIZES) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            home = Path(folder) / str(size)
            remember(home, size)
            for figure in figures(home, size):
                yield figure.line()


if __name__ == "__main__":
    for shown in report([int(size) for size in sys.argv[1:]] or SIZES):
        print(shown, flush=True)
