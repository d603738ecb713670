"""Whatever a probe does there is an answer, and the answers add up."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.errors import SBError
from sb.harness.harness import Harness
from sb.harness.network_guard import NetworkTouched, no_network
from sb.harness.running import audit
from sb.kernel.harness_audit import (
    AuditReport,
    Check,
    Control,
    ControlSeverity,
    ControlStatus,
    Grade,
    grade,
    load_catalogue,
)
from tests.rows import rows

CATALOGUE = load_catalogue()
CONTROL = next(control for control in CATALOGUE.controls if control.id == "HA-31")
Probe = Callable[[Harness], Iterable[Check]]


def graded(probe: Probe, deadline_s: float = 60.0) -> Grade:
    (found,) = audit([CONTROL], probes={CONTROL.id: probe}, deadline_s=deadline_s).grades
    return found


def all_ok(_: Harness) -> Iterator[Check]:
    for criterion in CONTROL.criteria:
        yield Check(criterion.name, True, "seen")


def all_but(name: str) -> Probe:
    return lambda h: [Check(check.name, check.name != name, check.observed) for check in all_ok(h)]


def test_a_control_passes_when_each_check_is_ok() -> None:
    found = graded(all_ok)
    assert (found.status, found.reason) == (ControlStatus.PASS, "")


@pytest.mark.parametrize("criterion", CONTROL.criteria, ids=lambda item: item.name)
def test_a_core_check_fails_a_control_and_a_secondary_one_makes_it_partial(criterion: object) -> None:
    name, core = criterion.name, criterion.core  # type: ignore[attr-defined]
    found = graded(all_but(name))
    assert found.status is (ControlStatus.FAIL if core else ControlStatus.PARTIAL)
    assert name in found.reason
    assert [line.partition(":")[0].split()[-1] for line in found.flip] == [name]


def test_a_check_that_the_probe_did_not_answer_is_not_ok() -> None:
    found = graded(lambda h: list(all_ok(h))[1:])
    assert found.status is ControlStatus.FAIL
    assert "gave no answer" in found.reason


def test_an_answer_to_what_nobody_asked_fails_the_control() -> None:
    found = graded(lambda h: [*all_ok(h), Check("invented", True, "seen")])
    assert (found.status, "invented" in found.reason) == (ControlStatus.FAIL, True)


def test_a_control_without_a_probe_fails() -> None:
    (found,) = audit([CONTROL], probes={}).grades
    assert (found.status, "no probe" in found.reason) == (ControlStatus.FAIL, True)


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("nothing to say")


RAISED = [
    ValueError("broken\x1b[2J"),
    SystemExit(0),
    SBError("no"),
    KeyboardInterrupt(),
    GeneratorExit(),
    CancelledError(),
    BaseExceptionGroup("several", [KeyboardInterrupt()]),
    Mute(),
]


@rows("error", RAISED)
def test_a_probe_that_raises_fails_its_control_and_keeps_what_it_saw(error: BaseException) -> None:
    def probe(h: Harness) -> Iterator[Check]:
        yield next(iter(all_ok(h)))
        raise error

    found = graded(probe)
    assert found.status is ControlStatus.FAIL
    assert found.reason.startswith(f"the probe raised {type(error).__name__}")
    assert "\x1b" not in found.reason
    assert found.findings[0].observed == "seen"


def test_a_probe_that_hangs_is_left_behind() -> None:
    ever = threading.Event()

    def probe(h: Harness) -> Iterator[Check]:
        yield from all_ok(h)
        ever.wait()

    found = graded(probe, deadline_s=0.2)
    ever.set()
    assert (found.status, found.reason) == (ControlStatus.FAIL, "the probe hangs: no answer within 0.2 s")


def test_what_is_left_behind_collects_no_more() -> None:
    ever, ended, went_on = threading.Event(), threading.Event(), threading.Event()

    def probe(h: Harness) -> Iterator[Check]:
        try:
            ever.wait()
            yield from all_ok(h)
            went_on.set()
        finally:
            ended.set()

    graded(probe, deadline_s=0.2)
    ever.set()
    assert ended.wait(60)
    assert not went_on.is_set()


@pytest.mark.parametrize("answers", [(True, False), (False, True)])
def test_an_answer_is_not_taken_back_by_another_one(answers: tuple[bool, bool]) -> None:
    name = CONTROL.criteria[0].name
    found = graded(lambda h: [*[Check(name, ok, str(ok)) for ok in answers], *all_ok(h)])
    assert (found.status, found.findings[0].observed) == (ControlStatus.FAIL, "False")


def reach(h: Harness) -> Iterator[Check]:
    with socket.socket() as sock:
        sock.connect(("127.0.0.1", 9))
    yield from all_ok(h)


def reach_quietly(h: Harness) -> Iterator[Check]:
    with pytest.raises(NetworkTouched):
        socket.getaddrinfo("example.org", 443)
    yield from all_ok(h)


@pytest.mark.parametrize(("probe", "event"), [(reach, "connect"), (reach_quietly, "getaddrinfo")])
def test_a_probe_that_touches_the_network_fails_even_when_nobody_hears_of_it(
    probe: Probe, event: str
) -> None:
    found = graded(probe)
    assert found.status is ControlStatus.FAIL
    assert found.reason == f"the network was touched: socket.{event}"


def test_outside_the_audit_the_network_is_free_again() -> None:
    with no_network() as touched, socket.socket() as sock, pytest.raises(NetworkTouched):
        sock.bind(("127.0.0.1", 0))
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
    assert touched == ["socket.bind"]


def test_evidence_names_no_folder_of_this_run() -> None:
    def probe(h: Harness) -> Iterator[Check]:
        with h.open() as runtime:
            place = runtime.config.database
        yield from (Check(check.name, check.ok, f"seen in {place}") for check in all_ok(h))

    assert {finding.observed for finding in graded(probe).findings} == {"seen in HOME/home/brain.db"}


def test_the_home_of_a_probe_is_its_own_and_gone_afterwards() -> None:
    folders: list[Path] = []

    def probe(h: Harness) -> Iterator[Check]:
        folders.append(h.folder)
        with h.open():
            yield from all_ok(h)

    assert [graded(probe).status for _ in range(2)] == [ControlStatus.PASS] * 2
    assert len(set(folders)) == 2
    assert not any(folder.exists() for folder in folders)


KILLED = """
import os, signal, sys
from sb.harness.running import audit
from sb.kernel.harness_audit import load_catalogue

