"""Documentation that cannot drift: generated parts are current, every command is in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evals.docs import commands, files
from sb.cli import COMMANDS, load

ROOT = Path(__file__).parents[1]


def test_generated_documentation_is_current() -> None:
    """What is generated takes a whole audit: it is asked for once, and not when tests are collected."""
    stale = [path.name for path, text in files().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run `make docs`"


def test_every_command_has_help_and_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "cli-reference.md").read_text(encoding="utf-8")
    for words, command in commands():
        assert command.help, words
        assert f"## `{words}`" in reference
        for parameter in command.params:
            if parameter.param_type_name == "option" and "--help" not in parameter.opts:
                assert parameter.help, f"{words} {parameter.opts}"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_its_own_help(name: str) -> None:
    command = load(name)
    if getattr(command, "commands", None):
        assert command.help == COMMANDS[name]


def test_every_link_between_documents_leads_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_document_is_reachable_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [path.name for path in (ROOT / "docs").glob("*.md") if f"docs/{path.name}" not in readme]
    assert missing == []
