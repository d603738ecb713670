"""Is it seen which file a call is about, in each way that a host may read its path?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sb.hosts.hooks.event import NativeCall
from sb.hosts.hooks.judging_context import Surroundings
from sb.hosts.hooks.translation import govern


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    """A user whose home holds SB_HOME, a project, and a link that leads far away from it."""
    home, far = tmp_path / "ada", tmp_path / "a" / "b" / "c"
    for folder in (home / ".sb", home / "shop", home / "dotfiles" / "claude", far):
        folder.mkdir(parents=True)
    (home / "shop" / "far").symlink_to(far)
    (home / ".claude").symlink_to(home / "dotfiles" / "claude")
    return Surroundings(home / "shop", home, [home / ".sb"])


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
def test_what_is_secondbrains_own_is_refused_however_it_is_named(
    around: Surroundings, tool: str, field: str, path: str
) -> None:
    named = path.format(home=around.home)
    refused = govern(NativeCall(tool, {field: named, "content": "x"}), around).refused
    assert "belongs to SecondBrain" in refused


@pytest.mark.parametrize(
    ("tool", "args"),
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
def test_it_is_found_in_lists_and_patches_too(around: Surroundings, tool: str, args: dict[str, Any]) -> None:
    assert "belongs to SecondBrain" in govern(NativeCall(tool, args), around).refused


def test_in_the_folder_itself_a_bare_name_is_refused(around: Surroundings) -> None:
    inside = around._replace(cwd=around.home / ".sb")
    assert govern(NativeCall("Read", {"file_path": "operators.json"}), inside).refused
    assert govern(NativeCall("Write", {"file_path": "config.yaml"}), inside).refused


def test_a_hosts_settings_are_known_behind_a_link_and_by_their_own_name(around: Surroundings) -> None:
    settings = {"file_path": "~/.claude/settings.json", "content": "{}"}
    assert govern(NativeCall("Write", settings), around).tool_id == "host.write_config"


def test_ordinary_work_is_left_alone(around: Surroundings) -> None:
    for args in ({"file_path": "a.txt"}, {"file_path": str(around.home / "shop" / "b.txt")}):
        write = govern(NativeCall("Write", args), around)
        assert (write.tool_id, write.refused, len(write.paths)) == ("host.write", "", 1)
    for args in ({}, {"path": "src"}, {"path": "..", "glob": "*.py"}):
        assert govern(NativeCall("Grep", {"pattern": "x", **args}), around).refused == ""


@pytest.mark.parametrize("tool", ["Grep", "grep", "grep_search"])
def test_all_files_of_a_folder_above_secondbrains_own_are_not_searched(
    around: Surroundings, tool: str
) -> None:
    for path in ("..", "~", str(around.home.parent)):
        assert (
            "name a narrower folder"
            in govern(NativeCall(tool, {"pattern": "x", "path": path}), around).refused
        )


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Glob", {"path": "{home}", "pattern": ".sb/**"}),
        ("Glob", {"pattern": "{home}/.s*/**"}),
        ("Glob", {"pattern": "{root}/**/.sb/*"}),
        ("Glob", {"path": "~", "pattern": ".SB/*"}),
        ("Grep", {"path": "..", "pattern": "key", "glob": ".[rst]b/*"}),
        ("grep_search", {"dir_path": "..", "pattern": "key", "include": ".sb/*"}),
        ("read_many_files", {"include": ["a.txt", "../.s?/config.yaml"]}),
    ],
    ids=str,
)
def test_a_search_whose_pattern_leads_into_secondbrains_own_is_refused(
    around: Surroundings, tool: str, args: dict[str, Any]
) -> None:
    said = json.dumps(args).replace("{home}", str(around.home)).replace("{root}", str(around.home.parent))
    assert "belongs to SecondBrain" in govern(NativeCall(tool, json.loads(said)), around).refused


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Glob", {"pattern": "**/*.py"}),
        ("Glob", {"path": "..", "pattern": "*/config.yaml"}),
        ("Grep", {"path": "..", "pattern": ".sb/*", "glob": "*.py"}),
        ("read_many_files", {"include": ["src/*", "../.s/*"]}),
    ],
    ids=str,
)
def test_a_search_that_does_not_lead_there_goes_on(
    around: Surroundings, tool: str, args: dict[str, Any]
) -> None:
    assert govern(NativeCall(tool, args), around).refused == ""


@pytest.mark.parametrize("tool", ["PowerShell", "powershell"])
@pytest.mark.parametrize("command", ["Remove-Item -Recurse src", "rm src", "ls", "Get-Content a.txt; del *"])
def test_powershell_is_not_parsed_and_waits_for_a_person(
    around: Surroundings, tool: str, command: str
) -> None:
    call = govern(NativeCall(tool, {"command": command}), around)
    assert (call.tool_id, call.safety_class) == ("host.shell.destructive", "destructive")
    assert call.args["why"] == "not understood: PowerShell is not parsed"
    assert govern(NativeCall(tool, {"command": "sb approvals approve 7"}), around).refused


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("SendUserFile", {"files": ["{home}/.sb/brain.db"]}),
        ("mcp__files__edit", {"edits": [{"path": "../.sb/config.yaml"}]}),
        ("ReadMcpResourceTool", {"uri": "file://{home}/.sb/brain.db"}),
        ("Read", {"file_path": "/x/.." * 1000 + "{home}/.sb/brain.db"}),
        ("Read", {"file_path": "{home}/.SB/brain.db"}),
        ("Write", {"file_path": "{home}/.Sb/config.yaml"}),
    ],
    ids=["sent", "nested", "address", "long", "case", "case of a write"],
)
def test_secondbrains_own_is_found_wherever_among_arguments_and_in_whichever_case(
    around: Surroundings, tool: str, args: dict[str, Any]
) -> None:
    named = json.loads(json.dumps(args).replace("{home}", str(around.home)))
    assert "belongs to SecondBrain" in govern(NativeCall(tool, named), around).refused


@pytest.mark.parametrize(
    "paths", [[f"f{n}" for n in range(5000)], ["/x/.." * 1000 + "/y"]], ids=["many", "long"]
)
def test_a_call_with_more_paths_than_can_be_looked_at_is_refused(
    around: Surroundings, paths: list[str]
) -> None:
    call = NativeCall("MultiEdit", {"edits": [{"file_path": path} for path in paths]})
    assert "more files than are looked at" in govern(call, around).refused


def test_calls_that_cannot_be_put_on_record_as_they_are_differ_all_the_same(around: Surroundings) -> None:
    unreadable = [{"do": what, "x": float("nan")} for what in ("look", "destroy")]
    one, other = (govern(NativeCall("Gadget", args), around).args for args in unreadable)
    assert one != other


@pytest.mark.parametrize(
    "path",
    [
        "opencode.json",
        "{home}/.codeium/windsurf/hooks.json",
        ".vscode/mcp.json",
        "{home}/.config/Code/User/mcp.json",
    ],
)
def test_settings_of_every_host_wait_for_a_person(around: Surroundings, path: str) -> None:
    given = {"file_path": path.format(home=around.home), "content": "{}"}
    assert govern(NativeCall("Write", given), around).tool_id == "host.write_config"


@pytest.mark.parametrize(
    ("variable", "file"),
    [
        ("CLAUDE_CONFIG_DIR", "settings.json"),
        ("CODEX_HOME", "config.toml"),
        ("COPILOT_HOME", "hooks/sb.json"),
    ],
)
def test_settings_are_a_hosts_own_also_where_a_variable_says_that_they_are(
    around: Surroundings, variable: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = around.home / "conf" / file
    write = NativeCall("Write", {"file_path": str(place), "content": "{}"})
    assert govern(write, around).tool_id == "host.write"
    monkeypatch.setenv(variable, str(around.home / "conf"))
    assert govern(write, around).tool_id == "host.write_config"
    assert govern(NativeCall("Bash", {"command": f"echo x > {place}"}), around).refused
    other = NativeCall("Write", {"file_path": str(around.home / "other" / file), "content": "{}"})
    assert govern(other, around).tool_id == "host.write"


def test_settings_are_a_hosts_own_in_whichever_case(around: Surroundings) -> None:
    call = NativeCall("Write", {"file_path": ".CLAUDE/Settings.json", "content": "{}"})
    assert govern(call, around).tool_id == "host.write_config"
