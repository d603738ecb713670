"""Guarantees of the harness audit's reports, for code scanners, CI systems and people."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

from sb.base.text import plain, revealed
from sb.harness import junit, markdown, sarif
from sb.kernel.harness_audit import (
    AuditReport,
    Catalogue,
    Check,
    CheckKind,
    Control,
    ControlSeverity,
    ControlStatus,
    Criterion,
    Grade,
    HarnessOutcome,
    grade,
)
from tests.conftest import CommandLine
from tests.harness.schemas_of_reports import junit_schema
from tests.rows import rows

SCHEMAS = Path(__file__).parent / "schemas"
ROOT = Path(__file__).parents[2]
SARIF = Draft202012Validator(json.loads((SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8")))
PARSER = MarkdownIt("gfm-like")


def graded(
    identifier: str, status: str, severity: str = "P0", observed: str = "seen", **changed: Any
) -> Grade:
    """A control whose denial fails, or whose secondary check does, with what a probe observed there."""
    control = Control(
        id=identifier,
        ref=16,
        title="Tool gateway and contract fingerprint",
        outcome="tool-controlled",
        upstream_outcome="tool-controlled",
        severity=ControlSeverity(severity),
        question="Does a tool run only under the contract that was approved?",
        modules=("sb.kernel.not_built_yet", "sb.kernel.contracts"),
        owasp=("ASI04",),
        nist=("GV 6.1",),
        criteria=(
            Criterion("unchanged", CheckKind.ALLOW, "An unchanged contract executes."),
            Criterion("edited", CheckKind.DENY, "An edited one is denied."),
            Criterion("observed", CheckKind.ALSO, "With enforcement off it is logged."),
        ),
    )
    checks = [
        Check("unchanged", True, "success"),
        Check("edited", status != "fail", observed),
        Check("observed", status == "pass", observed),
    ]
    return grade(replace(control, **changed), checks)


def report(*grades: Grade, strict: bool = False) -> AuditReport:
    outcomes = (HarnessOutcome("tool-controlled", "III", "Tool-controlled"),)
    controls = tuple(item.control for item in grades)
    catalogue = Catalogue(1, outcomes, controls, tuple(control.id for control in controls))
    return AuditReport(catalogue, grades, "0.1.0", strict)


MIXED = report(
    graded("HA-01", "pass"),
    graded("HA-02", "fail"),
    graded("HA-03", "partial"),
    graded("HA-04", "fail", "P1"),
    graded("HA-05", "fail", "P2", modules=("sb.kernel.not_built_yet",)),
)


def scanned(audited: AuditReport) -> Any:
    log = json.loads(sarif.render(audited))
    SARIF.validate(log)
    return log["runs"][0]


def suites_of(audited: AuditReport) -> ElementTree.Element:
    text = junit.render(audited)
    junit_schema().validate(text)
    return ElementTree.fromstring(text)


def cells(text: str) -> list[list[str]]:
    """The rows of the tables, each cell as a reader sees it: its text alone."""
    rows: list[list[str]] = []
    tokens = PARSER.parse(text)
    for before, token in pairwise(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif before.type in ("th_open", "td_open"):
            children = token.children or []
            assert {child.type for child in children} <= {"text", "text_special"}, token.content
            rows[-1].append("".join(child.content for child in children))
    return rows


def test_the_scanner_gets_a_rule_for_every_control_and_a_result_for_each_that_does_not_pass() -> None:
    run = scanned(MIXED)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["HA-01", "HA-02", "HA-03", "HA-04", "HA-05"]
    assert [(r["ruleId"], r["level"]) for r in run["results"]] == [
        ("HA-02", "error"),
        ("HA-03", "note"),
        ("HA-04", "warning"),
        ("HA-05", "warning"),
    ]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])


def test_a_rule_says_how_severe_it_is_and_which_risks_it_covers() -> None:
    rules = scanned(MIXED)["tool"]["driver"]["rules"]
    assert [rule["properties"]["security-severity"] for rule in rules] == ["8.0", "8.0", "8.0", "5.0", "2.0"]
    assert rules[0]["properties"]["tags"] == ["security", "OWASP ASI04", "NIST AI RMF GV 6.1"]
    assert "- deny edited: An edited one is denied." in rules[0]["help"]["text"]
    assert rules[0]["name"] == "ToolGatewayAndContractFingerprint"


def test_a_result_points_at_the_first_module_that_exists_and_else_at_the_catalogue() -> None:
    places = {
        r["ruleId"]: r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for r in scanned(MIXED)["results"]
    }
    assert places["HA-02"] == "sb/kernel/contracts.py"
    assert places["HA-05"] == "sb/kernel/harness_audit/catalogue.yaml"


@pytest.mark.parametrize(
    ("module", "file"),
    [
        ("sb.kernel.recovery_loop", "sb/kernel/recovery_loop/__init__.py"),
        ("sb.errors.SBError", "sb/kernel/harness_audit/catalogue.yaml"),
    ],
)
def test_a_package_is_its_init_file_and_what_is_no_module_is_no_file(module: str, file: str) -> None:
    (result,) = scanned(report(graded("HA-01", "fail", modules=(module,))))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == file


def test_an_alert_stays_the_same_one_while_its_evidence_and_status_change() -> None:
    first = scanned(report(graded("HA-02", "fail", observed="one")))["results"][0]
    other = scanned(report(graded("HA-01", "fail"), graded("HA-02", "partial", observed="two")))["results"][1]
    assert first["partialFingerprints"] == other["partialFingerprints"]
    assert first["fingerprints"] == other["fingerprints"] == {"control/v1": "HA-02"}
    prints = [r["partialFingerprints"]["primaryLocationLineHash"] for r in scanned(MIXED)["results"]]
    assert len(set(prints)) == len(prints)


def test_a_ci_system_gets_a_failure_per_failing_control_and_a_skip_per_partial_one() -> None:
    suites = suites_of(MIXED)
    shown = {case.get("name", "")[:5]: [child.tag for child in case] for case in suites.iter("testcase")}
    assert shown == {
        "HA-01": ["system-out"],
        "HA-02": ["failure", "system-out"],
        "HA-03": ["skipped", "system-out"],
        "HA-04": ["failure", "system-out"],
        "HA-05": ["failure", "system-out"],
    }
    (suite,) = suites
    assert [suite.get(name) for name in ("tests", "failures", "skipped", "errors")] == ["5", "3", "1", "0"]
    assert {case.get("classname") for case in suite.iter("testcase")} == {"tool-controlled"}


def test_a_partial_control_that_blocks_is_a_failure_and_an_error() -> None:
    strict = report(graded("HA-03", "partial"), strict=True)
    assert [child.tag for child in next(suites_of(strict).iter("testcase"))] == ["failure", "system-out"]
    assert [result["level"] for result in scanned(strict)["results"]] == ["error"]


def test_a_test_case_carries_what_was_observed_and_a_suite_the_scores_and_no_times() -> None:
    suites = suites_of(MIXED)
    assert [element.text for element in suites.iter("system-out")][1] == (
        "ok - allow unchanged: An unchanged contract executes.\n    observed: success\n"
        "not ok - deny edited: An edited one is denied.\n    observed: seen\n"
        "not ok - also observed: With enforcement off it is logged.\n    observed: seen"
    )
    values = {p.get("name"): p.get("value") for p in suites.iter("property")}
    assert values["score"] == values["audit.score"] == "0.3"
    assert values["audit.exit_code"] == "2"
    assert {element.get("time") for element in suites.iter() if element.get("time")} == {"0"}


def test_a_page_says_the_verdict_the_outcomes_and_what_does_not_pass() -> None:
    text = markdown.render(MIXED)
    assert "**30.0 %** · 1 pass · 1 partial · 3 fail · BLOCKED by 1 P0: HA-02" in text
    rows = cells(text)
    assert rows[1] == ["III", "Tool-controlled", "30.0 %", "1", "1", "3", "P0"]
    assert [row[0] for row in rows[3:]] == ["HA-02", "HA-03", "HA-04", "HA-05"]
    assert rows[3][3:] == ["fail", "deny edited: seen"]


def test_page_and_scanner_say_what_was_graded_to_who_reads_them_beside_another_repository() -> None:
    text = markdown.render(MIXED)
    assert "SecondBrain 0.1.0, as it is installed, graded against 5 of its 5 controls by using it." in text
    results = {result["ruleId"]: result["message"]["text"] for result in scanned(MIXED)["results"]}
    title = "Tool gateway and contract fingerprint"
    assert results["HA-02"] == f"SecondBrain does not pass HA-02 {title}: deny edited: seen"
    assert results["HA-03"] == f"SecondBrain passes in part HA-03 {title}: also observed: seen"
    shown = scanned(MIXED)["tool"]["driver"]["rules"][1]["help"]
    for item in ("- deny edited: An edited one is denied.", "sb harness audit --explain HA-02"):
        assert item in shown["text"]
        assert item in shown["markdown"]


def test_a_page_of_an_audit_without_findings_has_no_table_of_them() -> None:
    text = markdown.render(report(graded("HA-01", "pass")))
    assert "BLOCKED" not in text
    assert "Not passing" not in text


MARKUP = [
    "|",
    "\\|",
    "]]>",
    "</failure>",
    "<!--",
    "<b>",
    "&amp;",
    "&#0;",
    "`",
    "``",
    "**a**",
    "_a_",
    "~~a~~",
    "\\",
    "\\(",
]
TARGETS = [
    "[x](http://example.com)",
    "![i](j)",
    "https://example.com",
    "www.example.com",
    "a@example.com",
    "//example.com",
]
UNSEEN = [" ", "\n", "\r", "\t", "\x00", "\x1b[2J", "\x85", "\u2028", "\u202e", "\ud800", "\ufffe", "\uffff"]
FRAGMENTS = [*MARKUP, *TARGETS, *UNSEEN, "{0}", "}}"]


def hold(evidence: str) -> None:
    """Each report says the evidence, and stays what it is."""
    control = graded("HA-01", "fail", observed=evidence, question=evidence, title=f"t{evidence}")
    hostile, shown = report(control), plain(revealed(control.reason), one_line=True)

    (result,) = scanned(hostile)["results"]
    assert "](" not in result["message"]["text"]
    assert not set(re.sub(r"\{\{|\}\}", "", result["message"]["text"])) & {"{", "}"}
    (rule,) = scanned(hostile)["tool"]["driver"]["rules"]
    inline = [token for token in PARSER.parse(rule["help"]["markdown"]) if token.type == "inline"]
    assert {child.type for token in inline for child in token.children or ()} <= {
        "text",
        "text_special",
        "softbreak",
    }
    (case,) = suites_of(hostile).iter("testcase")
    assert [child.tag for child in case] == ["failure", "system-out"]
    escaped = shown.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
    assert case[0].get("message") == f"fail: {escaped}"
    head, row = cells(markdown.render(hostile))[2:]
    assert len(row) == len(head) == 5
    assert row[4] == shown.strip()
    for module in (sarif, junit, markdown):
        text = module.render(hostile)
        assert text.encode().endswith(b"\n")
        assert text == module.render(hostile)


@rows("evidence", FRAGMENTS)
def test_evidence_cannot_break_out_of_a_report(evidence: str) -> None:
    hold(evidence)


@given(st.text(max_size=40) | st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join))
def test_neither_can_any_other_text(evidence: str) -> None:
    hold(evidence)


def test_a_real_audit_fits_the_schemas_and_points_at_files_of_this_repository(
    whole_report: AuditReport,
) -> None:
    results = scanned(whole_report)["results"]
    open_grades = [item for item in whole_report.grades if item.status is not ControlStatus.PASS]
    assert [result["ruleId"] for result in results] == [item.control.id for item in open_grades]
    for result in results:
        file = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert (ROOT / file).is_file(), file
    assert len(list(suites_of(whole_report).iter("testcase"))) == len(whole_report.grades)
    head, *rows = cells(markdown.render(whole_report))[len(whole_report.catalogue.outcomes) + 1 :]
    assert head[0] == "Control"
    assert [row[4] for row in rows] == [item.reason for item in open_grades]


def test_the_command_writes_the_reports_beside_what_it_prints_and_the_same_bytes_each_time(
    sb: CommandLine, tmp_path: Path
) -> None:
    names = ("audit.sarif", "audit.xml", "audit.md")
    written = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        options = zip(("--sarif", "--junit", "--markdown"), names, strict=True)
        arguments = [word for option, name in options for word in (option, str(folder / name))]
        done = sb("harness", "audit", "--only", "HA-12", "--json", *arguments)
        assert done.code == done.json["exit_code"]
        written.append([(folder / name).read_bytes() for name in names])
    assert written[0] == written[1]
    for option, text in zip(("--sarif", "--junit", "--markdown"), written[0], strict=True):
        assert sb("harness", "audit", "--only", "HA-12", option, "-").out.encode() == text
    SARIF.validate(json.loads(written[0][0]))
    junit_schema().validate(written[0][1].decode())


def test_the_schemas_refuse_what_is_wrong() -> None:
    log = json.loads(sarif.render(MIXED))
    log["runs"][0]["results"][0]["level"] = "catastrophic"
    assert not SARIF.is_valid(log)
    assert not junit_schema().is_valid(
        junit.render(MIXED).replace("<skipped", "<perhaps").replace("</skipped", "</perhaps")
    )
