"""A file of credentials gets the same answer from a file tool as from a command line."""

from __future__ import annotations

from typing import Any

import pytest

from sb.hosts.hooks.event import Decision
from tests.hosts.hooks.conftest import Host

OLD = "KEY=1\nPORT=3000\n"
PATCH = "*** Begin Patch\n*** {} File: .env\n{}\n*** End Patch\n"


@pytest.mark.parametrize(
    ("tool", "given", "line"),
    [
        ("Write", {"content": "KEY=2\n"}, "echo KEY=2 > .env"),
        ("Write", {"content": ""}, ": > .env"),
        ("Edit", {"old_string": "", "new_string": "KEY=2"}, "echo KEY=2 > .env"),
        ("Delete", {}, "rm .env"),
        ("apply_patch", {"input": PATCH.format("Delete", "")}, "rm .env"),
        ("apply_patch", {"input": PATCH.format("Add", "+KEY=2")}, "echo KEY=2 > .env"),
    ],
)
def test_replacing_or_deleting_credentials_asks(
    host: Host, tool: str, given: dict[str, Any], line: str
) -> None:
    named = given if tool == "apply_patch" else {"file_path": ".env", **given}
    for missing in (True, False):
        if not missing:
            (host.project / ".env").write_text(OLD, encoding="utf-8")
        by_tool, by_line = host.before(tool, **named), host.before("Bash", command=line)
        assert (by_tool.decision is Decision.NONE) == missing, by_tool
        assert (by_line.decision is Decision.NONE) == missing, by_line
    assert "which holds credentials" in by_tool.reason


@pytest.mark.parametrize(
    ("tool", "given", "line"),
    [
        (
            "Edit",
            {"old_string": "PORT=3000", "new_string": "PORT=4000"},
            "sed -i 's/^PORT=3000/PORT=4000/' .env",
        ),
        ("Edit", {"old_string": "PORT=3000", "new_string": "PORT=3000\nURL=x"}, "echo URL=x >> .env"),
        (
            "MultiEdit",
            {"edits": [{"old_string": "PORT=3000", "new_string": "PORT=1"}]},
            "sed -i 's/PORT=3000/P=1/' .env",
        ),
        ("apply_patch", {"input": PATCH.format("Update", "@@\n-PORT=3000\n+PORT=1")}, "echo A=1 >> .env"),
    ],
)
def test_adding_to_credentials_or_changing_a_named_text_asks_nobody(
    host: Host, tool: str, given: dict[str, Any], line: str
) -> None:
    (host.project / ".env").write_text(OLD, encoding="utf-8")
    named = given if tool == "apply_patch" else {"file_path": ".env", **given}
    assert host.before(tool, **named).decision is Decision.NONE
    assert host.before("Bash", command=line).decision is Decision.NONE


@pytest.mark.parametrize("path", [".env.example", "README.md", "src/token.py"])
def test_other_files_are_written_unasked(host: Host, path: str) -> None:
    (host.project / path).parent.mkdir(exist_ok=True)
    (host.project / path).write_text("x\n", encoding="utf-8")
    assert host.before("Write", file_path=path, content="y").decision is Decision.NONE
