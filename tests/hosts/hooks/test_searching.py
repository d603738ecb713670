"""Credentials that a search would show, and those that a server's tool would replace: asked as the shell's are."""

from __future__ import annotations

from typing import Any

import pytest

from sb.hosts.hooks.event import Decision
from tests.hosts.hooks.conftest import Host

CONTENT = {"output_mode": "content"}
ENV = "reads the environment file of a project"


@pytest.fixture
def shop(host: Host) -> Host:
    (host.project / ".env").write_text("DATABASE_PASSWORD=hunter2\n", encoding="utf-8")
    (host.project / "src").mkdir()
    (host.project / "src" / "cart.py").write_text("PASSWORD = ''\n", encoding="utf-8")
    return host


def ignored(host: Host, rules: str) -> None:
    (host.project / ".gitignore").write_text(rules, encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "shows"),
    [
        ({"pattern": "PASSWORD", **CONTENT}, True),
        ({"pattern": "PASSWORD", "path": ".", **CONTENT}, True),
        ({"pattern": "hunter.", "path": "@", **CONTENT}, True),
        ({"pattern": ".*", **CONTENT}, True),
        ({"pattern": "total|password", **CONTENT}, True),
        ({"pattern": "PASSWORD"}, False),  # it tells names alone
        ({"pattern": "PASSWORD", "output_mode": "count"}, False),
        ({"pattern": "total", **CONTENT}, False),
        ({"pattern": "PASSWORD", "path": "src", **CONTENT}, False),
        ({"pattern": "PASSWORD", "glob": "*.py", **CONTENT}, False),
        ({"pattern": "PASSWORD", "type": "py", **CONTENT}, False),
    ],
)
def test_search_of_a_folder_asks_if_it_would_show_a_credential(
    shop: Host, given: dict[str, Any], shows: bool
) -> None:
    given = {name: value.replace("@", str(shop.project)) for name, value in given.items()}
    verdict = shop.before("Grep", **given)
    assert (verdict.decision is Decision.ASK, ENV in verdict.reason) == (shows, shows)


@pytest.mark.parametrize(("rules", "asks"), [(".env\n", False), (".env*\n!.env\n", True), ("*.log\n", True)])
def test_hosts_own_search_leaves_out_what_git_ignores(shop: Host, rules: str, asks: bool) -> None:
    ignored(shop, rules)
    assert (shop.before("Grep", pattern="PASSWORD", **CONTENT).decision is Decision.ASK) == asks


@pytest.mark.parametrize(
    ("tool", "asks"),
    [("grep", True), ("search_file_content", True), ("searchCode", True), ("search_issues", False)],
)
def test_search_by_a_server_may_read_what_git_ignores(shop: Host, tool: str, asks: bool) -> None:
    ignored(shop, ".env\n")
    verdict = shop.before(f"mcp__files__{tool}", path=".", query="PASSWORD")
    assert (ENV in verdict.reason) == asks


@pytest.mark.parametrize(
    ("tool", "given", "asks"),
    [
        ("write_file", {"path": ".env", "content": "A=1"}, True),
        ("delete_file", {"path": "@/.env"}, True),
        ("move_file", {"source": ".env", "destination": "old"}, True),
        ("edit_file", {"path": ".env", "edits": [{"oldText": "hunter2", "newText": "x"}]}, False),
        ("edit_file", {"path": ".env", "edits": [{"oldText": "", "newText": "x"}]}, True),
        ("write_file", {"path": ".env.new", "content": "A=1"}, False),
        ("write_file", {"path": "src/cart.py", "content": "A=1"}, False),
    ],
)
def test_approved_servers_tool_may_not_replace_credentials_unasked(
    shop: Host, tool: str, given: dict[str, Any], asks: bool
) -> None:
    shop.configure("hooks:\n  mcp: {'mcp__files__*': read}\n")
    given = {
        name: value.replace("@", str(shop.project)) if isinstance(value, str) else value
        for name, value in given.items()
    }
    verdict = shop.before(f"mcp__files__{tool}", **given)
    assert ("which holds credentials" in verdict.reason) == asks
    assert (verdict.decision is not Decision.NONE) == asks


def test_file_of_credentials_that_cannot_be_read_asks_nothing(shop: Host) -> None:
    (shop.project / ".env").unlink()
    (shop.project / ".env").symlink_to("gone")
    assert shop.before("Grep", pattern="PASSWORD", **CONTENT).decision is Decision.NONE
