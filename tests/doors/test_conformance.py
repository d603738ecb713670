"""The protocol's own conformance suite: what fails is what conformance.yaml expects, no more and no less."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.doors.conftest import PACKAGES, Node
from tests.mcp.http_server import listening

SUITE = PACKAGES / "conformance" / "dist" / "index.js"
EXPECTED = yaml.safe_load(Path(__file__).with_name("conformance.yaml").read_text(encoding="utf-8"))
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mcp.md"


class TokenProxy:
    """A proxy before the server, for a suite that sends no token: it adds one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.token = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            bearer = (b"authorization", f"Bearer {self.token}".encode())
            scope = {**scope, "headers": [*scope["headers"], bearer]}
        await self.app(scope, receive, send)


@pytest.mark.parametrize("revision", sorted(EXPECTED["revisions"]))
def test_the_conformance_suite_fails_where_it_is_expected_to(
    revision: str, home: Path, tmp_path: Path, node: Node
) -> None:
    proxies: list[TokenProxy] = []

    def through_proxy(app: ASGIApp) -> ASGIApp:
        proxies.append(TokenProxy(app))
        return proxies[0]

    with listening("127.0.0.1", through_proxy) as served:
        proxies[0].token = served.token("scribe", "core", "memory", "graph", "beliefs", "kernel")
        done = node(SUITE, "server", "--url", served.url, "--requirements", revision, "-o", tmp_path)
    total = re.search(r"^Total: (\d+) passed, (\d+) failed", done.stdout, re.MULTILINE)
    assert total, done.stderr[-2_000:]
    assert failures(tmp_path) == expectations(revision)
    line = f"| {revision} | {total[1]} | {total[2]} |"
    assert line in PAGE.read_text(encoding="utf-8"), f"{PAGE.name} has to say {line}"


def failures(folder: Path) -> set[str]:
    """`scenario:check` of every check that failed."""
    failed: set[str] = set()
    for file in folder.glob("server-*/checks.json"):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", file.parent.name.removeprefix("server-"))
        checks = json.loads(file.read_text(encoding="utf-8"))
        failed |= {f"{scenario}:{check['id']}" for check in checks if check["status"] == "FAILURE"}
    return failed


def expectations(revision: str) -> set[str]:
    """Those that are expected to fail: each under a reason that the file explains."""
    by_reason = EXPECTED["revisions"][revision]
    assert set(by_reason) <= set(EXPECTED["reasons"])
    return {check for checks in by_reason.values() for check in checks}
