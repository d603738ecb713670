"""Network hosts that a tool may reach, and addresses that no name may resolve to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.config.host_patterns import HostPattern

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

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


def permits(allow: Sequence[HostPattern], host: str, port: int) -> bool:
    return any(entry.matches(host, port) for entry in allow)


def names(allow: Sequence[HostPattern], host: str, port: int) -> bool:
    """True if an entry is exactly this host and port, which also allows its private addresses.

    Args:
        host: as `normal_host` gives it.
    """
    return HostPattern(host, port=port) in allow


def is_public(address: str) -> bool:
    """True if an IP address is on the public internet; addresses that embed an IPv4 address count as that one."""
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
