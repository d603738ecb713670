"""`sb operator`: keys are made, asked for on the terminal alone, and listed without their private half."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sb.kernel import RunContext, SafetyClass
from sb.runtime import Runtime, open_runtime
from tests.conftest import CommandLine, approve_tools


@pytest.fixture
def ready(sb: CommandLine, home: Path) -> Path:
    assert "sb operator init" in sb("init").err
    return home


def in_terminal(*arguments: str, answers: dict[str, str]) -> tuple[int, str]:
    """Run sb in a pseudo-terminal of its own and type the answers to its prompts; gives exit code and screen."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "sb", *arguments])
    seen, left = "", dict(answers)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                data = os.read(fd, 4096)
            except OSError:
                break
            if not data:
                break
            seen += data.decode("utf-8", "replace")
        for prompt, answer in list(left.items()):
            if prompt in seen:
                os.write(fd, answer.encode() + b"\n")
                del left[prompt]
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    return os.waitstatus_to_exitcode(status), seen


def register(runtime: Runtime) -> None:
    runtime.registry.register_fn("bank.pay", "Pay", lambda: "paid", SafetyClass.DESTRUCTIVE)


def ask() -> str:
    with open_runtime() as runtime:
        register(runtime)
        result = runtime.executor.execute(RunContext.create("clerk"), "bank.pay", {})
        return str(result.data["approval_id"])


def test_a_passphrase_is_asked_for_on_the_terminal_and_decides(sb: CommandLine, ready: Path) -> None:
    phrase = "correct horse battery"
    with open_runtime() as runtime:
        register(runtime)
        approve_tools(runtime)
    again = "a passphrase has at least 4 different characters: try again\r\nnew passphrase"
    code, seen = in_terminal(
        "operator",
        "init",
        "ada",
        answers={"new passphrase": "aaaaaaaa", again: phrase, "the same again": phrase},
    )
    assert (code, "ada is an operator" in seen) == (0, True)
    assert phrase not in seen
    assert json.loads((ready / "keys" / "ada.key").read_text("utf-8"))["sealed"]["scrypt_n"] == 2**16
    approval_id = ask()
    refused = sb("approvals", "approve", approval_id, "--reason", "fine", "--as", "grace")
    assert refused.code == 4
    decided = ("approvals", "approve", approval_id, "--reason", "fine")
    code, seen = in_terminal(*decided, answers={"passphrase of ada": "something else"})
    assert (code, "not the passphrase" in seen) == (4, True)
    code, seen = in_terminal(*decided, answers={"passphrase of ada": phrase})
    assert (code, "Approved: bank.pay" in seen) == (0, True)


def test_init_asks_again_for_a_weak_passphrase(home: Path) -> None:
    phrase = "correct horse battery"
    again = "a passphrase has at least 8 characters: try again\r\nnew passphrase"
    answers = {
        "Enroll yourself now?": "y",
        "new passphrase": "short",
        again: phrase,
        "the same again": phrase,
    }
    code, seen = in_terminal("init", answers=answers)
    assert (code, "is an operator" in seen, phrase in seen) == (0, True, False), seen
    assert len(list((home / "keys").iterdir())) == 1


def test_without_a_terminal_no_passphrase_is_taken_from_anywhere(ready: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sb", "operator", "init"],
        input="correct horse\ncorrect horse\n",
        text=True,
        capture_output=True,
        start_new_session=True,
        check=False,
    )
    assert (done.returncode, "no terminal" in done.stderr) == (4, True)
    assert not (ready / "operators.json").exists()


def test_operators_are_enrolled_listed_rotated_and_revoked(sb: CommandLine, ready: Path) -> None:
    assert "no operator is enrolled" in sb("operator", "list").err
    assert "no operator is enrolled" in sb("operator", "whoami").out
    made = sb("operator", "init", "ada", "--no-passphrase", "--json").json
    again = sb("operator", "init", "eve", "--no-passphrase")
    assert (again.code, "enrolled already: ada" in again.err) == (2, True)
    added = ("operator", "add", "grace", "--no-passphrase", "--as", "ada")
    assert sb(*added).code == 2, "it needs a reason"
    assert sb(*added, "--reason", "second person").out.startswith("grace is an operator")
    assert sb("operator", "rotate", "ada", "--no-passphrase", "--reason", "yearly").code == 0
    assert sb("operator", "revoke", "grace", "--as", "ada", "--reason", "left").out.startswith(
        "grace is revoked"
    )
    items = sb("operator", "list", "--json").json["items"]
    assert [(item["name"], item["state"]) for item in items] == [
        ("ada", "rotated"),
        ("grace", "revoked"),
        ("ada", "active"),
    ]
    assert items[0]["key_id"] == made["key_id"]
    who = sb("operator", "whoami", "--json").json
    assert who["assurance"] == "signed"
    assert [key["enrolled"] for key in who["keys"]] == [True, False]
    assert sb("operator", "list").code == 0
    assert "signed" in sb("operator", "whoami").out


def test_a_key_made_elsewhere_is_let_in_by_its_public_half(
    sb: CommandLine, ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SB_HOME", str(tmp_path / "theirs"))
    sb("init")
    sb("operator", "init", "grace", "--no-passphrase")
    public = sb("operator", "whoami", "--json").json["keys"][0]["public_key"]
    monkeypatch.setenv("SB_HOME", str(ready))
    sb("operator", "init", "ada", "--no-passphrase")
    (tmp_path / "key").write_text(public + "\n")
    added = ("operator", "add", "grace", "--reason", "dual control", "--public-key")
    assert sb(*added, f"@{tmp_path / 'key'}").code == 0
    assert sb(*added, "@/no/such/file").code == 2
    assert sb(*added, "ed25519:x").code == 2


def test_lost_keys_are_replaced_after_asking(sb: CommandLine, ready: Path) -> None:
    sb("operator", "init", "ada", "--no-passphrase")
    replace = ("operator", "init", "ada", "--replace", "--no-passphrase")
    assert sb(*replace).code == 2
    assert sb(*replace, "--reason", "lost").code == 2, "it asks, and there is no terminal"
    done = sb(*replace, "--reason", "lost", "--yes")
    assert (done.code, "earlier signatures no longer count" in done.err) == (0, True)
    assert sb("doctor").code == 0


def test_doctor_says_what_decisions_prove(sb: CommandLine, ready: Path) -> None:
    found = {line["name"]: line for line in sb("doctor", "--json").json["items"]}
    assert (found["assurance"]["status"], found["assurance"]["hint"]) == ("warn", "sb operator init")
    sb("operator", "init", "ada", "--no-passphrase")
    found = {line["name"]: line for line in sb("doctor", "--json").json["items"]}
    assert found["assurance"]["detail"].startswith("signed: ")
    (ready / "operators.json").unlink()
    gone = sb("doctor")
    assert (gone.code, "operators.json is gone" in gone.out) == (1, True)
    assert sb("operator", "list").code == 4
    assert sb("operator", "init", "--no-passphrase").code == 4
