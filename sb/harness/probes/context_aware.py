"""Probes of the "context-aware" controls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from sb.context_packs import (
    ContextInjector,
    ContextPack,
    InjectionPlan,
    PackStore,
    injection_plan_to_compiled_items,
)
from sb.contracts.envelopes import ContextEnvelope
from sb.decisions.resolver import DecisionResolver, DecisionSpec
from sb.errors import SBError
from sb.harness.harness import Harness
from sb.harness.probes.planning import compiled_prompt
from sb.kernel.harness_audit import Check

DECISION = "support.context.injection.v1"
LIMITS = ContextPack("support.refunds.limits", "7", "Up to 50 at once.\n", source_uri="vault/refunds.md")
TONE = ContextPack("support.policy.tone", "2", "Be kind.", scope="project:a")


def context_compiler(h: Harness) -> Iterator[Check]:
    """HA-02."""
    items = injection_plan_to_compiled_items(_plan(h, LIMITS))
    # Hashed here: a hash that the pack itself gets wrong would be equal, too.
    stored = [
        (pack.pack_id, pack.content, sha256(pack.content.encode()).hexdigest()) for pack in (TONE, LIMITS)
    ]
    same = [(item.source_id, item.content, item.content_hash) for item in items] == stored
    named = ", ".join(item.source_id for item in items)
    equal = "equal to the stored ones" if same else "other than the stored ones"
    yield Check("compiled", same, f"injection_plan_to_compiled_items: {named}: ids and hashes {equal}")

    elsewhere = [item.source_id for item in injection_plan_to_compiled_items(_plan(h, LIMITS, "project:b"))]
    required = _required(h)
    ok = elsewhere == [LIMITS.pack_id] and "no visible pack" in required
    evidence = f"in another scope {', '.join(elsewhere)}; where one is required: {required}"
    yield Check("scope", ok, f"ContextInjector.build_plan: {evidence}")

    content = replace(LIMITS, content=LIMITS.content.replace("50", "51"))
    edited = [content, replace(LIMITS, content=LIMITS.content.strip()), replace(LIMITS, version="8")]
    first, again, *changed = (_plan(h, pack).manifest_hash for pack in (LIMITS, LIMITS, *edited))
    ok = again == first and first not in changed
    evidence = f"equal for the same input {again == first}, for a byte changed {first in changed}"
    yield Check("hash", ok, f"InjectionPlan.manifest_hash: {evidence}")
    yield from compiled_prompt()


def _plan(
    h: Harness, limits: ContextPack, scope: str = "project:a", spec: DecisionSpec | None = None
) -> InjectionPlan:
    envelope = ContextEnvelope.from_run(h.context(intent="Refund order 42"), scope=scope)
    spec = spec or DecisionResolver().resolve(DECISION)
    return ContextInjector().build_plan(spec, envelope, PackStore([limits, TONE]))


def _required(h: Harness) -> str:
    """The result for a required slot that only another scope has a pack for."""
    spec = DecisionResolver().resolve(DECISION)
    slots = [replace(slot, required=slot.name == "policy") for slot in spec.body.slots]
    spec = replace(spec, body=replace(spec.body, slots=tuple(slots)))
    try:
        return f"{len(_plan(h, LIMITS, 'project:b', spec).items)} items"
    except SBError as error:
        return error.message
