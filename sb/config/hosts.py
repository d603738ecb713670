"""Which hosts and ports does one entry of an allowlist stand for?"""

from __future__ import annotations

import re
from dataclasses import dataclass

WEB_PORTS = (80, 443)
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_PATTERN = re.compile(rf"(\*\.)?({_LABEL}(?:\.{_LABEL})*)(?::([1-9][0-9]{{0,4}}))?")


@dataclass(frozen=True)
class HostPattern:
    """`host`, `*.host` (every host below it, not itself), each also with `:port`.

    Args:
        host: in lower case, without the `*.`.
        port: None stands for the ports of http and https, 80 and 443, and for no other.
    """

    host: str
    below: bool = False
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> HostPattern | None:
        """The pattern that `text` is, or None."""
        match = (
            _PATTERN.fullmatch(text.lower()) if text.isascii() else None
        )  # a Kelvin sign's lower case is k
        if match is None or len(match[2]) > 253:
            return None
        port = int(match[3]) if match[3] else None
        if port is not None and port > 65_535:
            return None
        return cls(match[2], match[1] is not None, port)

    def matches(self, host: str, port: int) -> bool:
        """Whether a connection to this host (a name or an IPv4 address) and port is meant."""
        name = host.lower().removesuffix(".")
        if port not in (WEB_PORTS if self.port is None else (self.port,)):
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
        return f"{'*.' if self.below else ''}{self.host}{'' if self.port is None else f':{self.port}'}"
