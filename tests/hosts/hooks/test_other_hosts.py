"""An agent of another host than Claude Code, which wants a consequence that nobody asked about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sb.hosts.hooks.calls.context import judging_context
from sb.hosts.hooks.event import Decision, GovernedCall, HookVerdict, Moment
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.judging import judge
from sb.hosts.registry import adapter_for
from sb.kernel.authority.signing import Label
from tests.hosts.hooks import recorded
from tests.hosts.hooks.conftest import Host
from tests.rows import rows

ADA = Label("ada")
QUEUED = "hooks: {approval: queue}\n"
# What each host is told from when it runs a command, and when it writes a file; and where the path is.
COMMANDS = {
    "codex": ("PreToolUse", "tool_input", "command"),
    "copilot": ("preToolUse", "toolArgs", "command"),
    "cursor": ("beforeShellExecution", "", "command"),
    "gemini-cli": ("BeforeTool", "tool_input", "command"),
    "vscode": ("PreToolUse", "tool_input", "command"),
    "windsurf": ("pre_run_command", "tool_info", "command_line"),
}
WRITES = {
    "copilot": ("preToolUse", "create", {"path": "@"}),
    "cursor": ("preToolUse", "Write", {"file_path": "@"}),
    "gemini-cli": ("BeforeTool.write_file", "write_file", {"file_path": "@"}),
    "opencode": ("tool.execute.before", "write", {"filePath": "@"}),
    "vscode": ("PreToolUse.create_file", "create_file", {"filePath": "@"}),
    "codex": ("PreToolUse.apply_patch", "apply_patch", {"command": "*** Begin Patch\n*** Add File: @\n+x\n*** End Patch\n"}),
}  # fmt: skip

# What is told of the same call when it was made.
AFTER: dict[str, dict[str, Any]] = {
    "copilot": {"toolResult": {"resultType": "success"}},
    "cursor": {"hook_event_name": "postToolUse", "tool_output": '"ok"'},
    "gemini-cli": {"hook_event_name": "AfterTool", "tool_response": {"llmContent": "ok"}},
    "opencode": {"event": "tool.execute.after", "output": "ok"},
    "vscode": {"hookEventName": "PostToolUse", "tool_response": "ok"},
    "codex": {"hook_event_name": "PostToolUse", "tool_response": "ok"},
}


def tool_call(host: str, event: str, tool: str, args: Any, project: Path) -> dict[str, Any]:
    sent = recorded.payload(host, event, project)
    names = {"copilot": ("toolName", "toolArgs"), "opencode": ("tool", "args")}
    name, given = names.get(host, ("tool_name", "tool_input"))
    return sent | {name: tool, given: args}


def command(host: str, line: str, project: Path) -> dict[str, Any]:
    event, table, field = COMMANDS[host]
    sent = recorded.payload(host, event, project)
    return sent | ({table: sent[table] | {field: line}} if table else {field: line})


def write(host: str, path: str, project: Path) -> dict[str, Any]:
    event, tool, args = WRITES[host]
    return tool_call(host, event, tool, {name: arg.replace("@", path) for name, arg in args.items()}, project)


def verdict_on(host: Host, named: str, sent: dict[str, Any]) -> HookVerdict:
    adapter = adapter_for(named, sent)
    return judge(host.config(), adapter, adapter.read(sent))


def governed(host: Host, named: str, sent: dict[str, Any]) -> GovernedCall:
    """The contract that a call comes under, before the kernel is asked."""
    event = adapter_for(named, sent).read(sent)
    return JudgedCall.of(event.calls[0], judging_context(host.config(), event)).governed


@pytest.mark.parametrize("named", WRITES)
@pytest.mark.parametrize(
    "spelling",
    [
        "file://{0}",
        "FILE://{0}",
        "file:{0}",
        "file://localhost{0}",
        "file://{escaped}",
        " {0}",
        "\t{0}",
        "\ufeff{0}",
    ],
)
def test_edit_cannot_reach_secondbrains_files_by_any_spelling(host: Host, named: str, spelling: str) -> None:
    own = str(host.home / "config.yaml")
    path = spelling.format(own, escaped=own.replace("config", "%63onfig"))
    assert "belongs to SecondBrain" in governed(host, named, write(named, path, host.project)).refused


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {"filePath": "file://{escaped}"}),
        ("fetch_webpage", {"urls": ["file://{escaped}?x"], "query": "key"}),
        (
            "multi_replace_string_in_file",
            {"filePath": "a.txt", "replacements": '[{"filePath": "{own}", "oldString": "a"}]'},
        ),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: file://{own}\n@@\n-a\n+b\n"}),
        ("apply_patch", {"explanation": "*** Add File: a.txt", "input": ["*** Delete File: {own}"]}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: a.txt\r*** Delete File: {own}\n"}),
        ("str_replace_editor", {"path": "a.txt", "file_path": "{own}"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_argument_of_a_tool_reaches_secondbrains_files(
    host: Host, tool: str, args: dict[str, Any]
) -> None:
    own = str(host.home / "digest.key")
    text = json.dumps(args).replace("{own}", own).replace("{escaped}", own.replace("digest", "%64igest"))
    sent = tool_call("vscode", "PreToolUse", tool, json.loads(text), host.project)
    assert "belongs to SecondBrain" in governed(host, "vscode", sent).refused


@pytest.mark.parametrize(
    "args",
    [
        {"filePath": "vscode-userdata:/User/settings.json"},
        {"filePath": ["/etc/hosts"], "path": "a.txt"},
        {"filePath": "a.txt", "replacements": {"0": {"filePath": "b.txt"}}},
        {"filePath": "a.txt", "edits": "[not a list"},
    ],
    ids=str,
)
def test_edit_in_an_undocumented_form_needs_approval(host: Host, args: dict[str, Any]) -> None:
    sent = tool_call("vscode", "PreToolUse", "create_file", args, host.project)
    assert governed(host, "vscode", sent).tool_id == "host.unknown"


def test_a_colon_in_a_patch_hides_no_file(host: Host) -> None:
    sent = write("codex", ".vscode/mcp.json:x", host.project)
    assert governed(host, "codex", sent).tool_id == "host.write_config"


SETTINGS = [
    ".vscode/settings.json",  # chat.useHooks switches all hooks of VS Code off
    ".vscode/tasks.json",
    ".vscode/extensions/x/package.json",
    "shop.code-workspace",
    "{home}/.config/Code/User/settings.json",
    "{home}/.config/Code/User/profiles/p/mcp.json",
    "{home}/.config/Cursor/User/settings.json",
    ".cursor/hooks/x.sh",
    ".cursor/cli.json",
    ".cursor/environment.json",
    "{home}/.cursor/cli-config.json",
    ".gemini/extensions/x/hooks/hooks.json",
    ".gemini/.env",
    ".gemini/hooks/x.sh",
    "{home}/.gemini/policies/x.toml",
    "{home}/.gemini/trustedFolders.json",
    ".github/mcp.json",
    ".windsurf/hooks/x.sh",
    ".windsurf/mcp_config.json",
    "{home}/.claude/projects/-shop/s.jsonl",  # what `sb blame` reads
    "{home}/.claude/projects/-shop/s/subagents/agent-1.jsonl",
    "{home}/.gemini/tmp/shop/chats/session-1.json",
    "{home}/.cursor/projects/p/agent-transcripts/s/s.jsonl",
    "{home}/.windsurf/transcripts/s.jsonl",
    "{home}/.claude/plugins/x/hooks/hooks.json",
    "{xdg}/opencode/plugin/x.js",
]


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_every_host_need_approval_in_edits_and_are_refused_in_shells(
    host: Host, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "conf"))
    path = name.format(home=tmp_path, xdg=tmp_path / "conf")
    for named in WRITES:
        assert governed(host, named, write(named, path, host.project)).tool_id == "host.write_config", named
    by_shell = governed(host, "gemini-cli", command("gemini-cli", f"echo x > {path}", host.project))
    if name.startswith(".vscode/"):  # people have agents write an editor's settings
        assert by_shell.refused == ""
        assert "decides about an editor and its agents" in by_shell.asks[0].reason
    else:
        assert "configures agents" in by_shell.refused


@pytest.mark.parametrize("name", ["src/settings.json", ".claude/projects/-shop/memory/MEMORY.md", "docs/cursor/user.md", ".vscode/extensions.json", "AGENTS.md"])  # fmt: skip
def test_a_projects_own_files_are_edited_unasked(host: Host, name: str) -> None:
    for named in WRITES:
        assert governed(host, named, write(named, name, host.project)).tool_id == "host.write"


PROGRAMS = (".claude/agents/a.md", ".claude/skills/a/SKILL.md", ".claude/commands/a.md", ".gemini/commands/a.toml", ".cursor/agents/a.md", ".github/agents/a.md", ".github/skills/a/SKILL.md", ".devcontainer/devcontainer.json", ".devcontainer.json", ".vscode/launch.json")  # fmt: skip


@rows("name", PROGRAMS)
def test_what_gives_a_host_agents_or_programs_needs_approval(host: Host, name: str) -> None:
    for named in WRITES:
        assert governed(host, named, write(named, name, host.project)).tool_id == "host.write_config", named
    by_shell = governed(host, "gemini-cli", command("gemini-cli", f"echo x > {name}", host.project))
    assert (by_shell.tool_id, by_shell.refused) == ("host.shell.destructive", "")


@pytest.fixture
def hidden(host: Host, tmp_path: Path) -> Host:
    """A host whose SB_HOME lies hidden in its user's home, as it does unless somebody says otherwise."""
    return Host(tmp_path / ".sb", host.project, forks=host.forks)


