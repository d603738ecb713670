"""Which hosts may a tool reach, and which addresses does a host's name never lead to?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sb.errors import ConfigError

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_ENTRY = re.compile(r"(?P<wild>\*\.)?(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?")
_WEB_PORTS = (80, 443)

# The IANA special-purpose registry, spelled out because `ipaddress` knows different parts of it by Python version.
_NOT_PUBLIC_V4 = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",  # the metadata service of one cloud, on an otherwise public address
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
)
_PUBLIC_V6 = "2000::/3"
_NOT_PUBLIC_V6 = ("2001::/23", "2001:db8::/32", "3fff::/20")
_NAT64 = "64:ff9b::/96"


def normal_host(text: str) -> str:
    """A host name in lower case without the root's dot, or an IPv6 address in its short form.

    Raises:
        ValueError: neither a host name nor an address.
    """
    host = text.lower().removesuffix(".")
    if ":" in host:
        from ipaddress import IPv6Address

        address = IPv6Address(host)
        if address.scope_id is not None:
            raise ValueError("an address with a zone")
        return address.compressed
    if len(host) > 253 or not _NAME.fullmatch(host):
        raise ValueError("not a host name")
    return host


@dataclass(frozen=True)
class _Entry:
    host: str
    subdomains: bool
    port: int | None

    def permits(self, host: str, port: int) -> bool:
        named = host.endswith("." + self.host) if self.subdomains else host == self.host
        return named and (port in _WEB_PORTS if self.port is None else port == self.port)


class Allowlist:
    """Hosts that tools may reach.

    Args:
        entries: "example.com", "*.example.com" (its subdomains only), each optionally with ":port"; without
            one, ports 80 and 443.

    Raises:
        ConfigError: an entry is malformed or too wide.
    """

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = [_parsed(entry) for entry in entries]

    def permits(self, host: str, port: int) -> bool:
        return any(entry.permits(host, port) for entry in self._entries)

    def names(self, host: str, port: int) -> bool:
        """Whether an entry is exactly this host and port, which also allows its private addresses."""
        return _Entry(host, False, port) in self._entries


def _parsed(entry: str) -> _Entry:
    match = _ENTRY.fullmatch(entry)
    try:
        if match is None:
            raise ValueError("not a host")
        host = normal_host(match["host"].removeprefix("[").removesuffix("]"))
        port = int(match["port"]) if match["port"] else None
        if port is not None and not 1 <= port <= 65535:
            raise ValueError("no such port")
        if match["wild"] and ("." not in host or host.replace(".", "").isdigit()):
            raise ValueError("too wide, or not a domain")
    except ValueError as error:
        raise ConfigError(
            f"http.allow: {entry!r} cannot be used: {error}",
            'entries look like "example.com", "*.example.com" or "example.com:8080"',
        ) from None
    return _Entry(host, bool(match["wild"]), port)


def is_public(address: str) -> bool:
    """Whether an IP address is on the public internet; addresses that embed an IPv4 address count as that one."""
    import ipaddress

    ip = _embedded(ipaddress.ip_address(address.partition("%")[0]))
    if ip.version == 4:
        return not any(ip in ipaddress.ip_network(network) for network in _NOT_PUBLIC_V4)
    return ip in ipaddress.ip_network(_PUBLIC_V6) and not any(
        ip in ipaddress.ip_network(network) for network in _NOT_PUBLIC_V6
    )


def _embedded(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address inside an IPv4-mapped, 6to4 or NAT64 address, else the address itself."""
    import ipaddress

    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in ipaddress.ip_network(_NAT64):
        return ipaddress.IPv4Address(ip.packed[12:])
    return ip.ipv4_mapped or ip.sixtofour or ip
