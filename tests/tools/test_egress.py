"""Allowed network hosts and public addresses."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.config import HostPattern
from sb.tools.egress import is_public, names, permits
from tests.rows import rows


def allowing(*entries: str) -> list[HostPattern]:
    return [pattern for entry in entries if (pattern := HostPattern.parse(entry))]


@pytest.mark.parametrize(
    ("host", "permitted"), [("example.com", True), ("www.example.org", True), ("example.org", False)]
)
def test_one_entry_that_matches_is_enough(host: str, permitted: bool) -> None:
    assert permits(allowing("example.com", "*.example.org"), host, 443) is permitted
    assert not permits([], host, 443)


@rows(
    "entry, host, named",
    [
        ("example.com:8080", "example.com", True),
        ("EXAMPLE.com.:8080", "example.com", True),
        ("[::0:1]:8080", "::1", True),
        ("example.com", "example.com", False),
        ("*.example.com:8080", "example.com", False),
        ("*.example.com:8080", "www.example.com", False),
        ("example.com:80", "example.com", False),
    ],
)
def test_only_an_entry_with_host_and_port_names_a_place(entry: str, host: str, named: bool) -> None:
    assert names(allowing("other.org", entry), host, 8080) is named


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


@rows("address", PRIVATE)
def test_addresses_that_are_not_on_the_public_internet_are_known(address: str) -> None:
    assert not is_public(address)


@rows(
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
