"""Credentials by reference: a tool gets the value, and nothing else does."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sb.cli import app
from sb.config.credentials import CredentialSource
from sb.config.home import Home
from sb.config.model import assemble
from sb.kernel import governed
from sb.kernel.contracts import SafetyClass, ToolErrorCode, ToolProvenance, ToolResult
from sb.kernel.registry.credentials import Credentials
from sb.kernel.results import ToolError
from sb.kernel.run_context import RunContext
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools

SECRET = "plover-quartz-9931-zx"
METADATA = {"credentials": {"token": "billing"}}


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("BILLING_TOKEN", SECRET)
    sources = {"billing": CredentialSource("env", "BILLING_TOKEN")}
    with open_runtime(assemble(Home(tmp_path / "home"), {"credentials": sources}, {}, ())) as opened:
        yield opened


def register(runtime: Runtime, fn: Any, safety_class: SafetyClass = SafetyClass.READ_ONLY) -> None:
    runtime.registry.register_fn("t.pay", "pay", fn, safety_class, metadata=METADATA)
    approve_tools(runtime)


def files_with(folder: Path, text: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_the_tool_gets_the_value_and_the_record_the_reference(runtime: Runtime, tmp_path: Path) -> None:
    got = []

    def pay(token: str, amount: int) -> dict[str, Any]:
        got.append(token)
        return {"paid": amount, "with": f"Bearer {token}"}

    register(runtime, pay, SafetyClass.LOCAL_WRITE)
    result = runtime.executor.execute(RunContext.create("agent"), "t.pay", {"amount": 3}, step="s1")
    assert got == [SECRET]
    assert SECRET not in str(result.data)
    events = [event for event in runtime.log.events(tool_id="t.pay") if event.payload]
    assert any("[reference:billing]" in json.dumps(event.payload) for event in events)
    runtime.close()
    assert files_with(tmp_path, SECRET) == []


@pytest.mark.parametrize("before", ["", "u", "user:"])
def test_a_result_holds_the_value_neither_in_base64_nor_in_its_source(runtime: Runtime, before: str) -> None:
    def pay(token: str) -> ToolResult:
        header = base64.b64encode(f"{before}{token}".encode()).decode()
        source = ToolProvenance(source_uri=f"https://api.example.org/?key={token}")
        return ToolResult.ok("t.pay", {"Authorization": f"Basic {header}"}, provenance=source)

    register(runtime, pay)
    result = runtime.executor.execute(RunContext.create("agent"), "t.pay")
    hidden = base64.b64encode(f"{before}{SECRET}".encode()).decode()
    assert hidden[4:-4] not in str(result.data)
    assert "[redacted:sensitive]" in str(result.data)
    assert result.provenance == ToolProvenance(source_uri="https://api.example.org/?key=[redacted:sensitive]")


def test_a_failing_tools_message_does_not_hold_the_value(runtime: Runtime) -> None:
    def pay(token: str) -> None:
        raise RuntimeError(f"401 for {token}")

    register(runtime, pay)
    result = runtime.executor.execute(RunContext.create("agent"), "t.pay")
    assert not result.success
    assert SECRET not in result.error_message


@pytest.mark.parametrize("given", ["stolen", "[reference:other]", 7])
def test_nobody_passes_a_value_or_another_reference(runtime: Runtime, given: Any) -> None:
    register(runtime, lambda token: token)
    result = runtime.executor.execute(RunContext.create("agent"), "t.pay", {"token": given})
    assert result.error_code is ToolErrorCode.VALIDATION_ERROR
    assert "the kernel fills in" in result.error_message


def test_a_name_that_is_not_configured_is_refused_before_the_call(runtime: Runtime) -> None:
    runtime.registry.register_fn("t.x", "x", lambda key: key, metadata={"credentials": {"key": "nowhere"}})
    result = runtime.executor.execute(RunContext.create("agent"), "t.x")
    assert "[reference:nowhere]" in result.error_message


def test_which_credentials_a_tool_gets_is_part_of_its_contract(runtime: Runtime) -> None:
    register(runtime, lambda token: token)
    tool = runtime.registry.tool("t.pay")
    assert tool is not None
    before = tool.current_fingerprint()
    tool.spec.metadata = {"credentials": {"token": "deploy"}}
    assert tool.current_fingerprint() != before


def test_a_governed_function_gets_its_credential(runtime: Runtime) -> None:
    @governed(metadata=METADATA, tool_id="t.governed")
    def pay(amount: int, token: str = "") -> int:
        return amount + len(token)

    with runtime.run("agent"):
        assert pay(1) == 1 + len(SECRET)


def fetched(source: CredentialSource, folder: Path, timeout_s: float = 60.0) -> str:
    return Credentials({"c": source}, folder, timeout_s).value("c")


def test_a_file_is_read_without_its_last_line_break_and_must_be_private(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{SECRET}\n", encoding="utf-8")
    file.chmod(0o600)
    assert fetched(CredentialSource("file", "token"), tmp_path) == SECRET
    file.chmod(0o644)
    with pytest.raises(ToolError, match="open to other users"):
        fetched(CredentialSource("file", "token"), tmp_path)


def python(code: str) -> CredentialSource:
    return CredentialSource("command", f'{sys.executable} -c "{code}"')


def test_a_command_gives_one_line(tmp_path: Path) -> None:
    assert fetched(python(f"print('{SECRET}')"), tmp_path) == SECRET


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (python("print(1); print(2)"), "more than one line"),
        (python("import time; time.sleep(600)"), "did not end within"),
        (python("raise SystemExit(3)"), "ended with 3"),
        (python("pass"), "empty value"),
        (CredentialSource("command", "/no/such/program"), "cannot be run"),
        (CredentialSource("env", "SB_NO_SUCH_VARIABLE"), "is not set"),
        (CredentialSource("file", "absent"), "cannot be read"),
        (CredentialSource("keyring", "sb/none"), "keyring"),
    ],
)
def test_a_source_that_cannot_be_used_says_why(
    tmp_path: Path, source: CredentialSource, problem: str
) -> None:
    timeout_s = 1.0 if "sleep" in source.place else 60.0
    with pytest.raises(ToolError, match=problem) as raised:
        fetched(source, tmp_path, timeout_s)
    assert "[reference:c]" in str(raised.value)


def test_an_approval_shows_the_reference(runtime: Runtime) -> None:
    register(runtime, lambda token: "ok", SafetyClass.DESTRUCTIVE)
    result = runtime.executor.execute(RunContext.create("agent"), "t.pay")
    assert result.data is not None
    request = runtime.approvals.get(result.data["approval_id"])
    assert "[reference:billing]" in str(request)
    assert SECRET not in str(request)


def test_the_command_tries_a_credential_and_prints_no_value(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("credentials: {billing: 'env:B_TOKEN'}\n", encoding="utf-8")
    env: Mapping[str, str] = {"SB_HOME": str(home), "B_TOKEN": SECRET}
    done = CliRunner().invoke(app, ["credentials", "check", "billing"], env=env)
    assert (done.exit_code, SECRET in done.output) == (0, False)
    done = CliRunner().invoke(app, ["credentials", "check", "billing", "--json"], env={**env, "B_TOKEN": " "})
    assert (done.exit_code, json.loads(done.stdout)["ok"]) == (1, False)
    listed = CliRunner().invoke(app, ["credentials", "list", "--json"], env=env)
    assert json.loads(listed.stdout)["items"] == [{"name": "billing", "source": "env:B_TOKEN"}]


@pytest.mark.parametrize("text", ["sk-live-123", "env:", "env:a b", "vault:x", "keyring:only"])
def test_a_wrong_source_is_a_configuration_error_that_does_not_show_it(tmp_path: Path, text: str) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(f"credentials: {{billing: '{text}'}}\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["config", "check"], env={"SB_HOME": str(home)})
    assert done.exit_code == 1
    assert "sk-live" not in done.output
