"""Run a function in several processes that begin at the same moment: one process imports it, and forks.

`python -m tests.faults.at_once PROCESSES MODULE FUNCTION ARGUMENT…` is that process; it has nothing of the tests' own.
"""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_at_once(function: Callable[..., None], processes: int, *arguments: object) -> list[str]:
    """The lines that the processes printed.

    Args:
        function: of a module; it is called with the arguments as text.

    Raises:
        AssertionError: it failed in one of them.
    """
    words = [str(processes), function.__module__, function.__name__, *map(str, arguments)]
    done = subprocess.run(
        [sys.executable, "-m", __name__, *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _forked(function: Callable[..., None], arguments: list[str], start: tuple[int, int]) -> int:
    """The id of a process that waits until nobody can write to the pipe any more."""
    if child := os.fork():
        return child
    os.close(start[1])
    os.read(start[0], 1)
    try:
        with redirect_stdout(io.StringIO()) as printed:
            function(*arguments)
        os.write(1, printed.getvalue().encode())  # at once, so that no other's lines come between
    except BaseException:  # noqa: BLE001 - the parent is told by the exit code
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _main(processes: str, module: str, name: str, *arguments: str) -> int:
    function = getattr(import_module(module), name)
    gc.freeze()  # or a child's first collection would copy all that was imported
    start = os.pipe()
    children = [_forked(function, [*arguments], start) for _ in range(int(processes))]
    os.close(start[1])
    ends = [os.waitpid(child, 0)[1] for child in children]
    return 1 if any(ends) else 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
