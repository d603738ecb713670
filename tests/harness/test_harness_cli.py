"""`sb harness audit`: its exit codes, its documents, its refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from sb.harness import scorecard
from sb.kernel.harness_audit import AuditReport
from sb.runtime import open_runtime
from sb.store import driver
from tests.conftest import CommandLine
from tests.harness.conftest import BROKEN, breaks, run_audit

# A control that passes, two that are partial (a P1 and a P0), one that fails (P0) where it is broken.
PASSES, PARTIAL_P1, PARTIAL_P0, FAILS = "HA-12", "HA-28", "HA-02", "HA-26"
TWICE = '{"id": "HA-12", "title": "", "status": "pass"}'


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--only", PASSES], 0),
        (["--only", PASSES, "--fail-under", "1"], 0),
        (["--only", PARTIAL_P1, "--fail-under", "0.5"], 0),
        (["--only", PARTIAL_P1, "--fail-under", "0.51"], 1),
        (["--only", PARTIAL_P0], 0),
        (["--only", PARTIAL_P0, "--strict"], 2),
        (["--only", FAILS], 2),
        (["--only", FAILS, "--fail-under", "1"], 2),
        (["--explain", FAILS], 2),
        (["--outcome", "tool-controlled"], 0),
        (["--outcome", "reversible"], 2),
    ],
)
def test_exit_codes(
    sb: CommandLine, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    breaks(monkeypatch)
    assert sb("harness", "audit", *arguments).code == code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "--only", "HA-99"], "no control 'HA-99'"),
        (["audit", "--explain", "HA-"], "no control 'HA-'"),
        (["audit", "--outcome", "reversable"], "did you mean"),
        (["audit", "--only", PASSES, "--outcome", "reversible"], "belongs to reversible"),
        (["audit", "--explain", PASSES, "--only", PASSES], "--explain shows one control"),
        (["audit", "--fail-under", "80"], "--fail-under"),
        (["audit", "--fail-under", "nan"], "--fail-under is nan"),
        (["audit", "--only", ""], "no control ''"),
        (["audit", "--only", "a" * 10_000], "no control 'aaa"),
        (["audit", "--sarif", "a" * 300], "too long"),
        (["audit", "--diff", "/dev/zero"], "more than 16.0 MiB"),
        (["audit", "--fail-undr", "1"], "--fail-under"),
        (["audit", "--junit", "-", "--sarif", "-"], "only one document fits on stdout"),
        (["audit", "--junit", "r", "--sarif", "r"], "two reports in one file"),
        (["audit", "--sarif", "/nonexistent/r.sarif"], "no such folder"),
        (["audit", "--sarif", "/"], "folder"),
        (["audit", "--diff", "/nonexistent"], "cannot read /nonexistent"),
        (["audit", "extra"], "extra"),
        (["adit"], "no command 'adit' in sb harness"),
        (["--bad"], "--bad"),
    ],
)
def test_a_usage_error_is_64_one_line_and_runs_nothing(
    sb: CommandLine, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.setattr("sb.harness.running.audit", lambda *_, **__: pytest.fail("it ran"))
    outcome = sb("harness", *arguments)
    assert outcome.code == 64
    assert outcome.out == ""
    assert outcome.err.startswith("sb: error: ")
    assert said in outcome.err.splitlines()[0]


@pytest.mark.parametrize("arguments", [["--only", "HA-99"], ["--sarif", "-"], ["--fail-under", "x"]])
def test_a_usage_error_with_json_is_json(sb: CommandLine, arguments: list[str]) -> None:
    outcome = sb("harness", "audit", "--json", *arguments)
    assert outcome.code == 64
    assert outcome.json["error"]["kind"] == "usage"


def test_the_document_has_what_programs_need(audited: subprocess.CompletedProcess[bytes]) -> None:
    document = json.loads(audited.stdout)
    assert document["format"] == 1
    assert document["pass"] + document["partial"] + document["fail"] == len(document["controls"]) == 40
    assert document["score"] == (document["pass"] + document["partial"] / 2) / 40
    assert document["exit_code"] == 2
    failing = [
        item["id"] for item in document["controls"] if (item["severity"], item["status"]) == ("P0", "fail")
    ]
    assert document["blockers"] == failing
    control = next(item for item in document["controls"] if item["id"] == PASSES)
    assert control["ref"] == 16
    assert all(check["ok"] and check["observed"] for check in control["checks"])
    unbuilt = next(item for item in document["controls"] if item["id"] == PARTIAL_P1)
    assert (unbuilt["status"], unbuilt["reason"]) == ("partial", "not built: sb.memory.consolidation")


def test_the_scorecard_says_the_verdict_what_does_not_pass_and_what_to_mend_first(
    whole_report: AuditReport,
) -> None:
    lines = list(scorecard.scorecard(whole_report))
    assert " pass · " in lines[0]
    assert "BLOCKED by " in lines[0]
    assert any(line.startswith("III  Tool-controlled") and "✓ ✓ ✓" in line for line in lines)
    assert any(line.startswith("HA-26 P0 fail") for line in lines)
    assert any(line.startswith("HA-28 P1 partial") and "not built: sb.memory" in line for line in lines)
    assert lines[-1].startswith("mend first: HA-")


def test_a_passing_selection_prints_the_verdict_and_its_outcome_alone(sb: CommandLine) -> None:
    assert sb("harness", "audit", "--only", PASSES.lower()).out.splitlines() == [
        "100.0 %  1 pass · 0 partial · 0 fail",
        "",
        "III  Tool-controlled  ✓  100.0 %",
    ]


def test_explain_shows_question_checks_evidence_and_what_would_flip_it(
    sb: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)
    out = sb("harness", "audit", "--explain", PARTIAL_P0).out
    assert "Is what goes into a prompt exactly what was stored, within its scope?" in out
    assert "ok      deny  scope: A pack of another scope is absent." in out
    assert "NOT OK  also  wired" in out
    assert "it passes once these hold:\n  also wired:" in out
    assert "OWASP    ASI06, ASI01" in out


def test_an_outcome_is_named_by_its_number_too(sb: CommandLine) -> None:
    by_number = sb("harness", "audit", "--outcome", "iii", "--json").json
    assert [control["id"] for control in by_number["controls"]] == [
        "HA-11",
        "HA-12",
        "HA-13",
        "HA-14",
        "HA-15",
    ]


@pytest.fixture(scope="module")
def report() -> str:
    """This version's report on a control that passes and of one that fails."""
    return run_audit("--json", "--only", PASSES, "--only", FAILS, **BROKEN).stdout.decode()


