"""Findings of `sb doctor` about installed hosts."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from sb.config.home import Home
from sb.hosts.install.records import Record, Records
from tests.conftest import CommandLine
from tests.hosts.install.environments import Installed


def examined(sb: CommandLine) -> dict[str, list[tuple[str, str]]]:
    """The doctor's findings by name; it reads all that hooks run, half a second."""
    reported: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for item in sb("doctor", "--json").json["items"]:
        reported[item["name"]].append((item["status"], item["detail"]))
    return reported


def rows_of(sb: CommandLine, name: str) -> list[tuple[str, str]]:
    return examined(sb)[name]


def test_doctor_is_silent_on_hosts_that_are_not_installed(person: Path, sb: CommandLine) -> None:
    reported = examined(sb)
    assert reported["database"]
    assert reported["hooks"] == reported["claude-code"] == []


def test_sound_install_is_ok_and_says_what_happens_without_sb(person: Path, sb: CommandLine) -> None:
    sb("init")
    sb("install", "claude-code", "--yes")
    items = sb("doctor", "--json").json["items"]
    reported = {item["name"]: (item["status"], item["detail"], item["hint"]) for item in items}
    assert reported["hooks"][:2] == ("ok", "hooks run a copy of sb, unchanged since sb install")
    assert reported["helper"][:2] == ("ok", "not running; the next hook starts it")
    assert reported["connected"][1:] == ("no session of a coding agent yet", "")
    status, detail, _ = reported["claude-code"]
    assert status == "ok"
    assert "lets calls run if sb is gone" in detail
    sb("install", "claude-code", "--yes", "--fail-closed")
    assert "denies calls if sb is gone" in rows_of(sb, "claude-code")[0][1]


def test_broken_install_is_reported(person: Path, home: Path, sb: CommandLine) -> None:
    sb("install", "claude-code", "--yes")
    file = person / ".claude" / "settings.json"
    (home / "bin" / "sb-hook").unlink()
    assert [status for status, _ in rows_of(sb, "hooks")] == ["fail"]
    file.write_text('{\n"a"', "utf-8")
    assert rows_of(sb, "claude-code") == [("fail", f"{file}: line 2: a colon is missing")]
    file.unlink()
    [(status, detail)] = rows_of(sb, "claude-code")
    assert status == "fail"
    assert "14 of 14 entries are missing" in detail
    for record in (home / "install").glob("*.json"):
        record.write_text("{}", "utf-8")
    assert any("is damaged" in detail for _, detail in rows_of(sb, "hooks"))


@pytest.mark.parametrize(
    ("host", "file", "key", "value"),
    [
        ("claude-code", ".claude/settings.json", "disableAllHooks", True),
        ("claude-code", "project/.claude/settings.json", "disableAllHooks", True),
        ("gemini-cli", ".gemini/settings.json", "hooksConfig", {"enabled": False}),
        ("gemini-cli", ".gemini/settings.json", "hooksConfig", {"disabled": ["secondbrain"]}),
    ],
)
def test_hooks_that_are_switched_off_are_noticed(
    host: str, file: str, key: str, value: object, person: Path, sb: CommandLine
) -> None:
    sb("install", host, "--yes")
    path = person / file
    path.parent.mkdir(exist_ok=True)
    text = json.loads(path.read_bytes()) if path.exists() else {}
    path.write_text(json.dumps({**text, key: value}), "utf-8")
    assert [status for status, detail in rows_of(sb, host) if "switched off" in detail] == ["warn"]


