"""A process that undoes what a call did, and is killed at one point of that.

`python recovery_child.py FOLDER POINT [own]`: undoes the newest mutation of FOLDER's home, as the runtime does or by a loop
of its own, and dies at POINT by SIGKILL. Each effect is a line of FOLDER/effects, written by the tool itself.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from sb.config import load_config
from sb.kernel import RunContext, SafetyClass, ToolResult
from sb.kernel.authority.signing import Label
from sb.kernel.compensation.dispatcher import CompensationDispatcher
from sb.kernel.contracts import RecoveryApprovalMode, ReversalClass, ReversalSpec
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.recovery_loop.calls import Reversal
from sb.kernel.recovery_loop.loop import RecoveryLoop, registry_approval_resolver
from sb.runtime import Runtime, open_runtime
from tests.faults.child import append

POINTS = ("never", "asked", "approved", "claimed", "inside", "done", "settled")
ASSUMPTION = "it is needed"


def open_here(folder: Path, point: str = "never") -> Runtime:
    """The runtime of the folder's home, with a tool that undoes and dies at this point."""

    def at(here: str) -> None:
        if here == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def undo(what: str) -> dict[str, Any]:
        at("inside")
        append(folder / "effects", what)
        at("done")
        return {}

    class Dying(Reversal):
        """The real reversal, in a process that dies in its transactions."""

        def queued(self, *args: Any) -> None:
            super().queued(*args)
            at("asked")

        def claim(self, *args: Any) -> None:
            at("approved")
            super().claim(*args)
            at("claimed")

        def settle(self, *args: Any) -> None:
            super().settle(*args)
            at("settled")

    from sb.kernel.recovery_loop import service

    vars(service)["Reversal"] = Dying
    home = folder / "home"
    config = load_config(env={"SB_HOME": str(home), "HOME": str(folder)}, cwd=folder, flags={})
    runtime = open_runtime(config)
    for mode in RecoveryApprovalMode:
        reversal = ReversalSpec(
            ReversalClass.COMPENSABLE, "thing.undo", mode, reversal_args={"what": "args.what"}
        )
        runtime.registry.register_fn(
            f"thing.{mode}", "Do", lambda what: what, SafetyClass.NETWORK, reversal=reversal
        )
    runtime.registry.register_fn("thing.undo", "Undo", undo, SafetyClass.NETWORK)
    return runtime


def prepare(folder: Path, mode: str) -> str:
    """Do the thing once; returns what it left behind."""
    (folder / "home").mkdir(mode=0o700)
    with open_here(folder) as runtime:
        for store in (runtime.baselines, runtime.reversals):
            store.seen.note_all(runtime.registry)
            store.approve(store.seen.fingerprints(runtime.registry), Label("tester"), "the test's own")
        result = runtime.executor.execute(
            RunContext.create("agent"), f"thing.{mode}", {"what": "x"}, assumptions=[ASSUMPTION]
        )
        return result.mutation_id


def recover(runtime: Runtime) -> None:
    """Say that the assumption turned false, and agree to whatever waits."""
    runtime.invalidate(AssumptionInvalidated(ASSUMPTION, reason="not any more"))
    for escalation in runtime.recovery.escalations.page():
        if escalation.state in ("waiting", "approved"):
            runtime.recovery.approve(escalation.id, Label("ada"), "undo it")


def recover_by_own_loop(runtime: Runtime) -> None:
    """Say it to a loop that performs the reversal with a function of its own."""
    store, undo = runtime.recovery.mutations, runtime.registry.get_callable("thing.undo")
    assert undo is not None
    RecoveryLoop(
        store,
        CompensationDispatcher(store),
        lambda ref: ToolResult.ok(ref.reversal_tool, undo(**ref.reversal_args)),
        registry_approval_resolver(runtime.registry),
    ).handle(AssumptionInvalidated(ASSUMPTION, reason="not any more"))


if __name__ == "__main__":
    with open_here(Path(sys.argv[1]), sys.argv[2]) as opened:
        (recover_by_own_loop if sys.argv[3:] else recover)(opened)
