"""`make bench`: every benchmark, one line a comparison."""

from __future__ import annotations

from evals.bench import (
    approvals,
    audit,
    boundaries,
    cold_start,
    console,
    first_search,
    kernel,
    kill,
    mcp,
    memory,
    memory_peers,
    memory_screen,
    recovery,
    remember,
    replay,
    snapshots,
    sync,
    trajectories,
    workflows,
)
from evals.retrieval import bars

REPORTS = (
    kernel.report,
    boundaries.report,
    kill.report,
    recovery.report,
    replay.report,
    trajectories.report,
    snapshots.report,
    approvals.report,
    workflows.report,
    console.report,
    memory_screen.report,
    cold_start.report,
    audit.report,
    memory.report,
    remember.report,
    first_search.report,
    mcp.report,
    memory_peers.report,
    sync.report,
    bars.report,
)


def main() -> None:
    for report in REPORTS:
        for line in report():
            print(line, flush=True)


if __name__ == "__main__":
    main()