def earlier(report: str, path: Path, **changes: Any) -> Path:
    """A report of before: this version's, with changes of statuses by control, or of the document itself."""
    document = json.loads(report)
    for control in document["controls"]:
        control["status"] = changes.get(control["id"].replace("-", "_"), control["status"])
    document |= {name: value for name, value in changes.items() if not name.startswith("HA_")}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_diff_says_what_regressed_what_was_fixed_and_what_cannot_be_compared(
    report: str, sb: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)
    before = earlier(
        report, tmp_path / "before.json", HA_12="fail", HA_26="pass", version="0.0.9", catalogue=0
    )
    selection = ["--only", PASSES, "--only", FAILS, "--only", PARTIAL_P1]
    outcome = sb("harness", "audit", "--diff", str(before), *selection)
    assert "since 0.0.9" in outcome.out
    assert "  regressed: HA-26 Planner/executor split (pass -> fail)" in outcome.out
    assert "  fixed: HA-12 Tool gateway and contract fingerprint (fail -> pass)" in outcome.out
    assert "  added: HA-28 Durable execution (partial)" in outcome.out
    assert "the catalogue is another one" in outcome.out
    compared = sb("harness", "audit", "--json", "--diff", str(before), *selection).json["diff"]
    assert [item["control_id"] for item in compared["regressed"]] == ["HA-26"]


