"""Report an audit as SARIF, for code scanners."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from sb.base.text import plain, revealed
from sb.kernel.harness_audit import AuditReport
from sb.present.reports import markdown_literal

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SECURITY_SEVERITY = {"P0": "8.0", "P1": "5.0", "P2": "2.0"}  # inside GitHub's bands high, medium and low
_PROBLEM_SEVERITY = {"P0": "error", "P1": "warning", "P2": "recommendation"}
_READING = (
    "SecondBrain is graded by using it; the repository that shows this was not looked at. Allow and deny checks are core:"
    " the control fails without one of them, and is partial when only a check of the kind also does not hold."
)
_CATALOGUE = "sb/kernel/harness_audit/catalogue.yaml"


def render(report: AuditReport) -> str:
    """The report as a SARIF 2.1.0 log: a rule per control, a result per control that does not pass."""
    document = report.to_dict()
    controls = document["controls"]
    run = {
        "tool": {
            "driver": {
                "name": "sb harness audit",
                "version": document["version"],
                "rules": [_rule(control) for control in controls],
            }
        },
        "invocations": [{"executionSuccessful": True, "exitCode": document["exit_code"]}],
        "results": [
            _result(number, control, document["blockers"])
            for number, control in enumerate(controls)
            if control["status"] != "pass"
        ],
        "properties": {key: document[key] for key in ("score", "pass", "partial", "fail", "blockers")},
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _rule(control: Mapping[str, Any]) -> dict[str, Any]:
    severity = control["severity"]
    return {
        "id": control["id"],
        "name": "".join(word[:1].upper() + word[1:] for word in re.findall(r"\w+", control["title"])),
        "shortDescription": {"text": _message(control["title"])},
        "fullDescription": {"text": _message(control["question"])},
        "help": _help(control),
        "defaultConfiguration": {"level": "error" if severity == "P0" else "warning"},
        "properties": {
            "tags": [
                "security",  # without it GitHub does not read security-severity
                *(f"OWASP {risk}" for risk in control["owasp"]),
                *(f"NIST AI RMF {subcategory}" for subcategory in control["nist"]),
            ],
            "precision": "very-high",
            "problem.severity": _PROBLEM_SEVERITY[severity],
            "security-severity": _SECURITY_SEVERITY[severity],
            "severity": severity,
            "outcome": control["outcome"],
        },
    }


def _help(control: Mapping[str, Any]) -> dict[str, str]:
    """The help that GitHub shows with an alert, to somebody who may not know the audit."""
    checks = [f"{check['kind']} {check['name']}: {check['says']}" for check in control["checks"]]

    def written(literally: Callable[[str], str]) -> str:
        bullets = [f"- {literally(check)}" for check in checks]
        in_full = f"In full, with what was seen: sb harness audit --explain {control['id']}"
        return "\n".join([literally(control["question"]), "", *bullets, "", _READING, in_full])

    return {"text": written(revealed), "markdown": written(markdown_literal)}


def _result(number: int, control: Mapping[str, Any], blockers: Sequence[str]) -> dict[str, Any]:
    return {
        "ruleId": control["id"],
        "ruleIndex": number,
        "kind": "fail",
        "level": _level(control, blockers),
        "message": {"text": _message(_said(control))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _file(control["modules"]), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 1},
                }
            }
        ],
        "fingerprints": {"control/v1": control["id"]},
        "partialFingerprints": {"primaryLocationLineHash": _line_hash(control["id"])},
    }


def _said(control: Mapping[str, Any]) -> str:
    passes = "passes in part" if control["status"] == "partial" else "does not pass"
    return f"SecondBrain {passes} {control['id']} {control['title']}: {control['reason']}"


def _level(control: Mapping[str, Any], blockers: Sequence[str]) -> str:
    if control["id"] in blockers:
        return "error"
    return "note" if control["status"] == "partial" else "warning"


def _line_hash(identifier: str) -> str:
    # The only fingerprint that GitHub reads. Left to itself it hashes the line, and an edit of that line would
    # close the alert of a control and open another one.
    return hashlib.sha256(f"harness-audit {identifier}".encode()).hexdigest()[:16] + ":1"


def _message(text: str) -> str:
    """One line in which nothing is a placeholder (`{0}`) or a link (`[text](target)`) of SARIF's."""
    line = plain(revealed(text), one_line=True)
    return line.replace("{", "{{").replace("}", "}}").replace("](", "] (")


def _file(modules: Iterable[str]) -> str:
    """The file, relative to the repository, of the first module that exists, else the catalogue's."""
    return next(filter(None, map(_path, modules)), _CATALOGUE)


def _path(module: str) -> str:
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # a parent is missing, or is no package
        return ""
    if spec is None:
        return ""
    return module.replace(".", "/") + ("/__init__.py" if spec.submodule_search_locations else ".py")
