"""Ids by an unambiguous prefix, and errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.values.references import SHORTEST, full_one
from sb.cli import run
from sb.errors import UsageError
from sb.kernel import RunContext, SafetyClass
from sb.runtime import open_runtime
from tests.conftest import CommandLine, approve_tools

IDS = st.lists(st.text("0123", min_size=4, max_size=5).map("apr_{}".format), max_size=8)


@given(IDS, st.text("0123", max_size=5))
def test_a_prefix_means_the_only_id_that_begins_so(known: list[str], digits: str) -> None:
    prefix = f"apr_{digits}"
    fitting = {item for item in known if item.startswith(prefix)}
    if prefix in known or not fitting or len(digits) < SHORTEST:
        assert full_one(prefix, known) == prefix
    elif len(fitting) == 1:
        assert full_one(prefix, known) in known
    else:
        with pytest.raises(UsageError, match="is ambiguous: apr_"):
            full_one(prefix, known)


@pytest.fixture
def asked(sb: CommandLine) -> str:
    """A request that waits."""
    assert sb("init").code == 0
    with open_runtime() as runtime:
        runtime.registry.register_fn("bank.pay", "Pay", lambda to: "paid", SafetyClass.DESTRUCTIVE)
        approve_tools(runtime)
        asked = runtime.executor.execute(RunContext.create("clerk"), "bank.pay", {"to": "bob"})
        return str(asked.data["approval_id"])


def test_ids_are_named_by_their_beginning(sb: CommandLine, asked: str) -> None:
    assert sb("approvals", "show", asked[:8], "--json").json["id"] == asked
    run = sb("log", "tail", "-n", "1", "--json").json["run_id"]
    assert sb("log", "show", run[:9]).code == 0
    assert sb("log", "tail", "--run", run[:9], "--json").out
    done = sb("approvals", "deny", asked[:8], "--reason", "no")
    assert done.out.startswith("Denied: ")
    assert asked in done.out
    saved = sb("memory", "remember", "the office is in Bonn", "--json").json["id"]
    assert "Bonn" in sb("memory", "show", saved[:-4]).out
    checkpoint = sb("checkpoint", "save", "--agent", "ada").out.strip()
    assert sb("checkpoint", "show", checkpoint[:-3]).code == 0
    assert sb("incident", "open", "a drill", "--severity", "sev4", "--reason", "drill").code == 0
    incident = sb("incident", "list", "--json").json["items"][0]["id"]
    assert sb("incident", "show", incident[:-2]).code == 0


def test_an_ambiguous_or_unknown_id_ends_with_a_message(sb: CommandLine, asked: str) -> None:
    first = sb("memory", "remember", "one", "--json").json["id"]
    second = sb("memory", "remember", "two", "--json").json["id"]
    common = first[
        : next(at for at, pair in enumerate(zip(first, second, strict=True)) if len(set(pair)) > 1)
    ]
    shown = sb("memory", "show", common)
    assert (shown.code, "is ambiguous: mem_" in shown.err, "type more of the id" in shown.err) == (
        2,
        True,
        True,
    )
    for command in (["log", "tail"], ["log", "export"]):
        missing = sb(*command, "--run", "run_nope")
        assert (missing.code, "no run 'run_nope' in the log" in missing.err) == (1, True)
    assert sb("approvals", "show", "apr_nope").code == 1


@pytest.mark.parametrize(
    ("command", "hint", "code"),
    [
        ("memory import nofile", "name a file that `sb memory export` wrote", 2),
        ("log export --output /nowhere/x", "create the folder, or name another file", 1),
        ("stack create taken", "choose another name, or use it as it is", 2),
        ("operator revoke nope --reason x", "no operator 'nope'", 1),
        ("kill --lift global --reason x", "name yours, such as --as ada", 2),
        ("runtime-guard snapshot --yes --reason x", "name yours, such as --approved-by ada", 2),
        ("recovery invalidate nope --reason x", "no reversible call relies on 'nope'", 1),
    ],
)
def test_an_error_says_what_to_do(two_keys: CommandLine, command: str, hint: str, code: int) -> None:
    done = two_keys(*command.split())
    assert (done.code, hint in done.err) == (code, True), done.err


@pytest.fixture(scope="module")
def home_with_two_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two operators' keys, a stack and a kill, made once."""
    home = tmp_path_factory.mktemp("two") / "sb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SB_HOME", str(home))
        for command in (
            "init",
            "stack create taken",
            "kill global --reason drill",
            "operator init ada --no-passphrase",
            "operator add bob --no-passphrase --as ada --reason second",
        ):
            assert run(command.split()) == 0
    return home


@pytest.fixture
def two_keys(sb: CommandLine, home_with_two_keys: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("SB_HOME", str(home_with_two_keys))
    return sb


def test_a_grant_is_named_by_its_beginning(sb: CommandLine, home: Path) -> None:
    sb("init")
    with open_runtime() as runtime:
        runtime.registry.register_fn("notes.add", "Add", lambda to: "added", SafetyClass.LOCAL_WRITE)
        approve_tools(runtime)
    (home / "config.yaml").write_text("policy: [{approve: notes.add}]\n", encoding="utf-8")
    with open_runtime() as runtime:
        runtime.registry.register_fn("notes.add", "Add", lambda to: "added", SafetyClass.LOCAL_WRITE)
        asked = runtime.executor.execute(RunContext.create("clerk"), "notes.add", {"to": "bob"})
        wanted = str(asked.data["approval_id"])
    made = sb("approvals", "approve", wanted, "--reason", "x", "--until", "1h", "--arg", "to=bob", "--json")
    grant = made.json["items"][-1]["id"]
    assert sb("approvals", "revoke", grant[:11], "--reason", "over", "--json").json["items"][0]["id"] == grant
    missing = sb("approvals", "revoke", "grant_0000", "--reason", "over")
    assert (missing.code, "sb approvals grants lists them" in missing.err) == (1, True)
