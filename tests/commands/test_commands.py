"""The operator's commands: what they print, what they refuse, and with which exit code."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sb.store import driver
from tests.conftest import CommandLine
from tests.rows import rows

SB = [sys.executable, "-m", "sb"]

ROWS = 28  # of the demo's log
RUN_ROWS = 19  # of those, about its agent's run
TOLD_ROWS = 24  # without those that approve contracts and ways back


@pytest.fixture
def played(sb: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which the demo was played."""
    assert sb("demo", str(tmp_path / "demo")).code == 0
    monkeypatch.setenv("SB_HOME", str(tmp_path / "demo" / "home"))
    return tmp_path / "demo" / "home"


def change(home: Path, sql: str) -> None:
    connection = driver.connect(home / "brain.db")
    for trigger in ("events_are_kept", "events_are_final"):
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    connection.execute("PRAGMA foreign_keys = OFF")
    assert connection.execute(sql).rowcount == 1
    connection.close()


def test_a_changed_row_changes_the_account_and_breaks_the_log(sb: CommandLine, played: Path) -> None:
    before = sb("log", "tail", "--limit", "0").out
    change(played, "UPDATE events SET payload = replace(payload, '4900', '9900') WHERE seq = 7")
    after = sb("log", "tail", "--limit", "0").out
    assert "payments.issue_refund(order=1002, amount=4900)" in before
    assert "payments.issue_refund(order=1002, amount=9900)" in after
    verdict = sb("log", "verify")
    assert (verdict.code, verdict.out) == (1, "BROKEN: the payload of row 7 was edited\n")


def test_verify_says_how_much_it_checked(sb: CommandLine, played: Path) -> None:
    assert sb("log", "verify").out.startswith(f"ok: {ROWS} rows, anchored up to row {ROWS}; head ")
    found = sb("log", "verify", "--json").json
    assert (found["ok"], found["rows"], found["anchored_seq"], found["problems"]) == (True, ROWS, ROWS, [])


def test_tail_filters_limits_and_says_what_it_left_out(sb: CommandLine, played: Path) -> None:
    limited = sb("log", "tail", "-n", "3")
    assert len(limited.out.splitlines()) == 3
    assert f"showing the last 3 of {ROWS} rows; --limit 0 shows all" in limited.err
    assert sb("log", "tail", "--tool", "http.get").out.count("\n") == 1
    assert sb("log", "tail", "--kind", "kernel.budget.exceeded").out.count("\n") == 2
    nothing = sb("log", "tail", "--agent", "nobody")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "no events fit\n")
    assert sb("log", "tail", "--since", "1h", "--limit", "0").out.count("\n") == ROWS
    rows = [json.loads(line) for line in sb("log", "tail", "--limit", "0", "--json").out.splitlines()]
    assert [row["seq"] for row in rows] == list(range(1, ROWS + 1))
    assert rows[0]["at"].endswith("Z")


def test_show_takes_a_run_a_call_or_a_row(sb: CommandLine, played: Path) -> None:
    row = json.loads(sb("log", "tail", "-n", "1", "--tool", "files.read", "--json").out)
    assert len(sb("log", "show", row["run_id"], "--json").json["items"]) == RUN_ROWS
    assert [item["seq"] for item in sb("log", "show", row["call_id"], "--json").json["items"]] == [row["seq"]]
    shown = sb("log", "show", "7").out
    assert "phase: intent" in shown
    assert "idempotency_key: idem_" in shown


@rows("reference, code", [("run_00", 1), ("call_x", 1), ("999", 1), ("0", 2), ("-1", 2), ("x", 2), ("٣", 2)])
def test_show_refuses_what_is_not_there(sb: CommandLine, played: Path, reference: str, code: int) -> None:
    done = sb("log", "show", "--", reference)
    assert (done.code, done.out) == (code, "")
    assert len(done.err.splitlines()) == 2


def test_export_writes_a_whole_file_or_none(sb: CommandLine, played: Path, tmp_path: Path) -> None:
    target = tmp_path / "log.jsonl"
    assert f"{ROWS} rows" in sb("log", "export", "-o", str(target)).err
    assert len([json.loads(line) for line in target.read_text("utf-8").splitlines()]) == ROWS
    assert len(sb("log", "export").out.splitlines()) == ROWS
    refused = sb("log", "export", "-o", str(tmp_path / "none" / "log.jsonl"))
    assert (refused.code, "cannot write" in refused.err) == (1, True)


