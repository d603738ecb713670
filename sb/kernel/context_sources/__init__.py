"""Sources of context: who owns what agents read, and how far it is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.context_sources.source_files import read_sources as read_sources
    from sb.kernel.context_sources.sources import SENSITIVITIES as SENSITIVITIES
    from sb.kernel.context_sources.sources import AccessMode as AccessMode
    from sb.kernel.context_sources.sources import ContextSource as ContextSource
    from sb.kernel.context_sources.sources import ContextSourceRegistry as ContextSourceRegistry
    from sb.kernel.context_sources.sources import SourceRefused as SourceRefused
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.context_sources.source_files": "read_sources",
            "sb.kernel.context_sources.sources": "SENSITIVITIES AccessMode ContextSource ContextSourceRegistry SourceRefused",
        },
    )
