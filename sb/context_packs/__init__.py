"""Context packs: prepared context for the prompt of a run, within a token budget."""

from sb.context_packs.injector import ContextInjector
from sb.context_packs.kernel_bridge import injection_plan_to_compiled_items
from sb.context_packs.pack_store import ContextPack, PackStore
from sb.context_packs.plan import DroppedPack, DropReason, InjectionPlan, PlannedItem
from sb.context_packs.tokens import estimate_tokens

__all__ = [
    "ContextInjector",
    "ContextPack",
    "DropReason",
    "DroppedPack",
    "InjectionPlan",
    "PackStore",
    "PlannedItem",
    "estimate_tokens",
    "injection_plan_to_compiled_items",
]
