"""The store of context packs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sb.base.text import nearest
from sb.base.values.canonical import digest
from sb.contracts.envelopes import GLOBAL_SCOPE
from sb.errors import NotFoundError, UsageError


@dataclass(frozen=True)
class ContextPack:
    """One piece of context, injected whole or not at all.

    Args:
        scope: who may see it: ``global``, or one scope such as ``project:acme``.
        source_uri: where the content came from.
        read_at: seconds since the epoch at which its content was read at the source; None is no age, which registered
            sources do not take.
        freshness_s: seconds for which it is fresh, if that is shorter than what its source says.
        priority: within one slot the higher is taken first.
        content_hash: SHA-256 hex of the content in UTF-8; computed.

    Raises:
        UsageError: id, version, scope or content is blank, or the content has no UTF-8 form.
    """

    pack_id: str
    version: str
    content: str
    scope: str = GLOBAL_SCOPE
    source_uri: str = ""
    priority: int = 0
    read_at: float | None = None
    freshness_s: float | None = None
    content_hash: str = field(init=False)

    def __post_init__(self) -> None:
        for name in ("pack_id", "version", "content", "scope"):
            if not getattr(self, name).strip():
                raise UsageError(f"context pack {self.pack_id!r}: {name} must not be blank")
        try:
            data = self.content.encode()
        except UnicodeEncodeError:
            raise UsageError(f"context pack {self.pack_id!r}: an unpaired surrogate in the content") from None
        object.__setattr__(self, "content_hash", digest(data))


class PackStore:
    """Packs in memory, one version of each.

    Raises:
        UsageError: two packs have the same id.
    """

    def __init__(self, packs: Iterable[ContextPack] = ()) -> None:
        self._packs: dict[str, ContextPack] = {}
        for pack in packs:
            if pack.pack_id in self._packs:
                raise UsageError(f"context pack {pack.pack_id!r} is listed twice")
            self._packs[pack.pack_id] = pack

    def get(self, pack_id: str) -> ContextPack:
        """The pack of this id; raises NotFoundError, naming the nearest one."""
        if pack_id not in self._packs:
            raise NotFoundError(f"no context pack {pack_id!r}{nearest(pack_id, self._packs)}")
        return self._packs[pack_id]

    def __iter__(self) -> Iterator[ContextPack]:
        return iter(self._packs.values())
