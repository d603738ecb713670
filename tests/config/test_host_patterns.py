"""Entries of an allowlist of hosts: their meaning, and those without one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sb.config import HostPattern
from sb.config.host_patterns import WEB_PORTS, normal_host
from tests.rows import rows

DOMAINS = ["a.b", "x.a.b", "y.x.a.b", "c.b"]
ports = st.sampled_from([None, 80, 443, 8080])
patterns = st.builds(
    HostPattern, st.sampled_from([*DOMAINS, "a", "127.0.0.1", "::1", "2001:db8::1"]), st.just(False), ports
) | st.builds(HostPattern, st.sampled_from(DOMAINS), st.just(True), ports)


@given(patterns, patterns)
def test_what_two_patterns_share_matches_exactly_what_both_match(
    one: HostPattern, other: HostPattern
) -> None:
    both = one.meet(other)
    assert both == other.meet(one)
    for host in (*DOMAINS, "z.y.x.a.b", "a", "b", "127.0.0.1", "::1", "2001:db8::1"):
        for port in (*WEB_PORTS, 8080, 1):
            expected = one.matches(host, port) and other.matches(host, port)
            assert (both is not None and both.matches(host, port)) == expected


@given(patterns)
def test_a_pattern_reads_back_as_it_is_written(pattern: HostPattern) -> None:
    assert HostPattern.parse(str(pattern)) == pattern
    assert HostPattern.parse(str(pattern).upper()) == pattern


@given(st.text("a1:.*[]-%_K\u212a\n", max_size=12) | st.text(max_size=20))
def test_any_text_is_no_pattern_or_one_that_reads_back(text: str) -> None:
    pattern = HostPattern.parse(text)
    if pattern is not None:
        assert HostPattern.parse(str(pattern)) == pattern
        assert normal_host(pattern.host) == pattern.host
        assert str(pattern).isascii()


@rows(
    "pattern, host, port, matches",
    [
        ("example.com", "example.com", 80, True),
        ("example.com", "example.com", 443, True),
        ("example.com", "EXAMPLE.com.", 443, True),
        ("example.com", "example.com", 22, False),
        ("example.com", "example.com", 8080, False),
        ("example.com", "www.example.com", 443, False),
        ("example.com", "notexample.com", 443, False),
        ("example.com", "evil-example.com", 443, False),
        ("example.com", "example.com.evil.org", 443, False),
        ("kelvin.org", "\u212aelvin.org", 443, False),
        ("EXAMPLE.com.", "example.com", 443, True),
        ("EXAMPLE.com.:8080", "example.com", 8080, True),
        ("example.com:8080", "example.com", 8080, True),
        ("example.com:8080", "example.com", 443, False),
        ("*.example.com", "www.example.com", 80, True),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("*.example.com", "..example.com", 443, False),
        ("*.example.com:8443", "www.example.com", 8443, True),
        ("*.example.com:8443", "www.example.com", 443, False),
        ("[2001:DB8:0::1]:8080", "2001:db8::1", 8080, True),
        ("[::1]", "0:0:0:0:0:0:0:1", 443, True),
        ("[::1]", "[::1]", 443, False),
        ("[::1]", "::2", 443, False),
        ("127.0.0.1:8080", "127.0.0.1", 8080, True),
        ("localhost", "localhost", 443, True),
        ("localhost:8080", "localhost", 80, False),
    ],
)
def test_a_pattern_matches_exactly_what_it_says(pattern: str, host: str, port: int, matches: bool) -> None:
    parsed = HostPattern.parse(pattern)
    assert parsed is not None
    assert parsed.matches(host, port) is matches


@rows(
    "text",
    [
        "",
        "*",
        "*.com",
        "*.com.",
        "*.1.2.3.4",
        "*.[::1]",
        "*.[::ffff:1.2.3.4]",
        "*.",
        "a.*.com",
        "**.example.com",
        "https://example.com",
        "example.com/path",
        "user@example.com",
        "example.com:",
        "example.com:0",
        "example.com:080",
        "example.com:65536",
        "example.com:http",
        "exa mple.com",
        "example..com",
        "example.com..",
        ".example.com",
        "-example.com",
        "bücher.example",
        "\u212aelvin.org",
        "::1",
        "::1:8080",
        "[::1",
        "[[::1]]",
        "[::1.]",
        "[::1]8080",
        "[fe80::1%eth0]",
        "[example.com]",
        "[]",
        "example.com\n",
        "x" * 64 + ".com",
        "x." * 127 + "xx",
    ],
)
def test_a_text_that_is_malformed_or_too_wide_is_no_pattern(text: str) -> None:
    assert HostPattern.parse(text) is None