def test_codex_is_not_trusted_before_a_person_said_so(person: Path, sb: CommandLine) -> None:
    sb("install", "codex", "--yes")
    folder = person / ".codex"
    assert any("not trusted yet: PreToolUse" in detail for _, detail in rows_of(sb, "codex"))
    events = json.loads((folder / "hooks.json").read_bytes())["hooks"]
    snake = ["".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_") for event in events]
    trust = [
        f'[hooks.state."{folder}/hooks.json:{event}:0:0"]\ntrusted_hash = "sha256:0"\n' for event in snake
    ]
    (folder / "config.toml").write_text("".join(trust), "utf-8")
    assert ("ok", "trusted, as far as can be seen") in rows_of(sb, "codex")
    disabled = trust[0] + "enabled = false\n"
    (folder / "config.toml").write_text(
        "".join([disabled, *trust[1:]]) + "[features]\nhooks = false\n", "utf-8"
    )
    assert [status for status, detail in rows_of(sb, "codex") if "switched off" in detail] == ["warn", "warn"]


def test_server_entry_of_an_earlier_version_is_reported(person: Path, home: Path, sb: CommandLine) -> None:
    sb("init")
    sb("install", "claude-code", "--yes")
    file = person / ".config" / "Claude" / "claude_desktop_config.json"
    records = Records(Home(home))
    records.put(Record("claude-desktop", "user", str(file), "", ""))
    [(status, detail)] = rows_of(sb, "claude-desktop")
    assert (status, detail) == (
        "warn",
        f"the MCP server in {file} is missing, or as an earlier version wrote it",
    )


def test_changed_files_of_hooks_are_reported_and_upgrades_recognised(isolated: Installed) -> None:
    def hooks() -> list[tuple[str, str, str]]:
        items = json.loads(isolated.run("doctor", "--json").stdout)["items"]
        return [(item["status"], item["detail"], item["hint"]) for item in items if item["name"] == "hooks"]

    [(status, detail, hint)] = hooks()
    assert (status, detail, hint) == (
        "ok",
        "hooks run the installed sb, unchanged since sb install",
        "",
    )
    evil = isolated.site / "evil.pth"
    evil.write_text("import os\n", "utf-8")
    [(status, detail, hint)] = hooks()
    assert status == "fail"
    assert f"{evil} was added" in detail
    assert "sb install claude-code" in hint
    evil.unlink()
    [metadata] = isolated.site.glob("secondbrain_sb-*/METADATA")
    former = metadata.read_text("utf-8")
    metadata.write_text(former.replace("\nVersion: ", "\nVersion: 9", 1), "utf-8")
    [(status, detail, hint)] = hooks()
    assert (status, "upgraded since sb install: secondbrain-sb" in detail) == ("warn", True)
    metadata.write_text(former, "utf-8")


def test_an_isolated_installation_is_recommended_where_it_is_not_one(
    person: Path, sb: CommandLine, isolated: Installed
) -> None:
    assert "install sb with pipx" in sb("install", "claude-code", "--yes").err
    assert "settings.json" in isolated.install_output
    assert "pipx" not in isolated.install_output


def test_a_copy_that_is_older_than_what_is_installed_says_how_it_is_renewed(
    person: Path, home: Path, sb: CommandLine, made: Path
) -> None:
    sb("install", "claude-code", "--yes")
    copied = "hooks run a copy of sb, unchanged since sb install"
    assert rows_of(sb, "hooks") == [("ok", copied)]
    older = made.with_name("0123456789abcdef-1")
    (home / "runtime" / older.name).symlink_to(made)
    wrapper = home / "bin" / "sb-hook"
    wrapper.write_text(wrapper.read_text("utf-8").replace(made.name, older.name), "utf-8")
    assert rows_of(sb, "hooks") == [("ok", f"{copied}; the sb that you run is newer or older")]


def test_a_wrapper_of_an_earlier_version_is_to_be_replaced(person: Path, home: Path, sb: CommandLine) -> None:
    sb("install", "claude-code", "--yes")
    wrapper = home / "bin" / "sb-hook"
    lines = wrapper.read_text("utf-8").splitlines(keepends=True)
    wrapper.write_text("".join(line for line in lines if not line.startswith("runtime=")), "utf-8")
    [(status, detail)] = rows_of(sb, "hooks")
    assert (status, "they run code that agents can change" in detail) == ("warn", True)
