"""Report a run of evals as JUnit XML, for CI systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from sb.evals.report import report_document
from sb.evals.results import CaseVerdict, EvalRun
from sb.present.reports import xml_line

_SHOWN_CALLS = 50  # of an attempt; the JSON report has them all


def render(run: EvalRun) -> str:
    """The run as JUnit XML: a suite per file, a test case per case.

    A case of which no gate lets pass is a `<failure>`; an agent that could not be run an `<error>`; a skipped case, and
    one that fails as expected, `<skipped>`.
    """
    document = report_document(run)
    root = ElementTree.Element("testsuites", {"name": "sb agent eval"})
    every: list[ElementTree.Element] = []
    for name, members in groupby(document["cases"], key=lambda case: str(case["suite"])):
        cases = list(map(_case, members))
        suite = ElementTree.SubElement(root, "testsuite", {"name": xml_line(name), **_counts(cases)})
        suite.set("skipped", _count(cases, "skipped"))
        suite.extend(cases)
        every += cases
    for key, value in _counts(every).items():
        root.set(key, value)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _counts(cases: Sequence[ElementTree.Element]) -> dict[str, str]:
    return {
        "tests": str(len(cases)),
        "failures": _count(cases, "failure"),
        "errors": _count(cases, "error"),
        "time": f"{sum(float(case.get('time', '0')) for case in cases):.3f}",
    }


def _count(cases: Sequence[ElementTree.Element], tag: str) -> str:
    return str(sum(case.find(tag) is not None for case in cases))


def _case(case: Mapping[str, Any]) -> ElementTree.Element:
    seconds = sum(attempt["seconds"] for attempt in case["attempts"])
    names = {"classname": xml_line(case["suite"]), "name": xml_line(case["id"]), "time": f"{seconds:.3f}"}
    element = ElementTree.Element("testcase", names)
    lines = [line for attempt in case["attempts"] for line in attempt["failures"]]
    message = xml_line(lines[0] if lines else case["verdict"])
    if case["verdict"] == CaseVerdict.ERROR:
        ElementTree.SubElement(element, "error", {"type": "agent", "message": message}).text = _text(lines)
    elif not case["holds"]:
        ElementTree.SubElement(
            element, "failure", {"type": case["verdict"], "message": message}
        ).text = _text(lines)
    elif case["verdict"] in (CaseVerdict.SKIPPED, CaseVerdict.EXPECTED):
        reason = xml_line(f"{case['verdict']}: {case['reason']}")
        ElementTree.SubElement(element, "skipped", {"message": reason})
    ElementTree.SubElement(element, "system-out").text = _text(_output(case))
    return element


def _output(case: Mapping[str, Any]) -> list[str]:
    score = "" if case["score"] is None else f", trajectory {case['score']:.2f}"
    lines = [f"{case['passes']} of {case['runs']} attempts passed{score}"]
    for number, attempt in enumerate(case["attempts"], 1):
        lines.append(f"attempt {number}: {'passed' if attempt['passed'] else 'failed'}")
        calls = attempt["calls"]
        lines += [
            f"  {call['tool']} {call['args']} {_ended(call['success'])}" for call in calls[:_SHOWN_CALLS]
        ]
        if len(calls) > _SHOWN_CALLS:
            lines.append(f"  and {len(calls) - _SHOWN_CALLS} more calls")
    return lines


def _ended(success: bool | None) -> str:
    return "" if success is None else ("ok" if success else "failed")


def _text(lines: Sequence[str]) -> str:
    return "\n".join(map(xml_line, lines))
