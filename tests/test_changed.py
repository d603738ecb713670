"""Tests chosen for changed files."""

from __future__ import annotations

import pytest

from tests.changed import chosen_for
from tests.rows import rows


@rows(
    "name, test",
    [
        ("sb/kernel/approvals/decisions.py", "tests/kernel/approvals/test_approvals.py"),
        ("screens/recovery.py", "tests/screens/test_recovery.py"),
        ("commands/install.py", "tests/hosts/install/test_install.py"),
        ("sb/hosts/install/environment.py", "tests/hosts/install/test_runtime.py"),
        ("sb/base/secrets/redaction.py", "tests/test_secrets.py"),
        ("tests/log/test_log.py", "tests/log/test_log.py"),
        ("docs/glossary.md", "tests/test_docs.py"),
        ("examples/eliza/index.js", "tests/plugins/test_eliza.py"),
    ],
)
def test_changed_file_is_tested(name: str, test: str) -> None:
    assert test in list(chosen_for(name))


@pytest.mark.parametrize("name", ["Makefile", "tests/test_that_was_removed.py", "tests/conftest.py"])
def test_changed_file_without_tests_chooses_none(name: str) -> None:
    assert list(chosen_for(name)) == []
