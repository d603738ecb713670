"""`sb install` and `sb uninstall` on real files: other content stays, and the file is restored."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.config.home import Home
from sb.hosts.install.entries import merged
from sb.hosts.install.host import Places, Wanted
from sb.hosts.install.installing import Installer
from sb.hosts.install.records import Record, Records, digest
from sb.hosts.registry import host_settings, installable
from sb.tools.hosted.guarding import wrapper_path
from tests.conftest import CommandLine
from tests.hosts.install import documents
from tests.kernel.authority.test_operator_cli import in_terminal

FILES = {
    "claude-code": ".claude/settings.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "codex": ".codex/hooks.json",
    "copilot": ".copilot/hooks/sb.json",
    "cursor": ".cursor/hooks.json",
    "gemini-cli": ".gemini/settings.json",
    "vscode": ".config/Code/User/mcp.json",
    "windsurf": ".codeium/windsurf/hooks.json",
}
HOOKED = installable()
SEEDED = {"runtime", "brain.db"}  # what is in every home of these tests
SERVERS = {"claude-desktop": "mcpServers", "vscode": "servers"}
OWN = (
    b'{\r\n\t"model": "opus",\r\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}'
)


def arguments(host: str) -> list[str]:
    return [host, "--yes"]


def write(person: Path, host: str, content: bytes) -> Path:
    file = person / FILES[host]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def prepared(person: Path, home: Path, host: str, *, recorded: bool) -> tuple[Path, Record]:
    """A file with the entry that an earlier version wrote, with its record and backup if these are still there."""
    settings, file = host_settings(host), write(person, host, OWN)
    layout = settings.layout(Wanted(wrapper_path(Home(home))))
    after = merged(OWN.decode(), settings.format_of(file), layout).encode()
    file.write_bytes(after)
    record = Record(host, "user", str(file), digest(OWN), digest(after))
    if recorded:
        records = Records(Home(home))
        with records.alone():
            records.keep(host, file, OWN)
            records.put(record)
    return file, record


@pytest.fixture(autouse=True)
def _on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")  # the folders of programs with a window differ on macOS


def test_install_makes_the_home_that_the_console_and_doctor_open(
    person: Path, home: Path, sb: CommandLine
) -> None:
    (home / "brain.db").unlink()
    done = sb("install", *arguments("claude-code"))
    assert f"made {home / 'brain.db'}" in done.out
    assert f"made {home / 'config.yaml'}" in done.out
    assert "sb init" not in done.err
    assert sb("console", "--plain").code == 0
    assert "claude-code waits for its first session" in sb("status").out
    assert sb("doctor").code == 0


def test_install_on_a_terminal_approves_the_servers_that_its_user_agrees_to(
    person: Path, sb: CommandLine
) -> None:
    servers = {name: {"command": "npx", "args": [name]} for name in ("tracker", "mailer")}
    (person / ".claude.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    answers = {"write ": "y", "approve MCP server tracker?": "y", "approve MCP server mailer?": "n"}
    code, seen = in_terminal("install", "claude-code", answers=answers)
    assert code == 0
    assert "MCP server tracker: npx tracker" in seen
    assert "approve its 1 MCP server: sb approvals servers claude-code" in seen
    states = sb("approvals", "servers", "claude-code", "--json").json["items"]
    assert {state["server"]: state["grant"] is not None for state in states} == {
        "tracker": True,
        "mailer": False,
    }


def test_install_without_questions_approves_no_server(person: Path, sb: CommandLine) -> None:
    servers = {"tracker": {"command": "npx"}}
    (person / ".claude.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    assert "next: approve its 1 MCP server" in sb("install", "claude-code", "--yes").err
    (state,) = sb("approvals", "servers", "claude-code", "--json").json["items"]
    assert state["grant"] is None


def test_a_project_install_warns_when_git_would_commit_its_file(person: Path, sb: CommandLine) -> None:
    project = person / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    done = sb("install", "claude-code", "--scope", "project", "--yes")
    file = project / ".claude" / "settings.local.json"
    assert f"warning: git does not ignore {file}: a commit would give others hooks" in done.err
    (project / ".gitignore").write_text(".claude/\n", encoding="utf-8")
    assert "warning" not in sb("install", "claude-code", "--scope", "project", "--yes").err
    subprocess.run(["git", "-C", str(project), "add", "-f", str(file)], check=True)
    assert "git does not ignore" in sb("install", "claude-code", "--scope", "project", "--yes").err
    assert "warning" not in sb("install", "claude-code", "--yes").err


@pytest.mark.parametrize("host", HOOKED)
def test_a_file_that_was_not_there_is_made_and_removed_with_its_folders(
    host: str, person: Path, sb: CommandLine
) -> None:
    assert sb("install", *arguments(host)).code == 0
    assert "sb-hook" in (person / FILES[host]).read_text("utf-8")
    assert sb("uninstall", host, "--yes").code == 0
    assert [path.name for path in person.iterdir()] == ["project"]


@pytest.mark.parametrize("host", HOOKED)
@pytest.mark.parametrize("content", [b"", b"{}", b"\xef\xbb\xbf{ }\n", OWN, b'{"a": [1]}\n\n'])
def test_a_file_comes_back_to_the_byte_and_its_mode_stays(
    host: str, content: bytes, person: Path, sb: CommandLine
) -> None:
    file = write(person, host, content)
    file.chmod(0o640)
    assert sb("install", *arguments(host)).code == 0
    installed = file.read_bytes()
    assert installed != content
    assert installed.startswith(b"\xef\xbb\xbf") == content.startswith(b"\xef\xbb\xbf")
    assert sb("install", *arguments(host), "--json").json["changed"] is False
    assert file.read_bytes() == installed
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sb("uninstall", host, "--yes").code == 0
    assert file.read_bytes() == content
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@given(st.data())
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_file_of_gemini_comes_back_to_the_byte_also_after_somebody_wrote_to_it(
    person: Path, home: Path, data: st.DataObject
) -> None:
    mark = data.draw(st.sampled_from(["", "\ufeff"]))
    value = data.draw(documents.settings(("BeforeTool", "Theirs")))
    text = mark + data.draw(documents.written(value, relaxed=True))
    file = write(person, "gemini-cli", text.encode())
    installer = Installer(Home(home), Places(os.environ, person))
    installer.install(installer.plan_install(host_settings("gemini-cli")))
    added = data.draw(st.sampled_from(["", "\n// since\n"]))
    file.write_bytes(file.read_bytes() + added.encode())
    installer.uninstall(installer.plan_uninstall(host_settings("gemini-cli")))
    assert file.read_bytes().decode() == text + added


def test_file_rewritten_by_the_host_loses_our_entries_only(person: Path, sb: CommandLine) -> None:
    file = write(person, "claude-code", OWN)
    sb("install", "claude-code", "--yes")
    since = json.loads(file.read_bytes())
    since["model"] = "sonnet"
    since["hooks"]["PreToolUse"].append({"matcher": "Bash", "hooks": [{"type": "command", "command": "new"}]})
    file.write_text(json.dumps(since, indent=2), "utf-8")
    assert sb("uninstall", "claude-code", "--yes").code == 0
    assert json.loads(file.read_bytes()) == {
        "model": "sonnet",
        "hooks": {
            "Stop": json.loads(OWN)["hooks"]["Stop"],
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "new"}]}],
        },
    }


def test_a_file_of_ours_that_somebody_added_to_stays(person: Path, sb: CommandLine) -> None:
    sb("install", "claude-code", "--yes")
    file = person / FILES["claude-code"]
    since = json.loads(file.read_bytes())
    file.write_text(json.dumps({**since, "model": "opus"}), "utf-8")
    sb("uninstall", "claude-code", "--yes")
    assert json.loads(file.read_bytes()) == {"model": "opus"}


def test_an_entry_that_somebody_removed_is_put_back(person: Path, sb: CommandLine) -> None:
    file = write(person, "claude-code", OWN)
    sb("install", "claude-code", "--yes")
    since = json.loads(file.read_bytes())
    del since["hooks"]["PreToolUse"]
    file.write_text(json.dumps(since), "utf-8")
    assert any("PreToolUse" in line["detail"] for line in sb("doctor", "--json").json["items"])
    assert sb("install", "claude-code", "--yes", "--json").json["changed"] is True
    assert "PreToolUse" in json.loads(file.read_bytes())["hooks"]
    sb("uninstall", "claude-code", "--yes")
    assert json.loads(file.read_bytes()) == json.loads(OWN)


def test_a_dry_run_shows_the_change_and_writes_nothing(person: Path, home: Path, sb: CommandLine) -> None:
    file = write(person, "claude-code", OWN)
    done = sb("install", "claude-code", "--dry-run")
    assert "+" in done.out
    assert "PreToolUse" in done.out
    assert file.read_bytes() == OWN
    assert {path.name for path in home.iterdir()} == SEEDED
    sb("install", "claude-code", "--yes")
    installed = file.read_bytes()
    assert "PreToolUse" in sb("uninstall", "claude-code", "--dry-run").out
    assert file.read_bytes() == installed


def test_install_without_a_terminal_needs_yes(person: Path, sb: CommandLine) -> None:
    file = write(person, "claude-code", OWN)
    done = sb("install", "claude-code")
    assert (done.code, file.read_bytes()) == (2, OWN)
    assert "--yes" in done.err


def test_diff_masks_secrets(person: Path, sb: CommandLine) -> None:
    secret = "ghp_" + "a1B2" * 9
    write(person, "claude-code", json.dumps({"hooks": {}, "env": {"T": secret}}, indent=1).encode())
    assert secret not in sb("install", "claude-code", "--yes").out


def test_a_link_stays_a_link_and_its_target_is_edited(person: Path, sb: CommandLine) -> None:
    target = person / "project" / "dotfiles" / "settings.json"
    target.parent.mkdir()
    target.write_bytes(OWN)
    link = person / FILES["claude-code"]
    link.parent.mkdir()
    link.symlink_to(os.path.relpath(target, link.parent))
    sb("install", "claude-code", "--yes")
    assert link.is_symlink()
    assert b"sb-hook" in target.read_bytes()
    sb("uninstall", "claude-code", "--yes")
    assert link.is_symlink()
    assert target.read_bytes() == OWN


def test_file_that_cannot_be_edited_is_refused_and_left(person: Path, home: Path, sb: CommandLine) -> None:
    file = person / FILES["claude-code"]
    file.parent.mkdir()

    def refused(because: str) -> None:
        done = sb("install", "claude-code", "--yes")
        assert done.code == 2
        assert because in done.err
        assert "nothing was changed" in done.err
        assert {path.name for path in home.iterdir()} == SEEDED
        assert len(list(file.parent.iterdir())) == 1

    file.mkdir()
    refused("is a folder")
    file.rmdir()
    os.mkfifo(file)
    refused("is not a regular file")
    file.unlink()
    file.symlink_to("settings.json")
    refused("cannot be read")
    file.unlink()
    file.write_bytes(b'{\n"a": "\xff"}')
    refused("line 2: is not UTF-8")
    file.write_bytes("{}".encode("utf-16"))
    refused("is not UTF-8")
    file.write_bytes(b'{"a": 1,\n')
    refused("line 2: a key in double quotes is missing")
    file.write_bytes(b'{"hooks": {}, "hooks": {}}')
    refused("hooks is there twice")
    file.write_bytes(OWN)
    file.chmod(0o444)
    refused("is not writable")
    file.chmod(0o644)
    os.link(file, person / "second")
    refused("second name")
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("a file in the folder's place", "utf-8")
    assert "Not a directory" in sb("install", "claude-code", "--yes").err


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_cannot_be_written_is_refused(person: Path, sb: CommandLine) -> None:
    file = write(person, "claude-code", OWN)
    file.parent.chmod(0o500)
    done = sb("install", "claude-code", "--yes")
    file.parent.chmod(0o700)
    assert done.code == 2
    assert "not writable" in done.err


def test_a_file_that_changes_between_reading_and_writing_is_left(person: Path, home: Path) -> None:
    file = write(person, "claude-code", OWN)
    installer = Installer(Home(home), Places(os.environ, person))
    change = installer.plan_install(host_settings("claude-code"))
    file.write_bytes(b"{}")
    with pytest.raises(Exception, match="changed by another process"):
        installer.install(change)
    assert file.read_bytes() == b"{}"
    assert installer.records.all() == []
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_purge_removes_backups_and_the_wrapper_once_no_host_calls_it(
    person: Path, home: Path, sb: CommandLine
) -> None:
    write(person, "claude-code", OWN)
    sb("install", "claude-code", "--yes")
    sb("install", "cursor", "--yes")
    backups = list((home / "install").glob("*.backup"))
    assert [stat.S_IMODE(path.stat().st_mode) for path in backups] == [0o600] * len(backups)
    assert backups[0].read_bytes() == OWN
    sb("uninstall", "claude-code", "--yes", "--purge")
    assert list((home / "install").glob("claude-code*")) == []
    assert (home / "bin" / "sb-hook").exists()
    assert (
        len(sb("uninstall", "cursor", "--yes", "--purge", "--json").json["purged"]) == 4
    )  # what hooks ran from, too, and what commands were started by
    assert {path.name for path in home.iterdir()} <= SEEDED, "what was recorded stays"


def test_the_environment_says_where_a_host_keeps_its_files(
    person: Path, sb: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host, name, file in (
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
    ):
        monkeypatch.setenv(name, str(person / "else where"))
        assert sb("install", *arguments(host)).code == 0
        assert (person / "else where" / file).exists()


def test_project_install_uses_the_projects_files_and_uninstalls_from_anywhere(
    person: Path, sb: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = person / "project"
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    for host in HOOKED:
        assert sb("install", host, "--yes", "--scope", "project").code == 0
    names = {str(path.relative_to(project)) for path in project.rglob("*.json")}
    assert names == {
        ".claude/settings.local.json",
        ".codex/hooks.json",
        ".cursor/hooks.json",
        ".gemini/settings.json",
        ".github/hooks/sb.json",
        ".windsurf/hooks.json",
    }
    monkeypatch.chdir(person)
    for host in HOOKED:
        assert sb("uninstall", host, "--yes").code == 0
    assert sorted(path.name for path in project.iterdir()) == [".git", "deep"]


def test_codex_hooks_in_config_toml_get_our_entries_there(person: Path, sb: CommandLine) -> None:
    text = (
        '# mine\nmodel = "x" # yes\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "y"\n'
    )
    config = person / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(text, "utf-8")
    assert sb("install", "codex", "--yes").code == 0
    assert config.read_text("utf-8").startswith(text)
    assert len(tomllib.loads(config.read_text("utf-8"))["hooks"]["Stop"]) == 2
    assert [path.name for path in config.parent.iterdir()] == ["config.toml"]
    sb("uninstall", "codex", "--yes")
    assert config.read_text("utf-8") == text


def test_a_broken_toml_of_codex_is_named_with_its_line(person: Path, sb: CommandLine) -> None:
    config = person / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text("a = 1\nb =\n", "utf-8")
    done = sb("install", "codex", "--yes")
    assert done.code == 2
    assert "line 2" in done.err


@pytest.mark.parametrize("host", SERVERS)
def test_host_that_calls_no_hooks_is_connected_to_the_server_alone(
    host: str, person: Path, sb: CommandLine
) -> None:
    done = sb("install", host, "--yes")
    assert done.code == 2
    assert "it calls no hooks" in done.err
    assert not (person / FILES[host]).exists()
    assert f"sb install {host} --mcp" in done.err
    assert ("sb install claude-code" in done.err) == (host == "vscode")


@pytest.mark.parametrize("host", SERVERS)
@pytest.mark.parametrize("recorded", [True, False])
def test_server_entry_of_an_earlier_version_is_removed(
    host: str, recorded: bool, person: Path, home: Path, sb: CommandLine
) -> None:
    file, _ = prepared(person, home, host, recorded=recorded)
    assert host in sb("uninstall", "--help").out
    assert sb("uninstall", host, "--yes").code == 0
    assert file.read_bytes() == OWN


def test_server_entry_that_runs_something_else_is_left(person: Path, home: Path, sb: CommandLine) -> None:
    file, _ = prepared(person, home, "vscode", recorded=False)
    other = file.read_bytes().replace(b"sb-hook", b"other")
    file.write_bytes(other)
    assert sb("uninstall", "vscode", "--yes").code == 0
    assert file.read_bytes() == other


def test_server_entry_in_the_folder_that_the_environment_names_is_found(
    person: Path, home: Path, sb: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, _ = prepared(person, home, "vscode", recorded=False)
    elsewhere = person / "else where" / "Code" / "User" / "mcp.json"
    elsewhere.parent.mkdir(parents=True)
    file.rename(elsewhere)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(person / "else where"))
    assert sb("uninstall", "vscode", "--yes").code == 0
    assert elsewhere.read_bytes() == OWN


FORMER = {
    "codex": lambda hook: {"type": "command", "command": f"{hook} codex", "timeout": 30},
    "gemini-cli": lambda hook: {
        "type": "command", "name": "secondbrain", "command": f"[ ! -x {hook} ] || exec {hook} gemini-cli", "timeout": 30_000,
    },
    "windsurf": lambda hook: {"command": f"{hook} windsurf", "show_output": False},
    "cursor": lambda hook: {"command": f"{hook} cursor --fail-closed", "timeout": 30, "failClosed": True},
    "copilot": lambda hook: {"type": "command", "bash": f"[ ! -x {hook} ] || exec {hook} copilot", "timeoutSec": 30},
    "claude-code": lambda hook: {"type": "command", "command": str(hook), "args": ["claude-code"], "timeout": 30},
}  # fmt: skip


@pytest.mark.parametrize("host", HOOKED)
def test_entry_of_an_earlier_version_is_replaced_in_its_place(
    host: str, person: Path, home: Path, sb: CommandLine
) -> None:
    sb("install", host, "--yes")
    file = person / FILES[host]
    data = json.loads(file.read_bytes())
    event = host_settings(host).events[0]
    former = FORMER[host](wrapper_path(Home(home)))
    mine = {"command": "mine"}
    grouped = host_settings(host).grouped
    data["hooks"][event] = [{"hooks": [entry]} if grouped else entry for entry in (former, mine)]
    file.write_text(json.dumps(data))
    assert f"1 of {len(host_settings(host).events)} entries are missing" in sb("doctor").out
    sb("install", host, "--yes")
    listed = json.loads(file.read_bytes())["hooks"][event]
    ours = host_settings(host).entries(Wanted(wrapper_path(Home(home))))[0].value
    assert listed == [ours, {"hooks": [mine]} if grouped else mine]
    assert ours not in ({"hooks": [former]}, former)
    file.write_text(json.dumps({**data, "hooks": {event: data["hooks"][event][:1]}}))
    sb("uninstall", host, "--yes")
    assert "sb-hook" not in (file.read_text() if file.exists() else "")


def test_calls_are_denied_when_the_script_cannot_be_started_where_the_host_can(
    person: Path, sb: CommandLine
) -> None:
    for host in ("claude-code", "cursor"):
        sb("install", host, "--yes")
    hooks = json.loads((person / FILES["claude-code"]).read_bytes())["hooks"]
    assert [handler(hooks, event).get("onFailure") for event in ("PreToolUse", "Stop")] == ["block", None]
    hooks = json.loads((person / FILES["cursor"]).read_bytes())["hooks"]
    assert [hooks[event][0].get("failClosed") for event in ("preToolUse", "stop")] == [True, None]


def test_fail_closed_is_for_hosts_that_support_it(person: Path, sb: CommandLine) -> None:
    assert sb("install", "codex", "--fail-closed", "--yes").code == 2
    sb("install", "claude-code", "--yes")
    sb("install", "claude-code", "--fail-closed", "--yes")
    hooks = json.loads((person / FILES["claude-code"]).read_bytes())["hooks"]
    assert handler(hooks, "PreToolUse")["args"] == ["claude-code", "--fail-closed"]
    assert len(hooks["PreToolUse"]) == 1
    sb("uninstall", "claude-code", "--yes")
    assert not (person / ".claude").exists()


def handler(hooks: dict[str, Any], event: str) -> dict[str, Any]:
    found: dict[str, Any] = hooks[event][-1]["hooks"][0]
    return found


def test_timeouts_have_the_units_of_each_host(person: Path, sb: CommandLine) -> None:
    for host in HOOKED:
        sb("install", host, "--yes")
    read = {host: json.loads((person / FILES[host]).read_bytes())["hooks"] for host in HOOKED}
    assert handler(read["claude-code"], "SessionEnd")["timeout"] == 30
    assert handler(read["codex"], "Stop")["timeout"] == 30
    assert handler(read["gemini-cli"], "BeforeTool")["timeout"] == 30_000
    assert read["cursor"]["stop"][0]["timeout"] == 30
    assert read["copilot"]["agentStop"][0]["timeoutSec"] == 30


def test_entries_without_a_record_are_removed(person: Path, home: Path, sb: CommandLine) -> None:
    file = write(person, "claude-code", OWN)
    sb("install", "claude-code", "--yes")
    for path in (home / "install").iterdir():
        path.unlink()
    assert sb("uninstall", "claude-code", "--yes").code == 0
    assert file.read_bytes() == OWN


def test_codex_is_uninstalled_with_a_broken_config_toml(person: Path, sb: CommandLine) -> None:
    sb("install", "codex", "--yes")
    (person / ".codex" / "config.toml").write_text("broken =\n", "utf-8")
    assert sb("uninstall", "codex", "--yes").code == 0
    assert [path.name for path in (person / ".codex").iterdir()] == ["config.toml"]


def test_an_unknown_host_is_answered_with_the_nearest(sb: CommandLine) -> None:
    done = sb("install", "claude-coed")
    assert done.code == 1
    assert "claude-code" in done.err
