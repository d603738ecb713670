"""Probes of the controls about evals of agents: offline evals, and what may change by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sb.config import Home
from sb.errors import ConfigError
from sb.evals.agents.python import FunctionAgent
from sb.evals.comparison import compare, gate
from sb.evals.proposals import Proposal, apply_if_better
from sb.evals.reading import load_suites
from sb.evals.running import Options, run_suites
from sb.evals.summary import RunSummary, baseline_text, summary
from sb.harness.harness import Harness
from sb.harness.probes.failures import refusal
from sb.kernel.contracts import ToolResult
from sb.kernel.harness_audit import Check

_SUITE = """\
version: 1
cases:
- id: greets
  input: Greet Ada
  matchers:
  - {kind: contains, text: Ada}
- id: adds
  input: What is 2 and 3?
  matchers:
  - {kind: contains, text: "5"}
"""
_ONE = _SUITE.partition("- id: adds")[0]
_CLAIMS = """\
version: 1
cases:
- id: reads
  input: Read missing.txt
  matchers:
  - {kind: contains, text: done}
  trajectory:
    steps:
    - {tool: files.read, require_success: true}
"""
_TOOTHLESS = "version: 1\ncases:\n- {id: nothing, input: Say anything}\n"


def offline_evals(h: Harness) -> Iterator[Check]:
    """HA-16."""
    good, path = _file(h, "suite", _SUITE), _file(h, "claims", _CLAIMS)
    right = _run(h, _right, good)
    decided = gate(right)
    ok = decided.exit_code == 0 and [case.passes for case in right.cases] == [1, 1]
    yield Check("passes", ok, f"run_suites: {_said(right)}, exit {decided.exit_code}")

    wrong = _run(h, _wrong, good, path)
    code = gate(wrong).exit_code
    yield Check(
        "wrong",
        code == 1 and _said(wrong).startswith("greets passed, adds failed"),
        f"{_said(wrong)}, exit {code}",
    )

    compared = compare(right, wrong)
    worse = [change.case.id for change in compared.regressed]
    result = gate(wrong, compared)
    again = gate(right, compare(right, right))
    yield Check(
        "regression",
        worse == ["adds"] and result.exit_code == 1 and again.exit_code == 0,
        f"compare: worse {', '.join(worse)}, exit {result.exit_code}; with itself exit {again.exit_code}",
    )
    claimed = wrong.cases[-1]
    yield Check(
        "claim",
        (claimed.id, claimed.holds, claimed.score) == ("reads", False, 0.0),
        f"{_said(wrong)}, score {claimed.score}",
    )

    refused = refusal(lambda: load_suites([_file(h, "toothless", _TOOTHLESS)]))
    yield Check("toothless", refused == "ConfigError", f"load_suites: {refused}")


def evaluated_changes(h: Harness) -> Iterator[Check]:
    """HA-37: a change is applied only if its evaluation holds, and no agent reaches what evaluates it."""
    folder = h.folder / "project"
    folder.mkdir()
    suite = folder / "suite.yaml"
    suite.write_text(_ONE, encoding="utf-8")
    before = _run(h, _right, suite)
    yield _proposal(h, suite, before)
    yield _own_gate(h, suite, before)


def _proposal(h: Harness, suite: Path, before: RunSummary) -> Check:
    applied: list[str] = []
    outcomes = []
    for name, agent in (("worse", lambda text: "Hello"), ("as good", _right)):
        proposed = Proposal(FunctionAgent(agent), partial(applied.append, name))
        found = apply_if_better(
            proposed, load_suites([suite]), before, Options(), real=_real(h), templates=_templates(h)
        )
        outcomes.append(f"{name} {'applied' if found.applied else 'refused'}, exit {found.gate.exit_code}")
    return Check("proposal", applied == ["as good"], f"apply_if_better: {'; '.join(outcomes)}")


def _own_gate(h: Harness, suite: Path, before: RunSummary) -> Check:
    """In an eval and at work."""
    baseline = suite.parent / "baseline.json"
    baseline.write_text(baseline_text(before), encoding="utf-8")
    contents = suite.read_bytes(), baseline.read_bytes()
    tried: list[str] = []

    def cheat(text: str, *, tools: Any) -> str:
        tried.extend(_codes(lambda path: tools.execute("files.write", _written(path)), suite, baseline))
        return "passed"

    cheated = gate(_run(h, cheat, suite)).exit_code
    opened = _refused_reach(h, suite)
    with h.open({"files.roots": (suite.parent,), "release.eval": (suite, baseline)}) as runtime:
        ctx = h.context()
        tried += _codes(
            lambda path: runtime.executor.execute(ctx, "files.write", _written(path)), suite, baseline
        )
    same = (suite.read_bytes(), baseline.read_bytes()) == contents
    ok = same and cheated == 1 and opened and set(tried) == {"PERMISSION_DENIED"} and len(tried) == 4
    seen = f"files.write: {', '.join(tried)}; unchanged {same}, exit {cheated}; opened root refused {opened}"
    return Check("gate", ok, seen)


def _written(path: Path) -> dict[str, str]:
    return {"path": str(path), "content": "passed"}


def _codes(write: Callable[[Path], ToolResult], *paths: Path) -> list[str]:
    return [str(write(path).error_code) for path in paths]


def _refused_reach(h: Harness, suite: Path) -> bool:
    """True if a suite whose configuration opens its own folder is refused."""
    wide = _file(h, "wide", f"config:\n  files: {{roots: ['{suite.parent.parent}']}}\n{_SUITE}")
    try:
        _run(h, _right, wide)
    except ConfigError:
        return True
    return False


def _right(text: str) -> str:
    return "Hello Ada" if "Ada" in text else "That is 5"


def _wrong(text: str, *, tools: Any) -> str:
    if "missing" in text:
        tools.execute("files.read", {"path": "missing.txt"})
        return "done"
    return _right(text).replace("5", "6")


def _file(h: Harness, name: str, text: str) -> Path:
    path = h.folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def _run(h: Harness, agent: Callable[..., str], *paths: Path) -> RunSummary:
    made = run_suites(
        load_suites(list(paths)),
        FunctionAgent(agent),
        Options(),
        real=_real(h),
        templates=_templates(h),
        clock=h.clock,
        ids=h.ids,
    )
    return summary(made)


def _real(h: Harness) -> Home:
    """The home that no case may reach: the probe's own."""
    return Home(h.folder / "home")


def _templates(h: Harness) -> Path:
    return h.folder / "templates"


def _said(run: RunSummary) -> str:
    return ", ".join(f"{case.id} {case.verdict}" for case in run.cases)