UNTOLD = [
    "codex",
    "copilot",
    "cursor",
    "vscode",
]  # a terminal that keeps its folder, or a folder that hooks do not get


@pytest.mark.parametrize("named", UNTOLD)
@pytest.mark.parametrize(
    "line", ["cat .sb/digest.key", "echo x > .sb/config.yaml", "sed -i s/a/b/ ../../.sb/x"]
)
def test_cd_of_an_earlier_command_does_not_lead_to_secondbrains_files(
    hidden: Host, named: str, line: str
) -> None:
    earlier = governed(hidden, named, command(named, "cd ..", hidden.project))
    assert (earlier.tool_id, earlier.refused) == ("host.shell.read", "")
    later = governed(hidden, named, command(named, line, hidden.project))
    assert "belongs to SecondBrain" in later.refused


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("echo x > settings.json", True),
        ("sed -i s/true/false/ config.toml", True),
        ("cp /tmp/x pre-commit", True),
        ("cd {0} && echo x > settings.json", False),
        ("echo x > {0}/settings.json", False),
        ("echo x > src/settings.json", False),
        ("echo x > package.json", False),
        ("cat settings.json", False),
    ],
)
def test_bare_settings_name_is_not_written_in_an_unknown_folder(host: Host, line: str, refused: bool) -> None:
    for named in UNTOLD:
        call = governed(host, named, command(named, line.format(host.project), host.project))
        assert ("may be a host's settings or a git hook there" in call.refused) is refused, named
    told_it = governed(host, "gemini-cli", command("gemini-cli", line.format(host.project), host.project))
    assert told_it.refused == ""


