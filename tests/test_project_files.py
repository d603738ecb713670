"""Files that contributors and CI rely on: workflows, make targets, the hook of the site's builder."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from evals.docs_site import names_expanded, outward
from tests.rows import rows

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_ci_runs_every_python_that_is_declared() -> None:
    tests = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    matrix = tests["jobs"]["tests"]["strategy"]["matrix"]["python"]
    declared = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert matrix == declared


@rows("path", WORKFLOWS)
def test_workflow_needs_no_secret_and_states_its_permissions(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "secrets." not in text
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}


def test_only_the_publishing_job_of_a_release_may_ask_for_an_identity() -> None:
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    identity = [name for name, job in release["jobs"].items() if "permissions" in job]
    assert identity == ["publish"]
    assert release["jobs"]["publish"]["permissions"] == {"id-token": "write"}


@rows("path", WORKFLOWS)
def test_workflow_calls_targets_that_exist(path: Path) -> None:
    called = re.findall(r"run: make (\S+)", path.read_text(encoding="utf-8"))
    assert [target for target in called if f"\n{target}:" not in MAKEFILE] == []


def test_help_describes_every_target() -> None:
    targets = " ".join(re.findall(r"^\.PHONY:(.*)$", MAKEFILE, re.MULTILINE)).split()
    assert [
        target for target in targets if not re.search(rf"^{target}:.*  ## \S", MAKEFILE, re.MULTILINE)
    ] == []


def test_site_lists_the_public_names_of_a_package() -> None:
    assert (
        names_expanded("## Memory\n\n<!-- names of sb.memory -->\n") == "## Memory\n\n::: sb.memory.Brain\n"
    )


@pytest.mark.parametrize(
    ("repository", "shown"),
    [("https://host/a/b", "[cli](https://host/a/b/blob/main/sb/cli.py#L1)"), ("", "cli")],
)
def test_links_to_code_lead_to_the_repository_or_are_plain_text(repository: str, shown: str) -> None:
    docs = ROOT / "docs"
    page = (
        "[cli](../../sb/cli.py#L1), [glossary](glossary.md), [web](https://example.org), ![one](../call.svg)"
    )
    expected = page.replace("[cli](../../sb/cli.py#L1)", shown)
    assert outward(page, docs / "concepts", docs, repository) == expected
