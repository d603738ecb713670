"""Output of an audit, for tests of how it is shown: fifteen controls of three outcomes."""

from __future__ import annotations

from typing import Any

# outcome, number, title: id, number of the original, title, severity, status
CONTROLS = {
    ("context-aware", "I", "Context-aware"): (
        ("HA-01", 8, "Context source registry", "P0", "fail"),
        ("HA-02", 9, "Context budget and ranking", "P1", "fail"),
        ("HA-03", 10, "Freshness of what is read", "P1", "partial"),
        ("HA-04", 12, "Memory read policy", "P0", "fail"),
        ("HA-05", 13, "Memory write gate", "P0", "pass"),
    ),
    ("policy-governed", "II", "Policy-governed"): (
        ("HA-06", 1, "Agent charter", "P0", "fail"),
        ("HA-07", 5, "Policy engine", "P0", "pass"),
        ("HA-08", 6, "Data classification", "P1", "fail"),
        ("HA-09", 14, "Privacy and retention", "P1", "pass"),
        ("HA-10", 19, "Evidence for auditors", "P2", "partial"),
    ),
    ("tool-controlled", "III", "Tool-controlled"): (
        ("HA-11", 15, "Tool catalogue with risk classes", "P0", "pass"),
        ("HA-12", 16, "Tool gateway and contract fingerprint", "P0", "pass"),
        ("HA-13", 17, "Dry run and preview before an effect", "P1", "pass"),
        ("HA-14", 18, "Identity and authorization", "P0", "partial"),
        ("HA-15", 20, "Network and sandbox controls", "P0", "pass"),
    ),
}
REASONS = {
    "pass": "",
    "partial": "not built: sb.kernel.replay",
    "fail": "deny edited: ToolExecutor.execute: success; callable called 1 x",
}


def document() -> dict[str, Any]:
    """As `sb harness audit --json` prints it."""
    controls = [_control(*control, outcome[0]) for outcome, five in CONTROLS.items() for control in five]
    statuses = [control["status"] for control in controls]
    return {
        "format": 1,
        "version": "0.1.0",
        "score": 0.5667,
        **{status: statuses.count(status) for status in REASONS},
        "strict": False,
        "exit_code": 2,
        "blockers": ["HA-01", "HA-04", "HA-06"],
        "queue": ["HA-06", "HA-01", "HA-04", "HA-02", "HA-08", "HA-14", "HA-03", "HA-10"],
        "outcomes": [
            _outcome(*outcome, [control[0] for control in five]) for outcome, five in CONTROLS.items()
        ],
        "upstream_outcomes": [],
        "controls": controls,
    }


def _outcome(id_: str, number: str, title: str, controls: list[str]) -> dict[str, Any]:
    worst = {"tool-controlled": "", "policy-governed": "P1"}.get(id_, "P0")
    about = {"id": id_, "number": number, "title": title, "score": 0.5, "worst": worst, "controls": controls}
    return {**about, "pass": 2, "partial": 1, "fail": 2}


def _control(id_: str, ref: int, title: str, severity: str, status: str, outcome: str) -> dict[str, Any]:
    denied = "A description edited after approval is denied before policy, budget and callable."
    return {
        "id": id_,
        "ref": ref,
        "title": title,
        "outcome": outcome,
        "upstream_outcome": "reversible" if id_ == "HA-13" else outcome,
        "severity": severity,
        "status": status,
        "reason": REASONS[status],
        "question": "Does a tool with side effects run only under the contract that was approved?",
        "modules": ["sb.kernel.contracts", "sb.kernel.execution.executor", "sb.kernel.baselines"],
        "owasp": ["ASI04", "ASI02"],
        "nist": ["GV 6.1", "MG 3.1"],
        "checks": [
            _check(
                "unchanged", "allow", "An unchanged contract executes.", True, "ToolExecutor.execute: success"
            ),
            _check(
                "edited",
                "deny",
                denied,
                status != "fail",
                "ToolExecutor.execute: success; callable called 1 x",
            ),
            _check(
                "observe", "also", "With enforcement off it runs and is logged.", True, "observe: 1 event"
            ),
            {
                **_check("packet", "also", "The fingerprint is in the replay packet.", False, ""),
                "observed": "not built: sb.kernel.replay",
                "waits": "sb.kernel.replay",
            },
        ][: 3 if status == "pass" else 4],
        "flip": [f"deny edited: {denied}"],
    }


def _check(name: str, kind: str, says: str, ok: bool, observed: str) -> dict[str, Any]:
    return {"name": name, "kind": kind, "says": says, "ok": ok, "observed": observed, "waits": ""}