@pytest.mark.parametrize("named", ["codex", "vscode"])
def test_approval_says_that_the_folder_is_unknown(host: Host, named: str) -> None:
    host.configure(QUEUED)
    verdict_on(host, named, command(named, "rm -rf build", host.project))
    verdict_on(host, named, command(named, f"cd '{host.project}' && rm -rf build", host.project))
    with host.open() as runtime:
        known, unknown = (approval.request["args"]["why"] for approval in runtime.approvals.page())
    assert "its working folder is unknown" in unknown
    assert known == "rm -r: deletes a folder and its contents"


@pytest.mark.parametrize("named", ["gemini-cli", "windsurf"])
def test_approval_says_nothing_of_a_known_folder(host: Host, named: str) -> None:
    call = governed(host, named, command(named, "rm -rf build", host.project))
    assert "unknown" not in call.args["why"]


@pytest.mark.parametrize("named", UNTOLD)
def test_everyday_commands_in_an_unknown_folder_run(host: Host, named: str) -> None:
    for line in ("cd sub && npm test", "git commit -m x", "grep -r x .", "ls -la", "find . -name x"):
        call = governed(host, named, command(named, line, host.project))
        assert (call.refused, call.tool_id == "host.shell.destructive") == ("", False), line


@pytest.mark.parametrize(
    ("before", "path", "refused"),
    [
        ("", "{home}/config.yaml", True),
        ("cd {home}/.. && ", "{home.name}/config.yaml", True),
        ("", ".codex/config.toml", False),
        ("cd .vscode && ", "settings.json", False),
        ("cd '.git/hooks' && ", "pre-commit", False),
    ],
)
def test_patch_in_a_command_is_judged_as_codex_applies_it(
    host: Host, before: str, path: str, refused: bool
) -> None:
    text = f"{before}apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\nEOF\n"
    line = text.format(home=host.home)
    call = governed(host, "codex", command("codex", line, host.project))
    assert (bool(call.refused), call.tool_id) == (
        refused,
        "host.shell.destructive" if not refused else call.tool_id,
    )
    harmless = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\nEOF\n"
    assert governed(host, "codex", command("codex", harmless, host.project)).tool_id == "host.shell.network"


