"""Convert an injection plan to the context items that the kernel compiles into a prompt.

Source: the kernel reference, "Context injection bridge".
"""

from __future__ import annotations

from sb.context_packs.plan import InjectionPlan
from sb.kernel.contracts import CompiledContextItem, ToolProvenance


def injection_plan_to_compiled_items(plan: InjectionPlan) -> list[CompiledContextItem]:
    """The plan's items in prompt order; source id and content hash are those of the stored packs."""
    return [
        CompiledContextItem(
            item_id=f"{item.slot}/{item.pack.pack_id}@{item.pack.version}",
            source_id=item.pack.pack_id,
            content=item.pack.content,
            content_hash=item.pack.content_hash,
            tokens=item.tokens,
            priority=item.priority,
            section=item.slot,
            provenance=ToolProvenance(source_uri=item.pack.source_uri),
        )
        for item in plan.items
    ]
