"""Door to `sb.kernel.boundaries` on context sources, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.boundaries.source_files import read_sources
from sb.kernel.boundaries.sources import (
    SENSITIVITIES,
    AccessMode,
    ContextSource,
    ContextSourceRegistry,
    SourceRefused,
)

__all__ = [
    "SENSITIVITIES",
    "AccessMode",
    "ContextSource",
    "ContextSourceRegistry",
    "SourceRefused",
    "read_sources",
]
