"""Unknown tools, such as those of MCP servers: their arguments are paths and command lines."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.event import Decision, GovernedCall, NativeCall
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.registry import adapter_for
from sb.kernel.authority.signing import Label
from tests.hosts.hooks.conftest import UNWATCHED, Host
from tests.rows import rows

ADA = Label("ada")
Args = dict[str, Any]


@pytest.fixture
def context(tmp_path: Path) -> JudgingContext:
    """A user whose home holds SB_HOME and settings of a host, and a project."""
    home = tmp_path.resolve() / "ada é"
    for folder in (home / ".sb", home / ".claude", home / "shop" / ".git" / "hooks", home / ".ssh"):
        folder.mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text("{}", encoding="utf-8")
    return JudgingContext(home / "shop", home, [home / ".sb"])


def call_of_server(host: str, server: str, tool: str, args: Args, cwd: Path) -> NativeCall:
    """The call of an MCP tool as a host tells of it."""
    about: Args = {"cwd": str(cwd), "session_id": "s", "hook_event_name": "PreToolUse"}
    payloads: dict[str, Args] = {
        "claude-code": about
        | {"transcript_path": "t", "tool_name": f"mcp__{server}__{tool}", "tool_input": args},
        "codex": about | {"turn_id": "1", "tool_name": f"mcp__{server}__{tool}", "tool_input": args},
        "gemini-cli": about
        | {
            "hook_event_name": "BeforeTool",
            "timestamp": "2026-01-01T00:00:00Z",
            "tool_name": f"mcp_{server}_{tool}",
            "tool_input": args,
            "mcp_context": {"server_name": server},
        },
        "cursor": {
            "cursor_version": "2",
            "conversation_id": "s",
            "hook_event_name": "beforeMCPExecution",
            "workspace_roots": [str(cwd)],
            "tool_name": tool,
            "tool_input": json.dumps(args),
        },
        "vscode": about
        | {"sessionId": "s", "transcript_path": "t", "tool_name": f"mcp_{server}_{tool}", "tool_input": args},
        "copilot": {
            "sessionId": "s",
            "timestamp": 1,
            "cwd": str(cwd),
            "toolName": f"{server}-{tool}",
            "toolArgs": json.dumps(args),
        },
        "opencode": {
            "host": "opencode",
            "event": "tool.execute.before",
            "sessionID": "s",
            "callID": "c",
            "cwd": str(cwd),
            "tool": f"{server}_{tool}",
            "args": args,
        },
        "windsurf": {
            "agent_action_name": "pre_mcp_tool_use",
            "trajectory_id": "s",
            "tool_info": {
                "mcp_server_name": server,
                "mcp_tool_name": tool,
                "mcp_tool_arguments": args,
                "cwd": str(cwd),
            },
        },
    }
    adapter = adapter_for(host, payloads[host])
    assert host == adapter.host
    return adapter.read(payloads[host]).calls[0]


def filled(args: Args, context: JudgingContext) -> Args:
    text = json.dumps(args, ensure_ascii=False).replace("{home}", str(context.home))
    read: Args = json.loads(text.replace("{nfd}", unicodedata.normalize("NFD", str(context.home))))
    return read


def judge(tool: str, args: Args, context: JudgingContext) -> GovernedCall:
    return JudgedCall.of(NativeCall(tool, filled(args, context)), context).governed


HOSTS = ("claude-code", "codex", "gemini-cli", "cursor", "vscode", "copilot", "opencode", "windsurf")
REFUSED: list[tuple[str, Args]] = [
    ("move_file", {"source": "~", "destination": "/tmp/x"}),
    ("move_file", {"source": "{home}", "destination": "/tmp/x"}),
    ("execute_command", {"command": "cd ~ && rm -rf .sb"}),
    ("write_file", {"path": "{home}/.sb/config.yaml", "content": "x"}),
]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(("tool", "args"), REFUSED, ids=str)
def test_unknown_tool_of_any_host_cannot_reach_secondbrains_files(
    host: str, tool: str, args: Args, context: JudgingContext
) -> None:
    call = call_of_server(host, "filesystem", tool, filled(args, context), context.cwd)
    assert JudgedCall.of(call, context).governed.refused


@rows("host", HOSTS)
def test_every_host_has_settings_that_an_mcp_tool_writes_wait_for_a_person(
    host: str, context: JudgingContext
) -> None:
    given = {"path": "~/.claude/settings.json", "content": "{}"}
    governed = JudgedCall.of(
        call_of_server(host, "filesystem", "write_file", given, context.cwd), context
    ).governed
    assert (governed.safety_class, governed.refused) == ("destructive", "")
    if governed.tool_id != "host.unknown":  # a host that does not tell which tools are of MCP servers
        assert governed.tool_id == "host.write_config"
        assert str(context.home / ".claude" / "settings.json") in governed.paths


@rows(
    "tool, args",
    [
        ("delete_directory", {"path": "{home}", "recursive": True}),
        ("delete_directory", {"path": ".."}),
        ("delete_directory", {"path": "$HOME"}),
        ("deleteDirectory", {"uri": "file://{home}"}),
        ("remove", {"targets": [{"where": "${HOME}"}]}),
        ("rename", {"from": "~/.claude", "to": "x"}),
        ("copy_directory", {"source": "~", "destination": "/tmp/x"}),
        ("file_manager", {"action": "delete", "path": "~"}),
        ("zip_folder", {"folder": "{home}", "output": "x.zip"}),
        ("write_file", {"path": "file://localhost{home}/%2Esb/config.yaml"}),
        ("write_file", {"path": "FILE://{home}/.sb/config.yaml?x#y"}),
        ("write_file", {"path": "{nfd}/.sb/config.yaml"}),
        ("write_file", {"path": "..\\.sb\\config.yaml"}),
        ("write_file", {"path": "%USERPROFILE%\\.sb\\config.yaml"}),
        ("write_file", {"path": "'~/.sb/config.yaml'"}),
        ("write_files", {"files": {"~/.sb/config.yaml": "x"}}),
        ("write_file", {"path": ".sb/config.yaml", "working_directory": "~"}),
        ("write_file", {"path": "config.yaml", "cwd": "../.sb"}),
        ("read_file", {"path": "$HOME/.sb/brain.db"}),
        (
            "call_tool",
            {
                "name": "write_file",
                "arguments": '{{"path": "~/.sb/config.yaml"}}'.replace("{{", "{").replace("}}", "}"),
            },
        ),
        ("run_command", {"command": "rm", "args": ["-rf", "{home}/.sb"]}),
        ("run_command", {"command": "rm", "args": ["-rf", "~/.sb"]}),
        ("run_command", {"command": ["sh", "-c", "cat ~/.sb/brain.db"]}),
        ("run_command", {"argv": ["bash", "-lc", "sb approvals approve 7"]}),
        ("run_commands", {"commands": ["ls", "rm -rf ~/.sb"]}),
        ("run_steps", {"steps": [{"run": {"cmd": "sb undo 3"}}]}),
        ("execute_command", {"command": "rm -rf .sb", "cwd": "~"}),
        ("execute_command", {"command": "echo x > ~/.claude/settings.json"}),
        ("interact_with_process", {"pid": 7, "input": "cat ~/.sb/brain.db\n"}),
        ("start_process", {"command": "cp -r ~ /tmp/x", "timeout_ms": 1000}),
        ("gadget", {"command": "sb operator init"}),
        ("exec", {"program": "rm", "args": ["-rf", "~"]}),
        ("exec", {"task": "rm -rf ~/.sb"}),
        ("gadget", {"bash": "rm -rf ~/.sb"}),
        ("cleanup", {"dir": "~"}),
        ("shell_exec", {"script": "cd ~\nrm -rf .sb"}),
        ("execute_code", {"code": "import os\nos.remove('{home}/.sb/brain.db')"}),
        ("execute_code", {"code": "open('{home}/.claude/settings.json', 'w')"}),
        ("evaluate", {"expression": "fs.rmSync('{home}/.sb/config.yaml')"}),
        ("send_keys", {"keys": "rm ~/.sb/config.yaml Enter"}),
    ],
)
def test_path_is_found_however_an_argument_names_it(tool: str, args: Args, context: JudgingContext) -> None:
    assert judge(f"mcp__x__{tool}", args, context).refused, args


@rows(
    "tool, args",
    [
        ("edit_file", {"path": "{home}/.claude/settings.json", "edits": []}),
        ("edit_block", {"file_path": "~/.claude/settings.local.json", "old_string": "a", "new_string": "b"}),
        ("create_file", {"filePath": "file://{home}/.codex/config%2Etoml"}),
        ("move_file", {"source": "x", "destination": "~/.claude/settings.json"}),
        ("write_file", {"path": ".mcp.json", "content": "{}"}),
        ("write_file", {"path": ".git/hooks/pre-commit", "content": "x"}),
        ("write_file", {"path": "pre-commit", "content": "x", "cwd": ".git/hooks"}),
        ("write_file", {"path": "~/.ssh/authorized_keys"}),
        ("append", {"target": "~/.bashrc", "text": "x"}),
        ("save", {"output": "/etc/hosts"}),
        ("text_editor", {"command": "create", "path": "~/.claude/settings.json", "file_text": "{}"}),
        ("extract_archive", {"archive": "x.zip", "destination": "~"}),
        ("git_clone", {"url": "https://example.org/x", "path": "~/.ssh"}),
        ("extract_archive", {"archive": "x.zip", "destination": "~/.claude"}),
        ("copy_directory", {"src": "evil", "dst": ".git"}),
        ("git_clone", {"url": "https://example.org/x", "path": ".claude"}),
        ("push_files", {"files": [{"path": "../../.claude/settings.json"}]}),
        ("browser_take_screenshot", {"filename": "~/.bashrc"}),
        ("execute_command", {"command": "rm -rf build"}),
        ("execute_command", {"command": "git", "args": ["push", "--force"]}),
        ("execute_command", {"command": "cp -r evil/. ~"}),
        ("run", {"command": ["rm", "-rf", "build"]}),
        ("terminal", {"command": "echo 'unclosed"}),
    ],
)
def test_effect_that_needs_approval_needs_it_from_any_tool(
    tool: str, args: Args, context: JudgingContext
) -> None:
    governed = judge(f"mcp__x__{tool}", args, context)
    assert (governed.safety_class, governed.refused) == ("destructive", ""), governed


EVERYDAY: list[tuple[str, Args]] = [
    # filesystem
    ("mcp__filesystem__read_text_file", {"path": "{home}/shop/a.py", "head": 20}),
    ("mcp__filesystem__read_text_file", {"path": "~/.claude/settings.json"}),
    ("mcp__filesystem__read_multiple_files", {"paths": ["a.py", "../x/b.py", "~/.ssh/config"]}),
    ("mcp__filesystem__list_directory", {"path": "{home}"}),
    ("mcp__filesystem__directory_tree", {"path": "~"}),
    ("mcp__filesystem__search_files", {"path": "~", "pattern": "settings.json"}),
    ("mcp__filesystem__get_file_info", {"path": "/etc/hosts"}),
    ("mcp__filesystem__write_file", {"path": "docs/setup.md", "content": "Edit ~/.claude/settings.json\nand run `rm -rf ~/.sb`"}),
    ("mcp__filesystem__write_file", {"path": "src/my file.py", "content": "~/.claude/settings.json"}),
    ("mcp__filesystem__edit_file", {"path": "a.py", "edits": [{"oldText": ".claude/settings.json", "newText": "/etc/hosts"}]}),
    ("mcp__filesystem__move_file", {"source": "a.txt", "destination": "~/notes/a.txt"}),
    ("mcp__filesystem__create_directory", {"path": "{home}/shop/build"}),
    ("mcp__filesystem__create_directory", {"path": "{home}"}),
    # git
    ("mcp__git__git_status", {"repo_path": "{home}/shop"}),
    ("mcp__git__git_add", {"repo_path": "{home}/shop", "files": [".claude/settings.json", "a.py"]}),
    ("mcp__git__git_commit", {"repo_path": ".", "message": "Change .claude/settings.json; rm -rf ~/.sb"}),
    ("mcp__git__git_log", {"repo_path": "~", "max_count": 5}),
    ("mcp__git__git_create_branch", {"repo_path": ".", "branch_name": "topic/.claude"}),
    # github
    ("mcp__github__create_or_update_file", {"owner": "a", "repo": "b", "path": ".mcp.json", "content": "{}", "message": "x", "branch": "m"}),
    ("mcp__github__push_files", {"owner": "a", "repo": "b", "files": [{"path": ".github/hooks/x.json", "content": "{}"}], "message": "x"}),
    ("MCP:create_or_update_file", {"owner": "a", "repo": "b", "path": ".mcp.json", "content": "{}"}),
    ("mcp__github__create_issue", {"title": "~/.claude/settings.json", "body": "run\n```\nrm -rf ~\n```"}),
    ("mcp__github__get_file_contents", {"owner": "a", "repo": "b", "path": ".claude/settings.json"}),
    ("mcp__github__add_issue_comment", {"issue_number": 1, "body": "/etc/hosts"}),
    # fetch, playwright
    ("mcp__fetch__fetch", {"url": "https://example.org/etc/.claude/settings.json"}),
    ("mcp__playwright__browser_navigate", {"url": "https://example.org/~ada/.ssh/x"}),
    ("mcp__playwright__browser_type", {"element": "box", "ref": "e1", "text": "rm -rf ~/.sb", "submit": True}),
    ("mcp__playwright__browser_evaluate", {"function": "() => { return [1,2].map(x => x*2) }"}),
    ("mcp__playwright__browser_run_code", {"code": "async (page) => { await page.goto('https://example.org'); }"}),
    ("mcp__playwright__browser_take_screenshot", {"filename": "page.png"}),
    ("mcp__playwright__browser_file_upload", {"paths": ["{home}/shop/a.png"]}),
    ("mcp__puppeteer__puppeteer_evaluate", {"script": "document.querySelectorAll('a').length"}),
    # databases
    ("mcp__postgres__query", {"sql": "select * from t where path = '~/.claude/settings.json'"}),
    ("mcp__sqlite__write_query", {"query": "insert into t values ('/etc/hosts')"}),
    ("mcp__redis__execute", {"command": "SET", "args": ["k", "v"]}),
    ("mcp__mongo__run", {"command": "ping"}),
    # people and thoughts
    ("mcp__slack__post_message", {"channel_id": "C1", "text": "~/.claude/settings.json"}),
    ("mcp__memory__create_entities", {"entities": [{"name": "settings", "entityType": "file", "observations": ["~/.claude/settings.json"]}]}),
    ("mcp__memory__add_observations", {"observations": [{"entityName": "x", "contents": ["rm -rf ~ is dangerous", "/etc/hosts"]}]}),
    ("mcp__memory__search_nodes", {"query": "~/.claude/settings.json"}),
    ("mcp__sequential-thinking__sequentialthinking", {"thought": "delete ~/.claude/settings.json?", "thoughtNumber": 1, "nextThoughtNeeded": False}),
    ("mcp__linear__create_issue", {"title": "Move /etc/hosts", "description": "~/.codex/config.toml is wrong", "priority": 1}),
    ("mcp__time__get_current_time", {"timezone": "Europe/Vienna"}),
    ("mcp__context7__get-library-docs", {"context7CompatibleLibraryID": "/vercel/next.js", "topic": "hooks"}),
    ("mcp__todo__add", {"task": "~/.codex/config.toml is where the hook goes, so move it", "goal": "tidy"}),
    # shells
    ("mcp__desktop-commander__start_process", {"command": "ls -la ~", "timeout_ms": 5000}),
    ("mcp__desktop-commander__start_process", {"command": "npm test", "shell": "bash"}),
    ("mcp__desktop-commander__interact_with_process", {"pid": 1, "input": "df = pd.read_csv('x.csv')"}),
    ("mcp__desktop-commander__read_file", {"path": "/etc/hosts", "offset": 0}),
    ("mcp__desktop-commander__start_search", {"path": "~", "pattern": "sb", "searchType": "files"}),
    ("mcp__desktop-commander__edit_block", {"file_path": "a.py", "old_string": "x", "new_string": "rm -rf ~"}),
    ("mcp__shell__run", {"command": ["git", "status"], "cwd": "."}),
    ("mcp__shell__execute_command", {"command": "cat", "args": ["README.md"]}),
    ("mcp__editor__text_editor", {"command": "view", "path": "src/a.py"}),
    ("mcp__editor__text_editor", {"command": "init", "path": "src/a.py"}),
    ("mcp__ide__executeCode", {"code": "import pandas as pd\ndf = pd.read_csv('a.csv')\ndf.head()"}),
    ("mcp__browser__browser_evaluate", {"function": "() => { document.title = `it's`; return 1 }"}),
    ("mcp__selenium__send_keys", {"selector": "#q", "text": "how to (un)install 'rm'"}),
    ("mcp__fs__copy_directory", {"src": "docs", "dst": "public"}),
    ("mcp__ci__trigger", {"workflow": "build", "inputs": {"command": "deploy"}}),
]  # fmt: skip


@rows("tool, args", EVERYDAY)
def test_everyday_calls_need_no_approval(tool: str, args: Args, context: JudgingContext) -> None:
    governed = judge(tool, args, context)
    assert (governed.tool_id, governed.refused) == ("host.mcp", ""), governed


@pytest.mark.parametrize(
    ("tool", "field"), [("shell", "command"), ("Write", "filePath"), ("frobnicate", "x")]
)
def test_a_known_tool_with_arguments_in_another_form_is_refused_the_same(
    tool: str, field: str, context: JudgingContext
) -> None:
    value: Any = ["bash", "-lc", "rm -rf ~/.sb"] if tool == "shell" else "$HOME/.sb/config.yaml"
    assert JudgedCall.of(NativeCall(tool, {field: value}), context).governed.refused


def test_call_with_too_many_texts_is_refused(context: JudgingContext) -> None:
    many = {"commands": [f"echo {number}" for number in range(200)]}
    assert judge("mcp__x__run_commands", many, context).refused
    deep: Any = "~"
    for _ in range(900):
        deep = [deep]
    assert judge("mcp__x__move", {"x": deep}, context).refused


def test_approved_write_to_settings_can_be_undone(host: Host) -> None:
    host.mode = UNWATCHED
    settings = host.project / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("{}", encoding="utf-8")
    given = {"path": str(settings), "content": "x"}
    verdict = host.before("mcp__filesystem__write_file", "t1", **given)
    assert verdict.decision is Decision.DENY
    assert "the settings of a host" in verdict.reason
    with host.open() as runtime:
        (waiting,) = runtime.approvals.page()
        runtime.approvals.approve(waiting.id, ADA, "wanted")
    assert host.before("mcp__filesystem__write_file", "t2", **given).decision is Decision.NONE
    settings.write_text("x", encoding="utf-8")
    host.after("mcp__filesystem__write_file", "t2", **given)
    run_id = host.events(limit=1)[0].subject.run_id
    with host.open() as runtime:
        refs = runtime.recovery.mutations.of_run(run_id)
        assert [undone.state for undone in runtime.recovery.undo_all(refs, ADA, "not wanted")] == ["reversed"]
    assert settings.read_text(encoding="utf-8") == "{}"


def test_reason_says_the_effect_and_a_refusal_offers_no_approval(host: Host) -> None:
    host.mode = UNWATCHED
    verdict = host.before("mcp__shell__execute_command", command="rm -rf build")
    assert "deletes a folder" in verdict.reason
    assert "sb approvals approve" in verdict.reason
    verdict = host.before("mcp__filesystem__move_file", source=str(host.home.parent), destination="/tmp/x")
    assert verdict.decision is Decision.DENY
    assert "sb approvals approve" not in verdict.reason
    (host.project / "notes.txt").touch()
    assert host.before("mcp__filesystem__read_file", path="notes.txt").decision is Decision.NONE