def test_prune_asks_counts_and_leaves_a_log_that_verifies(sb: CommandLine, played: Path) -> None:
    assert sb("log", "prune").code == 2
    assert sb("log", "prune", "--older-than", "soon").code == 2
    assert sb("log", "prune", "--older-than", "1d", "--json", "--yes").json["removed"] == 0
    assert sb("log", "prune", "--older-than", "0s", "--dry-run", "--json").json["removed"] == TOLD_ROWS
    assert "order=1002" in sb("log", "tail").out


def test_prune_without_a_terminal_needs_yes(sb: CommandLine, played: Path) -> None:
    refused = sb("log", "prune", "--older-than", "0s")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert sb("log", "prune", "--older-than", "0s", "--yes", "--json").json["removed"] == TOLD_ROWS
    assert "pruned" in sb("log", "tail").out
    assert "pruned" in sb("log", "show", "5").out
    assert sb("log", "verify").code == 0


def test_init_makes_what_is_missing_and_nothing_twice(sb: CommandLine, home: Path) -> None:
    first = sb("init", "--json").json
    assert sorted(Path(path).name for path in first["made"]) == ["brain.db", "config.yaml"]
    assert home.stat().st_mode & 0o777 == 0o700
    (home / "config.yaml").write_text("safety_mode: safe\n", encoding="utf-8")
    again = sb("init")
    assert (again.code, "nothing to create" in again.out) == (0, True)
    assert (home / "config.yaml").read_text("utf-8") == "safety_mode: safe\n"
    assert sb("doctor").code == 0


def test_doctor_says_what_is_in_use_and_what_is_enforced(sb: CommandLine, home: Path) -> None:
    sb("init")
    report = sb("doctor", "--json").json
    found = {item["name"]: item["status"] for item in report["items"]}
    assert report["ok"] is True
    for name in (
        "driver",
        "vectors",
        "contracts",
        "policy",
        "database",
        "schema",
        "integrity",
        "sizes",
        "log",
    ):
        assert name in found
    (home / "config.yaml").write_text("contract_enforcement: off\n", encoding="utf-8")
    broken = sb("doctor")
    assert broken.code == 1
    assert "set contract_enforcement: enforce" in broken.err


def test_doctor_names_the_tables_whose_references_lead_nowhere(sb: CommandLine, played: Path) -> None:
    change(played, "DELETE FROM events WHERE seq = 14")  # the request for shell.run
    found = [item for item in sb("doctor", "--json").json["items"] if item["name"] == "integrity"]
    assert [item["status"] for item in found] == ["fail"]
    assert found[0]["detail"] == "approvals refers to rows of events that are not there"


def test_doctor_finds_damage(sb: CommandLine, home: Path) -> None:
    assert sb("doctor").code == 1  # no database yet
    sb("init")
    connection = driver.connect(home / "brain.db")
    connection.execute("DROP INDEX events_by_run")
    connection.close()
    report = sb("doctor", "--json")
    assert report.code == 1
    assert any("drifted: events_by_run" in item["detail"] for item in report.json["items"])
    (home / "brain.db").write_bytes(b"\x00" * 9000)
    assert "not a SQLite database" in sb("doctor").out


def test_config_shows_values_with_their_origin(sb: CommandLine, home: Path) -> None:
    sb("init")
    (home / "config.yaml").write_text("budget: {max_tool_calls: 7}\n", encoding="utf-8")
    shown = {item["key"]: item for item in sb("config", "show", "--json").json["items"]}
    assert shown["budget.max_tool_calls"] == {
        "key": "budget.max_tool_calls",
        "value": 7,
        "origin": f"{home}/config.yaml:1",
    }
    assert shown["durability"]["origin"] == "default"
    rule = '{deny: "http.*", args: {url: "*internal*"}}'
    (home / "config.yaml").write_text(f"policy: [{rule}]\n", encoding="utf-8")
    (policy,) = sb("config", "show", "policy", "--json").json["items"]
    assert policy["value"][0]["args"] == {"url": ["*internal*"]}
    moved = sb("--db", str(home / "other.db"), "config", "show", "database", "--json").json["items"]
    assert moved[0]["origin"] == "--db"
    unknown = sb("config", "show", "budget.max_tool_cals")
    assert (unknown.code, 'did you mean "budget.max_tool_calls"' in unknown.err) == (1, True)


