"""Select the packs that a decision injects into the prompt of a run.

Source: the kernel reference, "Context injection bridge".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from sb.base.values.frozen import frozen
from sb.context_packs.pack_store import ContextPack, PackStore
from sb.context_packs.plan import DroppedPack, DropReason, InjectionPlan, PlannedItem
from sb.context_packs.sourcing import source_of_pack
from sb.context_packs.tokens import estimate_tokens
from sb.contracts.envelopes import GLOBAL_SCOPE, ContextEnvelope
from sb.decisions.injection import InjectionSlot, SlotCondition
from sb.decisions.resolver import DecisionSpec
from sb.errors import DeniedError, SBError
from sb.kernel.context_sources.sources import ContextSourceRegistry, SourceRefused
from sb.kernel.contracts import AgentCapabilities


class ContextInjector:
    """Chooses packs for the slots of a decision.

    Args:
        count_tokens: tokens of a text; the estimate leans high and needs no model.
        capabilities: of the agent whose prompts these are: the decision keys and required packs of each hold.
        sources: packs from others, and stale ones, are left out; None for packs from anywhere.
    """

    def __init__(
        self,
        count_tokens: Callable[[str], int] = estimate_tokens,
        capabilities: AgentCapabilities | Sequence[AgentCapabilities] | None = None,
        sources: ContextSourceRegistry | None = None,
    ) -> None:
        self._count_tokens = count_tokens
        self._capabilities: Sequence[AgentCapabilities] = (
            (capabilities,) if isinstance(capabilities, AgentCapabilities) else tuple(capabilities or ())
        )
        self._sources = sources

    def build_plan(
        self, spec: DecisionSpec, envelope: ContextEnvelope, pack_store: PackStore
    ) -> InjectionPlan:
        """The packs for one envelope. Nothing is spent: whoever sends the prompt tells the run's budget.

        Each required slot first gets the best of its packs that fits and is not in another slot; then all
        slots are filled, the highest priority first (equal ones in the order of the decision). Within a slot
        the pack of higher priority comes first, then the smaller id. A pack that does not fit is skipped, and
        smaller ones after it still get in. A pack outside the global scope and the envelope's is never
        chosen. A budget of 0 tokens asks for no context: the plan is then empty, required slots included.

        Raises:
            SBError: no pack can fill a required slot whose condition holds, or none of them fits; a pack that the
                agent requires is not in the plan.
            DeniedError: the agent may not use this decision.
        """
        for own in self._capabilities:
            if not decides(own, spec.key):
                raise DeniedError(
                    f"agent {own.agent_name} may not use decision {spec.key}",
                    "its decision_keys name those it may",
                )
        budget = spec.body.token_budget
        if envelope.token_budget is not None:
            budget = min(budget, envelope.token_budget)
        packs = sorted(pack_store, key=lambda pack: (-pack.priority, pack.pack_id))
        slots = sorted(spec.body.slots, key=lambda slot: -slot.priority)
        draft = _Draft(budget, self._count_tokens, self._sources)
        wishes = [_wish(slot, envelope, packs) for slot in slots]
        for wish in wishes:
            if budget and wish.slot.required and wish.applies:
                draft.fill_required(wish, spec.key)
        for wish in wishes:
            draft.fill(wish)
        plan = draft.plan(spec)
        for own in self._capabilities if budget else ():
            _require_packs(plan, own)
        return plan


def decides(capabilities: AgentCapabilities, key: str) -> bool:
    """True if an agent may use a decision: its key fits one of the agent's, or the agent names none."""
    keys = capabilities.decision_keys
    return not keys or any(fnmatchcase(key, pattern) for pattern in keys)


def _require_packs(plan: InjectionPlan, capabilities: AgentCapabilities) -> None:
    chosen = {item.pack.pack_id for item in plan.items}
    dropped = {drop.pack_id: drop.reason for drop in plan.dropped}
    for pack_id in capabilities.required_packs:
        if pack_id not in chosen:
            why = dropped.get(pack_id, "no slot asks for it")
            raise SBError(
                f"agent {capabilities.agent_name} requires context pack {pack_id}, which is not in the plan: {why}",
                "its required_packs name it",
            )


@frozen
class _Wish:
    """A slot's request: packs it may take, those of other scopes, and whether its condition holds."""

    slot: InjectionSlot
    applies: bool
    packs: tuple[ContextPack, ...]
    foreign: tuple[ContextPack, ...]


