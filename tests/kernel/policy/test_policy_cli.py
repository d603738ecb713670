"""`policy:` in the configuration, and the commands that check, explain and replay it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.kernel import RunContext
from sb.runtime import open_runtime
from tests.conftest import CommandLine
from tests.rows import rows

RULES = """policy:
  - deny: http.*
    args: {url: "*internal*"}
    reason: internal addresses are not for agents
  - approve: [files.delete, files.write]
    agents: [clerk]
    classes: [local_write]
    name: writes
  - allow: ["files.*", http.get]
files:
  roots: [.]
"""


@pytest.fixture
def ruled(sb: CommandLine, home: Path) -> Path:
    sb("init")
    (home / "config.yaml").write_text(RULES)
    return home


@rows(
    "text, word",
    [
        ("- deny: a.b\n    allow: a.b", "has deny and allow"),
        ("- agents: [x]", "has none of them"),
        ("- deny: a.b\n    agent: [x]", 'unknown key (did you mean "agents"?)'),
        ("- deny: []", "empty list"),
        ("- deny: a.b\n    classes: []", "empty list"),
        ("- deny: a.b\n    classes: [huge]", "must be read_only"),
        ("- deny: a.b\n    args: [x]", "must be a mapping"),
        ("- deny: a.b\n    args: {x: [a, a]}", "twice"),
        ("- deny", "must be a rule"),
        ("- allow: a.b\n    args: {}", "would fit every call"),
        ("- deny: a.b\n    name: safe_mode", "what the kernel calls another rule"),
        ("- deny: a.b\n    name: policy[7]", "what the kernel calls another rule"),
        ("deny: a.b", "must be a list of rules"),
    ],
)
def test_a_rule_that_is_wrong_is_named_with_its_line(
    sb: CommandLine, home: Path, text: str, word: str
) -> None:
    sb("init")
    (home / "config.yaml").write_text(f"policy:\n  {text}\n")
    failed = sb("kernel", "policy", "check")
    assert failed.code == 2
    assert word in failed.err
    assert any(f"config.yaml:{line}" in failed.err for line in (1, 2, 3))


def test_check_says_the_rules_in_words_and_what_is_odd(sb: CommandLine, ruled: Path) -> None:
    checked = sb("kernel", "policy", "check")
    assert "policy[1]: http.* is denied where url like *internal* (internal addresses" in checked.out
    assert "writes: files.delete or files.write, if local_write, by clerk needs a person" in checked.out
    assert "calls that no rule allows" in checked.err
    draft = ruled / "draft.yaml"
    draft.write_text('policy:\n  - deny: "*"\n  - allow: fils.*\n')
    odd = sb("kernel", "policy", "check", "--file", str(draft), "--strict", "--json")
    assert odd.code == 1
    assert any("no registered tool fits fils.*" in line for line in odd.json["warnings"])
    assert any("never matters" in line for line in odd.json["warnings"])
    assert sb("kernel", "policy", "check", "--file", "/no/such").code == 2


@pytest.mark.parametrize(
    ("words", "code", "verdict"),
    [
        (("files.read", "--agent", "clerk"), 0, "allow"),
        (("files.write", "--agent", "clerk"), 4, "require_approval"),
        (("files.write", "--agent", "grace"), 0, "allow"),
        (("http.get", "--args", '{"url": "https://internal/x"}'), 4, "deny"),
        (("http.get", "--args", '{"url": "https://example.org"}'), 0, "allow"),
        (("shell.run",), 4, "deny"),
        (("files.write", "--mode", "safe"), 4, "deny"),
    ],
)
def test_explain_says_what_is_decided_and_why(
    sb: CommandLine, ruled: Path, words: tuple[str, ...], code: int, verdict: str
) -> None:
    outcome = sb("kernel", "policy", "explain", *words)
    assert outcome.code == code
    assert f": {verdict}" in outcome.out
    as_json = sb("kernel", "policy", "explain", *words, "--json")
    assert (as_json.code, as_json.json["verdict"]) == (code, verdict)
    assert bool(as_json.json["remedy"]) == (verdict != "allow")


def test_explain_refuses_what_it_does_not_know(sb: CommandLine, ruled: Path) -> None:
    near = sb("kernel", "policy", "explain", "files.raed")
    assert (near.code, 'did you mean "files.read"' in near.err) == (1, True)
    assert sb("kernel", "policy", "explain", "call_0").code == 1
    assert sb("kernel", "policy", "explain", "call_0", "--agent", "clerk").code == 2, "it has its own"
    assert sb("kernel", "policy", "explain", "files.read", "--args", "[]").code == 2
    assert sb("kernel", "policy", "explain", "files.read", "--mode", "wild").code == 2


def test_the_executor_applies_the_rules(ruled: Path, sb: CommandLine) -> None:
    with open_runtime() as runtime:
        ctx = RunContext.create("clerk")
        written = runtime.executor.execute(ctx, "files.write", {"path": "a.txt", "content": "x"})
        assert written.data["reasons"][0]["rule"] == "writes"
        denied = runtime.executor.execute(ctx, "http.get", {"url": "http://internal/"})
        assert denied.error_message == "internal addresses are not for agents"
    assert sb("log", "tail", "--json").out.count('"kind": "kernel.tool.policy.blocked"') == 2


def test_a_project_cannot_write_rules_until_it_is_trusted(
    sb: CommandLine, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sb("init")
    (tmp_path / "sb.yaml").write_text("policy:\n  - allow: '*'\n")
    monkeypatch.chdir(tmp_path)
    assert "untrusted" in sb("kernel", "policy", "check").err


def test_replay_says_what_would_have_become_of_the_calls_on_record(
    sb: CommandLine, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sb("demo", str(tmp_path / "demo")).code == 0
    monkeypatch.setenv("SB_HOME", str(tmp_path / "demo" / "home"))
    draft = tmp_path / "draft.yaml"
    draft.write_text(
        "policy:\n  - deny: orders.read\n  - approve: payments.*\n    args: {amount: '4*'}\n"
        "  - deny: files.write\n    args: {content: '*(1002)*'}\n"
    )
    outcome = sb("kernel", "policy", "replay", "--since", "1d", "--file", str(draft))
    assert outcome.code == 0
    assert "clerk orders.read: allow -> deny (policy[1]): orders.read is denied" in outcome.out
    assert "4 of 9 calls would end differently; 0 cannot be judged" in outcome.err
    found = sb("kernel", "policy", "replay", "--file", str(draft), "--json").json
    changed = {(item["tool_id"], item["now"]) for item in found["items"]}
    assert ("orders.read", "deny") in changed
    assert ("files.write", "deny") in changed
    assert ("payments.issue_refund", "require_approval") in changed
    assert sum(item["calls"] for item in found["counts"]) + found["skipped"] == 12
    assert sb("kernel", "policy", "replay", "--json").json["items"] == [], "the policy itself changes nothing"
    assert sb("kernel", "policy", "replay", "--since", "soon").code == 2
    call = found["items"][0]["call_id"]
    assert sb("kernel", "policy", "explain", call, "--file", str(draft)).code == 4