def test_config_check_lists_everything_that_is_wrong(sb: CommandLine, home: Path) -> None:
    sb("init")
    assert sb("config", "check").code == 0
    (home / "config.yaml").write_text("safty_mode: safe\nbudget: {max_tool_calls: many}\n", encoding="utf-8")
    wrong = sb("config", "check")
    assert wrong.code == 1
    assert 'config.yaml:1: safty_mode: unknown key (did you mean "safety_mode"?)' in wrong.out
    assert "config.yaml:2: budget.max_tool_calls: must be" in wrong.out
    refused = sb("kernel", "info")
    assert (refused.code, refused.out) == (2, "")
    assert "safety_mode" in refused.err


def test_config_check_finds_tools_patterns_and_modules_that_there_are_not(
    sb: CommandLine, home: Path
) -> None:
    sb("init")
    (home / "config.yaml").write_text(
        "agents: {clerk: {tools: [files.raed]}}\n"
        "policy: [{deny: 'host.shel.*'}, {deny: 'files.*', agents: clark}]\n"
        "tools: ['no_such_module:register']\n",
        encoding="utf-8",
    )
    wrong = sb("config", "check")
    assert wrong.code == 1
    assert "agents.clerk.tools: no tool 'files.raed' (did you mean \"files.read\"?)" in wrong.out
    assert "policy[1]: no registered tool fits host.shel.*" in wrong.out
    assert 'policy[2]: no configured agent fits clark (did you mean "clerk"?)' in wrong.out
    assert "no_such_module" in wrong.out
    assert sb("config", "check", "--json").json["ok"] is False