def probe(harness):
    print(harness.folder, flush=True)
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))

audit([load_catalogue().controls[0]], probes={load_catalogue().controls[0].id: probe})
"""


@pytest.mark.parametrize("state", ["killed", "running"])
def test_what_a_killed_audit_left_behind_is_removed_by_the_next_and_a_running_ones_is_not(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stopped = "SIGKILL" if state == "killed" else "SIGSTOP"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, stopped], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        if state == "killed":
            process.wait()
        os.utime(folder, (1, 1))
        assert graded(all_ok).status is ControlStatus.PASS
        assert folder.is_dir() is (state == "running")
        process.kill()


def test_what_looks_like_it_and_is_somebody_elses_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "mine").mkdir()
    link, file = tmp_path / "sb-audit-link", tmp_path / "sb-audit-file"
    link.symlink_to("mine")
    file.touch()
    os.utime(file, (1, 1))
    os.utime(link, (1, 1), follow_symlinks=False)
    graded(all_ok)
    assert (link.is_symlink(), file.is_file(), (tmp_path / "mine").is_dir()) == (True, True, True)


def test_without_a_folder_for_temporary_files_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nonexistent")
    with pytest.raises(SBError, match="no folder for temporary files"):
        graded(all_ok)


def as_status(control: Control, status: ControlStatus) -> Grade:
    """A grade of that status."""
    ok = {True, False} if status is ControlStatus.PASS else {status is ControlStatus.PARTIAL}
    asked = [criterion for criterion in control.criteria if not criterion.waits]
    return grade(control, [Check(criterion.name, criterion.core in ok, "seen") for criterion in asked])


GRADABLE = [
    control
    for control in CATALOGUE.controls
    if not any(criterion.waits for criterion in control.criteria)
    and not all(criterion.core for criterion in control.criteria)
]
LISTS = st.lists(
    st.tuples(st.sampled_from(GRADABLE), st.sampled_from(ControlStatus)),
    min_size=1,
    unique_by=lambda item: item[0].id,
)


@given(LISTS, st.booleans(), st.floats(0, 1))
def test_score_blockers_and_exit_code_say_the_same(
    wanted: list[tuple[Control, ControlStatus]], strict: bool, fail_under: float
) -> None:
    grades = tuple(as_status(*item) for item in wanted)
    report = AuditReport(CATALOGUE, grades, "1", strict, fail_under)
    assert [item.status for item in grades] == [status for _, status in wanted]
    points = [{"pass": 2, "partial": 1, "fail": 0}[status] for _, status in wanted]
    assert report.score == pytest.approx(sum(points) / 2 / len(points))
    bad = {ControlStatus.FAIL, ControlStatus.PARTIAL} if strict else {ControlStatus.FAIL}
    blocked = [c.id for c, status in wanted if c.severity is ControlSeverity.P0 and status in bad]
    assert report.blockers == blocked
    assert report.exit_code == (2 if blocked else 1 if report.score < fail_under else 0)
    assert {item.control.id for item in report.queue} == {
        c.id for c, s in wanted if s is not ControlStatus.PASS
    }
    document = report.to_dict()
    assert sum(row["pass"] + row["partial"] + row["fail"] for row in document["outcomes"]) == len(wanted)
    assert sum(row["pass"] for row in document["upstream_outcomes"]) == document["pass"]
