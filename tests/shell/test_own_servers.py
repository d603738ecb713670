"""Requests that delete: on a server of this machine they ask nobody, anywhere else they do."""

from __future__ import annotations

from pathlib import Path

from sb.kernel.contracts import SafetyClass
from sb.shell import classify
from tests.rows import rows

OWN = (
    "curl -X DELETE http://localhost:4321/x", "curl -s -X DELETE -w '%{http_code}\\n' localhost:4321/readings/west", "curl -sXDELETE 127.0.0.1:8000",
    "curl -s -o /dev/null -m 1 -H 'accept: x' --request DELETE 'http://127.0.0.1:4330/x?a=1'", "wget --method=DELETE -qO- http://localhost:8000/x",
    "http DELETE localhost:8000/items/1", "xh delete localhost:3000/x", "for m in PUT DELETE; do curl -X $m http://localhost:4399/x; done",
    "curl -X DELETE 'http://[::1]:8000/x'", "for m in PUT DELETE; do curl -X $m localhost:4399/x -w \"$m %{http_code}\"; done",
)  # fmt: skip
OTHERS = (
    "curl -X DELETE https://example.org/x", "curl -sXDELETE https://example.org/x", "curl -X DELETE http://localhost:9200/orders", "curl -X DELETE http://localhost.example.org/x",
    "curl -X DELETE --unix-socket /var/run/docker.sock http://localhost/containers/x", "curl -x http://example.org -X DELETE http://localhost:80/x",
    "curl -X DELETE http://localhost@example.org/x", "curl -X DELETE http://localhost:80@example.org/x", "curl -X DELETE $URL", "curl -X DELETE http://localhost:$PORT/x",
    "curl -X DELETE http://localhost:8000/x http://example.org/y", "curl -X DELETE --url http://example.org/y localhost:8000", "curl -L -X DELETE http://localhost:8000/x",
    "curl -K cfg -X DELETE localhost:8000", "curl -X DELETE --connect-to ::example.org: http://localhost:8000/x", "http --proxy http:http://example.org DELETE localhost:8000/x",
    "http DELETE example.org/localhost:8000", "curl -X DELETE 'http://localhost:8000\\@example.org/x'", "wget --method=DELETE http://example.org/x", "xh delete example.org",
    "curl -X DELETE http://localhost:2375/containers/x", "curl -X DELETE $OPTIONS http://localhost:8000/x", "curl -X DELETE http://10.0.0.2:8000/x",
    "for m in PUT DELETE; do curl -X $m localhost:4399/x \"$m example.org/x\"; done", "curl -X DELETE localhost:4399/x 'PUT http://example.org'",
)  # fmt: skip


def rank(line: str) -> SafetyClass:
    return classify(line, cwd=Path("/data/shop"), home=Path("/data"), protected=[]).safety_class


@rows("line", OWN)
def test_deletion_on_an_own_server_is_a_request_like_others(line: str) -> None:
    assert rank(line) is SafetyClass.NETWORK


@rows("line", OTHERS)
def test_deletion_that_may_be_elsewhere_is_destructive(line: str) -> None:
    assert rank(line) is SafetyClass.DESTRUCTIVE