@pytest.mark.parametrize(
    ("named", "path"),
    [("windsurf", "../.sb/config.yaml"), ("copilot", ".sb/config.yaml"), ("codex", ".sb/config.yaml")],
)
def test_edit_by_a_relative_path_without_a_folder_needs_approval(hidden: Host, named: str, path: str) -> None:
    if named == "windsurf":
        sent = recorded.payload(named, "pre_write_code", hidden.project)
        sent["tool_info"] |= {"file_path": path}
    else:
        sent = write(named, path, hidden.project) | {"cwd": ""}
    assert governed(hidden, named, sent).tool_id == "host.unknown"


def approve(host: Host) -> None:
    with host.open() as runtime:
        runtime.approvals.approve(runtime.approvals.page()[0].id, ADA, "once")


def test_unknown_tool_is_approved_for_one_folder(host: Host, tmp_path: Path) -> None:
    host.configure(QUEUED)
    sent = tool_call("vscode", "PreToolUse", "run_task", {"id": "build"}, host.project)
    verdict_on(host, "vscode", sent)
    with host.open() as runtime:
        assert str(host.project) in str(runtime.approvals.page()[0].request["args"])
    approve(host)
    other = sent | {"cwd": str(tmp_path), "sessionId": "another", "tool_use_id": "x1"}
    assert verdict_on(host, "vscode", other).decision is Decision.DENY
    assert verdict_on(host, "vscode", sent | {"tool_use_id": "x2"}) == HookVerdict()


def test_explanation_of_the_model_does_not_change_a_vs_code_command(host: Host) -> None:
    host.configure(QUEUED)
    given = {"command": "rm -rf build", "explanation": "tidy", "goal": "tidy up", "isBackground": False}
    verdict_on(host, "vscode", tool_call("vscode", "PreToolUse", "run_in_terminal", given, host.project))
    approve(host)
    given |= {"explanation": "as agreed", "goal": "again"}
    again = tool_call("vscode", "PreToolUse", "run_in_terminal", given, host.project) | {"tool_use_id": "x"}
    background = again | {"tool_input": given | {"isBackground": True}}
    assert verdict_on(host, "vscode", background).decision is Decision.DENY
    assert verdict_on(host, "vscode", again) == HookVerdict()


@pytest.mark.parametrize(
    ("named", "event", "fields", "without"),
    [
        ("codex", "PreToolUse", {"timestamp": "2026-11-20T10:00:00Z", "prompt_id": "p"}, ""),
        ("codex", "PreToolUse", {}, "turn_id"),
        ("gemini-cli", "BeforeTool", {}, "timestamp"),
        ("claude-code", "PreToolUse", {"timestamp": "2026-11-20T10:00:00Z"}, ""),
        ("copilot", "preToolUse", {"hookEventName": "preToolUse"}, ""),
        ("copilot", "preToolUse", {"hook_event_name": "postToolUse"}, ""),
    ],
)
def test_missing_or_extra_field_does_not_change_the_host_or_moment(
    host: Host, named: str, event: str, fields: dict[str, Any], without: str
) -> None:
    sent = recorded.payload(named, event, host.project) | fields
    sent.pop(without, None)
    adapter = adapter_for(named, sent)
    assert (adapter.host, adapter.read(sent).moment) == (named, Moment.BEFORE)


@pytest.mark.parametrize("named", WRITES)
@pytest.mark.parametrize("spelling", ["{0}", "file://{0}"])
def test_edit_is_undone_in_the_file_that_the_host_resolved(host: Host, named: str, spelling: str) -> None:
    link, target = host.project / "link.txt", host.project.parent / "target.txt"
    target.write_text("before", encoding="utf-8")
    link.symlink_to(target)
    sent = write(named, spelling.format(link), host.project)
    assert verdict_on(host, named, sent) == HookVerdict()
    link.write_text("after", encoding="utf-8")
    verdict_on(host, named, sent | AFTER[named])
    with host.open() as runtime:
        run_id = next(iter(runtime.log.events(agent=named))).subject.run_id
        refs = runtime.recovery.mutations.of_run(run_id)
        assert [undone.state for undone in runtime.recovery.undo_all(refs, ADA, "no")] == ["reversed"]
    assert (link.is_symlink(), target.read_text(encoding="utf-8")) == (True, "before")


@pytest.mark.parametrize("named", ["codex", "gemini-cli"])  # with and without ids
def test_report_without_announcement_leaves_nothing_to_undo(host: Host, named: str) -> None:
    path = host.project / "a.txt"
    path.write_text("there", encoding="utf-8")
    verdict_on(host, named, write(named, str(path), host.project) | AFTER[named])
    with host.open() as runtime:
        run_id = next(iter(runtime.log.events(agent=named))).subject.run_id
        assert runtime.recovery.mutations.of_run(run_id) == []
