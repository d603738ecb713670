"""Report an audit as JUnit XML, for CI systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from sb.kernel.harness_audit import AuditReport
from sb.present.reports import xml_line


def render(report: AuditReport) -> str:
    """The report as JUnit XML: a suite per outcome, a test case per control.

    A failing control is a `<failure>`. A partial one is `<skipped>`, unless it blocks (`--strict`): GitLab, Jenkins
    and the reporters for GitHub show skipped cases apart from those that passed, but turn the job red for a failure,
    and a partial control alone does not make the audit fail.
    """
    document = report.to_dict()
    cases = {control["id"]: _case(control, document["blockers"]) for control in document["controls"]}
    root = ElementTree.Element("testsuites", {"name": "sb harness audit", **_counts(list(cases.values()))})
    for outcome in document["outcomes"]:
        members = [cases[identifier] for identifier in outcome["controls"]]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            {
                "name": outcome["title"],
                "id": outcome["id"],
                **_counts(members),
                "skipped": _count(members, "skipped"),
            },
        )
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in _properties(document, outcome).items():
            ElementTree.SubElement(properties, "property", {"name": name, "value": value})
        suite.extend(members)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _counts(cases: Sequence[ElementTree.Element]) -> dict[str, str]:
    return {"tests": str(len(cases)), "failures": _count(cases, "failure"), "errors": "0", "time": "0"}


def _count(cases: Sequence[ElementTree.Element], tag: str) -> str:
    return str(sum(case.find(tag) is not None for case in cases))


def _properties(document: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, str]:
    # The schema has properties in suites only, so each one says the whole audit's score as well.
    return {
        "score": str(outcome["score"]),
        "audit.score": str(document["score"]),
        "audit.exit_code": str(document["exit_code"]),
        "audit.version": document["version"],
    }


def _case(control: Mapping[str, Any], blockers: Sequence[str]) -> ElementTree.Element:
    name = xml_line(f"{control['id']} {control['title']}")
    case = ElementTree.Element("testcase", {"name": name, "classname": control["outcome"], "time": "0"})
    reason = xml_line(f"{control['status']}: {control['reason']}")
    if control["status"] == "fail" or control["id"] in blockers:
        failure = ElementTree.SubElement(case, "failure", {"type": control["severity"], "message": reason})
        failure.text = "\n".join(["What would make it pass:", *map(xml_line, control["flip"])])
    elif control["status"] == "partial":
        ElementTree.SubElement(case, "skipped", {"message": reason})
    ElementTree.SubElement(case, "system-out").text = "\n".join(map(_observed, control["checks"]))
    return case


def _observed(check: Mapping[str, Any]) -> str:
    mark = "ok" if check["ok"] else "not ok"
    asked = f"{mark} - {check['kind']} {check['name']}: {check['says']}"
    return f"{xml_line(asked)}\n    observed: {xml_line(check['observed'])}"
