"""Convert an injection plan to the context items that the kernel compiles into a prompt.

Source: the kernel reference, "Context injection bridge".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sb.context_packs.pack_store import ContextPack
from sb.context_packs.plan import InjectionPlan
from sb.context_packs.sourcing import source_of_pack
from sb.kernel.contracts import CompiledContextItem, ToolProvenance

if TYPE_CHECKING:
    from sb.kernel.context_sources.sources import ContextSourceRegistry


def injection_plan_to_compiled_items(
    plan: InjectionPlan, sources: ContextSourceRegistry | None = None
) -> list[CompiledContextItem]:
    """The plan's items in prompt order; source id and content hash are those of the stored packs.

    Args:
        sources: stamps each item with its registered source; a plan may have become stale since it was made.

    Raises:
        SourceRefused: a pack's source is unregistered or without its owner, or the pack is stale.
    """
    return [
        CompiledContextItem(
            item_id=f"{item.slot}/{item.pack.pack_id}@{item.pack.version}",
            source_id=item.pack.pack_id,
            content=item.pack.content,
            content_hash=item.pack.content_hash,
            tokens=item.tokens,
            priority=item.priority,
            section=item.slot,
            provenance=ToolProvenance(item.pack.source_uri, item.pack.freshness_s),
            read_at=item.pack.read_at,
            **({} if sources is None else _stamp(item.pack, sources)),
        )
        for item in plan.items
    ]


def _stamp(pack: ContextPack, sources: ContextSourceRegistry) -> dict[str, Any]:
    source = source_of_pack(pack, sources)
    return {"registered_source": source.source_id, "owner": source.owner, "trust": source.trust}
