"""Proposals: a change is applied only after an agent with it held against the run before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from sb.base.values.frozen import frozen
from sb.config import Home
from sb.evals.agents.agent import AgentUnderTest
from sb.evals.comparison import Comparison, GateResult, compare, gate
from sb.evals.running import Options, run_suites
from sb.evals.suite import Suite
from sb.evals.summary import RunSummary, summary


@frozen
class Proposal:
    """A change of an agent: another prompt, model, policy or memory.

    Args:
        agent: the agent with the change. apply: makes the change where it counts.
    """

    agent: AgentUnderTest
    apply: Callable[[], object]


class Evaluated(NamedTuple):
    """Result of a proposal."""

    applied: bool
    gate: GateResult
    comparison: Comparison
    run: RunSummary


def apply_if_better(
    proposal: Proposal,
    suites: Sequence[Suite],
    before: RunSummary,
    options: Options,
    *,
    real: Home,
    templates: Path | None = None,
) -> Evaluated:
    """Evaluate a proposal, and apply it if the gate holds; otherwise nothing is changed.

    Args:
        before: the run of these suites without the change: no case may be worse than there.
        real, templates: as for `run_suites`.

    Raises:
        UsageError: the run before is of other suites. What `apply` raises is passed on.
    """
    run = summary(run_suites(suites, proposal.agent, options, real=real, templates=templates))
    comparison = compare(before, run)
    decided = gate(run, comparison)
    if decided.exit_code == 0:
        proposal.apply()
    return Evaluated(decided.exit_code == 0, decided, comparison, run)
