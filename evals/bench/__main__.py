"""`make bench`: every benchmark, one line a comparison; `python -m evals.bench NAME` for some of them."""

from __future__ import annotations

import sys
from importlib import import_module

BENCHMARKS = (
    "kernel",
    "boundaries",
    "kill",
    "autonomy",
    "outcomes",
    "recovery",
    "replay",
    "trajectories",
    "snapshots",
    "trees",
    "approvals",
    "inbox",
    "workflows",
    "console",
    "memory_screen",
    "cold_start",
    "confinement",
    "audit",
    "claims",
    "memory",
    "triggers",
    "mcp",
    "sync",
    "retrieval.bars",
)
ALONE = ("stack",)  # not in `make bench`: it takes minutes


def main(names: list[str]) -> int:
    """Print the reports of these benchmarks, by default of all; returns the exit code."""
    if unknown := sorted(set(names) - {*BENCHMARKS, *ALONE}):
        sys.stderr.write(f"no benchmark {', '.join(unknown)}; there are {', '.join((*BENCHMARKS, *ALONE))}\n")
        return 2
    for name in names or BENCHMARKS:
        module = import_module(f"evals.{name}" if "." in name else f"evals.bench.{name}")
        for line in module.report():
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