def test_a_project_file_only_narrows_until_it_is_trusted(
    sb: CommandLine, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sb("init")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sb.yaml").write_text("budget: {max_tool_calls: 500}\nsafety_mode: safe\n", encoding="utf-8")

    def value(key: str) -> object:
        return sb("config", "show", key, "--json").json["items"][0]["value"]

    assert (value("budget.max_tool_calls"), value("safety_mode")) == (20, "safe")
    assert "would widen it" in sb("config", "show").err
    assert sb("config", "trust").code == 2
    assert sb("config", "trust", "--yes").code == 0
    assert value("budget.max_tool_calls") == 500


def test_backup_copies_and_never_overwrites(sb: CommandLine, played: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    done = sb("backup", str(target), "--all", "--json").json
    others = ["anchors.jsonl", "config.yaml", "digest.key", "kept", "statements.jsonl"]
    assert sorted(done["files"]) == sorted(["brain.db", *others])
    assert (target / "brain.db").stat().st_mode & 0o777 == 0o600
    assert sb("--db", str(target / "brain.db"), "log", "verify").code == 0
    again = sb("backup", str(target))
    assert (again.code, "never overwrites" in again.err) == (3, True)


def test_migrate_reports_and_does_nothing_when_current(sb: CommandLine, home: Path) -> None:
    assert sb("migrate").code == 3
    sb("init")
    assert sb("migrate", "--status", "--json").json["items"][0]["state"] == "applied"
    assert "current" in sb("migrate").err
    assert not (home / "backups").exists()


def test_an_unreachable_database_is_exit_code_3(sb: CommandLine, home: Path) -> None:
    done = sb("log", "tail")
    assert (done.code, done.out) == (3, "")
    assert done.err == f"sb: error: no database at {home}/brain.db\nhint: make one with `sb init`\n"
    assert sb("log", "tail", "--json").json["error"]["kind"] == "store"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["log", "nonsense"], ["--nonsense"], ["log", "tail", "-n", "x"]]
)
def test_a_usage_error_is_one_line_and_a_hint_and_exit_code_2(sb: CommandLine, arguments: list[str]) -> None:
    done = sb(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("sb: error: ")
    assert done.err.count("\n") == 2


def test_an_internal_error_is_one_line_and_its_traceback_is_in_a_file(
    sb: CommandLine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "_".join(("ghp", "a1" * 18))

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"with token {token}")

    monkeypatch.setattr("sb.commands.doctor.configuration", broken)
    done = sb("doctor")
    assert done.code == 70
    assert "RuntimeError" in done.err
    saved = (home / "last-error.log").read_text("utf-8")
    assert "Traceback" in saved
    assert token not in saved + done.err


def program(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SB, *arguments], text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("arguments", [["log"], ["audit"], ["kernel"], ["config"]])
def test_a_group_alone_prints_its_help(sb: CommandLine, arguments: list[str]) -> None:
    done = sb(*arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: sb")
    assert "Commands:\n" in done.out


SHELL = [
    ("{sb} log tail --limit 0 | true", 0, ""),
    ("{sb} doctor | true", 0, ""),
    ("{sb} --help | true", 0, ""),
    ("{sb} log verify >&-", 0, ""),
    ("{sb} log tail 2>&-", 0, ""),
    ("{sb} log verify > /dev/full", 1, "sb: error: cannot write the output: No space left on device\n"),
    (
        "{sb} log verify --json > /dev/full",
        1,
        "sb: error: cannot write the output: No space left on device\n",
    ),
    ("{sb} kernel run files.list --args - <&-", 2, None),
]


@rows("command, code, stderr", SHELL)
def test_whatever_the_shell_does_to_our_streams_and_words_the_end_is_orderly(
    played: Path, command: str, code: int, stderr: str | None
) -> None:
    line = "set -o pipefail; " + command.format(sb=f"{sys.executable} -m sb")
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    if stderr is not None:
        assert done.stderr == stderr
    assert (played / "brain.db").read_bytes()[:6] == b"SQLite"


WORDS = [
    ("log show 9223372036854775808", 2),
    ("log tail --since 999999999w", 2),
    ("log tail --kind kernel.tool.dispach", 1),
    ("log export -o ''", 1),
    ("log export -o .", 1),
    ("log export -o $SB_HOME/brain.db", 2),
    ("backup /dev/null", 3),
    ("backup --all $SB_HOME/kept/b", 2),
    ("kernel run files.list --step x", 2),
]


@rows("command, code", WORDS)
def test_words_that_cannot_be_meant_end_orderly(
    sb: CommandLine, played: Path, command: str, code: int
) -> None:
    done = sb(*shlex.split(command.replace("$SB_HOME", str(played))))
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    assert (played / "brain.db").read_bytes()[:6] == b"SQLite"


def test_an_export_into_a_pipe_or_device_does_not_replace_it(played: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m sb log export -o /dev/stdout | wc -l"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(ROWS)


def test_a_closed_pipe_ends_quietly(played: Path) -> None:
    command = f"{sys.executable} -m sb log tail --limit 0 --json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")


def test_output_is_utf8_whatever_the_locale(played: Path) -> None:
    env = {**os.environ, "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = program("log", "tail", "--limit", "0", env=env, capture_output=True)
    assert done.returncode == 0
    assert "…" in done.stdout


def test_on_a_terminal_tables_fit_its_width_and_prompts_are_asked(played: Path) -> None:
    parent, child = pty.openpty()
    env = {**os.environ, "COLUMNS": "60", "TERM": "xterm"}
    process = subprocess.Popen(
        [*SB, "log", "prune", "--older-than", "0s"], stdin=child, stdout=child, stderr=child, env=env
    )
    os.close(child)
    shown = b""
    while b"age" not in shown and b"?" not in shown:
        shown += os.read(parent, 1024)
    process.kill()
    process.wait()
    os.close(parent)


def test_console_offers_to_make_the_database_of_a_blank_home(home: Path) -> None:
    parent, child = pty.openpty()
    process = subprocess.Popen([*SB, "console"], stdin=child, stdout=child, stderr=child)
    os.close(child)
    shown = b""
    while b"Create it and open the console?" not in shown:
        shown += os.read(parent, 1024)
    assert f"no database at {home}/brain.db".encode() in b" ".join(shown.split())
    os.write(parent, b"y\n")
    while b"Inbox" not in shown:
        shown += os.read(parent, 1024)
    process.kill()
    process.wait()
    os.close(parent)
    assert (home / "brain.db").exists()


def test_audit_stays_as_a_hidden_name_of_log(sb: CommandLine, played: Path) -> None:
    assert sb("audit", "verify").code == 0
    assert sb("audit", "verify", "--json").json == sb("log", "verify", "--json").json
    assert sb("audit", "tail").out == sb("log", "tail").out
    assert sb("audit", "tail", "-n", "x").code == 2
    listed = sb("--help").out
    assert "\n  log " in listed
    assert "\n  audit " not in listed


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o"), ("zsh", "#compdef sb"), ("fish", "--command sb")]
)
def test_show_completion_prints_the_script_of_the_shell_that_is_named(
    shell: str, mark: str, sb: CommandLine
) -> None:
    shown = sb("--show-completion", shell)
    assert (shown.code, mark in shown.out) == (0, True)


def test_completion_names_the_shells_it_knows(sb: CommandLine) -> None:
    wrong = sb("--show-completion", "zhs")
    assert (wrong.code, 'did you mean "zsh"?' in wrong.err, "powershell" in wrong.err) == (2, True, True)
