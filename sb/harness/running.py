"""Runs the harness audit; a probe that fails still gets an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from sb import __version__
from sb.base.secrets.redaction import one_line
from sb.harness.folders import probe_folder, remove_left_behind
from sb.harness.harness import Harness
from sb.harness.network_guard import no_network
from sb.harness.probes import PROBES
from sb.kernel.harness_audit import AuditReport, Check, Control, Grade, grade, load_catalogue
from sb.kernel.registry.workers import DeadlineExceeded, Workers

Probe = Callable[[Harness], Iterable[Check]]
DEADLINE_S = 60.0  # a probe takes some 50 ms, the longest two seconds; on a busy machine ten times that
EVIDENCE_SHOWN = 300  # characters


def audit(
    controls: Iterable[Control] | None = None,
    *,
    strict: bool = False,
    fail_under: float = 0.0,
    probes: Mapping[str, Probe] = PROBES,
    deadline_s: float = DEADLINE_S,
    progress: Callable[[int, int, Control], None] = lambda done, total, control: None,
) -> AuditReport:
    """Probe the controls, each in a temporary home of its own, one after the other.

    Args:
        controls: by default all of the catalogue.
        strict, fail_under: as for AuditReport.
        probes: by id of the control; one without a probe fails.
        deadline_s: seconds after which a probe counts as hanging; it is left behind.
        progress: called before each control, with how many are graded, how many there are, and which is next.

    Raises:
        SBError: there is no folder for temporary files.
    """
    remove_left_behind()
    catalogue = load_catalogue()
    workers, grades, seconds = Workers(), [], {}
    chosen = tuple(catalogue.controls if controls is None else controls)
    for done, control in enumerate(chosen):
        progress(done, len(chosen), control)
        started = time.process_time()
        grades.append(_grade(control, probes.get(control.id), workers, deadline_s))
        seconds[control.id] = time.process_time() - started
    return AuditReport(catalogue, tuple(grades), __version__, strict, fail_under, seconds)


def _grade(control: Control, probe: Probe | None, workers: Workers, deadline_s: float) -> Grade:
    if probe is None:
        return grade(control, None)
    with probe_folder() as folder, no_network() as touched:
        clean = _Cleaning(folder)
        try:
            trouble = workers.call(lambda: clean.trouble_with(probe), deadline_s)
        except DeadlineExceeded:
            clean.over = True
            trouble = f"the probe hangs: no answer within {deadline_s:g} s"
        if touched:
            trouble = f"the network was touched: {', '.join(sorted(set(touched)))}"
        return grade(control, list(clean.checks), trouble)


class _Cleaning:
    """Collects what a probe sees, without the folder's name, which is another one each time.

    Args:
        over: nobody waits for it any more.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.checks: list[Check] = []
        self.over = False

    def trouble_with(self, probe: Probe) -> str:
        """The reason why the probe did not come to its end, or "".

        Told apart here, in its own thread: in the caller's, a KeyboardInterrupt is somebody who wants to stop.
        """
        try:
            for check in probe(Harness(self.folder)):
                if self.over:
                    break
                self.checks.append(Check(str(check.name), bool(check.ok), self.text(check.observed)))
        except BaseException as error:  # noqa: BLE001 - whatever a probe meets is its evidence
            return self.text(f"the probe raised {_said(error)}")
        return ""

    def text(self, evidence: str) -> str:
        return one_line(evidence.replace(str(self.folder), "HOME"), EVIDENCE_SHOWN)


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001 - the exception's own __str__ may raise anything
        return type(error).__name__
