"""Connections of agents over HTTP: a token for each request, and nobody else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sb.mcp import http_limits
from sb.mcp.serving import MAX_BODY
from tests.conftest import CommandLine
from tests.mcp.http_server import ACCEPT, ADA, WAIT_S, Served, listening


@pytest.fixture
def served(home: Path) -> Iterator[Served]:
    with listening("127.0.0.1") as found:
        yield found


def test_a_request_without_a_token_or_with_a_wrong_one_is_refused(served: Served) -> None:
    token = served.token("scribe")
    assert served.post(token) == 200
    assert served.post() == 401
    assert served.post(token[:-1] + ("0" if token[-1] != "0" else "1")) == 401
    assert served.post("sbt_" + "0" * 16 + "_" + "0" * 64) == 401
    served.tokens.revoke(token[:20], ADA, "lost")
    assert served.post(token) == 401


def test_a_page_in_a_browser_reaches_nothing(served: Served) -> None:
    token = served.token("scribe")
    assert served.post(token, Origin="http://evil.example") == 403
    assert served.post(token, Host="evil.example") == 421
    assert served.post(token, Origin=f"http://127.0.0.1:{served.port}") == 200


def test_at_every_address_a_proxy_of_this_machine_is_answered(home: Path) -> None:
    with listening("0.0.0.0") as served:
        token = served.token("scribe")
        assert served.post(token) == 200
        assert served.post(token, Host="evil.example") == 421


def test_a_proxy_is_answered_under_the_names_that_were_allowed(home: Path) -> None:
    with listening("127.0.0.1", proxied=["brain.example.com"]) as served:
        token = served.token("scribe")
        assert served.post(token, Host="brain.example.com") == 200
        assert served.post(token, Host="brain.example.com", Origin="https://brain.example.com") == 200
        assert served.post(token, Host="brain.example.com", Origin="http://evil.example") == 403
        assert served.post(token, Host="brain.example.com.evil.example") == 421


def test_sessions_of_one_token_are_bounded_and_others_not_shut_out(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_limits, "MAX_SESSIONS", 2)
    greedy, other = served.token("scribe"), served.token("clerk")
    first = served.send(greedy).headers["mcp-session-id"]
    assert [served.post(greedy), served.post(greedy)] == [200, 429]
    assert served.post(other) == 200
    assert "result" in served.call(greedy, "search", query="anything")  # a revision without sessions
    headers = {"Authorization": f"Bearer {greedy}", "mcp-session-id": first}
    refused = {"Origin": "http://evil.example"}
    assert httpx.delete(served.url, headers=headers | refused, timeout=WAIT_S).status_code == 403
    assert httpx.delete(f"{served.url}/x", headers=headers, timeout=WAIT_S).status_code == 404
    assert served.post(greedy) == 429  # what was not ended counts
    assert httpx.delete(served.url, headers=headers, timeout=WAIT_S).status_code == 200
    assert served.post(greedy) == 200


def test_refused_requests_use_up_no_sessions_and_a_refused_end_ends_none(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_limits, "MAX_SESSIONS", 1)
    token = served.token("scribe")
    as_json = {"Content-Type": "application/json"}
    assert served.post(token, Host="evil.example") == 421
    assert served.post(token, b"{not json", **as_json) == 400
    assert served.post(token, b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', **as_json) == 400
    opened = served.send(token)
    assert opened.status_code == 200
    session = {"Authorization": f"Bearer {token}", "mcp-session-id": opened.headers["mcp-session-id"]}
    for wrong in ({"mcp-protocol-version": "none"}, {"Host": "evil.example"}):
        assert httpx.delete(served.url, headers=session | wrong, timeout=WAIT_S).status_code >= 400
        assert served.post(token) == 429


def test_requests_of_one_token_at_once_are_bounded_and_others_not_shut_out(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_limits, "MAX_REQUESTS", 1)
    greedy, other = served.token("scribe"), served.token("clerk")
    session = served.send(greedy).headers["mcp-session-id"]
    headers = {"Authorization": f"Bearer {greedy}", "mcp-session-id": session, **ACCEPT}
    with httpx.stream("GET", served.url, headers=headers, timeout=WAIT_S) as stream:
        assert stream.status_code == 200
        assert served.post(greedy) == 429
        assert served.post(other) == 200


def test_bad_requests_end_in_an_error_and_the_server_goes_on(served: Served) -> None:
    token = served.token("scribe")
    json_type = {"Content-Type": "application/json"}
    assert served.post(token, b"{not json", **json_type) == 400
    assert served.post(token, b"[" * 50_000, **json_type) == 400
    assert served.post(token, b"x" * (MAX_BODY + 1), **json_type) == 413
    assert served.post(token) == 200


def test_the_token_says_who_it_is_and_what_for(served: Served) -> None:
    scribe, clerk = served.token("scribe", "core", "memory"), served.token("clerk")
    saved = served.call(scribe, "remember", content="The plan is secret.", private=True)
    assert served.call(scribe, "search", query="plan")["result"][0]["by"] == "scribe"
    assert served.call(clerk, "search", query="plan") == {"result": []}
    assert "not offered to clerk" in served.call(clerk, "get_memory", id=saved["id"])


def test_a_token_for_calls_alone_reads_no_memory_as_a_resource(served: Served) -> None:
    saved = served.call(served.token("scribe"), "remember", content="The vault is blue")
    uri = f"sb://record/{saved['id']}"
    assert "The vault is blue" in served.read(served.token("scribe", "memory"), uri)
    assert "not offered to scribe" in served.read(served.token("scribe", "kernel"), uri)
    assert served.resources(served.token("scribe", "kernel")) == []
    assert served.resources(served.token("scribe")) == ["sb://handoff/latest", "sb://record/{id}"]


def test_without_tls_it_stays_on_this_machine_unless_told(sb: CommandLine, home: Path) -> None:
    refused = sb("serve", "mcp", "--http", "0.0.0.0:8765")
    assert refused.code == 2
    assert "without encryption" in refused.err
    assert "is no address" in sb("serve", "mcp", "--http", "here").err
    assert "is no host's name" in sb("serve", "mcp", "--http", "8765", "--allow-host", "a b").err
    assert "there is no token" in sb("serve", "mcp", "--http", "8765").err


def test_an_address_that_is_taken_ends_it_with_an_error(sb: CommandLine, home: Path) -> None:
    assert sb("init").code == 0
    assert sb("serve", "token", "create", "scribe", "--reason", "tried").code == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = sb("serve", "mcp", "--http", str(port))
    assert refused.code == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in refused.err
    assert "MCP at" not in refused.err


def test_tokens_are_made_listed_and_revoked_by_people(sb: CommandLine, home: Path) -> None:
    assert sb("init").code == 0
    assert "needs a reason" in sb("serve", "token", "create", "scribe").err
    made = sb("serve", "token", "create", "scribe", "--toolset", "core", "--reason", "laptop", "--json").json
    listed = sb("serve", "token", "list", "--json")
    assert made["token"] not in listed.out
    assert [(item["agent"], item["toolsets"]) for item in listed.json["items"]] == [("scribe", ["core"])]
    assert sb("serve", "token", "revoke", made["id"], "--reason", "lost").code == 0
    assert "revoked" in sb("serve", "token", "list").out
    assert sb("serve", "token", "create", "x", "--toolset", "kernl", "--reason", "y").code == 2
