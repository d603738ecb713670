"""Tools of MCP servers: which go on, which are asked for each time, and which once for each server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sb.hosts.hooks.calls.context import judging_context
from sb.hosts.hooks.calls.mcp import ALWAYS, ONCE, PASSES, judged
from sb.hosts.hooks.event import Decision, HookEvent, HookVerdict, Moment, NativeCall
from sb.hosts.hooks.judged_call import JudgedCall
from sb.kernel.authority.signing import Label
from tests.hosts.hooks.conftest import UNWATCHED, Host
from tests.hosts.hooks.test_other_hosts import WRITES, tool_call, verdict_on

ADA = Label("ada")
LIST = Path(__file__).with_name("mcp_calls.txt")


def configure(host: Host, **servers: Any) -> None:
    (host.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")


def approve(host: Host) -> str:
    with host.open() as runtime:
        (waiting,) = (approval for approval in runtime.approvals.page() if approval.state == "waiting")
        runtime.approvals.approve(waiting.id, ADA, "a server of ours")
        return json.dumps(waiting.request)


def rows(mark: str) -> list[tuple[str, dict[str, Any]]]:
    lines = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line[:2] == f"{mark} "]
    return [(line.split(" ", 2)[1], json.loads(line.split(" ", 2)[2])) for line in lines]


def missorted(host: Host, mark: str) -> list[str]:
    """The tools of the list that do not end as the list says, in a project where no server was approved."""
    event = HookEvent("claude-code", "PreToolUse", Moment.BEFORE, "s", str(host.project))
    context = judging_context(host.config(), event)
    found = ((tool, JudgedCall.of(NativeCall(tool, args), context).governed) for tool, args in rows(mark))
    stopped = (
        (tool, bool(call.refused or call.asks or call.effects.secrets) or call.safety_class == "destructive")
        for tool, call in found
    )
    return [tool for tool, stops in stopped if stops is not (mark == "-")]


def test_list_has_enough_calls_of_both_kinds() -> None:
    assert len(rows("-")) >= 60
    assert len(rows("+")) >= 60


def test_listed_calls_that_may_do_harm_are_stopped(host: Host) -> None:
    assert missorted(host, "-") == []


def test_listed_calls_that_only_look_go_on(host: Host) -> None:
    assert missorted(host, "+") == []


@pytest.mark.parametrize(
    ("tool", "args", "kind"),
    [
        ("mcp__x__get_user", {}, PASSES),
        ("mcp__x__getUser", {}, PASSES),
        ("mcp__x__list-deleted-items", {}, PASSES),
        ("mcp__x__get_workflow_run", {}, PASSES),
        ("mcp__x__get_and_run", {}, ALWAYS),
        ("mcp__x__get_delete_token", {}, ALWAYS),
        ("mcp__delete__get_user", {}, PASSES),
        ("mcp__get__user", {}, ONCE),
        ("mcp__x__undelete_user", {}, ONCE),
        ("mcp__x__search_replace", {}, ONCE),
        ("mcp__x__get_or_create", {}, ONCE),
        ("mcp__x__DeleteUser", {}, ALWAYS),
        ("MCP:transferMoney", {}, ALWAYS),
        ("mcp_x_run_job", {}, ALWAYS),
        ("mcp__x__manage", {"action": "delete"}, ALWAYS),
        ("mcp__x__fetch", {"method": "GET"}, PASSES),
        ("mcp__x__fetch", {"method": "POST"}, ONCE),
        ("mcp__x__fetch", {"method": "DELETE"}, ALWAYS),
        ("mcp__pg__query", {"sql": "SELECT 1"}, PASSES),
        ("mcp__pg__query", {"sql": "SELECT 'drop table x'"}, PASSES),
        ("mcp__pg__query", {"sql": "/*! DROP TABLE x */"}, ALWAYS),
        ("mcp__pg__query", {"sql": "WITH d AS (DELETE FROM x RETURNING *) SELECT * FROM d"}, ALWAYS),
        ("mcp__pg__query", {"query": "INSERT INTO x VALUES (1)"}, ONCE),
        ("mcp__pg__query", {"query": "UPDATE x SET a = 1"}, ALWAYS),
        ("mcp__pg__query", {"query": "SELECT pg_read_file('/etc/passwd')"}, ALWAYS),
        ("mcp__pg__execute_sql", {"sql": "SELECT 1"}, ONCE),
        ("mcp__docs__search", {"query": "DROP TABLE syntax"}, PASSES),
        ("mcp__gql__query", {"query": "mutation { deleteUser(id: 1) { id } }"}, ALWAYS),
        ("mcp__gql__query", {"query": "mutation { addUser(id: 1) { id } }"}, ONCE),
        ("mcp__neo__query", {"query": "MATCH (n) DETACH DELETE n"}, ALWAYS),
        ("mcp__shell__run_command", {"command": "ls"}, ONCE),
        ("mcp__ci__run_pipeline", {"id": "7"}, ALWAYS),
    ],
)
def test_verbs_are_whole_tokens_and_what_destroys_beats_what_reads(
    tool: str, args: dict[str, Any], kind: str
) -> None:
    assert judged(tool, args, {})[0] == kind


def test_settings_loosen_and_tighten_by_pattern_but_never_what_a_statement_destroys() -> None:
    settings = {"mcp__pg__*": "read", "mcp__pg__get_secret": "ask"}
    assert judged("mcp__pg__run_report", {}, settings)[0] == PASSES
    assert judged("mcp__pg__get_secret", {}, settings)[0] == ALWAYS
    assert judged("mcp__pg__execute_sql", {"sql": "DROP TABLE x"}, settings)[0] == ALWAYS


def test_server_is_approved_once_and_again_when_its_command_changes(host: Host) -> None:
    host.mode = UNWATCHED
    configure(host, tracker={"command": "npx", "args": ["-y", "tracker-mcp@1"]})
    asked = host.before("mcp__tracker__create_issue", title="a")
    assert asked.decision is Decision.DENY
    assert "first use of MCP server tracker (npx -y tracker-mcp@1)" in asked.reason
    assert "tracker-mcp@1" in approve(host)
    assert host.before("mcp__tracker__create_issue", title="a") == HookVerdict()
    assert host.before("mcp__tracker__update_issue", title="b") == HookVerdict()
    assert host.before("mcp__tracker__delete_issue", id="1").decision is Decision.DENY
    assert host.before("mcp__other__create_issue", title="a").decision is Decision.DENY
    with host.open() as runtime:
        (grant,) = runtime.approvals.grants()
        assert grant.uses == 2
    configure(host, tracker={"command": "npx", "args": ["-y", "tracker-mcp@2"]})
    assert host.before("mcp__tracker__update_issue", title="c").decision is Decision.DENY


@pytest.mark.parametrize(
    ("named", "settings", "key", "separator"),
    [("opencode", "opencode.json", "mcp", "_"), ("copilot", ".mcp.json", "mcpServers", "-")],
)
def test_hosts_that_only_put_the_servers_name_first_are_judged_like_others(
    host: Host, named: str, settings: str, key: str, separator: str
) -> None:
    entry = {"command": ["npx", "tracker-mcp"]}
    (host.project / settings).write_text(json.dumps({key: {"tracker": entry}}), encoding="utf-8")

    def verdict(tool: str) -> HookVerdict:
        sent = tool_call(named, WRITES[named][0], tool, {"title": "a"}, host.project)
        return verdict_on(host, named, sent | ({"callID": tool} if named == "opencode" else {}))

    assert verdict(f"tracker{separator}get_issue") == HookVerdict()
    assert "tool that may delete" in verdict(f"tracker{separator}delete_issue").reason
    asked = verdict(f"tracker{separator}create_issue")
    assert "first use of MCP server tracker (npx tracker-mcp)" in asked.reason
    assert "unknown tool" in verdict(f"other{separator}get_issue").reason


def test_server_whose_tools_are_called_as_a_hosts_own_is_judged_as_a_server(host: Host) -> None:
    servers = {name: {"command": [f"{name}-mcp"]} for name in ("create", "read")}
    (host.project / "opencode.json").write_text(json.dumps({"mcp": servers}), encoding="utf-8")

    def verdict(tool: str) -> HookVerdict:
        sent = tool_call("opencode", WRITES["opencode"][0], tool, {"title": "a"}, host.project)
        return verdict_on(host, "opencode", sent | {"callID": tool})

    assert "first use of MCP server read (read-mcp)" in verdict("read_file").reason
    assert "first use of MCP server create (create-mcp)" in verdict("create_file").reason


def test_tool_of_copilots_own_server_that_reads_goes_on(host: Host) -> None:
    def verdict(tool: str) -> HookVerdict:
        return verdict_on(
            host, "copilot", tool_call("copilot", WRITES["copilot"][0], tool, {"id": 7}, host.project)
        )

    assert verdict("github-mcp-server-list_issues") == HookVerdict()
    assert "a person must approve each use" in verdict("github-mcp-server-create_issue").reason


def test_revoked_server_is_asked_for_again(host: Host) -> None:
    host.mode = UNWATCHED
    configure(host, tracker={"url": "https://tracker.example/mcp"})
    host.before("mcp__tracker__create_issue", title="a")
    approve(host)
    with host.open() as runtime:
        runtime.approvals.revoke(runtime.approvals.grants()[0].id, ADA, "not any more")
    assert host.before("mcp__tracker__update_issue", title="b").decision is Decision.DENY


def test_new_token_of_a_server_is_no_new_server_and_is_not_recorded(host: Host) -> None:
    host.mode = UNWATCHED
    token = "ghp_" + "a1B2" * 9
    configure(host, gh={"command": "gh-mcp", "env": {"GITHUB_TOKEN": token}})
    host.before("mcp__gh__create_issue", title="a")
    assert token not in approve(host)
    configure(host, gh={"command": "gh-mcp", "env": {"GITHUB_TOKEN": token[::-1]}})
    assert host.before("mcp__gh__create_issue", title="b") == HookVerdict()
    configure(host, gh={"command": "gh-mcp", "env": {"GITHUB_TOKEN": token, "NODE_OPTIONS": "-r ./x.js"}})
    assert host.before("mcp__gh__create_issue", title="c").decision is Decision.DENY


def test_approval_of_a_server_that_the_host_does_not_name_is_for_one_use(host: Host) -> None:
    host.mode = UNWATCHED
    asked = host.before("mcp__cloud__create_note", title="a")
    assert "configuration is not known, so a person must approve each use" in asked.reason
    approve(host)
    assert host.before("mcp__cloud__create_note", title="a") == HookVerdict()
    assert host.before("mcp__cloud__create_note", title="b").decision is Decision.DENY


def test_names_that_fit_two_servers_are_asked_for_each_time(host: Host) -> None:
    configure(host, a={"command": "a"}, a__b={"command": "b"})
    assert "each use" in host.before("mcp__a__b__create", x="1").reason


def test_approved_server_does_not_answer_for_the_policy(host: Host) -> None:
    host.mode = UNWATCHED
    configure(host, bank={"command": "bank-mcp"})
    host.before("mcp__bank__create_note", text="a")
    approve(host)
    assert host.before("mcp__bank__create_note", text="b") == HookVerdict()
    host.configure('policy:\n- {approve: host.mcp, args: {tool: "mcp__bank__*"}, reason: look at the bank}\n')
    asked = host.before("mcp__bank__create_note", text="c")
    assert asked.decision is Decision.DENY
    assert "look at the bank" in asked.reason


def test_rule_for_mcp_binds_what_destroys_too(host: Host) -> None:
    host.configure("policy:\n- {deny: host.mcp, reason: no servers}\n")
    for tool in ("mcp__x__get_a", "mcp__x__delete_a"):
        assert "no servers" in host.before(tool).reason


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("WebFetch", {"url": "http://169.254.169.254/latest/meta-data/", "prompt": "x"}),
        ("WebFetch", {"url": "http://2852039166/", "prompt": "x"}),
        ("WebFetch", {"url": "http://[::ffff:a9fe:a9fe]/", "prompt": "x"}),
        ("WebFetch", {"url": "metadata.google.internal", "prompt": "x"}),
        ("mcp__fetch__fetch", {"url": "http://0xA9FEA9FE/"}),
        ("mcp__net__get", {"host": "0251.0376.0251.0376"}),
    ],
)
def test_metadata_address_waits_for_a_person(host: Host, tool: str, args: dict[str, str]) -> None:
    asked = host.before(tool, **args)
    assert asked.decision is Decision.ASK
    assert "reads credentials of a cloud machine" in asked.reason


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (
            "WebFetch",
            {"url": "https://example.com/169.254.169.254", "prompt": "about http://169.254.169.254 x"},
        ),
        ("WebSearch", {"query": "metadata"}),
        ("mcp__fetch__fetch", {"url": "http://127.0.0.1:3000/"}),
    ],
)
def test_other_addresses_go_on(host: Host, tool: str, args: dict[str, str]) -> None:
    assert host.before(tool, **args) == HookVerdict()


@pytest.mark.parametrize("name", ["get_d\u0435lete", "get_dele\u200bte", "l\u0456st"])
def test_name_with_letters_that_look_like_others_is_no_reading(name: str) -> None:
    assert judged(f"mcp__a__{name}", {}, {})[0] == ONCE


def test_statement_under_the_name_of_a_query_is_judged_as_one() -> None:
    kind, why = judged("mcp__db__query", {"query": {"raw": "DELETE FROM t"}}, {})
    assert (kind, "every row" in why) == (ALWAYS, True)
    assert judged("mcp__db__query", {"query": {"text": "SELECT 1"}}, {})[0] == PASSES
