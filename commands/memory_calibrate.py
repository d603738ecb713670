"""`sb memory calibrate`: compare confidence with outcomes, and apply the settings that follow."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import confirmed, memory
from sb.commands.options import AsJson, Yes, single

from sb.base.text import counted
from sb.errors import UsageError

if TYPE_CHECKING:
    from sb.memory.calibration import Proposal, Ranking
    from sb.memory.gate.confidence import Calibration as OfCategory

app = single()


@app.command(epilog="Example: sb memory calibrate --apply")
def calibrate(
    ctx: typer.Context,
    apply: Annotated[bool, typer.Option("--apply", help="Write what is proposed to config.yaml.")] = False,
    revert: Annotated[
        bool, typer.Option("--revert", help="Restore config.yaml from before the last --apply.")
    ] = False,
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Compare confidence with outcomes, and propose settings."""
    from sb.memory import calibrating
    from sb.memory.calibration import proposals, ranking
    from sb.memory.gate.confidence import calibrations

    if apply and revert:
        raise UsageError("--apply and --revert exclude each other", "give one of them")
    with memory(ctx, "") as brain:
        config, clock = brain.config, brain.space.clock
        found = calibrations(brain.space.evidence.outcomes())
        outcomes = calibrating.outcomes(brain.space)
    proposed = proposals(outcomes, lambda category: calibrating.setting_of(config, category))
    weights = ranking(outcomes, config.memory.salience)
    file = calibrating.Calibration(config)
    if revert:
        confirmed(f"restore {config.home.config_file}?", yes=yes)
        file.revert()
        after = file.text()
        note(f"{config.home.config_file} is as it was before")
    else:
        after = file.proposed(proposed, weights)
    diff = file.diff(after)
    applied = apply and bool(diff)
    if not json_ and not revert:
        _show(found, proposed, weights, diff)
        if diff and not apply:
            note("nothing was changed: --apply writes it")
    if applied:
        confirmed(f"write this to {config.home.config_file}?", yes=yes)
        file.apply(after, os.environ, clock)
        note("written; sb memory calibrate --revert takes it back")
    if json_:
        output.emit_json(_as_json(found, proposed, weights, diff, applied))


def _show(found: list[OfCategory], proposed: list[Proposal], weights: Ranking | None, diff: str) -> None:
    from sb.memory.calibration import ENOUGH

    if not found:
        note("no outcomes yet: sb memory outcome ID --reason TEXT records one")
        return
    rows = [
        (
            calibration.category,
            str(calibration.outcomes),
            f"{calibration.confirmed:.2f}",
            f"{calibration.mean:.2f}",
            f"{calibration.brier:.3f}",
        )
        for calibration in found
    ]
    output.table(["category", "outcomes", "right", "confidence", "Brier"], rows)
    if proposed:
        changes = [
            (
                proposal.category, proposal.setting, f"{proposal.before:g}", f"{proposal.after:g}", str(proposal.judged),
                f"{proposal.brier_before:.3f}", f"{proposal.brier_after:.3f}",
            )
            for proposal in proposed
        ]  # fmt: skip
        output.line("")
        output.table(["category", "setting", "now", "proposed", "judged on", "Brier now", "then"], changes)
    if weights is not None:
        salience = ", ".join(f"{name} {weight:g}" for name, weight in weights.weights.items())
        pairs = counted(weights.pairs, "pair")
        output.line(
            f"salience: {salience}; right order of {pairs} {weights.before:.3f}, then {weights.after:.3f}"
        )
    if diff:
        output.line("")
        output.passage(diff.rstrip("\n"), "", lambda line: ())
    else:
        note(f"nothing to propose; it takes {counted(ENOUGH, 'outcome')} of a category in each half")


def _as_json(
    found: list[OfCategory],
    proposed: list[Proposal],
    weights: Ranking | None,
    diff: str,
    applied: bool,
) -> dict[str, Any]:
    return {
        "items": [calibration._asdict() for calibration in found],
        "proposals": [proposal._asdict() for proposal in proposed],
        "ranking": None if weights is None else {**weights._asdict(), "weights": dict(weights.weights)},
        "diff": diff,
        "applied": applied,
    }
