"""Explain how a command line of a coding agent would be judged, without running or recording it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sb.config import Config
from sb.hosts.hooks.advising import DENIED, RUNS, as_kept, classified, outcome_of, safer, shell_call
from sb.hosts.hooks.event import GovernedCall, HookEvent, Moment
from sb.hosts.hooks.judging import judging_context
from sb.hosts.hooks.translation import govern
from sb.kernel.contracts import SafetyClass
from sb.kernel.reversal_contracts import ReversalClass
from sb.kernel.review.explain import Judge
from sb.parts import granted_permissions, hosted_files, open_policy, open_registry
from sb.shell import ShellVerdict
from sb.shell.advice import Advice
from sb.shell.words import display
from sb.text import counted

HOST = "claude-code"  # whose rules about agents apply, unless another is named


@dataclass(frozen=True)
class LineExplanation:
    """How one line would be judged.

    Args:
        outcome: `runs`, `asks` or `denied`.
        reasons: why it is asked for, or denied.
        commands: what the parser saw, for display. understood: whether all of it is known before it runs.
        touches: paths that it writes, as far as they are known.
        undo: what can be taken back.
        advice: a safer command that would run, or None.
    """

    command: str
    cwd: str
    contract: str
    safety_class: SafetyClass
    why: str
    outcome: str
    reasons: tuple[str, ...]
    commands: tuple[str, ...]
    understood: bool
    touches: tuple[str, ...]
    undo: str
    advice: Advice | None

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain JSON."""
        advice = self.advice
        return {
            "command": self.command,
            "cwd": self.cwd,
            "class": str(self.safety_class),
            "why": self.why,
            "contract": self.contract,
            "outcome": self.outcome,
            "reasons": list(self.reasons),
            "commands": list(self.commands),
            "understood": self.understood,
            "touches": list(self.touches),
            "undo": self.undo,
            "safer": {"command": advice.instead, "why": advice.why} if advice else None,
        }


def explain_line(config: Config, command: str, cwd: Path, agent: str = HOST) -> LineExplanation:
    """Explain a command line that an agent would run in a shell.

    Args:
        cwd: the folder that it would run in; absolute.
        agent: whose calls the policy is asked about, as `sb install` names a host.
    """
    event = HookEvent(agent, "PreToolUse", Moment.BEFORE, "", str(cwd))
    context = judging_context(config, event, hosted_files(config))
    registry, _ = open_registry(config, hosted=True)
    judge = Judge(open_policy(config), registry, granted_permissions(config))
    governed = as_kept(govern(shell_call(command), context), context, config)
    verdict = classified(command, context)
    outcome, reasons = outcome_of(judge, governed, agent)
    return LineExplanation(
        command,
        str(context.cwd),
        governed.tool_id,
        governed.safety_class,
        governed.why or str(governed.args.get("why", "")),
        outcome,
        reasons,
        tuple(" ".join(display(word) for word in argv) for argv in verdict.commands),
        verdict.understood,
        _touched(governed, verdict),
        _undo(judge, governed, outcome),
        None if outcome == RUNS else safer(judge, verdict, context, agent),
    )


def _touched(governed: GovernedCall, verdict: ShellVerdict) -> tuple[str, ...]:
    """The paths that a line deletes or writes, as far as they are known."""
    changed = [change.path for change in verdict.changes.changes or ()]
    kept = [str(path) for name in ("paths", "let_go") for path in governed.args.get(name, ())]
    return tuple(dict.fromkeys((*kept, *changed, *verdict.writes)))


def _undo(judge: Judge, governed: GovernedCall, outcome: str) -> str:
    spec = judge.registry.get(governed.tool_id)
    if outcome == DENIED:
        return "nothing to undo: it would not run"
    if governed.safety_class is SafetyClass.READ_ONLY:
        return "nothing to undo: it only reads"
    reversal = spec.reversal if spec else None
    if reversal is not None and reversal.class_of(governed.args) is ReversalClass.REVERSIBLE:
        gone = len(governed.args.get("let_go", ()))
        but = f", but for {counted(gone, 'scratch folder')}" if gone else ""
        return f"yes: `sb undo` restores a snapshot that is taken first{but}"
    if governed.args.get("let_go"):
        return "no: it deletes only what a build or a temporary folder holds"
    return "no: no snapshot is taken of what it changes"
