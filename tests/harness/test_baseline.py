"""Baselines of audits, as a CI job holds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CommandLine
from tests.harness.conftest import breaks

PASSES, PARTIAL_P1, FAILS_P0 = "HA-12", "HA-28", "HA-26"
SELECTION = ["--only", PASSES, "--only", PARTIAL_P1, "--only", FAILS_P0]


@pytest.fixture(autouse=True)
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """HA-26 fails."""
    breaks(monkeypatch)


@pytest.fixture
def baseline(sb: CommandLine, tmp_path: Path) -> Path:
    file = tmp_path / "baseline.json"
    assert sb("harness", "audit", *SELECTION, "--write-baseline", str(file)).code == 0
    return file


def changed(file: Path, **statuses: str) -> Path:
    document = json.loads(file.read_text("utf-8"))
    for control in document["controls"]:
        control["status"] = statuses.get(control["id"].replace("-", "_"), control["status"])
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def test_controls_that_fail_in_the_baseline_do_not_fail_the_job(sb: CommandLine, baseline: Path) -> None:
    assert sb("harness", "audit", *SELECTION).code == 2
    outcome = sb("harness", "audit", *SELECTION, "--baseline", str(baseline))
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "baseline held")


@pytest.mark.parametrize(
    ("statuses", "code", "verdict"),
    [
        ({"HA_26": "pass"}, 2, "baseline BROKEN: HA-26"),
        ({"HA_26": "partial"}, 2, "baseline BROKEN: HA-26"),
        ({"HA_28": "pass"}, 1, "baseline BROKEN: HA-28"),
        ({"HA_12": "fail"}, 0, "baseline held"),
    ],
)
def test_a_control_below_its_baseline_fails_the_job(
    sb: CommandLine, baseline: Path, statuses: dict[str, str], code: int, verdict: str
) -> None:
    changed(baseline, **statuses)
    outcome = sb("harness", "audit", *SELECTION, "--baseline", str(baseline))
    assert (outcome.code, outcome.out.splitlines()[-1]) == (code, verdict)
    document = sb("harness", "audit", *SELECTION, "--json", "--baseline", str(baseline)).json
    assert document["exit_code"] == code


def test_a_new_control_that_fails_is_named_and_fails_nothing(sb: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    sb("harness", "audit", "--only", PASSES, "--write-baseline", str(file))
    outcome = sb("harness", "audit", *SELECTION, "--baseline", str(file))
    assert outcome.code == 0
    assert "  added: HA-26 Planner/executor split (fail)" in outcome.out


def test_a_control_that_held_and_is_gone_fails_the_job(sb: CommandLine, baseline: Path) -> None:
    document: dict[str, Any] = json.loads(baseline.read_text("utf-8"))
    document["controls"].append({"id": "HA-99", "title": "Seat belts", "status": "pass"})
    document["controls"].append({"id": "HA-98", "title": "Wings", "status": "fail"})
    baseline.write_text(json.dumps(document), encoding="utf-8")
    outcome = sb("harness", "audit", *SELECTION, "--baseline", str(baseline))
    assert (outcome.code, outcome.out.splitlines()[-1]) == (1, "baseline BROKEN: HA-99")


def test_a_threshold_holds_beside_a_baseline(sb: CommandLine, baseline: Path) -> None:
    outcome = sb("harness", "audit", *SELECTION, "--baseline", str(baseline), "--fail-under", "0.9")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (
        1,
        "baseline BROKEN: the score is below --fail-under",
    )


def test_a_baseline_is_text_to_commit_and_two_runs_write_the_same(
    sb: CommandLine, baseline: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again.json"
    sb("harness", "audit", *SELECTION, "--write-baseline", str(again))
    assert again.read_bytes() == baseline.read_bytes()
    assert json.loads(baseline.read_text("utf-8"))["format"] == 1
    assert len([line for line in baseline.read_text("utf-8").splitlines() if '"HA-' in line]) == 3


def test_a_whole_report_serves_as_a_baseline(sb: CommandLine, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(sb("harness", "audit", *SELECTION, "--json").out, encoding="utf-8")
    assert sb("harness", "audit", *SELECTION, "--baseline", str(report)).code == 0


@pytest.mark.parametrize("text", ["", "{", '{"format": 9}', '{"format": 1}'])
def test_a_file_that_is_no_baseline_is_refused_with_the_way_to_one(
    sb: CommandLine, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text, encoding="utf-8")
    for path in (file, tmp_path / "missing.json"):
        outcome = sb("harness", "audit", "--only", PASSES, "--baseline", str(path))
        assert outcome.code == 64
        assert path.name in outcome.err.splitlines()[0]
        assert "--write-baseline FILE" in outcome.err.splitlines()[1]


def test_a_baseline_is_not_overwritten_by_what_is_compared_with_it(sb: CommandLine, baseline: Path) -> None:
    text = baseline.read_bytes()
    both = ["--baseline", str(baseline), "--write-baseline", str(baseline)]
    assert sb("harness", "audit", *SELECTION, *both).code == 64
    assert baseline.read_bytes() == text
