"""Paths of a call: each reading that a host may make of one is checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.event import NativeCall
from sb.hosts.hooks.judged_call import JudgedCall
from tests.rows import rows


@pytest.fixture
def context(tmp_path: Path) -> JudgingContext:
    """A user whose home holds SB_HOME, a project, and a link that leads far away from it."""
    home, far = tmp_path / "ada", tmp_path / "a" / "b" / "c"
    for folder in (home / ".sb", home / "shop", home / "dotfiles" / "claude", far):
        folder.mkdir(parents=True)
    (home / "shop" / "far").symlink_to(far)
    (home / ".claude").symlink_to(home / "dotfiles" / "claude")
    return JudgingContext(home / "shop", home, [home / ".sb"])


OURS = [
    "{home}/.sb/config.yaml",
    "../.sb/config.yaml",
    "~/.sb/config.yaml",
    "~/../../.sb/config.yaml",  # by a host that knows no "~"
    "far/../../.sb/config.yaml",  # by a host that takes ".." away first
    "far/../../../ada/.sb/config.yaml",  # by a host that follows the link first
]


@pytest.mark.parametrize("path", OURS)
@pytest.mark.parametrize(
    ("tool", "field"),
    [
        ("Write", "file_path"),
        ("Read", "file_path"),
        ("write_file", "file_path"),
        ("create", "path"),
        ("view", "path"),
    ],
)
def test_secondbrains_files_are_refused_however_they_are_named(
    context: JudgingContext, tool: str, field: str, path: str
) -> None:
    named = path.format(home=context.home)
    refused = JudgedCall.of(NativeCall(tool, {field: named, "content": "x"}), context).governed.refused
    assert "belongs to SecondBrain" in refused


@rows(
    "tool, args",
    [
        ("read_many_files", {"include": ["a.txt", "../.sb/operators.json"]}),
        (
            "multi_replace_string_in_file",
            {"replacements": [{"filePath": "a"}, {"filePath": "../.sb/config.yaml"}]},
        ),
        ("apply_patch", {"patchText": "*** Begin Patch\n*** Delete File: ../.sb/config.yaml\n*** End Patch"}),
        ("mcp__files__read", {"path": "../.sb/operators.json"}),
        ("brand_new_tool", {"path": "../.sb/operators.json"}),
    ],
)
def test_secondbrains_files_are_found_in_lists_and_patches(
    context: JudgingContext, tool: str, args: dict[str, Any]
) -> None:
    assert "belongs to SecondBrain" in JudgedCall.of(NativeCall(tool, args), context).governed.refused


def test_in_the_folder_itself_a_bare_name_is_refused(context: JudgingContext) -> None:
    inside = context._replace(cwd=context.home / ".sb")
    assert JudgedCall.of(NativeCall("Read", {"file_path": "operators.json"}), inside).governed.refused
    assert JudgedCall.of(NativeCall("Write", {"file_path": "config.yaml"}), inside).governed.refused


def test_a_hosts_settings_are_known_behind_a_link_and_by_their_own_name(context: JudgingContext) -> None:
    settings = {"file_path": "~/.claude/settings.json", "content": "{}"}
    assert JudgedCall.of(NativeCall("Write", settings), context).governed.tool_id == "host.write_config"


def test_ordinary_work_is_not_refused(context: JudgingContext) -> None:
    for args in ({"file_path": "a.txt"}, {"file_path": str(context.home / "shop" / "b.txt")}):
        write = JudgedCall.of(NativeCall("Write", args), context).governed
        assert (write.tool_id, write.refused, len(write.paths)) == ("host.write", "", 1)
    for args in ({}, {"path": "src"}, {"path": "..", "glob": "*.py"}):
        assert JudgedCall.of(NativeCall("Grep", {"pattern": "x", **args}), context).governed.refused == ""


@pytest.mark.parametrize("tool", ["Grep", "grep", "grep_search"])
def test_search_of_a_folder_above_secondbrains_files_is_refused(context: JudgingContext, tool: str) -> None:
    for path in ("..", "~", str(context.home.parent)):
        assert (
            "search a narrower folder"
            in JudgedCall.of(NativeCall(tool, {"pattern": "x", "path": path}), context).governed.refused
        )


@rows(
    "tool, args",
    [
        ("Glob", {"path": "{home}", "pattern": ".sb/**"}),
        ("Glob", {"pattern": "{home}/.s*/**"}),
        ("Glob", {"pattern": "{root}/**/.sb/*"}),
        ("Glob", {"path": "~", "pattern": ".SB/*"}),
        ("Grep", {"path": "..", "pattern": "key", "glob": ".[rst]b/*"}),
        ("grep_search", {"dir_path": "..", "pattern": "key", "include": ".sb/*"}),
        ("read_many_files", {"include": ["a.txt", "../.s?/config.yaml"]}),
    ],
)
def test_search_pattern_into_secondbrains_files_is_refused(
    context: JudgingContext, tool: str, args: dict[str, Any]
) -> None:
    payload = (
        json.dumps(args).replace("{home}", str(context.home)).replace("{root}", str(context.home.parent))
    )
    assert (
        "belongs to SecondBrain"
        in JudgedCall.of(NativeCall(tool, json.loads(payload)), context).governed.refused
    )


@rows(
    "tool, args",
    [
        ("Glob", {"pattern": "**/*.py"}),
        ("Glob", {"path": "..", "pattern": "*/config.yaml"}),
        ("Grep", {"path": "..", "pattern": ".sb/*", "glob": "*.py"}),
        ("read_many_files", {"include": ["src/*", "../.s/*"]}),
    ],
)
def test_other_searches_run(context: JudgingContext, tool: str, args: dict[str, Any]) -> None:
    assert JudgedCall.of(NativeCall(tool, args), context).governed.refused == ""


@pytest.mark.parametrize("tool", ["PowerShell", "powershell"])
@pytest.mark.parametrize("command", ["Remove-Item -Recurse src", "rm src", "ls", "Get-Content a.txt; del *"])
def test_powershell_is_not_parsed_and_needs_approval(
    context: JudgingContext, tool: str, command: str
) -> None:
    call = JudgedCall.of(NativeCall(tool, {"command": command}), context).governed
    assert (call.tool_id, call.safety_class) == ("host.shell.destructive", "destructive")
    assert call.args["why"] == "cannot be parsed: PowerShell"
    assert JudgedCall.of(NativeCall(tool, {"command": "sb approvals approve 7"}), context).governed.refused


@rows(
    "tool, args",
    [
        ("SendUserFile", {"files": ["{home}/.sb/brain.db"]}),
        ("mcp__files__edit", {"edits": [{"path": "../.sb/config.yaml"}]}),
        ("ReadMcpResourceTool", {"uri": "file://{home}/.sb/brain.db"}),
        ("Read", {"file_path": "/x/.." * 1000 + "{home}/.sb/brain.db"}),
        ("Read", {"file_path": "{home}/.SB/brain.db"}),
        ("Write", {"file_path": "{home}/.Sb/config.yaml"}),
    ],
)
def test_secondbrains_files_are_found_anywhere_in_arguments_in_any_case(
    context: JudgingContext, tool: str, args: dict[str, Any]
) -> None:
    named = json.loads(json.dumps(args).replace("{home}", str(context.home)))
    assert "belongs to SecondBrain" in JudgedCall.of(NativeCall(tool, named), context).governed.refused


@pytest.mark.parametrize(
    "paths", [[f"f{n}" for n in range(5000)], ["/x/.." * 1000 + "/y"]], ids=["many", "long"]
)
def test_call_with_too_many_paths_is_refused(context: JudgingContext, paths: list[str]) -> None:
    call = NativeCall("MultiEdit", {"edits": [{"file_path": path} for path in paths]})
    assert "too many files to check" in JudgedCall.of(call, context).governed.refused


def test_unrecordable_arguments_have_different_digests(context: JudgingContext) -> None:
    unreadable = [{"do": what, "x": float("nan")} for what in ("look", "destroy")]
    arguments, other = (
        JudgedCall.of(NativeCall("Gadget", args), context).governed.args for args in unreadable
    )
    assert arguments != other


@rows(
    "path",
    [
        "opencode.json",
        "{home}/.codeium/windsurf/hooks.json",
        ".vscode/mcp.json",
        "{home}/.config/Code/User/mcp.json",
    ],
)
def test_settings_of_every_host_need_approval(context: JudgingContext, path: str) -> None:
    given = {"file_path": path.format(home=context.home), "content": "{}"}
    assert JudgedCall.of(NativeCall("Write", given), context).governed.tool_id == "host.write_config"


@pytest.mark.parametrize(
    ("variable", "file"),
    [
        ("CLAUDE_CONFIG_DIR", "settings.json"),
        ("CODEX_HOME", "config.toml"),
        ("COPILOT_HOME", "hooks/sb.json"),
    ],
)
def test_settings_are_recognised_in_the_folder_of_a_variable(
    context: JudgingContext, variable: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = context.home / "conf" / file
    write = NativeCall("Write", {"file_path": str(place), "content": "{}"})
    assert JudgedCall.of(write, context).governed.tool_id == "host.write"
    monkeypatch.setenv(variable, str(context.home / "conf"))
    assert JudgedCall.of(write, context).governed.tool_id == "host.write_config"
    assert JudgedCall.of(NativeCall("Bash", {"command": f"echo x > {place}"}), context).governed.refused
    other = NativeCall("Write", {"file_path": str(context.home / "other" / file), "content": "{}"})
    assert JudgedCall.of(other, context).governed.tool_id == "host.write"


def test_settings_are_recognised_in_any_case(context: JudgingContext) -> None:
    call = NativeCall("Write", {"file_path": ".CLAUDE/Settings.json", "content": "{}"})
    assert JudgedCall.of(call, context).governed.tool_id == "host.write_config"
