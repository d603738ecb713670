"""Time of `sb --help` from an installed wheel, compared with importing typer."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from evals.bench import hook

ROOT = Path(__file__).parents[2]
RUNS = 15


def once(command: Sequence[str], cwd: Path) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)
    return (time.perf_counter() - started) * 1000


def report() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        pip = [str(python), "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
        subprocess.run([*pip, str(ROOT)], check=True, stdout=sys.stderr)
        subprocess.run(
            [str(python), "-m", "compileall", "-q", str(folder / "venv" / "lib")],
            check=False,
            stdout=sys.stderr,
        )
        yield from _ratios(python, folder)
        yield from hook.report(python, folder / "hook")


def _ratios(python: Path, folder: Path) -> Iterator[str]:
    floor = [str(python), "-c", "import typer"]
    for words, bar in (("--help", 2.5), ("--version", None), ("kernel namespaces", None)):
        command = [str(python.parent / "sb"), *words.split()]
        once(command, folder)
        pairs = [(once(command, folder), once(floor, folder)) for _ in range(RUNS)]
        ratio = median(ours / theirs for ours, theirs in pairs)
        verdict = "" if bar is None else f"  bar {bar:g}x  {'ok' if ratio <= bar else 'OVER'}"
        ours, theirs = (median(pair[side] for pair in pairs) for side in (0, 1))
        yield f"sb {words:<41} {ours:>9.0f} ms   import typer {theirs:>28.0f} ms   {ratio:>5.2f}x{verdict}"
