"""Parse entries of a network allowlist into hosts and ports."""

from __future__ import annotations

import re

from sb.base.values.frozen import frozen

WEB_PORTS = (80, 443)
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PATTERN = re.compile(r"(\*\.)?(\[[^\[\]]*:[^\[\]]*\]|[^\[\]:]*)(?::([1-9][0-9]{0,4}))?")


def normal_host(text: str) -> str | None:
    """A name or IPv4 address in lower case without the root's dot, an IPv6 address in its short form, or None."""
    if ":" in text:
        return _short_ipv6(text)
    host = text.lower().removesuffix(".")
    # Only ASCII: a Kelvin sign's lower case is k.
    return host if text.isascii() and len(host) <= 253 and _NAME.fullmatch(host) else None


def _short_ipv6(text: str) -> str | None:
    from ipaddress import IPv6Address

    try:
        address = IPv6Address(text)
    except ValueError:
        return None
    return address.compressed if address.scope_id is None else None


@frozen
class HostPattern:
    """`host`, `[IPv6 address]` or `*.host` (every host below it, not itself), each also with `:port`.

    Args:
        host: as `normal_host` gives it, without the `*.` and the brackets.
        port: None stands for the ports of http and https, 80 and 443, and for no other.
    """

    host: str
    below: bool = False
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> HostPattern | None:
        """The pattern that `text` is, or None, also for one that is too wide, such as `*.com`."""
        match = _PATTERN.fullmatch(text)
        if match is None:
            return None
        below = match[1] is not None
        host = normal_host(match[2].strip("[]"))
        port = int(match[3]) if match[3] else None
        if host is None or (below and not _is_domain(host)) or (port or 0) > 65_535:
            return None
        return cls(host, below, port)

    def matches(self, host: str, port: int) -> bool:
        """True if a connection to this host (a name or an address, without brackets) and port is meant."""
        name = normal_host(host)
        if name is None or port not in (WEB_PORTS if self.port is None else (self.port,)):
            return False
        return name.endswith(f".{self.host}") if self.below else name == self.host

    def meet(self, other: HostPattern) -> HostPattern | None:
        """The pattern for what both match, or None if they share nothing."""
        host = self._shared_host(other)
        port = self.port if other.port is None else other.port
        if host is None or not (
            self.port == other.port
            or (self.port is None and other.port in WEB_PORTS)
            or (other.port is None and self.port in WEB_PORTS)
        ):
            return None
        return HostPattern(host.host, host.below, port)

    def _shared_host(self, other: HostPattern) -> HostPattern | None:
        if (self.host, self.below) == (other.host, other.below):
            return self
        if self.below and other.host.endswith(f".{self.host}"):
            return other
        if other.below and self.host.endswith(f".{other.host}"):
            return self
        return None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'*.' if self.below else ''}{host}{'' if self.port is None else f':{self.port}'}"


def _is_domain(host: str) -> bool:
    """True if everything below it may be meant: not a top-level domain such as com, and not an address."""
    return "." in host and ":" not in host and not host.replace(".", "").isdigit()
