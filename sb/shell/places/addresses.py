"""Addresses that only the own machine or its cloud answers: link-local ones and metadata services.

Whoever fetches from a metadata service gets the credentials of the machine.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import unquote

from sb.shell.parsing.words import compiled

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

# Names and addresses of metadata services, from the documentation of AWS, Google, Azure, Alibaba and Oracle.
METADATA = frozenset(
    "metadata metadata.google.internal metadata.goog metadata.azure.internal instance-data "
    "instance-data.ec2.internal 100.100.100.200 192.0.0.192 168.63.129.16 fd00:ec2::254 fd20:ce::254".split()
)
_URL = r"(?i)\b(?:https?|wss?|ftp|gopher|dict|tftp|ldap)\s*:\s*[/\\]+([^/\\?#\s]+)"
_WILDCARD_DNS = r"(?:^|\.)(\d+[.-]\d+[.-]\d+[.-]\d+)\.(?:nip\.io|sslip\.io|xip\.io)$"
_LONGEST = 4096  # characters of a text
_MOST_URLS = 32  # of one text


def metadata_address(text: str) -> str:
    """The first address in a text that is link-local or of a metadata service, as it is written; "" for none."""
    for match, _ in zip(compiled(_URL).finditer(text[:_LONGEST]), range(_MOST_URLS), strict=False):
        if is_metadata_host(match[1]):
            return match[1]
    return ""


def is_metadata_host(authority: str) -> bool:
    """True if the host of an address is link-local or a metadata service, in any spelling that clients accept.

    Args:
        authority: user, host and port, as they stand in the address.
    """
    host = unicodedata.normalize("NFKC", unquote(authority)).rpartition("@")[2].replace("。", ".").lower()
    bracketed = compiled(r"\[([^\]]*)\]").match(host)
    host = (
        bracketed[1].partition("%")[0]
        if bracketed
        else host.partition(":")[0]
        if host.count(":") < 2
        else host
    )
    host = host.rstrip(".")
    if host in METADATA:
        return True
    if wildcard := compiled(_WILDCARD_DNS).search(host):
        host = wildcard[1].replace("-", ".")
    address = address_of(host)
    if address is None:
        return False
    return address.is_link_local or str(address) in METADATA  # 169.254.0.0/16 and fe80::/10


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host in lower case is, in any notation that clients accept; None for a name."""
    if not compiled(r"[0-9a-fx.:]+").fullmatch(host):
        return None
    import ipaddress  # only for hosts that are numbers

    if ":" in host:
        try:
            six = ipaddress.IPv6Address(host)
        except ValueError:
            return None
        packed = six.packed
        if six.ipv4_mapped is not None:
            return six.ipv4_mapped
        if six.sixtofour is not None:
            return six.sixtofour
        if six.is_loopback or six.is_unspecified:
            return six
        if packed[:12] in (bytes(12), bytes.fromhex("0064ff9b0000000000000000")):  # compatible, NAT64
            return ipaddress.IPv4Address(packed[12:])
        return six
    number = _four(host)
    return None if number is None else ipaddress.IPv4Address(number)


def _four(host: str) -> int | None:
    """An IPv4 address as `inet_aton` reads it: one to four numbers, decimal, octal or hexadecimal."""
    parts = host.split(".")
    if not 1 <= len(parts) <= 4:
        return None
    numbers = []
    for part in parts:
        try:
            base = 16 if part[:2] == "0x" else 8 if len(part) > 1 and part[0] == "0" else 10
            numbers.append(int(part, base))
        except ValueError:
            return None
    *heads, last = numbers
    if any(not 0 <= head < 256 for head in heads) or not 0 <= last < 256 ** (5 - len(numbers)):
        return None
    value = last
    for at, head in enumerate(heads):
        value += head << (24 - 8 * at)
    return value