def _wish(slot: InjectionSlot, envelope: ContextEnvelope, packs: Sequence[ContextPack]) -> _Wish:
    wanted = [pack for pack in packs if any(fnmatchcase(pack.pack_id, pattern) for pattern in slot.packs)]
    visible = (GLOBAL_SCOPE, envelope.scope)
    return _Wish(
        slot,
        _holds(slot.when, envelope),
        packs=tuple(pack for pack in wanted if pack.scope in visible),
        foreign=tuple(pack for pack in wanted if pack.scope not in visible),
    )


def _holds(when: SlotCondition, envelope: ContextEnvelope) -> bool:
    if when.locales and envelope.locale not in when.locales:
        return False
    if when.tags and not any(tag in envelope.tags for tag in when.tags):
        return False
    intent = envelope.intent.casefold()
    return not when.intents or any(fnmatchcase(intent, pattern.casefold()) for pattern in when.intents)


class _Draft:
    """A plan while it is being filled."""

    def __init__(
        self, budget: int, count_tokens: Callable[[str], int], sources: ContextSourceRegistry | None
    ) -> None:
        self._budget = budget
        self._sources = sources
        self._count_tokens = count_tokens
        self._left = budget
        self._left_by_slot: dict[str, int] = {}
        self._chosen: dict[str, PlannedItem] = {}
        self._dropped: list[DroppedPack] = []

    def fill_required(self, wish: _Wish, decision_key: str) -> None:
        """Take the first pack that fits, or raise SBError."""
        refusals = []
        for pack in wish.packs:
            taken = self._chosen.get(pack.pack_id)
            reason = f"already in {taken.slot!r}" if taken else self._take(wish.slot, pack)
            if reason is None:
                return
            refusals.append(f"{pack.pack_id}: {reason}")
        raise SBError(
            f"decision {decision_key}: the required slot {wish.slot.name!r} cannot be filled: "
            + ("; ".join(refusals) or "no visible pack matches " + ", ".join(wish.slot.packs)),
            f"{self._left} of {self._budget} tokens are left, the slot takes up to {wish.slot.max_tokens}",
        )

    def fill(self, wish: _Wish) -> None:
        """Take every pack that fits and note the others with the reason."""
        for pack in wish.foreign:
            self._dropped.append(DroppedPack(pack.pack_id, wish.slot.name, DropReason.SCOPE))
        for pack in wish.packs:
            if pack.pack_id in self._chosen:
                continue
            reason = self._take(wish.slot, pack) if wish.applies else DropReason.CONDITION
            if reason is not None:
                self._dropped.append(DroppedPack(pack.pack_id, wish.slot.name, reason))

    def plan(self, spec: DecisionSpec) -> InjectionPlan:
        """The finished plan; a pack that one slot refused and another took does not count as dropped."""
        place = {slot.name: index for index, slot in enumerate(spec.body.slots)}
        return InjectionPlan(
            decision_key=spec.key,
            decision_version=spec.version,
            token_budget=self._budget,
            items=tuple(sorted(self._chosen.values(), key=lambda item: place[item.slot])),
            dropped=tuple(drop for drop in self._dropped if drop.pack_id not in self._chosen),
        )

    def _take(self, slot: InjectionSlot, pack: ContextPack) -> DropReason | None:
        refused = source_refusal(pack, self._sources)
        if refused is not None:
            return refused
        tokens = max(self._count_tokens(pack.content), 1)  # no counter can make a pack free, so 0 admits none
        if tokens > self._left:
            return DropReason.OUT_OF_BUDGET
        if tokens > self._left_by_slot.setdefault(slot.name, slot.max_tokens):
            return DropReason.SLOT_FULL
        self._left -= tokens
        self._left_by_slot[slot.name] -= tokens
        self._chosen[pack.pack_id] = PlannedItem(slot.name, slot.priority, tokens, pack)
        return None


def source_refusal(pack: ContextPack, sources: ContextSourceRegistry | None) -> DropReason | None:
    """The reason why a pack may not be used because of its source; None if it may."""
    if sources is None:
        return None
    try:
        source_of_pack(pack, sources)
    except SourceRefused as error:
        return _SOURCES[error.rule]
    return None


_SOURCES = {
    "source_unregistered": DropReason.UNREGISTERED,
    "source_stale": DropReason.STALE,
    "source_owner_left": DropReason.OWNER_LEFT,
}
