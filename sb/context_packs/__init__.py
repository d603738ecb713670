"""Context packs: prepared context for the prompt of a run, within a token budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.context_packs.injector import ContextInjector as ContextInjector
    from sb.context_packs.kernel_bridge import (
        injection_plan_to_compiled_items as injection_plan_to_compiled_items,
    )
    from sb.context_packs.pack_store import ContextPack as ContextPack
    from sb.context_packs.pack_store import PackStore as PackStore
    from sb.context_packs.plan import DroppedPack as DroppedPack
    from sb.context_packs.plan import DropReason as DropReason
    from sb.context_packs.plan import InjectionPlan as InjectionPlan
    from sb.context_packs.plan import PlannedItem as PlannedItem
    from sb.context_packs.tokens import estimate_tokens as estimate_tokens
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.context_packs.injector": "ContextInjector",
            "sb.context_packs.kernel_bridge": "injection_plan_to_compiled_items",
            "sb.context_packs.pack_store": "ContextPack PackStore",
            "sb.context_packs.plan": "DroppedPack DropReason InjectionPlan PlannedItem",
            "sb.context_packs.tokens": "estimate_tokens",
        },
    )
