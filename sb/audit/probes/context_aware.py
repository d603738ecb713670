"""Do the controls of "context-aware" hold?"""

from __future__ import annotations

from collections.abc import Iterator

from sb.audit.harness import Harness
from sb.context_packs import (
    ContextInjector,
    ContextPack,
    InjectionPlan,
    PackStore,
    injection_plan_to_compiled_items,
)
from sb.contracts.envelopes import ContextEnvelope
from sb.decisions.resolver import DecisionResolver
from sb.kernel.harness_audit import Check

DECISION = "support.context.injection.v1"
LIMITS = ContextPack("support.refunds.limits", "7", "Up to 50 at once.", source_uri="vault/refunds.md")
TONE = ContextPack("support.policy.tone", "2", "Be kind.", scope="project:a")


def context_compiler(h: Harness) -> Iterator[Check]:
    """HA-02."""
    items = injection_plan_to_compiled_items(_plan(h, LIMITS))
    stored = [(pack.pack_id, pack.content, pack.content_hash) for pack in (TONE, LIMITS)]
    same = [(item.source_id, item.content, item.content_hash) for item in items] == stored
    named = ", ".join(item.source_id for item in items)
    equal = "equal to the stored ones" if same else "other than the stored ones"
    yield Check("compiled", same, f"injection_plan_to_compiled_items: {named}: ids and hashes {equal}")

    elsewhere = [item.source_id for item in injection_plan_to_compiled_items(_plan(h, LIMITS, "project:b"))]
    held = elsewhere == [LIMITS.pack_id]
    yield Check("scope", held, f"ContextInjector.build_plan: in another scope {', '.join(elsewhere)}")

    edited = ContextPack(LIMITS.pack_id, LIMITS.version, LIMITS.content.replace("50", "51"))
    hashes = [_plan(h, pack).manifest_hash for pack in (LIMITS, LIMITS, edited)]
    held = hashes[0] == hashes[1] != hashes[2]
    again, changed = (one == hashes[0] for one in hashes[1:])
    evidence = f"InjectionPlan.manifest_hash: equal for the same input {again}, for a byte changed {changed}"
    yield Check("hash", held, evidence)


def _plan(h: Harness, limits: ContextPack, scope: str = "project:a") -> InjectionPlan:
    envelope = ContextEnvelope.from_run(h.context(intent="Refund order 42"), scope=scope)
    spec = DecisionResolver().resolve(DECISION)
    return ContextInjector().build_plan(spec, envelope, PackStore([limits, TONE]))
