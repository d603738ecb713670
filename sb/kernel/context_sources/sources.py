"""Context sources: who owns what agents read, how far it is trusted, and how long it stays fresh."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

from sb.base.duration import human_duration
from sb.base.secrets.redaction import one_line
from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.base.values.frozen import frozen
from sb.errors import ContractError, DeniedError
from sb.kernel.policy.patterns import permits

SENSITIVITIES = ("public", "internal", "personal", "payment", "secret")
_SHOWN = 120  # characters of an address in a reason


class AccessMode(StrEnum):
    """Access that agents have to a source."""

    READ_ONLY = "read_only"
    READ_WRITE = "read_write"


class SourceRefused(DeniedError):
    """Context may not come from, or go, there.

    Args:
        rule: source_unregistered, source_stale, source_read_only or source_owner_left.
    """

    kind = "source_refused"

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message, "sb sources list")
        self.rule = rule


@frozen
class ContextSource:
    """One place that context comes from.

    Args:
        source_id: its name.
        owner: who answers for it; an operator's name where operators are enrolled.
        uris: addresses or paths, or patterns of them, such as ``https://wiki.example.org/*`` or ``policies/*``.
        sensitivity: one of SENSITIVITIES.
        ttl_s: seconds for which what was read there counts as fresh.
        trust: from 0 to 1.

    Raises:
        ContractError: id, owner or addresses are missing, or a number is out of its range.
    """

    source_id: str
    owner: str
    uris: tuple[str, ...]
    sensitivity: str = "internal"
    access: AccessMode = AccessMode.READ_ONLY
    ttl_s: float = 86_400.0
    trust: float = 0.5

    def __post_init__(self) -> None:
        for name in ("source_id", "owner"):
            if not getattr(self, name).strip():
                raise ContractError(
                    f"context source {self.source_id!r} has no {name.removeprefix('source_')}"
                )
        if not self.uris or not all(uri.strip() for uri in self.uris):
            raise ContractError(f"context source {self.source_id!r} has no uris")
        if self.sensitivity not in SENSITIVITIES:
            raise ContractError(f"context source {self.source_id!r}: no sensitivity {self.sensitivity!r}")
        if not self.ttl_s > 0 or not 0 <= self.trust <= 1:
            raise ContractError(f"context source {self.source_id!r}: ttl_s is above 0, trust from 0 to 1")


class ContextSourceRegistry:
    """The registered sources.

    Args:
        clock: tells what is stale.
        owner_refusal: why an owner does not answer for anything any more, or "".

    Raises:
        ContractError: two sources have one id.
    """

    def __init__(
        self,
        sources: Iterable[ContextSource] = (),
        *,
        clock: Clock = SYSTEM_CLOCK,
        owner_refusal: Callable[[str], str] = lambda owner: "",
    ) -> None:
        self._sources: dict[str, ContextSource] = {}
        self._clock = clock
        self._owner_refusal = owner_refusal
        for source in sources:
            self.register(source)

    def register(self, source: ContextSource) -> None:
        """Add a source; raises ContractError if its id is taken."""
        if source.source_id in self._sources:
            raise ContractError(f"context source {source.source_id!r} is registered twice")
        self._sources[source.source_id] = source

    def __iter__(self) -> Iterator[ContextSource]:
        return iter(self._sources.values())

    def find(self, uri: str) -> ContextSource | None:
        """The source that an address belongs to, as `source_of`; None where none fits."""
        found = [
            (len(pattern), source)
            for source in self._sources.values()
            for pattern in source.uris
            if permits(pattern, uri)
        ]
        return max(found, key=lambda item: item[0])[1] if found else None

    def source_of(self, uri: str) -> ContextSource:
        """The source that an address belongs to: of several that fit, the one with the longest pattern.

        Raises:
            SourceRefused: no registered source fits, or its owner left.
        """
        source = self.find(uri)
        if source is None:
            shown = one_line(uri, _SHOWN)
            raise SourceRefused("source_unregistered", f"{shown!r} is no registered source of context")
        if left := self._owner_refusal(source.owner):
            raise SourceRefused("source_owner_left", f"context source {source.source_id}: {left}")
        return source

    def check_read(
        self, uri: str, *, read_at: float | None = None, freshness_s: float | None = None
    ) -> ContextSource:
        """The source of something that was read, if it may be used now.

        Args:
            read_at: seconds since the epoch at which it was read; None for now.
            freshness_s: seconds for which it says itself that it is fresh; the shorter of this and the source's counts.

        Raises:
            SourceRefused: it is unregistered, stale or without its owner.
        """
        source = self.source_of(uri)
        limit = source.ttl_s if freshness_s is None else min(source.ttl_s, freshness_s)
        now = self._clock.now()
        age = 0.0 if read_at is None else now - read_at
        if not 0 <= age <= limit:  # what was read in the future has no age that could be believed
            what = (
                f"{human_duration(int(age))} old, fresh for {human_duration(limit)}"
                if age > 0
                else "from the future"
            )
            raise SourceRefused("source_stale", f"{one_line(uri, _SHOWN)!r} is {what}")
        return source

    def check_write(self, uri: str) -> ContextSource:
        """The source that something is written to; raises SourceRefused unless it may be."""
        source = self.source_of(uri)
        if source.access is not AccessMode.READ_WRITE:
            raise SourceRefused("source_read_only", f"context source {source.source_id} is only read")
        return source
