"""The scripts of the GitHub action and of the pre-commit hook, really run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from tests.harness.conftest import BROKEN

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / ".github/actions/harness-audit/action.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
SCHEMA = json.loads((Path(__file__).parent / "schemas/github-action.json").read_text(encoding="utf-8"))
BIN = Path(sys.executable).parent
PARTIAL_P1, PARTIAL_P0 = "HA-28", "HA-02"


@dataclass(frozen=True)
class Step:
    """Outcome of a job's step."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str


@pytest.fixture
def job(tmp_path: Path) -> Any:
    """Runs the audit step as the runner does, where the step before it has installed this `sb`."""
    temp, work = tmp_path / "temp", tmp_path / "work"
    (temp / "harness-audit").mkdir(parents=True)
    (temp / "harness-audit/bin").symlink_to(BIN)
    work.mkdir()

    def run(environment: dict[str, str] | None = None, **inputs: str) -> Step:
        script, output, summary = tmp_path / "step.sh", tmp_path / "output", tmp_path / "summary"
        (step,) = (item for item in ACTION["runs"]["steps"] if item.get("id") == "audit")
        script.write_text(step["run"], encoding="utf-8")
        given = {name: declared["default"] for name, declared in ACTION["inputs"].items()} | inputs
        env = {name: resolved(value, given) for name, value in step["env"].items()}
        env |= {"RUNNER_TEMP": str(temp), "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
        for file in (output, summary):
            file.write_text("", encoding="utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=work,
            env={"PATH": os.environ["PATH"], **env, **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        outputs = dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())
        return Step(done.returncode, done.stdout + done.stderr, outputs, summary.read_text("utf-8"))

    run.work = work  # type: ignore[attr-defined]
    return run


def resolved(value: str, given: dict[str, str]) -> str:
    name = value.removeprefix("${{ inputs.").removesuffix(" }}")
    return given[name]


def test_the_action_is_what_github_accepts() -> None:
    Draft7Validator(SCHEMA).validate(ACTION)
    assert not Draft7Validator(SCHEMA).is_valid({**ACTION, "runs": {"using": "composite"}})


def test_no_input_is_written_into_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert all(value.startswith("${{ inputs.") for value in step["env"].values())


def test_the_action_prints_what_any_audit_does_whatever_surrounds_it_and_hands_on_its_score_and_summary(
    job: Any, audited: subprocess.CompletedProcess[bytes], tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (job.work / "sb.yaml").write_text("safety_mode: strict\n", encoding="utf-8")
    surroundings = {
        "PYTHONHASHSEED": "2",
        "TZ": "Asia/Kolkata",
        "TMPDIR": str(other),
        "SB_HOME": str(other / "home"),
        "SB_DB": str(other / "other.db"),
        "LC_ALL": "C",
        **BROKEN,
    }
    step = job(surroundings, sarif="reports of mine.sarif")
    [printed] = (tmp_path / "temp").glob("harness-audit-*/audit.json")
    assert (step.code, printed.read_bytes()) == (audited.returncode, audited.stdout)
    assert list(other.iterdir()) == []  # no home, no database, no leftovers
    code, document = audited.returncode, json.loads(audited.stdout)
    assert (code, audited.stderr) == (document["exit_code"], b"") == (2, b"")
    assert step.outputs == {"exit-code": str(code), "score": str(document["score"])}
    assert step.summary.startswith("# Harness audit\n")
    others = step.log.replace(step.summary, "").splitlines()
    assert [line.partition(" to ")[0] for line in others] == ["written"] * 2
    assert json.loads((job.work / "reports of mine.sarif").read_text("utf-8"))["version"] == "2.1.0"


def test_the_inputs_reach_the_audit(job: Any) -> None:
    codes = [
        job(BROKEN, only=PARTIAL_P0).code,
        job(BROKEN, only=PARTIAL_P0, strict="true").code,
        job(only=PARTIAL_P1, **{"fail-under": "0.5"}).code,
        job(only=PARTIAL_P1, **{"fail-under": "0.51"}).code,
    ]
    assert codes == [0, 2, 0, 1]
    refused = job(**{"fail-under": "2"})
    assert refused.outputs == {"exit-code": "64"}
    assert "--fail-under" in refused.log


def test_only_some_of_the_controls_are_graded_and_those_that_pass_do_not_fail_the_action(job: Any) -> None:
    step = job(only="HA-12 HA-07\n  HA-30", **{"fail-under": "1"})
    assert (step.code, step.outputs) == (0, {"exit-code": "0", "score": "1.0"})
    assert "graded against 3 of its 40 controls" in step.summary


@pytest.mark.parametrize(
    "inputs",
    [
        {"only": "HA-12 $(touch owned)"},
        {"only": "* --strict"},
        {"fail-under": '0"; touch owned; "'},
        {"fail-under": "$(touch owned)"},
        {"fail-under": "0 --only HA-12"},
        {"sarif": "`touch owned`/report.sarif"},
        {"strict": "true; touch owned"},
        {"strict": "yes"},
    ],
)
def test_an_input_is_never_run_and_one_that_means_nothing_fails_the_action(
    job: Any, inputs: dict[str, str]
) -> None:
    step = job(**inputs)
    assert step.code == 64
    assert step.outputs == {"exit-code": "64"}
    assert list(job.work.iterdir()) == []


def test_what_the_action_installs_by_default_is_the_repository_that_it_is_in() -> None:
    install = ACTION["runs"]["steps"][0]
    assert "$GITHUB_ACTION_PATH/../../.." in install["run"]
    folder = ROOT / ".github/actions/harness-audit/../../.."
    assert (
        tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]["name"] == "secondbrain-sb"
    )
    assert (folder / "constraints.txt").is_file()


def test_the_hook_runs_the_audit_and_fails_as_it_does() -> None:
    (hook,) = HOOKS
    assert {"id", "name", "entry", "language"} <= hook.keys()
    assert hook["language"] == "python"
    assert hook["pass_filenames"] is False

    def code(*arguments: str) -> int:
        command = [
            *shlex.split(hook["entry"]),
            *arguments,
        ]  # as pre-commit adds the `args` of a configuration
        environment = {"PATH": f"{BIN}:{os.environ['PATH']}", **BROKEN}
        return subprocess.run(command, env=environment, capture_output=True, check=False).returncode

    assert code("--only", PARTIAL_P0) == 0
    assert code("--only", PARTIAL_P0, "--strict") == 2
    assert code("--fail-under", "2") == 64


def test_what_the_documentation_shows_fits_the_action_and_the_hook() -> None:
    page = (ROOT / "docs/start/ci.md").read_text(encoding="utf-8")
    workflow, gitlab, hooks = (
        yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    )
    (step,) = (item for item in workflow["jobs"]["audit"]["steps"] if "harness-audit" in item["uses"])
    assert step["with"].keys() <= ACTION["inputs"].keys()
    assert "/.github/actions/harness-audit@" in step["uses"]
    assert {hook["id"] for hook in hooks["repos"][0]["hooks"]} == {HOOKS[0]["id"]}
    assert gitlab["harness-audit"]["script"][1].startswith("sb harness audit --junit ")
    for name in [*ACTION["inputs"], *ACTION["outputs"]]:
        assert f"| `{name}` |" in page


def test_the_action_holds_a_baseline_of_the_repository(job: Any) -> None:
    command = [str(BIN / "sb"), "harness", "audit", "--only", "HA-26", "--write-baseline", "baseline.json"]
    subprocess.run(command, cwd=job.work, env={**os.environ, **BROKEN}, capture_output=True, check=True)
    assert job(BROKEN, only="HA-26").code == 2
    assert job(BROKEN, only="HA-26", baseline="baseline.json").outputs["exit-code"] == "0"
