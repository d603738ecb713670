"""Addresses that a command line fetches from."""

from __future__ import annotations

import time

import pytest

from sb.kernel.context_sources.fetched import MOST, addresses_of
from tests.rows import rows


@rows(
    "command, addresses",
    [
        ("curl -s 'https://w.org/a?x=1&y=2' -o a.html", ["https://w.org/a?x=1&y=2"]),
        ("curl -s evil.example.org https://w.org", ["https://w.org", "https://evil.example.org"]),
        ("curl --url=evil.org https://w.org", ["https://w.org", "https://evil.org"]),
        ("wget -O out.html w.org/a", ["https://w.org/a"]),
        ("cd x && /usr/bin/curl 10.0.0.1:8080/x; ls", ["https://10.0.0.1:8080/x"]),
        ("curl $URL", ["shell:curl"]),
        ("curl -K list", ["shell:curl"]),
        ("curl https://w.org -K list", ["https://w.org", "shell:curl"]),
        ("curl -i https://w.org", ["https://w.org"]),
        ("curl https://w.org > out.json 2> err.log", ["https://w.org"]),
        ("curl -sSLo out.tar.gz w.org/a", ["https://w.org/a"]),
        ("curl -oout.tar.gz w.org/a", ["https://w.org/a"]),
        ("curl --json '{}' w.org/a", ["https://w.org/a"]),
        ("wget -c https://w.org", ["https://w.org"]),
        ("wget -b evil.org https://w.org", ["https://w.org", "https://evil.org"]),
        ("wget -qi list https://w.org", ["https://w.org", "shell:wget"]),
        ("http -b evil.org https://w.org", ["https://w.org", "https://evil.org"]),
        ("curl -xevil.org https://w.org", ["https://w.org", "https://evil.org"]),
        ("curl --resolve w.org:443:10.0.0.1 https://w.org", ["https://w.org", "shell:curl"]),
        (
            r"curl \> evil.org '>' evil.net https://w.org",
            ["https://w.org", "shell:curl", "https://evil.org", "https://evil.net"],
        ),
        ("curl -X POST \\\n  https://w.org/x \\\n  -H 'a: b'", ["https://w.org/x"]),
        ("curl https://w.org \\\n evil.org", ["https://w.org", "https://evil.org"]),
        ("curl -H 'Accept: a; q=1|2' w.org", ["https://w.org"]),
        ('curl -d \'{"a": "b; c"}\' https://w.org evil.org', ["https://w.org", "https://evil.org"]),
        ("curl 'https://w.org'.evil.org", ["https://w.org", "https://w.org.evil.org"]),
        ("curl 'evil.org/?u=https://w.org'", ["https://w.org", "https://evil.org/?u=https://w.org"]),
        ("curl https://w.org me@evil.org", ["https://w.org", "shell:curl"]),
        ("curl https://w.org evil.org. ", ["https://w.org", "shell:curl"]),
        ("curl https://w.org http:/evil.org", ["https://w.org", "shell:curl"]),
        ("curl https://w.org `evil`", ["https://w.org", "shell:curl"]),
        ("curl https://w.org <(x) evil", ["https://w.org", "shell:curl"]),
        ("curl https://w.org &> log evil.org", ["https://w.org", "https://evil.org"]),
        ("x=`curl https://w.org` # as evil.org did", ["https://w.org"]),
        ("curl -fsS https://w.org --max-time 9 2>&1 # not: evil org", ["https://w.org"]),
        ("bash -c \"curl 'w.org/a b' && echo 'evil.org'\"", ["https://w.org/a b"]),
        ("sh -c 'sh -c \"curl evil.org\"' https://w.org", ["https://w.org", "https://evil.org"]),
        ("http --form evil.org https://w.org", ["https://w.org", "https://evil.org"]),
        ("http --print=h POST w.org a=b X:y", ["https://w.org"]),
        ("http me@evil.org a=https://w.org", ["https://w.org", "shell:http"]),
        ("git clone https://github.com/a/b", ["https://github.com/a/b"]),
        ("wget -q -O - w.org | sh", ["https://w.org"]),
        ("c''url evil.org", ["https://evil.org"]),
        ("U=evil.org; curl $U", ["https://evil.org"]),
        ("alias c=curl; c evil.org", ["shell:curl"]),
        ("pip install curling", []),
        ("apt-get install curl && which curl", []),
        ("make httpd", []),
    ],
)
def test_addresses_of_a_command_line_are_named_or_said_to_be_unknown(
    command: str, addresses: list[str]
) -> None:
    assert addresses_of(command) == addresses


def test_a_line_with_too_many_addresses_is_no_line_of_known_ones() -> None:
    many = "curl " + " ".join(f"https://w.org/{number}" for number in range(MOST + 1))
    assert addresses_of(many)[-1] == f"shell:{MOST}+"


@pytest.mark.parametrize("part", ["curl ", "'curl ", '"curl \\" ', "`curl ", "curl \\\n"])
def test_a_hostile_line_is_read_in_bounded_time(part: str) -> None:
    began = time.process_time()
    assert any(found.startswith("shell:") for found in addresses_of(part * 40_000))
    assert time.process_time() - began < 2
