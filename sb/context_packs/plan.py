"""The injection plan: packs chosen, packs left out with reasons, and a digest."""

from __future__ import annotations

from enum import StrEnum

from sb.base.values.canonical import canonical_bytes, digest
from sb.base.values.frozen import frozen
from sb.context_packs.pack_store import ContextPack


class DropReason(StrEnum):
    """The reason why a requested pack is not in the plan."""

    CONDITION = "condition not met"
    SCOPE = "scope"
    SLOT_FULL = "over the slot's limit"
    OUT_OF_BUDGET = "out of budget"
    UNREGISTERED = "its source is not registered"
    STALE = "stale"
    OWNER_LEFT = "the owner of its source left"


@frozen
class PlannedItem:
    """A chosen pack, the slot that it fills, that slot's priority, and the pack's tokens."""

    slot: str
    priority: int
    tokens: int
    pack: ContextPack


@frozen
class DroppedPack:
    """A pack that a slot asked for and did not get."""

    pack_id: str
    slot: str
    reason: DropReason


@frozen
class InjectionPlan:
    """The outcome of one decision for one envelope.

    Args:
        token_budget: the budget that held, in tokens.
        items: in the order of the prompt; no pack twice, and together never above the budget.
        dropped: packs that matched a slot and are not among the items, once for each such slot.
    """

    decision_key: str
    decision_version: str
    token_budget: int
    items: tuple[PlannedItem, ...]
    dropped: tuple[DroppedPack, ...]

    @property
    def tokens_used(self) -> int:
        """Tokens of all items together."""
        return sum(item.tokens for item in self.items)

    @property
    def manifest_hash(self) -> str:
        """SHA-256 hex over decision, budget and the chosen packs in order: equal input, equal hash."""
        manifest = {
            "decision": [self.decision_key, self.decision_version],
            "token_budget": self.token_budget,
            "items": [
                [item.slot, item.pack.pack_id, item.pack.version, item.pack.content_hash]
                for item in self.items
            ],
        }
        return digest(canonical_bytes(manifest))
