"""Explain how a command line of a coding agent would be judged, without running or recording it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sb.base.text import counted
from sb.base.values.frozen import frozen
from sb.config import Config
from sb.hosts.hooks.event import GovernedCall
from sb.hosts.hooks.guards.advising import safer, shell_call
from sb.hosts.hooks.preview import Outcome, Preview, Previewed
from sb.kernel.contracts import SafetyClass
from sb.kernel.reversibility.contracts import ReversalClass
from sb.shell import ShellVerdict
from sb.shell.parsing.words import display
from sb.shell.programs.advice import Advice

HOST = "claude-code"  # whose rules about agents apply, unless another is named


@frozen
class LineExplanation:
    """Explanation of the verdict on one line.

    Args:
        reasons: why it is asked for, or denied.
        commands: what the parser saw, for display. understood: whether all of it is known before it runs.
        touches: paths that it writes, as far as they are known.
        confined: how the system holds it when it runs.
        undo: what can be taken back.
        advice: a safer command that would run, or None.
    """

    command: str
    cwd: str
    contract: str
    safety_class: SafetyClass
    why: str
    outcome: Outcome
    reasons: tuple[str, ...]
    commands: tuple[str, ...]
    understood: bool
    touches: tuple[str, ...]
    confined: str
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
            "confined": self.confined,
            "undo": self.undo,
            "safer": {"command": advice.instead, "why": advice.why} if advice else None,
        }


def explain_line(config: Config, command: str, cwd: Path, agent: str = HOST) -> LineExplanation:
    """Explain a command line that an agent would run in a shell.

    Args:
        cwd: the folder that it would run in; absolute.
        agent: whose calls the policy is asked about, as `sb install` names a host.
    """
    preview = Preview(config)
    context = preview.context(agent, str(cwd))
    judged = preview.judge_in(context, agent, shell_call(command))
    verdict, governed = context.classify(command), judged.governed
    return LineExplanation(
        command,
        str(context.cwd),
        governed.tool_id,
        governed.safety_class,
        governed.why or str(governed.args.get("why", "")),
        judged.outcome,
        judged.reasons,
        tuple(" ".join(display(word) for word in argv) for argv in verdict.commands),
        verdict.understood,
        _touched(governed, verdict),
        _confined(judged),
        _undo(preview, judged),
        None if judged.outcome.runs else safer(preview, verdict, context, agent),
    )


def _touched(governed: GovernedCall, verdict: ShellVerdict) -> tuple[str, ...]:
    """The paths that a line deletes or writes, as far as they are known."""
    changed = [change.path for change in verdict.changes.changes or ()]
    targets = [str(path) for name in ("paths", "let_go") for path in governed.args.get(name, ())]
    return tuple(dict.fromkeys((*targets, *changed, *verdict.writes)))


def _confined(judged: Previewed) -> str:
    if judged.outcome in (Outcome.REFUSED, Outcome.DENIED):
        return "it would not run"
    if judged.unconfined:
        return f"no: {judged.unconfined}"
    return (
        "yes: it writes to the project, temporary folders and caches alone, and to what it was approved for"
    )


def _undo(preview: Preview, judged: Previewed) -> str:
    governed = judged.governed
    spec = preview.registry.get(governed.tool_id)
    if judged.outcome in (Outcome.REFUSED, Outcome.DENIED):
        return "nothing to undo: it would not run"
    if governed.safety_class is SafetyClass.READ_ONLY:
        return "nothing to undo: it only reads"
    reversal = spec.reversal if spec else None
    if governed.args.get("tree"):
        elsewhere = (
            ", and nothing that it does elsewhere" if governed.safety_class is SafetyClass.NETWORK else ""
        )
        return (
            f"yes: `sb undo` restores what it changes in the project, whose tree is stored first{elsewhere}"
        )
    if governed.args.get("partly"):
        return "in part: `sb undo` restores the files that it names; a snapshot of those is taken first"
    if reversal is not None and reversal.class_of(governed.args) is ReversalClass.REVERSIBLE:
        gone = len(governed.args.get("let_go", ()))
        but = f", but for {counted(gone, 'scratch folder')}" if gone else ""
        return f"yes: `sb undo` restores a snapshot that is taken first{but}"
    if governed.args.get("let_go"):
        return "no: it deletes only what a build or a temporary folder holds"
    return "no: no snapshot is taken of what it changes"
