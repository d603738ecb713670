"""Every promise of docs/concepts/security.md, and every row of docs/reference/boundaries.md, names a test that exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from sb.kernel.harness_audit import load_catalogue
from tests.rows import rows

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "concepts" / "security.md").read_text(encoding="utf-8")
BOUNDARIES = (ROOT / "docs" / "reference" / "boundaries.md").read_text(encoding="utf-8")
BOUNDARY_MODULES = (
    *(
        f"kernel.{name}"
        for name in "agent_charter release_tuple context_sources memory_read_policy red_team replay".split()
    ),
    "config.organization",
)
CONTROLS = {control.id for control in load_catalogue().controls}
PASSING = set(
    re.findall(
        r"^HA-\d\d\b", (ROOT / "evals" / "harness-passing.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
)
RISKS = [f"ASI{number:02}" for number in range(1, 11)]

Row = dict[str, str]  # heading to cell


def rows_of(text: str, heading: str) -> list[Row]:
    """The rows of every table of a page that has a column of that name."""
    found = []
    for table in re.findall(r"^(?:\|.*\n)+", text + "\n", re.MULTILINE):
        names, _, *body = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
        if heading in names:
            found += [dict(zip(names, cells, strict=True)) for cells in body]
    return found


def controls_in(text: str) -> set[str]:
    return set(re.findall(r"\bHA-\d+\b", text))


def proofs_in(text: str) -> list[str]:
    return re.findall(r"`(tests/[^`]+)`", text)


@cache
def defined(path: Path) -> frozenset[str]:
    """The tests of a file, as they are called after its name: `function`, or `Class::function`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    found = [("", node) for node in tree.body] + [
        (f"{class_def.name}::", node) for class_def in classes for node in class_def.body
    ]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(
        prefix + node.name
        for prefix, node in found
        if isinstance(node, kinds) and node.name.startswith("test_")
    )


def missing(test: str) -> str:
    """The part of `tests/file.py::function`, a file or a folder of tests that is not there; "" if it is."""
    name, _, function = test.partition("::")
    path = ROOT / name
    if path.is_dir():
        return "" if any(path.glob("test_*.py")) else f"{name} holds no tests"
    if not path.is_file() or not path.name.startswith("test_"):
        return f"{name} is no file of tests"
    if function and function not in defined(path):
        return f"{name} has no {function}"
    return ""


PROMISES = rows_of(PAGE, "proof")


def test_the_page_holds_promises_at_every_boundary() -> None:
    chapters = re.split(r"^## (?=\d\. )", PAGE, flags=re.MULTILINE)[1:]
    assert [chapter[0] for chapter in chapters] == list("1234567")
    assert all(rows_of(chapter, "proof") for chapter in chapters)


@rows("promise", PROMISES)
def test_every_promise_is_shown_by_tests_that_there_are_or_controls_that_pass(promise: Row) -> None:
    proof = promise["proof"]
    named, shown = controls_in(proof), proofs_in(proof)
    assert named or shown, "nothing shows it"
    assert [problem for problem in map(missing, shown) if problem] == []
    assert named - CONTROLS == set(), "no such control"
    assert named - PASSING == set(), "a control that does not pass proves nothing"
    assert set(promise["risk"].split()) <= set(RISKS)
    assert promise["risk"]


@pytest.mark.parametrize("page", [PAGE, BOUNDARIES], ids=["security", "boundaries"])
def test_every_test_that_a_page_names_is_there(page: str) -> None:
    named = proofs_in(page)
    assert named
    assert [problem for problem in map(missing, named) if problem] == []


def test_every_module_of_the_boundaries_has_all_five_columns_and_a_test() -> None:
    found = rows_of(BOUNDARIES, "fails without it")
    assert [
        row for row in found if not all(row.values()) or len(proofs_in(row["fails without it"])) != 1
    ] == []
    modules = " ".join(row["module"] for row in found)
    missing_modules = [name for name in BOUNDARY_MODULES if f"`sb.{name}`" not in modules]
    assert missing_modules == []


def test_each_of_the_ten_risks_is_discussed_and_something_stands_against_it() -> None:
    discussed = rows_of(PAGE, "defended by")
    assert [row["risk"].partition(" ")[0] for row in discussed] == RISKS
    assert all(row["defended by"] for row in discussed)
    assert {risk for promise in PROMISES for risk in promise["risk"].split()} == set(RISKS)


def test_what_does_not_pass_is_named_as_no_protection_and_what_passes_is_not() -> None:
    absent = rows_of(PAGE, "what is missing")
    listed = [control for row in absent for control in sorted(controls_in(row["controls"]))]
    assert sorted(listed) == sorted(CONTROLS - PASSING), "docs/concepts/security.md, the last table"
    assert {row["state"] for row in absent} <= {"in part", "not built"}
    gaps = {
        control
        for row in rows_of(PAGE, "what does not, yet")
        for control in controls_in(row["what does not, yet"])
    }
    assert gaps <= CONTROLS - PASSING, "a gap that has been closed"


def test_whoever_looks_for_the_policy_finds_the_page_and_the_other_way_round() -> None:
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "](docs/concepts/security.md)" in policy
    assert "](../../SECURITY.md)" in PAGE
    assert "](docs/concepts/security.md)" in readme
    assert "](SECURITY.md)" in readme


@pytest.mark.parametrize(
    ("test", "problem"),
    [
        ("tests/test_nothing.py", "tests/test_nothing.py is no file of tests"),
        ("tests/conftest.py", "tests/conftest.py is no file of tests"),
        ("tests/test_secrets.py::test_nothing", "tests/test_secrets.py has no test_nothing"),
        ("tests/test_security_docs.py::missing", "tests/test_security_docs.py has no missing"),
        ("tests/test_secrets.py", ""),
        ("tests/kernel/recovery_loop", ""),
    ],
)
def test_a_proof_that_is_not_there_is_named(test: str, problem: str) -> None:
    assert missing(test) == problem
