from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.errors import ConfigError
from sb.tools.egress import Allowlist, is_public
from sb.tools.http import HttpSettings


@pytest.mark.parametrize(
    ("entry", "host", "port", "permitted"),
    [
        ("example.com", "example.com", 80, True),
        ("example.com", "example.com", 443, True),
        ("example.com", "example.com", 8080, False),
        ("example.com", "www.example.com", 443, False),
        ("example.com", "notexample.com", 443, False),
        ("example.com", "example.com.evil.org", 443, False),
        ("EXAMPLE.com.", "example.com", 443, True),
        ("example.com:8080", "example.com", 8080, True),
        ("example.com:8080", "example.com", 443, False),
        ("*.example.com", "www.example.com", 443, True),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("*.example.com:8443", "www.example.com", 8443, True),
        ("*.example.com:8443", "www.example.com", 443, False),
        ("[2001:DB8:0::1]:8080", "2001:db8::1", 8080, True),
        ("127.0.0.1:8080", "127.0.0.1", 8080, True),
        ("localhost", "localhost", 443, True),
    ],
)
def test_an_entry_permits_exactly_what_it_says(entry: str, host: str, port: int, permitted: bool) -> None:
    assert Allowlist([entry]).permits(host, port) is permitted
    assert Allowlist(["other.org", entry]).permits(host, port) is permitted


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ("example.com:8080", True),
        ("example.com", False),
        ("*.example.com:8080", False),
        ("example.com:80", False),
    ],
)
def test_only_an_entry_with_host_and_port_names_a_place(entry: str, named: bool) -> None:
    assert Allowlist([entry]).names("example.com", 8080) is named


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "*.com",
        "*.1.2.3.4",
        "*.",
        "a.*.com",
        "**.example.com",
        "https://example.com",
        "example.com/path",
        "user@example.com",
        "example.com:",
        "example.com:0",
        "example.com:65536",
        "example.com:http",
        "exa mple.com",
        "example..com",
        ".example.com",
        "-example.com",
        "bücher.example",
        "::1",
        "[::1",
        "[fe80::1%eth0]",
        "example.com\n",
        "x" * 64 + ".com",
    ],
)
def test_an_entry_that_cannot_be_used_is_a_configuration_error(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"http\.allow"):
        HttpSettings(allow=("example.com", entry))


@pytest.mark.parametrize("settings", [{"max_bytes": 0}, {"deadline_s": 0}, {"deadline_s": 30}])
def test_numbers_that_cannot_be_used_are_a_configuration_error(settings: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=r"http\."):
        HttpSettings(**settings)  # type: ignore[arg-type]


PRIVATE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_are_not_on_the_public_internet_are_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.169.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
    ],
)
def test_public_addresses_are_public_in_every_form(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses())
def test_nothing_is_public_that_python_calls_special(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped or address.sixtofour):
        return
    special = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
    )
    nat64 = address in ipaddress.ip_network("64:ff9b::/96")
    assert not (special and not nat64 and is_public(str(address)))