def test_diff_with_what_has_not_changed_says_so_and_leaves_out_what_was_not_chosen(
    report: str, sb: CommandLine, tmp_path: Path
) -> None:
    before = earlier(report, tmp_path / "before.json")
    outcome = sb("harness", "audit", "--diff", str(before), "--only", PASSES)
    assert outcome.out.splitlines()[-2:] == ["since 0.1.0 (50.0 %):", "  nothing changed"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "format None"),
        (b'{"format": 2}', "a report of format 2, this version reads 1"),
        (b'{"format": 1}', "not a report"),
        (b'{"format": 1, "controls": [{"id": "HA-01", "title": "", "status": "green"}]}', "status 'green'"),
        (b'{"format": "' + b"x" * 10_000 + b'"}', "a report of format 'xxx"),
        (b'{"format": true, "controls": [], "version": "", "score": 1, "catalogue": 1}', "format True"),
        (b'{"format": 1, "controls": [], "version": "", "score": NaN, "catalogue": 1}', "score nan"),
        (b'{"format": 1, "controls": [], "version": "", "score": 1' + b"0" * 400 + b"}", "OverflowError"),
        (b'{"format": 1, "controls": [' + ", ".join([TWICE] * 2).encode() + b"]}", "twice"),
    ],
    ids=lambda item: item[:20],
)
def test_what_is_no_report_of_this_format_is_refused(
    sb: CommandLine, tmp_path: Path, text: bytes, said: str
) -> None:
    file = tmp_path / "before.json"
    file.write_bytes(text)
    outcome = sb("harness", "audit", "--only", PASSES, "--diff", str(file))
    assert outcome.code == 64
    assert said in outcome.err
    assert len(outcome.err) < 500


def test_an_earlier_report_says_nothing_in_our_name(report: str, sb: CommandLine, tmp_path: Path) -> None:
    control = {"id": "HA-12", "title": "Gateway\n  nothing changed", "status": "pass"}
    hostile = {"id": "X\n  fixed: HA-06", "title": "\x1b[2J", "status": "pass"}
    before = earlier(
        report, tmp_path / "before.json", controls=[control, hostile], version="1\n  nothing changed"
    )
    shown = sb("harness", "audit", "--only", PASSES, "--diff", str(before)).out.splitlines()
    assert [line for line in shown if line.startswith(("  nothing", "  fixed"))] == []
    assert len([line for line in shown if "removed: X" in line]) == 1


@pytest.mark.parametrize("name", ["before.json", "link.json"])
def test_no_report_overwrites_what_is_compared_with(
    report: str, sb: CommandLine, tmp_path: Path, name: str
) -> None:
    before = earlier(report, tmp_path / "before.json")
    (tmp_path / "link.json").symlink_to(before)
    text = before.read_bytes()
    outcome = sb("harness", "audit", "--diff", str(before), "--sarif", str(tmp_path / name))
    assert (outcome.code, before.read_bytes()) == (64, text)
    assert "would overwrite" in outcome.err


