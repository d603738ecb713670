"""AgentDojo's ground-truth calls under three policies; needs `pip install 'secondbrain-sb[agentdojo]'`.

`python -m evals.agentdojo` prints the tables of docs/reference/evals-exchange.md.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from sb.config import load_config
from sb.evals.exchange.agentdojo import DojoReport, DojoTask, judge_tasks, load_tasks, register_tools
from sb.evals.kernel import approve_contracts
from sb.runtime import open_runtime

DEFAULT = "the default policy, all tools"
ASKING = "every effect asks a person, who is away"
LEAST = "the default policy, and only the tools that the user's task needs"
_ASKS: dict[str, object] = {
    "approve": "*",
    "classes": ["local_write", "network"],
}  # destructive calls ask a person without it
_POLICIES: dict[str, list[dict[str, object]]] = {DEFAULT: [], ASKING: [_ASKS], LEAST: []}


def measured(tasks: Sequence[DojoTask], name: str) -> DojoReport:
    """The report of one of the policies, under a kernel in a temporary home."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        home.mkdir(mode=0o700)
        (home / "config.yaml").write_text(yaml.safe_dump({"policy": _POLICIES[name]}), encoding="utf-8")
        config = load_config(env={"SB_HOME": str(home), "HOME": place}, cwd=home, flags={})
        with open_runtime(config) as runtime:
            register_tools(runtime, tasks)
            approve_contracts(runtime)
            return judge_tasks(runtime, tasks, least_privilege=name == LEAST)


def main() -> None:
    """Print a table for each policy."""
    tasks = load_tasks()
    for name in _POLICIES:
        report = measured(tasks, name)
        print(f"### {name}\n")
        print(*report.lines(), sep="\n")
        print(f"\n{report.total.without_calls} injected tasks have no ground-truth call with an effect.\n")


if __name__ == "__main__":
    main()
