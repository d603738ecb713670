"""Context packs and registered sources: whether a pack may be used as its source is."""

from __future__ import annotations

from sb.context_packs.pack_store import ContextPack
from sb.kernel.context_sources.sources import ContextSource, ContextSourceRegistry, SourceRefused


def source_of_pack(pack: ContextPack, sources: ContextSourceRegistry) -> ContextSource:
    """The registered source of a pack.

    Raises:
        SourceRefused: it is unregistered or without its owner; the pack is stale, or does not say when it was read.
    """
    source = sources.source_of(pack.source_uri)
    if pack.read_at is None:
        raise SourceRefused("source_stale", f"context pack {pack.pack_id} does not say when it was read")
    sources.check_read(pack.source_uri, read_at=pack.read_at, freshness_s=pack.freshness_s)
    return source