def test_a_link_that_leads_to_itself_is_no_place_for_a_report(sb: CommandLine, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    outcome = sb("harness", "audit", "--only", PASSES, "--sarif", str(loop))
    assert outcome.code == 64
    assert f"cannot write {loop}" in outcome.err


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second file system")
def test_a_report_goes_where_a_link_leads_also_to_another_disk(sb: CommandLine, tmp_path: Path) -> None:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        target = Path(folder, "audit.sarif")
        link = tmp_path / "link.sarif"
        link.symlink_to(target)
        assert sb("harness", "audit", "--only", PASSES, "--sarif", str(link)).code == 0
        assert json.loads(target.read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert link.is_symlink()


@pytest.mark.parametrize("option", ["--json", "--strict"])
def test_the_verdict_holds_when_nobody_reads_the_output(option: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "sb", "harness", "audit", "--only", FAILS, option]
    with os.fdopen(writing, "wb") as stdout:
        environment = {**os.environ, **BROKEN}
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=environment, check=False)
    assert (done.returncode, done.stderr) == (2, b"")


def test_settings_of_opentelemetry_do_not_change_the_answer(
    audited: subprocess.CompletedProcess[bytes],
) -> None:
    settings = {"OTEL_TRACES_SAMPLER": "always_off", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "2"}
    [with_settings] = json.loads(run_audit("--json", "--only", "HA-22", **settings).stdout)["controls"]
    [without] = [control for control in json.loads(audited.stdout)["controls"] if control["id"] == "HA-22"]
    assert with_settings == without


def test_installed_tools_that_print_spoil_no_document(tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text("def register(registry):\n    print('hello')\n", encoding="utf-8")
    package = tmp_path / "chatty-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: chatty\nVersion: 1\n", encoding="utf-8")
    (package / "entry_points.txt").write_text("[sb.tools]\nchatty = chatty:register\n", encoding="utf-8")
    found = run_audit("--json", "--only", PASSES, PYTHONPATH=str(tmp_path))
    assert json.loads(found.stdout)["pass"] == 1
    assert b"hello" in found.stderr


def test_live_looks_at_the_configured_database_and_leaves_the_score_alone(
    sb: CommandLine, home: Path
) -> None:
    open_runtime().close()
    without = sb("harness", "audit", "--only", PASSES, "--json").json
    outcome = sb("harness", "audit", "--only", PASSES, "--live", "--json").json
    live = {item["name"]: item["status"] for item in outcome.pop("live")}
    assert live["chain"] == live["integrity"] == live["baselines"] == "ok"
    assert outcome == without


@pytest.mark.parametrize(
    "damage", ["cut", "empty", "garbage", "schema", "missing", "edited", "bad configuration"]
)
def test_a_damaged_live_database_is_a_finding_and_no_crash(sb: CommandLine, home: Path, damage: str) -> None:
    open_runtime().close()
    database = home / "brain.db"
    if damage == "cut":
        database.write_bytes(database.read_bytes()[:5000])
    elif damage == "schema":
        database.write_bytes(
            database.read_bytes().replace(b"events", b"\xff\xfe((((")
        )  # SQLite quotes its names
    elif damage == "empty":
        database.write_bytes(b"")
    elif damage == "garbage":
        database.write_bytes(b"not a database" * 1000)
    elif damage == "missing":
        database.unlink()
    elif damage == "edited":
        connection = driver.connect(database)
        connection.execute("DROP TRIGGER events_are_final")
        connection.execute("UPDATE events SET agent = 'somebody' WHERE seq = 1")
        connection.close()
    else:
        (home / "config.yaml").write_text("nonsense: 1\n", encoding="utf-8")
    before = {file: file.read_bytes() for file in home.iterdir()}
    outcome = sb("harness", "audit", "--only", PASSES, "--live")
    assert outcome.code == 0
    assert {file: file.read_bytes() for file in home.iterdir()} == before
    assert "fail" in outcome.out.partition("live")[2]
    hints = {
        "edited": "chain: sb log verify names every row",
        "garbage": "chain: point --db or SB_DB at another file",
        "empty": "database: make one with `sb init`",
        "missing": "database: make one with `sb init`",
        "bad configuration": "configuration: ",
    }
    assert hints.get(damage, "restore a backup") in outcome.err


def test_slowest_says_on_stderr_which_probes_took_longest(sb: CommandLine) -> None:
    outcome = sb("harness", "audit", "--only", PASSES, "--slowest", "--json")
    assert outcome.err.startswith("HA-12 ")
    assert "ms" not in outcome.out
